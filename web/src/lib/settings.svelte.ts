// What a person has chosen about the page, kept in the browser.
import { load, save } from "./stored";

export type Language = "en" | "zh-Hans";

export interface Settings {
  language: Language | "";
  scheme: "auto" | "light" | "dark";
  board: "wood" | "slate" | "paper";
  sound: boolean;
  animation: boolean;
  cat: boolean;
  confirm: boolean;
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
  confirm: false,
  coordinates: true,
  numbers: false,
  candidates: true,
  heat: false,
  scores: false,
};

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
