// The game of this tab: its connection, the last state from the server, and the commands of the person.
import { clearHash, onAddressChange, readAddress, writeGameId } from "./address";
import { fetchCatalog, fetchOpponents } from "./api";
import { Connection, Refused, type RequestBody } from "./connection";
import { useWordsOf } from "./game_words.svelte";
import type { ActionView, Export, FromServer, GameInfo, Opponent, OpponentsAnswer, Reason, StateMessage } from "./messages";
import { HUMAN, parseSpec, plainSetup, remember, remembered, specOf, type Setup } from "./setup";
import { ShownPosition } from "./shown.svelte";
import { Studies } from "./studies.svelte";

const NOTICE_MILLISECONDS = 6000;
const RETRY_MILLISECONDS = 5000;

/** The longest text of a game that the server accepts; its limit for a whole message is a little higher. */
export const MAX_TEXT_BYTES = 48_000;

/** Something to tell the person: `error_CODE` in locales/ with the server's `detail` and the place in a queue. */
export interface Notice {
  code: string;
  detail: string;
  place: number;
  reason?: Reason | null;
}

type Seq<T> = T extends { seq: number } ? Omit<T, "seq"> : never;
type CommandBody = Seq<RequestBody>;
type Listener = (message: FromServer) => void;

export class GameStore {
  /** null until the first connection. */
  online = $state<boolean | null>(null);
  games = $state.raw<GameInfo[]>([]);
  state = $state.raw<StateMessage | null>(null);
  /** How far the opponent is: its place in the queue (0 while it thinks) and its simulations. */
  thought = $state.raw({ place: 0, simulations: 0 });
  notice = $state.raw<Notice | null>(null);
  /** The game that this one was forked from. */
  parent = $state<string | null>(null);

  readonly connection: Connection;
  readonly shown = new ShownPosition(this);
  readonly studies = new Studies(this);

