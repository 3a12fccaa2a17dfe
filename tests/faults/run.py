"""Deliberate faults: does the suite notice when the code is wrong?

    python tests/faults/run.py                 every fault of faults.toml
    python tests/faults/run.py backup search   the faults whose name or layer contains one of these words
    python tests/faults/run.py --rest          the faults that no run has shown to be caught

Each fault changes one place in a copy of the tree (build/faults/tree). What the change concerns is built, and the test
that faults.toml names is run. A fault is caught if that test passes without it and fails with it; a fault that does not
compile is not caught. Results go to results.json, the table to table.md; logs stay in build/faults.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FAULTS = HERE / "faults.toml"
RESULTS = HERE / "results.json"
TABLE = HERE / "table.md"
SCRATCH = ROOT / "build" / "faults"
TREE = SCRATCH / "tree"
MODULE = TREE / "build" / "module"  # as deep as the module's own build directory, so that ccache knows the same paths
PYTHON = TREE / ".venv" / "bin" / "python"
LIMIT_SECONDS = 900  # a fault may make a test hang, which counts as caught
HUNG = -1
BUILDS = ("", "page", "cpp", "module")  # the cheap ones first
PROGRAM = "ctest:"


@dataclass(frozen=True)
class Fault:
    """One deliberate fault. `test` is a pytest node id, or "ctest:NAME" for a C++ test program."""

    name: str
    layer: str
    what: str
    file: str
    old: str
    new: str
    test: str

    @property
    def build(self) -> str:
        """What must be built before the test sees the change: one of BUILDS."""
        if self.file.startswith("web/"):
            return "page"
        if self.test.startswith(PROGRAM):
            return "cpp"
        return "module" if self.file.startswith(("cpp/", "bindings/")) else ""


def read_faults() -> list[Fault]:
    return [Fault(**entry) for entry in tomllib.loads(FAULTS.read_text("utf-8"))["fault"]]


def misfit(fault: Fault, root: Path) -> str:
    """Why a fault does not fit a tree; empty if it does."""
    path = root / fault.file
    if not path.is_file():
        return f"{fault.file} does not exist"
    count = path.read_text("utf-8").count(fault.old)
    if count != 1:
        return f"{fault.file} contains the text to change {count} times, not once"
    if fault.test.startswith(PROGRAM):
        test_file, definition = f"cpp/tests/{fault.test.removeprefix(PROGRAM)}.cpp", "main("
    else:
        test_file, _, test = fault.test.partition("::")
        definition = f"def {test.partition('[')[0]}("
    if not (root / test_file).is_file() or definition not in (root / test_file).read_text("utf-8"):
        return f"there is no test {fault.test}"
    return ""


def run(command: Sequence[str | Path], log: Path) -> int:
    """The exit code of a command in the copy, or HUNG. Its output is added to `log`."""
    environment = {**os.environ, "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    if shutil.which("ccache"):
        environment |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(TREE)}
    with log.open("ab") as file:
        process = subprocess.Popen(
            command, cwd=TREE, stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
        try:
            return process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return HUNG


def copy_tree() -> None:
    """Makes the copy equal to the tree. Files that are equal keep their times, so that only changes are built."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    names = {name for name in listing.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        source, target = ROOT / name, TREE / name
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    for folder in ("cpp", "bindings", "src", "tests", "web/src"):
        for path in (TREE / folder).rglob("*.*"):
            name = path.relative_to(TREE).as_posix()
            if (
                path.is_file()
                and name not in names
                and "static" not in path.parts
                and path.suffix not in (".so", ".pyc")
            ):
                path.unlink()
    if not (TREE / "web/node_modules").exists() and (ROOT / "web/node_modules").exists():
        shutil.copytree(ROOT / "web/node_modules", TREE / "web/node_modules", symlinks=True)


def make_environment(log: Path) -> None:
    """A Python that imports the copy's package, and everything else from the environment that runs this."""
    if not PYTHON.exists():
        run([sys.executable, "-m", "venv", "--without-pip", TREE / ".venv"], log)
    library = next((TREE / ".venv/lib").glob("python*/site-packages"))
    (library / "faults.pth").write_text(f"{TREE / 'src'}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")


def build(kind: str, test: str, log: Path) -> bool:
    """Builds one of BUILDS in the copy, of the C++ tests only `test`; False if that fails."""
    configure: list[str | Path]
    if kind == "page":
        return run([PYTHON, "web/build_page.py", "build"], log) == 0
    if kind == "cpp":
        configure = ["cmake", "--preset", "release"]
        folder, target = TREE / "build/release", test.removeprefix(PROGRAM)
    elif kind == "module":
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DQIZERO_PAGE=OFF", f"-DPython_EXECUTABLE={sys.executable}"]
        configure = ["cmake", "-S", TREE, "-B", MODULE, "-G", "Ninja", *options]
        folder, target = MODULE, "_core"
    else:
        return True
    if not (folder / "build.ninja").exists() and run(configure, log) != 0:
        return False
    if run(["cmake", "--build", folder, "--target", target], log) != 0:
        return False
    for module in folder.glob("_core.*.so"):
        shutil.copy(module, TREE / "src/qizero" / module.name)
    return True


