"""Convolutions on small maps without the products that meet nothing but padding.

A 3 x 3 kernel on a map of one pixel multiplies eight ninths of its weights, its taps, with zeros; on 2 x 2
pixels five ninths. Here the taps that can meet a pixel are kept as matrices, and only they are multiplied.
This module needs torch, and is imported where it is used.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..lazy_torch import Tensor, nn, torch

__all__ = ["TapConv", "lean_twin"]

#: The largest side of an output that is worth it: for 4 x 4 pixels the kernels of oneDNN are as fast.
SIDE = 2


class _Overlap(NamedTuple):
    """Where a kernel meets the map along one axis: the pixels, and the first tap that lies on them."""

    start: int
    stop: int
    tap: int


class _Product(NamedTuple):
    """A row of neighbouring pixels, the taps that lie on it, and the pixel that their product is added to."""

    to: tuple[int, int]
    pixels: tuple[int, slice]
    taps: tuple[int, slice]


def _overlaps(side: int, *, kernel: int, stride: int, padding: int) -> list[_Overlap]:
    """Return where the kernel meets a map of this side, for each place of the output."""
    found = []
    for place in range((side + 2 * padding - kernel) // stride + 1):
        first = place * stride - padding
        found.append(_Overlap(max(0, first), min(side, first + kernel), max(0, -first)))
    return found


def _products(overlaps: Sequence[_Overlap], first_tap: int) -> list[_Product]:
    """Return the products of a square map; taps are counted from the first that meets a pixel at all."""
    return [
        _Product(
            (row, column),
            (pixel, slice(across.start, across.stop)),
            (
                down.tap - first_tap + pixel - down.start,
                slice(across.tap - first_tap, across.tap - first_tap + across.stop - across.start),
            ),
        )
        for row, down in enumerate(overlaps)
        for column, across in enumerate(overlaps)
        for pixel in range(down.start, down.stop)
    ]


class _TapProducts(torch.autograd.Function):
    """The output (n, side, side, channels) of pixels (n, side, side, channels) and taps (k, k, in, out)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, taps: Tensor, products: Sequence[_Product], side: int) -> Tensor:
        ctx.save_for_backward(x, taps)
        ctx.products = products
        out = x.new_zeros(len(x), side, side, taps.shape[-1])
        for to, pixels, own in products:
            out[:, *to].addmm_(x[:, *pixels].flatten(1), taps[own].flatten(0, 1))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x, taps = ctx.saved_tensors
        grad = grads[0].contiguous()
        to_x, to_taps = torch.zeros_like(x), torch.zeros_like(taps)
        for to, pixels, own in ctx.products:
            here, read, by = grad[:, *to], x[:, *pixels].flatten(1), taps[own].flatten(0, 1)
            to_x[:, *pixels].view_as(read).addmm_(here, by.t())
            to_taps[own].view_as(by).addmm_(read.t(), here)
        return to_x, to_taps, None, None


class TapConv(nn.Module):
    """A convolution on maps of one known side, with those of its weights that can meet a pixel."""

    def __init__(self, conv: nn.Conv2d, side: int) -> None:
        super().__init__()
        shape = {"kernel": conv.kernel_size[0], "stride": conv.stride[0], "padding": int(conv.padding[0])}
        overlaps = _overlaps(side, **shape)
        first = min(one.tap for one in overlaps)
        self.live = slice(first, max(one.tap + one.stop - one.start for one in overlaps))
        self.side, self.products = len(overlaps), _products(overlaps, first)
        self.whole = (conv.weight,)  # not its own: hidden from parameters()
        self.taps = nn.Parameter(self._read())

    def _read(self) -> Tensor:
        (weight,) = self.whole
        return weight.detach()[:, :, self.live, self.live].permute(2, 3, 1, 0).contiguous()

    def load(self) -> None:
        """Take the taps from the convolution."""
        with torch.no_grad():
            self.taps.copy_(self._read())

    def store(self) -> None:
        """Write the taps back into the convolution; its other weights have met nothing."""
        (weight,) = self.whole
        with torch.no_grad():
            weight[:, :, self.live, self.live] = self.taps.permute(3, 2, 0, 1)

    def forward(self, x: Tensor) -> Tensor:
        pixels = x.permute(0, 2, 3, 1).contiguous()
        taps: Tensor = self.taps
        if torch.is_autocast_enabled(x.device.type):  # as torch does with a convolution's own
            dtype = torch.get_autocast_dtype(x.device.type)
            pixels, taps = pixels.to(dtype), taps.to(dtype)
        out: Tensor = _TapProducts.apply(  # type: ignore[no-untyped-call]
            pixels, taps, self.products, self.side
        )
        return out.permute(0, 3, 1, 2)


def lean_twin(model: nn.Module, example: Tensor) -> nn.Module:
    """Return the same network on the same parameters and buffers, its small maps convolved by `TapConv`.

    The example says how large the maps are; the twin takes no other. The taps are copies: each TapConv loads
    them from the network, and stores them into it.
    """
    sides: dict[nn.Conv2d, int] = {}

    def see(conv: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        height, width = inputs[0].shape[2:]
        if height == width and output.shape[-1] <= SIDE and _is_plain(conv):
            sides[conv] = height

    hooks = [one.register_forward_hook(see) for one in model.modules() if isinstance(one, nn.Conv2d)]
    with torch.no_grad():
        model.eval()(example)
    for hook in hooks:
        hook.remove()
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    return copy.deepcopy(model, shared | {id(conv): TapConv(conv, side) for conv, side in sides.items()})


def _is_plain(conv: nn.Conv2d) -> bool:
    """Return whether a convolution is one that TapConv knows: square, padded by a number, nothing else."""
    return (
        conv.kernel_size[0] == conv.kernel_size[1]
        and conv.stride[0] == conv.stride[1]
        and not isinstance(conv.padding, str)
        and conv.padding[0] == conv.padding[1] == conv.kernel_size[0] // 2
        and (conv.groups, conv.dilation, conv.bias, conv.padding_mode) == (1, (1, 1), None, "zeros")
    )
