// Sentences about a game: names of players, the task of the moment, the result, strengths, grades.
import type { GameStore, Notice } from "./game.svelte";
import { wordsOf } from "./game_words.svelte";
import { cellName } from "./geometry";
import { fill, has, noteOf, t, titleOf, type Key } from "./i18n.svelte";
import type { Candidate, Descriptor, Frame, HintMessage, MoveView, Opponent, StateMessage } from "./messages";
import { capitalised, reasonText } from "./reasons";
import { HUMAN } from "./setup";

/** The name of a player's pieces: black or white, red or yellow, cross or nought. */
export function playerName(descriptor: Pick<Descriptor, "piece_kind">, player: number): string {
  return t(`player_${descriptor.piece_kind}_${player}` as Key);
}

export function seatName(store: GameStore, seat: string): string {
  if (seat === HUMAN) return t("you");
  const opponent = store.opponent(seat);
  return opponent ? titleOf(opponent) : seat;
}

/** True if `player` is the only person in the game, who is then addressed as "you". */
function isOnlyHuman(state: StateMessage, player: number): boolean {
  return state.seats[player] === HUMAN && state.seats[1 - player] !== HUMAN;
}

export function resultText(store: GameStore, state: StateMessage): string {
  const result = state.result;
  if (!result) return "";
  if (result.winner === null) return t("result_draw");
  const loser = 1 - result.winner;
  if (result.reason === "resigned") {
    return isOnlyHuman(state, loser)
      ? t("result_you_resigned")
      : t("result_resigned", { loser: playerName(state.descriptor, loser), winner: playerName(state.descriptor, result.winner) });
  }
  if (isOnlyHuman(state, result.winner)) return t("result_you_win");
  if (isOnlyHuman(state, loser)) return t("result_you_lose", { name: seatName(store, state.seats[result.winner] ?? "") });
  return t("result_wins", { player: playerName(state.descriptor, result.winner) });
}

/** That an earlier position is shown, and whose turn it was; null in the present. */
export function pastText(store: GameStore, { descriptor, moves }: StateMessage): string | null {
  const { pastPly, unpreviewed } = store.shown;
  if (pastPly === null) return null;
  const mover = unpreviewed?.ply === pastPly ? unpreviewed.to_move : null; // null until the position has come
  const where = t("past_position", { ply: pastPly, total: moves.length });
  return mover === null ? where : t("past_turn", { where, player: playerName(descriptor, mover) });
}

/** Why the game is over, in the words of the game; empty where it has none for that. */
export function endingText({ result }: StateMessage): string {
  const why = result?.ending;
  const words = why ? wordsOf(why.game)?.endings[why.code] : undefined;
  return why && words ? fill(words, why.values) : "";
}

/** How far the counters are whose limits end the game. */
export function countersText(store: GameStore, { game, options }: Descriptor, frame: Frame): string {
  const limits = store.games.find((each) => each.id === game)?.limits ?? {};
  const told = Object.entries(limits).map(([counter, option]) => {
    const [n, limit, words] = [frame.counters[counter] ?? 0, Number(options[option]), wordsOf(game)?.counters[counter]];
    return words && n > 0 && limit > 0 ? fill(words, { n, limit }) : "";
  });
  return told.filter((each) => each).join(" · ");
}

