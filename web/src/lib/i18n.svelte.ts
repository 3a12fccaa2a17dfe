// Texts in the language of the person. All catalogues in locales/ have the same keys; a value is a text, a text per plural form, or a list to pick from.
import en from "../locales/en.json";
import zhHans from "../locales/zh-Hans.json";
import { settings, type Language } from "./settings.svelte";

interface Plural {
  one?: string;
  other: string;
}
type Entry = string | Plural | string[];
export type Key = keyof typeof en;
type Values = Record<string, string | number>;

const catalogues: Record<Language, Record<string, Entry>> = { en, "zh-Hans": zhHans };

function fromBrowser(): Language {
  const asked = new URLSearchParams(location.search).get("lang");
  for (const tag of asked !== null ? [asked] : navigator.languages) {
    if (tag.toLowerCase().startsWith("zh")) return "zh-Hans";
    if (tag.toLowerCase().startsWith("en")) return "en";
  }
  return "en";
}

const browserLanguage = fromBrowser();

export function language(): Language {
  return settings.language || browserLanguage;
}

export function has(key: string): key is Key {
  return key in en;
}

export function t(key: Key, values: Values = {}): string {
  return fill(catalogues[language()][key] ?? key, values);
}

/** The text of an entry with its values. `n` chooses the plural form; `which`, from 0 to 1, picks from a list. */
export function fill(entry: Entry, values: Values = {}): string {
  let text: string;
  if (typeof entry === "string") text = entry;
  else if (Array.isArray(entry)) text = entry[Math.floor(Number(values.which ?? 0) * entry.length)] ?? "";
  else {
    const form = new Intl.PluralRules(language()).select(Number(values.n ?? 0));
    text = (form === "one" ? entry.one : undefined) ?? entry.other;
  }
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

export function titleOf(titled: { title: string; title_zh: string }): string {
  return language() === "zh-Hans" ? titled.title_zh : titled.title;
}

export function noteOf(noted: { note: string; note_zh: string }): string {
  return language() === "zh-Hans" ? noted.note_zh : noted.note;
}
