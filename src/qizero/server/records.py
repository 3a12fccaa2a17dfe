"""Games as files: SGF, and the project's own text of a state. Reading takes either."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from qizero.games import Game, State, load_game
from qizero.server.session import GameInPlay

SGF_NUMBERS = {"othello": 2, "gomoku": 4}
"""GM of FF[4]; a game without a number of its own is told by the private property QZ."""

_PROPERTY = re.compile(r"([A-Za-z]+)\s*((?:\[(?:\\.|[^\]\\])*\]\s*)+)", re.DOTALL)
_VALUE = re.compile(r"\[((?:\\.|[^\]\\])*)\]", re.DOTALL)


class RecordError(ValueError):
    """A text that is no game; says why."""


def write_state(play: GameInPlay) -> str:
    """The text of the state, which `State.serialize` defines."""
    return str(play.state_at().serialize())


def write_sgf(play: GameInPlay, names: tuple[str, str], program: str) -> str:
    """FF[4]. A placed stone is a point; any other action is written in the game's notation."""
    game = play.game
    root = {
        "FF": "4",
        "CA": "UTF-8",
        "AP": program,
        **({"GM": str(SGF_NUMBERS[game.name])} if game.name in SGF_NUMBERS else {}),
        "SZ": _size(game),
        "QZ": str(game),
        "DT": datetime.now(UTC).date().isoformat(),
        "PB": names[0],
        "PW": names[1],
    }
    if play.start != game.new_initial_state():
        root["QS"] = play.start.position_text()
    result = play.result()
    if result is not None:
        side = "0" if result.winner is None else "BW"[result.winner]
        root["RE"] = side if side == "0" else side + ("+R" if result.reason == "resigned" else "+")
    text = "(;" + "".join(f"{key}[{_escape(value)}]" for key, value in root.items()) + "\n"
    state = play.start.clone()
    for step in play.steps:
        if isinstance(step, int):
            text += f";{'BW'[state.current_player()]}[{_write_action(state, step)}]"
            state.apply_action(step)
    return text + ")\n"


def read(text: str) -> State:
    """The state of a text in either format; of an SGF the main line. Raises RecordError."""
    text = text.strip().lstrip("\ufeff")
    try:
        if text.startswith("("):
            return _read_sgf(text)
        for line in text.splitlines():
            if line.startswith("game "):
                return load_game(line.removeprefix("game ")).deserialize_state(text + "\n")
    except RecordError:
        raise
    except ValueError as error:
        raise RecordError(str(error)) from error
    raise RecordError("this is neither SGF nor the text of a qizero state")


def _read_sgf(text: str) -> State:
    nodes = _main_line(text)
    if not nodes:
        raise RecordError("the SGF holds no node")
    root = nodes[0]
    game = _game_of(root)
    state = game.new_initial_state()
    if "QS" in root:
        state = game.deserialize_state(f"qizero-state 1\ngame {game}\nstart {root['QS'][0]}\nactions\n")
    elif "AB" in root or "AW" in root:
        board = state.board()
        for key, stone in (("AB", 1), ("AW", -1)):
            for value in root.get(key, []):
                column, row = _point(value, game)
                board[row, column] = stone
        state = game.state_from_board(board, 1 if root.get("PL", ["B"])[0].upper().startswith("W") else 0)
    for number, node in enumerate(nodes, 1):
        for colour in ("B", "W"):
            if colour in node:
                _play(state, colour, node[colour][0].strip(), f"node {number}")
    return state


def _play(state: State, colour: str, value: str, where: str) -> None:
    if state.current_player() != "BW".index(colour):
        raise RecordError(f"{where}: it is not {colour}'s turn")
    action = _read_action(state, value)
    reason = state.why_illegal(action)
    if reason:
        raise RecordError(f"{where}, {value}: {reason}")
    state.apply_action(action)


def _game_of(root: dict[str, list[str]]) -> Game:
    if "QZ" in root:
        return load_game(root["QZ"][0])
    number = root.get("GM", ["1"])[0].strip()
    names = {str(value): name for name, value in SGF_NUMBERS.items()}
    if number not in names:
        raise RecordError(f"the SGF is of game GM[{number}]; known are {', '.join(f'GM[{n}]' for n in sorted(names))}")
    if names[number] != "gomoku":
        return load_game(names[number])
    rule = root.get("RU", [""])[0].strip().lower()
    return load_game(
        "gomoku", size=root.get("SZ", ["15"])[0].strip(), rule=rule if rule in ("standard", "renju") else "freestyle"
    )


def _main_line(text: str) -> list[dict[str, list[str]]]:
    """The nodes down the first variation everywhere: everything up to the first closing parenthesis outside values."""
    nodes: list[dict[str, list[str]]] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == ")":
            break
        if character == ";":
            nodes.append({})
            position += 1
            continue
        match = _PROPERTY.match(text, position)
        if match:
            if not nodes:
                raise RecordError("the SGF has a property before its first node")
            nodes[-1][match[1].upper()] = [re.sub(r"\\(.)", r"\1", value) for value in _VALUE.findall(match[2])]
            position = match.end()
        elif character.isspace() or character == "(":
            position += 1
        else:
            raise RecordError(f"the SGF cannot be read at character {position + 1}, {character!r}")
    return nodes


def _write_action(state: State, action: int) -> str:
    kind, _source, target = state.action_cells(action)
    if kind != "place":
        return _escape(state.action_to_string(action))
    row, column = divmod(target, state.game.board_shape[1])
    return chr(ord("a") + column) + chr(ord("a") + row)


def _read_action(state: State, value: str) -> int:
    others = [action for action in state.legal_actions() if state.action_cells(action)[0] == "other"]
    if value == "" and len(others) == 1:
        return others[0]
    if re.fullmatch(r"[a-z]{2}", value):
        column, row = _point(value, state.game)
        for action in state.legal_actions():
            if state.action_cells(action)[:1] == ("place",) and state.action_cells(action)[2] == (
                row * state.game.board_shape[1] + column
            ):
                return action
        raise RecordError(f"the point {value} cannot be played here")
    return state.string_to_action(value)


def _point(value: str, game: Game) -> tuple[int, int]:
    height, width = game.board_shape
    column, row = (ord(letter) - ord("a") for letter in value) if re.fullmatch(r"[a-z]{2}", value) else (-1, -1)
    if not (0 <= column < width and 0 <= row < height):
        raise RecordError(f"the point {value!r} is not on a board of {height}x{width}")
    return column, row


def _size(game: Game) -> str:
    height, width = game.board_shape
    return str(width) if height == width else f"{width}:{height}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("]", "\\]")
