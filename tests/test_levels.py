"""Levels: what they promise holds at every position, and their definitions and ratings are sound."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from liuzhou_positions import state_of
from random_states import Walk

import qizero
from qizero.cli.main import main
from qizero.games.profile import has_profile, profile_of, profiles
from qizero.players import levels as levels_module
from qizero.players.analysis import unsearched_analysis
from qizero.players.level_player import LevelPlayer, good_actions
from qizero.players.levels import (
    TITLES,
    Level,
    definition_of,
    level_of,
    levels_of,
    net_path,
    rating_of,
    strongest_kind,
)
from qizero.players.protocol import Budget, Player
from qizero.server.opponents import Opponents, opponent_rows

GAMES = [row.id for row in qizero.list_games()]
RATED = [game for game in GAMES if has_profile(game)]
SMALL = {"gomoku": "gomoku(size=7)", "liuzhou": "liuzhou(lose_below=18)"}


class FakeAnalyst(Player):
    """Gives every legal action the value that a seed draws, and some none."""

    def __init__(self, seed: int, unknown: float = 0.2) -> None:
        self.name = "fake"
        self.budget = Budget()
        self._rng = np.random.default_rng(seed)
        self._unknown = unknown

    def analyze(self, state: qizero.State, on_progress: object = None, cancel: object = None) -> qizero.Analysis:
        legal = state.legal_actions()
        policy = np.zeros(state.game.num_actions, np.float32)
        policy[legal] = 1 / len(legal)
        analysis = unsearched_analysis(legal[0], policy, (0.0, 1.0, 0.0))
        analysis.q[legal] = self._rng.uniform(-1, 1, len(legal))
        hidden = [action for action in legal if self._rng.random() < self._unknown]
        analysis.q[hidden] = np.nan
        return analysis


@pytest.mark.parametrize("game", GAMES)
def test_every_game_has_five_to_eight_levels(game: str) -> None:
    levels = levels_of(qizero.load_game(game))
    assert 5 <= len(levels) <= 8
    assert levels[0].name == "first-game"
    assert [level.name for level in levels] == [name for name in TITLES if name in {each.name for each in levels}]
    assert [level.blocks for level in levels] == [False] + [True] * (len(levels) - 1)
    assert all(weaker.cap >= stronger.cap for weaker, stronger in itertools.pairwise(levels))
    assert (levels[-1].name == "perfect") == (game in ("connect4", "tictactoe"))


@pytest.mark.parametrize("game", [*profiles(), "a game without a profile"])
def test_no_level_is_defined_by_time(game: str) -> None:
    for level in (Level(**asdict(row)) for row in profile_of(game).levels):
        assert not re.search(r"\bms=", level.spec)
        assert level.spec == "perfect" or any(word in level.spec for word in ("sims=", "nodes=", "depth="))
        assert level.title != level.title_zh
        assert 0 <= level.cap <= 2
        assert (level.cap == 0) == (level.temperature == 0)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("game", GAMES)
def test_wins_are_taken_and_losses_are_blocked(game: str, blocks: bool) -> None:
    """In the last positions of random games, where there is something to win and to block."""
    matters = 0  # positions in which another action would have been wrong
    for seed in range(200):
        for state in last_positions(qizero.load_game(SMALL.get(game, game)), seed):
            player = LevelPlayer("x", Level("casual", "random", 1.0, 0.5, blocks), FakeAnalyst(seed), seed)
            action = player.choose(state)
            mover, legal = state.current_player(), state.legal_actions()
            assert action in legal
            results = {each: result_after(state, each) for each in legal}
            if mover in results.values():
                matters += len(set(results.values())) > 1
                assert results[action] == mover
            elif blocks:
                threats = {each: lost_replies(state, each) for each in legal}
                matters += len(set(threats.values())) > 1
                assert threats[action] == min(threats.values())
        if matters >= 30:
            return
    # In the random games of these two, every action of the last position wins or none does.
    assert not blocks, matters
    assert game in ("othello", "liuzhou"), matters


def last_positions(game: qizero.Game, seed: int) -> list[qizero.State]:
    """The last four positions before the end of a random game."""
    rng = random.Random(seed)
    states = [game.new_initial_state()]
    while not states[-1].is_terminal():
        states.append(states[-1].clone())
        states[-1].apply_action(rng.choice(states[-1].legal_actions()))
    return states[:-1][-4:]


def played(state: qizero.State, *actions: int) -> qizero.State:
    """The position after the actions, reached from the beginning of the game."""
    replayed = state.game.new_initial_state()
    for action in (*state.history(), *actions):
        replayed.apply_action(action)
    return replayed


def result_after(state: qizero.State, *actions: int) -> int | None:
    """Who has won after the actions, by the rules; None: nobody has."""
    returns = played(state, *actions).returns()
    return returns.index(1.0) if 1.0 in returns else None


def lost_replies(state: qizero.State, action: int) -> int:
    """How many replies of the opponent win the game; more than there can be if the action itself has lost it."""
    opponent, after = 1 - state.current_player(), played(state, action)
    if result_after(state, action) == opponent:
        return state.game.num_actions
    if after.current_player() != opponent:
        return 0
    return sum(result_after(state, action, reply) == opponent for reply in after.legal_actions())


def test_threats_are_met_in_positions_made_for_it() -> None:
    game = qizero.load_game("gomoku")
    for number in range(1, len(levels_of(game)) + 1):
        player = qizero.make_player(f"level:{number}", game, seed=number)
        state = game.new_initial_state()
        for move in ("a1", "h8", "c1", "h9", "e1", "h10", "a3", "h11"):
            state.apply_action(state.string_to_action(move))
        if level_of(game, str(number)).blocks:
            blocking = state.clone()
            assert blocking.action_to_string(player.choose(blocking)) in ("h7", "h12")
        state.apply_action(state.string_to_action("o15"))
        assert state.action_to_string(player.choose(state)) in ("h7", "h12")


class Insistent(Player):
    """Finds one action much better than all others."""

    def __init__(self, action: int) -> None:
        self.name = "insistent"
        self.budget = Budget()
        self._action = action

    def analyze(self, state: qizero.State, on_progress: object = None, cancel: object = None) -> qizero.Analysis:
        policy = np.zeros(state.game.num_actions, np.float32)
        policy[self._action] = 1.0
        analysis = unsearched_analysis(self._action, policy, (1.0, 0.0, 0.0))
        analysis.q[state.legal_actions()] = -1.0
        analysis.q[self._action] = 1.0
        return analysis


def test_an_action_that_loses_at_once_is_the_worst() -> None:
    """A square whose mark finds no stone loses the game of who made it."""
    state = state_of("BBB.../BB..../....../....../....../wwwww.", "B", "PLACEMENT")
    losing = 8  # completes the square
    assert result_after_a_given_position(state, losing) == 1
    for cap in (0.0, 1.0):
        player = LevelPlayer("x", Level("casual", "random", cap, 0.5 * cap, True), Insistent(losing), 1)
        assert result_after_a_given_position(state, player.choose(state)) is None


def result_after_a_given_position(state: qizero.State, action: int) -> int | None:
    """`result_after` of a position that has no history."""
    after = state.clone()
    after.apply_action(action)
    return after.returns().index(1.0) if 1.0 in after.returns() else None


@settings(max_examples=100)
@given(seed=st.integers(0, 10_000), cap=st.floats(0.01, 2.0), temperature=st.floats(0.01, 3.0))
def test_no_choice_loses_more_than_the_cap(seed: int, cap: float, temperature: float) -> None:
    state = Walk(seed, 4).state(qizero.load_game("othello"))
    analyst = FakeAnalyst(seed)
    analysis = analyst.analyze(state)
    known = analysis.q[~np.isnan(analysis.q)]
    good = good_actions(state.legal_actions(), analysis, cap)
    if len(known):
        assert all(analysis.q[action] >= known.max() - cap - 1e-6 for action in good)
        assert analysis.q[good[0]] == known.max()
    else:
        assert good == [analysis.action]
    choice = LevelPlayer("x", Level("casual", "", cap, temperature), FakeAnalyst(seed), seed).choose(state)
    assert choice in good


def test_moves_that_were_hardly_looked_at_are_not_good() -> None:
    state = qizero.load_game("connect4").new_initial_state()
    analysis = FakeAnalyst(1, unknown=0).analyze(state)
    analysis.q[:] = [0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    analysis.visits[:] = [1, 50, 50, 50, 50, 50, 50]
    assert 0 not in good_actions(state.legal_actions(), analysis, 0.5)


def test_better_moves_are_drawn_more_often() -> None:
    class Three(FakeAnalyst):
        def analyze(self, state: qizero.State, on_progress: object = None, cancel: object = None) -> qizero.Analysis:
            analysis = super().analyze(state)
            analysis.q[:] = [0.0, -0.2, -0.4, -0.9, -0.9, -0.9, -0.9]
            return analysis

    state = qizero.load_game("connect4").new_initial_state()
    player = LevelPlayer("x", Level("casual", "", 0.5, 0.2), Three(1), 1)
    counts = Counter(player.choose(state) for _ in range(600))
    assert set(counts) == {0, 1, 2}
    assert counts[0] > counts[1] > counts[2]


@pytest.mark.parametrize("game", GAMES)
def test_the_same_seed_gives_the_same_game(game: str) -> None:
    loaded = qizero.load_game(SMALL.get(game, game))

    def play(seed: int) -> list[int]:
        player = qizero.make_player("level:2", loaded, seed=seed)
        state = Walk(5, 2).state(loaded)
        for _ in range(6):
            if not state.is_terminal():
                state.apply_action(player.choose(state))
        return list(state.history())

    assert play(1) == play(1)
    assert len({tuple(play(seed)) for seed in range(6)}) > 1


def test_levels_are_named_in_specs() -> None:
    game = qizero.load_game("connect4")
    assert level_of(game, "1").name == "first-game"
    assert level_of(game, "casual") == level_of(game, "3")
    with pytest.raises(
        qizero.PlayerSpecError, match=r"connect4 has no level 'grandmaster'; it has first-game, .*1 to 8"
    ):
        qizero.make_player("level:grandmaster", game)
    with pytest.raises(qizero.PlayerSpecError, match="has no level ''"):
        qizero.make_player("level", game)
    with pytest.raises(qizero.PlayerSpecError, match="has no level '0'"):
        qizero.make_player("level:0", game)


def test_the_perfect_level_is_perfect() -> None:
    game = qizero.load_game("connect4")
    assert qizero.make_player("level:perfect", game, seed=1).choose(game.new_initial_state()) == 3


def test_the_strongest_player_of_a_game() -> None:
    assert strongest_kind(qizero.load_game("connect4")) == "perfect"
    assert strongest_kind(qizero.load_game("gomoku")) in ("alphabeta", "zero")


def test_nets_behind_levels_are_shipped() -> None:
    for game in GAMES:
        if any(level.spec.startswith("zero") for level in levels_of(qizero.load_game(game))):
            assert net_path(qizero.load_game(game)).exists(), game


def test_the_ladder_of_levels_is_what_is_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tictactoe.json"
    assert main(["ladder", "tictactoe", "--levels", "--games", "4", "--json", str(file)]) == 0
    result = json.loads(file.read_text(encoding="utf-8"))
    game = qizero.load_game("tictactoe")
    names = [f"level:{level.name}" for level in levels_of(game)]
    assert [row["name"] for row in result["ratings"]] == ["random", *names]
    pairs = {(match["first"], match["second"]) for match in result["matches"]}
    assert {*zip(names[1:], names, strict=False), *zip(names[2:], names, strict=False)} <= pairs
    assert all(match["elo_low"] <= match["elo"] <= match["elo_high"] for match in result["matches"])
    assert "level:perfect" in capsys.readouterr().out

    monkeypatch.setattr(levels_module, "RATINGS", tmp_path)
    rating = rating_of(game, level_of(game, "perfect"))
    assert rating is not None
    assert rating.elo == next(row["elo"] for row in result["ratings"] if row["name"] == "level:perfect")
    assert not rating.approximate
    changed = Level("perfect", "perfect", 0.5, 0.1)
    assert rating_of(game, changed) is None
    rows = {row.id: row for row in opponent_rows(game)}
    assert rows["level:perfect"].elo == rating.elo


def test_under_other_options_a_rating_is_approximate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gomoku = qizero.load_game("gomoku")
    level = level_of(gomoku, "1")
    row = {"name": "level:first-game", "elo": 100.0, "elo_low": 80.0, "elo_high": 130.0}
    text = json.dumps({"levels": {"level:first-game": definition_of(gomoku, level)}, "ratings": [row]})
    (tmp_path / "gomoku.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(levels_module, "RATINGS", tmp_path)
    default, renju = (rating_of(qizero.load_game(spec), level) for spec in ("gomoku", "gomoku(rule=renju)"))
    assert default is not None
    assert renju is not None
    assert (default.approximate, renju.approximate) == (False, True)
    shown = next(
        each for each in opponent_rows(qizero.load_game("gomoku(rule=renju)")) if each.id == "level:first-game"
    )
    assert (shown.elo, shown.elo_error, shown.elo_approximate) == (100.0, 25.0, True)


@pytest.mark.parametrize("game", RATED)
def test_what_is_shipped_is_of_todays_levels_and_rises(game: str) -> None:
    loaded = qizero.load_game(game)
    levels = levels_of(loaded)
    ratings = [rating_of(loaded, level) for level in levels]
    assert None not in ratings, "a level has changed: measure again"
    elos = [rating.elo for rating in ratings if rating is not None]
    assert all(weaker < stronger for weaker, stronger in itertools.pairwise(elos))
    result = json.loads((levels_module.RATINGS / f"{game}.json").read_text(encoding="utf-8"))
    matches = {(match["first"], match["second"]): match for match in result["matches"]}
    for weaker, stronger in itertools.pairwise(levels):
        assert matches[f"level:{stronger.name}", f"level:{weaker.name}"]["elo_low"] > 0


@pytest.mark.parametrize("game", GAMES)
def test_the_docs_show_what_is_shipped(game: str) -> None:
    text = (Path(__file__).parents[1] / "docs" / "levels.md").read_text(encoding="utf-8")
    loaded = qizero.load_game(game)
    section = text.partition(f"### {loaded.title}\n")[2].partition("\n### ")[0]
    shown = re.findall(r"^\| `([a-z-]+)` .* \| (\d+) \|", section, re.MULTILINE)
    ratings = [(level, rating_of(loaded, level)) for level in levels_of(loaded)]
    assert shown == [(level.name, f"{rating.elo:.0f}") for level, rating in ratings if rating]


# ---- On the page -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_the_page_offers_the_levels_first(game: str) -> None:
    loaded = qizero.load_game(game)
    opponents = Opponents(qizero.make_player)
    known = opponents.of(loaded)
    ids = [f"level:{level.name}" for level in levels_of(loaded)]
    assert list(known)[: len(ids)] == ids
    assert opponents.usual(loaded) in ids
    assert all(known[each].kind == "level" for each in ids)
