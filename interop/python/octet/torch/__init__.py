# SPDX-License-Identifier: Apache-2.0
"""PyTorch's quantized modules on Octet, with the bytes of the engine that they were made for.

    import octet.torch
    fast = octet.torch.convert(quantized)                  # as torch.backends.quantized.engine computes
    print(fast.octet_report)                               # what was taken, and what stays in PyTorch, and why

Works on eager and on FX-quantized modules. Quantized convolutions, transposed convolutions and linear layers
(dynamic ones, too), activations, sums, products, concatenation and pooling are replaced by modules that
compute the same on Octet; everything else is PyTorch's. What a `forward` written in Python calls itself
(`F.relu`, `torch.cat`, `x.clamp`) is seen while it runs, so under any condition.

`torch.ops.octet.conv2d`, `linear`, `add` and others (`help(octet.torch.library)`) are the operations
themselves, on tensors of codes.
"""

from __future__ import annotations

import copy
from typing import Any, Dict, Optional, cast

import torch

from . import library, library_elements  # noqa: F401 (define torch.ops.octet)
from .graphs import converted
from .products import ENGINES
from .report import Report, Taken

__all__ = ["Report", "Taken", "convert"]


def convert(module: torch.nn.Module, engine: Optional[str] = None, *, rule: Optional[str] = None) -> torch.nn.Module:
    """A copy of a quantized module that runs on Octet where it can.

    engine: "qnnpack" or "onednn", whose arithmetic is kept; by default torch.backends.quantized.engine.
    rule: another contract for convolutions and linear layers instead, "f32" or "ort_f32".

    The copy's `octet_report` lists every operation, taken or left, with the reason. Activations, sums,
    averages and the like are taken where they give the same codes for every code or pair of codes, which is
    tried at the first run, when their scales are known.

    The copy keeps `module`: that is what pickling and `torch.save` write, and loading converts it again. (PyTorch 1.13
    itself cannot load what its FX mode has quantized: save such a module's `state_dict` before you convert it.)
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module is {module!r}, allowed: a torch.nn.Module")
    engine = engine or torch.backends.quantized.engine
    if rule is None:
        if engine not in ENGINES:
            raise ValueError(f"engine is '{engine}', allowed: {', '.join(ENGINES)}")
        rule = ENGINES[engine]
    elif rule not in ("f32", "ort_f32"):
        raise ValueError(f"rule is '{rule}', allowed: f32, ort_f32")
    report = Report(engine)
    result: Any = converted(_copy(module).eval(), "", rule, report)
    result.octet_report = report
    result.__reduce_ex__ = _Origin(module, engine, rule).reduce  # pickle asks the instance
    return cast(torch.nn.Module, result)


class _Origin:
    """What a converted module was made of."""

    def __init__(self, module: torch.nn.Module, engine: str, rule: str) -> None:
        self.module, self.engine, self.rule = module, engine, rule

    def __deepcopy__(self, memo: Dict[int, Any]) -> _Origin:
        return self  # nothing changes it

    def reduce(self, protocol: int) -> Any:
        return _again, (self.module, self.engine, self.rule)


def _again(module: torch.nn.Module, engine: str, rule: str) -> torch.nn.Module:
    return convert(module, engine, rule=None if rule == ENGINES[engine] else rule)


def _copy(module: torch.nn.Module) -> torch.nn.Module:
    """A deep copy that shares what PyTorch cannot copy, such as three-dimensional convolutions of QNNPACK."""
    try:
        return copy.deepcopy(module)
    except RuntimeError:
        shared: Dict[int, Any] = {}
        for part in module.modules():
            if not list(part.children()) or hasattr(part, "_packed_params"):
                try:
                    copy.deepcopy(part)
                except RuntimeError:
                    shared[id(part)] = part
        return copy.deepcopy(module, shared)
