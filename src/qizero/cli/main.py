"""The command line: parses arguments and calls the package that does the work. One command per task."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qizero.base import results
from qizero.base.console import make_console, show_error
from qizero.base.signals import exits_on_signals
from qizero.base.version import __version__
from qizero.cli.bench import bench
from qizero.cli.match_display import MatchDisplay
from qizero.cli.options import SEEDS, JsonOption, SeedOption, check_json, problem_of
from qizero.cli.tables import (
    show_analysis,
    show_games,
    show_match,
    show_ratings,
)
from qizero.games.catalog import Game, IllegalActionError, InvalidInputError, list_games, load_game
from qizero.games.game_files import read_file_or_moves
from qizero.nets.evaluator import BackendError, EvaluationError, ModelFileError
from qizero.play.terminal import COMPUTER, HUMAN, play_in_terminal
from qizero.players.gomocup_engine import EngineError
from qizero.players.levels import definition_of, levels_of
from qizero.players.specs import PlayerSpecError, make_player, player_spec
from qizero.strength.ladder import play_ladder
from qizero.strength.match import MatchResult, Sprt, play_match
from qizero.training.settings import SettingsError, load_settings

if TYPE_CHECKING:
    from qizero.training.run import Run

__all__ = ["main"]

app = typer.Typer(
    name="qizero",
    help="Train a board-game AI from zero by self-play, play it, study with it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(bench, name="bench")


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
    game: Annotated[
        str | None, typer.Argument(metavar="[GAME]", help="The game; chosen on the page if left out.")
    ] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Play in this terminal instead of a browser.")] = False,
    port: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=65_535,
            help="The port to listen on; the next free one if it is in use.",
        ),
    ] = 8000,
    host: Annotated[
        str,
        typer.Option(
            metavar="H", help="The address to listen on; 0.0.0.0 lets everybody on the network use this server."
        ),
    ] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    end_with_input: Annotated[
        bool,
        typer.Option(
            "--end-with-input",
            help="Stop the server a minute after standard input has ended and the last page has closed.",
        ),
    ] = False,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", metavar="CMD", help="Offer a Gomocup engine on the page; may be repeated."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A training run; the page offers its nets as opponents."),
    ] = None,
    first: Annotated[
        str | None, typer.Option(metavar="PLAYER", help=f"With --terminal, the first player; {HUMAN} if left out.")
    ] = None,
    second: Annotated[
        str | None, typer.Option(metavar="PLAYER", help=f"With --terminal, the second player; {COMPUTER} if left out.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", **SEEDS, help="With --terminal, the seed of the computer's random choices."),
    ] = None,
) -> None:
    """Play a game, in a browser or in this terminal. A PLAYER is human or a spec, such as rollout:sims=1000."""
    chosen = load_game(game) if game is not None else None
    if terminal:
        with exits_on_signals():
            play_in_terminal(chosen, first, second, seed)
        return
    for name, value in (("--first", first), ("--second", second), ("--seed", seed)):
        if value is not None:
            raise typer.BadParameter(f"{name} needs --terminal; the page lets you choose the players")
    from qizero import server

    wanted = None if chosen is None else str(chosen)
    server.run(
        host, port, not no_browser, wanted, end_with_input=end_with_input, engines=engine or [], training_run=run
    )


GameArgument = Annotated[
    str, typer.Argument(metavar="GAME", help="Options in parentheses: 'gomoku(size=9,rule=renju)'.")
]
GamesOption = Annotated[
    int,
    typer.Option("--games", metavar="N", min=2, max=10_000_000, help="Games to play."),
]


@app.command()
def train(
    game: GameArgument,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="M",
            min=0.01,
            max=100_000.0,
            help="Minutes of training in total, including those before a resumption.",
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run's directory; runs/GAME if left out. An existing run is resumed."),
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="Settings in TOML.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="SECTION.NAME=VALUE", help="A setting; may be repeated.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", **SEEDS, help="Seed of all random choices of the run.")
    ] = None,
) -> None:
    """Train a network from zero by self-play. The same command again resumes."""
    _need("torch", "training")
    from qizero.base.events import Events
    from qizero.cli.train_display import TrainDisplay
    from qizero.training.checkpoint import CheckpointError
    from qizero.training.command import train as run_training
    from qizero.training.run import RunError

    chosen = list(settings or [])
    chosen += [f"run.minutes={minutes}"] if minutes is not None else []
    chosen += [f"run.seed={seed}"] if seed is not None else []
    loaded = load_settings(game, config, chosen)
    directory = run or Path("runs") / load_game(game).name
    events = Events()
    with TrainDisplay(make_console(), loaded.run.minutes) as display:
        events.subscribe(display)
        try:
            finished: Run = run_training(directory, loaded, events)
        except (RunError, CheckpointError) as error:
            raise InvalidInputError(str(error)) from error
    if finished.cycle:
        words = ["qizero", "play", game, "--run", str(directory)]
        if not loaded.run.milestones:  # the page offers the milestones of a run
            net = directory / "nets" / "current.safetensors"
            words = ["qizero", "play", game, "--terminal", "--second", player_spec("zero", net=net)]
        make_console().print(f"Play against it: {shlex.join(words)}", markup=False, soft_wrap=True)


@app.command()
def match(
    game: GameArgument,
    first: Annotated[str, typer.Argument(metavar="SPEC", help="A player, such as rollout:sims=1000.")],
    second: Annotated[str, typer.Argument(metavar="SPEC", help="Its opponent.")],
    games: GamesOption = 100,
    seed: SeedOption = 1,
    opening_plies: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=1000,
            help="Random plies at the start of each pair of games, instead of the balanced openings of the game.",
        ),
    ] = None,
    sprt: Annotated[
        str | None,
        typer.Option(
            metavar="ELO0,ELO1",
            help="Stop as soon as a sequential probability ratio test accepts one of the two Elo differences.",
        ),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Play a match in pairs of games with colours swapped."""
    chosen = load_game(game)
    check_json(json)
    one, two = make_player(first, chosen, seed=seed), make_player(second, chosen, seed=seed + 1)
    test = _sprt(sprt)
    with exits_on_signals():
        result = play_match(
            chosen,
            one,
            two,
            games,
            seed=seed,
            opening_plies=opening_plies,
            sprt=test,
            on_progress=MatchDisplay(f"{first} against {second}"),
        )
    show_match(make_console(stderr=json == results.STDOUT), str(chosen), first, second, result)
    if json is not None:
        options = {
            "game": str(chosen),
            "first": first,
            "second": second,
            "games": games,
            "opening_plies": opening_plies,
        }
        figures = asdict(result) | {"games": result.games, "score": result.score}
        results.write_result(results.provenance(seed=seed, options=options, packages=("onnxruntime",)) | figures, json)


