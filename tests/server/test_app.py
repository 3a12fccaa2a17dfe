"""The server over real sockets: games, thinking, refusals, restoring, security."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus

import qizero
from qizero._core import Connect4Solver
from qizero.games.catalog import GameRow
from qizero.players.perfect import connect4_book
from qizero.server import launch
from qizero.server.app import Limits, host_is_allowed, origin_is_allowed
from qizero.server.opponents import Opponents, opponent_rows
from qizero.server.tables import Pace
from server.conftest import HANG_SECONDS, RunningServer
from server.fakes import real_players


def is_state(message: dict[str, Any]) -> bool:
    return bool(message["type"] == "state")


@pytest.mark.parametrize("row", qizero.list_games(), ids=lambda row: row.id)
def test_a_whole_game_of_every_kind(server: RunningServer, row: GameRow) -> None:
    client = server.client()
    rng = random.Random(3)
    client.new(row.id)
    for _ in range(400):
        if client.state["result"] is not None:
            break
        if client.state["actor"] == 0:
            action = rng.choice(client.state["frame"]["legal"])["action"]
            assert client.command("play", action=action)["type"] == "state"
        else:
            client.wait_for(is_state)
    else:
        pytest.fail("the game did not end")
    assert client.state["frame"]["legal"] == []


def test_stale_commands_are_refused_and_change_nothing(server: RunningServer) -> None:
    client = server.client()
    client.new(seats=("human", "human"))
    assert client.command("play", action=3)["type"] == "state"
    answer = client.ask("play", seq=0, action=3)
    assert (answer["type"], answer["code"]) == ("error", "stale")
    assert client.ask("look", ply=1, actions=[])["frame"]["board"].count(0) == 41


def test_undo_while_the_opponent_thinks_cancels_it(server: RunningServer) -> None:
    """It would think for hours: that its search ends is the undo's doing."""
    client = server.client()
    client.new(seats=("human", "sleepy"))
    client.command("play", action=3)
    assert client.state["thinking"] == 1
    client.wait_for(lambda message: message["type"] == "progress" and message["simulations"] > 0)
    client.command("undo")
    assert client.state["moves"] == []
    server.wait_until_idle()
    assert not any(is_state(message) for message in client.until_pong()), "what it found is not played"


def test_changing_sides_in_the_middle_of_a_game(server: RunningServer) -> None:
    client = server.client()
    client.new(seats=("human", "human"))
    client.command("play", action=3)
    client.command("set_seats", seats=("human", "quick"))
    client.wait_for(lambda message: is_state(message) and len(message["moves"]) == 2)
    assert client.command("set_seats", seats=("human", "nobody"))["code"] == "unknown_opponent"
    assert client.command("set_seats", seats=("human", "broken"))["code"] == "unknown_opponent"


@pytest.mark.slow
def test_watching_with_pause_and_step(start: Callable[..., RunningServer]) -> None:
    server = start(pace=Pace(0.0, 0.2))
    client = server.client()
    client.new(seats=("quick", "quick"))
    client.wait_for(lambda message: is_state(message) and len(message["moves"]) == 2)
    while client.command("pause", on=True)["type"] != "state":
        client.wait_for(is_state)
    for _ in range(2):
        moves = len(client.state["moves"])
        time.sleep(0.5)  # without the pause there would be another move after 0.2 s
        server.wait_until_idle()
        assert not any(is_state(message) for message in client.until_pong())
        client.command("step")
        wanted = moves + 1
        while len(client.state["moves"]) < wanted:
            client.wait_for(is_state)
        assert len(client.state["moves"]) == wanted


def test_two_tabs_see_the_same_game(server: RunningServer) -> None:
    first, second = server.client(), server.client()
    first.new(seats=("human", "human"))
    second.ask("open", game_id=first.state["game_id"])
    first.command("play", action=2)
    second.wait_for(is_state)
    assert second.state["frame"] == first.state["frame"]
    second.command("play", action=2)
    first.wait_for(is_state)
    assert len(first.state["moves"]) == 2


