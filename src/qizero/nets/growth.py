"""A network that grows: a larger one that computes the same as a smaller one, and has room to learn more.

Small networks are many times as fast, and early in a run nearly as good. What was added is there but without effect at
first: old channels do not read new ones, and new blocks add nothing to the tower.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from qizero.nets.network import Network

__all__ = ["grown_state"]


@torch.no_grad()
def grown_state(small: Mapping[str, Tensor], large: Network) -> dict[str, Tensor]:
    """The state in which `large`, an untrained network for the same game, computes what a network with `small` does."""
    state = {}
    for name, fresh in large.state_dict().items():
        grown = fresh.clone()
        if name in small:
            old = small[name]
            if old.ndim >= 2:  # filters and matrices: [outputs, inputs, …]
                grown[: old.shape[0], old.shape[1] :] = 0
                grown[: old.shape[0], : old.shape[1]] = old
            else:
                grown[: old.shape[0]] = old
        elif name.endswith(".second.gain"):  # of a new block
            grown.zero_()
        state[name] = grown
    return state
