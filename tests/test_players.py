"""Players: one protocol, specs that say what is wrong with them, choices that depend on seed and position only."""

from __future__ import annotations

import dataclasses
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cancelling import ENDLESS_MS, run_cancelled
from golden_trees import positions
from hash_evaluator import HashEvaluator
from numpy.typing import NDArray

from qizero import Game, InvalidInputError, State, load_game, make_player
from qizero.nets.evaluator import EvaluationError, ModelFileError
from qizero.players.analysis import Analysis
from qizero.players.driver import SearchParams, make_search, now_and_then, search_states
from qizero.players.protocol import Budget, CancelToken, Player
from qizero.players.search import PolicyPlayer, SearchPlayer, draw
from qizero.players.specs import PlayerSpecError, player_spec, shipped_net

Floats = NDArray[np.float32]
NAMES = ["tictactoe", "connect4", "othello", "gomoku(size=9)", "liuzhou"]


def hash_player(game: Game, *, simulations: int = 40, temperature: float = 0.0, leaves: int = 1) -> SearchPlayer:
    params = SearchParams(simulations=simulations, early_stop=True)
    return SearchPlayer(
        "hash", game, HashEvaluator(game), params, seed=1, leaves_per_tree=leaves, temperature=temperature
    )


def players(game: Game) -> list[Player]:
    return [
        make_player("random", game, seed=1),
        make_player("rollout:sims=60", game, seed=1),
        hash_player(game),
        hash_player(game, leaves=4),
        PolicyPlayer("policy", game, HashEvaluator(game), seed=1),
    ]


def check_analysis(state: State, analysis: Analysis) -> None:
    game, legal = state.game, state.legal_actions()
    assert analysis.action in legal
    for array in (analysis.policy, analysis.prior, analysis.visits, analysis.q):
        assert array.shape == (game.num_actions,)
    illegal = np.setdiff1d(np.arange(game.num_actions), legal)
    assert analysis.policy.sum() == pytest.approx(1, abs=1e-4)
    assert analysis.prior.sum() == pytest.approx(1, abs=2e-3)
    assert not analysis.policy[illegal].any()
    assert not analysis.prior[illegal].any()
    assert not analysis.visits[illegal].any()
    assert np.isnan(analysis.q[illegal]).all()
    assert analysis.value == pytest.approx(analysis.wdl[0] - analysis.wdl[2], abs=1e-6)
    assert -1 <= analysis.value <= 1
    assert sum(analysis.wdl) == pytest.approx(1, abs=1e-5)
    assert analysis.visits.sum() >= analysis.simulations
    assert (analysis.proven is None) == (analysis.distance is None)
    assert analysis.pv[0] == analysis.action
    line = state.clone()
    for action in analysis.pv:
        line.apply_action(action)


@pytest.mark.parametrize("name", NAMES)
def test_every_player_keeps_the_protocol(name: str) -> None:
    game = load_game(name)
    states = positions(game, 6)
    for player in players(game):
        before = [state.serialize() for state in states]
        assert player.choose_many([]) == []
        assert player.analyze_many([]) == []
        for state, action in zip(states, player.choose_many(states), strict=True):
            assert action in state.legal_actions()
        for state in states:
            assert player.choose(state) in state.legal_actions()
            check_analysis(state, player.analyze(state))
        for state, analysis in zip(states, player.analyze_many(states), strict=True):
            check_analysis(state, analysis)
        assert [state.serialize() for state in states] == before, "states are not touched"


@pytest.mark.parametrize("name", NAMES)
def test_choices_depend_on_seed_and_position_only(name: str) -> None:
    game = load_game(name)
    states = positions(game, 8)
    for spec in ("rollout:sims=50", "rollout:sims=50,threads=1"):
        one, two = make_player(spec, game, seed=5), make_player(spec, game, seed=5)
        choices = [one.choose(state) for state in states]
        assert two.choose_many(states) == choices
        assert two.choose_many(states[::-1]) == choices[::-1]
        assert [two.choose(state) for state in states] == choices
    player = hash_player(game)
    assert [player.choose(state) for state in states] == hash_player(game).choose_many(states)


