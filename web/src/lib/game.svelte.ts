// The game that this tab looks at: what the server said last, and what the person asks of it.
import { Connection, Refused, type RequestBody } from "./connection";
import type {
  ActionView,
  AnalysisMessage,
  CatalogAnswer,
  Export,
  Frame,
  FromServer,
  GameInfo,
  HintMessage,
  JudgedMessage,
  Line,
  Opponent,
  OpponentsAnswer,
  StateMessage,
} from "./messages";
import { load, save } from "./stored";

export const HUMAN = "human";

export interface Setup {
  game: string;
  options: Record<string, number | string>;
  seats: [string, string];
  opening: "" | "swap2";
}

export interface Notice {
  code: string;
  detail: string;
  place: number;
}

type Seq<T> = T extends { seq: number } ? Omit<T, "seq"> : never;
type CommandBody = Seq<RequestBody>;

interface Remembered {
  current: string;
  last: string;
  games: Record<string, string>;
  setups: Record<string, Setup>;
}

function specOf(setup: Pick<Setup, "game" | "options">): string {
  const options = Object.entries(setup.options).map(([name, value]) => `${name}=${value}`);
  return options.length > 0 ? `${setup.game}(${options.join(",")})` : setup.game;
}

export class GameStore {
  online = $state(false);
  games = $state.raw<GameInfo[]>([]);
  opponents = $state.raw<Record<string, OpponentsAnswer>>({});
  state = $state.raw<StateMessage | null>(null);
  thought = $state.raw({ place: 0, simulations: 0 });
  notice = $state.raw<Notice | null>(null);
  hint = $state.raw<HintMessage | null>(null);
  hintStage = $state(0);
  hintPending = $state(false);
  analysing = $state(false);
  analysis = $state.raw<AnalysisMessage | null>(null);
  reviewing = $state(false);
  judged = $state.raw<JudgedMessage[]>([]);
  values = $state.raw<Record<number, number>>({});
  ply = $state<number | null>(null);
  past = $state.raw<Frame | null>(null);
  preview = $state.raw<{ frame: Frame; line: Line } | null>(null);
  parent = $state<string | null>(null);
  readonly listeners = new Set<(message: FromServer) => void>();

  private readonly line: Connection;
  private remembered: Remembered;
  private opening = false;

  constructor() {
    this.remembered = load<Remembered>("games", { current: "", last: "", games: {}, setups: {} });
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.line = new Connection(
      `${scheme}://${location.host}/ws`,
      (message) => this.receive(message),
      (online) => {
        this.online = online;
        if (online) void this.resume();
      },
    );
    void this.loadCatalog();
    addEventListener("hashchange", () => void this.resume());
  }

  // ---- What is shown ---------------------------------------------------------------------------------------------------

  /** The position on the board: a preview, an earlier one, or the present. */
  frame = $derived<Frame | null>(this.preview?.frame ?? this.past ?? this.state?.frame ?? null);
  live = $derived(this.preview === null && this.past === null);
  shownPly = $derived(this.ply ?? this.state?.moves.length ?? 0);
  /** The actions that the person may take now. */
  actions = $derived<ActionView[]>(
    this.live && this.online && this.state && this.myTurn(this.state) && this.state.choices.length === 0
      ? this.state.frame.legal
      : [],
  );

  private myTurn(state: StateMessage): boolean {
    return state.actor !== null && state.seats[state.actor] === HUMAN;
  }

  opponentsOf(spec: string): Opponent[] {
    return this.opponents[spec]?.opponents ?? [];
  }

  opponent(id: string): Opponent | undefined {
    return this.state ? this.opponentsOf(this.state.descriptor.spec).find((each) => each.id === id) : undefined;
  }

  setupFor(game: string): Setup {
    return this.remembered.setups[game] ?? { game, options: {}, seats: [HUMAN, ""], opening: "" };
  }

  // ---- Beginning and continuing ----------------------------------------------------------------------------------------

  private async loadCatalog(): Promise<void> {
    const answer = (await (await fetch("/api/games")).json()) as CatalogAnswer;
    this.games = answer.games;
  }

  async loadOpponents(setup: Pick<Setup, "game" | "options">): Promise<OpponentsAnswer> {
    return this.loadOpponentsOf(specOf(setup));
  }

