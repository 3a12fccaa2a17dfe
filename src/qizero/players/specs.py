"""Player specs: the texts by which people name players, such as "zero:sims=200", and how players are made of them.

>>> from qizero import load_game, make_player
>>> game = load_game("connect4")
>>> player = make_player("rollout:sims=200", game, seed=1)
>>> player.choose(game.new_initial_state()) in range(7)
True
"""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qizero.base.core_settings import CORE_SETTINGS
from qizero.base.results import available_cores
from qizero.games.catalog import Game, InvalidInputError
from qizero.nets.evaluator import BACKENDS, make_evaluator
from qizero.players.alphabeta import AlphaBetaPlayer
from qizero.players.driver import SearchParams
from qizero.players.gomocup_engine import GomocupPlayer
from qizero.players.level_player import LevelPlayer
from qizero.players.levels import level_of, net_path
from qizero.players.perfect import perfect_player
from qizero.players.protocol import Player
from qizero.players.search import PolicyPlayer, RandomPlayer, SearchPlayer

__all__ = ["PlayerSpecError", "make_player", "player_spec"]

POLICY_TEMPERATURE = 1.5
"""Of nets in play: with few simulations a sharp policy leaves no room for what the search finds (docs/results.md)."""

ORACLE_EFFORT = 1.0
"""How much of an oracle's own budget nets in play use, where the game has one (docs/experiments.md)."""


class PlayerSpecError(ValueError):
    """An invalid player spec; the message says what is wrong and what is allowed."""


@dataclass(frozen=True)
class Kind:
    """A kind of player: how its options are read, and how it is made from them."""

    options: Mapping[str, Callable[[str], Any]]
    make: Callable[[str, Game, Mapping[str, Any], int], Player]


def whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.removeprefix("-").isdecimal():
            raise ValueError("not a whole number")
        # Longer ones are out of every range, and Python refuses to read thousands of digits.
        value = int(text) if len(text) <= 30 else high + 1
        if not low <= value <= high:
            raise ValueError(f"not between {low} and {high}")
        return value

    return parse


