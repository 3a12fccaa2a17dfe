// Words for a screen reader and sounds for what happens in the game. Also counts finished games.
import type { GameStore } from "./game.svelte";
import { t } from "./i18n.svelte";
import type { FromServer, StateMessage } from "./messages";
import { settings } from "./settings.svelte";
import { HUMAN } from "./setup";
import { sounds } from "./sound";
import { count } from "./statistics.svelte";
import { endingText, hintText, moveText, playerName, statusText } from "./words.svelte";

export class Announcements {
  /** For an aria-live region. */
  words = $state("");
  private readonly store: GameStore;
  private before: StateMessage | null = null;

  constructor(store: GameStore) {
    this.store = store;
  }

  /** Takes every message of the server, after the store. */
  hear(message: FromServer): void {
    const { state, studies } = this.store;
    if (message.type === "hint" && studies.hint && state) this.announce(hintText(studies.hint, state.descriptor, false));
    if (message.type === "state") {
      this.hearState(message);
      this.before = message;
    }
  }

  private hearState(message: StateMessage): void {
    // null for the first state of a game, which is not news.
    const before = this.before?.game_id === message.game_id ? this.before : null;
    const last = message.moves.at(-1);
    const news = before && taskOf(before) !== taskOf(message) ? [statusText(this.store, message), endingText(message)] : [];
    if (last && before && message.moves.length > before.moves.length) {
      this.announce(t("announce_move", { player: playerName(message.descriptor, last.player), move: moveText(last) }), ...news);
      if (settings.sound) {
        if (countStones(before) > countStones(message)) sounds.capture();
        else sounds.place(last.player);
      }
    } else if (before && message.moves.length < before.moves.length) this.announce(t("announce_undo"), ...news);
    else if (news.length > 0) this.announce(...news);
    if (message.result && !before?.result) {
      if (before && settings.sound) (humanLost(message) ? sounds.lose : sounds.win)();
      count(message);
    }
  }

  /** A screen reader only reads changed text: a trailing space makes a repetition a change. */
  private announce(...parts: string[]): void {
    const words = parts.filter((part) => part).join(" ");
    this.words = words === this.words ? `${words}\u00a0` : words;
  }
}

/** Differs between two states if another player has to act, or has to do something else. */
function taskOf({ actor, stage, frame, result }: StateMessage): string {
  return [actor, stage, frame.phase, frame.counters.pending, result === null].join();
}

function countStones(state: StateMessage): number {
  return state.frame.board.filter((owner) => owner !== 0).length;
}

/** True if one person played and lost. */
function humanLost({ seats, result }: StateMessage): boolean {
  const alone = seats.filter((seat) => seat === HUMAN).length === 1;
  return alone && result !== null && result.winner !== null && seats[result.winner] !== HUMAN;
}
