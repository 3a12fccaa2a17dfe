// The studies that the server makes for this tab: hints, the analysis of the shown position, the review of all moves.
import type { GameStore } from "./game.svelte";
import type { ActionView, AnalysisMessage, ErrorMessage, FromServer, HintMessage, JudgedMessage, MoveView, StateMessage } from "./messages";

const BUSY_MILLISECONDS = 2000;
/** From this loss on, a move is listed and marked as a mistake; values range from -1 to 1. */
export const MISTAKE_LOSS = 0.1;

/** A move of the game that gave something away, and the better one (none if that is a choice of the opening). */
export interface Mistake {
  judged: JudgedMessage;
  played: MoveView;
  better: ActionView | null;
}

export class Studies {
  hint = $state.raw<HintMessage | null>(null);
  /** 0 before the first hint of a position; then 1 (area), 2 (move) or 3 (line). */
  hintStage = $state(0);
  hintPending = $state(false);
  analysing = $state(false);
  analysis = $state.raw<AnalysisMessage | null>(null);
  reviewing = $state(false);
  judged = $state.raw<JudgedMessage[]>([]);
  /** Values for player 0, from -1 to 1, by ply. Plies without a value are missing. */
  values = $state.raw<Record<number, number>>({});

  private readonly game: GameStore;
  /** Request ids, by which an error is known to belong to a study. */
  private analysisRequest = 0;
  private reviewRequest = 0;

  /** The mistake that was made next in the earlier position that is shown. */
  mistakeAhead = $derived.by((): Mistake | null => {
    const { pastPly } = this.game.shown;
    const played = pastPly === null ? undefined : this.game.state?.moves[pastPly];
    const judged = this.judged.find((each) => each.ply - 1 === pastPly);
    return played && judged && (judged.loss ?? 0) >= MISTAKE_LOSS ? { judged, played, better: judged.best } : null;
  });

  constructor(game: GameStore) {
    this.game = game;
  }

  async askHint(): Promise<void> {
    if (this.hintPending) return;
    const stage = Math.min(3, this.hintStage + 1) as 1 | 2 | 3;
    this.hintPending = true;
    await this.game.command({ type: "hint", stage });
    this.hintPending = false;
  }

  clearHint(): void {
    this.hint = null;
  }

  setAnalysing(on: boolean): void {
    this.analysing = on;
    if (on) this.askAnalysis();
    else {
      this.analysis = null;
      this.game.shown.clearPreview();
      this.game.connection.tell({ type: "analyze", on: false, ply: 0 });
    }
  }

  /** To be called when another position is shown. */
  followShownPosition(): void {
    if (this.analysing) this.askAnalysis();
  }

  setReviewing(on: boolean): void {
    this.reviewing = on && this.game.connection.ready();
    if (on) this.judged = [];
    this.reviewRequest = this.game.connection.tell({ type: "review", on });
  }

  /** The connection was lost: the server has stopped all studies of this tab. The analysis starts again with the next state. */
  interrupt(): void {
    if (this.reviewing) this.game.say({ code: "review_interrupted", detail: "", place: 0 });
    this.reviewing = false;
    this.hintPending = false;
  }

  /** Drops everything that does not hold for `next`. Values of plies that both states share are kept. */
  prepareFor(next: StateMessage, before: StateMessage | null): void {
    const same = before?.game_id === next.game_id;
    if (same && before.seq === next.seq) return;
    const shared = same ? sharedLength(before, next) : 0;
    this.values = same ? Object.fromEntries(Object.entries(this.values).filter(([ply]) => Number(ply) <= shared)) : {};
    if (!same || shared < before.moves.length) this.judged = [];
    this.hint = null;
    this.hintStage = 0;
    this.hintPending = false;
    this.analysis = null;
    this.reviewing = false;
  }

  receive(message: FromServer): void {
    switch (message.type) {
      case "moved":
        this.setValue(message);
        break;
      case "analysis":
        if (this.analysing && message.ply === this.game.shown.ply) {
          this.analysis = message;
          this.setValue(message);
        }
        break;
      case "hint":
        if (message.seq === this.game.state?.seq) {
          this.hint = message;
          this.hintStage = message.stage;
        }
        break;
      case "judged":
        if (message.seq === this.game.state?.seq) {
          this.judged = [...this.judged.filter((each) => each.ply !== message.ply), message];
          this.setValue(message);
          if (message.ply === message.total) this.reviewing = false;
        }
        break;
      case "error":
        this.receiveError(message);
        break;
    }
  }

  /** Ends the study that failed; an analysis that the server has no room for is asked for again. */
  private receiveError({ id, code }: ErrorMessage): void {
    if (id === this.reviewRequest) this.reviewing = false;
    if (id !== this.analysisRequest || !this.analysing) return;
    if (code === "study_failed") this.setAnalysing(false);
    if (code === "busy") setTimeout(() => this.analysing && this.analysisRequest === id && this.askAnalysis(), BUSY_MILLISECONDS);
  }

  private askAnalysis(): void {
    const { ply } = this.game.shown;
    if (this.analysis?.ply !== ply) this.analysis = null;
    this.analysisRequest = this.game.connection.tell({ type: "analyze", on: true, ply });
  }

  private setValue({ ply, value_for_player0 }: { ply: number; value_for_player0: number }): void {
    this.values = { ...this.values, [ply]: value_for_player0 };
  }
}

/** How many first moves two states have in common. */
function sharedLength(a: StateMessage, b: StateMessage): number {
  let length = 0;
  while (length < a.moves.length && length < b.moves.length && a.moves[length]?.text === b.moves[length]?.text) length += 1;
  return length;
}