  private async loadOpponentsOf(spec: string): Promise<OpponentsAnswer> {
    const known = this.opponents[spec];
    if (known) return known;
    const response = await fetch(`/api/opponents?game=${encodeURIComponent(spec)}`);
    if (!response.ok) return { opponents: [], usual: null };
    const answer = (await response.json()) as OpponentsAnswer;
    this.opponents = { ...this.opponents, [spec]: answer };
    return answer;
  }

  /** After a load, a reconnection or a change of the address: the game of the address, the last one, or a new one. */
  private async resume(): Promise<void> {
    if (this.opening || !this.line.ready) return;
    this.opening = true;
    try {
      const address = new URLSearchParams(location.hash.slice(1));
      const position = address.get("p");
      if (position !== null) {
        history.replaceState(null, "", location.pathname + location.search);
        await this.loadText(decodePosition(position));
        if (this.state) return;
      }
      const asked = new URLSearchParams(location.search).get("game");
      const wanted = address.get("g") ?? (asked === null ? this.remembered.current : "");
      if (wanted && (await this.open(wanted))) return;
      await this.chooseGame(asked ?? (this.remembered.last || "gomoku"));
    } finally {
      this.opening = false;
    }
  }

  private async open(id: string): Promise<boolean> {
    try {
      await this.line.ask({ type: "open", game_id: id });
      return true;
    } catch (error) {
      return !(error instanceof Refused);
    }
  }

  /** Goes on with the last game of this kind, or begins one as last time. */
  async chooseGame(spec: string): Promise<void> {
    const game = spec.split("(")[0] ?? spec;
    const last = this.remembered.games[game];
    if (last && !spec.includes("(") && (await this.open(last))) return;
    const known = this.games.length > 0 ? this.games.some((each) => each.id === game) : true;
    await this.begin(known ? this.setupFor(game) : this.setupFor("connect4"));
  }

  async begin(setup: Setup, position: string | null = null): Promise<boolean> {
    let seats = setup.seats;
    if (seats.includes("")) {
      const usual = (await this.loadOpponents(setup)).usual ?? HUMAN;
      seats = [seats[0] || usual, seats[1] || usual];
    }
    const complete: Setup = { ...setup, seats };
    this.remembered.setups[setup.game] = complete;
    const opening = position === null ? setup.opening : "";
    return this.attempt({ type: "new", game: setup.game, options: setup.options, seats, opening, position });
  }

  /** Loads a game in any format; a bare list of moves is of the game that is looked at. People play both sides until somebody else is asked. */
  async loadText(text: string): Promise<boolean> {
    return this.attempt({
      type: "new",
      game: this.state?.descriptor.game ?? "tictactoe",
      options: this.state?.descriptor.options ?? {},
      seats: [HUMAN, HUMAN],
      opening: "",
      position: text,
    });
  }

  // ---- Asking ----------------------------------------------------------------------------------------------------------

  private async attempt(body: RequestBody): Promise<boolean> {
    try {
      await this.line.ask(body);
      return true;
    } catch (error) {
      if (error instanceof Refused) {
        const { code, detail, place } = error.answer;
        if (code !== "stale") this.notice = { code, detail, place };
      }
      return false;
    }
  }

  command(body: CommandBody): Promise<boolean> {
    const seq = this.state?.seq ?? 0;
    return this.attempt({ ...body, seq } as RequestBody);
  }

  play(action: number): Promise<boolean> {
    return this.command({ type: "play", action });
  }

  async askHint(): Promise<void> {
    if (this.hintPending) return;
    const stage = Math.min(3, this.hintStage + 1) as 1 | 2 | 3;
    this.hintPending = true;
    await this.command({ type: "hint", stage });
    this.hintPending = false;
  }

  setAnalysing(on: boolean): void {
    this.analysing = on;
    if (on) this.askAnalysis();
    else {
      this.analysis = null;
      this.line.tell({ type: "analyze", on: false, ply: 0 });
    }
  }

  private askAnalysis(): void {
    if (this.analysis?.ply !== this.shownPly) this.analysis = null;
    this.line.tell({ type: "analyze", on: true, ply: this.shownPly });
  }

  setReviewing(on: boolean): void {
    this.reviewing = on;
    if (on) this.judged = [];
    this.line.tell({ type: "review", on });
  }

