# SPDX-License-Identifier: Apache-2.0
"""Finds what of a network Octet takes: its modules and, in FX graphs, its functions."""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, Optional, Tuple, cast

import torch

from . import products, recurrent
from .calls import Calls, Seen, is_composed
from .elements import Concatenation, Elementwise, Function, Pairwise
from .normalization import Normalization, PReLU
from .pooling import Pooling
from .report import CHANGES, MOVES, Report, Taken

_nn, _functions = torch.nn, torch.nn.functional
# PyTorch's quantized modules are derived from these.
_ELEMENTWISE_MODULES = (_nn.ReLU, _nn.ReLU6, _nn.Hardtanh, _nn.Sigmoid, _nn.Tanh, _nn.Hardsigmoid, _nn.LeakyReLU,
                        _nn.ELU, _nn.CELU, _nn.Hardswish, _nn.Threshold, _nn.GELU)
_ELEMENTWISE = ("relu", "relu6", "hardtanh", "sigmoid", "tanh", "hardsigmoid", "leaky_relu", "elu", "celu",
                "hardswish", "clamp", "threshold", "gelu", "add_scalar", "add_scalar_relu", "mul_scalar",
                "mul_scalar_relu")
_PAIRWISE = ("add", "add_relu", "mul", "mul_relu")
_POOLING = ("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d",
            "adaptive_avg_pool2d", "adaptive_avg_pool3d")
_POOLING_MODULES = (_nn.MaxPool1d, _nn.MaxPool2d, _nn.AvgPool1d, _nn.AvgPool2d, _nn.AvgPool3d,
                    _nn.AdaptiveAvgPool1d, _nn.AdaptiveAvgPool2d, _nn.AdaptiveAvgPool3d)
_MOVES = ("flatten", "reshape", "view", "permute", "transpose", "getitem", "getattr", "size", "contiguous",
          "squeeze", "unsqueeze", "chunk", "split", "dim", "detach", "clone", "channel_shuffle", "unflatten",
          "pad", "pixel_shuffle", "pixel_unshuffle", "stack", "unbind", "select", "expand", "repeat", "roll",
          "flip", "t", "movedim", "swapaxes", "narrow", "unsafe_chunk", "index_select")
# What cannot have PyTorch's bytes, or has nothing to compute with.
_REASONS = {
    ("embedding", "embeddingbag"): "looks up rows and gives floats, for which Octet has no operation",
    ("softmax",): "PyTorch's exponentials of floats have last bits of their own",
    ("layernorm", "groupnorm", "instancenorm1d", "instancenorm2d", "instancenorm3d", "layer_norm",
     "group_norm", "instance_norm"):
        "finds statistics of codes at each run, for which Octet has no operation",
    ("mean", "std"): "PyTorch adds floats, whose order decides the last bit",
    ("matmul", "bmm", "einsum", "baddbmm"): "PyTorch multiplies floats",
    ("dropout",): "does nothing unless a network is trained",
    ("interpolate", "upsample", "upsample_bilinear",
     "upsample_nearest"): "copies or mixes pixels by PyTorch's own positions",
}
_BOUNDARIES = ("quantize_per_tensor", "dequantize", "quantize", "quantize_per_tensor_dynamic")


def function_of(name: str, call: Callable[..., Any], entry: Taken, engine: str) -> Optional[Function]:
    """A function of PyTorch on Octet, None for those that are not taken."""
    if name in _ELEMENTWISE or (name.endswith("_") and name[:-1] in _ELEMENTWISE):
        return Elementwise(call, entry, engine)
    if name in _PAIRWISE:
        return Pairwise(call, entry, engine, name)
    if name in _POOLING:
        return Pooling(call, entry, engine, name)
    return Concatenation(call, entry, engine) if name in ("cat", "cat_relu") else None


def _reason(name: str) -> str:
    name = name.lower().rstrip("_")
    if name in _MOVES:
        return MOVES
    if name in _BOUNDARIES:
        return CHANGES
    return next((text for names, text in _REASONS.items() if name in names), "the operation is not taken")


class Functional(torch.nn.Module):
    """torch.ao.nn.quantized.QFunctional: its methods are functions of two tensors, a tensor and a number, or
    several tensors."""

    def __init__(self, source: torch.nn.Module, name: str, report: Report) -> None:
        super().__init__()
        self.scale, self.zero_point = float(source.scale), int(source.zero_point)
        self.activation_post_process = source.activation_post_process
        self.name, self.report = name, report
        self.functions = torch.nn.ModuleDict()

    def _call(self, method: str, *args: Any, **keywords: Any) -> Any:
        if method not in self.functions:  # which of its methods are called is seen when they are
            entry = Taken(f"{self.name}.{method}", "QFunctional")
            self.report.append(entry)
            function = function_of(method, getattr(torch.ops.quantized, method), entry, self.report.engine)
            assert function is not None
            self.functions[method] = function
        return self.activation_post_process(self.functions[method](*args, **keywords))

    def add(self, x: Any, y: Any) -> Any:
        return self._call("add", x, y, self.scale, self.zero_point)

    def add_relu(self, x: Any, y: Any) -> Any:
        return self._call("add_relu", x, y, self.scale, self.zero_point)

    def mul(self, x: Any, y: Any) -> Any:
        return self._call("mul", x, y, self.scale, self.zero_point)

    def add_scalar(self, x: Any, y: float) -> Any:
        return self._call("add_scalar", x, y)

    def mul_scalar(self, x: Any, y: float) -> Any:
        return self._call("mul_scalar", x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        return self._call("cat", x, dim, self.scale, self.zero_point)

    def forward(self, x: Any) -> Any:
        raise RuntimeError("Functional has no forward: call add, add_relu, mul, add_scalar, mul_scalar or cat")


class Pool(torch.nn.Module):
    """A pooling module of PyTorch."""

    def __init__(self, source: Any, entry: Taken, engine: str) -> None:
        super().__init__()
        kind = next(k.__name__ for k in _POOLING_MODULES if isinstance(source, k))
        known: Tuple[str, ...]
        if kind.startswith("Adaptive"):
            name, known = kind.replace("AdaptiveAvgPool", "adaptive_avg_pool"), ("output_size",)
        elif kind.startswith("Max"):
            name, known = kind.replace("MaxPool", "max_pool"), ("kernel_size", "stride", "padding",
                                                                "dilation", "ceil_mode", "return_indices")
        else:
            name, known = kind.replace("AvgPool", "avg_pool"), ("kernel_size", "stride", "padding",
                                                                "ceil_mode", "count_include_pad",
                                                                "divisor_override")
        self.keywords: Dict[str, Any] = {name: getattr(source, name) for name in known if hasattr(source, name)}
        self.function = Pooling(getattr(_functions, name), entry, engine, name)

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x, **self.keywords)


