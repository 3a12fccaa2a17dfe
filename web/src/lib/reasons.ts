// Why a point may not be played, in Chinese. The core gives its reasons in English sentences; this table knows them all
// (tests/server/test_words.py plays games and says so).
import { language } from "./i18n.svelte";

const chinese: [RegExp, string][] = [];

export function reasonText(reason: string): string {
  if (language() === "zh-Hans")
    for (const [pattern, text] of chinese) {
      const match = pattern.exec(reason);
      if (match) return text.replace(/\$(\d)/g, (_, index: string) => match[Number(index)] ?? "");
    }
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}