  /** Looks at an earlier position; null comes back to the present. */
  async look(ply: number | null): Promise<void> {
    const total = this.state?.moves.length ?? 0;
    this.preview = null;
    this.hint = null;
    if (ply === null || ply >= total) {
      this.ply = null;
      this.past = null;
    } else {
      const wanted = Math.max(0, ply);
      this.ply = wanted;
      const frame = await this.askFrame(wanted, []);
      if (frame && this.ply === wanted) this.past = frame;
    }
    if (this.analysing) this.askAnalysis();
  }

  async showLine(from: number, line: Line | null): Promise<void> {
    if (line === null) {
      this.preview = null;
      return;
    }
    const frame = await this.askFrame(from, line.actions);
    if (frame) this.preview = { frame, line };
  }

  private async askFrame(ply: number, actions: number[]): Promise<Frame | null> {
    try {
      const answer = await this.line.ask({ type: "look", ply, actions });
      return answer.type === "frame" ? answer.frame : null;
    } catch {
      return null;
    }
  }

  async fork(ply: number): Promise<void> {
    const from = this.state?.game_id ?? null;
    if (await this.attempt({ type: "fork", ply })) this.parent = from;
  }

  async backToParent(): Promise<void> {
    const parent = this.parent;
    this.parent = null;
    if (parent) await this.open(parent);
  }

  async exportAs(format: Export["format"]): Promise<{ name: string; text: string } | null> {
    try {
      const answer = await this.line.ask({ type: "export", format });
      return answer.type === "exported" ? answer : null;
    } catch {
      return null;
    }
  }

  // ---- Hearing ---------------------------------------------------------------------------------------------------------

  private receive(message: FromServer): void {
    switch (message.type) {
      case "state":
        this.receiveState(message);
        break;
      case "progress":
        if (message.seq === this.state?.seq) this.thought = { place: message.place, simulations: message.simulations };
        break;
      case "moved":
        this.values = { ...this.values, [message.ply]: message.value_for_player0 };
        break;
      case "analysis":
        if (this.analysing && message.ply === this.shownPly) {
          this.analysis = message;
          this.values = { ...this.values, [message.ply]: message.value_for_player0 };
        }
        break;
      case "hint":
        if (message.seq === this.state?.seq) {
          this.hint = message;
          this.hintStage = message.stage;
        }
        break;
      case "judged":
        if (message.seq === this.state?.seq) {
          this.judged = [...this.judged.filter((each) => each.ply !== message.ply), message];
          this.values = { ...this.values, [message.ply]: message.value_for_player0 };
          if (message.ply === message.total) this.reviewing = false;
        }
        break;
      case "error":
        this.notice = { code: message.code, detail: message.detail, place: message.place };
        break;
    }
    for (const listener of this.listeners) listener(message);
  }

  private receiveState(message: StateMessage): void {
    const before = this.state;
    const other = before?.game_id !== message.game_id;
    if (other) {
      this.judged = [];
      this.values = {};
      this.parent = null;
    }
    if (other || before?.seq !== message.seq) {
      const shared = other || !before ? 0 : sharedLength(before, message);
      this.values = Object.fromEntries(Object.entries(this.values).filter(([ply]) => Number(ply) <= shared));
      if (!other && shared < (before?.moves.length ?? 0)) this.judged = [];
      this.hint = null;
      this.hintStage = 0;
      this.hintPending = false;
      this.thought = { place: 0, simulations: 0 };
      this.ply = null;
      this.past = null;
      this.preview = null;
      this.analysis = null;
      this.reviewing = false;
    }
    this.state = message;
    this.notice = null;
    const { game_id, descriptor } = message;
    this.remembered.current = game_id;
    this.remembered.last = descriptor.game;
    this.remembered.games[descriptor.game] = game_id;
    save("games", this.remembered);
    if (new URLSearchParams(location.hash.slice(1)).get("g") !== game_id)
      history.replaceState(null, "", `${location.pathname}${location.search}#g=${game_id}`);
    void this.loadOpponentsOf(descriptor.spec);
    if (this.analysing) this.askAnalysis();
  }
}

function sharedLength(a: StateMessage, b: StateMessage): number {
  let length = 0;
  while (length < a.moves.length && length < b.moves.length && a.moves[length]?.text === b.moves[length]?.text) length += 1;
  return length;
}

export function encodePosition(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export function decodePosition(code: string): string {
  try {
    const bytes = atob(code.replace(/-/g, "+").replace(/_/g, "/"));
    return new TextDecoder().decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
  } catch {
    return "";
  }
}
