// Requests over HTTP, beside the WebSocket. They return null if the server is unreachable.
import type { CatalogAnswer, OpponentsAnswer } from "./messages";

export async function fetchCatalog(): Promise<CatalogAnswer | null> {
  const response = await fetch("/api/games").catch(() => null);
  return response?.ok ? ((await response.json()) as CatalogAnswer) : null;
}

/** No opponents for a spec that the server refuses. */
export async function fetchOpponents(spec: string): Promise<OpponentsAnswer | null> {
  const response = await fetch(`/api/opponents?game=${encodeURIComponent(spec)}`).catch(() => null);
  if (response === null) return null;
  return response.ok ? ((await response.json()) as OpponentsAnswer) : { opponents: [], usual: null };
}
