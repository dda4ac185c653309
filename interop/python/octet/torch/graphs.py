"""Finds what of a network Octet takes: its modules and, in FX graphs, its functions."""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, Optional, Tuple

import torch

from . import products
from .calls import Calls, Seen
from .elements import Concatenation, Elementwise, Function, Pairwise, Pooling
from .normalization import Normalization
from .report import Report, Taken

_nn, _functions = torch.nn, torch.nn.functional
_ELEMENTWISE_MODULES = (_nn.ReLU, _nn.ReLU6, _nn.Hardtanh, _nn.Sigmoid, _nn.Tanh, _nn.Hardsigmoid, _nn.LeakyReLU, _nn.ELU, _nn.CELU,
                        _nn.Hardswish)  # PyTorch's quantized ones are derived from these
_ELEMENTWISE = ("relu", "relu6", "hardtanh", "sigmoid", "tanh", "hardsigmoid", "leaky_relu", "elu", "celu", "hardswish", "clamp",
                "add_scalar", "add_scalar_relu", "mul_scalar", "mul_scalar_relu")
_PAIRWISE = ("add", "add_relu", "mul", "mul_relu")
_POOLING = ("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d")
_MOVES = ("flatten", "reshape", "view", "permute", "transpose", "getitem", "getattr", "size", "contiguous", "squeeze", "unsqueeze", "chunk",
          "split", "dim", "detach", "clone", "channel_shuffle", "unflatten")
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
    if name.lower() in _MOVES:
        return "moves codes, computes nothing"
    return "changes between codes and floats" if name.lower() in _BOUNDARIES else "the operation is not taken"


class Functional(torch.nn.Module):
    """torch.ao.nn.quantized.QFunctional: its methods are functions of two tensors, a tensor and a number, or several tensors."""

    def __init__(self, source: torch.nn.Module, name: str, report: Report) -> None:
        super().__init__()
        self.scale, self.zero_point = float(source.scale), int(source.zero_point)
        self.activation_post_process = source.activation_post_process
        self.name, self.report = name, report
        self.functions = torch.nn.ModuleDict()

    def _call(self, method: str, *args: Any, **words: Any) -> Any:
        if method not in self.functions:  # which of its methods are called is seen when they are
            entry = Taken(f"{self.name}.{method}", "QFunctional")
            self.report.append(entry)
            function = function_of(method, getattr(torch.ops.quantized, method), entry, self.report.engine)
            assert function is not None
            self.functions[method] = function
        return self.activation_post_process(self.functions[method](*args, **words))

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
        self.words: Dict[str, Any]
        if isinstance(source, _nn.AdaptiveAvgPool2d):
            name, self.words = "adaptive_avg_pool2d", {"output_size": source.output_size}
        else:
            self.words = {word: getattr(source, word) for word in ("kernel_size", "stride", "padding", "ceil_mode")}
            if isinstance(source, _nn.MaxPool2d):
                name = "max_pool2d"
                self.words.update(dilation=source.dilation, return_indices=source.return_indices)
            else:
                name = "avg_pool2d"
                self.words.update(count_include_pad=source.count_include_pad, divisor_override=source.divisor_override)
        self.function = Pooling(getattr(_functions, name), entry, engine, name)

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x, **self.words)


def converted(module: torch.nn.Module, name: str, rule: str, report: Report, calls: Optional[Calls] = None) -> torch.nn.Module:
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
    elif not type(module).__module__.startswith("torch."):
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
        entry.reason = products.reason(module)
        if entry.reason:
            return module
        return products.DynamicLinear(module, rule) if products.is_dynamic(module) else products.Product(module, rule)
    if kind == "QFunctional":
        return Functional(module, entry.name, report)
    if isinstance(module, _ELEMENTWISE_MODULES):
        report.append(entry)
        return Elementwise(module, entry, report.engine)
    if isinstance(module, (_nn.MaxPool2d, _nn.AvgPool2d, _nn.AdaptiveAvgPool2d)):
        report.append(entry)
        return Pool(module, entry, report.engine)
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
        return node.target, lambda x, *args, **words: getattr(x, node.target)(*args, **words)
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
