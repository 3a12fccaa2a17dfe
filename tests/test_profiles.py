"""Profiles: strict files, words in both languages for everything that the core says by a code."""

from __future__ import annotations

import random
import re
import string
from pathlib import Path

import pytest
from random_states import SPECS, Walk

import qizero
from qizero.games.catalog import GameRow
from qizero.games.profile import DIRECTORY, Plural, Words, has_profile, profile_of, profiles, read_profile
from qizero.server.views import ending, words_of

ROWS = {row.id: row for row in qizero.list_games()}
PROFILED = [row for row in ROWS.values() if has_profile(row.id)]
WHO = {"mover", "opponent", "player", "game"}  # Chinese sentences speak of 对方 and leave out who is meant
GENERAL = {"foul", "cannot_move", "choose_own", "choose_opponent"}  # the server's own codes


def names(text: str | Plural) -> set[str]:
    sentences = [text] if isinstance(text, str) else [text.other, text.one]
    return {name for sentence in sentences for _, name, _, _ in string.Formatter().parse(sentence) if name}


def sentence(words: Words, code: str, values: dict[str, str]) -> str:
    return words.refusals[code].format_map({k: words.terms.get(k, {}).get(v, v) for k, v in values.items()})


def test_every_profile_is_of_a_game_of_the_catalog() -> None:
    assert set(profiles()) <= ROWS.keys()
    assert {path.stem for path in DIRECTORY.iterdir()} == {*profiles(), "any_game"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("sgf = 4", "sgf"),
        ('sgf_number = "4"', "sgf_number"),
        ('levels = [{ name = "club", spec = "random", caps = 1.0 }]', "caps"),
        ('move_list = "glued"', "move_list"),
        ('openings = ["swap3"]', "openings"),
        ('[zh.refusal]\ntaken = "x"', "refusal"),
        ('[en.phases]\nMOVEMENT = { one = "x" }', "other"),
        ('[[rules]]\nen = "x"', "zh"),
        ('[[rules]]\nen = "x"\nzh = "x"\ndiagram = { rows = ["."], wins = [0] }', "wins"),
    ],
)
def test_unknown_names_and_wrong_values_are_refused(text: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "game.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"(?m)^[\w.\[\]`,-]*\b{named}\b"):
        read_profile(path)


def test_a_game_without_a_profile_has_the_general_one() -> None:
    general = profile_of("no-such-game")
    assert not has_profile("no-such-game")
    assert len(general.levels) >= 5
    assert (general.training, general.rules, general.sgf_number) == ({}, (), None)


# ---- Words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", PROFILED, ids=lambda row: row.id)
def test_every_code_has_words_in_both_languages(row: GameRow) -> None:
    """All codes that the core can give, and no others; Chinese sentences name the same values."""
    english, _ = words_of(row)
    chinese = profile_of(row.id).zh
    assert english.refusals.keys() == row.refusals.keys() | GENERAL
    assert chinese.refusals.keys() - english.refusals.keys() <= {"taken"}
    for code, text in english.refusals.items():
        assert re.search(r"[\u4e00-\u9fff]", chinese.refusals[code]) or chinese.refusals[code] == "{foul}", code
        assert names(chinese.refusals[code]) | WHO == names(text) | WHO, code


@pytest.mark.parametrize("row", PROFILED, ids=lambda row: row.id)
def test_phases_and_options_have_words_in_both_languages(row: GameRow) -> None:
    english, chinese = profile_of(row.id).en, profile_of(row.id).zh
    assert english.phases.keys() == chinese.phases.keys()
    for phase, text in english.phases.items():
        assert names(text) - {"n"} == names(chinese.phases[phase]) - {"n"} == {"who"}, phase
    wanted = {option.name for option in row.options}
    wanted |= {f"{option.name}.{choice}" for option in row.options for choice in option.choices}
    assert english.options.keys() == chinese.options.keys() == wanted


@pytest.mark.parametrize("row", PROFILED, ids=lambda row: row.id)
def test_every_phase_of_a_random_game_has_words(row: GameRow) -> None:
    phases = {phase.partition(":")[0] for phase in profile_of(row.id).en.phases}
    for seed in range(4):
        state, rng = qizero.load_game(row.id).new_initial_state(), random.Random(seed)
        while not state.is_terminal():
            assert state.phase() == "" or state.phase() in phases
            state.apply_action(rng.choice(state.legal_actions()))


@pytest.mark.parametrize("row", PROFILED, ids=lambda row: row.id)
def test_ends_and_counters_have_words_in_both_languages(row: GameRow) -> None:
    profile, options = profile_of(row.id), {option.name for option in row.options}
    english, chinese = profile.en, profile.zh
    assert english.endings.keys() == chinese.endings.keys()
    for code, text in english.endings.items():
        assert names(text) == names(chinese.endings[code]) <= {*options, "winner", "loser"}, code
    assert english.counters.keys() == chinese.counters.keys() == profile.limits.keys()
    assert all(names(text) == {"n", "limit"} for text in [*english.counters.values(), *chinese.counters.values()])
    assert set(profile.limits.values()) <= options


@pytest.mark.parametrize("spec", SPECS)
def test_every_end_of_a_random_game_has_words(spec: str) -> None:
    game = qizero.load_game(spec)
    for seed in range(10):
        why = ending(Walk(seed, game.max_game_length).state(game))
        for words in words_of(ROWS[game.name]) if has_profile(game.name) else ():
            assert "{" not in words.endings[why.code].format_map(why.values)


def test_every_foul_of_renju_has_a_chinese_name() -> None:
    terms = profile_of("gomoku").zh.terms["foul"]
    assert terms.keys() == {"overline", "double four", "double three"}


@pytest.mark.parametrize("spec", SPECS)
def test_random_illegal_actions_are_refused_in_words(spec: str) -> None:
    game = qizero.load_game(spec)
    english, chinese = words_of(ROWS[game.name])
    rng = random.Random(spec)
    seen = set()
    for seed in range(40):
        state = Walk(seed, rng.randrange(60) if seed else 0).state(game)
        legal = set(state.legal_actions())
        actions = {-1, game.num_actions, *rng.sample(range(game.num_actions), min(30, game.num_actions))}
        for action in actions:
            refusal = state.refusal(action)
            assert (refusal is None) == (action in legal)
            if refusal is None:
                continue
            code, values = refusal
            with pytest.raises(qizero.IllegalActionError) as error:
                state.apply_action(action)
            assert (error.value.code, error.value.values) == (code, values)
            assert str(error.value) == sentence(english, code, values)
            translated = sentence(chinese, code, values)
            assert all(value in translated for name, value in values.items() if name not in {*WHO, "foul"})
            seen.add(code)
    assert "out_of_range" in seen


def test_a_text_that_is_no_action_is_refused_with_its_values() -> None:
    state = qizero.load_game("connect4").new_initial_state()
    with pytest.raises(qizero.IllegalActionError) as error:
        state.string_to_action("{game} or \x07")
    assert error.value.code == "not_an_action"
    assert error.value.values == {"text": "{game} or ?", "game": "connect4", "example": "1"}
    assert str(error.value) == "'{game} or ?' is not an action of connect4; one is written like '1'"


# ---- Rules for people ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", PROFILED, ids=lambda row: row.id)
def test_the_rules_are_told_in_both_languages(row: GameRow) -> None:
    sections = profile_of(row.id).rules
    assert any(section.diagram for section in sections)
    for section in sections:
        assert section.en.endswith(".")
        assert section.zh.endswith("。")
        if section.diagram:
            width, cells = len(section.diagram.rows[0]), len("".join(section.diagram.rows))
            assert all(len(line) == width and set(line) <= set("XOxo.") for line in section.diagram.rows)
            assert all(0 <= cell < cells for cell in [*section.diagram.winning, *map(int, section.diagram.forbidden)])
