"""Errors quote what was given: shortened, and readable whatever it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import qizero

STATE = qizero.load_game("tictactoe").new_initial_state()


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("z9", "'z9'"),
        ("", "''"),
        ("五子棋", "'五子棋'"),
        ("棋" * 20, "'" + "棋" * 13 + "…'"),
        ("x" * 99, "'" + "x" * 39 + "…'"),
        ("a\x00b\x1b[31m\x7f\x85", "'a?b?[31m???'"),
    ],
)
def test_quotes(text: str, quote: str) -> None:
    with pytest.raises(qizero.IllegalActionError) as error:
        STATE.string_to_action(text)
    assert str(error.value).startswith(f"{quote} is not an action of tictactoe")


@given(st.text(max_size=60))
def test_any_text_is_a_clear_error(text: str) -> None:
    with pytest.raises(qizero.InvalidInputError) as error:
        qizero.load_game("no game " + text)
    assert str(error.value).isprintable() or any(not character.isprintable() for character in text)
