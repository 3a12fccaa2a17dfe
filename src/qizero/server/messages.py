"""The messages between page and server: strict, versioned, unknown fields refused.

Every message has `v` and `type`. A request of the page has an `id`, which its answer repeats. A request that changes a
game has `seq`, the number of the state it was made for. typescript.py generates the page's TypeScript types from this
file. Cells are row*width+column from the top left; -1 means no cell. The name of a value tells whose view it has.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from qizero.games.game_files import Format
from qizero.games.profile import RulesSection, Words
from qizero.server.session import Opening, Stage

VERSION = 1
MAX_MESSAGE_BYTES = 64 * 1024

ShortText = Annotated[str, Field(max_length=64)]
SeatName = Annotated[str, Field(min_length=1, max_length=64)]
GameId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Ply = Annotated[int, Field(ge=0, le=20_000)]
RequestId = Annotated[int, Field(ge=0, le=2**53)]
Seq = Annotated[int, Field(ge=0, le=2**53)]
ActionNumber = Annotated[int, Field(ge=0, le=100_000)]
PositionText = Annotated[str, Field(max_length=48_000)]


class Message(BaseModel):
    """The base of all messages and their parts."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, json_schema_serialization_defaults_required=True
    )


# ---- Parts -----------------------------------------------------------------------------------------------------------


class OptionInfo(Message):
    """An option of a game: one of `choices`, or a whole number from `min` to `max`."""

    name: str
    default: int | str
    min: int
    max: int
    choices: list[str]


class GameInfo(Message):
    """A game: a line of the catalog and its profile. `formats` are the files that it can be saved in; `limits` has, by
    counter, the option at which the game is a draw (0: never). Both languages
    have words for the same things."""

    id: str
    title: str
    title_zh: str
    piece_kind: Literal["stones", "discs", "marks"]
    options: list[OptionInfo]
    openings: list[Opening]
    formats: list[Format]
    words: Words
    words_zh: Words
    limits: dict[str, str]
    rules: list[RulesSection]


class Opponent(Message):
    """Somebody to play against. `elo` is measured (approximate: under other
    options than these), or null; `growth` places a net on its way from 0 (knows nothing) to
    1 (fully trained), or is null."""

    id: str
    kind: Literal["level", "net", "engine", "growth"]
    title: str
    title_zh: str
    note: str
    note_zh: str
    elo: float | None
    elo_error: float | None
    elo_approximate: bool
    growth: float | None


class Descriptor(Message):
    """How to draw a game. With this and the actions' cells, the board needs to know no rules."""

    spec: str
    game: str
    title: str
    title_zh: str
    options: dict[str, int | str]
    height: int
    width: int
    board_kind: Literal["cells", "intersections", "columns"]
    piece_kind: Literal["stones", "discs", "marks"]
    counts_pieces: bool
    rows_from_top: bool


class ActionView(Message):
    """An action on the board. Only a move has `source`; an action without `target` is shown as a button."""

    action: int
    kind: Literal["place", "move", "select", "other"]
    source: int
    target: int
    text: str


class MoveView(Message):
    """A step of the game so far. A choice of the opening has action -1 and kind `choice`."""

    action: int
    kind: Literal["place", "move", "select", "other", "choice"]
    source: int
    target: int
    text: str
    player: int


class Reason(Message):
    """Why an action is refused, or why a game is over: a code of the game's words, and the values that they name."""

    game: str
    code: str
    values: dict[str, str]


class Refusal(Message):
    """A cell that may not be chosen now, and why."""

    cell: int
    reason: Reason


class Frame(Message):
    """A position to look at; `phase_before` is the phase of the position before the last action."""

    ply: int
    board: list[int]
    marked: list[int]
    to_move: int | None
    phase: str
    phase_before: str
    counters: dict[str, int]
    legal: list[ActionView]
    forbidden: list[Refusal]
    refused: list[Refusal]
    winning: list[int]
    last: MoveView | None


class ResultView(Message):
    """How the game ended; `winner` is a player or null for a draw. `ending` says why in the words of the game, unless
    somebody resigned."""

    winner: int | None
    reason: Literal["board", "resigned"]
    ending: Reason | None


