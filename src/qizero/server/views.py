"""Positions as messages for the page: everything it shows, so that the page needs no rules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from qizero.games.catalog import Game, GameRow, State, list_games, load_game
from qizero.games.game_files import FORMATS
from qizero.games.profile import Words, profile_of
from qizero.server import messages
from qizero.server.messages import ActionView, Candidate, Descriptor, Frame, HeatCell, Line, MoveView, Reason, Refusal
from qizero.server.session import CHOICES, GameInPlay, Opening, Step

if TYPE_CHECKING:
    from qizero.players.analysis import Analysis

MAX_CANDIDATES = 12
MIN_VISIT_SHARE = 0.1
"""An action visited less often than this share of the most visited one has no reliable value."""
ANSWER_FIELDS = tuple(messages.AnalyzeAnswer.model_fields)


def openings_of(game_id: str) -> list[Opening]:
    """The openings that a person may choose besides the plain one."""
    return list(profile_of(game_id).openings)


def catalog() -> list[messages.GameInfo]:
    """Every game with its options, its words and its rules."""
    return [game_info(row) for row in list_games()]


def game_info(row: GameRow) -> messages.GameInfo:
    """A line of the catalog with what the game's profile says."""
    profile = profile_of(row.id)
    english, chinese = words_of(row)
    return messages.GameInfo(
        id=row.id,
        title=row.title,
        title_zh=row.title_zh,
        piece_kind=load_game(row.id).piece_kind,
        openings=openings_of(row.id),
        formats=[each for each in FORMATS if each != "psq" or profile.psq],
        options=[
            messages.OptionInfo(
                name=option.name,
                default=option.default,
                min=option.min,
                max=option.max,
                choices=list(option.choices),
            )
            for option in row.options
        ],
        words=english,
        words_zh=chinese,
        limits=profile.limits,
        rules=list(profile.rules),
    )


def words_of(row: GameRow) -> tuple[Words, Words]:
    """The words of a game in English and in Chinese; what has no Chinese words has the English ones."""
    profile = profile_of(row.id)
    english = profile.en.over(Words(refusals=row.refusals))
    return english, profile.zh.over(english)


def descriptor(game: Game) -> Descriptor:
    """How to draw a game."""
    height, width = game.board_shape
    return Descriptor(
        spec=str(game),
        game=game.name,
        title=game.title,
        title_zh=game.title_zh,
        options=game.options,
        height=height,
        width=width,
        board_kind=game.board_kind,
        piece_kind=game.piece_kind,
        counts_pieces=game.counts_pieces,
        rows_from_top=game.rows_from_top,
    )


def action_view(state: State, action: int) -> ActionView:
    """An action that may be taken in `state`."""
    kind, source, target = state.action_cells(action)
    return ActionView(action=action, kind=kind, source=source, target=target, text=state.action_to_string(action))


def move_view(state: State, step: Step, player: int) -> MoveView:
    """A step taken in `state` (before it)."""
    if isinstance(step, str):
        return MoveView(action=-1, kind="choice", source=-1, target=-1, text=step, player=player)
    view = action_view(state, step)
    return MoveView(**view.model_dump(), player=player)


def step_view(play: GameInPlay, state: State, ply: int) -> MoveView:
    """The step that a game has taken in `state`, after `ply` others."""
    step = play.steps[ply]
    if isinstance(step, str):
        return move_view(state, step, 1 if play.stage_at(ply) == "choose" else 0)
    return move_view(state, step, state.current_player())


