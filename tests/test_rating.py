"""The ratings of a run: every variant, fixed opponents, and a best net that moves only on evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qizero.games.catalog import Game
from qizero.strength.match import MatchResult, elo_interval
from qizero.training import rating
from qizero.training.rating import Evaluation, rate_network, ratings_of_run, read_evaluations, weaker_nets
from qizero.training.settings import load_settings

VARIANTS = ["gomoku(size=7)", "gomoku", "gomoku(size=6,rule=renju)"]
SETTINGS = load_settings(
    "gomoku", None, [f"run.variants={json.dumps(VARIANTS)}", "run.shares=[]", "evaluation.games=20"]
)


class Played:
    """Stands for the matches: `scores` by variant is what the rated net scores in every pair."""

    def __init__(self, scores: dict[str, float]) -> None:
        self.scores = scores
        self.calls: list[tuple[str, str]] = []

    def __call__(self, game: Game, first: str, second: str, games: int, cycle: int) -> tuple[MatchResult, list[float]]:
        self.calls.append((str(game), second.partition(",")[0]))
        pairs = [self.scores[str(game)]] * (games // 2)
        wins = round(self.scores[str(game)] * games)
        elo, low, high = elo_interval(pairs)
        return MatchResult(wins, 0, games - wins, elo, low, high, (0.5, 0.5), games), pairs


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "rated.safetensors").write_bytes(b"net")
    return tmp_path


def rate(run: Path, monkeypatch: pytest.MonkeyPatch, cycle: int, scores: dict[str, float]) -> Played:
    played = Played(scores)
    monkeypatch.setattr(rating, "match", played)
    rate_network(run, SETTINGS, cycle, cycle / 2, run / "nets" / "rated.safetensors")
    return played


def best(run: Path) -> str:
    return str(json.loads((run / "nets" / "best.json").read_text())["net"])


def test_every_variant_is_rated_against_the_same_opponents(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = rate(run, monkeypatch, 1, dict.fromkeys(VARIANTS, 0.5))
    rung = f"rollout:sims={SETTINGS.evaluation.rollout_simulations}"
    order = ["gomoku", "gomoku(size=7)", "gomoku(size=6,rule=renju)"]
    assert first.calls == [(variant, opponent) for variant in order for opponent in ("random", rung)]
    second = rate(run, monkeypatch, 2, {"gomoku": 0.95, "gomoku(size=7)": 0.5, "gomoku(size=6,rule=renju)": 0.5})
    assert [variant for variant, opponent in second.calls if opponent.startswith("zero:")] == order
    third = rate(run, monkeypatch, 3, dict.fromkeys(VARIANTS, 0.5))
    harder = f"rollout:sims={4 * SETTINGS.evaluation.rollout_simulations}"
    rungs = dict(call for call in third.calls if call[1].startswith("rollout"))
    assert rungs == {"gomoku": harder, "gomoku(size=7)": rung, "gomoku(size=6,rule=renju)": rung}


def test_the_best_net_moves_only_on_evidence_of_all_variants(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rate(run, monkeypatch, 1, dict.fromkeys(VARIANTS, 0.5))
    assert best(run) == "c000001"
    rate(run, monkeypatch, 2, {"gomoku": 0.9, "gomoku(size=7)": 0.5, "gomoku(size=6,rule=renju)": 0.1})
    assert best(run) == "c000001", "stronger under one variant, as much weaker under another"
    rate(run, monkeypatch, 3, dict.fromkeys(VARIANTS, 0.8))
    assert best(run) == "c000003"


def test_elo_is_that_of_the_main_variant(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rate(run, monkeypatch, 1, {"gomoku": 0.9, "gomoku(size=7)": 0.1, "gomoku(size=6,rule=renju)": 0.1})
    elo = {row.name: row.elo for row in ratings_of_run(run)}
    assert elo["c000001"] > 200
    assert {e.variant for e in read_evaluations(run)} == set(VARIANTS)


def test_a_net_that_got_weaker_is_named() -> None:
    def evaluation(opponent: str, elo_high: float) -> Evaluation:
        return Evaluation(7, 3.5, "gomoku", opponent, 5, 1, 34, -200.0, -300.0, elo_high)

    texts = weaker_nets([evaluation("c000004", -100), evaluation("c000004", 10), evaluation("rollout:sims=200", -100)])
    assert len(texts) == 1
    assert "cycle 7 is weaker than c000004 under gomoku: 5 won, 1 drawn, 34 lost" in texts[0]
