# SPDX-License-Identifier: Apache-2.0
"""Which contract a device has, by what it computes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Tuple, Union

import numpy as np

from . import _octet
from .arguments import integer

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Excluded:
    """A contract that the device does not have, with the first result that shows it."""

    contract: str
    detail: str      # how its parameters are derived; may be empty
    different: int   # results that differ
    first: int       # index of the first
    inputs: str      # what the device was given there
    expected: float  # the contract's result, a whole number where results are codes
    got: float       # the device's


class Match:
    """What `match` found: `contracts`, names of those that agree with every result; none where the device has
    another arithmetic. `equal` says that no input is known at which they differ. Printed, it is a report."""

    def __init__(self, found: Dict[str, Any], text: str, probes: List[Array], outputs: Array) -> None:
        self.contracts: List[str] = list(dict.fromkeys(c["contract"] for c in found["consistent"]))
        self.details: List[Tuple[str, str]] = [(c["contract"], c["detail"]) for c in found["consistent"]]
        self.excluded = [Excluded(**e) for e in found["excluded"]]
        self.refused: Dict[str, str] = {r["contract"]: r["why"] for r in found["refused"]}
        self.equal: bool = not found["separable"]
        self.results: int = found["results"]
        self.probes, self.outputs = probes, outputs
        self._text = text

    def __bool__(self) -> bool:
        return bool(self.contracts)

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    __repr__ = __str__


def _plain(value: Any) -> Any:
    """A number or an array of NumPy's, as JSON has it."""
    if not isinstance(value, (np.generic, np.ndarray)):
        raise TypeError(f"description has a {type(value).__name__}, allowed: texts, numbers, lists and dicts")
    return value.tolist()


def _outputs(device: Callable[..., Any], probes: List[Array]) -> Array:
    y = device(*probes)
    return y if isinstance(y, np.ndarray) else np.asarray(y)


def match(description: Union[Mapping[str, Any], str, "os.PathLike[str]"], device: Callable[..., Any],
          probes: int = 256) -> Match:
    """Names the contracts of a device: calls it with inputs at which they differ and compares.

    - description: a dict as doc/match.md has it, or the path of a .json, .tflite or .onnx file with one operator.
    - device: called with one array per input, a row for each probe; returns quantized values, or floats of a
      product whose source it quantizes, a row for each row. A product also gets the weights, which all rows share.
    - probes: results of the first call, 16 to 1024. Where several contracts remain, the device is called
      again with inputs that separate them, up to 1024 results in all.

    >>> from octet import match, requantize
    >>> def device(acc):
    ...     return requantize(acc, rule="tflite_2step", multiplier=1 << 30, shift=-2, dtype="int8")
    >>> scales = {"type": "s8", "scale": 0.125}, {"type": "s8", "scale": 1.0}
    >>> found = match({"kind": "requantize", "inputs": list(scales), "output": {"type": "s8", "scale": 1.0}}, device)
    >>> "tflite_2step" in found.contracts, "ort_f32" in found.contracts
    (True, False)
    """
    if not 16 <= integer("probes", probes, 32) <= 1024:
        raise ValueError(f"probes is {probes}, allowed: 16 to 1024")
    if not callable(device):
        raise TypeError(f"device is {type(device).__name__}, allowed: a function of arrays")
    if isinstance(description, Mapping):
        try:
            described = json.dumps(dict(description), default=_plain, allow_nan=False)
        except ValueError:
            raise ValueError("description has a number that is nan or infinite, allowed: finite numbers") from None
        subject = _octet._MatchSubject(described)
    else:
        if not isinstance(description, (str, os.PathLike)):
            raise TypeError(f"description is {type(description).__name__}, allowed: a dict or a path")
        path = os.fspath(description)
        if path.endswith((".tflite", ".onnx")):
            subject = _octet._MatchSubject.from_model(path)
        else:
            with open(path, encoding="utf-8") as file:
                subject = _octet._MatchSubject(file.read())
    given = subject.propose(probes)
    outputs = _outputs(device, given)
    while True:
        found, text, more = subject.judge(given, outputs)
        result = Match(json.loads(found), text, given, outputs)
        rows = 0 if result.equal else min(len(a) for a, shared in zip(more, subject.shared) if not shared)
        per_row = max(result.results // max(len(outputs), 1), 1)
        if rows == 0 or result.results + rows * per_row > 1024:
            return result
        outputs = np.concatenate([outputs, _outputs(device, more)])
        given = [a if shared else np.concatenate([a, b]) for a, b, shared in zip(given, more, subject.shared)]
