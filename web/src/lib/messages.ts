// Made from src/qizero/server/messages.py by `python -m qizero.server.typescript`; a test keeps the two equal.

/** An action on the board. Only a move has `source`; an action without `target` is shown as a button. */
export interface ActionView {
  action: number;
  kind: "place" | "move" | "select" | "other";
  source: number;
  target: number;
  text: string;
}

/** What the analysis of a ply has found so far; `place` as in progress. */
export interface AnalysisMessage {
  v: 1;
  type: "analysis";
  seq: number;
  ply: number;
  place: number;
  done: boolean;
  value_for_player0: number;
  wdl_for_player0: [number, number, number];
  candidates: Candidate[];
  heat: HeatCell[];
  pv: Line;
  proven_for_mover: number | null;
  distance: number | null;
  simulations: number;
  depth: number | null;
}

/** Switch the analysis of a ply on, or the analysis off. */
export interface Analyze {
  v: 1;
  id: number;
  type: "analyze";
  on: boolean;
  ply: number;
}

/** An action that the analysis looked at. `value_for_mover` is null where the search was too short for a value that can be compared. `score` and `distance` (plies to the end) are exact, where the game is solved: a score above 0 wins, the more the sooner. */
export interface Candidate {
  action: number;
  kind: "place" | "move" | "select" | "other";
  source: number;
  target: number;
  text: string;
  value_for_mover: number | null;
  visits: number;
  prior: number;
  policy: number;
  score: number | null;
  distance: number | null;
}

/** Every game. */
export interface CatalogAnswer {
  games: GameInfo[];
}

/** A choice of the swap2 opening. */
export interface Choose {
  v: 1;
  id: number;
  seq: number;
  type: "choose";
  choice: "white" | "black" | "place_two";
}

/** How to draw a game. With this and the actions' cells, the board needs to know no rules. */
export interface Descriptor {
  spec: string;
  game: string;
  title: string;
  title_zh: string;
  options: Record<string, number | string>;
  height: number;
  width: number;
  board_kind: "cells" | "intersections" | "columns";
  piece_kind: "stones" | "discs" | "marks";
  counts_pieces: boolean;
  rows_from_top: boolean;
}

/** A small board. Rows from the top: X and O are the two players, lower case is marked, . is empty. */
export interface Diagram {
  rows: string[];
  winning: number[];
  forbidden: Record<string, string>;
}

/** A request that was refused; `code` is the key of the page's words, `detail` says more in English, and `reason` is there where the rules refused an action. */
export interface ErrorMessage {
  v: 1;
  type: "error";
  id: number | null;
  code: string;
  detail: string;
  place: number;
  reason: Reason | null;
}

/** Ask for the game as a file. */
export interface Export {
  v: 1;
  id: number;
  type: "export";
  format: "sgf" | "psq" | "moves" | "state";
}

/** The answer to `export`. */
export interface ExportMessage {
  v: 1;
  type: "exported";
  id: number;
  name: string;
  text: string;
}

/** Begin a game that goes on from a ply of this one, so that another move can be tried. */
export interface Fork {
  v: 1;
  id: number;
  type: "fork";
  ply: number;
}

/** A position to look at; `phase_before` is the phase of the position before the last action. */
export interface Frame {
  ply: number;
  board: number[];
  marked: number[];
  to_move: number | null;
  phase: string;
  phase_before: string;
  counters: Record<string, number>;
  legal: ActionView[];
  forbidden: Refusal[];
  refused: Refusal[];
  winning: number[];
  last: MoveView | null;
}

/** The answer to `look`. */
export interface FrameMessage {
  v: 1;
  type: "frame";
  id: number;
  frame: Frame;
}

/** A game: a line of the catalog and its profile. `formats` are the files that it can be saved in; `limits` has, by counter, the option at which the game is a draw (0: never). Both languages have words for the same things. */
export interface GameInfo {
  id: string;
  title: string;
  title_zh: string;
  piece_kind: "stones" | "discs" | "marks";
  options: OptionInfo[];
  openings: ("" | "swap2")[];
  formats: ("sgf" | "psq" | "moves" | "state")[];
  words: Words;
  words_zh: Words;
  limits: Record<string, string>;
  rules: RulesSection[];
}

/** Whether the server is well, and how busy. */
export interface HealthAnswer {
  status: "ok";
  version: string;
  games: number;
  connections: number;
  searches: number;
  waiting: number;
}

/** How likely the actions that end on a cell are, together. */
export interface HeatCell {
  cell: number;
  share: number;
}

/** Ask where to look (1), for the move (2), for the line (3). */
export interface Hint {
  v: 1;
  id: number;
  seq: number;
  type: "hint";
  stage: 1 | 2 | 3;
}

/** The answer to `hint`: as much as was asked for. */
export interface HintMessage {
  v: 1;
  type: "hint";
  id: number;
  seq: number;
  stage: number;
  area: number[];
  action: ActionView | null;
  pv: Line | null;
}

/** One move judged: `loss` is how much of the value (-1 to 1) it gave away, seen by who made it. */
export interface JudgedMessage {
  v: 1;
  type: "judged";
  seq: number;
  ply: number;
  value_for_player0: number;
  loss: number | null;
  best: ActionView | null;
  pv: Line;
  total: number;
}

/** A continuation: its actions, how they are written, and the cells that they end on (-1: none). */
export interface Line {
  actions: number[];
  texts: string[];
  targets: number[];
}

/** Ask for the position after `ply` steps and then `actions`. */
export interface Look {
  v: 1;
  id: number;
  type: "look";
  ply: number;
  actions: number[];
}