@app.command()
def ladder(
    game: GameArgument,
    specs: Annotated[
        list[str] | None, typer.Argument(metavar="[SPEC …]", help="The players, weakest first; random is always added.")
    ] = None,
    levels: Annotated[
        bool,
        typer.Option("--levels", help="Rate the levels of the game; --json then writes a file as in level_ratings/."),
    ] = False,
    run: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Show the ratings that a training run has measured instead of playing."),
    ] = None,
    games: GamesOption = 40,
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """Rate players by playing each against its neighbours; random is 0 Elo."""
    chosen = load_game(game)
    check_json(json)
    console = make_console(stderr=json == results.STDOUT)
    players = [f"level:{level.name}" for level in levels_of(chosen)] if levels else []
    players += [spec for spec in specs or [] if spec != "random"]
    matches: list[dict[str, object]] = []

    def on_match(stronger: str, weaker: str, result: MatchResult) -> None:
        matches.append({"first": stronger, "second": weaker, **asdict(result)})
        show_match(console, str(chosen), stronger, weaker, result)

    if run is not None:
        from qizero.training.rating import ratings_of_run

        ratings = ratings_of_run(run)
        if not ratings:
            raise InvalidInputError(f"{run} holds no evaluations yet")
    else:
        specs = ["random", *players]
        with exits_on_signals():
            ratings = play_ladder(chosen, specs, games, seed, on_match, lambda a, b: MatchDisplay(f"{a} against {b}"))
    show_ratings(console, str(chosen), ratings)
    if json is not None:
        options = {"game": str(chosen), "specs": players, "run": str(run) if run else None, "games": games}
        figures: dict[str, object] = {"ratings": [asdict(rating) for rating in ratings], "matches": matches}
        if levels:
            figures["levels"] = {f"level:{level.name}": definition_of(chosen, level) for level in levels_of(chosen)}
        results.write_result(results.provenance(seed=seed, options=options) | figures, json)


