// How a person chooses an action on the board: by one cell, or by a stone and its target, with a confirmation if wanted.
import { t } from "../../lib/i18n.svelte";
import type { ActionView, Descriptor, Frame, Reason } from "../../lib/messages";
import { reasonText } from "../../lib/reasons";

/** The props of the board that its input depends on; read again whenever they change. */
interface Given {
  descriptor: Descriptor;
  frame: Frame;
  actions: ActionView[];
  /** The first choice of an action only proposes it. */
  confirm: boolean;
  /** Settles when the server has answered. */
  onplay: (action: ActionView) => Promise<unknown>;
  /** Called with the reason, in words for a person, why a cell cannot be played. */
  onrefused: ((words: string) => void) | undefined;
}

export class BoardInput {
  /** The cell of the stone chosen to move; -1 if none. */
  source = $state(-1);
  /** The action that waits for confirmation. */
  pending = $state.raw<ActionView | null>(null);
  /** The action that waits for the server's answer. */
  played = $state.raw<ActionView | null>(null);
  /** The cell under the mouse; -1 if none. */
  hover = $state(-1);

  private readonly given: () => Given;

  constructor(given: () => Given) {
    this.given = given;
  }

  /** Cells with a stone that can move. */
  sources = $derived.by(() => sourcesOf(this.moves()));
  /** Moves of the chosen stone by target. */
  moveTargets = $derived.by(() => byTarget(this.moves().filter((each) => each.source === this.source)));
  /** Actions that need only one cell, by that cell. */
  targets = $derived.by(() => byTarget(this.given().actions.filter((each) => each.kind !== "move" && each.target >= 0)));
  /** The action to draw as a translucent piece: sent, proposed, or under the mouse. */
  ghost = $derived.by(() => this.played ?? this.pending ?? (this.hover >= 0 ? (this.actionAt(this.hover) ?? null) : null));

  private readonly columns = $derived.by(() => byColumn(this.given().actions, this.given().descriptor.width));

  private moves(): ActionView[] {
    return this.given().actions.filter((each) => each.kind === "move");
  }

  /** The action that a choice of this cell leads to. Where pieces fall, every cell of a column stands for the column. */
  actionAt(cell: number): ActionView | undefined {
    const { descriptor } = this.given();
    if (descriptor.board_kind === "columns") return this.columns.get(cell % descriptor.width);
    return this.moveTargets.get(cell) ?? this.targets.get(cell);
  }

  choose(cell: number): void {
    const action = this.actionAt(cell);
    if (action) {
      if (this.given().confirm && this.pending?.action !== action.action) this.pending = action;
      else this.play(action);
    } else if (this.sources.has(cell)) {
      this.source = this.source === cell ? -1 : cell;
      this.pending = null;
    } else {
      const chosen = this.source >= 0;
      this.cancel();
      this.explain(cell, chosen);
    }
  }

  confirmPending(): void {
    if (this.pending) this.play(this.pending);
  }

  /** Forgets the chosen stone and the proposed action. */
  cancel(): void {
    this.source = -1;
    this.pending = null;
  }

  /** Also forgets an action that was sent: for another position or other actions. */
  reset(): void {
    this.cancel();
    this.played = null;
  }

  private play(action: ActionView): void {
    this.played = action;
    void this.given()
      .onplay(action)
      .then(() => {
        if (this.played === action) this.played = null;
      });
  }

  /** `chosen`: a stone was chosen, and cannot go to this cell. */
  private explain(cell: number, chosen: boolean): void {
    const { descriptor, frame, actions, onrefused } = this.given();
    if (actions.length === 0) return;
    const forbidden = frame.forbidden.find((each) => each.cell === cell)?.reason;
    const refused = refusalAt(cell, descriptor, frame);
    if (forbidden) onrefused?.(t("forbidden_point", { reason: reasonText(forbidden, true) }));
    else if (chosen && refused?.code === "choose_own") onrefused?.(t("stone_cannot_go_there"));
    else if (refused) onrefused?.(reasonText(refused));
  }
}

/** Why nothing can be done on a cell, or in its column where pieces fall: the top cell stands for a full column. */
export function refusalAt(cell: number, descriptor: Descriptor, frame: Frame): Reason | undefined {
  const place = descriptor.board_kind === "columns" ? cell % descriptor.width : cell;
  return frame.refused.find((each) => each.cell === place)?.reason;
}

function sourcesOf(actions: ActionView[]): ReadonlySet<number> {
  return new Set(actions.map((each) => each.source));
}

function byColumn(actions: ActionView[], width: number): ReadonlyMap<number, ActionView> {
  return new Map(actions.map((each) => [each.target % width, each]));
}

function byTarget(actions: ActionView[]): ReadonlyMap<number, ActionView> {
  return new Map(actions.map((each) => [each.target, each]));
}
