// The position on the board: that of the game, an earlier one, or the preview of a line.
import type { GameStore } from "./game.svelte";
import type { Frame, Line } from "./messages";

export class ShownPosition {
  /** The ply that the person looks back at; null is the present. */
  pastPly = $state<number | null>(null);
  preview = $state.raw<{ frame: Frame; line: Line } | null>(null);
  private past = $state.raw<Frame | null>(null);
  private readonly game: GameStore;
  /** The number of the last preview asked for: answers to earlier requests are ignored. */
  private previewRequest = 0;

  constructor(game: GameStore) {
    this.game = game;
  }

  frame = $derived.by<Frame | null>(() => this.preview?.frame ?? this.unpreviewed);
  /** `frame` without the preview. */
  unpreviewed = $derived.by<Frame | null>(() => this.past ?? this.game.state?.frame ?? null);
  live = $derived(this.preview === null && this.past === null);
  ply = $derived.by(() => this.pastPly ?? this.game.state?.moves.length ?? 0);

  /** Looks at an earlier position; null comes back to the present. */
  async look(ply: number | null): Promise<void> {
    const total = this.game.state?.moves.length ?? 0;
    this.clearPreview();
    this.game.studies.clearHint();
    if (ply === null || ply >= total) {
      this.pastPly = null;
      this.past = null;
    } else {
      const wanted = Math.max(0, ply);
      this.pastPly = wanted;
      const frame = await this.askFrame(wanted, []);
      if (this.pastPly === wanted) {
        this.past = frame;
        if (!frame) this.pastPly = null;
      }
    }
    this.game.studies.followShownPosition();
  }

  /** Previews the position after `line`, played from ply `from`; null ends the preview. */
  async showLine(from: number, line: Line | null): Promise<void> {
    if (line === null) {
      this.clearPreview();
      return;
    }
    const request = ++this.previewRequest;
    const frame = await this.askFrame(from, line.actions);
    if (frame && request === this.previewRequest) this.preview = { frame, line };
  }

  /** Ends the preview, also one that is still being asked for. */
  clearPreview(): void {
    this.previewRequest += 1;
    this.preview = null;
  }

  backToPresent(): void {
    this.pastPly = null;
    this.past = null;
    this.clearPreview();
  }

  private async askFrame(ply: number, actions: number[]): Promise<Frame | null> {
    const answer = await this.game.connection.ask({ type: "look", ply, actions }).catch(() => null);
    return answer?.type === "frame" ? answer.frame : null;
  }
}