/** The task of the player whose turn it is, or the result. */
export function statusText(store: GameStore, state: StateMessage): string {
  if (state.result) return resultText(store, state);
  const actor = state.actor ?? 0;
  const seat = state.seats[actor] ?? HUMAN;
  if (seat !== HUMAN) {
    const name = seatName(store, seat);
    if (state.paused) return t("status_paused", { name });
    if (store.thought.place > 0) return t("status_busy", { place: store.thought.place });
    return t("status_thinking", { name });
  }
  const player = playerName(state.descriptor, actor);
  const who = isOnlyHuman(state, actor) ? t("you_are", { player }) : player;
  if (state.stage) return t(`stage_${state.stage}` as Key, { who });
  const { frame } = state;
  const kinds = frame.legal.map((each) => each.kind);
  const [kind, ...others] = kinds.filter((each, index) => kinds.indexOf(each) === index);
  const phases = wordsOf(state.descriptor.game)?.phases;
  const asked =
    (others.length === 0 ? phases?.[`${frame.phase}:${kind}`] : undefined) ?? phases?.[`${frame.phase_before}>${frame.phase}`] ?? phases?.[frame.phase];
  if (asked) return fill(asked, { who, n: frame.counters.pending ?? 1 });
  if (kind === "other" && others.length === 0) return t("status_only_other", { who });
  if (frame.last?.kind === "other") return t("status_after_pass", { who, other: playerName(state.descriptor, frame.last.player) });
  return t("status_your_move", { who });
}

export function noticeText(notice: Notice): string {
  const key = `error_${notice.code}`;
  const detail = notice.reason ? reasonText(notice.reason) : capitalised(notice.detail);
  return has(key) ? t(key, { place: notice.place, detail }) : notice.detail;
}

/** The words of a hint. Unless the board is `seen`, an area is named by its corners. */
export function hintText(hint: HintMessage, descriptor: Descriptor, seen: boolean): string {
  if (hint.pv) return t("hint_line_is", { line: hint.pv.texts.map(actionText).join("  ") });
  if (hint.action) return t("hint_move_is", { move: actionText(hint.action.text) });
  const [from, to] = [hint.area[0], hint.area.at(-1)];
  if (seen || from === undefined || to === undefined) return t("hint_area");
  return t("hint_area_is", { from: cellName(descriptor, from), to: cellName(descriptor, to) });
}

export function moveText(move: MoveView): string {
  return move.kind === "choice" ? t(`choice_${move.text}` as Key) : actionText(move.text);
}

/** An opponent's strength: its training time or search effort, and its measured Elo. `brief` omits the error of the Elo. */
export function strengthText(opponent: Opponent, brief = false): string {
  const key = opponent.elo_approximate ? "elo_about" : brief ? "elo_brief" : "elo";
  const elo = opponent.elo === null ? "" : t(key, { elo: Math.round(opponent.elo), error: Math.round(opponent.elo_error ?? 0) });
  return opponent.growth === null ? elo || noteOf(opponent) : [noteOf(opponent), elo].filter((part) => part).join(" · ");
}

/** The nets of one training run, the least trained first. */
export function growthOf(opponents: Opponent[]): Opponent[] {
  return opponents.filter((each) => each.growth !== null).sort((a, b) => (a.growth ?? 0) - (b.growth ?? 0));
}

/** False if all priors are equal, as for an analyst without a net: they are then not shown. */
export function priorsDiffer(candidates: Candidate[]): boolean {
  const priors = candidates.map((each) => each.prior);
  return Math.max(...priors) - Math.min(...priors) > 1e-4;
}

/** The grade of a move by the value that it loses; values range from -1 to 1. */
export function gradeOf(loss: number): "grade_blunder" | "grade_mistake" | "grade_inaccuracy" | "grade_good" {
  return loss >= 0.4 ? "grade_blunder" : loss >= 0.2 ? "grade_mistake" : loss >= 0.1 ? "grade_inaccuracy" : "grade_good";
}

export function optionName(game: string, name: string): string {
  return wordsOf(game)?.options[name] ?? name;
}

export function choiceName(game: string, name: string, choice: string): string {
  return wordsOf(game)?.options[`${name}.${choice}`] ?? choice;
}

/** A solver's score with its sign. */
export function signed(score: number): string {
  return score > 0 ? `+${score}` : score < 0 ? `−${-score}` : "0";
}

/** An action in the game's notation; only a pass is translated. */
export function actionText(text: string): string {
  return text === "pass" ? t("pass") : text;
}
