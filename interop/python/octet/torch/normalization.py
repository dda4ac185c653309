"""Batch normalization on codes that no convolution took in: a factor and a summand per channel."""

from __future__ import annotations

from typing import Any, Callable, Dict, Sequence

import numpy as np
import torch
from torch import Tensor

from .. import operations
from ..operations import Array
from .elements import Function, Refused, _is_channels_last, _meaning, codes_of, is_taken, quantized
from .report import Taken


class Normalization(Function):
    """torch.ao.nn.quantized.BatchNorm2d and 3d, with or without ReLU, as a depthwise convolution with ones."""

    def __init__(self, source: Any, entry: Taken, engine: str) -> None:
        super().__init__(source, entry, engine)
        self.relu = "ReLU" in type(source).__name__

    def key(self, args: Sequence[Any], words: Dict[str, Any]) -> Any:
        if not is_taken(args[0]) or args[0].dim() not in (4, 5):
            return None
        return _meaning(args[0]), _is_channels_last(args[0]), args[0].dim()

    def plan(self, args: Sequence[Any], words: Dict[str, Any]) -> Callable[..., Tensor]:
        (scale, zero_point), rank = _meaning(args[0]), args[0].dim()
        source: Any = self.call
        channels, out_scale, out_zero_point = source.num_features, float(source.scale), int(source.zero_point)
        weight, bias, mean, variance = (t.detach().numpy() for t in (source.weight, source.bias, source.running_mean, source.running_var))
        inverse = (1.0 / np.sqrt(variance + np.float32(source.eps)).astype(np.float64)).astype(np.float32)
        factor = ((inverse * weight).astype(np.float64) * (scale / out_scale)).astype(np.float32)
        summand = ((bias - mean * inverse * weight).astype(np.float64) / out_scale).astype(np.float32)
        post_ops = [("add", summand.reshape((1, channels) + (1,) * (rank - 2)))] + ([("relu",)] if self.relu else [])
        words = dict(groups=channels, rule="ort_f32", scale=factor, x_zero_point=zero_point, zero_point=out_zero_point, dtype="uint8",
                     post_ops=post_ops)
        ones = operations.Weights(np.ones((channels, 1) + (1,) * (rank - 2), np.int8))
        convolution = operations.conv2d if rank == 4 else operations.conv3d

        def run(x: Array) -> Array:
            return convolution(x, ones, **words)

        # Every code in every channel, where PyTorch has vectors and where it has their tail.
        codes = np.repeat(np.arange(256, dtype=np.uint8)[:, None], channels, 1).reshape((256, channels) + (1,) * (rank - 2))
        expected = codes_of(self.call(quantized(torch.from_numpy(codes), scale, zero_point)))
        differ = int((run(codes) != expected).sum())
        if differ:
            raise Refused(f"{differ} of {codes.size} codes differ")
        return lambda x, *rest: quantized(torch.from_numpy(run(codes_of(x))), out_scale, out_zero_point)
