"""Coverage-guided fuzzing of everything that reads foreign bytes, with atheris (pip install atheris).

    python benchmarks/fuzz.py                        # every parser, a million inputs each
    python benchmarks/fuzz.py onnx --runs 100000 --json benchmarks/results/fuzz.json

Each parser runs in a process of its own. An error that is not the parser's own, an input that takes more than 20 s or
2 GB is a finding: it is written to tests/data/fuzz/PARSER/, where the tests try it again, and the exit code is 1.
Without --json nothing else is kept; the corpus that grows is in --corpus.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FINDINGS = ROOT / "tests" / "data" / "fuzz"
SECONDS_AN_INPUT = 20
MEGABYTES = 2048
MAX_SEED_BYTES = 20_000


def fuzz_one(name: str, arguments: list[str]) -> None:
    """The process of one parser; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["qizero"]):
        sys.path.insert(0, str(ROOT / "tests"))
        from parsers import PARSERS

    parser = PARSERS[name]
    atheris.Setup([sys.argv[0], *arguments], lambda data: parser.accepts(data) and None)
    atheris.Fuzz()


def run(name: str, runs: int, seed: int, corpus: Path) -> dict[str, Any]:
    """Fuzzes one parser in a process of its own; the result for the record."""
    folder = corpus / name
    folder.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(ROOT / "tests"))
    from parsers import PARSERS

    for content in PARSERS[name].seeds():
        if len(content) <= MAX_SEED_BYTES:
            (folder / hashlib.sha1(content, usedforsecurity=False).hexdigest()).write_bytes(content)
    with tempfile.TemporaryDirectory() as scratch:
        options = [
            f"-runs={runs}",
            f"-seed={seed}",
            f"-timeout={SECONDS_AN_INPUT}",
            f"-rss_limit_mb={MEGABYTES}",
            f"-artifact_prefix={scratch}/",
            f"-max_len={MAX_SEED_BYTES}",
            str(folder),
        ]
        began = time.monotonic()
        command = [sys.executable, __file__, "--inside", name, *options]
        ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        findings = []
        for path in Path(scratch).iterdir():
            kept = FINDINGS / name / f"{path.name[-16:]}.bin"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(path.read_bytes())
            findings.append(kept.name)
    log = ended.stderr
    done = [int(number) for number in re.findall(r"^#(\d+)\s", log, re.MULTILINE)]
    features = re.findall(r"\bft: (\d+)", log)
    if findings or ended.returncode:
        print(log[-3000:], file=sys.stderr)
    return {
        "parser": name,
        "inputs": max(done, default=0),
        "features": int(features[-1]) if features else 0,
        "corpus": sum(1 for _ in folder.iterdir()),
        "seconds": round(time.monotonic() - began, 1),
        "exit_code": ended.returncode,
        "findings": findings,
    }


def main() -> int:
    if sys.argv[1:2] == ["--inside"]:
        fuzz_one(sys.argv[2], sys.argv[3:])
        return 0
    sys.path.insert(0, str(ROOT / "tests"))
    from parsers import PARSERS

    from qizero.base.results import provenance, write_result

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("parsers", nargs="*", metavar="PARSER", help=f"of {', '.join(PARSERS)}; default: all")
    options.add_argument("--runs", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--corpus", type=Path, help="a directory to keep; default: a temporary one")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    if unknown := set(chosen.parsers) - set(PARSERS):
        options.error(f"there is no parser {', '.join(sorted(unknown))}; there are {', '.join(PARSERS)}")
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in chosen.parsers or PARSERS:
            found = run(name, chosen.runs, chosen.seed, chosen.corpus or Path(temporary))
            results.append(found)
            print(
                f"{name}: {found['inputs']:,} inputs in {found['seconds']} s, {found['features']} features, "
                f"findings: {', '.join(found['findings']) or 'none'}",
                flush=True,
            )
    if chosen.json is not None:
        version = {"atheris": importlib.metadata.version("atheris"), "runs": chosen.runs}
        write_result({**provenance(seed=chosen.seed, options=version), "results": results}, str(chosen.json))
    return 1 if any(each["findings"] or each["exit_code"] for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
