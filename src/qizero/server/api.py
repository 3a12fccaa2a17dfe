"""The HTTP API: games, opponents, the analysis of a position, health. Described at /api/openapi.json.

Every error has the same body, `ErrorAnswer`. A request that does not fit the schema is a 422, an unknown game or
opponent a 404, illegal actions a 409, a player that failed a 500.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from qizero import __version__
from qizero.games.catalog import Game, State, load_game
from qizero.server import messages, views
from qizero.server.failures import public_reason
from qizero.server.opponents import Opponents
from qizero.server.tables import Tables
from qizero.server.thinking import QueueFullError, ThinkingPool

EXAMPLE = {"game": "connect4", "actions": ["4", "4"]}
MAX_DETAIL = 500  # characters; a detail may repeat keys of the request's body


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error statuses of an operation, as FastAPI declares them."""
    return {status: {"model": messages.ErrorAnswer} for status in statuses}


def error_response(status: int, detail: str) -> JSONResponse:
    """An error with the body that the API declares."""
    return JSONResponse({"detail": detail[:MAX_DETAIL]}, status)


async def validation_error_response(_request: Request, error: Exception) -> JSONResponse:
    """The answer to a request that does not fit the schema: each wrong field and what is allowed."""
    assert isinstance(error, RequestValidationError)
    problems = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors())
    return error_response(422, "; ".join(problems))


def api_router(opponents: Opponents, pool: ThinkingPool, tables: Tables, connections: Counter[str]) -> APIRouter:
    """The routes below /api."""
    router = APIRouter(prefix="/api", responses=errors(400))

    @router.get("/health")
    async def health() -> messages.HealthAnswer:
        """Whether the server is well, and how busy."""
        return messages.HealthAnswer(
            status="ok",
            version=__version__,
            games=len(tables),
            connections=connections.total(),
            searches=pool.running,
            waiting=pool.waiting,
        )

    @router.get("/games")
    async def games() -> messages.CatalogAnswer:
        """Every game with its options."""
        return messages.CatalogAnswer(games=views.catalog())

    @router.get("/opponents", responses=errors(404, 422))
    async def list_opponents(
        game: Annotated[str, Query(max_length=200, examples=["connect4"])],
    ) -> messages.OpponentsAnswer:
        """Everybody who plays this game: levels with their Elo, nets, engines."""
        chosen = _game_of(game)
        known = await asyncio.to_thread(opponents.of, chosen)
        usual = await asyncio.to_thread(opponents.usual, chosen)
        return messages.OpponentsAnswer(opponents=[row.view() for row in known.values()], usual=usual)

    @router.post("/analyze", responses=errors(404, 409, 413, 422, 429, 500, 503))
    async def analyze(
        http: Request, request: Annotated[messages.AnalyzeRequest, Body(examples=[EXAMPLE])]
    ) -> messages.AnalyzeAnswer:
        """Analyses a position by an opponent of the list, or by the usual analyst."""
        state = _state_of(request)
        spec = await asyncio.to_thread(_spec_of, opponents, state.game, request.opponent)
        try:
            search = pool.submit("analysis", state, spec)
        except QueueFullError as error:
            raise HTTPException(
                503, f"the server is busy: {error.place} searches are waiting; try again later"
            ) from error
        gone = asyncio.ensure_future(client_has_gone(http))
        try:
            waited_for: list[asyncio.Future[Any]] = [search.result, gone]
            await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
            if not search.result.done():
                raise HTTPException(503, "the client has gone")
            if (problem := search.result.exception()) is not None:
                raise HTTPException(500, f"the analysis failed: {public_reason(problem)}") from problem
            return views.analysis_answer(state, search.result.result())
        finally:
            gone.cancel()
            pool.stop(search)

    return router


async def client_has_gone(request: Request) -> None:
    """Returns when the client of a request, whose body has been read, disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _game_of(spec: str) -> Game:
    try:
        return load_game(spec)
    except ValueError as error:
        raise HTTPException(404, str(error)) from error


def _state_of(request: messages.AnalyzeRequest) -> State:
    state = _game_of(request.game).new_initial_state()
    try:
        for text in request.actions:
            state.apply_action(state.string_to_action(text))
    except ValueError as error:
        raise HTTPException(409, str(error)) from error
    if state.is_terminal():
        raise HTTPException(409, "the game is over; there is nothing to analyse")
    return state


def _spec_of(opponents: Opponents, game: Game, opponent: str | None) -> str:
    if opponent is None:
        return opponents.analyst(game, "hint")
    known = opponents.of(game)
    if opponent not in known:
        raise HTTPException(404, f"there is no opponent '{opponent}'; available are {', '.join(known)}")
    return known[opponent].spec
