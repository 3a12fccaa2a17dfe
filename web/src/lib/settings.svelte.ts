// The settings of the page, stored in the browser.
import { MediaQuery } from "svelte/reactivity";
import { load, save } from "./stored";

export type Language = "en" | "zh-Hans";

export interface Settings {
  language: Language | "";
  scheme: "auto" | "light" | "dark";
  board: "wood" | "slate" | "paper";
  sound: boolean;
  animation: boolean;
  cat: boolean;
  /** null: only on touch screens with a board of small cells. */
  confirm: boolean | null;
  coordinates: boolean;
  numbers: boolean;
  candidates: boolean;
  heat: boolean;
  scores: boolean;
}

const defaults: Settings = {
  language: "",
  scheme: "auto",
  board: "wood",
  sound: true,
  animation: true,
  cat: true,
  confirm: null,
  coordinates: true,
  numbers: false,
  candidates: true,
  heat: false,
  scores: false,
};

const touch = new MediaQuery("pointer: coarse");
/** Columns from which the cells of a board count as small. */
const SMALL_CELLS = 13;

/** True if moves are confirmed on a board of `width` columns. */
export function confirms(width: number): boolean {
  return settings.confirm ?? (touch.current && width >= SMALL_CELLS);
}

export const settings: Settings = $state(load("settings", defaults));

/** Stores changed settings and applies them to the document. To be called once, while a component is set up. */
export function keepSettings(): void {
  $effect(() => save("settings", $state.snapshot(settings)));
  $effect(() => {
    const root = document.documentElement;
    if (settings.scheme === "auto") root.removeAttribute("data-scheme");
    else root.dataset.scheme = settings.scheme;
    root.dataset.board = settings.board;
    root.dataset.animation = settings.animation ? "on" : "off";
  });
}
