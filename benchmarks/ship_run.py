"""Puts the nets of a training run into the package: the last one as the game's net, some milestones as its childhood.

    python benchmarks/ship_run.py runs/connect4 --stages c000001 c000003 c000009 c000022 c000050

The last net plays for `zero`; the stages and the last net are what the page's slider offers. The plot of the run goes
to docs/learning/GAME.png. What is known of the strength belongs into models/GAME.md, by hand.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from qizero.base.files import write_atomically
from qizero.games.catalog import load_game
from qizero.players.levels import net_path
from qizero.server.training_stages import MODELS, STAGES, StageLine, StagesFile, minutes_by_cycle, stages_of_run

DOCS = Path(__file__).parent.parent / "docs" / "learning"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--stages", nargs="*", default=[], metavar="NET", help="milestones such as c000012")
    parser.add_argument("--sims", type=int, default=32, help="with which the stages play; 0: no search")
    options = parser.parse_args()
    training = stages_of_run(options.run)
    known = {Path(stage.net).stem: stage for stage in training.stages}
    if missing := [name for name in options.stages if name not in known]:
        raise SystemExit(f"{options.run} has no {', '.join(missing)}; it has {', '.join(known)}")

    nets, shipped = options.run / "nets", net_path(load_game(training.game))
    subprocess.run([sys.executable, "-m", "qizero", "export", str(options.run), str(shipped)], check=True)
    if (plot := options.run / "elo.png").exists():
        DOCS.mkdir(exist_ok=True)
        shutil.copyfile(plot, DOCS / f"{training.game}.png")
    if options.stages:
        folder = MODELS / training.game
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        stages = []
        for name in sorted(options.stages):
            stages.append(StageLine(net=known[name].net, minutes=known[name].minutes))  # no Elo: other simulations
            shutil.copyfile(nets / known[name].net, folder / known[name].net)
        minutes = max(minutes_by_cycle(options.run / "metrics.jsonl").values())
        stages.append(StageLine(net=f"../{shipped.name}", minutes=minutes))
        file = StagesFile(version=1, sims=options.sims, stages=stages)
        write_atomically(folder / STAGES, json.dumps(file.model_dump(exclude_none=True), indent=1).encode() + b"\n")
    print(
        f"{training.game}: its net and {len(options.stages)} stages; measure it and write {shipped.with_suffix('.md')}"
    )


if __name__ == "__main__":
    main()
