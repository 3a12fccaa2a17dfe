"""What a network looks like, in plain values: its size, and the policy head that fits a game. Needs no torch."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from qizero.base.version import __version__
from qizero.games.catalog import Game

__all__ = ["NetworkConfig", "NetworkMetadata", "PolicyKind", "policy_kind"]

WEIGHT_PREFIX = "network."  # of the names of the weights in a file; what follows is the name in torch
METADATA_KEY = "qizero"  # of a network file's metadata; the value is a NetworkMetadata as JSON


class PolicyKind(StrEnum):
    """How the actions of a game lie on its board."""

    CELLS = "cells"  # action = cell
    CELLS_AND_PASS = "cells_and_pass"  # action = cell, and one action more that has no place
    COLUMNS = "columns"  # action = column
    PLACE_MOVE_SELECT = "place_move_select"  # place cell; cells + 4 cell + direction; 5 cells + select cell
    DENSE = "dense"  # anything else, on a board of one size


def policy_kind(board_shape: tuple[int, int], num_actions: int) -> PolicyKind:
    """The policy head of a game, by the first line that fits its number of actions A on a board of H x W cells.

    | A         | head                                                              |
    |-----------|-------------------------------------------------------------------|
    | H W       | `cells`: one logit a cell                                         |
    | H W + 1   | `cells_and_pass`: and one, the last, from the whole board         |
    | W         | `columns`: one logit a column                                     |
    | 6 H W     | `place_move_select`: a stone placed, moved one step, or selected  |
    | other     | `dense`: fully connected, the board's size is fixed               |

    A new game needs nothing here. If its number of actions fits a line but means something else, train it with
    `policy=dense`.
    """
    height, width = board_shape
    cells = height * width
    kinds = {
        6 * cells: PolicyKind.PLACE_MOVE_SELECT,
        width: PolicyKind.COLUMNS,
        cells + 1: PolicyKind.CELLS_AND_PASS,
        cells: PolicyKind.CELLS,
    }
    return kinds.get(num_actions, PolicyKind.DENSE)


PRESETS = {"tiny": (32, 3), "small": (64, 5), "base": (128, 5)}


@dataclass(frozen=True)
class NetworkConfig:
    """The size of a network. Make one from a text with `parse`: a preset, or channels x blocks such as "64x5"."""

    channels: int  # of the tower, 1..1024
    blocks: int  # residual blocks of two 3x3 convolutions, 0..100
    head_channels: int = 32  # of the 1x1 convolutions that the heads start with
    value_hidden: int = 64  # features that win-draw-loss and moves left are read from
    policy: str = "auto"  # a PolicyKind, or "auto": what policy_kind() says

    def __post_init__(self) -> None:
        limits = {"channels": (1, 1024), "blocks": (0, 100), "head_channels": (1, 256), "value_hidden": (1, 1024)}
        problems = [
            f"{name}={getattr(self, name)!r} is not a whole number from {low} to {high}"
            for name, (low, high) in limits.items()
            if type(getattr(self, name)) is not int or not low <= getattr(self, name) <= high
        ]
        allowed = ("auto", *PolicyKind)
        if self.policy not in allowed:
            problems.append(f"policy={self.policy!r} is not one of {', '.join(allowed)}")
        if problems:
            raise ValueError("network: " + "; ".join(problems))

    @classmethod
    def parse(cls, text: str) -> NetworkConfig:
        """
        >>> NetworkConfig.parse("64x5") == NetworkConfig.parse("small")
        True
        """
        if text in PRESETS:
            return cls(*PRESETS[text])
        if match := re.fullmatch(r"(\d{1,4})x(\d{1,3})", text):
            return cls(int(match[1]), int(match[2]))
        raise ValueError(f"network {text!r} is neither one of {', '.join(PRESETS)} nor channels x blocks such as 64x5")

    def policy_of(self, board_shape: tuple[int, int], num_actions: int) -> PolicyKind:
        """The policy head on such a board. Raises ValueError if the one that is asked for does not fit."""
        fitting = policy_kind(board_shape, num_actions)
        if self.policy in ("auto", fitting):
            return fitting
        if self.policy != PolicyKind.DENSE:
            raise ValueError(
                f"policy={self.policy} does not fit {num_actions} actions on a board of "
                f"{board_shape[0]}x{board_shape[1]}; take {fitting} or {PolicyKind.DENSE}"
            )
        return PolicyKind.DENSE

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> NetworkConfig:
        """From the fields by name; those with defaults may be left out."""
        unknown = sorted(set(values) - set(cls.__dataclass_fields__))
        missing = sorted({"channels", "blocks"} - set(values))
        if unknown or missing:
            raise ValueError(f"network: unknown settings {unknown}, missing settings {missing}")
        return cls(**values)


@dataclass(frozen=True)
class NetworkMetadata:
    """What a network file says of itself, so that it is not played in a game that it does not know."""

    game: str  # the spec of the game that it was exported for, e.g. "gomoku(size=9)"; other sizes may fit too
    rules_version: int
    planes: tuple[str, ...]  # what each input plane shows, in order
    network: NetworkConfig
    qizero_version: str

    @classmethod
    def of(cls, game: Game, network: NetworkConfig) -> NetworkMetadata:
        """What to write into a file that plays `game`."""
        planes = (*game.cell_planes, *game.scalar_planes)
        return cls(str(game), game.rules_version, planes, network, __version__)

    def to_text(self) -> str:
        """As JSON, for the file."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> NetworkMetadata:
        """Raises ValueError or TypeError for a text that `to_text` has not written."""
        return cls.from_json(json.loads(text))

    @classmethod
    def from_json(cls, values: Any) -> NetworkMetadata:
        """From the fields by name; all of them must be given. Raises ValueError or TypeError."""
        if not isinstance(values, dict) or set(values) != set(cls.__dataclass_fields__):
            raise ValueError(f"expected the keys {', '.join(cls.__dataclass_fields__)}")
        return cls(
            game=str(values["game"]),
            rules_version=int(values["rules_version"]),
            planes=tuple(map(str, values["planes"])),
            network=NetworkConfig.from_json(dict(values["network"])),
            qizero_version=str(values["qizero_version"]),
        )

    def mismatch(self, game: Game) -> str | None:
        """Why a network with these metadata cannot play the game, in words; None if it can."""
        other = NetworkMetadata.of(game, self.network)
        if self.game.partition("(")[0] != game.name:
            return f"it was trained for {self.game}, not for {other.game}"
        if self.rules_version != other.rules_version:
            return f"it knows version {self.rules_version} of the rules of {game.name}, not {other.rules_version}"
        if self.planes != other.planes:
            return f"it was trained on the planes {list(self.planes)}, {other.game} shows {list(other.planes)}"
        return None
