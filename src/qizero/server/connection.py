"""The connection of one browser tab: reads requests, answers them, and forwards the messages of its table."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from typing import Any

from pydantic import ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from qizero.games.catalog import IllegalActionError, load_game
from qizero.games.game_files import Format, GameFileError, read_game, write_game
from qizero.server import messages, views
from qizero.server.failures import public_reason
from qizero.server.session import HUMAN, CommandRefusedError
from qizero.server.tables import Table, Tables

MAX_OUTGOING = 200
"""Messages that may wait for a slow line before it is given up; droppable ones are dropped at a fifth of that."""

CLOSE_SECONDS = 5.0
"""How long a line that is given up may take to say goodbye."""

COSTS = {"new": 10, "fork": 10, "open": 4, "export": 4, "review": 4, "analyze": 2, "look": 2, "hint": 2}
"""Messages that count as several for the rate limit: they write a file, read a whole game or begin searches."""

MAX_REFUSED = 200
"""Messages that make no sense before the line is given up."""

FILE_ENDINGS: dict[Format, str] = {"sgf": "sgf", "psq": "psq", "moves": "txt", "state": "qizero.txt"}

log = logging.getLogger(__name__)


def is_news(message: messages.FromServer) -> bool:
    """True for a state that is no answer to a request: it says all that an earlier one said."""
    return isinstance(message, messages.StateMessage) and message.id is None


class TokenBucket:
    """Limits messages to `rate` per second, with bursts of `burst`."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._tokens, self._last = burst, time.monotonic()

    def wait_seconds(self, tokens: float = 1.0) -> float:
        """Takes `tokens` and returns the seconds to wait before the next message."""
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._last) * self._rate) - tokens
        self._last = now
        return 0.0 if self._tokens >= 0 else -self._tokens / self._rate

    def allows(self) -> bool:
        """Takes a token if there is one."""
        if self.wait_seconds() == 0:
            return True
        self._tokens += 1.0
        return False


