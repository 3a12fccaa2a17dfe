// The reasons why an action is illegal, in Chinese. The core gives them as English sentences; tests/server/test_words.py checks
// that this table has every one.
import { language } from "./i18n.svelte";

const chinese: [RegExp, string][] = [
  [/^this stone cannot move now$/, "这枚棋子现在不能走动"],
  [/^the stone on (\w+) is marked already$/, "$1 的棋子已被标记"],
  [/^the stone on (\w+) is in a square or line, and \w+ has stones that are not$/, "$1 的棋子在方或洲中，而对方还有不在其中的棋子"],
  [/^there is no stone of \w+ on (\w+)$/, "$1 没有可选的棋子"],
  [/^\w+ has to place a stone on an empty cell/, "现在应在空点落子"],
  [/^\w+ has to move a stone to an empty cell next to it/, "现在应把一子走到相邻的空点"],
  [/^\w+( cannot move and)? has to (mark|remove) a stone of/, "现在应选择对方的一枚棋子"],
  [/^(\S+) leaves the board$/, "$1 走出了棋盘"],
  [/^(\w+) is taken$/, "$1 已有棋子"],
  [/^column (\d) is full$/, "第 $1 列已满"],
  [/^(\w+) is forbidden for black: overline$/, "$1 是黑方禁手：长连"],
  [/^(\w+) is forbidden for black: double four$/, "$1 是黑方禁手：四四"],
  [/^(\w+) is forbidden for black: double three$/, "$1 是黑方禁手：三三"],
  [/^overline$/, "长连"],
  [/^double four$/, "四四"],
  [/^double three$/, "三三"],
  [/^a player who has a move must not pass$/, "有子可翻时不能停手"],
  [/^a stone on (\w+) would turn no stone; only a pass is legal$/, "$1 翻不了子，只能停一手"],
  [/^a stone on (\w+) would turn no stone$/, "下在 $1 翻不了任何棋子"],
  [/^the game is over; no action is legal$/, "对局已结束"],
  [/^'(.*)' is not an action of \w+; one is written like '(.*)'$/, "“$1”不是着法；着法写作“$2”的样子"],
];

/** The reason in the language of the person. `inside` a sentence it starts without a capital letter. */
export function reasonText(reason: string, inside = false): string {
  if (language() === "zh-Hans")
    for (const [pattern, text] of chinese) {
      const match = pattern.exec(reason);
      if (match) return text.replace(/\$(\d)/g, (_, index: string) => match[Number(index)] ?? "");
    }
  return inside ? reason : reason.charAt(0).toUpperCase() + reason.slice(1);
}
