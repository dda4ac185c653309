# SPDX-License-Identifier: Apache-2.0
"""What a module's own `forward` calls: functions and methods of PyTorch, seen while it runs.

A module written in Python may decide anything while it runs, so that no trace of one run says what the next
one does. Converted modules with a `forward` of their own therefore run in a mode of PyTorch that shows each
call (`__torch_function__`), wherever it stands, under whatever condition. The first time that a place in the
program calls a function, the function is put on Octet as in an FX graph, and the report gets a line with the
place.
"""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch.overrides import TorchFunctionMode

from .elements import Function
from .report import Taken

# Through these a call of the user's comes to the mode.
_WAY = ("torch.overrides", "torch.functional", "torch.nn.functional", "torch._tensor", "torch._jit_internal",
        "torch._ops", "contextlib")
_COMPOSED = "torch.ao.nn.quantizable"
# Questions, which compute nothing.
_QUESTIONS = frozenset("size dim numel stride is_contiguous element_size data_ptr storage_offset type "
                       "q_scale q_zero_point qscheme q_per_channel_axis q_per_channel_scales "
                       "q_per_channel_zero_points is_floating_point is_complex get_device int_repr "
                       "untyped_storage".split())

Maker = Callable[[str, Callable[..., Any], Taken], Optional[Function]]


class Calls:
    """The calls of a converted network, by module and place."""

    def __init__(self, make: Maker, report: List[Taken]) -> None:
        self.make, self.report = make, report
        self.found: Dict[Any, Optional[Function]] = {}

    def function(self, key: Any, module: str, func: Callable[..., Any], name: str, frame: FrameType,
                 args: Any) -> Optional[Function]:
        """What stands for a function at a place; None where PyTorch's does."""
        if key not in self.found:
            self.found[key] = None
            if _has_tensor(args):
                where = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
                name_here = f"{module}.{name}" if module else name
                same = sum(entry.name.rpartition("_")[0] == name_here or entry.name == name_here
                           for entry in self.report)
                entry = Taken(f"{name_here}_{same}" if same else name_here, f"{name} at {where}")
                self.report.append(entry)
                self.found[key] = self.make(name, func, entry)
        return self.found[key]


class _Mode(TorchFunctionMode):
    """Active while converted modules run in a thread; `modules` are those whose `forward` is running."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self.calls, self.modules = calls, [""]

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        keywords = kwargs or {}
        name = getattr(func, "__name__", "")
        if name.startswith("__") or name in _QUESTIONS:
            return func(*args, **keywords)
        frame = _caller()
        if frame is None:
            return func(*args, **keywords)
        key = self.modules[-1], frame.f_code, frame.f_lasti, name
        function = self.calls.function(key, self.modules[-1], func, name, frame, args)
        return func(*args, **keywords) if function is None else function(*args, **keywords)


class _Current(threading.local):
    mode: Optional[_Mode] = None


_current = _Current()


class Seen:
    """A module's `forward`, whose calls are seen."""

    def __init__(self, module: torch.nn.Module, name: str, calls: Calls) -> None:
        self.forward, self.name, self.calls = module.forward, name, calls
        self.__doc__, self.__wrapped__ = self.forward.__doc__, self.forward  # what help and inspect show

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        mode = _current.mode
        if mode is None or mode.calls is not self.calls:
            return self._outermost(args, keywords)
        mode.modules.append(self.name)
        try:
            return self.forward(*args, **keywords)
        finally:
            mode.modules.pop()

    def _outermost(self, args: Tuple[Any, ...], keywords: Dict[str, Any]) -> Any:
        before, mode = _current.mode, _Mode(self.calls)
        mode.modules[0] = self.name
        _current.mode = mode
        try:
            with mode:
                return self.forward(*args, **keywords)
        finally:
            _current.mode = before


def _caller() -> Optional[FrameType]:
    """Where the user's program calls, None if PyTorch's or Octet's own modules do."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") in _WAY:
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "")
    return None if name.startswith(("torch.", "octet.torch.")) and not name.startswith(_COMPOSED) else frame


def is_composed(module: torch.nn.Module) -> bool:
    """Layers of PyTorch that are made of other layers and functions: torch.ao.nn.quantized.LSTM and MultiheadAttention.
    """
    return (type(module).__module__.startswith(_COMPOSED)
            or type(module).__name__ in ("LSTM", "MultiheadAttention") and bool(list(module.children()))
            and ".dynamic" not in type(module).__module__)


def _has_tensor(values: Any) -> bool:
    return any(isinstance(v, torch.Tensor) or (isinstance(v, (list, tuple)) and _has_tensor(v)) for v in values)
