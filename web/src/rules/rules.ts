// The rules of the games in words, with small diagrams. A game without an entry is playable, its rules tab says so.
import type { Language } from "../lib/settings.svelte";

export interface Diagram {
  /** Rows from the top: X and O are the two players, lower case is marked, . is empty. */
  rows: string[];
  board: "cells" | "intersections" | "columns";
  pieces: "stones" | "discs" | "marks";
  winning?: number[];
  forbidden?: number[];
}
export interface Section {
  text: Record<Language, string>;
  diagram?: Diagram;
}

const line = (from: number, step: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i * step);

export const rules: Record<string, Section[]> = {
  tictactoe: [
    {
      text: {
        en: "Cross begins. In turn, each player marks an empty square. Three of your own in a row, column or diagonal win; a full board without that is a draw.",
        "zh-Hans": "叉先走。双方轮流在空格里画自己的记号。横、竖、斜任意一线连成三个即胜；棋盘画满仍无人连成则为和棋。",
      },
      diagram: { rows: ["XO.", "OX.", "..X"], board: "cells", pieces: "marks", winning: [0, 4, 8] },
    },
  ],
  connect4: [
    {
      text: {
        en: "Red begins. In turn, each player drops a disc into a column; it falls to the lowest free place. Four of your own in a row, column or diagonal win. A full board without that is a draw.",
        "zh-Hans": "红方先走。双方轮流把棋子投入某一列，棋子落到该列最低的空位。横、竖、斜任意一线连成四子即胜；棋盘满而无人连成则为和棋。",
      },
      diagram: {
        rows: [".......", ".......", "...X...", "..XO...", ".XOO...", "XOOX..X"],
        board: "columns",
        pieces: "discs",
        winning: [17, 23, 29, 35],
      },
    },
    { text: { en: "Keys 1 to 7 drop a disc.", "zh-Hans": "按数字键 1 到 7 可直接投子。" } },
  ],
  othello: [
    {
      text: {
        en: "Black begins. A stone must be placed so that it encloses at least one straight run of the opponent's stones between itself and another of your stones; everything enclosed turns over to your colour.",
        "zh-Hans": "黑先。落子必须能与己方另一枚棋子在横、竖或斜线上夹住至少一枚对方棋子；被夹住的棋子全部翻成己方颜色。",
      },
      diagram: { rows: ["......", "......", "..OX..", "..XO..", "......", "......"], board: "cells", pieces: "stones" },
    },
    {
      text: {
        en: "Whoever cannot turn any stone must pass; whoever can must not. When neither side can move the game is over, and more stones win.",
        "zh-Hans": "无子可翻时必须停一手（弃权）；有子可翻时不得停手。双方都不能落子时终局，棋子多者胜。",
      },
    },
  ],
  gomoku: [
    {
      text: {
        en: "Black begins. In turn, each player places a stone on an empty point. Five of your own in an unbroken row, column or diagonal win.",
        "zh-Hans": "黑先。双方轮流在空的交叉点落子。横、竖、斜任意一线连成五子即胜。",
      },
      diagram: {
        rows: [".......", ".X.....", ".OX....", ".OOX...", ".O..X..", ".....X.", "......."],
        board: "intersections",
        pieces: "stones",
        winning: line(8, 8, 5),
      },
    },
    {
      text: {
        en: "Freestyle: five or more win. Standard: exactly five win, six do not. Renju: white wins by five or more; black wins by exactly five and may not make two open threes at once, two fours at once, or six or more in a row. Such points are crossed out while black is to move.",
        "zh-Hans": "自由规则：五子或更多均胜。标准规则：恰好五子才胜，长连不算。连珠规则：白方五子以上即胜；黑方必须恰好五子，并且不得走三三、四四与长连禁手。轮到黑方时，禁手点会打叉标出。",
      },
      diagram: {
        rows: [".......", "...X...", "...X...", ".XX....", ".......", ".......", "......."],
        board: "intersections",
        pieces: "stones",
        forbidden: [24],
      },
    },
    {
      text: {
        en: "Swap2 makes the opening fair: one player places three stones (black, white, black). The other takes white, takes black, or places two more stones and lets the first choose a colour.",
        "zh-Hans": "Swap2 让开局公平：一方先摆三子（黑、白、黑）；另一方可选择执白、执黑，或再摆两子（白、黑）后由先摆的一方选择颜色。",
      },
    },
  ],
  liuzhou: [
    {
      text: {
        en: "Liuzhou chess (六洲棋) is a traditional game of northern China on 6×6 points. First, both sides place stones in turn until the board is full. Then stones move, and captures decide: who loses the last stones loses.",
        "zh-Hans": "六洲棋是流传于中国北方的传统棋类，棋盘为 6×6 个交叉点。先轮流落子直到摆满棋盘，然后走子、吃子；棋子被吃光的一方负。",
      },
    },
    {
      text: {
        en: "A square (方) is a 2×2 block of one colour: it earns one stone.",
        "zh-Hans": "方：同色 2×2 方块，可标记（或吃掉）对方一子。",
      },
      diagram: { rows: ["......", ".XX...", ".XX.O.", "...o..", "..O...", "......"], board: "intersections", pieces: "stones", winning: [7, 8, 13, 14] },
    },
    {
      text: {
        en: "A line (洲) is a full row or column of one colour: it earns two.",
        "zh-Hans": "洲：同色占满整行或整列，可标记（或吃掉）对方两子。",
      },
      diagram: { rows: ["..O...", "......", "XXXXXX", "..o...", "....o.", "......"], board: "intersections", pieces: "stones", winning: line(12, 1, 6) },
    },
    {
      text: {
        en: "While placing, a new square or line lets you mark stones of the opponent; marked stones stay until the board is full, take no part in shapes, and then all leave at once. If nothing is marked, white and then black each remove one stone that stands in no shape.",
        "zh-Hans": "落子阶段成方或成洲时，可标记对方棋子；被标记的棋子留在盘上但不再参与成形，待棋盘摆满后一并移除。若没有任何标记，则白方、黑方依次各移除对方一枚不在方或洲中的棋子。",
      },
    },
    {
      text: {
        en: "Then white moves first: one stone, one step up, down, left or right. A new square or line through the moved stone captures at once. Stones in a square or line may only be taken when the opponent has no others.",
        "zh-Hans": "随后白方先走：每次将己方一子上下左右移动一步。走动的棋子成方或成洲时立即吃子。只有当对方没有其他棋子时，才能吃处在方或洲中的棋子。",
      },
    },
    {
      text: {
        en: "Who cannot move removes one stone of the opponent; the opponent then removes one in return, and the stuck side moves.",
        "zh-Hans": "无子可走的一方移除对方一子；对方随即反移除一子，然后仍由被困的一方行棋。",
      },
    },
  ],
};
