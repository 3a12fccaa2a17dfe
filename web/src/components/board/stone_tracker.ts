// Follows stones from position to position, so that the board can animate those that come, move or turn over.
import type { Frame } from "../../lib/messages";

/** Positions further apart than this are shown without animation. */
const MAX_ANIMATED_PLIES = 3;

export interface Stone {
  /** Stays the same while a stone stays, moves or turns over. */
  id: number;
  cell: number;
  owner: number;
  /** Placed since the position before. */
  fresh: boolean;
  /** Has changed its owner. Stays true: the drawing is replaced at each change of owner, and turns over once. */
  turned: boolean;
}

export class StoneTracker {
  private stones: Stone[] = [];
  private nextId = 1;
  private gameKey = "";
  private ply = 0;

  /** The stones of `frame`. Another `gameKey` is another game: all its stones are new, and none is fresh. */
  update(frame: Frame, gameKey: string): Stone[] {
    const instant = gameKey !== this.gameKey || Math.abs(frame.ply - this.ply) > MAX_ANIMATED_PLIES;
    const old = new Map(instant ? [] : this.stones.map((stone) => [stone.cell, stone]));
    const last = frame.last;
    const moved = last?.kind === "move" && frame.ply > this.ply ? old.get(last.source) : undefined;
    if (last && moved && !frame.board[last.source]) {
      old.delete(last.source);
      old.set(last.target, { ...moved, cell: last.target });
    }
    this.gameKey = gameKey;
    this.ply = frame.ply;
    this.stones = frame.board.flatMap((owner, cell): Stone[] => {
      if (owner === 0) return [];
      const before = old.get(cell);
      if (before) return [{ ...before, owner, fresh: false, turned: before.turned || before.owner !== owner }];
      return [{ id: this.nextId++, cell, owner, fresh: !instant, turned: false }];
    });
    return this.stones;
  }
}
