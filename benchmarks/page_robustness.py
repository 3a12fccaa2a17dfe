"""The page's server under people who change their mind, and under nonsense; the tests run a sample of the same.

    python benchmarks/page_robustness.py --sequences 5000 --messages 10000 --frames 100

writes benchmarks/results/page_robustness.json. Sequences are random commands (undo, redo, restart, changed sides,
reloads, crashes …) while the opponent thinks, each answer compared with a plain model. The first difference, error in
the log or line that ends in another way than it should is an exception, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from qizero.base.results import check_result_path, provenance, write_result

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from server.conftest import RunningServer  # noqa: E402  # shared with the tests
from server.fakes import fake_parts  # noqa: E402
from server.mutations import bombard, connect_from_elsewhere, send_large_frames  # noqa: E402
from server.races import RaceMachine  # noqa: E402


def run_sequences(count: int, steps: int, random_seed: int) -> Counter[str]:
    """Runs random sequences of commands; what happened in them."""
    run_state_machine_as_test(
        seed(random_seed)(RaceMachine),
        settings=settings(
            max_examples=count,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
    return RaceMachine.tally


def main() -> None:
    """Run everything, write the result file, print the short form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=30, help="of a sequence, at most")
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--frames", type=int, default=100, help="of 1 MB")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default=str(ROOT / "benchmarks" / "results" / "page_robustness.json"))
    arguments = parser.parse_args()
    check_result_path(arguments.json)

    started = time.monotonic()
    sequences = run_sequences(arguments.sequences, arguments.steps, arguments.seed)
    sequence_seconds = time.monotonic() - started
    with tempfile.TemporaryDirectory() as directory:
        server = RunningServer(fake_parts(Path(directory)))
        answers = bombard(server, arguments.messages, arguments.seed)
        frames = send_large_frames(server, arguments.frames)
        refused = connect_from_elsewhere(server)
        server.stop()

    options = {name: getattr(arguments, name) for name in ("sequences", "steps", "messages", "frames")}
    result = provenance(seed=arguments.seed, options=options, packages=("hypothesis", "websockets", "uvicorn")) | {
        "sequences": dict(sorted(sequences.items())),
        "differences_from_the_model": 0,
        "answers_to_mutated_messages": dict(sorted(answers.items())),
        "large_frames": dict(frames),
        "foreign_places": dict(refused),
        "errors_logged": 0,
        "sequence_seconds": round(sequence_seconds, 1),
        "seconds": round(time.monotonic() - started, 1),
    }
    write_result(result, arguments.json)
    print(
        f"{sequences['sequences']} sequences, {sequences['commands']} commands, "
        f"{sequences['commands while the opponent thought']} of them while the opponent thought; "
        f"{answers['messages']} mutated messages: no difference, no error",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
