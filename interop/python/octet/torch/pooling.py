# SPDX-License-Identifier: Apache-2.0
"""Pooling of codes, of sequences, images and volumes."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor

from .. import operations
from ..operations import Array
from .elements import Function, Refused, _frozen, _meaning, codes_of, is_taken, order_of, quantized
from .report import Taken

_Sizes = Tuple[int, ...]


class Pooling(Function):
    """max_pool1d and 2d, avg_pool1d to 3d, adaptive_avg_pool1d to 3d."""

    def __init__(self, call: Callable[..., Any], entry: Taken, engine: str, function: str) -> None:
        super().__init__(call, entry, engine)
        self.function, self.sides = function[:-2], int(function[-2])

    def key(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Any:
        if not args or not is_taken(args[0]):
            return None
        return _frozen(args), _frozen(keywords), tuple(args[0].shape[1:]), order_of(args[0])

    def plan(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Callable[..., Tensor]:
        if args[0].dim() != self.sides + 2:
            raise Refused(f"the tensor has {args[0].dim()} dimensions, taken are {self.sides + 2}")
        return getattr(self, "_" + self.function)(args[0], *args[1:], **keywords)

    def _per_side(self, value: Any) -> _Sizes:
        values = (value,) if isinstance(value, int) else tuple(value)
        return values * self.sides if len(values) == 1 else values

    def _max_pool(self, x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                  ceil_mode: bool = False, return_indices: bool = False) -> Callable[..., Tensor]:
        if return_indices:
            raise Refused("return_indices is not taken")
        kernel = self._per_side(kernel_size)
        strides, paddings, dilations = (self._per_side(stride) if stride else kernel, self._per_side(padding),
                                        self._per_side(dilation))
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
        after = ([_padding_behind(*each) for each in zip(x.shape[2:], extents, strides, paddings)]
                 if ceil_mode else paddings)
        function: Any = getattr(operations, f"max_pool{self.sides}d")
        how: Dict[str, Any] = dict(stride=strides, padding=tuple(zip(paddings, after)), dilation=dilations)
        meaning = _meaning(x)
        return lambda x, *rest: quantized(torch.from_numpy(function(codes_of(x), kernel, **how)), *meaning)

    def _adaptive_avg_pool(self, x: Tensor, output_size: Any) -> Callable[..., Tensor]:
        sizes = tuple(x.shape[2:])
        wanted = tuple(o or i for o, i in zip(self._per_side(output_size), sizes))
        if any(i % o for o, i in zip(wanted, sizes)):
            raise Refused(f"{' x '.join(map(str, sizes))} are no multiples of {' x '.join(map(str, wanted))}")
        kernel = tuple(i // o for o, i in zip(wanted, sizes))
        return self._averages(x, kernel, kernel, (0,) * self.sides,
                              lambda t: self.call(t, (1,) * self.sides if self.sides > 1 else 1))

    def _avg_pool(self, x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                  count_include_pad: bool = True, divisor_override: Optional[int] = None) -> Callable[..., Tensor]:
        kernel, paddings = self._per_side(kernel_size), self._per_side(padding)
        strides = self._per_side(stride) if stride else kernel
        if any(paddings) and not count_include_pad:
            raise Refused("padding that is not counted is not taken")
        if ceil_mode and any((n + 2 * p - k) % s for n, p, k, s in zip(x.shape[2:], paddings, kernel, strides)):
            raise Refused("ceil_mode makes windows that are cut off, whose averages are not taken")
        more = {} if divisor_override is None else dict(divisor_override=divisor_override)
        return self._averages(x, kernel, strides, paddings, lambda t: self.call(t, kernel, **more), divisor_override)

    def _averages(self, x: Tensor, kernel: _Sizes, strides: _Sizes, paddings: _Sizes,
                  of_windows: Callable[[Tensor], Tensor],
                  divisor: Optional[int] = None) -> Callable[..., Tensor]:
        """Averages are a depthwise convolution with ones: round(Σ (code - zero point) * f32(1 / n)) + zero point.
        """
        scale, zero_point = _meaning(x)
        channels, count = x.shape[1], int(np.prod(kernel))
        if count > 4096:
            raise Refused(f"windows have {count} elements, taken are 4096")
        convolution: Any = getattr(operations, f"conv{self.sides}d")
        ones = operations.Weights(np.ones((channels, 1) + kernel, np.int8))
        keywords: Dict[str, Any] = dict(stride=strides, groups=channels, rule="ort_f32", dtype="uint8")
        images = _sums(kernel, channels if channels < 128 else 64 + channels % 64)
        expected = codes_of(of_windows(quantized(images.contiguous(memory_format=order_of(x)), scale, zero_point)))
        few = np.ones((images.shape[1], 1) + kernel, np.int8)
        n, least = np.float32(divisor or count), expected.size
        around: Dict[str, Any] = dict(x_zero_point=zero_point, zero_point=zero_point)
        plain: Dict[str, Any] = dict(scale=np.float32(1) / n)  # codes without their zero point
        for how in (dict(around, scale=np.float32(1) / n),
                    dict(around, scale=np.float32(scale) / (np.float32(scale) * n)), plain):
            if "zero_point" not in how and (any(paddings) or divisor):
                continue
            ours = convolution(images.numpy(), few, **{**keywords, **how, "groups": images.shape[1]})
            differ = int((ours != expected).sum())
            if differ == 0:
                keywords.update(how, padding=paddings)
                return lambda x, *rest: quantized(
                    torch.from_numpy(convolution(codes_of(x), ones, **keywords)), scale, zero_point)
            least = min(least, differ)
        raise Refused(f"{least} of {expected.size} sums give other codes")


def _padding_behind(size: int, extent: int, stride: int, padding: int) -> int:
    """With ceil_mode: as much as the last window reaches beyond the image; it has to begin inside, or in the
    padding before."""
    places = -(-(size + 2 * padding - extent) // stride) + 1
    if (places - 1) * stride >= size + padding:
        places -= 1
    return (places - 1) * stride + extent - size - padding


def _sums(kernel: _Sizes, channels: int) -> Tensor:
    """Images of one window with every sum that it can have (of large windows some), over all channels, three
    times in another order."""
    count = int(np.prod(kernel))
    sums: Array = np.arange(0, 255 * count + 1, max(1, 255 * count // 8000))
    random = np.random.default_rng(count)
    sums = np.concatenate([random.permutation(sums) for _ in range(3)] + [sums[:-3 * len(sums) % channels]])
    windows = np.repeat((sums // count)[:, None], count, 1) + (np.arange(count) < (sums % count)[:, None])
    return torch.from_numpy(windows.astype(np.uint8).reshape((-1, channels) + kernel))