@pytest.mark.parametrize(
    ("spec", "budget"),
    [
        ("random", Budget()),
        ("rollout:sims=60", Budget(simulations=60)),
        ("rollout:ms=20", Budget(milliseconds=20)),
        ("zero:sims=0", Budget()),
        ("zero:sims=30,ms=500", Budget(milliseconds=500, simulations=30)),
        ("alphabeta", Budget(milliseconds=1000)),
        ("alphabeta:depth=3,nodes=5000", Budget(simulations=5000, depth=3)),
        ("perfect", Budget()),
        ("level:casual", Budget(simulations=200)),
    ],
)
def test_a_budget_is_that_of_the_spec_and_may_be_replaced(spec: str, budget: Budget) -> None:
    game = load_game("connect4")
    player = make_player(spec, game, seed=1)
    assert player.budget == budget
    state = game.new_initial_state()
    player.budget = Budget(simulations=7, depth=2)
    assert player.analyze(state).action in state.legal_actions()
    if spec.startswith(("rollout", "zero:sims=30", "level")):
        assert player.analyze(state).simulations == 7
        player.budget = Budget(simulations=90)
        assert player.analyze(state).simulations > 7
    elif spec.startswith("alphabeta"):
        assert (player.analyze(state).depth or 0) <= 2


def test_seeds_make_a_difference() -> None:
    state = load_game("gomoku").new_initial_state()
    for spec in ("random", "rollout:sims=20"):
        assert len({make_player(spec, state.game, seed=seed).choose(state) for seed in range(10)}) > 1
        assert len({make_player(spec, state.game).choose(state) for _ in range(10)}) > 1


def test_temperature_draws_from_the_policy() -> None:
    game = load_game("connect4")
    state = game.new_initial_state()
    cold = hash_player(game, simulations=100)
    assert len({cold.choose(state) for _ in range(10)}) == 1
    policy = cold.analyze(state).policy
    hot = hash_player(game, simulations=100, temperature=1.0)
    drawn = Counter(hot.choose(state) for _ in range(400))
    for action in range(7):
        assert drawn[action] / 400 == pytest.approx(policy[action], abs=0.08)
    drawn = Counter(make_player("rollout:sims=60,temperature=2", game, seed=1).choose_many([state] * 50))
    assert len(drawn) > 2


def test_a_higher_temperature_flattens_the_choice() -> None:
    """At temperature t, an action is drawn in proportion to its probability to the power of 1/t."""
    policy = np.array([0.64, 0.16, 0.0, 0.04, 0.16], np.float32)
    for temperature, wanted in ((0.5, [0.887, 0.055, 0, 0.003, 0.055]), (2.0, [0.444, 0.222, 0, 0.111, 0.222])):
        rng = np.random.default_rng(1)
        drawn = Counter(draw(policy, temperature, rng) for _ in range(4000))
        assert [drawn[action] / 4000 for action in range(5)] == pytest.approx(wanted, abs=0.03)


def test_the_policy_player_takes_the_most_likely_legal_action() -> None:
    game = load_game("othello")
    evaluator = HashEvaluator(game)
    player = PolicyPlayer("policy", game, evaluator, seed=1)
    for state in positions(game, 10):
        policy, wdl = evaluator.evaluate(state.observation_tensor()[None])
        legal = state.legal_actions()
        assert player.choose(state) == legal[int(policy[0][legal].argmax())]
        assert player.analyze(state).wdl == pytest.approx(tuple(wdl[0]))


def test_an_analysis_limited_by_simulations_depends_on_the_position_alone() -> None:
    game = load_game("connect4")
    player = make_player("rollout:sims=500", game, seed=1)
    state = game.new_initial_state()
    first, again = player.analyze(state), player.analyze(state)
    assert first.visits.tolist() == again.visits.tolist()
    state.apply_action(first.action)
    fresh = make_player("rollout:sims=500", game, seed=1)
    assert player.analyze(state).visits.tolist() == fresh.analyze(state).visits.tolist()


def test_an_analysis_limited_by_time_goes_on_from_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("tictactoe")
    params = SearchParams(simulations=50, milliseconds=60_000)
    player = SearchPlayer("hash", game, HashEvaluator(game), params, seed=1)
    state = game.new_initial_state()
    first, again = player.analyze(state), player.analyze(state)
    assert again.visits.sum() > first.visits.sum()
    monkeypatch.setattr("qizero.players.search.KEPT_TREE_BYTES", 0)
    player.analyze(state)
    assert player.analyze(state).visits.tolist() == first.visits.tolist(), "a large tree is not kept"


def test_a_choice_limited_by_time_goes_on_from_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("connect4")
    reused: list[bool] = []

    def note(search: Any, states: Any, *arguments: Any, **more: Any) -> Any:
        reused.append(more["reuse_trees"])
        return search_states(search, states, *arguments, **more)

    monkeypatch.setattr("qizero.players.search.search_states", note)
    for spec, expected in (("zero:ms=1,keep_tree=1", True), ("zero:ms=1", False), ("zero:sims=2,keep_tree=1", False)):
        player = make_player(spec, game, seed=1)
        state = game.new_initial_state()
        player.choose(state)
        if expected:
            player.choose_many([state])
        assert set(reused) == {expected}, spec
        reused.clear()


