# SPDX-License-Identifier: Apache-2.0
"""What has numbers per channel: batch normalization on codes that no convolution took in, and PReLU."""

from __future__ import annotations

from typing import Any, Callable, Dict, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor

from .. import operations
from .elements import Function, Refused, _meaning, codes_of, is_taken, order_of, quantized
from .report import Taken


class Normalization(Function):
    """torch.ao.nn.quantized.BatchNorm2d and 3d, with or without ReLU, as a depthwise convolution with ones."""

    def __init__(self, source: Any, entry: Taken, engine: str) -> None:
        super().__init__(source, entry, engine)
        self.relu = "ReLU" in type(source).__name__

    def key(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Any:
        if not is_taken(args[0]) or args[0].dim() not in (4, 5):
            return None
        return _meaning(args[0]), order_of(args[0]), args[0].dim()

    def plan(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Callable[..., Tensor]:
        (scale, zero_point), rank = _meaning(args[0]), args[0].dim()
        source: Any = self.call
        channels, out_scale, out_zero_point = source.num_features, float(source.scale), int(source.zero_point)
        weight, bias, mean, variance = (t.detach().numpy()
                                        for t in (source.weight, source.bias, source.running_mean,
                                                  source.running_var))
        inverse = (1.0 / np.sqrt(variance + np.float32(source.eps)).astype(np.float64)).astype(np.float32)
        factor = ((inverse * weight).astype(np.float64) * (scale / out_scale)).astype(np.float32)
        summand = ((bias - mean * inverse * weight).astype(np.float64) / out_scale).astype(np.float32)
        post_ops = [("add", summand.reshape((1, channels) + (1,) * (rank - 2)))] + ([("relu",)] if self.relu else [])
        keywords = dict(groups=channels, rule="ort_f32", scale=factor, x_zero_point=zero_point,
                        zero_point=out_zero_point, dtype="uint8",
                     post_ops=post_ops)
        return _per_channel(self.call, channels, rank, (scale, zero_point), (out_scale, out_zero_point), [keywords])


class PReLU(Function):
    """torch.ao.nn.quantized.PReLU, as a depthwise convolution with ones and a slope per channel behind it."""

    def key(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Any:
        return (_meaning(args[0]), order_of(args[0]), args[0].dim(), args[0].shape[1]) if is_taken(args[0]) else None

    def plan(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Callable[..., Tensor]:
        source: Any = self.call
        slopes, rank, channels = (source.weight.dequantize().numpy().ravel(), args[0].dim(),
                                  args[0].shape[1] if args[0].dim() > 1 else 1)
        if rank not in (3, 4, 5):
            raise Refused(f"the tensor has {rank} dimensions, taken are 3 to 5")
        (scale, zero_point), to = _meaning(args[0]), (float(source.scale), int(source.zero_point))
        column = np.broadcast_to(slopes, channels).reshape((1, channels) + (1,) * (rank - 2)).astype(np.float32)
        inverse = float(np.float32(1) / np.float32(to[0]))
        # PyTorch 1.13's kernel multiplies positive numbers, too; others may not.
        ways: Sequence[Any] = [("mul", column)], [("prelu", slopes)]
        return _per_channel(self.call, channels, rank, (scale, zero_point), to,
                            [dict(groups=channels, rule="ort_f32", scale=np.float32(scale),
                                  x_zero_point=zero_point, zero_point=to[1], dtype="uint8",
                                  post_ops=way + [("linear", inverse, 0.)]) for way in ways])


def _per_channel(call: Callable[[Tensor], Tensor], channels: int, rank: int, given: Tuple[float, int],
                 to: Tuple[float, int], candidates: Sequence[Dict[str, Any]]) -> Callable[..., Tensor]:
    """A depthwise convolution with ones under the first of several keywords that gives PyTorch's codes. Throws Refused.
    """
    ones = operations.Weights(np.ones((channels, 1) + (1,) * (rank - 2), np.int8))
    convolution = (operations.conv1d, operations.conv2d, operations.conv3d)[rank - 3]
    # Every code in every channel, where PyTorch has vectors and where it has their tail.
    codes = np.repeat(np.arange(256, dtype=np.uint8)[:, None], channels, 1).reshape((256, channels) + (1,) * (rank - 2))
    along = np.repeat(np.repeat(np.arange(256, dtype=np.uint8)[None], channels, 0)[None], 1,
                      0).reshape((1, channels) + (1,) * (rank - 3) + (256,))
    images = [(image, codes_of(call(quantized(torch.from_numpy(image), *given)))) for image in (codes, along)]
    least = codes.size
    for keywords in candidates:
        differ = max(int((convolution(image, ones, **keywords) != expected).sum()) for image, expected in images)
        if differ == 0:
            return lambda x, *rest: quantized(torch.from_numpy(convolution(codes_of(x), ones, **keywords)), *to)
        least = min(least, differ)
    raise Refused(f"{least} of {codes.size} codes differ")
