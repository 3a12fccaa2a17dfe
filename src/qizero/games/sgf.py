"""SGF: games in the Smart Game Format, FF[4], their main line only."""

from __future__ import annotations

import re
from datetime import date

from qizero.games.catalog import Game, IllegalActionError, InvalidInputError, State, load_game
from qizero.games.profile import profile_of, profiles

__all__ = ["GameFileError", "read_sgf", "start_of", "write_sgf"]

_PROPERTY = re.compile(r"([A-Za-z]+)\s*((?:\[(?:\\.|[^\]\\])*\]\s*)+)", re.DOTALL)
_VALUE = re.compile(r"\[((?:\\.|[^\]\\])*)\]", re.DOTALL)


class GameFileError(InvalidInputError):
    """A text that is no game; says where and why."""


def start_of(state: State) -> State:
    """The position in which `state`'s history begins."""
    *head, _actions = state.serialize().splitlines()
    return state.game.deserialize_state("\n".join([*head, "actions"]) + "\n")


def write_sgf(state: State, *, names: tuple[str, str], resigned: int | None, day: date) -> str:
    """A placed stone is a point; any other action is written in the game's notation."""
    game, start = state.game, start_of(state)
    number = profile_of(game.name).sgf_number
    root = {
        "FF": "4",
        "CA": "UTF-8",
        "AP": "qizero",
        **({} if number is None else {"GM": str(number)}),
        "SZ": _size(game),
        **({"RU": str(game.options["rule"])} if "rule" in game.options else {}),
        "QZ": str(game),
        "DT": day.isoformat(),
        **{key: " ".join(name.split()) for key, name in zip(("PB", "PW"), names, strict=True) if name},
    }
    if start != game.new_initial_state():
        root["QS"] = start.position_text()
    if resigned is not None:
        root["RE"] = "WB"[resigned] + "+R"
    elif state.is_terminal():
        value = state.returns()[0]
        root["RE"] = "0" if value == 0 else "B+" if value > 0 else "W+"
    text = "(;" + "".join(f"{key}[{_escape(value)}]" for key, value in root.items()) + "\n"
    replay = start.clone()
    for action in state.history():
        text += f";{'BW'[replay.current_player()]}[{_write_action(replay, action)}]"
        replay.apply_action(action)
    return text + ")\n"


def read_sgf(text: str, game: Game | None = None) -> State:
    """The end of the main line; `game` says the rule where the file does not. Raises GameFileError."""
    nodes = _main_line(text)
    if not nodes:
        raise GameFileError("the SGF holds no node; a game looks like (;GM[4]SZ[15];B[hh];W[ii])")
    root = nodes[0]
    chosen = _game_of(root, game)
    state = chosen.new_initial_state()
    if "QS" in root:
        state = chosen.deserialize_state(f"qizero-state 1\ngame {chosen}\nstart {root['QS'][0]}\nactions\n")
    elif "AB" in root or "AW" in root:
        board = state.board()
        for key, stone in (("AB", 1), ("AW", -1)):
            for value in root.get(key, []):
                column, row = _point(value, chosen)
                board[row, column] = stone
        state = chosen.state_from_board(board, 1 if root.get("PL", ["B"])[0].upper().startswith("W") else 0)
    for number, node in enumerate(nodes, 1):
        for colour in ("B", "W"):
            if colour in node:
                _play(state, colour, node[colour][0].strip(), f"node {number}, {colour}[{node[colour][0][:20]}]")
    return state


def _play(state: State, colour: str, value: str, where: str) -> None:
    if state.is_terminal():
        raise GameFileError(f"{where}: the game is over before this move; leave out what follows its end")
    if state.current_player() != "BW".index(colour):
        raise GameFileError(f"{where}: it is not {colour}'s turn")
    try:
        action = _read_action(state, value)
    except (IllegalActionError, InvalidInputError) as error:
        raise GameFileError(f"{where}: {error}") from error
    reason = state.why_illegal(action)
    if reason:
        raise GameFileError(f"{where}: {reason}")
    state.apply_action(action)


def _game_of(root: dict[str, list[str]], game: Game | None) -> Game:
    if "QZ" in root:
        return load_game(root["QZ"][0])
    number = root.get("GM", ["1"])[0].strip()
    names = {str(n): name for name in profiles() if (n := profile_of(name).sgf_number) is not None}
    if number not in names:
        raise GameFileError(
            f"the SGF is of game GM[{number}]; known are {', '.join(f'GM[{n}] ({names[n]})' for n in sorted(names))}"
        )
    if names[number] != "gomoku":
        return load_game(names[number])
    rule = root.get("RU", [""])[0].strip().lower()
    if rule not in ("freestyle", "standard", "renju"):
        rule = str(game.options["rule"]) if game is not None and game.name == "gomoku" else "freestyle"
    return load_game("gomoku", size=root.get("SZ", ["15"])[0].strip(), rule=rule)


def _main_line(text: str) -> list[dict[str, list[str]]]:
    """The nodes down the first variation everywhere: everything up to the first closing parenthesis outside values."""
    nodes: list[dict[str, list[str]]] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == ")":
            return nodes
        if character == ";":
            nodes.append({})
            position += 1
            continue
        match = _PROPERTY.match(text, position)
        if match:
            if not nodes:
                raise GameFileError("the SGF has a property before its first node; nodes begin with ;")
            nodes[-1][match[1].upper()] = [re.sub(r"\\(.)", r"\1", value) for value in _VALUE.findall(match[2])]
            position = match.end()
        elif character.isspace() or character == "(":
            position += 1
        else:
            line = text.count("\n", 0, position) + 1
            raise GameFileError(f"the SGF cannot be read at character {position + 1} (line {line}), {character!r}")
    raise GameFileError("the SGF ends before its closing parenthesis; is the file whole?")


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
        cell = row * state.game.board_shape[1] + column
        for action in state.legal_actions():
            kind, _source, target = state.action_cells(action)
            if kind == "place" and target == cell:
                return action
        refused = (a for a in state.forbidden_actions() if state.action_cells(a)[2] == cell)
        reason = next((state.why_illegal(action) for action in refused), "this point cannot be played here")
        raise GameFileError(reason)
    return state.string_to_action(value)


def _point(value: str, game: Game) -> tuple[int, int]:
    height, width = game.board_shape
    column, row = (ord(letter) - ord("a") for letter in value) if re.fullmatch(r"[a-z]{2}", value) else (-1, -1)
    if not (0 <= column < width and 0 <= row < height):
        raise GameFileError(f"the point {value!r} is not on a board of {height}x{width}; aa is the top left")
    return column, row


def _size(game: Game) -> str:
    height, width = game.board_shape
    return str(width) if height == width else f"{width}:{height}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("]", "\\]")
