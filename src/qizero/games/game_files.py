"""Games as text: SGF, PSQ, move lists, and the text of a state. Reading recognises which one it is.

>>> from qizero import load_game
>>> state = read_game("4455", load_game("connect4"))
>>> write_game(state, "moves")
'4455\\n'
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from qizero.games.catalog import Game, IllegalActionError, InvalidInputError, State, load_game
from qizero.games.profile import profile_of
from qizero.games.sgf import GameFileError, read_sgf, start_of, write_sgf

__all__ = ["FORMATS", "Format", "GameFileError", "read_file_or_moves", "read_game", "start_of", "write_game"]

Format = Literal["sgf", "psq", "moves", "state"]
FORMATS: tuple[Format, ...] = ("sgf", "psq", "moves", "state")
MAX_BYTES = 1 << 20

_SEPARATORS = re.compile(r"[\s,;+|]+")
_MOVE_NUMBER = re.compile(r"^\d+\.+|^(?:\.\.\.|…)")
_GLUED = re.compile(r"pass|--|x?[a-z]\d{1,2}(?:-[a-z]\d{1,2})?", re.IGNORECASE)
_PASSES = ("--", "pa", "ps", "-")
_PSQ_HEADER = re.compile(r"^piskvorky\s+(\d+)\s*x\s*(\d+)", re.IGNORECASE)
_PSQ_MOVE = re.compile(r"^(-?\d+)\s*,\s*(-?\d+)\s*(?:,\s*-?\d+\s*)*$")


def read_game(text: str, game: Game | None = None) -> State:
    """The state at the end of a text's main line, with its history. Raises GameFileError.

    `game` is taken for what the text does not say: the game of a bare list of moves, the rule of a PSQ file.
    """
    text = text.strip().lstrip("\ufeff").strip()
    if not text:
        raise GameFileError("the text is empty")
    try:
        if text.startswith("("):
            return read_sgf(text, game)
        if _PSQ_HEADER.match(text):
            return _read_psq(text, game)
        if text.startswith("qizero-state"):
            return _read_state(text)
        return _read_moves(text, game)
    except GameFileError:
        raise
    except (IllegalActionError, InvalidInputError) as error:
        raise GameFileError(str(error)) from error


def write_game(
    state: State,
    file_format: Format,
    *,
    names: tuple[str, str] = ("", ""),
    resigned: int | None = None,
    day: date | None = None,
) -> str:
    """The game that led to `state`, in one of FORMATS; `resigned` is the player who gave up, `day` today if left out.

    Raises GameFileError for a game that the format cannot hold.
    """
    if file_format == "sgf":
        return write_sgf(state, names=names, resigned=resigned, day=day or datetime.now(UTC).date())
    if file_format == "psq":
        return _write_psq(state, names)
    if file_format == "moves":
        return _write_moves(state)
    if file_format == "state":
        return state.serialize()
    raise GameFileError(f"there is no format {file_format!r}; there are {', '.join(FORMATS)}")


def read_file_or_moves(argument: str, game: Game) -> State:
    """The state of a file if `argument` names one, otherwise of the moves that it is. Raises GameFileError."""
    if not argument.strip():
        return game.new_initial_state()
    path = Path(argument)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):  # too long for a name, a zero byte
        is_file = False
    if is_file:
        if path.stat().st_size > MAX_BYTES:
            raise GameFileError(f"{argument} has {path.stat().st_size:,} bytes; a game has at most {MAX_BYTES:,}")
        try:
            return read_game(path.read_bytes().decode(errors="replace"), game)
        except GameFileError as error:
            raise GameFileError(f"{argument}: {error}") from error
    if re.fullmatch(r"\S*(/\S*|\.(sgf|psq|txt|rec|lib))", argument.strip(), re.IGNORECASE):
        raise GameFileError(f"there is no file {argument}; give the path of a game's file, or moves")
    return read_game(argument, game)


# ---- Lists of moves --------------------------------------------------------------------------------------------------


def _read_moves(text: str, game: Game | None) -> State:
    """Moves apart or run together, with or without numbers; before them perhaps `game SPEC` and `start POSITION`."""
    lines = text.splitlines()
    skipped = 0
    start = ""
    for line in lines:
        if line.startswith("game "):
            game = load_game(line.removeprefix("game ").strip())
        elif line.startswith("start "):
            start = line.removeprefix("start ").strip()
        else:
            break
        skipped += 1
    if game is None:
        shown = text.splitlines()[0][:40]
        raise GameFileError(
            f"{shown!r} is neither SGF, nor PSQ, nor the text of a state; a list of moves begins with a line such as "
            "'game gomoku(size=15)'"
        )
    state = state_of_position(game, start) if start else game.new_initial_state()
    for number, line in enumerate(lines[skipped:], skipped + 1):
        for word in _words(line):
            for move in _moves_of(word, state):
                _play_move(state, move, number)
    return state


def _words(line: str) -> list[str]:
    bare = (_MOVE_NUMBER.sub("", word) for word in _SEPARATORS.split(line))
    return [word for word in bare if word and word not in ("...", "…")]


def _moves_of(word: str, state: State) -> list[str]:
    """The moves of a word: itself, or several run together."""
    if _action_of(word, state) is not None:
        return [word]
    if word.isdecimal():
        return list(word)
    glued = _GLUED.findall(word)
    return glued if "".join(glued) == word and glued else [word]


def _action_of(move: str, state: State) -> int | None:
    try:
        return state.string_to_action("pass" if move.lower() in _PASSES else move)
    except IllegalActionError:
        return None


def _play_move(state: State, move: str, line: int) -> None:
    where = f"line {line}, move {len(state.history()) + 1}, {move[:20]!r}"
    if state.is_terminal():
        raise GameFileError(f"{where}: the game is over before this move; leave out what follows its end")
    action = _action_of(move, state)
    if action is None:
        example = state.action_to_string(state.legal_actions()[0])
        raise GameFileError(f"{where}: not a move of {state.game}; a move looks like {example}")
    legal = state.legal_actions()
    if action not in legal and len(legal) == 1 and state.action_cells(legal[0])[0] == "other":
        state.apply_action(legal[0])  # move strings leave out passes
        if state.is_terminal():
            raise GameFileError(f"{where}: the game is over before this move; leave out what follows its end")
    reason = state.why_illegal(action)
    if reason:
        raise GameFileError(f"{where}: {reason}")
    state.apply_action(action)


def _write_moves(state: State) -> str:
    game, start = state.game, start_of(state)
    turns = _turns(start, state.history())
    style = profile_of(game.name).move_list
    header = "" if start == game.new_initial_state() else f"start {start.position_text()}\n"
    if header or not turns or str(game) != game.name or style == "turns":
        header = f"game {game}\n" + header
    if style == "turns":
        return header + _numbered(turns)
    moves = [move for _, played in turns for move in played]
    if style == "joined":
        last = moves[-1:] if moves[-1:] == ["pass"] else []
        return header + "".join([move for move in moves if move != "pass"] + last) + "\n"
    return header + " ".join(moves) + "\n"


def _turns(start: State, actions: list[int]) -> list[tuple[int, list[str]]]:
    """(player, moves) of each turn; a turn is what one player does until the other one is to act."""
    turns: list[tuple[int, list[str]]] = []
    state = start.clone()
    for action in actions:
        player = state.current_player()
        if not turns or turns[-1][0] != player:
            turns.append((player, []))
        turns[-1][1].append(state.action_to_string(action))
        state.apply_action(action)
    return turns


def _numbered(turns: list[tuple[int, list[str]]]) -> str:
    lines: list[str] = []
    for player, moves in turns:
        turn = "+".join(moves)
        if player == 0 or not lines:
            before = "" if player == 0 else "… "
            lines.append(f"{len(lines) + 1}. {before}{turn}")
        elif lines[-1].count(" ") >= 2:
            lines.append(f"{len(lines) + 1}. … {turn}")
        else:
            lines[-1] += f" {turn}"
    return "\n".join(lines) + "\n"


# ---- PSQ, the files of Piskvork --------------------------------------------------------------------------------------


def _read_psq(text: str, game: Game | None) -> State:
    """Moves are `x,y,milliseconds` a line, counted from 1 at the top left; after them names and a number."""
    lines = text.splitlines()
    header = _PSQ_HEADER.match(lines[0])
    assert header
    width, height = _psq_number(header[1], 1), _psq_number(header[2], 1)
    if width != height:
        raise GameFileError(f"line 1: a board of {width}x{height} is not square; Gomoku here has 6x6 to 20x20")
    rule = str(game.options["rule"]) if game is not None and game.name == "gomoku" else "freestyle"
    try:
        chosen = load_game("gomoku", size=width, rule=rule)
    except InvalidInputError as error:
        raise GameFileError(f"line 1: {error}") from error
    state = chosen.new_initial_state()
    over = False
    for number, line in enumerate(lines[1:], 2):
        move = _PSQ_MOVE.match(line.strip())
        if move is None:
            if re.match(r"\s*-?\d+\s*,", line):
                raise GameFileError(f"line {number}, {line.strip()[:40]!r}: not a move; one looks like 8,8,0")
            over = True
            continue
        if over:
            raise GameFileError(f"line {number - 1}, {lines[number - 2].strip()[:40]!r}: not a move, but moves follow")
        column, row = _psq_number(move[1], number) - 1, _psq_number(move[2], number) - 1
        if not (0 <= column < width and 0 <= row < height):
            raise GameFileError(
                f"line {number}, {line.strip()[:40]!r}: not on a board of {width}x{height}; x and y are counted from 1"
            )
        _play_move(state, state.action_to_string(row * width + column), number)
    return state


def _psq_number(digits: str, line: int) -> int:
    """A size or coordinate. Python refuses to read numbers of thousands of digits, and no board needs one of ten."""
    if len(digits) > 9:
        start = f"line {line}, {digits[:20]!r}…"
        raise GameFileError(f"{start}: a number of {len(digits):,} digits; boards are 6x6 to 20x20")
    return int(digits)


def _write_psq(state: State, names: tuple[str, str]) -> str:
    game = state.game
    if not profile_of(game.name).psq or start_of(state) != game.new_initial_state():
        raise GameFileError("PSQ holds games of Gomoku from the empty board; take sgf, moves or state for this one")
    size = game.board_shape[0]
    cells = [divmod(action, size) for action in state.history()]
    moves = [f"{column + 1},{row + 1},0" for row, column in cells]
    shown = [" ".join(name.split()).replace(",", " ") for name in names] if any(names) else []
    return "\n".join([f"Piskvorky {size}x{size}, 0:0, 1", *moves, *(name or "-" for name in shown), "0"]) + "\n"


# ---- The text of a state ---------------------------------------------------------------------------------------------


def _read_state(text: str) -> State:
    for line in text.splitlines():
        if line.startswith("game "):
            return load_game(line.removeprefix("game ").strip()).deserialize_state(text + "\n")
    raise GameFileError("the text of a state lacks its line 'game …'")


def state_of_position(game: Game, position: str) -> State:
    """The state that `State.position_text` wrote, without a history."""
    return game.deserialize_state(f"qizero-state 1\ngame {game}\nstart {position}\nactions\n")
