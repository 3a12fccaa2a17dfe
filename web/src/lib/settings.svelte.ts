// What a person has chosen about the page, kept in the browser.
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
  /** null: where fingers play on a board of small cells. */
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

const finger = new MediaQuery("pointer: coarse");
const SMALL_CELLS = 13;

/** Whether each move is confirmed on a board so wide. */
export function confirms(width: number): boolean {
  return settings.confirm ?? (finger.current && width >= SMALL_CELLS);
}

export const settings: Settings = $state(load("settings", defaults));

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
