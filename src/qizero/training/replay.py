"""Training rows on disk and in memory: immutable chunk files, a window over the newest, batches with symmetries.

A chunk is a file of one JSON line (what it holds, and the hash of the rest) and the compressed rows. It is written
under a temporary name, fsynced and renamed, so it is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qizero._core import RECORD_VERSION, Game, record_fields
from qizero.base.files import write_atomically

__all__ = ["Batch", "ChunkError", "RowDecoder", "Window", "read_chunk", "write_chunk"]

FORMAT = "qizero-rows 1"
# What a file can cost in memory that somebody made for that: rows shrink to a third, not to a hundredth.
SMALL_CHUNK_BYTES, MAX_RATIO = 1 << 26, 100


class ChunkError(ValueError):
    """A chunk file that cannot be used; the message names the file and the reason."""


def row_dtype(game: Game) -> np.dtype[Any]:
    """A training row of this game; cpp/selfplay/record.h explains the fields."""
    return np.dtype(record_fields(game))


def write_chunk(path: Path, game: Game, rows: NDArray[Any]) -> None:
    body = zlib.compress(rows.tobytes(), level=1)
    header = {
        "format": FORMAT,
        "game": str(game),
        "rules_version": game.rules_version,
        "record_version": RECORD_VERSION,
        "rows": len(rows),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    write_atomically(path, json.dumps(header).encode() + b"\n" + body)


def read_chunk(path: Path, game: Game) -> NDArray[Any]:
    """Raises ChunkError for a file that is damaged or of another game."""
    data = path.read_bytes()
    line, _, body = data.partition(b"\n")
    try:
        header = json.loads(line)
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}, not {FORMAT!r}")
        if (header["game"], header["rules_version"]) != (str(game), game.rules_version):
            raise ValueError(f"it holds rows of {header['game']} (rules {header['rules_version']}), not of {game}")
        if header["record_version"] != RECORD_VERSION:
            raise ValueError(f"its rows have version {header['record_version']}, not {RECORD_VERSION}")
        if hashlib.sha256(body).hexdigest() != header["sha256"]:
            raise ValueError("its content does not match its hash: the file is damaged")
        rows = np.frombuffer(decompress(body, header["rows"] * row_dtype(game).itemsize), row_dtype(game))
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise ChunkError(f"{path}: {error}") from None
    return rows


def decompress(body: bytes, size: int) -> bytes:
    """The `size` bytes that were compressed. Never unpacks more, whatever the body holds."""
    most = max(SMALL_CHUNK_BYTES, MAX_RATIO * len(body))
    if not 0 <= size <= most:
        raise ValueError(f"it claims to hold {size:,} bytes; {len(body):,} compressed bytes hold at most {most:,}")
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(body, size + 1)
    if len(data) != size or not unpacker.eof:
        raise ValueError(f"it does not hold the {size:,} bytes that it claims")
    return data


@dataclass(frozen=True)
class Batch:
    """What a network learns from; arrays have one line per row."""

    planes: NDArray[np.float32]  # [B, C, H, W]
    policy: NDArray[np.float32]  # [B, A], sums to 1
    legal: NDArray[np.bool_]  # [B, A]
    outcome: NDArray[np.float32]  # [B, 3]
    root: NDArray[np.float32]  # [B, 3]
    plies_left: NDArray[np.float32]  # [B]
    final_board: NDArray[np.float32]  # [B, H, W]: 1 the mover's, -1 the opponent's, 0 empty when the game ended


class RowDecoder:
    """Rows of a game to batches, each row in a random symmetry."""

    def __init__(self, game: Game) -> None:
        self.dtype = row_dtype(game)
        self._shape = game.observation_shape
        self._cell_planes = len(game.cell_planes)
        height, width = game.board_shape
        state = game.new_initial_state()
        symmetries = range(game.num_symmetries)
        # Where each action of the transformed position comes from.
        self._actions = np.empty((game.num_symmetries, game.num_actions), np.int64)
        self._cells = np.empty((game.num_symmetries, height * width), np.int64)
        for symmetry in symmetries:
            for action in range(game.num_actions):
                self._actions[symmetry, state.transform_action(action, symmetry)] = action
            cells = np.arange(height * width).reshape(height, width)
            if symmetry & 1:
                cells = cells[:, ::-1]
            if symmetry & 2:
                cells = cells[::-1]
            if symmetry & 4:
                cells = cells.T
            self._cells[symmetry] = cells.reshape(-1)

    def decode(self, rows: NDArray[Any], rng: np.random.Generator | None = None) -> Batch:
        """Without a generator, rows are taken as they are."""
        count = len(rows)
        channels, height, width = self._shape
        cells = height * width
        symmetry = np.zeros(count, np.int64) if rng is None else rng.integers(len(self._actions), size=count)
        bits = np.unpackbits(rows["planes"], axis=1, bitorder="little", count=self._cell_planes * cells)
        bits = bits.reshape(count, self._cell_planes, cells)
        planes = np.empty((count, channels, cells), np.float32)
        planes[:, : self._cell_planes] = np.take_along_axis(bits, self._cells[symmetry][:, None, :], axis=2)
        planes[:, self._cell_planes :] = rows["scalars"][:, :, None]
        policy = np.take_along_axis(rows["policy"], self._actions[symmetry], axis=1).astype(np.float32)
        policy /= np.maximum(policy.sum(axis=1, keepdims=True), 1)
        legal = np.unpackbits(rows["legal"], axis=1, bitorder="little", count=policy.shape[1]).view(np.bool_)
        legal = np.take_along_axis(legal, self._actions[symmetry], axis=1)
        return Batch(
            planes.reshape(count, channels, height, width),
            policy,
            legal,
            rows["outcome"].astype(np.float32),
            rows["root"].astype(np.float32),
            rows["plies_left"][:, 0].astype(np.float32),
            np.take_along_axis(rows["final_board"], self._cells[symmetry], axis=1)
            .astype(np.float32)
            .reshape(count, height, width),
        )


class Window:
    """The newest rows of one game, in memory; older ones fall out."""

    def __init__(self, game: Game) -> None:
        self.decoder = RowDecoder(game)
        self._chunks: list[tuple[int, NDArray[Any]]] = []  # (cycle, rows), oldest first
        self._surprise: NDArray[np.float64] | None = None  # cumulated over all rows; None: not known yet

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self._chunks)

    def cycles(self) -> list[int]:
        return [cycle for cycle, _ in self._chunks]

    def add(self, cycle: int, rows: NDArray[Any], keep_rows: int) -> int:
        """Adds a cycle's rows and drops the oldest chunks while `keep_rows` remain. Returns the oldest cycle kept."""
        self._chunks.append((cycle, rows))
        self._surprise = None
        while len(self._chunks) > 1 and len(self) - len(self._chunks[0][1]) >= keep_rows:
            self._chunks.pop(0)
        return self._chunks[0][0]

    def sample(self, count: int, rng: np.random.Generator, surprise_share: float = 0.0) -> Batch:
        """Rows drawn with replacement: `surprise_share` of them in proportion to their surprise, the rest evenly."""
        sizes = np.cumsum([len(rows) for _, rows in self._chunks])
        picks = rng.integers(sizes[-1], size=count)
        if surprise_share > 0:
            if self._surprise is None:
                self._surprise = np.cumsum(
                    np.concatenate([rows["surprise"][:, 0] for _, rows in self._chunks]), dtype=np.float64
                )
            surprising = rng.random(count) < surprise_share
            tickets = rng.random(count) * self._surprise[-1]
            if self._surprise[-1] > 0:
                picks = np.where(surprising, np.searchsorted(self._surprise, tickets, side="right"), picks)
        picks = np.sort(np.minimum(picks, sizes[-1] - 1))
        parts = []
        start = 0
        for (_, rows), end in zip(self._chunks, sizes, strict=True):
            inside = picks[(picks >= start) & (picks < end)] - start
            if len(inside):
                parts.append(rows[inside])
            start = int(end)
        return self.decoder.decode(np.concatenate(parts), rng)