def run_tests(tests: Sequence[str], log: Path) -> str:
    """Runs pytest node ids, or one C++ test program; "passed", "failed", or why there is no result."""
    if tests[0].startswith(PROGRAM):
        return "failed" if run([TREE / "build/release/cpp/tests" / tests[0].removeprefix(PROGRAM)], log) else "passed"
    code = run([PYTHON, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *tests], log)
    results = {0: "passed", 1: "failed", HUNG: "failed"}
    return results.get(code, f"pytest ended with exit code {code}")


def build_without_faults(faults: Sequence[Fault]) -> str:
    """Builds the copy as it is and runs the tests of the faults. Returns what is wrong; empty if nothing is."""
    log = SCRATCH / "without-faults.log"
    log.unlink(missing_ok=True)
    programs = sorted({fault.test for fault in faults if fault.test.startswith(PROGRAM)})
    tests = sorted({fault.test for fault in faults if not fault.test.startswith(PROGRAM)})
    builds = [("module", ""), ("page", "")] if tests else []
    if not all(build(kind, test, log) for kind, test in [*builds, *(("cpp", program) for program in programs)]):
        return f"the copy does not build without a fault: see {log}"
    groups = [*([program] for program in programs), *([tests] if tests else [])]
    failed = [group[0] if len(group) == 1 else "pytest" for group in groups if run_tests(group, log) != "passed"]
    return f"without a fault {' '.join(failed)} fails: see {log}" if failed else ""


def try_fault(fault: Fault) -> str:
    """Applies a fault, builds, tests, and takes the fault back. Returns the result for the table."""
    if problem := misfit(fault, TREE):
        return f"does not fit: {problem}"
    log = SCRATCH / f"{fault.name}.log"
    log.unlink(missing_ok=True)
    path = TREE / fault.file
    text = path.read_text("utf-8")
    path.write_text(text.replace(fault.old, fault.new), "utf-8")
    try:
        result = run_tests([fault.test], log) if build(fault.build, fault.test, log) else "does not compile"
    finally:
        path.write_text(text, "utf-8")
    return {"failed": "caught", "passed": "missed"}.get(result, result)


def table(faults: Sequence[Fault], results: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    found = [results.get(fault.name, {}).get("result", "not run") for fault in faults]
    lines = [
        "# Deliberate faults",
        "",
        f"{found.count('caught')} of {len(faults)} faults are caught; `python tests/faults/run.py` tries them again.",
        "Each fault is one change in [faults.toml](faults.toml); its test passes without it and fails with it.",
        "",
        "| layer | fault | test | result |",
        "|---|---|---|---|",
    ]
    for fault, result in zip(faults, found, strict=True):
        lines.append(f"| {fault.layer} | {fault.what} | `{fault.test.removeprefix('tests/')}` | {result} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="run only the faults whose name or layer contains one of these")
    parser.add_argument("--rest", action="store_true", help="leave out the faults that are known to be caught")
    arguments = parser.parse_args()
    faults = read_faults()
    old = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    results = {fault.name: old[fault.name] for fault in faults if fault.name in old}
    chosen = [
        fault
        for fault in faults
        if not arguments.words or any(word in f"{fault.name} {fault.layer}" for word in arguments.words)
        if not (arguments.rest and results.get(fault.name, {}).get("result") == "caught")
    ]
    copy_tree()
    make_environment(SCRATCH / "without-faults.log")
    if problem := build_without_faults(chosen):
        sys.stderr.write(problem + "\n")
        return 1
    last = ""
    for fault in sorted(chosen, key=lambda fault: BUILDS.index(fault.build)):
        if last in ("page", "module") and fault.build != last:
            build(last, "", SCRATCH / "without-faults.log")  # without the fault before
        last = fault.build
        started = time.monotonic()
        result = try_fault(fault)
        results[fault.name] = {"result": result, "seconds": round(time.monotonic() - started, 1)}
        sys.stdout.write(f"{fault.name}: {result} ({results[fault.name]['seconds']} s)\n")
        sys.stdout.flush()
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", "utf-8")
        TABLE.write_text(table(faults, results), "utf-8")
    return 0 if all(results[fault.name]["result"] == "caught" for fault in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