class Candidate(Message):
    """An action that the analysis looked at. `value_for_mover` is null where the search was too short for a value that
    can be compared. `score` and `distance` (plies to the end) are exact, where the game is solved: a score above 0
    wins, the more the sooner."""

    action: int
    kind: Literal["place", "move", "select", "other"]
    source: int
    target: int
    text: str
    value_for_mover: float | None
    visits: int
    prior: float
    policy: float
    score: int | None
    distance: int | None


class HeatCell(Message):
    """How likely the actions that end on a cell are, together."""

    cell: int
    share: float


class Line(Message):
    """A continuation: its actions, how they are written, and the cells that they end on (-1: none)."""

    actions: list[int]
    texts: list[str]
    targets: list[int]


# ---- From the page ---------------------------------------------------------------------------------------------------


class Request(Message):
    """The base of what the page sends."""

    v: Literal[1]
    id: RequestId


class New(Request):
    """Begin a game and look at it; `position` is a game's text in any format to go on from."""

    type: Literal["new"]
    game: ShortText
    options: dict[ShortText, int | ShortText]
    seats: tuple[SeatName, SeatName]
    opening: Opening
    position: PositionText | None


class Open(Request):
    """Look at a game that exists."""

    type: Literal["open"]
    game_id: GameId


class Fork(Request):
    """Begin a game that goes on from a ply of this one, so that another move can be tried."""

    type: Literal["fork"]
    ply: Ply


class Command(Request):
    """The base of what changes a game."""

    seq: Seq


class Play(Command):
    """Play an action by its number."""

    type: Literal["play"]
    action: ActionNumber


class PlayText(Command):
    """Play an action by its notation."""

    type: Literal["play_text"]
    text: ShortText


class Choose(Command):
    """A choice of the swap2 opening."""

    type: Literal["choose"]
    choice: Literal["white", "black", "place_two"]


class Simple(Command):
    """A command without more to say. `step` lets one opponent of a paused game move once."""

    type: Literal["undo", "redo", "restart", "rematch", "resign", "step"]


class Pause(Command):
    """Stop and go on watching a game without people."""

    type: Literal["pause"]
    on: bool


class SetSeats(Command):
    """Change who plays; in the middle of a game too."""

    type: Literal["set_seats"]
    seats: tuple[SeatName, SeatName]


class Look(Request):
    """Ask for the position after `ply` steps and then `actions`."""

    type: Literal["look"]
    ply: Ply
    actions: Annotated[list[ActionNumber], Field(max_length=400)]


class Hint(Command):
    """Ask where to look (1), for the move (2), for the line (3)."""

    type: Literal["hint"]
    stage: Literal[1, 2, 3]


class Analyze(Request):
    """Switch the analysis of a ply on, or the analysis off."""

    type: Literal["analyze"]
    on: bool
    ply: Ply


class Review(Request):
    """Have every move of the game judged, or stop."""

    type: Literal["review"]
    on: bool


class Export(Request):
    """Ask for the game as a file."""

    type: Literal["export"]
    format: Format


class Ping(Request):
    """Ask for a pong."""

    type: Literal["ping"]


FromPage = Annotated[
    New
    | Open
    | Fork
    | Play
    | PlayText
    | Choose
    | Simple
    | Pause
    | SetSeats
    | Look
    | Hint
    | Analyze
    | Review
    | Export
    | Ping,
    Field(discriminator="type"),
]
from_page: TypeAdapter[FromPage] = TypeAdapter(FromPage)


class Addressed(BaseModel):
    """The id of a message that is invalid otherwise."""

    id: RequestId


def request_id(text: str) -> int | None:
    """The id of a request's text; None if it has none."""
    try:
        return Addressed.model_validate_json(text, strict=True).id
    except ValidationError:
        return None


# ---- From the server -------------------------------------------------------------------------------------------------


class StateMessage(Message):
    """The whole state; sent after every change to everybody who looks at the game."""

    v: Literal[1] = 1
    type: Literal["state"] = "state"
    id: int | None
    game_id: str
    seq: int
    descriptor: Descriptor
    frame: Frame
    moves: list[MoveView]
    redo: int
    seats: tuple[str, str]
    actor: int | None
    opening: Opening
    stage: Stage
    choices: list[str]
    result: ResultView | None
    paused: bool
    can_undo: bool
    thinking: int | None


