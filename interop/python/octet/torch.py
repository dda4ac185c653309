"""PyTorch's quantized modules on Octet, with the bytes of the engine that they were made for.

    import octet.torch
    fast = octet.torch.convert(quantized)                  # as torch.backends.quantized.engine computes
    print(fast.octet_report)                               # what was taken, and what stays in PyTorch, and why

Works on eager and on FX-quantized modules: quantized convolutions, transposed convolutions and linear layers (dynamic ones, too), with or
without ReLU, are replaced by modules that compute the same on Octet; everything else is PyTorch's.

`torch.ops.octet.conv2d` and `torch.ops.octet.linear` are the operations themselves, on tensors of codes.
"""

from __future__ import annotations

import copy
from typing import List, NamedTuple, Optional, Tuple

import numpy as np
import torch

from . import operations
from ._octet import Weights

_ENGINES = {
    # The bias is rounded to accumulator units, sums are scaled in f32 and rounded before the zero point is added.
    "qnnpack": "ort_f32",
    # Sums and a bias in f32 are scaled together.
    "onednn": "f32",
}


class Taken(NamedTuple):
    """One module of the network: `reason` says why it stays in PyTorch, None where Octet has it."""

    name: str
    kind: str
    reason: Optional[str]


class Report(List[Taken]):
    """All quantized modules. Printed, it is a table."""

    @property
    def taken(self) -> List[Taken]:
        """Those that Octet has."""
        return [m for m in self if m.reason is None]

    @property
    def left(self) -> List[Taken]:
        """Those that stay in PyTorch."""
        return [m for m in self if m.reason is not None]

    def __str__(self) -> str:
        lines = [f"{len(self.taken)} modules on Octet, {len(self.left)} in PyTorch"]
        lines += [f"  {m.name}: {m.kind}: {m.reason or 'octet'}" for m in self]
        return "\n".join(lines)


class _Product(torch.nn.Module):
    """A convolution or linear layer with the weights of a quantized module."""

    def __init__(self, source: torch.nn.Module, rule: str) -> None:
        super().__init__()
        weight, bias = (source.weight(), source.bias()) if hasattr(source, "bias") else source._weight_bias()
        self.rule, self.scale, self.zero_point = rule, float(source.scale), int(source.zero_point)
        self.relu = "ReLU" in type(source).__name__
        self.weights = Weights(np.ascontiguousarray(weight.int_repr().numpy()))
        self.weight_scales = _scales(weight)
        self.bias = None if bias is None else bias.detach().float()
        self.factors_of = {}  # by the input's scale
        self.call = _call_of(source)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = float(x.q_scale())
        if key not in self.factors_of:
            self.factors_of[key] = self._factors(key)
        scale, bias = self.factors_of[key]
        words = {"post_ops": ["relu"]} if self.relu else {}
        codes = self.call(_channels_last(x.int_repr()).numpy(), self.weights, bias, rule=self.rule, scale=scale, dtype="uint8",
                          x_zero_point=x.q_zero_point(), zero_point=self.zero_point, **words)
        y = _channels_last(torch.from_numpy(codes))
        return torch._make_per_tensor_quantized_tensor(y, self.scale, self.zero_point)

    def _factors(self, x_scale: float) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        """Factors from sums to codes, and the bias in the units that the rule adds it in; each product as the engine rounds it."""
        one = np.float32(1)
        if self.rule == "f32":  # oneDNN's wrapper works with reciprocal scales
            unit = np.float32(1 / x_scale) * (one / self.weight_scales)
            return np.float32(1 / self.scale) / unit, None if self.bias is None else self.bias.numpy() * unit
        unit = self.weight_scales * np.float32(x_scale)
        scale = unit * (one / np.float32(self.scale))
        if self.bias is None:
            return scale, None
        if len(unit) == 1:
            return scale, torch.quantize_per_tensor(self.bias, float(unit[0]), 0, torch.qint32).int_repr().numpy()
        codes = torch.quantize_per_channel(self.bias, torch.from_numpy(unit), torch.zeros(len(unit), dtype=torch.long), 0,
                                           torch.qint32)
        return scale, codes.int_repr().numpy()

    def extra_repr(self) -> str:
        return f"rule={self.rule}, scale={self.scale}, zero_point={self.zero_point}, relu={self.relu}"


class _DynamicLinear(torch.nn.Module):
    """A linear layer on floats, which finds the scale of its input at each run."""

    def __init__(self, source: torch.nn.Module, rule: str) -> None:
        super().__init__()
        weight, bias = source.weight(), source.bias()
        self.rule, self.relu = rule, "ReLU" in type(source).__name__
        self.weights = Weights(np.ascontiguousarray(weight.int_repr().numpy()))
        self.weight_scales = _scales(weight)
        self.bias = None if bias is None else bias.detach().float()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # oneDNN's wrapper leaves a bit of the range unused, as old instruction sets need it.
        scale, zero_point = torch._choose_qparams_per_tensor(x, self.rule == "f32")
        codes = torch.quantize_per_tensor(x, scale, zero_point, torch.quint8).int_repr().numpy()
        y = torch.from_numpy(self._scaled(codes, scale, zero_point))
        return torch.relu(y) if self.relu else y

    def _scaled(self, codes: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
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


def _channels_last(t: torch.Tensor) -> torch.Tensor:
    """In the memory order that quantized convolutions have; PyTorch's other operators round differently in another."""
    orders = {4: torch.channels_last, 5: torch.channels_last_3d}
    return t.contiguous(memory_format=orders[t.dim()]) if t.dim() in orders else t


def _scales(weight: torch.Tensor) -> np.ndarray:
    """One, or one per output channel."""
    if weight.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric):
        return weight.q_per_channel_scales().numpy().astype(np.float32)
    return np.array([weight.q_scale()], np.float32)


