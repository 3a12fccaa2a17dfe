"""Learning from rows: loss, optimiser, learning rate, averaged weights."""

from __future__ import annotations

import copy
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from qizero.games.catalog import Game
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
    policy_entropy: float  # of the network's policy, in nats
    value_accuracy: float  # share of rows whose most likely result is the one that came
    gradient_norm: float


class Learner:
    """A network with its optimiser and its average. `step` learns from one batch.

    The batch is divided among `threads`, each with a replica of the network that shares its weights and has its own
    gradients. On small boards that is faster than several threads inside every operation, which would wait for each
    other a hundred times a step. Batch norm sees a part of the batch.
    """

    def __init__(self, network: Network, config: LearningSettings, threads: int = 1) -> None:
        self.config = config
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.replicas = [self.network, *(replica_of(self.network) for _ in range(threads - 1))]
        self._workers = ThreadPoolExecutor(threads, "learn", initializer=torch.set_num_threads, initargs=(1,))
        self.average = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
        decayed = [p for p in network.parameters() if p.ndim > 1]
        others = [p for p in network.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}],
            lr=config.learning_rate,
        )
        self.steps = 0

    def learning_rate(self, progress: float) -> float:
        """Linear warm-up over the first steps, cosine over the run (`progress` 0 … 1)."""
        config = self.config
        warmup = min(1.0, (self.steps + 1) / max(1, config.warmup_steps))
        low = config.final_learning_rate_share
        cosine = low + (1 - low) * (1 + math.cos(math.pi * min(max(progress, 0.0), 1.0))) / 2
        return config.learning_rate * warmup * cosine

    def step(self, batch: Batch, progress: float) -> dict[str, float]:
        """One step of the optimiser. Returns the parts of the loss."""
        config = self.config
        rate = self.learning_rate(progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        weights = max(1.0, float(batch.policy_weight.sum()))
        rows = np.array_split(np.arange(len(batch.planes)), len(self.replicas))
        parts = list(
            self._workers.map(lambda i: self._learn_part(self.replicas[i], batch, rows[i], weights), range(len(rows)))
        )
        self._join_replicas()
        clip = config.gradient_clip if config.gradient_clip > 0 else math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), clip)
        if not torch.isfinite(norm):
            raise FloatingPointError(f"the gradient of step {self.steps} is not finite; lower training.learning_rate")
        self.optimizer.step()
        self.steps += 1
        self._update_average()
        return {name: sum(part[name] for part in parts) for name in parts[0]} | {"gradient_norm": float(norm)}

    def _learn_part(self, network: Network, batch: Batch, rows: NDArray[np.int64], weights: float) -> dict[str, float]:
        """Adds the gradients of some rows of a batch. Returns their part of the batch's losses."""
        config, share = self.config, len(rows) / len(batch.planes)

        def tensor(values: NDArray[np.float32]) -> Tensor:
            return torch.from_numpy(values[rows])

        network.train()
        with torch.autocast("cpu", torch.bfloat16, enabled=config.bf16):
            output = network(tensor(batch.planes).to(memory_format=torch.channels_last))
        policy_logits, wdl_logits = output.policy.float(), output.wdl.float()

        target, weight = tensor(batch.policy), tensor(batch.policy_weight)
        log_policy = F.log_softmax(policy_logits, dim=1)
        entropy = -(target * torch.log(target.clamp_min(1e-12))).sum(1)
        policy_loss = ((-(target * log_policy).sum(1) - entropy) * weight).sum() / weights
        mixed = (1 - config.root_value_share) * batch.outcome + config.root_value_share * batch.root
        value_loss = -(tensor(mixed) * F.log_softmax(wdl_logits, dim=1)).sum(1).mean() * share
        moves_loss = F.huber_loss(output.moves_left.float(), tensor(batch.plies_left) / MOVES_LEFT_UNIT) * share
        loss = policy_loss + config.value_weight * value_loss + config.moves_left_weight * moves_loss
        network.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            policy_entropy = -(log_policy.exp() * log_policy).sum(1).mean() * share
            hits = (wdl_logits.argmax(1) == tensor(batch.outcome).argmax(1)).float().mean() * share
        return {
            "total": loss.item(),
            "policy": policy_loss.item(),
            "value": value_loss.item(),
            "moves_left": moves_loss.item(),
            "policy_entropy": policy_entropy.item(),
            "value_accuracy": hits.item(),
        }

    @torch.no_grad()
    def _join_replicas(self) -> None:
        """Gradients are summed, what batch norm has seen is averaged."""
        for others in zip(*(replica.parameters() for replica in self.replicas), strict=True):
            for other in others[1:]:
                others[0].grad += other.grad
        for buffers in zip(*(replica.buffers() for replica in self.replicas), strict=True):
            if buffers[0].is_floating_point():
                buffers[0].copy_(torch.stack(buffers).mean(0))
            for other in buffers[1:]:
                other.copy_(buffers[0])

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

    def load_tensors(self, tensors: dict[str, Tensor], steps: int) -> None:
        def part(prefix: str) -> dict[str, Tensor]:
            return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}

        for replica in self.replicas:
            replica.load_state_dict(part("network."))
        self.average = part("average.")
        state = self.optimizer.state_dict()
        state["state"] = {}
        for name, tensor in part("optimizer.").items():
            index, _, key = name.partition(".")
            state["state"].setdefault(int(index), {})[key] = tensor
        self.optimizer.load_state_dict(state)
        self.steps = steps


def replica_of(network: Network) -> Network:
    """A copy with the same weights in the same memory."""
    replica = copy.deepcopy(network)
    for mine, shared in zip(replica.parameters(), network.parameters(), strict=True):
        mine.data = shared.data
    return replica


def mean_losses(parts: list[dict[str, float]]) -> Losses:
    return Losses(**{name: float(np.mean([part[name] for part in parts])) for name in parts[0]})
