// What the page fetches beside its line to the server. null: the server cannot be reached.
import type { CatalogAnswer, OpponentsAnswer } from "./messages";

export async function fetchCatalog(): Promise<CatalogAnswer | null> {
  const response = await fetch("/api/games").catch(() => null);
  return response?.ok ? ((await response.json()) as CatalogAnswer) : null;
}

/** Nobody plays a game that does not exist. */
export async function fetchOpponents(spec: string): Promise<OpponentsAnswer | null> {
  const response = await fetch(`/api/opponents?game=${encodeURIComponent(spec)}`).catch(() => null);
  if (response === null) return null;
  return response.ok ? ((await response.json()) as OpponentsAnswer) : { opponents: [], usual: null };
}