def _zero_points(weight: torch.Tensor) -> np.ndarray:
    if weight.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric):
        return weight.q_per_channel_zero_points().numpy()
    return np.array([weight.q_zero_point()])


def _quantized():
    import torch.ao.nn.quantized as quantized
    return quantized


def _call_of(source: torch.nn.Module):
    """The operation of a quantized module as a function of codes, weights and bias."""
    q = _quantized()
    if isinstance(source, q.Linear):
        return operations.linear
    words = dict(stride=source.stride, padding=source.padding, dilation=source.dilation, groups=source.groups)
    if isinstance(source, q.ConvTranspose2d):
        words["output_padding"] = source.output_padding
        function = operations.conv_transpose2d
    else:
        function = {q.Conv1d: operations.conv1d, q.Conv2d: operations.conv2d, q.Conv3d: operations.conv3d}[
            next(kind for kind in (q.Conv1d, q.Conv2d, q.Conv3d) if isinstance(source, kind))]
    return lambda x, w, bias, **more: function(x, w, bias, **words, **more)


def _is_dynamic(module: torch.nn.Module) -> bool:
    return ".dynamic" in type(module).__module__


def _reason(module: torch.nn.Module) -> Optional[str]:
    """Why a quantized module cannot be taken."""
    q = _quantized()
    if _is_dynamic(module) and type(module).__name__ not in ("Linear", "LinearReLU"):
        return "of those that find their scales at each run, only linear layers are taken"
    if not isinstance(module, (q.Linear, q.Conv1d, q.Conv2d, q.Conv3d, q.ConvTranspose2d)):
        return "the operation is not taken"
    if type(module).__name__ not in ("Linear", "LinearReLU", "Conv1d", "Conv2d", "Conv3d", "ConvReLU1d", "ConvReLU2d",
                                     "ConvReLU3d", "ConvTranspose2d"):
        return f"{type(module).__name__} has an activation that is not taken"
    if getattr(module, "padding_mode", "zeros") != "zeros":
        return f"padding_mode is '{module.padding_mode}', taken is 'zeros'"
    if isinstance(getattr(module, "padding", ()), str):
        return f"padding is '{module.padding}', taken are numbers"
    try:
        weight = module.weight()
    except RuntimeError as e:
        return f"PyTorch does not show its weights: {e}".splitlines()[0]
    if weight.dtype != torch.qint8:
        return f"weights are {weight.dtype}, taken is torch.qint8"
    if np.any(_zero_points(weight) != 0):
        return "weights have zero points other than 0"
    return None


def convert(module: torch.nn.Module, engine: Optional[str] = None, *, rule: Optional[str] = None) -> torch.nn.Module:
    """A copy of a quantized module that runs on Octet where it can.

    engine: "qnnpack" or "onednn", whose arithmetic is kept; by default torch.backends.quantized.engine.
    rule: another contract instead (`octet.rules()` with f32 scales, such as "f32" and "ort_f32").

    The copy's `octet_report` lists every quantized module, taken or left, with the reason.
    """
    engine = engine or torch.backends.quantized.engine
    if rule is None:
        if engine not in _ENGINES:
            raise ValueError(f"engine is '{engine}', allowed: {', '.join(_ENGINES)}")
        rule = _ENGINES[engine]
    elif rule not in ("f32", "ort_f32"):
        raise ValueError(f"rule is '{rule}', allowed: f32, ort_f32")
    result = copy.deepcopy(module).eval()
    report = Report()
    result = _converted(result, "", rule, report)
    result.octet_report = report
    return result


def _converted(module: torch.nn.Module, name: str, rule: str, report: Report) -> torch.nn.Module:
    if "quantized" in type(module).__module__ and hasattr(module, "weight") and callable(module.weight):
        reason = _reason(module)
        report.append(Taken(name or "(the module itself)", type(module).__name__, reason))
        if reason:
            return module
        return _DynamicLinear(module, rule) if _is_dynamic(module) else _Product(module, rule)
    for child_name, child in list(module.named_children()):
        replaced = _converted(child, f"{name}.{child_name}" if name else child_name, rule, report)
        if replaced is not child:
            setattr(module, child_name, replaced)
    return module


# ---- torch.ops.octet

_library = torch.library.Library("octet", "DEF")
_library.define("conv2d(Tensor x, Tensor w, Tensor? bias, int[2] stride, int[2] padding, int[2] dilation, int groups, "
                "Tensor scale, int x_zero_point, int zero_point, str rule) -> Tensor")
_library.define("linear(Tensor x, Tensor w, Tensor? bias, Tensor scale, int x_zero_point, int zero_point, str rule) -> Tensor")


def _numpy(t: Optional[torch.Tensor]) -> Optional[np.ndarray]:
    return None if t is None else t.detach().numpy()


def _conv2d(x, w, bias, stride, padding, dilation, groups, scale, x_zero_point, zero_point, rule):
    return torch.from_numpy(operations.conv2d(_numpy(x), _numpy(w), _numpy(bias), stride=stride, padding=padding,
                                              dilation=dilation, groups=groups, rule=rule, scale=_numpy(scale),
                                              x_zero_point=x_zero_point, zero_point=zero_point))


def _linear(x, w, bias, scale, x_zero_point, zero_point, rule):
    return torch.from_numpy(operations.linear(_numpy(x), _numpy(w), _numpy(bias), rule=rule, scale=_numpy(scale),
                                              x_zero_point=x_zero_point, zero_point=zero_point))


_library.impl("conv2d", _conv2d, "CPU")
_library.impl("linear", _linear, "CPU")
