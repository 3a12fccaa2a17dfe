// The setup of a new game, the spec of a game with options (`gomoku(size=9)`), and the last setups and games of this browser.
import { load, save } from "./stored";

export const HUMAN = "human";

export interface Setup {
  game: string;
  options: Record<string, number | string>;
  /** Who plays each side: `HUMAN`, the id of an opponent, or "" for the usual opponent. */
  seats: [string, string];
  opening: "" | "swap2";
}

interface Remembered {
  /** The id of the last game. */
  current: string;
  /** The kind of the last game. */
  last: string;
  /** The id of the last game of each kind. */
  games: Record<string, string>;
  /** The last setup of each kind of game. */
  setups: Record<string, Setup>;
}

export function plainSetup(game: string): Setup {
  return { game, options: {}, seats: [HUMAN, ""], opening: "" };
}

/** Such as `gomoku(size=9,rule=renju)`. */
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

/** Read from the browser each time, because other tabs change it. */
export function remembered(): Remembered {
  return load<Remembered>("games", { current: "", last: "", games: {}, setups: {} });
}

export function remember(change: (memory: Remembered) => void): void {
  const memory = remembered();
  change(memory);
  save("games", memory);
}