def converted(module: torch.nn.Module, name: str, rule: str, report: Report,
              calls: Optional[Calls] = None) -> torch.nn.Module:
    """A module with all that Octet takes replaced, children first."""
    taken = _module(module, name, rule, report)
    if taken is not None:
        return taken
    calls = calls or Calls(lambda name, call, entry: _taken(name, call, entry, report.engine), report)
    for child_name, child in list(module.named_children()):
        replaced = converted(child, f"{name}.{child_name}" if name else child_name, rule, report, calls)
        if replaced is not child:
            setattr(module, child_name, replaced)
    if isinstance(module, torch.fx.GraphModule):
        _convert_graph(module, name, report)
    elif not type(module).__module__.startswith("torch.") or is_composed(module):
        module.forward = Seen(module, name, calls)
    return module


def _taken(name: str, call: Callable[..., Any], entry: Taken, engine: str) -> Optional[Function]:
    """A function on Octet; None where it stays, which the report then says."""
    function = function_of(name, call, entry, engine)
    if function is None:
        entry.reason = _reason(name)
    return function


def _module(module: torch.nn.Module, name: str, rule: str, report: Report) -> Optional[torch.nn.Module]:
    """What stands for a module, itself if it stays; None for one that only holds others."""
    kind = type(module).__name__
    entry = Taken(name or "(the module itself)", kind)
    is_quantized = "quantized" in type(module).__module__ and ".reference" not in type(module).__module__
    if is_quantized and hasattr(module, "weight") and callable(module.weight):
        report.append(entry)
        entry.reason = _reason(kind) if kind.startswith("Embedding") else products.reason(module)
        if entry.reason:
            return module
        return products.taken(module, rule)
    if kind == "QFunctional":
        return Functional(module, entry.name, report)
    if isinstance(module, _ELEMENTWISE_MODULES):
        report.append(entry)
        return Elementwise(module, entry, report.engine)
    if isinstance(module, _POOLING_MODULES):
        report.append(entry)
        return Pool(module, entry, report.engine)
    if is_quantized and kind == "PReLU":
        report.append(entry)
        of_one: Any = Elementwise if cast(Any, module).weight.numel() == 1 else PReLU
        return cast(Function, of_one(module, entry, report.engine))
    if is_composed(module):
        return None
    if (is_quantized and ".dynamic" in type(module).__module__
        and kind in ("LSTM", "GRU", "LSTMCell", "GRUCell", "RNNCell")):
        report.append(entry)
        entry.reason = recurrent.reason(module)
        made = recurrent.RecurrentCell if kind.endswith("Cell") else recurrent.Recurrent
        return module if entry.reason else cast(torch.nn.Module, made(module, rule))
    if is_quantized and kind in ("BatchNorm2d", "BatchNorm3d", "BNReLU2d", "BNReLU3d"):
        report.append(entry)
        return Normalization(module, entry, report.engine)
    if isinstance(module, (_nn.Identity, _nn.Dropout)):
        return module
    if is_quantized or (not list(module.children()) and type(module).__module__.startswith("torch.")
                        and not isinstance(module, (_nn.Sequential, _nn.ModuleList, _nn.ModuleDict))):
        report.append(entry)
        entry.reason = _reason(kind) if is_quantized or kind.lower() in _MOVES else "computes in floats"
        return module
    return None


def _name_of(node: Any) -> Tuple[str, Callable[..., Any]]:
    """A function's or method's name and how it is called."""
    if node.op == "call_method":
        return node.target, lambda x, *args, **keywords: getattr(x, node.target)(*args, **keywords)
    name = getattr(node.target, "__name__", str(node.target))
    if node.target in (operator.add, operator.mul):  # of floats: codes have functions of their own
        name = "operator." + name
    return name, node.target


def _convert_graph(module: Any, name: str, report: Report) -> None:
    """Replaces functions in an FX graph by modules."""
    for node in list(module.graph.nodes):
        if node.op not in ("call_function", "call_method"):
            continue
        function_name, call = _name_of(node)
        entry = Taken(f"{name}.{node.name}" if name else node.name, function_name)
        report.append(entry)
        function = _taken(function_name, call, entry, report.engine)
        if function is None:
            continue
        path = "octet_" + node.name
        module.add_module(path, function)
        node.op, node.target = "call_module", path
    module.recompile()
