// Games won, drawn and lost against opponents, stored in this browser only.
import type { StateMessage } from "./messages";
import { HUMAN } from "./setup";
import { load, save } from "./stored";

interface Row {
  won: number;
  drawn: number;
  lost: number;
}
interface Statistics {
  games: Record<string, Row>;
  /** Keys of the last 50 games counted, so that none is counted twice. */
  counted: string[];
}

export const statistics: Statistics = $state({ games: {}, counted: [] });
readAgain();

/** Reads the counts again: other tabs change them. */
function readAgain(): void {
  Object.assign(statistics, load<Statistics>("statistics", { games: {}, counted: [] }));
}

/** Counts a finished game of one person against an opponent, once. */
export function count(state: StateMessage): void {
  const humans = state.seats.filter((seat) => seat === HUMAN).length;
  const key = `${state.game_id}-${state.moves.map((move) => move.action).join(".").slice(0, 400)}`;
  if (!state.result || humans !== 1) return;
  readAgain();
  if (statistics.counted.includes(key)) return;
  const me = state.seats.indexOf(HUMAN);
  const row = (statistics.games[state.descriptor.game] ??= { won: 0, drawn: 0, lost: 0 });
  // The state proxy, not the plain object that ??= evaluates to, so that the change is seen.
  const mine = statistics.games[state.descriptor.game] ?? row;
  if (state.result.winner === null) mine.drawn += 1;
  else if (state.result.winner === me) mine.won += 1;
  else mine.lost += 1;
  statistics.counted = [...statistics.counted.slice(-49), key];
  save("statistics", $state.snapshot(statistics));
}

export function clearStatistics(): void {
  readAgain();
  statistics.games = {};
  save("statistics", $state.snapshot(statistics));
}
