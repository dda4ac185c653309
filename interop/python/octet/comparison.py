# SPDX-License-Identifier: Apache-2.0
"""Where two programs' numbers part."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from .arguments import real, text
from .drawing import histogram_svg, html_page, html_table, pyplot
from .network import Network, need_network
from .nodes import Tensor

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Difference:
    """One tensor in which elements differ."""

    name: str
    op: str            # of the operator that wrote it
    number: int        # of that operator in its file
    count: int         # elements that differ
    size: int          # of all
    first: Tuple[int, ...]       # index of the first
    ours: object       # its value here
    theirs: object     # and there
    histogram: Dict[float, int]  # ours - theirs: how often


class Comparison:
    """What `compare` found: `equal`, `differences` in the order of execution, `missing` names. Printed, it is a report.
    """

    def __init__(self, compared: List[str], differences: List[Difference], missing: List[str]) -> None:
        self.compared, self.differences, self.missing = compared, differences, missing

    @property
    def equal(self) -> bool:
        """No element of a compared tensor differs."""
        return bool(self.compared) and not self.differences

    @property
    def first(self) -> Optional[Difference]:
        """The difference of the earliest operator."""
        return self.differences[0] if self.differences else None

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        lines = [f"{len(self.compared)} tensors compared, {len(self.differences)} differ"]
        for d in self.differences:
            lines.append(f"  node {d.number} ({d.op}), '{d.name}': {d.count} of {d.size} elements differ, "
                         f"first at {d.first}: {d.ours} here, {d.theirs} there")
            lines.append("    differences: " + ", ".join(f"{k:+g}: {v}" for k, v in d.histogram.items()))
        if self.missing:
            lines.append("  not in this network: " + ", ".join(self.missing))
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self, axes: Any = None) -> Any:
        """Histogram of the first difference, with matplotlib, whose axes it returns."""
        axes = axes or pyplot().subplots(layout="constrained")[1]
        if self.first:
            bins = list(self.first.histogram)
            apart = min((b - a for a, b in zip(bins, bins[1:])), default=1)
            axes.bar(bins, list(self.first.histogram.values()), width=0.8 * apart)
            axes.set(title=f"node {self.first.number} ({self.first.op}), '{self.first.name}'",
                     xlabel="here - there", ylabel="elements",
                     xlim=(bins[0] - apart, bins[-1] + apart))
            if all(b == int(b) for b in bins) and len(bins) <= 16:
                axes.set_xticks(bins)
        return axes

    def to_html(self) -> str:
        """The report as a page of its own, with a histogram of each tensor that differs."""
        return html_page("Comparison", self._repr_html_())

    def _repr_html_(self) -> str:
        rows = [(d.number, d.op, d.name, f"{d.count} of {d.size}", d.first, d.ours, d.theirs) for d in self.differences]
        parts = [f"<p>{html.escape(str(self).splitlines()[0])}</p>",
                 html_table(("node", "operator", "tensor", "differ", "first at", "here", "there"), rows)
                 if rows else ""]
        parts += [f"<h3>node {d.number} ({html.escape(d.op)}), {html.escape(d.name)}: here - "
                  f"there</h3>{histogram_svg(d.histogram)}" for d in self.differences]
        if self.missing:
            parts.append(f"<p>not in this network: {html.escape(', '.join(self.missing))}</p>")
        return "".join(parts)


def _as_floats(ours: Array, theirs: Array, info: Optional[Tensor], name: str) -> Array:
    """What quantized values stand for, where the other program shows floats."""
    if theirs.dtype.kind != "f" or info is None or not info.scale:
        raise TypeError(f"expected['{name}'] is {theirs.dtype}, the network's is {ours.dtype}")
    real: Array = (ours.astype(np.float32) - np.float32(info.zero_point or 0)) * np.float32(info.scale)
    return real


def _histogram(ours: Array, theirs: Array) -> Dict[float, int]:
    kind = np.int64 if ours.dtype.kind in "iu" else np.float64
    delta = ours.astype(kind) - theirs.astype(kind)
    delta = delta[delta != 0]
    if kind is np.float64 and len(np.unique(delta)) > 16:
        counts, edges = np.histogram(delta, 16)
        return {float(edge): int(n) for n, edge in zip(counts, edges) if n}
    values, counts = np.unique(delta, return_counts=True)
    return {float(v): int(n) for v, n in zip(values, counts)}


def compare(net: Network, expected: Union[Mapping[str, Array], Sequence[Array], Array], *values: ArrayLike,
            tolerance: float = 0.0, **feeds: ArrayLike) -> Comparison:
    """Compares a network with what another program computed from the same inputs.

    - net: the network
    - expected: arrays by the names of tensors (outputs, and whatever else the other program shows), or a
      sequence in the order of the outputs, as an ONNX Runtime session's `run` returns it. Floats that are
      expected where the network gives quantized values are compared with what those stand for.
    - values: the inputs in their order; without any, those of the last call
    - tolerance: of floats, relative to the larger of 1 and the expected number
    - feeds: the inputs by name

    ``print(octet.compare(net, session.run(None, {"image": x}), x))``
    """
    need_network(net)
    if not isinstance(expected, Mapping):
        given: Any = expected
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(f"expected is {type(given).__name__}, allowed: arrays by name, or one for each output")
        arrays = [given] if isinstance(given, np.ndarray) else list(given)
        if len(arrays) != len(net.outputs):
            raise ValueError(f"expected has {len(arrays)} arrays, allowed: one for each of the "
                             f"{len(net.outputs)} outputs")
        expected = {info.name: array for info, array in zip(net.outputs, arrays)}
    for name in expected:
        text("a name in expected", name)
    if values or feeds:
        ours = net.trace(*values, **feeds)
    elif net.last_inputs or not net.inputs:
        ours = net.trace(**net.last_inputs)
    else:
        raise ValueError("no inputs are given, and the network was not called before")
    tolerance = real("tolerance", tolerance)
    if not tolerance >= 0:
        raise ValueError(f"tolerance is {tolerance}, allowed: 0 and above")
    outputs = {info.name: info for info in net.outputs}
    writers = {name: node for node in net.nodes for name in node.outputs}
    compared, differences = [], []
    for name in [n for n in ours if n in expected]:
        a, b = ours[name], np.asarray(expected[name])
        if a.shape != b.shape:
            raise ValueError(f"expected['{name}'] has shape {b.shape}, the network's is {a.shape}")
        compared.append(name)
        if a.dtype.kind != b.dtype.kind and "f" in (a.dtype.kind, b.dtype.kind):
            a = _as_floats(a, b, outputs.get(name), name)
        if a.dtype.kind == "f":
            differs = ~(np.abs(a - b) <= tolerance * np.maximum(1, np.abs(b))) & ~(np.isnan(a) & np.isnan(b))
        else:
            differs = a != b
        if differs.any():
            first = tuple(int(i) for i in np.argwhere(differs)[0])
            node = writers[name]
            differences.append(Difference(name, node.op, node.number, int(differs.sum()), a.size, first,
                                          a[first], b[first],
                                          _histogram(a, b)))
    return Comparison(compared, differences, [n for n in expected if n not in ours])
