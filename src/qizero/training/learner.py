"""Learning from rows: loss, optimiser, learning rate, averaged weights."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from qizero.games.catalog import Game
from qizero.nets.growth import grown_state
from qizero.nets.network import MOVES_LEFT_UNIT, Network, weights_of_state
from qizero.nets.weights import NetworkWeights
from qizero.training.replay import Batch
from qizero.training.settings import LearningSettings

__all__ = ["Learner", "Losses"]


@dataclass(frozen=True)
class Losses:
    """Means over the steps of a cycle."""

    total: float
    policy: float  # cross-entropy minus the target's own entropy: 0 is perfect
    value: float  # cross-entropy of win, draw, loss
    moves_left: float
    soft_policy: float  # as policy, for flattened targets
    final_board: float  # mean square per cell
    policy_entropy: float  # of the network's policy, in nats
    value_accuracy: float  # share of rows whose most likely result is the one that came
    gradient_norm: float


SOFT_POLICY_TEMPERATURE = 4.0  # of the flattened targets, as in KataGo
ILLEGAL_LOGIT = -1e4  # its probability is 0, and 0 times its logarithm too
PART_ROWS = 64
"""Rows that are learnt from in one piece. The pieces of a step are the same for any number of threads, and their
gradients are added in one order: the same seed gives the same net on any machine with the same kernels."""


@dataclass(frozen=True)
class Part:
    """What one piece of a batch contributes to a step."""

    gradients: list[Tensor]  # in the order of the network's parameters
    losses: dict[str, float]


class Learner:
    """A network with its optimiser and its average. `step` learns from one batch of every variant.

    Pieces of the batches are learnt from side by side, one thread each. On small boards that is faster than several
    threads inside every operation, which would wait for each other a hundred times a step.
    """

    def __init__(self, network: Network, config: LearningSettings, threads: int = 1) -> None:
        self.config = config
        self.network = network
        self._parameters = list(network.parameters())
        self._workers = ThreadPoolExecutor(threads, "learn", initializer=torch.set_num_threads, initargs=(1,))
        self.average = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
        decayed = [p for p in self._parameters if p.ndim > 1]
        others = [p for p in self._parameters if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}],
            lr=config.learning_rate,
        )
        self.steps = 0
        self.grown_at_step = 0  # the learning rate warms up again from there

    def learning_rate(self, progress: float) -> float:
        """Linear warm-up over the first steps, cosine over the run (`progress` 0 … 1)."""
        config = self.config
        warmup = min(1.0, (self.steps - self.grown_at_step + 1) / max(1, config.warmup_steps))
        low = config.final_learning_rate_share
        cosine = low + (1 - low) * (1 + math.cos(math.pi * min(max(progress, 0.0), 1.0))) / 2
        return config.learning_rate * warmup * cosine

    def step(self, batches: Sequence[Batch], progress: float) -> dict[str, float]:
        """One step of the optimiser on all rows of the batches, one batch a variant. Returns the parts of the loss."""
        config = self.config
        rate = self.learning_rate(progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        rows = sum(len(batch.planes) for batch in batches)
        pieces = [(batch, piece) for batch in batches for piece in pieces_of(len(batch.planes))]
        parts = list(self._workers.map(lambda part: self._gradients_of(part[0], part[1], rows), pieces))
        gradients = parts[0].gradients
        for part in parts[1:]:
            torch._foreach_add_(gradients, part.gradients)
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient
        clip = config.gradient_clip if config.gradient_clip > 0 else math.inf
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, clip)
        if not torch.isfinite(norm):
            raise FloatingPointError(f"the gradient of step {self.steps} is not finite; lower training.learning_rate")
        self.optimizer.step()
        self.steps += 1
        self._update_average()
        losses = {name: sum(part.losses[name] for part in parts) for name in parts[0].losses}
        return losses | {"gradient_norm": float(norm)}

    def _gradients_of(self, batch: Batch, piece: slice, rows: int) -> Part:
        """Gradients and losses of some rows of a batch, as their share of all `rows` of the step."""
        config, share = self.config, (piece.stop - piece.start) / rows

        def tensor(values: NDArray[Any]) -> Tensor:
            return torch.from_numpy(values[piece])

        with torch.autocast("cpu", torch.bfloat16, enabled=config.bf16):
            output = self.network(tensor(batch.planes).to(memory_format=torch.channels_last))
        policy_logits, wdl_logits = output.policy.float(), output.wdl.float()

        target, legal = tensor(batch.policy), tensor(batch.legal)
        # Illegal actions have no probability in play, so nothing is to be learnt about them.
        log_policy = F.log_softmax(policy_logits.masked_fill(~legal, ILLEGAL_LOGIT), dim=1)
        entropy = -(target * torch.log(target.clamp_min(1e-12))).sum(1)
        policy_loss = (-(target * log_policy).sum(1) - entropy).mean() * share
        # What is nearly as good as the best move shows in the flattened target, and with it why.
        soft_target = torch.where(target > 0, target, 0).pow(1 / SOFT_POLICY_TEMPERATURE)
        soft_target = soft_target / soft_target.sum(1, keepdim=True).clamp_min(1e-12)
        soft_log_policy = F.log_softmax(output.soft_policy.float().masked_fill(~legal, ILLEGAL_LOGIT), dim=1)
        soft_entropy = -(soft_target * torch.log(soft_target.clamp_min(1e-12))).sum(1)
        soft_loss = (-(soft_target * soft_log_policy).sum(1) - soft_entropy).mean() * share
        mixed = (1 - config.root_value_share) * tensor(batch.outcome) + config.root_value_share * tensor(batch.root)
        value_loss = -(mixed * F.log_softmax(wdl_logits, dim=1)).sum(1).mean() * share
        moves_loss = F.huber_loss(output.moves_left.float(), tensor(batch.plies_left) / MOVES_LEFT_UNIT) * share
        board_loss = F.mse_loss(output.final_board.float(), tensor(batch.final_board)) * share
        loss = (
            policy_loss
            + config.value_weight * value_loss
            + config.moves_left_weight * moves_loss
            + config.soft_policy_weight * soft_loss
            + config.final_board_weight * board_loss
        )
        gradients = torch.autograd.grad(loss, self._parameters)
        with torch.no_grad():
            policy_entropy = -(log_policy.exp() * log_policy).sum(1).mean() * share
            hits = (wdl_logits.argmax(1) == tensor(batch.outcome).argmax(1)).float().mean() * share
        losses = {
            "total": loss.item(),
            "policy": policy_loss.item(),
            "value": value_loss.item(),
            "moves_left": moves_loss.item(),
            "soft_policy": soft_loss.item(),
            "final_board": board_loss.item(),
            "policy_entropy": policy_entropy.item(),
            "value_accuracy": hits.item(),
        }
        return Part(list(gradients), losses)

    @torch.no_grad()
    def _update_average(self) -> None:
        """Exponential average; young averages move faster, so that the first weights do not linger."""
        decay = min(self.config.ema, (1 + self.steps) / (10 + self.steps))
        for name, tensor in self.network.state_dict().items():
            if tensor.is_floating_point():
                self.average[name].lerp_(tensor, 1 - decay)
            else:
                self.average[name].copy_(tensor)

    def averaged_weights(self, game: Game) -> NetworkWeights:
        """A copy of the averaged weights: those of the network that plays."""
        return weights_of_state(self.average, self.network.config, game)

    # ---- Saving: names and tensors only, so that files need no pickle ------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        tensors |= {f"average.{name}": tensor for name, tensor in self.average.items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            for name, tensor in state.items():
                tensors[f"optimizer.{index}.{name}"] = tensor
        return {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}

    def grow_from(self, small: Learner) -> None:
        """Takes up what a smaller network has learnt; this one is untrained. The optimiser starts from zero."""
        untrained = self.network
        self.average = grown_state(small.average, untrained)
        self.network.load_state_dict(grown_state(small.network.state_dict(), untrained))
        self.steps = self.grown_at_step = small.steps

    def load_tensors(self, tensors: dict[str, Tensor], steps: int, grown_at_step: int = 0) -> None:
        def part(prefix: str) -> dict[str, Tensor]:
            return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}

        self.network.load_state_dict(part("network."))
        self.average = part("average.")
        state = self.optimizer.state_dict()
        state["state"] = {}
        for name, tensor in part("optimizer.").items():
            index, _, key = name.partition(".")
            state["state"].setdefault(int(index), {})[key] = tensor
        self.optimizer.load_state_dict(state)
        self.steps, self.grown_at_step = steps, grown_at_step


def pieces_of(rows: int) -> list[slice]:
    """Nearly equal pieces of at most PART_ROWS rows."""
    count = max(1, math.ceil(rows / PART_ROWS))
    ends = [round(rows * i / count) for i in range(count + 1)]
    return [slice(start, end) for start, end in itertools.pairwise(ends)]


def mean_losses(parts: list[dict[str, float]]) -> Losses:
    return Losses(**{name: float(np.mean([part[name] for part in parts])) for name in parts[0]})