def test_a_restarted_server_goes_on_where_it_was(start: Callable[..., RunningServer]) -> None:
    server = start()
    client = server.client()
    client.new(seats=("human", "slow"))
    client.command("play", action=3)
    game_id, board = client.state["game_id"], client.state["frame"]["board"]
    server.stop()
    again = start().client()
    again.ask("open", game_id=game_id)
    assert again.state["frame"]["board"] == board
    again.wait_for(lambda message: is_state(message) and len(message["moves"]) == 2)


def test_a_full_disk_refuses_a_move_and_changes_nothing(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    tab = server.client()
    tab.new(seats=("human", "human"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("qizero.server.journal.Journal.append", full)
        assert tab.command("play", action=3)["code"] == "journal_failed"
    assert tab.command("play", action=3)["type"] == "state"
    assert len(tab.state["moves"]) == 1


def test_what_is_not_understood_is_answered_by_its_id(server: RunningServer) -> None:
    answer = server.client().ask("new", game="connect4", options={}, seats=("human", "human"), opening="", position=1)
    assert answer["code"] == "bad_message"


def test_hints_come_in_steps(server: RunningServer) -> None:
    client = server.client()
    client.new(seats=("human", "quick"))
    area = client.command("hint", stage=1)
    assert (area["action"], area["pv"]) == (None, None)
    assert area["area"]
    move = client.command("hint", stage=2)
    assert move["action"]["target"] in area["area"]
    assert client.command("hint", stage=3)["pv"]["actions"][0] == move["action"]["action"]


def test_a_hint_sees_what_must_be_played(start: Callable[..., RunningServer]) -> None:
    client = start(**real_players()).client()
    moves = "h8 a1 i8 c1 j8 e1"
    client.new("gomoku", position=f"qizero-state 1\ngame gomoku\nactions {moves}\n", seats=("human", "human"))
    hint = client.ask("hint", seq=client.state["seq"], stage=2)
    assert hint["action"]["text"] in ("g8", "k8")


def test_analysis_streams_and_stops(server: RunningServer) -> None:
    client = server.client()
    client.new(seats=("human", "human"))
    client.send("analyze", on=True, ply=0)
    seen = [client.wait_for(lambda message: message["type"] == "analysis")]
    while not seen[-1]["done"]:
        seen.append(client.wait_for(lambda message: message["type"] == "analysis"))
    assert len(seen) >= 2
    assert seen[-1]["simulations"] > seen[0]["simulations"]
    assert all(candidate["action"] in range(7) for candidate in seen[-1]["candidates"])
    client.send("analyze", on=True, ply=0)
    client.send("analyze", on=False, ply=0)
    client.ask("ping")
    server.wait_until_idle()
    assert not any(message["type"] == "analysis" and message["done"] for message in client.until_pong())


def test_the_heat_map_holds_every_move(server: RunningServer) -> None:
    client = server.client()
    client.new("gomoku", seats=("human", "human"))
    client.command("play", action=112)
    client.send("analyze", on=True, ply=1)
    found = client.wait_for(lambda message: message["type"] == "analysis")
    assert {each["cell"] for each in found["heat"]} == set(range(225)) - {112}
    assert sum(each["share"] for each in found["heat"]) == pytest.approx(1, abs=1e-3)
    assert all(each["score"] is None for each in found["candidates"])


def test_exact_scores_of_every_column(start: Callable[..., RunningServer]) -> None:
    client = start(**real_players()).client()
    client.new("connect4", seats=("human", "human"))
    for action in (3, 3, 3, 3, 3, 2):
        client.command("play", action=action)
    client.send("analyze", on=True, ply=6)
    found = client.wait_for(lambda message: message["type"] == "analysis" and message["done"])
    game = qizero.load_game("connect4")
    state = game.new_initial_state()
    for action in (3, 3, 3, 3, 3, 2):
        state.apply_action(action)
    scores, _line, complete, _nodes = Connect4Solver(connect4_book()).scores(state)
    assert complete
    assert {each["action"]: each["score"] for each in found["candidates"]} == dict(enumerate(scores))
    best = found["candidates"][0]
    assert (best["distance"], best["score"]) == (found["distance"], max(score for score in scores if score is not None))


def test_the_heat_map_beside_a_perfect_analyst_is_the_nets(start: Callable[..., RunningServer]) -> None:
    opponents = Opponents(qizero.make_player)
    game = qizero.load_game("tictactoe")
    assert (opponents.analyst(game, "analysis"), opponents.intuition(game)) == ("perfect", "zero:sims=0")
    client = start(**real_players()).client()
    client.new("tictactoe", seats=("human", "human"))
    client.send("analyze", on=True, ply=0)
    found = client.wait_for(lambda message: message["type"] == "analysis" and message["done"])
    policy = qizero.make_player("zero:sims=0", game).analyze(game.new_initial_state()).policy
    assert [each["share"] for each in found["heat"]] == pytest.approx(policy.tolist(), abs=1e-5)


def test_positions_are_studied_by_the_kind_of_player_that_was_measured_to_be_strongest() -> None:
    opponents = Opponents(qizero.make_player)
    for name, kind in (("liuzhou", "alphabeta"), ("liuzhou(lose_below=4)", "alphabeta"), ("connect4", "perfect")):
        assert opponents.analyst(qizero.load_game(name), "hint").startswith(kind), name
    assert opponents.intuition(qizero.load_game("liuzhou")) == "zero:sims=0"


def test_a_review_judges_every_move(server: RunningServer) -> None:
    client = server.client()
    client.new("tictactoe", seats=("human", "human"))
    for action in (0, 3, 1, 4, 2):
        client.command("play", action=action)
    assert (client.state["result"]["winner"], client.state["result"]["reason"]) == (0, "board")
    assert client.state["frame"]["winning"] == [0, 1, 2]
    client.send("review", on=True)
    judged = [client.wait_for(lambda message: message["type"] == "judged") for _ in range(6)]
    assert [message["ply"] for message in judged] == list(range(6))
    # The fake analyst gives every mover 0.2; the last position is won.
    values = [message["value_for_player0"] for message in judged]
    assert values == pytest.approx([0.2, -0.2, 0.2, -0.2, 0.2, 1.0])
    assert judged[0]["loss"] is None
    assert all(message["loss"] >= 0 for message in judged[1:])


def test_trying_another_move_begins_a_game_of_its_own(server: RunningServer) -> None:
    client = server.client()
    client.new(seats=("human", "human"))
    for action in (3, 3, 3):
        client.command("play", action=action)
    original = client.state["game_id"]
    client.ask("fork", ply=1)
    assert client.state["game_id"] != original
    assert len(client.state["moves"]) == 1
    client.ask("open", game_id=original)
    assert len(client.state["moves"]) == 3


@pytest.mark.parametrize("form", ["sgf", "moves", "state"])
@pytest.mark.parametrize("row", qizero.list_games(), ids=lambda row: row.id)
def test_files_round_trip(server: RunningServer, row: GameRow, form: str) -> None:
    rng = random.Random(5)
    game = qizero.load_game(row.id)
    state = game.new_initial_state()
    while len(state.history()) < 60 and not state.is_terminal():
        before = state.clone()
        state.apply_action(rng.choice(state.legal_actions()))
    client = server.client()
    client.new(row.id, position=before.serialize(), seats=("human", "human"))
    board = client.state["frame"]["board"]
    text = client.ask("export", format=form)["text"]
    client.new(row.id, position=text, seats=("human", "human"))
    assert client.state["descriptor"]["game"] == row.id
    assert client.state["frame"]["board"] == board
    assert len(client.state["moves"]) == len(before.history())


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "(;GM[1])", "(;GM[4]SZ[15];B[zz])", "(;QZ[tictactoe];B[aa];B[ab])", "(B[aa])", "(;GM[2]\x00)",
     "qizero-state 1\ngame connect4\nactions 9\n", "qizero-state 1\ngame chess\nactions\n", "(;QZ[connect4];B[aa])"],
)  # fmt: skip
def test_bad_files_are_refused_with_a_reason(server: RunningServer, text: str) -> None:
    answer = server.client().new(position=text)
    assert answer["type"] == "error"
    assert answer["detail"]


@pytest.mark.slow
def test_busy_says_the_place(start: Callable[..., RunningServer]) -> None:
    server = start(searches=1)
    clients = [server.client() for _ in range(3)]
    for client in clients:
        client.new(seats=("human", "slow"))
        client.command("play", action=3)
    place = clients[2].wait_for(lambda message: message["type"] == "progress" and message["place"] > 0)["place"]
    assert place in (1, 2)
    clients[2].wait_for(lambda message: is_state(message) and len(message["moves"]) == 2)


@pytest.mark.slow
def test_a_full_queue_is_an_answer_not_a_crash(start: Callable[..., RunningServer]) -> None:
    limits = Limits(messages_per_second=1e6, message_burst=1e6, waiting_searches=1)
    server = start(searches=1, limits=limits)
    clients = [server.client() for _ in range(3)]
    for client in clients:
        client.new(seats=("human", "slow"))
        client.command("play", action=3)
    busy = clients[2].wait_for(lambda message: message["type"] == "error")
    assert (busy["code"], busy["place"]) == ("busy", 2)
    clients[2].wait_for(lambda message: is_state(message) and len(message["moves"]) == 2)


def test_leaving_stops_the_thinking(server: RunningServer) -> None:
    client = server.client()
    client.new(seats=("human", "sleepy"))
    client.command("play", action=3)
    client.wait_for(lambda message: message["type"] == "progress")
    client.socket.close()
    server.wait_until_idle()


def test_foreign_hosts_and_origins_are_refused(server: RunningServer) -> None:
    assert httpx.get(server.url + "/api/health", headers={"Host": "evil.example"}).status_code == 400
    with pytest.raises(InvalidStatus):
        server.client(origin="http://evil.example")
    with pytest.raises(InvalidStatus):
        server.client(additional_headers={"Host": "evil.example"})
    server.client(origin=f"http://127.0.0.1:{server.port}").ask("ping")


def test_which_hosts_are_allowed() -> None:
    assert host_is_allowed("localhost:8000", "127.0.0.1")
    assert host_is_allowed("[::1]:8000", "127.0.0.1")
    assert not host_is_allowed("192.168.1.5:8000", "127.0.0.1")
    assert host_is_allowed("192.168.1.5:8000", "0.0.0.0")
    assert not host_is_allowed("evil.example", "0.0.0.0")
    assert not host_is_allowed(None, "127.0.0.1")
    assert not host_is_allowed("[", "127.0.0.1")
    assert origin_is_allowed("http://localhost:8000", "localhost:8000")
    assert not origin_is_allowed("null", "localhost:8000")
    assert not origin_is_allowed("http://[", "localhost:8000")


def test_the_http_api(server: RunningServer) -> None:
    with httpx.Client(base_url=server.url) as http:
        games = http.get("/api/games").json()["games"]
        assert [game["id"] for game in games] == [row.id for row in qizero.list_games()]
        answer = http.get("/api/opponents", params={"game": "connect4"}).json()
        assert [row["id"] for row in answer["opponents"]] == ["quick", "slow", "sleepy"]
        assert http.get("/api/opponents", params={"game": "chess"}).status_code == 404
        found = http.post("/api/analyze", json={"game": "connect4", "actions": ["4", "4"], "opponent": "quick"})
        assert found.status_code == 200
        assert found.json()["candidates"]
        assert http.post("/api/analyze", json={"game": "connect4", "actions": ["9"]}).status_code == 409
        assert http.post("/api/analyze", json={"game": "connect4", "actions": [], "more": 1}).status_code == 422
        assert http.post("/api/analyze", content=b"x" * 100_000).status_code == 413
        assert "/api/analyze" in http.get("/api/openapi.json").json()["paths"]
        headers = http.get("/api/health").headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in headers["content-security-policy"]


EVIL = "gomocup:cmd=/bin/touch /tmp/never,ms=1"


@pytest.mark.parametrize("spec", [EVIL, "gomocup:cmd=true", "alphabeta:depth=1", "zero:net=/etc/passwd"])
def test_no_client_names_a_player_by_its_spec(start: Callable[..., RunningServer], spec: str) -> None:
    server = start(make_player=qizero.make_player, opponents=Opponents(qizero.make_player))
    client = server.client()
    for seats in ((spec, "human"), ("human", spec)):
        answer = client.new("gomoku", seats=seats)
        assert (answer["type"], answer["code"]) == ("error", "unknown_opponent")
    client.new("gomoku", seats=("human", "human"))
    answer = client.command("set_seats", seats=["human", spec])
    assert (answer["type"], answer["code"]) == ("error", "unknown_opponent")
    with httpx.Client(base_url=server.url) as http:
        request = {"game": "gomoku", "actions": [], "opponent": spec}
        assert http.post("/api/analyze", json=request).status_code == 404


def test_engines_are_named_where_the_server_is_started() -> None:
    engine = Path(__file__).parent.parent / "engines" / "misbehaving_engine.py"
    command = f"{sys.executable} {engine}"
    opponents = Opponents(qizero.make_player, partial(opponent_rows, engines=(command,)))
    row = opponents.of(qizero.load_game("gomoku"))[f"engine:{Path(sys.executable).name}"]
    assert row.spec == f"gomocup:cmd={command},ms=1000"
    assert row.spec not in row.view().model_dump_json()
    assert row.id not in opponents.of(qizero.load_game("connect4"))
    with pytest.raises(qizero.PlayerSpecError, match="there is no program"):
        launch.run(engines=["/no/such/engine"])


@pytest.mark.skipif(sys.platform != "linux", reason="the directories of other systems are platformdirs' business")
def test_games_are_kept_in_the_state_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("QIZERO_DATA", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert launch.data_directory() == tmp_path / ".local" / "state" / "qizero"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert launch.data_directory() == tmp_path / "state" / "qizero"
    monkeypatch.setenv("QIZERO_DATA", str(tmp_path / "data"))
    assert launch.data_directory() == tmp_path / "data"


def test_the_server_ends_without_complaints(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "qizero",
        "play",
        "--no-browser",
        "--port",
        str(launch.free_port("127.0.0.1", 8800)),
    ]
    environment = {**os.environ, "QIZERO_DATA": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[3]
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{url}api/health").status_code == 200:
                    break
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=HANG_SECONDS)
    assert complaints == ""
    assert process.returncode in (0, 128 + signal.SIGINT)  # 0 where whoever started the tests ignores SIGINT


def test_a_refused_action_is_told_by_its_code(server: RunningServer) -> None:
    """By number and by notation; the detail is the same reason in English."""
    client = server.client()
    client.new("tictactoe", ("human", "human"))
    client.command("play", action=4)
    told = client.command("play", action=4)
    assert (told["code"], told["detail"]) == ("illegal", "b2 is taken")
    assert told["reason"] == {"game": "tictactoe", "code": "taken", "values": {"cell": "b2"}}
    told = client.command("play_text", text="nowhere")
    assert told["code"] == "illegal"
    assert told["reason"]["code"] == "not_an_action"
    assert told["reason"]["values"]["text"] == "nowhere"
    assert client.command("play", action=99)["reason"]["code"] == "out_of_range"