def test_progress_is_reported_at_most_every_tenth_of_a_second() -> None:
    now, reports = 100.0, 0

    def clock() -> float:
        return now

    def report() -> None:
        nonlocal now, reports
        now, reports = now + 0.02, reports + 1  # what the report takes does not count

    call = now_and_then(report, clock)
    for _ in range(1000):
        now += 0.001
        call()
    assert reports == 10
    now += 5
    call()
    call()
    assert reports == 11, "what was missed is not made up for"


@pytest.mark.parametrize(("spec", "calls"), [("rollout:ms=5", [1, 1, 1]), ("rollout:sims=20", [3])])
def test_under_a_time_limit_each_state_of_a_batch_has_its_own_time(
    spec: str, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searched as one batch, the games of a match would share the time of one move."""
    game = load_game("connect4")
    seen: list[int] = []

    def note(search: Any, states: Any, *arguments: Any, **more: Any) -> Any:
        seen.append(len(states))
        return search_states(search, states, *arguments, **more)

    monkeypatch.setattr("qizero.players.search.search_states", note)
    actions = make_player(spec, game, seed=1).choose_many([game.new_initial_state()] * 3)
    assert len(actions) == 3
    assert seen == calls


def test_progress_is_what_was_found_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qizero.players.driver.PROGRESS_SECONDS", 0.001)
    game = load_game("connect4")
    for player in (make_player("rollout:sims=200000", game, seed=1), hash_player(game, simulations=2000)):
        seen: list[Analysis] = []
        state = game.new_initial_state()
        final = player.analyze(state, on_progress=seen.append)
        assert len(seen) >= 2
        simulations = [analysis.simulations for analysis in seen]
        assert simulations == sorted(simulations)
        assert final.simulations >= simulations[-1]
        for analysis in seen:
            check_analysis(state, analysis)


def test_nothing_is_reported_before_something_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def report_at_once(search: Any, states: Any, *arguments: Any, **more: Any) -> Any:
        search.begin(list(states), False)
        more["on_progress"]()
        return search_states(search, states, *arguments, **more)

    monkeypatch.setattr("qizero.players.search.search_states", report_at_once)
    game = load_game("connect4")
    seen: list[Analysis] = []
    make_player("rollout:sims=20", game, seed=1).analyze(game.new_initial_state(), on_progress=seen.append)
    assert seen == []


def test_an_error_in_on_progress_reaches_the_caller_and_the_player_goes_on() -> None:
    game = load_game("connect4")

    def fail(_: Analysis) -> None:
        raise RuntimeError("nobody is looking")

    for player in (make_player("rollout:ms=1000", game, seed=1), hash_player(game, simulations=100_000)):
        with pytest.raises(RuntimeError, match="nobody is looking"):
            player.analyze(game.new_initial_state(), on_progress=fail)
        token = CancelToken()

        def stop(_: Analysis, token: CancelToken = token) -> None:
            token.cancel()

        state = game.new_initial_state()
        check_analysis(state, player.analyze(state, on_progress=stop, cancel=token))


@pytest.mark.parametrize("spec", [f"rollout:ms={ENDLESS_MS}", "rollout:sims=1000000000"])
def test_players_can_be_cancelled(spec: str) -> None:
    game = load_game("gomoku")
    state = game.new_initial_state()
    player = make_player(spec, game, seed=1)
    asks: tuple[Callable[[CancelToken], int], ...] = (
        lambda token: player.choose(state, cancel=token),
        lambda token: player.analyze(state, cancel=token).action,
        lambda token: player.analyze(state, on_progress=lambda _: None, cancel=token).action,
    )
    for ask in asks:
        assert run_cancelled(ask) in state.legal_actions()


def test_a_time_limit_ends_the_search() -> None:
    game = load_game("othello")
    state = game.new_initial_state()
    assert make_player("rollout:ms=100", game, seed=1).choose(state) in state.legal_actions()
    for evaluator in ("rollout", HashEvaluator(game)):
        search = make_search(game, SearchParams(simulations=0, milliseconds=100))
        assert search_states(search, [state], evaluator)[0].stop_reason == "milliseconds"


def test_nothing_is_chosen_in_a_finished_game_or_another_game() -> None:
    game = load_game("tictactoe")
    over = game.new_initial_state()
    for action in (0, 3, 1, 4, 2):
        over.apply_action(action)
    elsewhere = load_game("connect4").new_initial_state()
    for player in players(game):
        for ask in (player.choose, player.analyze, lambda state, player=player: player.choose_many([state])):
            with pytest.raises(InvalidInputError, match="the game is over"):
                ask(over)
            with pytest.raises(InvalidInputError, match=r"tictactoe, but a state is of connect4"):
                ask(elsewhere)
        assert player.choose(game.new_initial_state()) in range(9)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("alphazero", "there is no kind 'alphazero'; there are random, rollout"),
        ("", "there is no kind ''"),
        ("random:sims=3", "'sims=3' is not an option; options of random"),
        ("rollout:simulations=3", "options of rollout .name=value.: sims, ms, temperature, threads"),
        ("rollout:sims", "'sims' is not an option"),
        ("rollout:sims=many", "sims=many: not a whole number"),
        ("rollout:sims=0", "sims=0: not between 1 and"),
        ("rollout:sims=-5", "sims=-5: not between 1 and"),
        ("rollout:sims=1.5", "sims=1.5: not a whole number"),
        ("rollout:sims=" + "9" * 5000, "9: not between 1 and"),
        ("rollout:sims=5,sims=6", "sims is given twice"),
        ("rollout:temperature=nan", "temperature=nan: not between 0 and 100"),
        ("rollout:ms=soon", "ms=soon: not a number"),
        ("zero:backend=abacus", "backend=abacus: not one of"),
    ],
)
def test_bad_specs_say_what_is_wrong_and_what_is_allowed(spec: str, words: str) -> None:
    with pytest.raises(PlayerSpecError, match=words):
        make_player(spec, load_game("connect4"))


def test_a_missing_or_wrong_net(tmp_path: Path) -> None:
    game = load_game("connect4")
    with pytest.raises(ModelFileError, match=r"nowhere\.onnx"):
        make_player(f"zero:net={tmp_path / 'nowhere.onnx'}", game)
    text = tmp_path / "text.onnx"
    text.write_text("not a network")
    with pytest.raises(ModelFileError, match=r"text\.onnx"):
        make_player(f"zero:net={text}", game)


def test_players_on_a_network(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from qizero.nets.architecture import NetworkConfig
    from qizero.nets.network import Network, export_onnx

    game, other = load_game("connect4"), load_game("tictactoe")
    path = tmp_path / "small.onnx"
    export_onnx(Network.for_game(NetworkConfig(channels=8, blocks=1), game), path, game)
    for spec in (f"zero:net={path},sims=30", f"zero:net={path},sims=30,leaves=4", f"zero:net={path},sims=0"):
        player = make_player(spec, game, seed=1)
        for state in positions(game, 3):
            check_analysis(state, player.analyze(state))
        assert make_player(spec, game, seed=1).choose_many(positions(game, 5)) == player.choose_many(positions(game, 5))
    with pytest.raises(ModelFileError, match="connect4"):
        make_player(f"zero:net={path}", other)


class NotANumber:
    """A network that diverged."""

    name = "diverged"

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        return np.full((len(planes), 7), np.nan, np.float32), np.full((len(planes), 3), np.nan, np.float32)


def test_a_network_that_diverged_is_an_error() -> None:
    game = load_game("connect4")
    state = game.new_initial_state()
    with pytest.raises(InvalidInputError, match="infinite or not numbers"):
        SearchPlayer("search", game, NotANumber(), SearchParams(simulations=10), seed=1).choose(state)
    with pytest.raises(EvaluationError, match="diverged returned NaN"):
        PolicyPlayer("policy", game, NotANumber(), seed=1).choose(state)


def test_an_analysis_is_a_value() -> None:
    analysis = make_player("rollout:sims=20", load_game("tictactoe"), seed=1).analyze(
        load_game("tictactoe").new_initial_state()
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        analysis.value = 0.5  # type: ignore[misc]


@pytest.mark.parametrize("name", ["plain", "a,b", 'a "quoted", name', '"', "a=b", "a b"])
def test_a_path_in_a_spec_may_have_commas_and_quotes(tmp_path: Path, name: str) -> None:
    """The player is made of the file, and named by the spec."""
    net = tmp_path / name / "net.onnx"
    net.parent.mkdir()
    shutil.copyfile(shipped_net(load_game("tictactoe")), net)
    game = load_game("tictactoe")
    spec = player_spec("zero", net=net, sims=2)
    assert make_player(spec, game, seed=1).choose(game.new_initial_state()) in range(9)


def test_quotes_that_do_not_end_are_named() -> None:
    with pytest.raises(PlayerSpecError, match="cannot be told apart"):
        make_player('zero:"net=a,sims=2', load_game("tictactoe"))
