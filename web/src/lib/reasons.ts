// Why an action is refused, in words: the sentence of the reason's code with its values.
import { wordsOf } from "./game_words.svelte";
import { fill } from "./i18n.svelte";
import type { Reason } from "./messages";

/** `inside` a sentence no capital letter is needed. */
export function reasonText({ game, code, values }: Reason, inside = false): string {
  const words = wordsOf(game);
  const named = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, words?.terms[name]?.[value] ?? value]));
  const text = fill(words?.refusals[code] ?? code, named);
  return inside ? text : capitalised(text);
}

/** Chinese sentences may begin with a cell's name, which stays as it is. */
export function capitalised(text: string): string {
  return /\p{Script=Han}/u.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