class Connection:
    """See the module. It watches at most one table."""

    def __init__(self, socket: WebSocket, tables: Tables, rate: float, burst: float) -> None:
        self._socket = socket
        self._tables = tables
        self._table: Table | None = None
        self._bucket = TokenBucket(rate, burst)
        self._outgoing: deque[messages.FromServer] = deque()
        self._something_to_send = asyncio.Event()
        self._given_up = asyncio.Event()
        self._answering = asyncio.Lock()
        self._refused = 0

    def send(self, message: messages.FromServer, droppable: bool = False) -> None:
        """Sends without waiting. A line that does not take what it is sent is given up, whether it says anything or
        not; a state that nobody asked for replaces the one before if that still waits."""
        if self._given_up.is_set() or (droppable and len(self._outgoing) > MAX_OUTGOING // 5):
            return
        newest = self._outgoing[-1] if self._outgoing else None
        if is_news(message) and newest is not None and is_news(newest):
            self._outgoing.pop()
        self._outgoing.append(message)
        self._something_to_send.set()
        if len(self._outgoing) > MAX_OUTGOING:
            self._give_up()

    async def serve(self) -> None:
        """Runs until the connection is closed."""
        await self._socket.accept()
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(work) for work in (self._listen(), self._write(), self._given_up.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            async with self._answering:  # a request under way is carried out to its end
                for task in tasks:
                    task.cancel()
            if self._table is not None:
                self._table.leave(self)
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        if self._given_up.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._close(1008, "too many messages")
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    def _give_up(self) -> None:
        self._outgoing.clear()
        self._given_up.set()

    async def _listen(self) -> None:
        while (text := await self._receive()) is not None:
            await asyncio.sleep(self._bucket.wait_seconds())
            async with self._answering:
                await self._read(text)
            if self._refused > MAX_REFUSED:
                self._give_up()

    async def _receive(self) -> str | None:
        """The next message; None if the connection is closed. A message that is not text closes it."""
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text: str | None = message.get("text")
        if text is None:
            await self._close(1003, "messages are text")
        return text

    async def _close(self, code: int, reason: str) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the other side may have closed it already
            await self._socket.close(code, reason)

    async def _write(self) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await self._something_to_send.wait()
                if not self._outgoing:
                    self._something_to_send.clear()
                    continue
                if self._socket.application_state is not WebSocketState.CONNECTED:
                    return
                await self._socket.send_text(self._outgoing.popleft().model_dump_json())

    async def _read(self, text: str) -> None:
        try:
            request = messages.from_page.validate_json(text)
        except ValidationError as error:
            self._refused += 1
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            detail = f"{where}: {first['msg']}"[:300]
            self.send(messages.ErrorMessage(id=messages.request_id(text), code="bad_message", detail=detail))
            return
        await asyncio.sleep(self._bucket.wait_seconds(COSTS.get(request.type, 1) - 1))
        try:
            await self._answer(request)
        except CommandRefusedError as error:
            reason = self._reason(error.refused)
            self.send(messages.ErrorMessage(id=request.id, code=error.code, detail=str(error), reason=reason))
        except IllegalActionError as error:
            reason = self._reason(error)
            self.send(messages.ErrorMessage(id=request.id, code="illegal", detail=str(error), reason=reason))
        except GameFileError as error:
            self.send(messages.ErrorMessage(id=request.id, code="bad_record", detail=str(error)))
        except ValueError as error:
            self.send(messages.ErrorMessage(id=request.id, code="bad_request", detail=str(error)))
        except OSError as error:
            log.exception("the journal could not be written")
            self.send(messages.ErrorMessage(id=request.id, code="journal_failed", detail=public_reason(error)))
        except Exception:
            log.exception("a request of type %s failed", request.type)
            detail = "the server could not do this; its log says why"
            self.send(messages.ErrorMessage(id=request.id, code="failed", detail=detail))

    def _reason(self, error: IllegalActionError | None) -> messages.Reason | None:
        """Why the rules of the game on the table refused an action."""
        if error is None or self._table is None:
            return None
        return messages.Reason(game=self._table.play.game.name, code=error.code, values=error.values)

    async def _answer(self, request: messages.FromPage) -> None:
        match request:
            case messages.Ping():
                self.send(messages.PongMessage(id=request.id))
            case messages.New():
                await self._new(request)
            case messages.Open():
                table = await self._tables.find(request.game_id)
                if table is None:
                    raise CommandRefusedError("no_such_game", "this game is not kept here any more")
                self._move_to(table, request.id)
            case _:
                table = self._table
                if table is None:
                    raise CommandRefusedError("no_game", "open a game first")
                await self._at_table(table, request)

    async def _at_table(self, table: Table, request: messages.FromPage) -> None:
        match request:
            case messages.Hint():
                self._hint(table, request)
            case messages.Command():
                command, arguments = await self._command(table, request)
                await table.perform(self, request.id, request.seq, command, **arguments)
            case messages.Fork():
                self._check_ply(table, request.ply)
                state = table.play.state_at(request.ply)
                self._move_to(await self._tables.create(table.play.game, table.play.seats, "", state), request.id)
            case messages.Look():
                self._check_ply(table, request.ply)
                frame = views.game_frame(table.play, request.ply, request.actions)
                self.send(messages.FrameMessage(id=request.id, frame=frame))
            case messages.Export():
                self._export(table, request)
            case messages.Analyze() | messages.Review():
                self._study(table, request)
            case _:
                raise CommandRefusedError("bad_message", f"'{request.type}' is not understood here")

    async def _command(self, table: Table, request: messages.Command) -> tuple[str, dict[str, Any]]:
        """The session's command for a request."""
        match request:
            case messages.Play():
                return "play", {"step": request.action}
            case messages.PlayText():
                return "play", {"step": table.play.state_at().string_to_action(request.text.strip())}
            case messages.Choose():
                return "play", {"step": request.choice}
            case messages.Pause():
                return "pause", {"on": request.on}
            case messages.SetSeats():
                await self._tables.check_seats(table.play.game, request.seats)
                return "set_seats", {"seats": list(request.seats)}
            case messages.Simple():
                return request.type, {}
        raise CommandRefusedError("bad_message", "this command is not understood here")

    def _hint(self, table: Table, request: messages.Hint) -> None:
        play = table.play
        if request.seq != play.seq:
            raise CommandRefusedError("stale", "the game has gone on")
        actor = play.actor()
        if actor is None or play.seats[actor] != HUMAN or play.stage_at():
            raise CommandRefusedError("not_your_turn", "a hint is given to the person whose turn it is")
        table.study(self, request.id, "hint", lambda: table.hint(self, request.id, request.stage))

    def _study(self, table: Table, request: messages.Analyze | messages.Review) -> None:
        if isinstance(request, messages.Review):
            if request.on:
                table.study(self, request.id, "review", lambda: table.review(self))
            else:
                table.stop_study(self, "review")
        elif request.on:
            ply = request.ply
            self._check_ply(table, ply)
            table.study(self, request.id, "analysis", lambda: table.analyse(self, ply))
        else:
            table.stop_study(self, "analysis")

    async def _new(self, request: messages.New) -> None:
        state = None
        game = load_game(request.game, **request.options)
        if request.position is not None:
            state = await asyncio.to_thread(read_game, request.position, game)
            game = state.game
        self._move_to(await self._tables.create(game, request.seats, request.opening, state), request.id)

    def _export(self, table: Table, request: messages.Export) -> None:
        play = table.play
        text = write_game(play.state_at(), request.format, names=play.seats, resigned=play.resigned)
        name = f"{play.game.name}.{FILE_ENDINGS[request.format]}"
        self.send(messages.ExportMessage(id=request.id, name=name, text=text))

    def _move_to(self, table: Table, request: int) -> None:
        if self._table is not None and self._table is not table:
            self._table.leave(self)
        self._table = table
        table.join(self, request)

    @staticmethod
    def _check_ply(table: Table, ply: int) -> None:
        if ply > len(table.play.steps):
            raise CommandRefusedError("bad_ply", f"the game has only {len(table.play.steps)} steps")
