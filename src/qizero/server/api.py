"""The HTTP API: games, opponents, the analysis of a position, health. Described at /api/openapi.json."""

from __future__ import annotations

import asyncio
from collections import Counter

from fastapi import APIRouter, HTTPException

from qizero import __version__
from qizero.games.catalog import Game, State, load_game
from qizero.server import messages, views
from qizero.server.opponents import Opponents
from qizero.server.tables import Tables
from qizero.server.thinking import QueueFullError, ThinkingPool


def api_router(opponents: Opponents, pool: ThinkingPool, tables: Tables, connections: Counter[str]) -> APIRouter:
    """The routes below /api."""
    router = APIRouter(prefix="/api")

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

    @router.get("/opponents")
    async def list_opponents(game: str) -> messages.OpponentsAnswer:
        """Everybody who plays this game: levels with their Elo, nets, engines."""
        chosen = _game_of(game[:200])
        known = await asyncio.to_thread(opponents.of, chosen)
        usual = await asyncio.to_thread(opponents.usual, chosen)
        return messages.OpponentsAnswer(opponents=[row.view() for row in known.values()], usual=usual)

    @router.post("/analyze")
    async def analyze(request: messages.AnalyzeRequest) -> messages.AnalyzeAnswer:
        """Analyses a position by an opponent of the list, or by the usual analyst."""
        state = _state_of(request)
        spec = await asyncio.to_thread(_spec_of, opponents, state.game, request.opponent)
        try:
            search = pool.submit("analysis", state, spec)
        except QueueFullError as error:
            raise HTTPException(503, f"busy, place {error.place}") from error
        try:
            return views.analysis_answer(state, await search.result)
        except asyncio.CancelledError:
            pool.stop(search)
            raise

    return router


def _game_of(spec: str) -> Game:
    try:
        return load_game(spec)
    except ValueError as error:
        raise HTTPException(422, str(error)) from error


def _state_of(request: messages.AnalyzeRequest) -> State:
    state = _game_of(request.game).new_initial_state()
    try:
        for text in request.actions:
            state.apply_action(state.string_to_action(text))
    except ValueError as error:
        raise HTTPException(422, str(error)) from error
    if state.is_terminal():
        raise HTTPException(422, "the game is over; there is nothing to analyse")
    return state


def _spec_of(opponents: Opponents, game: Game, opponent: str | None) -> str:
    if opponent is None:
        return opponents.analyst(game, "hint")
    known = opponents.of(game)
    if opponent not in known:
        raise HTTPException(422, f"there is no opponent '{opponent}'; known are {', '.join(known)}")
    return known[opponent].spec
