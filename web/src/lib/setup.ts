// What a game is begun with, how a game with its options is written, and what this browser remembers of both.
import { load, save } from "./stored";

export const HUMAN = "human";

export interface Setup {
  game: string;
  options: Record<string, number | string>;
  /** A player each; "" is the usual opponent. */
  seats: [string, string];
  opening: "" | "swap2";
}

interface Remembered {
  current: string;
  last: string;
  games: Record<string, string>;
  setups: Record<string, Setup>;
}

export function plainSetup(game: string): Setup {
  return { game, options: {}, seats: [HUMAN, ""], opening: "" };
}

/** As `gomoku(size=9,rule=renju)`. */
export function specOf(setup: Pick<Setup, "game" | "options">): string {
  const options = Object.entries(setup.options).map(([name, value]) => `${name}=${value}`);
  return options.length > 0 ? `${setup.game}(${options.join(",")})` : setup.game;
}

export function parseSpec(spec: string): Pick<Setup, "game" | "options"> {
  const [game = "", inside = ""] = spec.split(/[()]/);
  const pairs = inside.split(",").map((pair) => pair.split("=").map((part) => part.trim()));
  const options = pairs.flatMap(([name, value]) => (name && value ? [[name, /^-?\d+$/.test(value) ? Number(value) : value] as const] : []));
  return { game: game.trim(), options: Object.fromEntries(options) };
}

/** Tabs share what is remembered, so it is read anew each time. */
export function remembered(): Remembered {
  return load<Remembered>("games", { current: "", last: "", games: {}, setups: {} });
}

export function remember(change: (memory: Remembered) => void): void {
  const memory = remembered();
  change(memory);
  save("games", memory);
}
