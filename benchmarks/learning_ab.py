"""One measure for every change of learning: two settings, equal minutes on quiet cores, a match between the ends.

    python benchmarks/learning_ab.py GAME --name "what is tried" --b selfplay.gumbel=true --minutes 15
    python benchmarks/learning_ab.py --match FILE --name "what is tried"
    python benchmarks/learning_ab.py --table

`--a` and `--b` are settings as `qizero train --set` takes them (repeatable; nothing: the defaults). Both runs are
trained by turns in slices, so that a machine that gets slower meets both, in directories under --runs; the same command
resumes them. Then the last nets play `--games` games with `--sims` simulations from balanced openings, under every
variant.
The entry is added to benchmarks/results/learning_ab.json, and docs/experiments.md is written from that file.

A change of play needs no training: `--match` adds the result that `qizero match GAME B A --json FILE` wrote, of two
players with equal time.

The interval is that of the match between two nets. It does not know how much two runs of the same settings differ:
run A against A (no --b, another --seed for B with --b run.seed=2) for that.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qizero.base.events import Events
from qizero.base.results import provenance
from qizero.games.catalog import load_game
from qizero.players.specs import make_player, player_spec
from qizero.strength.match import play_match
from qizero.training.run import Run
from qizero.training.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "learning_ab.json"
TABLE = ROOT / "docs" / "experiments.md"
MATCH_FIGURES = ("games", "wins", "draws", "losses", "elo", "elo_low", "elo_high")


def train_slice(directory: Path, settings: Settings, until_minutes: float) -> Run:
    """Trains until the run has used that many minutes of its budget."""
    events = Events()
    events.subscribe(lambda name, values: print(f"{name}: {values}", flush=True) if name == "warning" else None)
    run = Run(directory, settings, events)
    run.open()

    def after_cycle(run: Run) -> None:
        run.stop = run.seconds >= 60 * until_minutes

    if run.seconds < 60 * until_minutes:
        run.train(after_cycle)
    return run


def figures_of(run: Run) -> dict[str, Any]:
    lines = [json.loads(line) for line in (run.directory / "metrics.jsonl").read_text("utf-8").splitlines()]
    return {
        "minutes": round(run.seconds / 60, 2),
        "cycles": run.cycle,
        "rows": run.total_rows,
        "games": run.total_games,
        "steps": run.learner.steps,
        "last_loss": lines[-1]["loss"],
    }


def table(entries: list[dict[str, Any]]) -> str:
    """All entries as Markdown."""
    lines = [
        "# Experiments: what was tried in learning, and what it gained",
        "",
        "`python benchmarks/learning_ab.py` makes an entry: B against A, equal minutes of training by turns on quiet",
        "cores, a match between the last nets from balanced openings. Elo of B with the 95 % interval of the match;",
        "two runs of the same settings differ too (the entries A against A). Machine, versions and seeds are in",
        "[`learning_ab.json`](../benchmarks/results/learning_ab.json).",
        "",
        "| game | tried (B) | against (A) | minutes each | variant | games | won, drawn, lost | Elo of B |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for entry in entries:
        minutes = f"{entry['minutes']:g}" if entry["minutes"] else "play only"
        for match in entry["matches"]:
            lines.append(  # noqa: PERF401
                f"| {entry['game']} | {entry['name']}: {settings_text(entry['b'])} | {settings_text(entry['a'])} "
                f"| {minutes} | {match['variant']} | {match['games']} "
                f"| {match['wins']}, {match['draws']}, {match['losses']} "
                f"| {match['elo']:+.0f} ({match['elo_low']:+.0f} to {match['elo_high']:+.0f}) |"
            )
    return "\n".join(lines) + "\n"


def settings_text(settings: list[str]) -> str:
    return ", ".join(f"`{setting}`" for setting in settings) or "defaults"


def read_entries() -> list[dict[str, Any]]:
    return list(json.loads(RESULTS.read_text("utf-8"))["entries"]) if RESULTS.exists() else []


def entry_of_match(file: Path, name: str) -> dict[str, Any]:
    """An entry of the table from what `qizero match --json` wrote."""
    match = json.loads(file.read_text("utf-8"))
    options = match["options"]
    return {
        **{key: match[key] for key in ("time", "seed", "machine", "versions")},
        "game": options["game"].partition("(")[0],
        "name": name,
        "a": [options["second"]],
        "b": [options["first"]],
        "minutes": 0,
        "matches": [{"variant": options["game"]} | {key: match[key] for key in MATCH_FIGURES}],
    }


def write(entries: list[dict[str, Any]]) -> None:
    RESULTS.write_text(json.dumps({"entries": entries}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    TABLE.write_text(table(entries), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="?")
    parser.add_argument("--name", default="A against A")
    parser.add_argument("--a", action="append", default=[], metavar="SECTION.NAME=VALUE")
    parser.add_argument("--b", action="append", default=[], metavar="SECTION.NAME=VALUE")
    parser.add_argument(
        "--both", action="append", default=[], metavar="SECTION.NAME=VALUE", help="settings of both runs"
    )
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--slices", type=int, default=3)
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--sims", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=Path, help="directory of the two runs")
    parser.add_argument("--match", type=Path, metavar="FILE", help="add this result of `qizero match --json` instead")
    parser.add_argument("--table", action="store_true", help="only write docs/experiments.md")
    options = parser.parse_args()
    if options.match is not None:
        if options.name == parser.get_default("name"):
            parser.error("--match needs a --name: what was tried")
        write([*read_entries(), entry_of_match(options.match, options.name)])
        return 0
    if options.table or options.game is None:
        TABLE.write_text(table(read_entries()), "utf-8")
        return 0
    if options.runs is None:
        parser.error("--runs DIR is needed: the two runs are resumed from there")
    common = [f"run.minutes={options.minutes}", f"run.seed={options.seed}", "evaluation.enabled=false", *options.both]
    runs: dict[str, Run] = {}
    for number in range(1, options.slices + 1):
        for side, chosen in (("a", options.a), ("b", options.b)):
            settings = load_settings(options.game, None, [*common, *chosen])
            runs[side] = train_slice(options.runs / side, settings, options.minutes * number / options.slices)
            print(f"{side}, slice {number}: {figures_of(runs[side])}", flush=True)
    nets = {side: options.runs / side / "nets" / "current.safetensors" for side in runs}
    matches = []
    for spec in runs["a"].config.variants:
        game = load_game(spec)
        one, two = (
            make_player(player_spec("zero", net=nets[side], sims=options.sims), game, seed=7) for side in ("b", "a")
        )
        result = play_match(game, one, two, options.games, seed=options.seed)
        matches.append({"variant": spec, "games": result.games, **asdict(result)})
        print(f"{spec}: B {result.wins}-{result.draws}-{result.losses}, Elo {result.elo:+.0f}", flush=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    origin = provenance(
        seed=options.seed, options={"sims": options.sims, "slices": options.slices}, packages=("torch",)
    )
    entry = {
        **origin,
        "commit": commit.stdout.strip(),
        "game": options.game,
        "name": options.name,
        "a": [*options.both, *options.a],
        "b": [*options.both, *options.b],
        "minutes": options.minutes,
        "runs": {side: figures_of(run) for side, run in runs.items()},
        "matches": matches,
    }
    write([*read_entries(), entry])
    return 0


if __name__ == "__main__":
    sys.exit(main())
