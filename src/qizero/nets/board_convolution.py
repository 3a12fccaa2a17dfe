"""3x3 convolutions that learn fast on a CPU: by the core's Winograd kernels, forward and backward.

torch sums a convolution plainly; the core needs a quarter of the multiplications. On a processor or for a shape that
the core does not support, torch does it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from qizero._core import NativeNetwork, channel_multiple, convolve_boards, convolve_boards_gradient

__all__ = ["convolve"]


def convolve(x: Tensor, weight: Tensor) -> Tensor:
    """The 3x3 convolution of boards [B, C, H, W] that keeps their size; by the core while something learns from it."""
    if torch.is_grad_enabled() and core_can(x, weight):
        return CoreConvolution.apply(x, weight)  # type: ignore[no-any-return, no-untyped-call]
    return F.conv2d(x, weight, padding=1)


def core_can(x: Tensor, weight: Tensor) -> bool:
    """Whether the core's kernels take this, and nobody asked for another precision."""
    multiple = channel_multiple()
    channels_fit = weight.shape[0] % multiple == 0 and (weight.shape[1] % multiple == 0 or not x.requires_grad)
    return (
        channels_fit
        and x.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
        and NativeNetwork.supported()
    )


class CoreConvolution(torch.autograd.Function):
    """Boards [B, C, H, W] in torch's channels_last memory, which is the core's [B, H, W, C]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        x = x.contiguous(memory_format=torch.channels_last)
        weight = weight.contiguous()
        result = empty_boards(x, weight.shape[0])
        convolve_boards(by_cell(x), weight.detach(), by_cell(result))
        ctx.save_for_backward(x, weight)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor]:
        x, weight = ctx.saved_tensors
        result_gradient = gradients[0].contiguous(memory_format=torch.channels_last)
        x_gradient = empty_boards(x, x.shape[1]) if ctx.needs_input_grad[0] else None
        weight_gradient = torch.empty_like(weight, memory_format=torch.contiguous_format)
        convolve_boards_gradient(
            by_cell(x),
            weight.detach(),
            by_cell(result_gradient),
            None if x_gradient is None else by_cell(x_gradient),
            weight_gradient,
        )
        return x_gradient, weight_gradient


def empty_boards(like: Tensor, channels: int) -> Tensor:
    boards, _, height, width = like.shape
    return torch.empty((boards, channels, height, width), memory_format=torch.channels_last)


def by_cell(boards: Tensor) -> Tensor:
    """[B, C, H, W] -> [B, H, W, C], the same memory."""
    return boards.detach().permute(0, 2, 3, 1)