class FrameMessage(Message):
    """The answer to `look`."""

    v: Literal[1] = 1
    type: Literal["frame"] = "frame"
    id: int
    frame: Frame


class ProgressMessage(Message):
    """How the opponent's thinking goes. `place` counts the searches before this one in the queue; 0 while it runs."""

    v: Literal[1] = 1
    type: Literal["progress"] = "progress"
    seq: int
    player: int
    place: int
    simulations: int


class MovedMessage(Message):
    """What the opponent thought when it moved, for those who follow the analysis."""

    v: Literal[1] = 1
    type: Literal["moved"] = "moved"
    ply: int
    value_for_player0: float


class AnalysisMessage(Message):
    """What the analysis of a ply has found so far; `place` as in progress."""

    v: Literal[1] = 1
    type: Literal["analysis"] = "analysis"
    seq: int
    ply: int
    place: int
    done: bool
    value_for_player0: float
    wdl_for_player0: tuple[float, float, float]
    candidates: list[Candidate]
    heat: list[HeatCell]
    pv: Line
    proven_for_mover: int | None
    distance: int | None
    simulations: int
    depth: int | None


class HintMessage(Message):
    """The answer to `hint`: as much as was asked for."""

    v: Literal[1] = 1
    type: Literal["hint"] = "hint"
    id: int
    seq: int
    stage: int
    area: list[int]
    action: ActionView | None
    pv: Line | None


class JudgedMessage(Message):
    """One move judged: `loss` is how much of the value (-1 to 1) it gave away, seen by who made it."""

    v: Literal[1] = 1
    type: Literal["judged"] = "judged"
    seq: int
    ply: int
    value_for_player0: float
    loss: float | None
    best: ActionView | None
    pv: Line
    total: int


class ExportMessage(Message):
    """The answer to `export`."""

    v: Literal[1] = 1
    type: Literal["exported"] = "exported"
    id: int
    name: str
    text: str


class ErrorMessage(Message):
    """A request that was refused; `code` is the key of the page's words, `detail` says more in English, and `reason`
    is there where the rules refused an action."""

    v: Literal[1] = 1
    type: Literal["error"] = "error"
    id: int | None
    code: str
    detail: str
    place: int = 0
    reason: Reason | None = None


class PongMessage(Message):
    """The answer to `ping`."""

    v: Literal[1] = 1
    type: Literal["pong"] = "pong"
    id: int


FromServer = (
    StateMessage
    | FrameMessage
    | ProgressMessage
    | MovedMessage
    | AnalysisMessage
    | HintMessage
    | JudgedMessage
    | ExportMessage
    | ErrorMessage
    | PongMessage
)

# ---- HTTP ------------------------------------------------------------------------------------------------------------


class CatalogAnswer(Message):
    """Every game."""

    games: list[GameInfo]


class OpponentsAnswer(Message):
    """Everybody who plays a game with these options; `usual` is whom a new player meets first."""

    opponents: list[Opponent]
    usual: str | None


class AnalyzeRequest(Message):
    """A position to analyse: the game's spec and its actions in notation.

    The longest list of the longest actions fits into MAX_MESSAGE_BYTES, so that no valid request is too large.
    """

    game: ShortText
    actions: Annotated[list[Annotated[str, Field(max_length=24)]], Field(max_length=2000)]
    opponent: SeatName | None = None


class AnalyzeAnswer(Message):
    """What the analysis found, the best candidate first; `value_for_player0` is the value of that candidate."""

    value_for_player0: float
    wdl_for_player0: tuple[float, float, float]
    candidates: list[Candidate]
    heat: list[HeatCell]
    pv: Line
    proven_for_mover: int | None
    distance: int | None
    simulations: int


class ErrorAnswer(Message):
    """The body of every error: `detail` says what was wrong and what is allowed."""

    detail: str


class HealthAnswer(Message):
    """Whether the server is well, and how busy."""

    status: Literal["ok"]
    version: str
    games: int
    connections: int
    searches: int
    waiting: int
