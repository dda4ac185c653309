# SPDX-License-Identifier: Apache-2.0
"""How far the contracts of several frameworks lie apart on one network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike

from . import _octet
from .arguments import real as number, several, text
from .drawing import html_page, html_table, pyplot
from .network import Model, Network
from .progress import progress_bar


def rules() -> List[str]:
    """Names of the rules by which accumulators become quantized values (doc/contracts.md)."""
    return _octet.rules()


def quantize_multiplier(real: float, rule: str = "tflite_2step") -> Tuple[int, int]:
    """(multiplier, shift) of a real factor, as the rule's framework derives them.

    - real: the factor, as x_scale * w_scale / y_scale
    - rule: a rule with fixed-point multipliers

    >>> quantize_multiplier(0.5)
    (1073741824, 0)
    """
    return _octet.quantize_multiplier(number("real", real), text("rule", rule))


@dataclass(frozen=True)
class LayerDifference:
    """One operator's values under a rule, compared with those under the first."""

    number: int
    op: str
    name: str
    count: int
    size: int
    largest: float

    @property
    def share(self) -> float:
        """Part of the elements that differ."""
        return self.count / self.size if self.size else 0.0


class RuleComparison:
    """What `compare_rules` found: `layers[rule]` lists a difference per operator. Printed, it is a table;
    `plot` draws it."""

    def __init__(self, base: str, layers: Dict[str, List[LayerDifference]]) -> None:
        self.base, self.layers = base, layers

    @property
    def rules(self) -> List[str]:
        """Those that were compared with `base`."""
        return list(self.layers)

    def __str__(self) -> str:
        lines = [f"values that differ from rule {self.base}",
                 f"{'node':>5}  " + "  ".join(f"{r:>22}" for r in self.rules) + "  operator"]
        for row in zip(*self.layers.values()):
            cells = "  ".join(f"{d.count:>9} {d.share:>6.2%} ±{d.largest:<4g}" for d in row)
            lines.append(f"{row[0].number:>5}  {cells}  {row[0].op}")
        return "\n".join(lines)

    __repr__ = __str__

    def to_html(self) -> str:
        """The table as a page of its own."""
        return html_page(f"Values that differ from rule {self.base}", self._repr_html_())

    def _repr_html_(self) -> str:
        rows = [(row[0].number, row[0].op, row[0].name,
                 *(f"{d.count} ({d.share:.2%}), at most {d.largest:g}" for d in row))
                for row in zip(*self.layers.values())]
        return html_table(("node", "operator", "tensor", *self.rules), rows)

    def plot(self, axes: Any = None) -> Any:
        """Part of the values that differ, operator by operator, a line per rule; returns matplotlib's axes."""
        axes = axes or pyplot().subplots(figsize=(9, 4), layout="constrained")[1]
        names: List[str] = []
        for rule, layers in self.layers.items():
            names = [f"{d.number} {d.op}" for d in layers]
            axes.plot(range(len(layers)), [100 * d.share for d in layers], marker=".", label=rule)
        axes.set(ylabel="% of values", title=f"Values that differ from rule {self.base}", xlim=(-0.5, len(names) - 0.5))
        axes.set_ylim(0, 1.05 * max(axes.get_ylim()[1], 0.1))
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        axes.legend()
        return axes


def compare_rules(model: Model, *values: ArrayLike,
                  rules: Sequence[str] = ("ort_f32", "tflite_single_rounding"), base: str = "automatic",
                  batch: int = 0, progress: bool = False, **feeds: ArrayLike) -> RuleComparison:
    """Runs a network under several contracts and counts, operator by operator, the values that differ from
    those under `base`.

    - model: a .tflite network, as `octet.Network` takes it
    - values: the inputs in their order, zeros by default
    - rules: names of `octet.rules()`
    - base: the rule that the others are compared with
    - batch: first dimension of the inputs; 0: as in the file
    - progress: shows a bar of tqdm, where that is installed
    - feeds: the inputs by name

    >>> found = compare_rules("examples/digits/digits_int8.tflite", np.arange(64, dtype=np.int8).reshape(1, 8, 8, 1))
    >>> found.rules
    ['ort_f32', 'tflite_single_rounding']
    >>> all(d.largest <= 2 for d in found.layers["ort_f32"])
    True
    """
    rules = several("rules", rules, "names")
    if not rules:
        raise ValueError("rules is empty, allowed: one name or more")
    first = Network(model, batch=batch, rule=base, fusion=False)
    expected = first.trace(*values, **feeds)
    layers: Dict[str, List[LayerDifference]] = {}
    bar = progress_bar(progress, len(rules), "rule")
    for rule in rules:
        net = Network(model, batch=batch, rule=rule, fusion=False)
        ours = net.trace(*values, **feeds)
        layers[rule] = []
        for node in first.nodes:
            for name in node.outputs:
                if name in expected and name in ours:
                    a, b = expected[name].astype(np.float64), ours[name].astype(np.float64)
                    layers[rule].append(LayerDifference(node.number, node.op, name, int((a != b).sum()), a.size,
                                                        float(np.abs(a - b).max(initial=0))))
        bar.update(1)
    bar.close()
    return RuleComparison(base, layers)
