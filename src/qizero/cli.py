"""The command line: what can be said, and who does it. One verb a job."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from qizero import __version__, results
from qizero.bench import bench_env, bench_rollout
from qizero.console import make_console, show_env, show_error, show_games, show_rollout
from qizero.games import Game, IllegalActionError, InvalidInputError, list_games, load_game
from qizero.players import PlayerSpecError
from qizero.terminal import COMPUTER, HUMAN, play_in_terminal

__all__ = ["main"]

app = typer.Typer(
    name="qizero",
    help="Train a board-game AI from zero by self-play, play it, study with it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
bench = typer.Typer(help="Measure speed.", no_args_is_help=True)
app.add_typer(bench, name="bench")


def _number(convert: Callable[[str], float], words: str, low: float, high: float) -> Callable[[str], float]:
    """A parser of an option's value whose error names the value and what is allowed."""

    def parse(text: str) -> float:
        try:
            value = convert(str(text))
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise typer.BadParameter(f"'{text}' is not {words} from {low:,} to {high:,}")
        return value

    return parse


SEED = _number(int, "a whole number", 0, 2**32 - 1)
GameOption = Annotated[
    str, typer.Option("--game", metavar="GAME", help="A game, options in parentheses: 'gomoku(size=9,rule=renju)'.")
]
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the result there as JSON; - is standard output.")
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", parser=SEED, help="The same seed gives the same random choices.")
]
SecondsOption = Annotated[
    float,
    typer.Option(
        "--seconds",
        metavar="S",
        parser=_number(float, "a number", 0.01, 86_400),
        help="How long each loop is measured.",
    ),
]
ThreadsOption = Annotated[
    int, typer.Option("--threads", metavar="N", parser=_number(int, "a whole number", 1, 1024), help="Threads at once.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"qizero {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


@app.command()
def games(json: JsonOption = None) -> None:
    """List the games and their options."""
    rows = list_games()
    if json is None:
        show_games(make_console(), rows)
    else:
        results.write_result({"games": [asdict(row) for row in rows]}, json)


@app.command()
def play(
    game: Annotated[str | None, typer.Argument(metavar="[GAME]", help="Asked for if left out.")] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Play in this terminal.")] = False,
    first: Annotated[str | None, typer.Option(metavar="PLAYER", help=f"Who begins; {HUMAN} if left out.")] = None,
    second: Annotated[str | None, typer.Option(metavar="PLAYER", help=f"Who plays second; {COMPUTER} if left out.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", parser=SEED, help="Repeats the computer's choices.")] = None,
) -> None:
    """Play a game. A PLAYER is human or a player spec, such as random or rollout:sims=1000."""
    del terminal
    play_in_terminal(load_game(game) if game is not None else None, first, second, seed)


@bench.command("env")
def bench_env_command(
    game: Annotated[
        list[str] | None, typer.Option("--game", metavar="GAME", help="May be given more than once; all if left out.")
    ] = None,
    seconds: SecondsOption = 1.0,
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """Steps per second of the games, in C++ and from Python."""
    games = [load_game(name) for name in game or [row.id for row in list_games()]]
    _check_json(json)
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
    compare: Annotated[
        str, typer.Option(metavar="PEER[,PEER]", help="Measure others in the same run: open_spiel.")
    ] = "",
    json: JsonOption = None,
) -> None:
    """Uniformly random games per second, in C++."""
    chosen: Game = load_game(game)
    peers = [name for name in compare.split(",") if name]
    _check_json(json)
    speed = bench_rollout(chosen, threads=threads, seconds=seconds, seed=seed, compare=peers)
    show_rollout(make_console(stderr=json == results.STDOUT), speed)
    if json is not None:
        options = {"game": str(chosen), "threads": threads, "seconds": seconds, "compare": peers}
        results.write_result(
            results.provenance(seed=seed, options=options, packages=tuple(peers)) | asdict(speed), json
        )


def _check_json(path: str | None) -> None:
    if path is not None:
        results.check_result_path(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 2 and one line on standard error for what cannot be done."""
    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments, prog_name="qizero", standalone_mode=False)
    except typer.TyperException as error:
        show_error(error.format_message())
        return 2
    except (IllegalActionError, InvalidInputError, PlayerSpecError) as error:
        show_error(str(error))
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        show_error(str(error))
        return 2
    return code if isinstance(code, int) else 0
