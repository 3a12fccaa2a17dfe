// The words of the games, as their profiles have them in either language: refusals, phases, options.
import { language } from "./i18n.svelte";
import type { GameInfo, Words } from "./messages";

let games = $state.raw<Record<string, GameInfo>>({});

export function useWordsOf(catalog: GameInfo[]): void {
  games = Object.fromEntries(catalog.map((each) => [each.id, each]));
}

/** undefined until the catalog has come. */
export function wordsOf(game: string): Words | undefined {
  return language() === "zh-Hans" ? games[game]?.words_zh : games[game]?.words;
}
