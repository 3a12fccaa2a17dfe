// The WebSocket to the server: reconnects by itself and matches answers to requests.
import type { ErrorMessage, FromPage, FromServer } from "./messages";

type Body<T> = T extends unknown ? Omit<T, "v" | "id"> : never;
export type RequestBody = Body<FromPage>;

/** The server answered a request with an error. */
export class Refused extends Error {
  constructor(readonly answer: ErrorMessage) {
    super(answer.detail);
  }
}

const PING_MILLISECONDS = 15_000;
const PONG_MILLISECONDS = 5000;

export class Connection {
  private socket: WebSocket | null = null;
  private nextId = 1;
  private delay = 250;
  private waiting = new Map<number, { done: (message: FromServer) => void; failed: (error: Error) => void }>();

  constructor(
    private readonly url: string,
    private readonly onMessage: (message: FromServer) => void,
    private readonly onStatus: (online: boolean) => void,
  ) {
    this.open();
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.hurry());
    setInterval(() => this.ready() && this.hurry(), PING_MILLISECONDS);
  }

  ready(): boolean {
    return this.openSocket() !== null;
  }

  private openSocket(): WebSocket | null {
    return this.socket?.readyState === WebSocket.OPEN ? this.socket : null;
  }

  /** Sends a request. Resolves to the first message with the request's id; rejects with `Refused`, or if the connection is lost. */
  ask(body: RequestBody): Promise<FromServer> {
    return new Promise((done, failed) => {
      const socket = this.openSocket();
      if (socket === null) {
        failed(new Error("offline"));
        return;
      }
      const id = this.nextId++;
      this.waiting.set(id, { done, failed });
      socket.send(JSON.stringify({ v: 1, id, ...body }));
    });
  }

  /** Sends a request without waiting for an answer. Returns its id, which an error message repeats. */
  tell(body: RequestBody): number {
    const id = this.nextId++;
    this.openSocket()?.send(JSON.stringify({ v: 1, id, ...body }));
    return id;
  }

  /** Reconnects at once if closed. A connection that seems open is replaced if it does not answer a ping: networks vanish without notice. */
  private hurry(): void {
    const socket = this.socket;
    if (socket === null) {
      this.delay = 250;
      this.open();
    } else if (this.ready()) {
      const tooLate = setTimeout(() => this.lose(socket), PONG_MILLISECONDS);
      const settled = (): void => clearTimeout(tooLate);
      void this.ask({ type: "ping" }).then(settled, settled);
    }
  }

  private open(): void {
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.onopen = () => {
      this.delay = 250;
      this.onStatus(true);
    };
    socket.onmessage = (event: MessageEvent<string>) => this.receive(JSON.parse(event.data) as FromServer);
    socket.onclose = () => this.lose(socket);
  }

  private lose(socket: WebSocket): void {
    if (this.socket !== socket) return;
    this.socket = null;
    socket.onmessage = null;
    socket.close();
    for (const each of this.waiting.values()) each.failed(new Error("offline"));
    this.waiting.clear();
    this.onStatus(false);
    setTimeout(() => this.socket === null && this.open(), this.delay);
    this.delay = Math.min(4000, this.delay * 1.7);
  }

  private receive(message: FromServer): void {
    const id = "id" in message ? message.id : null;
    const asked = id === null ? undefined : this.waiting.get(id);
    if (id !== null) this.waiting.delete(id);
    if (message.type === "error" && asked) {
      asked.failed(new Refused(message));
      return;
    }
    this.onMessage(message);
    asked?.done(message);
  }
}