  /** By the game's spec. */
  private opponents = $state.raw<Record<string, OpponentsAnswer>>({});
  private listeners: Listener[] = [];
  private opening = false;
  /** Settled when no change of the seats is under way. */
  private seating: Promise<unknown> = Promise.resolve();
  private noticeTimer: ReturnType<typeof setTimeout> | undefined;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.connection = new Connection(
      `${scheme}://${location.host}/ws`,
      (message) => this.receive(message),
      (online) => {
        this.online = online;
        if (online) void this.resume();
        else this.studies.interrupt();
      },
    );
    onAddressChange(() => void this.resume());
  }

  myTurn = $derived(this.state !== null && this.state.actor !== null && this.state.seats[this.state.actor] === HUMAN);
  /** The actions that the person may take now. */
  actions = $derived<ActionView[]>(
    this.shown.live && this.online === true && this.state && this.myTurn && this.state.choices.length === 0 ? this.state.frame.legal : [],
  );

  opponentsOf(spec: string): Opponent[] {
    return this.opponents[spec]?.opponents ?? [];
  }

  opponent(id: string): Opponent | undefined {
    return this.state ? this.opponentsOf(this.state.descriptor.spec).find((each) => each.id === id) : undefined;
  }

  setupFor(game: string): Setup {
    return remembered().setups[game] ?? plainSetup(game);
  }

  /** Calls `listener` with every message after the store has taken it in. Returns the function that ends this. */
  listen(listener: Listener): () => void {
    this.listeners = [...this.listeners, listener];
    return () => {
      this.listeners = this.listeners.filter((each) => each !== listener);
    };
  }

  /** Shows a notice for `NOTICE_MILLISECONDS`; null removes it. */
  say(notice: Notice | null): void {
    this.notice = notice;
    clearTimeout(this.noticeTimer);
    if (notice) this.noticeTimer = setTimeout(() => (this.notice = null), NOTICE_MILLISECONDS);
  }

  // ---- Opening a game --------------------------------------------------------------------------------------------------

  private async loadCatalog(): Promise<void> {
    this.games = (await fetchCatalog())?.games ?? [];
    useWordsOf(this.games);
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

  /** After a load, a reconnection or a change of the address: opens the game of the address, the last one, or a new one. */
  private async resume(): Promise<void> {
    if (this.opening || !this.connection.ready()) return;
    this.opening = true;
    clearTimeout(this.retryTimer);
    try {
      const catalog = this.games.length === 0 ? this.loadCatalog() : null;
      await this.openAddressed(catalog);
      await catalog;
    } finally {
      this.opening = false;
    }
    if (this.connection.ready() && (!this.state || this.games.length === 0))
      this.retryTimer = setTimeout(() => void this.resume(), RETRY_MILLISECONDS);
  }

  /** Where the address cannot be opened, another game is, and a notice gives the reason. */
  private async openAddressed(catalog: Promise<void> | null): Promise<void> {
    const { gameId, position, spec } = readAddress();
    let refused: Notice | null = null;
    if (position !== null) {
      if ((await this.loadText(position)) || !this.connection.ready()) return;
      clearHash();
      if (this.state) return;
      refused = this.notice;
    }
    const wanted = gameId ?? (spec === null ? remembered().current : "");
    if (wanted) {
      if (await this.open(wanted)) return;
      if (gameId !== null) refused = { code: "no_such_game", detail: "", place: 0 };
    }
    await catalog;
    await this.chooseGame(spec ?? (remembered().last || "gomoku"));
    if (refused) this.say(refused);
  }

  /** False if the server refused. A lost connection counts as opened: `resume` tries again. */
  private async open(id: string): Promise<boolean> {
    try {
      await this.connection.ask({ type: "open", game_id: id });
      return true;
    } catch (error) {
      return !(error instanceof Refused);
    }
  }

  /** Continues the last game of this kind, or starts one with the last setup; if that is refused, with the usual opponent; then without options. */
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

  /** Loads a game in any format, with a person on both sides. A bare list of moves is taken as moves of the current game. */
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

  /** A new game from ply `ply` of this one; `backToParent` returns. */
  async fork(ply: number): Promise<void> {
    const from = this.state?.game_id ?? null;
    if (await this.attempt({ type: "fork", ply })) this.parent = from;
  }

  async backToParent(): Promise<void> {
    const parent = this.parent;
    this.parent = null;
    if (parent) await this.open(parent);
  }

  // ---- Commands --------------------------------------------------------------------------------------------------------

  /** True if the server accepted; otherwise a notice gives its reason. */
  private async attempt(body: RequestBody): Promise<boolean> {
    try {
      await this.connection.ask(body);
      this.say(null);
      return true;
    } catch (error) {
      if (error instanceof Refused && error.answer.code !== "stale") this.say(error.answer);
      return false;
    }
  }

  /** Sends a command for the state that the person sees; the server refuses it if the game has changed since. */
  async command(body: CommandBody): Promise<boolean> {
    await this.seating;
    return this.attempt({ ...body, seq: this.state?.seq ?? 0 });
  }

  /** Changes who plays one side. The board stays as it is, so what is sent before the answer waits for it instead of being refused as stale. */
  setSeat(player: number, id: string): Promise<boolean> {
    const change = this.seating.then(() => {
      const seats: [string, string] = [...(this.state?.seats ?? [HUMAN, HUMAN])];
      seats[player] = id;
      return this.attempt({ type: "set_seats", seats, seq: this.state?.seq ?? 0 });
    });
    this.seating = change;
    return change;
  }

  play(action: number): Promise<boolean> {
    return this.command({ type: "play", action });
  }

  async exportAs(format: Export["format"]): Promise<{ name: string; text: string } | null> {
    const answer = await this.connection.ask({ type: "export", format }).catch(() => null);
    return answer?.type === "exported" ? answer : null;
  }

  // ---- Messages from the server ----------------------------------------------------------------------------------------

  private receive(message: FromServer): void {
    if (message.type === "state") this.receiveState(message);
    else if (message.type === "progress") {
      if (message.seq === this.state?.seq) this.thought = { place: message.place, simulations: message.simulations };
    } else if (message.type === "error") this.say({ code: message.code, detail: message.detail, place: message.place });
    this.studies.receive(message);
    for (const listener of this.listeners) listener(message);
  }

  private receiveState(message: StateMessage): void {
    const before = this.state;
    const same = before?.game_id === message.game_id;
    if (!same) this.parent = null;
    if (!same || before.seq !== message.seq) {
      this.thought = { place: 0, simulations: 0 };
      this.shown.backToPresent();
    }
    this.studies.prepareFor(message, before);
    this.state = message;
    const { game_id, descriptor } = message;
    remember((memory) => {
      memory.current = game_id;
      memory.last = descriptor.game;
      memory.games[descriptor.game] = game_id;
    });
    writeGameId(game_id);
    void this.loadOpponentsOf(descriptor.spec);
    this.studies.followShownPosition();
  }
}
