"""Lines of a broken or hostile manager: known words with wrong arguments, right ones out of order, noise."""

from __future__ import annotations

import random
from collections.abc import Iterator

COMMANDS = (
    "START", "RECTSTART", "RESTART", "BEGIN", "TURN", "BOARD", "DONE", "INFO", "TAKEBACK", "SWAP2BOARD", "YXBOARD",
    "YXSTOP", "STOP", "YXSHOWFORBID", "YXHASHCLEAR", "ABOUT", "PLAY", "SUGGEST", "OK", "ERROR", "UNKNOWN",
)  # fmt: skip
KEYS = ("timeout_turn", "timeout_match", "time_left", "max_memory", "rule", "game_type", "max_depth", "max_node",
        "hash_size", "folder", "evaluate", "thread_num", "x")  # fmt: skip
NUMBERS = (
    "0",
    "1",
    "2",
    "4",
    "7",
    "9",
    "14",
    "15",
    "19",
    "20",
    "21",
    "-1",
    "100",
    "99999999999999999999",
    "1e3",
    "NaN",
)


def fuzzed_lines(count: int, seed: int) -> Iterator[str]:
    """`count` lines, none of which asks for the end; about half of them belong to a game in play."""
    rng = random.Random(seed)
    for number in range(count):
        if number % 50 == 0:
            yield rng.choice(["START 15", "START 9", "START 20", "RECTSTART 6,6", "RESTART"])
        elif number % 50 == 1:
            yield f"INFO rule {rng.choice('0014')}"
        elif number % 50 == 2:
            yield "INFO max_memory 0"
        else:
            yield rng.choice((_move, _list, _command, _noise))(rng)


def _move(rng: random.Random) -> str:
    return rng.choice(["TURN {},{}", "TURN {},{}", "TAKEBACK {},{}", "{},{}", "{},{},1", "{},{},2"]).format(
        rng.randrange(10), rng.randrange(10)
    )


def _list(rng: random.Random) -> str:
    return rng.choice(["BOARD", "YXBOARD", "SWAP2BOARD", "DONE", "DONE", "DONE", "BEGIN"])


def _command(rng: random.Random) -> str:
    word = rng.choice(COMMANDS)
    word = rng.choice([word, word.lower(), word + " ", " " + word, word[:-1], word + "\t"])
    arguments = [rng.choice(NUMBERS) for _ in range(rng.randrange(4))]
    if word.strip().upper() == "INFO":
        arguments.insert(0, rng.choice(KEYS))
        return f"{word} {' '.join(arguments)}"
    return f"{word} {rng.choice(',; ').join(arguments)}"


def _noise(rng: random.Random) -> str:
    alphabet = "abcXYZ0123456789,.-+ \t\x00\x1b\x7f中文é\U0001f600\"'\\%{}$`"
    return "".join(rng.choice(alphabet) for _ in range(rng.choice([0, 1, 5, 30, 3000])))
