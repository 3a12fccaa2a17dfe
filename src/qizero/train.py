"""Learning from rows: loss, optimiser, learning rate, averaged weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from qizero.config import TrainingConfig
from qizero.network import MOVES_LEFT_UNIT, Network
from qizero.replay import Batch

__all__ = ["Losses", "Trainer"]


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


class Trainer:
    """A network with its optimiser and its average. `step` learns from one batch."""

    def __init__(self, network: Network, config: TrainingConfig) -> None:
        self.config = config
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
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
        self.network.train()
        planes = torch.from_numpy(batch.planes).to(memory_format=torch.channels_last)
        with torch.autocast("cpu", torch.bfloat16, enabled=config.bf16):
            output = self.network(planes)
        policy_logits, wdl_logits = output.policy.float(), output.wdl.float()

        target = torch.from_numpy(batch.policy)
        weight = torch.from_numpy(batch.policy_weight)
        log_policy = F.log_softmax(policy_logits, dim=1)
        entropy = -(target * torch.log(target.clamp_min(1e-12))).sum(1)
        weights = weight.sum().clamp_min(1.0)
        policy_loss = ((-(target * log_policy).sum(1) - entropy) * weight).sum() / weights
        mixed = (1 - config.root_value_share) * batch.outcome + config.root_value_share * batch.root
        value_loss = -(torch.from_numpy(mixed) * F.log_softmax(wdl_logits, dim=1)).sum(1).mean()
        plies = torch.from_numpy(batch.plies_left) / MOVES_LEFT_UNIT
        moves_loss = F.huber_loss(output.moves_left.float(), plies)
        loss = policy_loss + config.value_weight * value_loss + config.moves_left_weight * moves_loss

        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        clip = config.gradient_clip if config.gradient_clip > 0 else math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), clip)
        if not torch.isfinite(norm):
            raise FloatingPointError(f"the gradient of step {self.steps} is not finite; lower training.learning_rate")
        self.optimizer.step()
        self.steps += 1
        self._update_average()
        with torch.no_grad():
            policy_entropy = -(log_policy.exp() * log_policy).sum(1).mean()
            hits = wdl_logits.argmax(1) == torch.from_numpy(batch.outcome).argmax(1)
        return {
            "total": loss.item(),
            "policy": policy_loss.item(),
            "value": value_loss.item(),
            "moves_left": moves_loss.item(),
            "policy_entropy": policy_entropy.item(),
            "value_accuracy": hits.float().mean().item(),
            "gradient_norm": float(norm),
        }

    @torch.no_grad()
    def _update_average(self) -> None:
        """Exponential average; young averages move faster, so that the first weights do not linger."""
        decay = min(self.config.ema, (1 + self.steps) / (10 + self.steps))
        for name, tensor in self.network.state_dict().items():
            if tensor.is_floating_point():
                self.average[name].lerp_(tensor, 1 - decay)
            else:
                self.average[name].copy_(tensor)

    def averaged_network(self) -> Network:
        """A copy of the network with the averaged weights: the one that plays."""
        network = Network(
            self.network.config, self.network.num_planes, self.network.board_shape, self.network.num_actions
        )
        network.load_state_dict(self.average)
        return network.eval()

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

        self.network.load_state_dict(part("network."))
        self.average = part("average.")
        state = self.optimizer.state_dict()
        state["state"] = {}
        for name, tensor in part("optimizer.").items():
            index, _, key = name.partition(".")
            state["state"].setdefault(int(index), {})[key] = tensor
        self.optimizer.load_state_dict(state)
        self.steps = steps


def mean_losses(parts: list[dict[str, float]]) -> Losses:
    return Losses(**{name: float(np.mean([part[name] for part in parts])) for name in parts[0]})
