// The address of the page: `#g=ID` is a game that the server keeps, `#p=CODE` holds a whole game, `?game=SPEC` asks for a kind of game.

export interface Address {
  gameId: string | null;
  /** The text of a game; empty where the code is invalid. */
  position: string | null;
  spec: string | null;
}

export function readAddress(): Address {
  const hash = new URLSearchParams(location.hash.slice(1));
  const code = hash.get("p");
  return {
    gameId: hash.get("g"),
    position: code === null ? null : decodePosition(code),
    spec: new URLSearchParams(location.search).get("game"),
  };
}

/** Names the game in the address without a new entry in the browser's history. */
export function writeGameId(gameId: string): void {
  if (readAddress().gameId !== gameId) history.replaceState(null, "", `${location.pathname}${location.search}#g=${gameId}`);
}

/** Removes `#…`, so that a reload does not try an invalid position again. */
export function clearHash(): void {
  history.replaceState(null, "", location.pathname + location.search);
}

export function onAddressChange(callback: () => void): void {
  addEventListener("hashchange", callback);
}

/** The address that opens the game of `text` anywhere, also where the server does not know it. */
export function positionLink(text: string): string {
  return `${location.origin}${location.pathname}#p=${encodePosition(text)}`;
}

function encodePosition(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function decodePosition(code: string): string {
  try {
    const bytes = atob(code.replace(/-/g, "+").replace(/_/g, "/"));
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
  } catch {
    return "";
  }
}