/** A step of the game so far. A choice of the opening has action -1 and kind `choice`. */
export interface MoveView {
  action: number;
  kind: "place" | "move" | "select" | "other" | "choice";
  source: number;
  target: number;
  text: string;
  player: number;
}

/** What the opponent thought when it moved, for those who follow the analysis. */
export interface MovedMessage {
  v: 1;
  type: "moved";
  ply: number;
  value_for_player0: number;
}

/** Begin a game and look at it; `position` is a game's text in any format to go on from. */
export interface New {
  v: 1;
  id: number;
  type: "new";
  game: string;
  options: Record<string, number | string>;
  seats: [string, string];
  opening: "" | "swap2";
  position: string | null;
}

/** Look at a game that exists. */
export interface Open {
  v: 1;
  id: number;
  type: "open";
  game_id: string;
}

/** Somebody to play against. `elo` is measured (approximate: under other options than these), or null; `growth` places a net on its way from 0 (knows nothing) to 1 (fully trained), or is null. */
export interface Opponent {
  id: string;
  kind: "level" | "net" | "engine" | "growth";
  title: string;
  title_zh: string;
  note: string;
  note_zh: string;
  elo: number | null;
  elo_error: number | null;
  elo_approximate: boolean;
  growth: number | null;
}

/** Everybody who plays a game with these options; `usual` is whom a new player meets first. */
export interface OpponentsAnswer {
  opponents: Opponent[];
  usual: string | null;
}

/** An option of a game: one of `choices`, or a whole number from `min` to `max`. */
export interface OptionInfo {
  name: string;
  default: number | string;
  min: number;
  max: number;
  choices: string[];
}

/** Stop and go on watching a game without people. */
export interface Pause {
  v: 1;
  id: number;
  seq: number;
  type: "pause";
  on: boolean;
}

/** Ask for a pong. */
export interface Ping {
  v: 1;
  id: number;
  type: "ping";
}

/** Play an action by its number. */
export interface Play {
  v: 1;
  id: number;
  seq: number;
  type: "play";
  action: number;
}

/** Play an action by its notation. */
export interface PlayText {
  v: 1;
  id: number;
  seq: number;
  type: "play_text";
  text: string;
}

/** A sentence that depends on the number {n}; `one` is empty where the language has one form. */
export interface Plural {
  other: string;
  one: string;
}

/** The answer to `ping`. */
export interface PongMessage {
  v: 1;
  type: "pong";
  id: number;
}

/** How the opponent's thinking goes. `place` counts the searches before this one in the queue; 0 while it runs. */
export interface ProgressMessage {
  v: 1;
  type: "progress";
  seq: number;
  player: number;
  place: number;
  simulations: number;
}

/** Why an action is refused, or why a game is over: a code of the game's words, and the values that they name. */
export interface Reason {
  game: string;
  code: string;
  values: Record<string, string>;
}

/** A cell that may not be chosen now, and why. */
export interface Refusal {
  cell: number;
  reason: Reason;
}

/** How the game ended; `winner` is a player or null for a draw. `ending` says why in the words of the game, unless somebody resigned. */
export interface ResultView {
  winner: number | null;
  reason: "board" | "resigned";
  ending: Reason | null;
}

/** Have every move of the game judged, or stop. */
export interface Review {
  v: 1;
  id: number;
  type: "review";
  on: boolean;
}

/** A paragraph of the rules for people in both languages, and a diagram after it. */
export interface RulesSection {
  en: string;
  zh: string;
  diagram: Diagram | null;
}

/** Change who plays; in the middle of a game too. */
export interface SetSeats {
  v: 1;
  id: number;
  seq: number;
  type: "set_seats";
  seats: [string, string];
}

/** A command without more to say. `step` lets one opponent of a paused game move once. */
export interface Simple {
  v: 1;
  id: number;
  seq: number;
  type: "undo" | "redo" | "restart" | "rematch" | "resign" | "step";
}

/** The whole state; sent after every change to everybody who looks at the game. */
export interface StateMessage {
  v: 1;
  type: "state";
  id: number | null;
  game_id: string;
  seq: number;
  descriptor: Descriptor;
  frame: Frame;
  moves: MoveView[];
  redo: number;
  seats: [string, string];
  actor: number | null;
  opening: "" | "swap2";
  stage: "" | "place_three" | "choose" | "place_two" | "choose_colour";
  choices: string[];
  result: ResultView | null;
  paused: boolean;
  can_undo: boolean;
  thinking: number | null;
}

/** The words of a game in one language. Names in braces stand for values. `refusals`: a sentence per code of the core. English ones stand beside the codes in the game's header; a profile has those in other languages. `terms`: by the name of a value, what its values are called. `phases`: what is asked of {who}, by phase, by phase and kind of action ("MOVEMENT:select"), or by the phases before the last action and after it ("PLACEMENT>MOVEMENT"). `options`: what an option is called, and with the name of a choice after a dot ("rule.renju"), what the choice is. `endings`: why a game is over, by the code of views.ending, with the values of the options and the stones of the {winner} and the {loser}. `counters`: how far a counter of `limits` is, {n} of {limit}. */
export interface Words {
  refusals: Record<string, string>;
  terms: Record<string, Record<string, string>>;
  phases: Record<string, string | Plural>;
  options: Record<string, string>;
  endings: Record<string, string>;
  counters: Record<string, string>;
}

export type FromPage = New | Open | Fork | Play | PlayText | Choose | Simple | Pause | SetSeats | Look | Hint | Analyze | Review | Export | Ping;

export type FromServer = StateMessage | FrameMessage | ProgressMessage | MovedMessage | AnalysisMessage | HintMessage | JudgedMessage | ExportMessage | ErrorMessage | PongMessage;
