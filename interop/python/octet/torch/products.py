# SPDX-License-Identifier: Apache-2.0
"""Quantized convolutions and linear layers of PyTorch as operations of Octet."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np
import torch

from .. import operations
from ..arguments import Weights
from ..operations import Array
from .elements import CHANNELS_LAST, codes_of, unseen

ENGINES = {
    # The bias is rounded to accumulator units, sums are scaled in f32 and rounded before the zero point is added.
    "qnnpack": "ort_f32",
    # Sums and a bias in f32 are scaled together.
    "onednn": "f32",
}


class Product(torch.nn.Module):
    """A convolution or linear layer with the weights of a quantized module."""

    def __init__(self, source: torch.nn.Module, rule: str) -> None:
        super().__init__()
        weight, bias = (source.weight(), source.bias()) if hasattr(source, "bias") else source._weight_bias()
        self.rule, self.scale, self.zero_point = rule, float(source.scale), int(source.zero_point)
        self.relu = "ReLU" in type(source).__name__
        self.weights = Weights(np.ascontiguousarray(weight.int_repr().numpy()))
        self.weight_scales = _scales(weight)
        self.bias = None if bias is None else bias.detach().float()
        self.factors_of: Dict[float, Tuple[Array, Optional[Array]]] = {}  # by the input's scale
        self.call = _call_of(source)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with unseen():
            return self._product(x)

    def _product(self, x: torch.Tensor) -> torch.Tensor:
        key = float(x.q_scale())
        if key not in self.factors_of:
            self.factors_of[key] = self._factors(key, self.scale)
        return self._scaled(x, *self.factors_of[key], self.scale, self.zero_point)

    def _scaled(self, x: torch.Tensor, factors: Array, bias: Optional[Array], scale: float,
                zero_point: int) -> torch.Tensor:
        keywords = {"post_ops": ["relu"]} if self.relu else {}
        codes = self.call(codes_of(channels_last(x)), self.weights, bias, rule=self.rule, scale=factors, dtype="uint8",
                          x_zero_point=x.q_zero_point(), zero_point=zero_point, **keywords)
        return torch._make_per_tensor_quantized_tensor(channels_last(torch.from_numpy(codes)), scale, zero_point)

    def _factors(self, x_scale: float, y_scale: float) -> Tuple[Array, Optional[Array]]:
        """Factors from sums to codes, and the bias in the units that the rule adds it in; each product as the
        engine rounds it."""
        one = np.float32(1)
        if self.rule == "f32":  # oneDNN's wrapper works with reciprocal scales
            unit = np.float32(1 / x_scale) * (one / self.weight_scales)
            return np.float32(1 / y_scale) / unit, None if self.bias is None else self.bias.numpy() * unit
        unit = self.weight_scales * np.float32(x_scale)
        scale = unit * (one / np.float32(y_scale))
        if self.bias is None:
            return scale, None
        if len(unit) == 1:
            return scale, torch.quantize_per_tensor(self.bias, float(unit[0]), 0, torch.qint32).int_repr().numpy()
        codes = torch.quantize_per_channel(self.bias, torch.from_numpy(unit),
                                           torch.zeros(len(unit), dtype=torch.long), 0,
                                           torch.qint32)
        return scale, codes.int_repr().numpy()

    def extra_repr(self) -> str:
        return f"rule={self.rule}, scale={self.scale}, zero_point={self.zero_point}, relu={self.relu}"


class DynamicConvolution(Product):
    """A convolution on floats, which finds the scale of its input at each run and gives its result the same."""

    def _product(self, x: torch.Tensor) -> torch.Tensor:
        scale, zero_point = torch._choose_qparams_per_tensor(x, self.rule == "f32")
        codes = torch.quantize_per_tensor(x, scale, zero_point, torch.quint8)
        return self._scaled(codes, *self._factors(codes.q_scale(), codes.q_scale()), codes.q_scale(),
                            codes.q_zero_point()).dequantize()


class DynamicLinear(torch.nn.Module):
    """A linear layer on floats, which finds the scale of its input at each run."""

    def __init__(self, source: torch.nn.Module, rule: str) -> None:
        super().__init__()
        weight, bias = source.weight(), source.bias()
        self.rule, self.relu = rule, "ReLU" in type(source).__name__
        self.weights = Weights(np.ascontiguousarray(weight.int_repr().numpy()))
        self.weight_scales = _scales(weight)
        self.bias = None if bias is None else bias.detach().float()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with unseen():
            return self._product(x)

    def _product(self, x: torch.Tensor) -> torch.Tensor:
        # oneDNN's wrapper leaves a bit of the range unused, as old instruction sets need it.
        scale, zero_point = torch._choose_qparams_per_tensor(x, self.rule == "f32")
        codes = torch.quantize_per_tensor(x, scale, zero_point, torch.quint8).int_repr().numpy()
        y = torch.from_numpy(self._scaled(codes, scale, zero_point))
        return torch.relu(y) if self.relu else y

    def _scaled(self, codes: Array, scale: float, zero_point: int) -> Array:
        one = np.float32(1)
        if self.rule == "f32":
            unit = np.float32(1 / scale) * (one / self.weight_scales)
            bias = None if self.bias is None else self.bias.numpy() * unit
            return operations.linear(codes, self.weights, bias, rule="f32", scale=one / unit, x_zero_point=zero_point,
                                     dtype="float32")
        sums = operations.linear(codes, self.weights, rule="none", x_zero_point=zero_point)
        y = sums.astype(np.float32) * (self.weight_scales * np.float32(scale))
        return y if self.bias is None else y + self.bias.numpy()

    def extra_repr(self) -> str:
        return f"rule={self.rule}, relu={self.relu}"


def channels_last(t: torch.Tensor) -> torch.Tensor:
    """In the memory order that quantized convolutions have; PyTorch's other operators round differently in another."""
    return t.contiguous(memory_format=CHANNELS_LAST[t.dim()]) if t.dim() in CHANNELS_LAST else t


