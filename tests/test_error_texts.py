"""Errors quote what was given: shortened, and readable whatever it was."""

from __future__ import annotations

import unicodedata

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


CONTROL_CHARACTERS = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cc"]


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(CONTROL_CHARACTERS), max_size=60))
def test_no_error_holds_a_control_character(text: str) -> None:
    """One could move the cursor, clear the screen, or break the one line that an error has."""
    for function in (qizero.load_game, STATE.string_to_action):
        with pytest.raises(ValueError, match="no game") as error:
            function("no game " + text)
        assert not set(str(error.value)) & set(CONTROL_CHARACTERS)
