// Short synthesized sounds. Browsers allow sound only after the first click.
let context: AudioContext | null = null;

function tone(frequency: number, seconds: number, volume: number, type: OscillatorType, after = 0): void {
  try {
    context ??= new AudioContext();
    if (context.state === "suspended") void context.resume();
    const start = context.currentTime + after;
    const oscillator = context.createOscillator();
    const gain = context.createGain();
    oscillator.type = type;
    oscillator.frequency.setValueAtTime(frequency, start);
    oscillator.frequency.exponentialRampToValueAtTime(frequency * 0.6, start + seconds);
    gain.gain.setValueAtTime(volume, start);
    gain.gain.exponentialRampToValueAtTime(0.0001, start + seconds);
    oscillator.connect(gain).connect(context.destination);
    oscillator.start(start);
    oscillator.stop(start + seconds);
  } catch {
    // No audio device: the game goes on without sound.
  }
}

export const sounds = {
  place: (player: number) => tone(player === 0 ? 340 : 420, 0.09, 0.22, "triangle"),
  capture: () => tone(180, 0.16, 0.25, "sawtooth"),
  win: () => [523, 659, 784].forEach((frequency, index) => tone(frequency, 0.25, 0.16, "triangle", index * 0.12)),
  lose: () => [392, 330, 262].forEach((frequency, index) => tone(frequency, 0.3, 0.14, "triangle", index * 0.15)),
};
