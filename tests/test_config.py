"""Settings: defaults for every game, files and --set on top, every problem reported at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qizero.games.catalog import list_games
from qizero.training.config import ConfigError, config_from_json, load_config


@pytest.mark.parametrize("row", list_games(), ids=lambda row: row.id)
def test_every_game_has_sound_defaults(row: object) -> None:
    name = getattr(row, "id")  # noqa: B009
    config = load_config(name)
    assert config.game == name
    assert sum(config.shares) == pytest.approx(1)
    assert config_from_json(json.loads(json.dumps(config.to_json()))) == config


def test_settings_override_the_file_and_the_file_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[run]\nnetwork = "32x2"\nminutes = 7\n[training]\nbatch = 64\n')
    config = load_config("connect4", file, ["training.batch=128", "selfplay.gumbel=true"])
    assert (config.run.network, config.run.minutes) == ("32x2", 7)
    assert config.training.batch == 128
    assert config.selfplay.gumbel is True


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        load_config(
            "connect4",
            None,
            ["selfplay.slots=0", "foo.x=1", "run.network=abc", "training.bath=3", "training.batch=x", "oops"],
        )
    for words in ("selfplay.slots is 0", "no section 'foo'", "'abc'", "no 'bath'", "training.batch is 'x'", "'oops'"):
        assert words in str(error.value)


def test_variants_must_be_of_one_game() -> None:
    with pytest.raises(ConfigError, match="not variants of one game"):
        load_config("connect4", None, ['run.variants=["connect4", "othello"]'])


def test_options_train_that_variant_alone() -> None:
    assert load_config("gomoku(size=9)").variants == ("gomoku(size=9)",)
    assert len(load_config("gomoku").variants) > 1


def test_bad_files_and_games(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml"):
        load_config("connect4", tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[run\n")
    with pytest.raises(ConfigError, match=r"bad\.toml"):
        load_config("connect4", tmp_path / "bad.toml")
    with pytest.raises(ConfigError, match="there is no game 'chess'"):
        load_config("chess")