class MoveList:
    """The steps of one game as the page shows them. Remembers them, so that only new ones are made."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._views: list[MoveView] = []

    def of(self, play: GameInPlay) -> list[MoveView]:
        """The steps of a game so far."""
        same = (ours == theirs for ours, theirs in zip(self._steps, play.steps, strict=False))
        kept = sum(1 for _ in itertools.takewhile(bool, same))
        state, views = play.state_at(kept), self._views[:kept]
        for ply, step in enumerate(play.steps[kept:], kept):
            views.append(step_view(play, state, ply))
            if isinstance(step, int):
                state.apply_action(step)
        self._steps, self._views = list(play.steps), views
        return views


def frame(state: State, ply: int, last: MoveView | None, phase_before: str = "") -> Frame:
    """A position to look at."""
    legal = [action_view(state, action) for action in state.legal_actions()]
    forbidden = [
        Refusal(cell=state.action_cells(action)[2], reason=_reason(state, "foul", {"foul": foul}))
        for action, foul in state.forbidden_actions().items()
    ]
    return Frame(
        ply=ply,
        board=state.board().ravel().tolist(),
        marked=state.marked().ravel().nonzero()[0].tolist(),
        to_move=None if state.is_terminal() else state.current_player(),
        phase=state.phase(),
        phase_before=phase_before,
        counters=state.counters(),
        legal=legal,
        forbidden=forbidden,
        refused=list(_refusals(state, legal, {each.cell for each in forbidden})),
        winning=state.winning_cells(),
        last=last,
    )


def _refusals(state: State, legal: Sequence[ActionView], forbidden: set[int]) -> Iterator[Refusal]:
    """The cells that must not be chosen, each with the reason, but for forbidden ones: where nothing can be placed,
    stones that cannot move or must not be selected, and what is not a stone of the side from which one is asked for. A
    full column is named by its top cell."""
    kinds = {view.kind for view in legal}
    explained = forbidden | {view.source if view.kind == "move" else view.target for view in legal}
    mover = 1 if state.current_player() == 0 else -1
    board = state.board().ravel()
    if kinds and not kinds & {"move", "select"}:
        yield from _refused_actions(state, "place", explained)
    if "select" in kinds:
        yield from _refused_actions(state, "select", explained | set((board != -mover).nonzero()[0].tolist()))
    if "move" in kinds:
        for cell in (board == mover).nonzero()[0].tolist():
            if cell not in explained:
                yield Refusal(cell=cell, reason=_reason(state, "cannot_move", {}))
    if kinds in ({"select"}, {"move"}):
        asked, code = (-mover, "choose_opponent") if kinds == {"select"} else (mover, "choose_own")
        for cell in (board != asked).nonzero()[0].tolist():
            yield Refusal(cell=cell, reason=_reason(state, code, {}))


def _refused_actions(state: State, kind: str, explained: set[int]) -> Iterator[Refusal]:
    """The illegal actions of a kind by their cells, with the game's reason. On a board of columns an action without a
    cell stands for the full column of its number."""
    width = state.game.board_shape[1]
    falls = state.game.board_kind == "columns"
    for action in range(state.game.num_actions):
        what, _source, cell = state.action_cells(action)
        is_full = falls and cell < 0 and action < width
        cell = action if is_full else cell
        if (what == kind or is_full) and cell >= 0 and cell not in explained and (refused := state.refusal(action)):
            yield Refusal(cell=cell, reason=_reason(state, *refused))


def _reason(state: State, code: str, values: dict[str, str]) -> Reason:
    return Reason(game=state.game.name, code=code, values=values)


def game_frame(play: GameInPlay, ply: int | None = None, more: Sequence[int] = ()) -> Frame:
    """The position of a game after `ply` steps and then `more` actions. Raises ValueError for illegal ones."""
    at = len(play.steps) if ply is None else ply
    state = play.state_at(at)
    last: MoveView | None = None
    phase_before = ""
    if at > 0:
        before = play.state_at(at - 1)
        last, phase_before = step_view(play, before, at - 1), before.phase()
    for action in more:
        before = state.clone()
        phase_before = before.phase()
        state.apply_action(action)
        last = move_view(before, action, before.current_player())
    return frame(state, at + len(more), last, phase_before)


def ending(state: State) -> Reason:
    """Why a finished game is over, as a code of the profile's `endings`: `line` where the winning stones stand on the
    board, the option whose limit made a draw, otherwise `win` or `draw`. Its values are the options and the stones of
    the winner and the loser; those of player 0 and 1 in a draw."""
    game, counters = state.game, state.counters()
    outcome = state.returns()[0]
    limits = [
        option
        for counter, option in profile_of(game.name).limits.items()
        if 0 < int(game.options[option]) <= counters.get(counter, 0)
    ]
    won = "line" if state.winning_cells() else "win"
    code = won if outcome != 0 else next(iter(limits), "draw")
    board = state.board()
    stones = [str(int((board == owner).sum())) for owner in ((-1, 1) if outcome < 0 else (1, -1))]
    values = {name: str(value) for name, value in game.options.items()}
    return _reason(state, code, {**values, "winner": stones[0], "loser": stones[1]})


def result_view(play: GameInPlay) -> messages.ResultView | None:
    """How a game ended; None while it goes on."""
    result = play.result()
    if result is None:
        return None
    why = ending(play.state_at()) if result.reason == "board" else None
    return messages.ResultView(winner=result.winner, reason=result.reason, ending=why)


def state_message(
    play: GameInPlay, request: int | None, thinking: int | None, moves: list[MoveView]
) -> messages.StateMessage:
    """The whole state of a game; `moves` are its steps so far."""
    return messages.StateMessage(
        id=request,
        game_id=play.id,
        seq=play.seq,
        descriptor=descriptor(play.game),
        frame=game_frame(play),
        moves=moves,
        redo=len(play.redo),
        seats=play.seats,
        actor=play.actor(),
        opening=play.opening,
        stage=play.stage_at(),
        choices=list(CHOICES.get(play.stage_at(), ())),
        result=result_view(play),
        paused=play.paused,
        can_undo=play.resigned is not None or play.undo_target() is not None,
        thinking=thinking,
    )


def line_view(state: State, actions: Sequence[int], longest: int = 12) -> Line:
    """A continuation from `state`, cut at its first illegal action."""
    state, views = state.clone(), list[ActionView]()
    for action in actions[:longest]:
        if action not in state.legal_actions():
            break
        views.append(action_view(state, int(action)))
        state.apply_action(action)
    return Line(
        actions=[view.action for view in views],
        texts=[view.text for view in views],
        targets=[view.target for view in views],
    )


def best_value(analysis: Analysis) -> float:
    """The value of the analysis for the mover: that of the action it chose, as the candidates show it. The mean over a
    whole search would differ, because that also counts what was only tried."""
    if analysis.proven is not None:
        return float(analysis.proven)
    value = float(analysis.q[analysis.action])
    return value if math.isfinite(value) else finite(analysis.value) or 0.0


def reliable_values(analysis: Analysis, legal: Sequence[int]) -> dict[int, float]:
    """The values, for the mover, that may be compared with each other.

    A search chooses by visits, and the mean value of an action that it visited rarely is noise. So an action has a
    value here if it was visited at least MIN_VISIT_SHARE as often as the most visited one, and if the value does not
    exceed that of the chosen action: the search did not believe it either.
    """
    top = best_value(analysis)
    enough = MIN_VISIT_SHARE * max(int(analysis.visits[action]) for action in legal)
    values = {
        action: float(analysis.q[action])
        for action in legal
        if math.isfinite(analysis.q[action]) and analysis.visits[action] >= enough and analysis.q[action] <= top
    }
    return values if not math.isfinite(analysis.q[analysis.action]) else {**values, int(analysis.action): top}


def candidates(state: State, analysis: Analysis) -> list[Candidate]:
    """The best actions of an analysis, best first: by their exact scores where a solver has found them, otherwise the
    chosen action, then by value, then those without a reliable value by how much of the search they got."""
    legal = state.legal_actions()
    values = reliable_values(analysis, legal)

    def rank(action: int) -> tuple[float, bool, float, float, int]:
        score, _distance = exact(analysis, action)
        return (
            -math.inf if score is None else float(score),
            action == analysis.action,
            values.get(action, -math.inf),
            float(analysis.policy[action]),
            int(analysis.visits[action]),
        )

    result = []
    for action in sorted(legal, key=rank, reverse=True)[:MAX_CANDIDATES]:
        score, distance = exact(analysis, action)
        result.append(
            Candidate(
                **action_view(state, action).model_dump(),
                value_for_mover=values.get(action),
                visits=int(analysis.visits[action]),
                prior=float(analysis.prior[action]),
                policy=float(analysis.policy[action]),
                score=score,
                distance=distance,
            )
        )
    return result


def exact(analysis: Analysis, action: int) -> tuple[int | None, int | None]:
    """Exact score and distance of an action, if a solver has found them."""
    if analysis.scores is None or analysis.distances is None or math.isnan(analysis.scores[action]):
        return None, None
    return int(analysis.scores[action]), int(analysis.distances[action])


def heat(state: State, analysis: Analysis) -> list[HeatCell]:
    """How likely every legal action is, by the cell that it ends on: its prior, or, from an analyst that has none (all
    are alike), its share of the search."""
    legal = state.legal_actions()
    policy = analysis.prior if np.ptp(analysis.prior[legal]) > 0 else analysis.policy
    shares: dict[int, float] = {}
    for action in legal:
        cell = state.action_cells(action)[2]
        if cell >= 0:
            shares[cell] = shares.get(cell, 0.0) + float(policy[action])
    return [HeatCell(cell=cell, share=share) for cell, share in shares.items()]


def for_player0(state: State, value: float) -> float:
    """A value of the mover, seen from player 0."""
    return value if state.current_player() == 0 else -value


def wdl_for_player0(state: State, wdl: tuple[float, float, float]) -> tuple[float, float, float]:
    """Win, draw, loss of the mover, seen from player 0."""
    win, draw, loss = (float(part) for part in wdl)
    return (win, draw, loss) if state.current_player() == 0 else (loss, draw, win)


def terminal_value_for_player0(state: State) -> float:
    """1, 0 or -1 of a finished game."""
    return state.returns()[0]


def finite(value: float) -> float | None:
    """A number that JSON can hold, or None."""
    return float(value) if math.isfinite(value) else None


def analysis_answer(state: State, found: Analysis) -> messages.AnalyzeAnswer:
    """The result of an analysis for the HTTP API."""
    return messages.AnalyzeAnswer(
        value_for_player0=for_player0(state, best_value(found)),
        wdl_for_player0=wdl_for_player0(state, found.wdl),
        candidates=candidates(state, found),
        heat=heat(state, found),
        pv=line_view(state, list(found.pv)),
        proven_for_mover=found.proven,
        distance=found.distance,
        simulations=int(found.simulations),
    )


def analysis_message(state: State, found: Analysis, seq: int, ply: int, done: bool) -> messages.AnalysisMessage:
    """The intermediate result of an analysis for the page."""
    answer = analysis_answer(state, found)
    return messages.AnalysisMessage(
        seq=seq,
        ply=ply,
        place=0,
        done=done,
        depth=found.depth,
        **{name: getattr(answer, name) for name in ANSWER_FIELDS},
    )


def area_around(game: Game, view: ActionView) -> list[int]:
    """The cells to look at for an action: the neighbourhood of its cell, or the whole columns beside it."""
    height, width = game.board_shape
    cell = view.source if view.source >= 0 else view.target
    if cell < 0:
        return []
    row, column = divmod(cell, width)
    reach = max(1, width // 6)
    rows = range(height) if game.board_kind == "columns" else range(max(0, row - reach), min(height, row + reach + 1))
    columns = range(max(0, column - reach), min(width, column + reach + 1))
    return [r * width + c for r in rows for c in columns]
