"""Settings: defaults for every game, files and --set on top, every problem reported at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from settings_table import DOCS, with_tables

from qizero._core import SearchParams
from qizero.base.core_settings import CORE_SETTINGS
from qizero.games.catalog import list_games
from qizero.training.selfplay import selfplay_params
from qizero.training.settings import SECTIONS, Settings, SettingsError, load_settings, settings_from_json

SAVED = Path(__file__).parent / "data" / "run_config.json"
BINARY_DIGITS = "0x" + "F" * 10_000  # without Python's limit on the digits of an integer


def problems_of(*assignments: str, file: Path | None = None) -> str:
    with pytest.raises(SettingsError) as error:
        load_settings("connect4", file, assignments)
    return str(error.value)


@pytest.mark.parametrize("row", list_games(), ids=lambda row: row.id)
def test_every_game_has_sound_defaults(row: object) -> None:
    name = getattr(row, "id")  # noqa: B009
    settings = load_settings(name)
    assert settings.game == name
    assert sum(settings.shares) == pytest.approx(1)
    assert settings_from_json(json.loads(json.dumps(settings.to_json()))) == settings


def test_settings_override_the_file_and_the_file_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[run]\nnetwork = "32x2"\nminutes = 7\n[training]\nbatch = 64\n')
    settings = load_settings("connect4", file, ["training.batch=128", "selfplay.gumbel=true"])
    assert (settings.run.network, settings.run.minutes) == ("32x2", 7)
    assert settings.training.batch == 128
    assert settings.selfplay.gumbel is True
    with pytest.raises(ValueError, match="frozen"):
        settings.training.batch = 64


def test_settings_of_the_core_reach_it() -> None:
    """Also where the default of training is not that of the core, such as c_scale."""
    settings = load_settings("tictactoe", None, ["selfplay.resign_value=0.75", "selfplay.noise_alpha=3"]).selfplay
    params = selfplay_params(settings, progress=0.5)
    assert repr(params) == (
        "SelfPlayParams(random_opening_share=0.5, random_plies=5, final_temperature=0.25, temperature_plies=9, "
        "temperature_halflife=4.0, resign_value=0.75)"
    )
    assert CORE_SETTINGS["search.c_scale"].default == 0.1
    assert settings.c_scale == 0.05


def test_simulations_grow_with_the_progress_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[SearchParams, SearchParams]] = []
    monkeypatch.setattr("qizero.training.selfplay.SelfPlayParams", lambda full, fast, **more: made.append((full, fast)))
    values = ["selfplay.simulations=10", "selfplay.final_simulations=50", "selfplay.fast_simulations=20"]
    settings = load_settings("tictactoe", None, values).selfplay
    for progress in (0.0, 0.5, 1.0):
        selfplay_params(settings, progress)
    assert [full.simulations for full, _ in made] == [10, 30, 50]
    assert [fast.simulations for _, fast in made] == [10, 20, 20]
    assert {search.c_scale for searches in made for search in searches} == {settings.c_scale}


def test_the_root_temperature_falls_with_the_progress_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []
    monkeypatch.setattr(
        "qizero.training.selfplay.SelfPlayParams", lambda full, fast, **more: made.append(full.root_policy_temperature)
    )
    values = ["selfplay.root_policy_temperature=1.4", "selfplay.final_root_policy_temperature=1"]
    for assignments in (values, values[:1]):
        for progress in (0.0, 0.5, 1.0):
            selfplay_params(load_settings("tictactoe", None, assignments).selfplay, progress)
    assert made == pytest.approx([1.4, 1.2, 1.0, 1.4, 1.4, 1.4])


def test_fields_of_the_core_have_its_type() -> None:
    types = {"int": int, "float": float, "bool": bool, "str": str}
    fields = SECTIONS["selfplay"].model_fields
    names = {core.name: core for core in CORE_SETTINGS.values() if core.group != "search" or core.name in fields}
    for name, field in fields.items():
        core = names.get(name.removeprefix("final_")) or names.get(name) or CORE_SETTINGS["search.simulations"]
        assert field.annotation is types[core.type], name


# ---- Problems --------------------------------------------------------------------------------------------------------


def test_all_problems_are_named_at_once_with_their_source(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(
        'game = "othello"\nreplay = 3\n[run]\nminutes = -1\n[selfplay.nested]\nx = 1\n[evaluation]\ngames = [1, [2]]\n'
    )
    assignments = "selfplay.slots=0 foo.x=1 run.network=abc training.bath=3 training.batch=x oops selfplay.c_scale=abc"
    message = problems_of(*assignments.split(), file=file)
    for words in (
        "--set 'oops' is not of the form section.name=value",
        f"{file}: there is no section 'game'; there are run, selfplay,",
        f"{file}: replay is 3, not a section of settings",
        f"{file}: run.minutes is -1, not a number between 0.01 and 100,000",
        f"{file}: [selfplay] has no 'nested'; it has slots, ",
        f"{file}: evaluation.games is [1, [2]], not a whole number between 2 and 100,000",
        "--set foo.x=1: there is no section 'foo'; there are run, selfplay, replay, training, evaluation",
        "--set selfplay.slots=0: selfplay.slots is 0, not a whole number between 2 and 100,000",
        "--set run.network=abc: run.network is 'abc': network 'abc' is neither one of",
        "--set training.bath=3: [training] has no 'bath'; it has batch, ",
        "--set training.batch=x: training.batch is 'x', not a whole number between 2 and 100,000",
        "--set selfplay.c_scale=abc: selfplay.c_scale is 'abc', not a number between 0 and 1,000",
    ):
        assert words in message
    assert message.count("; --set") + message.count(f"; {file}") == 11


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("run.backend=evil", "run.backend is 'evil': allowed are auto, "),
        ("run.network=0x0", "run.network is '0x0': network: channels=0 is not a whole number from 1 to 1024"),
        ("run.network=64", "run.network is '64': network '64' is neither one of"),
        ("run.seed=true", "run.seed is True, not a whole number"),
        ("run.seed=1979-05-27", "run.seed is datetime.date(1979, 5, 27), not a whole number"),
        ("run.shares=[1, 2]", "run.shares is [1, 2]: 2 shares for 1 variants"),
        ("run.shares=[0]", "every share must be a positive number"),
        ("run.variants=connect4", "run.variants is 'connect4', not a list of texts"),
        ("run.variants=[1, 2]", "run.variants is [1, 2], not a list of texts"),
        ('run.variants=["chess"]', "run.variants is ['chess']: there is no game 'chess'"),
        ('run.variants=["connect4", "othello"]', "they are not variants of one game"),
        ('run.variants=["othello"]', "they are not variants of connect4"),
        ("selfplay.final_root_policy_temperature=0.05", "it must be 0 or at least 0.1"),
        ("selfplay.gumbel=1", "selfplay.gumbel is 1, not true or false"),
        ("selfplay.c_scale=nan", "selfplay.c_scale is nan, not a number between 0 and 1,000"),
        ("selfplay.c_scale=1e999", "selfplay.c_scale is inf, not a number"),
        ("selfplay.c_scale={a = 1}", "selfplay.c_scale is {'a': 1}, not a number"),
        ("selfplay.c_scale.x=1", "[selfplay] has no 'c_scale.x'"),
        ("selfplay.c_scale=" + "[" * 100_000, "[[[[…, not a number"),
        ("selfplay.cache_positions=" + "9" * 5_000, "999…, not a whole number between 0 and 4,294,967,296"),
        (f"selfplay.cache_positions={BINARY_DIGITS}", "is a value too large to show, not a whole number"),
        (
            "replay.window_min=100000000",
            "replay.window_max is 1500000: it must be at least replay.window_min, 100000000",
        ),
        ("\n\x1b[31m.x=1", r"--set \n\x1b[31m.x=1: there is no section '\x1b[31m'"),
    ],
)
def test_a_bad_value_is_a_short_sentence(assignment: str, words: str) -> None:
    message = problems_of(assignment)
    assert words in message
    assert message.isprintable()
    assert len(message) < 800


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[run\n", "line 1"),
        (b"\xff", "codec"),
        (b"x = " + b"[" * 100_000, "nested too deeply"),
        (b"[run]\nseed = " + b"9" * 5_000, "digits"),
        (b"[a.b.c]\nx = 1", "there is no section 'a'"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    assert problems_of(file=file).startswith(f"{file}: ")
    assert words in problems_of(file=file)


def test_missing_files_and_games(tmp_path: Path) -> None:
    assert "none.toml" in problems_of(file=tmp_path / "none.toml")
    with pytest.raises(SettingsError, match="there is no game 'chess'"):
        load_settings("chess")


def test_options_train_that_variant_alone() -> None:
    assert load_settings("gomoku(size=9)").variants == ("gomoku(size=9)",)
    assert len(load_settings("gomoku").variants) > 1


# ---- Saved settings --------------------------------------------------------------------------------------------------


def saved_settings() -> dict[str, Any]:
    """The settings that a Gomoku run wrote when they were dataclasses in training/config.py."""
    config = json.loads(SAVED.read_text("utf-8"))["config"]
    assert isinstance(config, dict)
    return config


def test_settings_of_earlier_runs_load() -> None:
    saved = saved_settings()
    settings = settings_from_json(saved)
    loaded = json.loads(json.dumps(settings.to_json()))
    assert loaded["game"] == saved["game"]
    for section in saved.keys() - {"game"}:
        assert {name: loaded[section][name] for name in saved[section]} == saved[section]
    del saved["selfplay"]["prove_nodes"], saved["evaluation"]
    assert settings_from_json(saved) == settings, "what the writer did not know has its default"


def test_unknown_saved_settings_are_refused() -> None:
    saved = saved_settings()
    saved["run"]["minuts"] = 3
    with pytest.raises(SettingsError, match=r"config\.json: \[run\] has no 'minuts'"):
        settings_from_json(saved)
    with pytest.raises(SettingsError, match="game is 3"):
        settings_from_json({"game": 3})


# ---- Docs ------------------------------------------------------------------------------------------------------------


def test_the_docs_list_every_setting() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert with_tables(text) == text, "docs/training.md: run make settings-table"
    assert set(Settings.model_fields) == {"game", *SECTIONS}