def number(low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ValueError("not a number") from None
        if not low <= value <= high:
            raise ValueError(f"not between {low:g} and {high:g}")
        return value

    return parse


def setting(name: str, low: int | None = None) -> Callable[[str], float]:
    """A number in the range that the core declares for its setting, from `low` on if given."""
    core = CORE_SETTINGS[name]
    lowest = core.low if low is None else low
    return whole(lowest, core.high) if core.type == "int" else number(lowest, core.high)


def one_of(names: Iterable[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"not one of {', '.join(names)}")
        return text

    return parse


def make_random(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    return RandomPlayer(game, seed)


def make_rollout(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    params = SearchParams(
        selection="uct",
        simulations=options.get("sims", 0 if "ms" in options else 1000),
        milliseconds=options.get("ms", 0.0),
        early_stop=True,
    )
    threads = options.get("threads", available_cores())
    temperature = options.get("temperature", 0.0)
    return SearchPlayer(spec, game, "rollout", params, seed=seed, threads=threads, temperature=temperature)


def make_zero(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    net = Path(options["net"]) if "net" in options else shipped_net(game)
    threads = options.get("threads", available_cores())
    evaluator = make_evaluator(net, game, backend=options.get("backend", "default"), threads=threads)
    temperature = options.get("temperature", 0.0)
    if options.get("sims") == 0:
        return PolicyPlayer(spec, game, evaluator, seed=seed, temperature=temperature)
    params = SearchParams(
        simulations=options.get("sims", 0 if "ms" in options else 200),
        milliseconds=options.get("ms", 0.0),
        root_policy_temperature=options.get("policy_temperature", POLICY_TEMPERATURE),
        oracle_effort=(oracle := options.get("oracle", ORACLE_EFFORT)),
        oracle_root_effort=options.get("root_oracle", oracle),
        lcb=options.get("lcb", 0.0),
        early_stop=True,
    )
    return SearchPlayer(
        spec,
        game,
        evaluator,
        params,
        seed=seed,
        threads=threads,
        leaves_per_tree=options.get("leaves", 1),
        temperature=temperature,
        keep_tree=options.get("keep_tree", 0) != 0,
    )


def make_alphabeta(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    try:
        return AlphaBetaPlayer(
            spec,
            game,
            depth=options.get("depth"),
            nodes=options.get("nodes"),
            milliseconds=options.get("ms"),
            evaluation=options.get("eval", ""),
            temperature=options.get("temperature", 0.0),
            table_megabytes=options.get("table", 32),
            seed=seed,
        )
    except InvalidInputError as error:
        raise PlayerSpecError(f"player {spec!r}: {error}") from None


def make_perfect(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    try:
        return perfect_player(game, spec)
    except InvalidInputError as error:
        raise PlayerSpecError(f"player {spec!r}: {error}") from None


def make_gomocup(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    if "cmd" not in options:
        raise PlayerSpecError(f"player {spec!r}: name the engine, as in gomocup:cmd=/path/to/pbrain-engine,ms=1000")
    try:
        return GomocupPlayer(spec, game, options["cmd"], options.get("ms", 1000))
    except InvalidInputError as error:
        raise PlayerSpecError(f"player {spec!r}: {error}") from None


def make_level(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    try:
        level = level_of(game, options["name"])
    except InvalidInputError as error:
        raise PlayerSpecError(f"player {spec!r}: {error}") from None
    return LevelPlayer(spec, level, make_player(level.spec, game, seed), seed)


def shipped_net(game: Game) -> Path:
    path = net_path(game)
    if not path.exists():
        raise PlayerSpecError(f"no net is shipped for {game.name}: name one with zero:net=PATH")
    return path


KINDS: dict[str, Kind] = {
    "random": Kind({}, make_random),
    "rollout": Kind(
        {
            "sims": setting("search.simulations", low=1),
            "ms": number(1, 1e7),
            "temperature": number(0, 100),
            "threads": setting("pool.threads"),
        },
        make_rollout,
    ),
    "zero": Kind(
        {
            "net": str,
            "sims": setting("search.simulations"),
            "ms": number(1, 1e7),
            "temperature": number(0, 100),
            "threads": setting("pool.threads"),
            "policy_temperature": setting("search.root_policy_temperature"),
            "leaves": setting("pool.leaves_per_tree"),
            "oracle": setting("search.oracle_effort"),
            "root_oracle": setting("search.oracle_root_effort"),
            "lcb": setting("search.lcb"),
            "keep_tree": whole(0, 1),
            "backend": one_of(BACKENDS),
        },
        make_zero,
    ),
    "alphabeta": Kind(
        {
            "depth": whole(1, 100),
            "nodes": whole(1, 1_000_000_000_000),
            "ms": number(1, 1e7),
            "eval": str,
            "temperature": number(0, 100),
            "table": whole(1, 65536),
        },
        make_alphabeta,
    ),
    "perfect": Kind({}, make_perfect),
    "level": Kind({}, make_level),
    "gomocup": Kind({"cmd": str, "ms": whole(1, 10_000_000)}, make_gomocup),
}


def make_player(spec: str, game: Game, seed: int | None = None) -> Player:
    """The player that `spec` names: a kind, then options after a colon, as in "rollout:sims=1000".

    An option whose value has a comma is put in double quotes, as in zero:"net=a,b.onnx",sims=200. Without a
    seed it is seeded from the system. Raises PlayerSpecError for a bad spec.
    """
    name, _, rest = spec.partition(":")
    kind = KINDS.get(name)
    if kind is None:
        raise PlayerSpecError(f"player {spec!r}: there is no kind {name!r}; there are {', '.join(KINDS)}")
    options: dict[str, Any] = {}
    if name == "level":
        options["name"], rest = rest, ""
    for item in filter(None, _items(spec, rest)):
        key, equals, text = item.partition("=")
        if not equals or key not in kind.options:
            allowed = ", ".join(kind.options) or "none"
            raise PlayerSpecError(
                f"player {spec!r}: {item!r} is not an option; options of {name} (name=value): {allowed}"
            )
        if key in options:
            raise PlayerSpecError(f"player {spec!r}: {key} is given twice")
        try:
            options[key] = kind.options[key](text)
        except ValueError as error:
            raise PlayerSpecError(f"player {spec!r}: {key}={text}: {error}") from None
    return kind.make(spec, game, options, secrets.randbits(63) if seed is None else seed)


def _items(spec: str, rest: str) -> list[str]:
    """The options of a spec: a line of CSV."""
    try:
        return next(csv.reader([rest], strict=True), [])
    except csv.Error as error:
        raise PlayerSpecError(f"player {spec!r}: the options cannot be told apart: {error}") from None


def player_spec(kind: str, **options: object) -> str:
    """The spec of a player, in which values, such as paths, may have any characters but line ends."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([f"{key}={value}" for key, value in options.items()])
    return f"{kind}:{line.getvalue()}"
