"""Protobuf messages, read without their schema, strictly: what files from anywhere need.

Two readers may understand the same bytes differently: where a field that may occur once occurs twice, one takes the
last, another merges both. Such a message is refused, so that a runtime runs what was checked.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["MAX_FIELDS", "MalformedError", "Message"]

MAX_FIELDS = 1_000_000
"""In a file, in all its messages; networks have some thousands."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
FIXED_BYTES = {FIXED64: 8, FIXED32: 4}


class MalformedError(Exception):
    """The bytes are no message, or none that every reader understands alike; then the text says why."""


class _Steps:
    """How many fields may still be read."""

    def __init__(self) -> None:
        self.left = MAX_FIELDS

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise MalformedError(f"it has more than {MAX_FIELDS:,} fields")


class Message:
    """The fields of one message by number. A message inside it is read when it is asked for."""

    def __init__(self, data: bytes | memoryview, steps: _Steps | None = None) -> None:
        """Raises MalformedError, as everything here does."""
        self._steps = steps or _Steps()
        self._fields: dict[int, list[tuple[int, int | memoryview]]] = {}
        for number, wire, value in _fields(memoryview(data), self._steps):
            self._fields.setdefault(number, []).append((wire, value))

    def has(self, number: int) -> bool:
        """True if the field occurs."""
        return number in self._fields

    def is_empty(self) -> bool:
        """True if there is no field at all."""
        return not self._fields

    def chunks(self, number: int) -> list[memoryview]:
        """The bytes of a field that may occur many times."""
        found = []
        for _, value in self._fields.get(number, ()):
            if isinstance(value, int):
                raise MalformedError
            found.append(value)
        return found

    def data(self, number: int) -> memoryview:
        """The bytes of a field that may occur once; empty if it does not."""
        self._check_single(number)
        return ([memoryview(b""), *self.chunks(number)])[-1]

    def messages(self, *numbers: int) -> list[Message]:
        """The messages of fields that may occur many times."""
        return [Message(chunk, self._steps) for number in numbers for chunk in self.chunks(number)]

    def message(self, number: int) -> Message:
        """The message of a field that may occur once; an empty one if it does not."""
        return Message(self.data(number), self._steps)

    def texts(self, *numbers: int) -> list[str]:
        """The texts of fields that may occur many times."""
        return [_text(chunk) for number in numbers for chunk in self.chunks(number)]

    def text(self, number: int) -> str:
        """The text of a field that may occur once; empty if it does not."""
        return _text(self.data(number))

    def integers(self, number: int) -> list[int]:
        """The numbers of a field that may occur many times, one by one or packed."""
        found = []
        for _, value in self._fields.get(number, ()):
            if isinstance(value, int):
                found.append(value)
                continue
            position = 0
            while position < len(value):
                self._steps.take()
                element, position = _varint(value, position)
                found.append(element)
        return found

    def integer(self, number: int) -> int | None:
        """The number of a field that may occur once; None if it does not."""
        self._check_single(number)
        for _, value in self._fields.get(number, ()):
            if isinstance(value, int):
                return value
            raise MalformedError
        return None

    def _check_single(self, number: int) -> None:
        if len(found := self._fields.get(number, ())) > 1:
            raise MalformedError(f"a message has its field {number}, which may occur once, {len(found)} times")


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    """An unsigned number of 64 bits and the position after it."""
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise MalformedError
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    if value >= 1 << 64:
        raise MalformedError
    return value, position


def _fields(data: memoryview, steps: _Steps) -> Iterator[tuple[int, int, int | memoryview]]:
    """The fields of a message in their order: number, wire type, and an integer or the bytes."""
    position = 0
    while position < len(data):
        steps.take()
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise MalformedError
        if wire == VARINT:
            value, position = _varint(data, position)
            yield number, wire, value
            continue
        if wire == BYTES:
            length, position = _varint(data, position)
        elif wire in FIXED_BYTES:
            length = FIXED_BYTES[wire]
        else:
            raise MalformedError
        if position + length > len(data):
            raise MalformedError
        yield number, wire, data[position : position + length]
        position += length


def _text(data: memoryview) -> str:
    try:
        return bytes(data).decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedError from None
