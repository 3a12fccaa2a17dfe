"""The command line of `qizero bench`: one command per measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qizero.base import results
from qizero.base.console import make_console
from qizero.bench.games import bench_env, bench_rollout
from qizero.bench.peers import PEER_PYTHON
from qizero.bench.search import bench_evaluator, bench_search, bench_selfplay
from qizero.cli.options import GameOption, JsonOption, SecondsOption, SeedOption, SimsOption, ThreadsOption, check_json
from qizero.cli.tables import show_env, show_evaluator, show_rollout, show_search, show_selfplay
from qizero.games.catalog import Game, list_games, load_game
from qizero.nets.architecture import NetworkConfig
from qizero.nets.evaluator import BACKENDS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["bench"]

CORES = results.available_cores()

bench = typer.Typer(help="Measure speed.", no_args_is_help=True)

CompareOption = Annotated[str, typer.Option(metavar="PEER[,PEER]", help="Other programs to measure in the same run.")]
PeerPythonOption = Annotated[
    str | None,
    typer.Option(
        metavar="PATH", envvar=PEER_PYTHON, help="The interpreter of the environment of benchmarks/requirements.txt."
    ),
]
ChannelsOption = Annotated[
    int,
    typer.Option(metavar="N", min=1, max=1024, help="Channels of the untrained network."),
]
BlocksOption = Annotated[
    int,
    typer.Option(metavar="N", min=0, max=100, help="Blocks of the untrained network."),
]
NetOption = Annotated[Path | None, typer.Option(metavar="FILE", help="A network in ONNX, instead of an untrained one.")]


def _backend(text: str) -> str:
    if text not in BACKENDS:
        raise typer.BadParameter(f"'{text}' is not one of {', '.join(BACKENDS)}")
    return text


BackendOption = Annotated[
    str, typer.Option(metavar="NAME", parser=_backend, help=f"What computes the network: {', '.join(BACKENDS)}.")
]


@bench.command("env")
def bench_env_command(
    game: Annotated[
        list[str] | None, typer.Option("--game", metavar="GAME", help="A game; may be repeated. All games if left out.")
    ] = None,
    seconds: SecondsOption = 1.0,
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """Steps per second of the games, in C++ and from Python."""
    games = [load_game(name) for name in game or [row.id for row in list_games()]]
    check_json(json)
    speeds = bench_env(games, seconds=seconds, seed=seed)
    show_env(make_console(stderr=json == results.STDOUT), speeds)
    if json is not None:
        options = {"game": [str(game) for game in games], "seconds": seconds}
        result = results.provenance(seed=seed, options=options)
        results.write_result(result | {"games": [asdict(speed) for speed in speeds]}, json)


@bench.command("rollout")
def bench_rollout_command(
    game: GameOption,
    threads: ThreadsOption = 1,
    seconds: SecondsOption = 3.0,
    seed: SeedOption = 1,
    compare: CompareOption = "",
    json: JsonOption = None,
) -> None:
    """Uniformly random games per second, in C++; peer: open_spiel."""
    chosen: Game = load_game(game)
    peers = _names(compare)
    check_json(json)
    speed = bench_rollout(chosen, threads=threads, seconds=seconds, seed=seed, compare=peers)
    show_rollout(make_console(stderr=json == results.STDOUT), speed)
    _write(json, speed, seed, {"game": str(chosen), "threads": threads, "seconds": seconds, "compare": peers}, peers)


@bench.command("search")
def bench_search_command(
    game: GameOption,
    batch: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=100_000, help="Trees searched at the same time."),
    ] = 256,
    sims: SimsOption = 64,
    threads: ThreadsOption = CORES,
    evaluator: Annotated[
        str, typer.Option(metavar="NAME", help="uniform (PUCT) or rollout (UCT), in C++.")
    ] = "uniform",
    seconds: SecondsOption = 3.0,
    seed: SeedOption = 1,
    compare: CompareOption = "",
    peer_python: PeerPythonOption = None,
    json: JsonOption = None,
) -> None:
    """Simulations per second without a network; peers: mctx (uniform), open_spiel (rollout, one thread)."""
    chosen, peers = load_game(game), _names(compare)
    check_json(json)
    speed = bench_search(
        chosen,
        batch=batch,
        sims=sims,
        threads=threads,
        evaluator=evaluator,
        seconds=seconds,
        seed=seed,
        compare=peers,
        peer_python=peer_python,
    )
    show_search(make_console(stderr=json == results.STDOUT), speed)
    _write(json, speed, seed, {"seconds": seconds, "compare": peers})


@bench.command("selfplay")
def bench_selfplay_command(
    game: GameOption,
    channels: ChannelsOption = 64,
    blocks: BlocksOption = 5,
    net: NetOption = None,
    backend: BackendOption = "auto",
    batch: Annotated[int, typer.Option(metavar="N", min=1, max=65_536, help="Positions in a batch.")] = 256,
    sims: SimsOption = 64,
    threads: ThreadsOption = CORES,
    seconds: SecondsOption = 10.0,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Switch the cache of evaluations off.")] = False,
    gumbel: Annotated[bool, typer.Option("--gumbel", help="A Gumbel root instead of PUCT.")] = False,
    seed: SeedOption = 1,
    compare: CompareOption = "",
    peer_python: PeerPythonOption = None,
    json: JsonOption = None,
) -> None:
    """Self-play with a network, and what limits it; peer: mctx."""
    chosen, peers = load_game(game), _names(compare)
    check_json(json)
    speed = bench_selfplay(
        chosen,
        network=NetworkConfig(channels, blocks),
        net=net,
        backend=backend,
        batch=batch,
        sims=sims,
        threads=threads,
        seconds=seconds,
        cache=not no_cache,
        gumbel=gumbel,
        seed=seed,
        compare=peers,
        peer_python=peer_python,
    )
    show_selfplay(make_console(stderr=json == results.STDOUT), speed)
    _write(json, speed, seed, {"backend": backend, "gumbel": gumbel, "compare": peers})


@bench.command("evaluator")
def bench_evaluator_command(
    game: GameOption,
    channels: ChannelsOption = 64,
    blocks: BlocksOption = 5,
    net: NetOption = None,
    backend: BackendOption = "auto",
    threads: ThreadsOption = CORES,
    seconds: SecondsOption = 10.0,
    json: JsonOption = None,
) -> None:
    """Evaluations per second of a network alone, by batch size."""
    chosen = load_game(game)
    check_json(json)
    speed = bench_evaluator(
        chosen, network=NetworkConfig(channels, blocks), net=net, backend=backend, threads=threads, seconds=seconds
    )
    show_evaluator(make_console(stderr=json == results.STDOUT), speed)
    _write(json, speed, None, {"backend": backend, "seconds": seconds})


def _names(compare: str) -> list[str]:
    return [name for name in compare.split(",") if name]


def _write(
    path: str | None,
    speed: DataclassInstance,
    seed: int | None,
    options: dict[str, Any],
    packages: Sequence[str] = (),
) -> None:
    if path is not None:
        origin = results.provenance(seed=seed, options=options, packages=tuple(packages))
        results.write_result(origin | asdict(speed), path)
