"""Whether a run went on getting stronger: its last net against the one of half time, under every variant.

    python benchmarks/half_time.py RUN [--games 400] [--sims 100] [--json FILE]

RUN is a directory of `qizero train`. The net of half time is the milestone nearest to half of the minutes trained. That
a run does not end weaker than its middle is shown if the lower end of the interval is above -20 Elo.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from qizero.base.results import provenance, write_result
from qizero.games.catalog import load_game
from qizero.players.specs import make_player, player_spec
from qizero.server.training_stages import stages_of_run
from qizero.strength.match import play_match
from qizero.training.settings import settings_from_json


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--sims", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    settings = settings_from_json(json.loads((options.run / "config.json").read_text("utf-8"))["config"])
    *earlier, last = stages_of_run(options.run).stages
    half = min(earlier, key=lambda stage: abs(stage.minutes - last.minutes / 2))
    print(f"{last.net} ({last.minutes:.1f} minutes) against {half.net} ({half.minutes:.1f} minutes)")
    matches = []
    for spec in settings.variants:
        game = load_game(spec)
        one, two = (
            make_player(
                player_spec("zero", net=options.run / "nets" / stage.net, sims=options.sims), game, seed=options.seed
            )
            for stage in (last, half)
        )
        result = play_match(game, one, two, options.games, seed=options.seed)
        matches.append({"variant": spec, **asdict(result)})
        score = f"{result.wins} won, {result.draws} drawn, {result.losses} lost"
        print(f"{spec}: {score}, Elo {result.elo:+.0f} ({result.elo_low:+.0f} to {result.elo_high:+.0f})", flush=True)
    if options.json is not None:
        origin = provenance(seed=options.seed, options={"games": options.games, "sims": options.sims})
        figures = {"last_minutes": last.minutes, "half_minutes": half.minutes, "matches": matches}
        write_result({**origin, **figures}, str(options.json))
    return 0


if __name__ == "__main__":
    sys.exit(main())
