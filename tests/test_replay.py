"""Rows say what happened: planes, policies and results of the games that they come from, in every symmetry."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hash_evaluator import HashEvaluator
from numpy.typing import NDArray

from qizero._core import PoolConfig, SearchParams, SelfPlayParams, new_selfplay
from qizero.games.catalog import Game, load_game
from qizero.training.replay import ChunkError, RowDecoder, Window, read_chunk, row_dtype, write_chunk

GAMES = ["tictactoe", "connect4", "othello", "gomoku(size=7)", "gomoku(size=6,rule=renju)", "liuzhou(max_steps=60)"]


def play(game: Game, games: int, **values: Any) -> tuple[NDArray[Any], list[dict[str, Any]]]:
    """At least `games` games with the hash evaluator, and their rows."""
    params = SelfPlayParams(SearchParams(simulations=8, noise_epsilon=0.25), **{"play_on_share": 0.5} | values)
    selfplay = new_selfplay(game, PoolConfig(slots=8, seed=3), params)
    evaluator = HashEvaluator(game)
    parts: list[NDArray[np.uint8]] = []
    played: list[dict[str, Any]] = []
    while len(played) < games:
        selfplay.submit(*evaluator.evaluate(selfplay.collect()))
        parts.append(selfplay.take_rows())
        played += selfplay.take_games()
    return np.concatenate(parts).view(row_dtype(game)), played


@pytest.mark.parametrize("spec", GAMES)
def test_rows_are_the_positions_of_their_games(spec: str) -> None:
    game = load_game(spec)
    rows, games = play(game, 10, random_opening_share=0.5, random_plies=3)
    batch = RowDecoder(game).decode(rows)
    row = 0
    for played in games:
        state = game.new_initial_state()
        last, movers = len(played["actions"]), []
        recorded = last - played["opening_plies"] + (played["end"] == "proven")
        for ply in range(last + 1):
            if played["opening_plies"] <= ply < played["opening_plies"] + recorded:
                np.testing.assert_array_equal(batch.planes[row], state.observation_tensor())
                legal = np.zeros(game.num_actions, bool)
                legal[state.legal_actions()] = True
                assert batch.policy[row][~legal].sum() == 0
                assert batch.policy[row].sum() == pytest.approx(1, abs=1e-4)
                sign = 1 if state.current_player() == 0 else -1
                assert batch.outcome[row][0] - batch.outcome[row][2] == pytest.approx(sign * played["value"])
                assert batch.outcome[row].sum() == pytest.approx(1)
                assert batch.root[row].sum() == pytest.approx(1, abs=1e-5)
                to_proof = batch.plies_left[row] - (last - ply)  # a proven end is some plies away
                assert to_proof >= 1 if played["end"] == "proven" else to_proof == 0
                movers.append(sign)
                row += 1
            if ply < last:
                state.apply_action(played["actions"][ply])
        for i, sign in enumerate(movers):
            np.testing.assert_array_equal(batch.final_board[row - len(movers) + i], sign * np.sign(state.board()))
        if played["end"] == "played out":
            assert state.is_terminal()
            assert state.returns()[0] == played["value"]
    assert row == len(rows)


@pytest.mark.parametrize("spec", GAMES)
def test_symmetries_move_planes_and_policy_together(spec: str) -> None:
    game = load_game(spec)
    rows, _ = play(game, 2)
    decoder = RowDecoder(game)
    plain = decoder.decode(rows)
    seen = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        turned = decoder.decode(rows, rng)
        symmetries = np.random.default_rng(seed).integers(game.num_symmetries, size=len(rows))
        for i in range(min(len(rows), 20)):
            symmetry = int(symmetries[i])
            seen.add(symmetry)
            state = game.new_initial_state()
            for action in range(game.num_actions):
                moved = state.transform_action(action, symmetry)
                assert turned.policy[i, moved] == plain.policy[i, action]
            assert sorted(turned.planes[i].reshape(-1)) == sorted(plain.planes[i].reshape(-1))
            cells = plain.final_board[i]
            cells = cells[:, ::-1] if symmetry & 1 else cells
            cells = cells[::-1] if symmetry & 2 else cells
            np.testing.assert_array_equal(turned.final_board[i], cells.T if symmetry & 4 else cells)
    assert len(seen) == game.num_symmetries


def test_planes_of_a_symmetry_are_the_planes_of_the_transformed_state() -> None:
    game = load_game("gomoku(size=7)")
    rows, games = play(game, 3)
    decoder = RowDecoder(game)
    rng = np.random.default_rng(5)
    symmetries = np.random.default_rng(5).integers(8, size=len(rows))
    turned = decoder.decode(rows, rng)
    state = game.new_initial_state()
    for ply, action in enumerate(games[0]["actions"]):
        np.testing.assert_array_equal(turned.planes[ply], state.transformed(int(symmetries[ply])).observation_tensor())
        state.apply_action(action)


def test_limit_values_soften_draws_by_limit() -> None:
    game = load_game("liuzhou(max_steps=60)")
    rows, games = play(game, 20, limit_value_share=1.0)
    drawn = [played for played in games if played["value"] == 0]
    assert drawn, "the test needs games that end at the limit"
    outcomes = RowDecoder(game).decode(rows).outcome
    assert ((outcomes > 0) & (outcomes < 1)).any()
    assert np.allclose(outcomes.sum(axis=1), 1)


def test_draws_by_a_limit_that_have_a_value_are_played_out() -> None:
    """A tree that backs up their value has no proven draw, so no game ends before its material is final."""
    game = load_game("liuzhou(max_steps=60)")
    rows, games = play(game, 20, limit_value_share=1.0, play_on_share=0.0)
    outcomes = RowDecoder(game).decode(rows).outcome
    row = soft = 0
    for played in games:
        count = len(played["actions"]) - played["opening_plies"] + (played["end"] == "proven")
        if played["value"] == 0:
            assert played["end"] == "played out"
            soft += bool(np.all(outcomes[row : row + count, 1] < 1))
        row += count
    assert row == len(rows)
    assert soft > 0


class FixedEvaluator:
    """The same policy everywhere; the value says who has more stones on the left."""

    def __init__(self, game: Game, policy: list[float]) -> None:
        self.game, self.policy = game, policy

    def evaluate(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        logits = np.tile(np.log(np.array(self.policy, np.float32)), (len(planes), 1))
        lead = np.tanh(planes[:, 0, :, :2].sum((1, 2)) - planes[:, 1, :, :2].sum((1, 2)))
        return logits, np.stack([(1 + lead) / 2, 0 * lead, (1 - lead) / 2], axis=1).astype(np.float32)


def play_openings(games: int, **values: Any) -> tuple[NDArray[Any], list[dict[str, Any]]]:
    game = load_game("connect4")
    evaluator = FixedEvaluator(game, [0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])
    chosen = {"random_opening_share": 1.0, "random_plies": 6, "adjudicate": False} | values
    params = SelfPlayParams(SearchParams(simulations=4), **chosen)
    selfplay = new_selfplay(game, PoolConfig(slots=8, seed=3, random_symmetry=False), params)
    parts: list[NDArray[np.uint8]] = []
    played: list[dict[str, Any]] = []
    parked = False
    while len(played) < games:
        if len(played) > games / 2 and not parked:
            selfplay.restore(selfplay.park())  # goes on in the middle of openings
            parked = True
        selfplay.submit(*evaluator.evaluate(selfplay.collect()))
        parts.append(selfplay.take_rows())
        played += selfplay.take_games()
    return np.concatenate(parts).view(row_dtype(game)), played


def test_openings_are_drawn_from_the_policy() -> None:
    _, games = play_openings(3000, opening_temperature=2.0)
    lengths = np.bincount([played["opening_plies"] for played in games], minlength=7)
    assert lengths[0] == 0
    assert lengths[1:].min() > 350
    wanted = np.sqrt([0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])
    first = np.bincount([played["actions"][0] for played in games], minlength=7) / len(games)
    np.testing.assert_allclose(first, wanted / wanted.sum(), atol=0.03)


def test_decided_openings_are_drawn_again() -> None:
    shares = []
    for limit in (1.0, 0.5):
        rows, _ = play_openings(600, opening_temperature=2.0, opening_limit=limit)
        first = np.append(True, rows["ply"][1:, 0] <= rows["ply"][:-1, 0])  # the first row of each game
        shares.append(float((np.abs(rows["root"][first, 0] - rows["root"][first, 2]) > 0.5).mean()))
    assert shares[0] > 0.2
    assert shares[1] < 0.02, "eight tries find a balanced opening nearly always"


def test_openings_that_are_drawn_again_keep_their_share_of_the_games() -> None:
    for temperature in (0.0, 2.0):
        _, games = play_openings(1500, random_opening_share=0.5, opening_temperature=temperature, opening_limit=0.3)
        assert np.mean([played["opening_plies"] > 0 for played in games]) == pytest.approx(0.5, abs=0.05)


def test_surprise_is_the_distance_between_search_and_network() -> None:
    game = load_game("connect4")
    rows, games = play(game, 5, play_on_share=1.0)
    evaluator, state = HashEvaluator(game), game.new_initial_state()
    for row, action in enumerate(games[0]["actions"]):
        logits = evaluator.evaluate(state.observation_tensor()[None])[0][0][state.legal_actions()]
        prior = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        target = rows["policy"][row][state.legal_actions()] / 65535
        distance = np.sum(target * np.log(np.maximum(target, 1e-12) / prior))
        turned = evaluator.evaluate(state.transformed(1).observation_tensor()[None])[0][0]
        mirrored = turned[[state.transform_action(legal, 1) for legal in state.legal_actions()]]
        mirrored_prior = np.exp(mirrored - mirrored.max()) / np.exp(mirrored - mirrored.max()).sum()
        other = np.sum(target * np.log(np.maximum(target, 1e-12) / mirrored_prior))
        # The position was evaluated in one of its two symmetries. A proven root has its one action for certain.
        found = rows["surprise"][row][0]
        assert min(abs(found - distance), abs(found - other), found) < 5e-3
        state.apply_action(action)
    assert np.count_nonzero(rows["surprise"] > 0.05) > len(rows) / 2


def test_surprising_rows_are_drawn_more_often() -> None:
    game = load_game("connect4")
    rows, _ = play(game, 20)
    rows = rows.copy()
    rows["surprise"] = 0
    rows["surprise"][:10] = 1
    rows["plies_left"] = 1
    rows["plies_left"][:10] = 2
    window = Window(game)
    for cycle, part in enumerate(np.array_split(rows, 3)):
        window.add(cycle, part, len(rows))
    for share in (0.0, 0.5, 1.0):
        drawn = window.sample(20_000, np.random.default_rng(1), share).plies_left == 2
        assert drawn.mean() == pytest.approx(share + (1 - share) * 10 / len(rows), abs=0.02)
    window.add(3, rows[20:60], 40)  # only rows that surprised nobody are left
    assert len(window.sample(64, np.random.default_rng(1), 0.5).plies_left) == 64


@pytest.mark.parametrize("spec", ["connect4", "liuzhou(max_steps=60)"])
def test_values_are_averaged_over_the_rest_of_the_game(spec: str) -> None:
    """The same games, with and without; in the second one side acts several times in a row."""
    game = load_game(spec)
    plain, games = play(game, 8)
    averaged, same_games = play(game, 8, value_lambda=0.75)
    assert same_games == games
    row = 0
    for played in games:
        count = len(played["actions"]) - played["opening_plies"] + (played["end"] == "proven")
        state, movers = game.new_initial_state(), []
        for ply in range(count):
            movers.append(state.current_player())
            if ply < len(played["actions"]):
                state.apply_action(played["actions"][ply])
        wanted = plain["root"][row + count - 1]
        for i in reversed(range(count)):
            if i + 1 < count:
                later = wanted if movers[i] == movers[i + 1] else wanted[::-1]
                own = plain["root"][row + i]
                wanted = own if own.max() == 1 else 0.25 * own + 0.75 * later  # what is proven stays
            np.testing.assert_allclose(averaged["root"][row + i], wanted, atol=1e-5)
        row += count
    assert row == len(plain)


def test_chunks_come_back_as_they_were_written(tmp_path: Path) -> None:
    game = load_game("connect4")
    rows, _ = play(game, 3)
    write_chunk(tmp_path / "a.rows", game, rows)
    assert read_chunk(tmp_path / "a.rows", game).tobytes() == rows.tobytes()
    assert [path.name for path in tmp_path.iterdir()] == ["a.rows"]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "other rows", "empty", "header", "other game"])
def test_damaged_chunks_are_refused_with_their_name(tmp_path: Path, damage: str) -> None:
    game = load_game("connect4")
    rows, _ = play(game, 2)
    path = tmp_path / "a.rows"
    write_chunk(path, game, rows)
    data = path.read_bytes()
    middle = len(data) * 2 // 3
    path.write_bytes(
        {
            "truncated": data[:-5],
            "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "other rows": data.partition(b"\n")[0] + b"\n" + zlib.compress(rows[::-1].tobytes()),
            "empty": b"",
            "header": b"{}" + data,
            "other game": data.replace(b'"connect4"', b'"othello"', 1),
        }[damage]
    )
    with pytest.raises(ChunkError, match=r"a\.rows"):
        read_chunk(path, game)


@pytest.mark.parametrize("claim", [2, 10**7, 10**12, -1, "many"])
def test_a_chunk_never_unpacks_to_more_than_it_may(tmp_path: Path, claim: object) -> None:
    """Neither to more than it claims, nor to what so few bytes never hold."""
    game = load_game("connect4")
    body = zlib.compress(bytes(1 << 27), level=9)
    path = tmp_path / "a.rows"
    write_chunk(path, game, play(game, 1)[0])
    header = json.loads(path.read_bytes().partition(b"\n")[0])
    header |= {"rows": claim, "sha256": hashlib.sha256(body).hexdigest()}
    path.write_bytes(json.dumps(header).encode() + b"\n" + body)
    tracemalloc.start()
    with pytest.raises(ChunkError, match=r"a\.rows"):
        read_chunk(path, game)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 22


def test_the_window_keeps_the_newest_rows() -> None:
    game = load_game("tictactoe")
    rows, _ = play(game, 60)
    rows = rows[:200]
    window = Window(game)
    for cycle in range(1, 11):
        oldest = window.add(cycle, rows, keep_rows=500)
    assert len(window) == 600
    assert oldest == 8
    assert window.cycles() == [8, 9, 10]
    batch = window.sample(64, np.random.default_rng(1))
    assert batch.planes.shape == (64, 2, 3, 3)
    assert set(np.unique(batch.planes)) <= {0.0, 1.0}
