"""What the page is told when something fails: enough to understand, and nothing of the server's machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest

import qizero
from qizero.nets.evaluator import ModelFileError
from qizero.players import engine_process, gomocup_engine
from qizero.players.engine_process import EngineError
from qizero.server.failures import SEE_LOG, public_reason
from qizero.server.opponents import Opponents, engine_row, opponent_rows
from qizero.server.session import CommandRefusedError
from server.conftest import HANG_SECONDS, RunningServer

ENGINE = Path(__file__).parent.parent / "engines" / "misbehaving_engine.py"
PROGRAM = Path(sys.executable)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (EngineError.of("/home/me/pbrain", "ended: no /home/me/net", "ended"), "engine pbrain ended"),
        (EngineError.of("/home/me/pbrain", "has not read its input"), "engine pbrain has not read its input"),
        (EngineError("all 2 games failed; the last: engine /home/me/pbrain"), "the engine failed"),
        (CommandRefusedError("stale", "the game has gone on"), "the game has gone on"),
        (OSError(28, "No space left on device", "/home/me/games/1.jsonl"), "No space left on device"),
        (OSError("cannot read /home/me"), SEE_LOG),
        (ModelFileError("/home/me/net.onnx is damaged"), SEE_LOG),
        (qizero.PlayerSpecError("player 'gomocup:cmd=/home/me/pbrain': there is no program"), SEE_LOG),
        (RuntimeError("/home/me"), SEE_LOG),
    ],
)
def test_reasons(error: Exception, reason: str) -> None:
    assert public_reason(error) == reason


@pytest.fixture
def crashing(start: Callable[..., RunningServer], monkeypatch: pytest.MonkeyPatch) -> RunningServer:
    """A server with an engine that crashes when it is asked for a move."""
    monkeypatch.setattr(gomocup_engine, "START_SECONDS", HANG_SECONDS)
    monkeypatch.setattr(engine_process, "LAST_WORDS_SECONDS", HANG_SECONDS)
    command = f"{PROGRAM} {ENGINE} crash"
    opponents = Opponents(qizero.make_player, partial(opponent_rows, engines=(command,)))
    return start(make_player=qizero.make_player, opponents=opponents)


def test_of_an_engine_that_fails_the_page_sees_the_name_and_the_kind_of_failure(
    crashing: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    client = crashing.client()
    client.new("gomoku", seats=(f"engine:{PROGRAM.name}", "human"))
    told = client.wait_for(lambda message: message["type"] == "error")
    assert (told["code"], told["detail"]) == ("opponent_failed", f"engine {PROGRAM.name} ended with exit code 3")
    shown = httpx.get(f"{crashing.url}/api/opponents?game=gomoku", timeout=HANG_SECONDS).text
    assert f'"engine:{PROGRAM.name}"' in shown
    assert str(PROGRAM.parent) not in shown
    assert str(ENGINE) in caplog.text
    assert "ended with exit code 3: out of luck" in caplog.text


def test_the_http_api_says_as_little(crashing: RunningServer) -> None:
    request = {"game": "gomoku", "actions": [], "opponent": f"engine:{PROGRAM.name}"}
    answer = httpx.post(f"{crashing.url}/api/analyze", json=request, timeout=HANG_SECONDS)
    detail = f"the analysis failed: engine {PROGRAM.name} ended with exit code 3"
    assert (answer.status_code, answer.json()) == (500, {"detail": detail})


def test_an_analysis_that_fails_does_not_name_its_net(start: Callable[..., RunningServer]) -> None:
    def make_player(spec: str, game: qizero.Game) -> qizero.Player:
        raise ModelFileError("/home/me/net.onnx is damaged")

    client = start(make_player=make_player).client()
    client.new(seats=("human", "human"))
    client.send("analyze", on=True, ply=0)
    told = client.wait_for(lambda message: message["type"] == "error")
    assert (told["code"], told["detail"]) == ("study_failed", SEE_LOG)


def test_a_full_disk_does_not_name_the_journal(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    client = server.client()
    client.new(seats=("human", "human"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "/home/me/games/1.jsonl")

    monkeypatch.setattr("qizero.server.journal.Journal.append", full)
    told = client.command("play", action=3)
    assert (told["code"], told["detail"]) == ("journal_failed", "No space left on device")


def test_commands_of_engines_may_have_any_characters() -> None:
    row = engine_row('"/opt/my engines/pbrain,x" --book "a b"')
    assert (row.id, row.title) == ("engine:pbrain,x", "pbrain,x")
    with pytest.raises(qizero.PlayerSpecError, match="there is no program '/opt/my engines/pbrain,x'"):
        qizero.make_player(row.spec, qizero.load_game("gomoku"))
    with pytest.raises(qizero.InvalidInputError, match="--engine 'open: No closing quotation"):
        engine_row("'open")


def test_half_a_character_is_refused_through_the_websocket(server: RunningServer) -> None:
    client = server.client()
    client.new(seats=("human", "human"))
    for text in ('"text":"\\ud800"', '"text":"4","\\udc00":1'):
        client.socket.send(f'{{"v":1,"id":7,"type":"play_text","seq":0,{text}}}')
        assert client.wait_for(lambda message: message["type"] == "error")["code"] == "bad_message"
    assert client.command("play_text", text="4")["type"] == "state"
