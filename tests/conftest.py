"""The quick lane, and what a run of the tests says about the tests that it did not run.

A file is marked as a whole by a line `pytestmark = pytest.mark.NAME`. With --quick such a file is not even
imported, and tests that are marked by a decorator are skipped. The marks are declared in pyproject.toml.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test judges a time, and by default hypothesis does.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

LEFT_OUT_MARKS = ("browser", "slow", "training")
TESTS = Path(__file__).parent
_FILE_MARK = re.compile(rf"^pytestmark = pytest\.mark\.({'|'.join(LEFT_OUT_MARKS)})$", re.MULTILINE)
_TEST = re.compile(r"^def test_", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help=f"leave out what is marked {', '.join(LEFT_OUT_MARKS)}")
    parser.addoption("--skipped-to", type=Path, help="write what was skipped or left out, and why, to this file")


def file_mark(path: Path) -> str | None:
    """The mark of a whole test file, found without importing it."""
    if not path.name.startswith("test_") or path.suffix != ".py":
        return None
    found = _FILE_MARK.search(path.read_text(encoding="utf-8"))
    return found[1] if found else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.getoption("--quick") and file_mark(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    for item in items:
        for name in LEFT_OUT_MARKS:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"marked {name}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    lines = [f"{sum(reasons.values())} skipped" + "".join(f"; {count}: {why}" for why, count in reasons.most_common())]
    if config.getoption("--quick"):
        lines += [f"left out, files marked {mark}: {text}" for mark, text in left_out_files().items()]
    for line in lines:
        terminalreporter.write_line(line)
    path = config.getoption("--skipped-to")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"Python tests: {line}\n" for line in lines), encoding="utf-8")


def left_out_files() -> dict[str, str]:
    """By mark: how many test functions in how many files."""
    files: dict[str, list[Path]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        mark = file_mark(path)
        if mark:
            files.setdefault(mark, []).append(path)
    functions = {
        mark: sum(len(_TEST.findall(path.read_text(encoding="utf-8"))) for path in paths)
        for mark, paths in files.items()
    }
    return {mark: f"{functions[mark]} test functions in {len(paths)} files" for mark, paths in files.items()}
