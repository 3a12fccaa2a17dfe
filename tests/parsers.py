"""Everything that reads foreign bytes, as a function for fuzzing: it returns, or raises one of its own errors."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from pydantic import ValidationError
from server.mutations import VALID

import qizero
from qizero.games.game_files import FORMATS, GameFileError, read_game, write_game
from qizero.nets.onnx_file import ModelFileError, parse_onnx
from qizero.nets.weights import parse_weights
from qizero.server import messages
from qizero.training.replay import ChunkError, read_chunk, row_dtype, write_chunk
from qizero.training.settings import SettingsError, load_settings

GAMES = [row.id for row in qizero.list_games()]
MAX_BYTES = 20_000


@dataclass(frozen=True)
class Parser:
    """`parse` may only raise `errors`; `seeds` are valid inputs, `words` pieces that inputs are made of."""

    parse: Callable[[bytes], object]
    errors: tuple[type[Exception], ...]
    seeds: Callable[[], list[bytes]]
    words: tuple[bytes, ...] = ()

    def accepts(self, data: bytes) -> bool:
        """Whether it parses. Any error but its own ones is a finding and raised."""
        try:
            self.parse(data)
        except self.errors:
            return False
        return True


def text_of(data: bytes) -> str:
    return data.decode(errors="replace")


@cache
def scratch() -> tempfile.TemporaryDirectory[str]:
    """A directory for parsers that read files, until the process ends; in memory where there is such a place."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(prefix="qizero-fuzz-", dir=memory if memory.is_dir() else None)


def in_file(name: str, data: bytes) -> Path:
    path = Path(scratch().name) / name
    path.write_bytes(data)
    return path


def played_states() -> Iterator[qizero.State]:
    for number, name in enumerate([*GAMES, "gomoku(size=9,rule=renju)"]):
        rng = random.Random(number)
        state = qizero.load_game(name).new_initial_state()
        for _ in range(12):
            if not state.is_terminal():
                state.apply_action(rng.choice(state.legal_actions()))
        yield state


def game_files() -> list[bytes]:
    return [
        write_game(state, each).encode()
        for state in played_states()
        for each in FORMATS
        if each not in ("psq", "moves") or state.game.name == "gomoku"
    ]


def parse_state(data: bytes) -> object:
    """The first byte chooses the game."""
    return qizero.load_game(GAMES[data[0] % len(GAMES)] if data else GAMES[0]).deserialize_state(text_of(data[1:]))


def states() -> list[bytes]:
    by_game = {GAMES.index(str(state.game)): state.serialize() for state in played_states() if str(state.game) in GAMES}
    return [bytes([number]) + text.encode() for number, text in by_game.items()]


def chunks() -> list[bytes]:
    path = Path(scratch().name) / "seed.rows"
    game = qizero.load_game("tictactoe")
    write_chunk(path, game, np.zeros(3, row_dtype(game)))
    return [path.read_bytes()]


def small_net() -> tuple[bytes, bytes]:
    """The smallest network of tic-tac-toe, as safetensors and as ONNX."""
    from qizero.nets.architecture import NetworkConfig
    from qizero.nets.network import Network, to_onnx, weights_of

    game = qizero.load_game("tictactoe")
    network = Network.for_game(NetworkConfig(1, 0, head_channels=1, value_hidden=1), game)
    return weights_of(network, game).to_bytes(), to_onnx(network, game)


PARSERS: dict[str, Parser] = {
    "game_file": Parser(
        lambda data: read_game(text_of(data), qizero.load_game("gomoku")),
        (GameFileError,),
        game_files,
        (
            b"(;",
            b")",
            b";B[",
            b"]",
            b"GM[4]",
            b"SZ[",
            b"AB[",
            b"piskvorky 15x15, 11:11, 0\n",
            b"game ",
            b"start ",
            b"\\",
        ),
    ),
    "state": Parser(
        parse_state, (ValueError,), states, (b"qizero-state 1\n", b"game ", b"actions ", b"board ", b"phase ", b"\n")
    ),
    "game_spec": Parser(
        lambda data: qizero.load_game(text_of(data)),
        (qizero.InvalidInputError,),
        lambda: [
            name.encode() for name in (*GAMES, "gomoku(size=9,rule=renju)", "liuzhou(lose_below=4,max_steps=144)")
        ],
        (b"(", b")", b"=", b",", b"size", b"rule", b"99999999999999999999"),
    ),
    "message": Parser(
        lambda data: (messages.request_id(text_of(data)), messages.from_page.validate_json(text_of(data))),
        (ValidationError,),
        lambda: [json.dumps({"v": 1, "id": 1, **each}).encode() for each in VALID],
        (b'"type":', b'"id":', b"null", b"1e999", b"[[[[", b"{", b"}", b'"\\ud800"'),
    ),
    "settings": Parser(
        lambda data: load_settings("connect4", in_file("fuzz.toml", data)),
        (SettingsError,),
        lambda: [b'[run]\nminutes = 5\nnetwork = "8x1"\nvariants = ["connect4"]\n[selfplay]\nsimulations = 8\n'],
        (b"[run]", b"[selfplay]", b"[training]", b"[[", b"inf", b"nan", b"9" * 50, b"backend = ", b"shares = [1]"),
    ),
    "chunk": Parser(
        lambda data: read_chunk(in_file("fuzz.rows", data), qizero.load_game("tictactoe")),
        (ChunkError,),
        chunks,
        (b'"rows": ', b'"sha256": ', b'"format": ', b"\n", b"999999999999", b'"x"', b"null", b"[", b"{"),
    ),
    "safetensors": Parser(
        lambda data: parse_weights(data, "fuzz.safetensors"),
        (ModelFileError,),
        lambda: [small_net()[0]],
        (b'"dtype":"F32"', b'"shape":[', b'"data_offsets":[', b'"__metadata__":', b"null", b"{}", b"\x00" * 8),
    ),
    "onnx": Parser(
        lambda data: parse_onnx(data, Path("fuzz.onnx")).float_weights(),
        (ModelFileError,),
        lambda: [small_net()[1]],
        (b"\x08", b"\x0a", b"\x12", b"\x3a", b"\xff\xff\xff\xff\x0f", b"\x80" * 9, b"Loop", b"external_data"),
    ),
}
"""By name. gomocup_fuzz.py has lines of the Gomocup protocol, server/mutations.py messages to a whole server."""


def mutants(parser: Parser, count: int, seed: int) -> Iterator[bytes]:
    """`count` inputs made of the seeds: bytes changed, cut out, doubled, put together, with words put in."""
    rng = random.Random(seed)
    seeds = parser.seeds()
    for _ in range(count):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.choice([1, 1, 2, 4, 16])):
            at = rng.randrange(len(data) + 1)
            to = min(len(data), at + rng.choice([1, 1, 4, 30, 1000]))
            match rng.randrange(6):
                case 0:
                    data[at:to] = bytes(rng.randrange(256) for _ in range(to - at))
                case 1:
                    del data[at:to]
                case 2:
                    data[at:at] = data[at:to] * rng.choice([1, 3, 50])
                case 3:
                    data[at:] = rng.choice(seeds)[at:]
                case 4 if parser.words:
                    data[at:at] = rng.choice(parser.words) * rng.choice([1, 1, 100])
                case _:
                    if at < len(data):
                        data[at] ^= 1 << rng.randrange(8)
        yield bytes(data[:MAX_BYTES])
