// The game that this tab looks at: what the server said last, and what the person asks of it.
import { fetchCatalog, fetchOpponents } from "./api";
import { Connection, Refused, type RequestBody } from "./connection";
import type {
  ActionView,
  AnalysisMessage,
  ErrorMessage,
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
import { decodePosition } from "./position_link";
import { HUMAN, parseSpec, plainSetup, remember, remembered, specOf, type Setup } from "./setup";

const NOTICE_MILLISECONDS = 6000;
const RETRY_MILLISECONDS = 5000;
const BUSY_MILLISECONDS = 2000;

/** The server takes texts of so many characters, and messages that are a little longer. */
export const MAX_TEXT_BYTES = 48_000;

export interface Notice {
  code: string;
  detail: string;
  place: number;
}

type Seq<T> = T extends { seq: number } ? Omit<T, "seq"> : never;
type CommandBody = Seq<RequestBody>;

export class GameStore {
  /** null until the first connection. */
  online = $state<boolean | null>(null);
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
  private opening = false;
  private noticeTimer: ReturnType<typeof setTimeout> | undefined;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  /** Numbers of the last requests, so that a late answer is known to be late. */
  private asked = { analysis: 0, review: 0, line: 0 };

  constructor() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.line = new Connection(
      `${scheme}://${location.host}/ws`,
      (message) => this.receive(message),
      (online) => {
        this.online = online;
        if (online) void this.resume();
        else this.interrupt();
      },
    );
    addEventListener("hashchange", () => void this.resume());
  }

  // ---- What is shown ---------------------------------------------------------------------------------------------------

  /** The position on the board: a preview, an earlier one, or the present. */
  frame = $derived<Frame | null>(this.preview?.frame ?? this.past ?? this.state?.frame ?? null);
  live = $derived(this.preview === null && this.past === null);
  shownPly = $derived(this.ply ?? this.state?.moves.length ?? 0);
  /** The actions that the person may take now. */
  actions = $derived<ActionView[]>(
    this.live && this.online === true && this.state && this.myTurn(this.state) && this.state.choices.length === 0
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
    return remembered().setups[game] ?? plainSetup(game);
  }

  /** Tells the person something for a while; null takes it back. */
  say(notice: Notice | null): void {
    this.notice = notice;
    clearTimeout(this.noticeTimer);
    if (notice) this.noticeTimer = setTimeout(() => (this.notice = null), NOTICE_MILLISECONDS);
  }

  // ---- Beginning and continuing ----------------------------------------------------------------------------------------

  private async loadCatalog(): Promise<void> {
    this.games = (await fetchCatalog())?.games ?? [];
  }

  loadOpponents(setup: Pick<Setup, "game" | "options">): Promise<OpponentsAnswer | null> {
    return this.loadOpponentsOf(specOf(setup));
  }

  private async loadOpponentsOf(spec: string): Promise<OpponentsAnswer | null> {
    const known = this.opponents[spec];
    if (known) return known;
    const answer = await fetchOpponents(spec);
    if (answer && answer.opponents.length > 0) this.opponents = { ...this.opponents, [spec]: answer };
    return answer;
  }

  /** After a load, a reconnection or a change of the address: the game of the address, the last one, or a new one. */
  private async resume(): Promise<void> {
    if (this.opening || !this.line.ready) return;
    this.opening = true;
    clearTimeout(this.retryTimer);
    try {
      const catalog = this.games.length === 0 ? this.loadCatalog() : null;
      await this.openAddressed(catalog);
      await catalog;
    } finally {
      this.opening = false;
    }
    if (this.line.ready && (!this.state || this.games.length === 0))
      this.retryTimer = setTimeout(() => void this.resume(), RETRY_MILLISECONDS);
  }

  /** What could not be opened is said beside what is opened instead. */
  private async openAddressed(catalog: Promise<void> | null): Promise<void> {
    const address = new URLSearchParams(location.hash.slice(1));
    const [id, position] = [address.get("g"), address.get("p")];
    let refused: Notice | null = null;
    if (position !== null) {
      if ((await this.loadText(decodePosition(position))) || !this.line.ready) return;
      history.replaceState(null, "", location.pathname + location.search);
      if (this.state) return;
      refused = this.notice;
    }
    const asked = new URLSearchParams(location.search).get("game");
    const wanted = id ?? (asked === null ? remembered().current : "");
    if (wanted) {
      if (await this.open(wanted)) return;
      if (id !== null) refused = { code: "no_such_game", detail: "", place: 0 };
    }
    await catalog;
    await this.chooseGame(asked ?? (remembered().last || "gomoku"));
    if (refused) this.say(refused);
  }

  private async open(id: string): Promise<boolean> {
    try {
      await this.line.ask({ type: "open", game_id: id });
      return true;
    } catch (error) {
      return !(error instanceof Refused);
    }
  }

  /** Goes on with the last game of this kind, or begins one as last time; with the usual opponent, or plainly, where that is refused. */
  async chooseGame(spec: string): Promise<void> {
    const { game: asked, options } = parseSpec(spec);
    const known = this.games.length === 0 || this.games.some((each) => each.id === asked);
    const game = known ? asked : "connect4";
    const last = remembered().games[game];
    const plain = !known || Object.keys(options).length === 0;
    if (last && plain && (await this.open(last))) return;
    const wanted = plain ? this.setupFor(game) : { ...this.setupFor(game), options };
    if (await this.begin(wanted)) return;
    const refused = this.notice;
    if ((await this.begin({ ...plainSetup(game), options: wanted.options })) || (await this.begin(plainSetup(game)))) this.say(refused);
  }

  async begin(setup: Setup): Promise<boolean> {
    let seats = setup.seats;
    if (seats.includes("")) {
      const answer = await this.loadOpponents(setup);
      if (answer === null) {
        this.say({ code: "unreachable", detail: "", place: 0 });
        return false;
      }
      const usual = answer.usual ?? HUMAN;
      seats = [seats[0] || usual, seats[1] || usual];
    }
    const begun = await this.attempt({ type: "new", game: setup.game, options: setup.options, seats, opening: setup.opening, position: null });
    if (begun) remember((memory) => (memory.setups[setup.game] = { ...setup, seats }));
    return begun;
  }

  /** Loads a game in any format; a bare list of moves is of the game that is looked at. People play both sides until somebody else is asked. */
  async loadText(text: string): Promise<boolean> {
    if (new Blob([JSON.stringify(text)]).size > MAX_TEXT_BYTES) {
      this.say({ code: "too_large", detail: "", place: 0 });
      return false;
    }
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
      this.say(null);
      return true;
    } catch (error) {
      if (error instanceof Refused && error.answer.code !== "stale") this.say(error.answer);
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
      this.clearPreview();
      this.line.tell({ type: "analyze", on: false, ply: 0 });
    }
  }

  private askAnalysis(): void {
    if (this.analysis?.ply !== this.shownPly) this.analysis = null;
    this.asked.analysis = this.line.tell({ type: "analyze", on: true, ply: this.shownPly });
  }

  setReviewing(on: boolean): void {
    this.reviewing = on && this.line.ready;
    if (on) this.judged = [];
    this.asked.review = this.line.tell({ type: "review", on });
  }

  /** The line was lost, and with it whatever was being thought about for this tab. An analysis begins again with the next state. */
  private interrupt(): void {
    if (this.reviewing) this.say({ code: "review_interrupted", detail: "", place: 0 });
    this.reviewing = false;
    this.hintPending = false;
  }

  /** A study could not be done: one that waits for room is asked for again. */
  private receiveError({ id, code, detail, place }: ErrorMessage): void {
    this.say({ code, detail, place });
    if (id === this.asked.review) this.reviewing = false;
    if (id !== this.asked.analysis || !this.analysing) return;
    if (code === "study_failed") this.setAnalysing(false);
    if (code === "busy") setTimeout(() => this.analysing && this.asked.analysis === id && this.askAnalysis(), BUSY_MILLISECONDS);
  }

  /** Looks at an earlier position; null comes back to the present. */
  async look(ply: number | null): Promise<void> {
    const total = this.state?.moves.length ?? 0;
    this.clearPreview();
    this.hint = null;
    if (ply === null || ply >= total) {
      this.ply = null;
      this.past = null;
    } else {
      const wanted = Math.max(0, ply);
      this.ply = wanted;
      const frame = await this.askFrame(wanted, []);
      if (this.ply === wanted) {
        this.past = frame;
        if (!frame) this.ply = null;
      }
    }
    if (this.analysing) this.askAnalysis();
  }

  async showLine(from: number, line: Line | null): Promise<void> {
    if (line === null) {
      this.clearPreview();
      return;
    }
    const asked = ++this.asked.line;
    const frame = await this.askFrame(from, line.actions);
    if (frame && asked === this.asked.line) this.preview = { frame, line };
  }

  /** Also a preview that is still being asked for. */
  private clearPreview(): void {
    this.asked.line += 1;
    this.preview = null;
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
        this.receiveError(message);
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
      this.clearPreview();
      this.analysis = null;
      this.reviewing = false;
    }
    this.state = message;
    const { game_id, descriptor } = message;
    remember((memory) => {
      memory.current = game_id;
      memory.last = descriptor.game;
      memory.games[descriptor.game] = game_id;
    });
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
