"""People who change their mind while the opponent thinks: random commands to a server, against a plain model.

The whole server but the network: connections, tables, the pool of searching threads, the journal on disk. Everything
that a tab hears is compared with the model, in the order in which it hears it.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from starlette.websockets import WebSocketState

from qizero.server.connection import Connection
from qizero.server.journal import Journal, JournalThreads
from qizero.server.opponents import OpponentRow, Opponents
from qizero.server.session import HUMAN
from qizero.server.tables import Pace, Tables
from qizero.server.thinking import ThinkingPool
from server.fakes import make_fake_player
from server.plain_model import PlainModel

THINKERS = [
    OpponentRow("instant", "fake:0", "level", "Instant", "瞬"),
    OpponentRow("quick", "fake:0.002", "level", "Quick", "快手"),
    OpponentRow("slow", "fake:0.02", "level", "Slow", "慢手"),
    OpponentRow("sleepy", "fake:30", "level", "Sleepy", "瞌睡虫"),
]
WHO = st.sampled_from([HUMAN, HUMAN, HUMAN, "instant", "quick", "slow", "sleepy"])
SEATS = st.tuples(WHO, WHO)
WEIGHTS = {
    "play": 10, "undo": 5, "redo": 4, "set_seats": 4, "wait": 6, "step": 2, "pause": 2, "restart": 1, "rematch": 1,
    "resign": 1, "reload": 1, "crash": 1,
}  # fmt: skip
"""What people do, and how often."""

ANSWER_SECONDS = 20.0


class MemorySocket:
    """The part of a WebSocket that a Connection uses, without a network."""

    def __init__(self) -> None:
        self.application_state = WebSocketState.CONNECTED
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def accept(self) -> None:
        pass

    async def receive(self) -> dict[str, Any]:
        return await self.incoming.get()

    async def send_text(self, text: str) -> None:
        self.heard.put_nowait(json.loads(text))

    async def close(self, code: int, reason: str) -> None:
        raise AssertionError(f"the server gave up the line: {code}, {reason}")


class Server:
    """A server on a journal, until it crashes."""

    def __init__(self, directory: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._others = ThreadPoolExecutor(2)
        loop.set_default_executor(self._others)
        self._journal = JournalThreads(Journal(directory))
        self.pool = ThinkingPool(make_fake_player, places=2)
        self.tables = Tables(
            self._journal, self.pool, Opponents(make_fake_player, lambda game: THINKERS), Pace(0.0, 0.0)
        )

    def connect(self) -> MemorySocket:
        socket = MemorySocket()
        connection = Connection(socket, self.tables, 1e9, 1e9)  # type: ignore[arg-type]
        self._loop.create_task(connection.serve())
        return socket

    async def crash(self) -> None:
        """Ends everything in the middle of whatever it does; what is being written is written."""
        tasks = asyncio.all_tasks(self._loop) - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.pool.close()
        self._journal.close()
        self._others.shutdown(wait=True)


class RaceMachine(RuleBasedStateMachine):
    """See the module. A command is made for the last state that the tab has seen, so that it may come too late."""

    tally: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.directory = tempfile.TemporaryDirectory()
        self.ids = 0

    @initialize(game=st.sampled_from(["connect4", "tictactoe", "othello", "liuzhou(max_steps=60)"]), seats=SEATS)
    def begin(self, game: str, seats: tuple[str, str]) -> None:
        self.tally["sequences"] += 1
        self.model = PlainModel(game, seats)
        self.server = Server(Path(self.directory.name), self.loop)
        self.run(self.open_games(game, seats))

    async def open_games(self, game: str, seats: tuple[str, str]) -> None:
        self.neighbour = self.server.connect()
        self.neighbour_id = (await self.new_game(self.neighbour, "connect4", (HUMAN, HUMAN)))["game_id"]
        self.tab = self.server.connect()
        state = await self.new_game(self.tab, game, seats)
        self.game_id, self.seen = state["game_id"], 0
        self.compare(state)

    # ---- What people do --------------------------------------------------------------------------------------------

    @rule(
        what=st.sampled_from([what for what, weight in WEIGHTS.items() for _ in range(weight)]),
        choice=st.integers(0, 999),
        seats=SEATS,
    )
    def act(self, what: str, choice: int, seats: tuple[str, str]) -> None:
        model, on = self.model, choice % 2 == 0
        match what:
            case "play":
                legal = model.states[model.at].legal_actions()
                action = legal[choice % len(legal)] if legal and choice < 950 else choice
                self.command("play", {"action": action}, lambda: model.play(action))
            case "set_seats":
                self.command("set_seats", {"seats": seats}, lambda: model.set_seats(seats))
            case "pause":
                self.command("pause", {"on": on}, lambda: model.pause(on))
            case "wait":
                self.wait(choice % 12)
            case "reload":
                self.run(self.leave_and_return())
                self.tally["reloads"] += 1
            case "crash":
                self.run(self.crash_and_return())
                self.tally["crashes"] += 1
            case _:
                self.command(what, {}, getattr(model, what))

    def wait(self, milliseconds: int) -> None:
        self.run(asyncio.sleep(milliseconds / 1000))
        self.hear_the_rest()

    # ---- How it is checked -----------------------------------------------------------------------------------------

    def command(self, kind: str, fields: dict[str, Any], expected: Any) -> None:
        thinking = self.model.computer() is not None
        outcome = self.run(self.ask(kind, fields, expected))
        self.tally[f"{kind} {outcome}"] += 1
        self.tally["commands"] += 1
        if thinking and outcome == "done":
            self.tally["commands while the opponent thought"] += 1

    async def ask(self, kind: str, fields: dict[str, Any], expected: Any) -> str:
        """Sends a command and hears everything up to its answer: done, refused or stale."""
        made_for = self.seen
        request = self.send(self.tab, kind, seq=made_for, **fields)
        while True:
            message = await asyncio.wait_for(self.tab.heard.get(), ANSWER_SECONDS)
            if message.get("id") != request:
                self.hear(message)
            elif message["type"] == "state":
                assert made_for == self.model.seq
                assert expected(), f"{kind} was done, but is not possible"
                self.model.seq += 1
                self.compare(message)
                return "done"
            elif message["code"] == "stale":
                assert made_for < self.model.seq, "refused as stale, but nothing had happened"
                return "stale"
            else:
                assert made_for == self.model.seq
                assert not expected(), f"{kind} was refused ({message['detail']}), but is possible"
                return "refused"

    def hear(self, message: dict[str, Any]) -> None:
        """What nobody asked for: a move of the opponent, or how its thinking goes."""
        if message["type"] == "state":
            self.hear_state(message)
        elif message["type"] == "progress":
            assert message["seq"] == self.model.seq, "progress of a search that should have been stopped"
        else:
            assert message["type"] == "moved", message

    def hear_the_rest(self) -> None:
        """Two opponents may have made several moves since this tab was last listened to."""
        while not self.tab.heard.empty():
            self.hear(self.tab.heard.get_nowait())

    def hear_state(self, message: dict[str, Any]) -> None:
        if message["seq"] != self.model.seq:
            assert self.model.computer() is not None, "the opponent moved out of turn"
            assert self.model.play(message["moves"][-1]["action"], computer=True)
            self.model.seq += 1
            self.tally["moves of opponents"] += 1
        self.compare(message)

    def compare(self, state: dict[str, Any]) -> None:
        model = self.model
        here = model.states[model.at]
        result = {"winner": model.winner(), "reason": "board" if model.resigned is None else "resigned"}
        undo = PlainModel.undo
        assert [move["action"] for move in state["moves"]] == model.line[: model.at]
        assert state["frame"]["board"] == here.board().ravel().tolist()
        assert [action["action"] for action in state["frame"]["legal"]] == here.legal_actions()
        assert state["seq"] == model.seq
        assert state["redo"] == len(model.line) - model.at
        assert tuple(state["seats"]) == model.seats
        assert state["actor"] == model.actor()
        assert state["thinking"] == model.computer()
        assert state["paused"] == model.paused
        told = state["result"] and {name: state["result"][name] for name in ("winner", "reason")}
        assert told == (result if model.over() else None)
        assert state["can_undo"] == undo(copy_of(model))
        self.seen = model.seq

    async def leave_and_return(self) -> None:
        self.tab.incoming.put_nowait({"type": "websocket.disconnect", "code": 1001})
        for _ in range(1000):
            if self.server.pool.running == 0 and self.server.pool.waiting == 0:
                break
            await asyncio.sleep(0.002)
        else:
            raise AssertionError("somebody thinks although nobody looks")
        self.hear_the_rest()
        self.tab = self.server.connect()
        await self.open_again()

    async def crash_and_return(self) -> None:
        await self.server.crash()
        self.hear_the_rest()
        self.server = Server(Path(self.directory.name), self.loop)
        self.tab = self.server.connect()
        await self.open_again()

    async def open_again(self) -> None:
        request = self.send(self.tab, "open", game_id=self.game_id)
        message = await asyncio.wait_for(self.tab.heard.get(), ANSWER_SECONDS)
        assert (message["type"], message["id"]) == ("state", request)
        self.hear_state(message)

    def teardown(self) -> None:
        if hasattr(self, "server"):
            self.run(self.finish())
        self.loop.close()
        self.directory.cleanup()

    async def finish(self) -> None:
        """Whatever happened here, the neighbour's game is as it was, and the journal holds this one as it is."""
        neighbour = self.server.connect()
        self.send(neighbour, "open", game_id=self.neighbour_id)
        message = await asyncio.wait_for(neighbour.heard.get(), ANSWER_SECONDS)
        assert (message["seq"], message["moves"]) == (0, [])
        await self.crash_and_return()
        await self.server.crash()

    # ---- Small things ----------------------------------------------------------------------------------------------

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def send(self, socket: MemorySocket, kind: str, **fields: Any) -> int:
        self.ids += 1
        text = json.dumps({"v": 1, "id": self.ids, "type": kind, **fields})
        socket.incoming.put_nowait({"type": "websocket.receive", "text": text})
        return self.ids

    async def new_game(self, socket: MemorySocket, game: str, seats: tuple[str, str]) -> dict[str, Any]:
        name, _, options = game.rstrip(")").partition("(")
        chosen = {key: int(value) for key, _, value in (each.partition("=") for each in filter(None, [options]))}
        self.send(socket, "new", game=name, options=chosen, seats=seats, opening="", position=None)
        message = await asyncio.wait_for(socket.heard.get(), ANSWER_SECONDS)
        assert message["type"] == "state", message
        return message


def copy_of(model: PlainModel) -> PlainModel:
    """A model that may be changed; the line is shared, which an undo does not touch."""
    copied = PlainModel.__new__(PlainModel)
    copied.__dict__.update(model.__dict__)
    return copied