def _scales(weight: torch.Tensor) -> Array:
    """One, or one per output channel."""
    if weight.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric):
        return weight.q_per_channel_scales().numpy().astype(np.float32)
    return np.array([weight.q_scale()], np.float32)


def _zero_points(weight: torch.Tensor) -> Array:
    if weight.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric):
        return weight.q_per_channel_zero_points().numpy()
    return np.array([weight.q_zero_point()])


def _quantized() -> Any:
    import torch.ao.nn.quantized as quantized
    return quantized


def _call_of(source: torch.nn.Module) -> Callable[..., Array]:
    """The operation of a quantized module as a function of codes, weights and bias."""
    q = _quantized()
    if isinstance(source, q.Linear):
        return operations.linear
    keywords = dict(stride=source.stride, padding=source.padding, dilation=source.dilation, groups=source.groups)
    kinds: Dict[Any, Any] = {q.ConvTranspose1d: operations.conv_transpose1d,
                             q.ConvTranspose2d: operations.conv_transpose2d,
                             q.ConvTranspose3d: operations.conv_transpose3d, q.Conv1d: operations.conv1d,
                             q.Conv2d: operations.conv2d, q.Conv3d: operations.conv3d}
    function = next(operation for kind, operation in kinds.items() if isinstance(source, kind))
    if "Transpose" in type(source).__name__:
        keywords["output_padding"] = source.output_padding
    return lambda x, w, bias, **more: function(x, w, bias, **keywords, **more)


def taken(module: torch.nn.Module, rule: str) -> torch.nn.Module:
    """What stands for a module without a `reason`."""
    if ".dynamic" not in type(module).__module__:
        return Product(module, rule)
    return DynamicLinear(module, rule) if isinstance(module, _quantized().Linear) else DynamicConvolution(module, rule)


def reason(module: torch.nn.Module) -> Optional[str]:
    """Why a quantized module cannot be taken."""
    q = _quantized()
    if not isinstance(module, (q.Linear, q.Conv1d, q.Conv2d, q.Conv3d, q.ConvTranspose1d, q.ConvTranspose2d,
                               q.ConvTranspose3d)):
        return "the operation is not taken"
    if type(module).__name__ not in ("Linear", "LinearReLU", "Conv1d", "Conv2d", "Conv3d", "ConvReLU1d", "ConvReLU2d",
                                     "ConvReLU3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"):
        return f"{type(module).__name__} has an activation that is not taken"
    if getattr(module, "padding_mode", "zeros") != "zeros":
        return f"padding_mode is '{module.padding_mode}', taken is 'zeros'"
    if isinstance(getattr(module, "padding", ()), str):
        return f"padding is '{module.padding}', taken are numbers"
    try:
        weight = module.weight()
    except RuntimeError as e:
        return f"PyTorch does not show its weights: {e}".splitlines()[0]
    return weights_reason(weight)


def weights_reason(weight: torch.Tensor) -> Optional[str]:
    """Why weights cannot be taken."""
    if weight.dtype != torch.qint8:
        return f"weights are {weight.dtype}, taken is torch.qint8"
    return "weights have zero points other than 0" if np.any(_zero_points(weight) != 0) else None