@app.command()
def analyze(
    game: GameArgument,
    moves: Annotated[
        str,
        typer.Argument(metavar="FILE_OR_MOVES", help="SGF, PSQ, a state's text, or moves such as 4455 or 'h8 i9'."),
    ] = "",
    player: Annotated[str, typer.Option(metavar="SPEC", help="The player that analyses.")] = "rollout:sims=20000",
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """Show a player's analysis of a position."""
    chosen = load_game(game)
    check_json(json)
    state = read_file_or_moves(moves, chosen)
    _check_same_game(game, state.game)
    chosen = state.game
    if state.is_terminal():
        raise InvalidInputError("the game is over after these moves: there is nothing to analyse")
    analysis = make_player(player, chosen, seed=seed).analyze(state)
    show_analysis(make_console(stderr=json == results.STDOUT), state, analysis)
    if json is not None:
        legal = state.legal_actions()
        figures = {
            "action": state.action_to_string(analysis.action),
            "value": analysis.value,
            "wdl": analysis.wdl,
            "proven": analysis.proven,
            "distance": analysis.distance,
            "simulations": analysis.simulations,
            "pv": [int(action) for action in analysis.pv],
            "moves": [
                {
                    "move": state.action_to_string(action),
                    "visits": int(analysis.visits[action]),
                    "policy": float(analysis.policy[action]),
                    "prior": float(analysis.prior[action]),
                    "value": None if math.isnan(analysis.q[action]) else float(analysis.q[action]),
                }
                for action in legal
            ],
        }
        options = {"game": str(chosen), "moves": moves, "player": player}
        results.write_result(results.provenance(seed=seed, options=options) | figures, json)


@app.command()
def gomocup(
    player: Annotated[
        str | None, typer.Option(metavar="SPEC", help="The player; the strongest for the rule if left out.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", **SEEDS, help="Seed of the player's random choices.")] = None,
) -> None:
    """Play Gomoku for a manager of the Gomocup protocol, on standard input and output."""
    from qizero.play.gomocup import run_brain

    run_brain(player, seed)


@app.command()
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A training run's directory.")],
    file: Annotated[Path, typer.Argument(metavar="FILE.onnx", help="The file to write.")],
    net: Annotated[
        str, typer.Option(metavar="NAME", help="current, best, or a milestone such as c000012.")
    ] = "current",
) -> None:
    """Write a run's network as an ONNX file for others."""
    from qizero.base.files import write_atomically
    from qizero.nets.weights import find_network, read_weights

    source = find_network(run / "nets", net)
    if source is None:
        there = sorted({path.stem for path in (run / "nets").glob("[!.]*.*") if path.suffix != ".json"})
        raise InvalidInputError(f"{run} has no network {net!r}; available: {', '.join(there) or 'none'}")
    if source.suffix == ".onnx":
        write_atomically(file, source.read_bytes())
    else:
        _need("torch", f"exporting {source}")
        from qizero.nets.network import export_onnx, load_weights

        weights = read_weights(source)
        game = load_game(weights.metadata.game)
        export_onnx(load_weights(weights, game), file, game)
    make_console().print(f"{file}: {file.stat().st_size:,} bytes")


def _sprt(text: str | None) -> Sprt | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInputError(f"--sprt must be two numbers such as 0,10, not {text!r}") from None
    return Sprt(low, high)


def _need(package: str, what: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise InvalidInputError(f"{what} needs {package}: pip install 'qizero[train]'")


def _check_same_game(spec: str, found: Game) -> None:
    """Raises InvalidInputError if `found` is not the game of `spec`. Options that `spec` leaves out may differ."""
    wanted = load_game(spec)
    named = [part.partition("=")[0].strip() for part in spec.partition("(")[2].split(",")]
    differs = [name for name in named if name in wanted.options and wanted.options[name] != found.options.get(name)]
    if wanted.name != found.name or differs:
        raise InvalidInputError(f"these are moves of {found}, not of {spec}: use 'qizero analyze \"{found}\" …'")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code. An error is one line on standard error and exit code 2."""
    # Must be set before torch is loaded. Threads of OpenMP that wait then sleep instead of spinning; spinning makes
    # training several times slower when the rating process or another program uses the cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments, prog_name="qizero", standalone_mode=False)
    except typer.TyperException as error:
        show_error(problem_of(error))
        return 2
    except (
        BackendError,
        EngineError,
        EvaluationError,
        IllegalActionError,
        InvalidInputError,
        ModelFileError,
        PlayerSpecError,
        SettingsError,
    ) as error:
        show_error(str(error))
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        show_error(str(error))
        return 2
    return code if isinstance(code, int) else 0
