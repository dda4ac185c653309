# SPDX-License-Identifier: Apache-2.0
"""What a network's time goes to."""

from __future__ import annotations

import html
from typing import Any, Dict, List

from .drawing import graph_svg, html_page, pyplot
from .nodes import Node


class Profile:
    """Median seconds of each operator. Printed, it is a table; `to_html` draws it."""

    def __init__(self, nodes: List[Node], seconds: List[float]) -> None:
        self.nodes, self.seconds = nodes, seconds

    @property
    def total(self) -> float:
        """Seconds of all operators."""
        return sum(self.seconds)

    def rows(self) -> List[Dict[str, Any]]:
        """A dict per operator: number, op, shape, microseconds, share, implementation; pandas takes them."""
        return [{"number": n.number, "op": n.op, "shape": n.shape, "microseconds": 1e6 * s,
                 "share": s / self.total if self.total else 0.0, "implementation": n.implementation}
                for n, s in zip(self.nodes, self.seconds)]

    def __str__(self) -> str:
        lines = [f"{'node':>5}  {'time':>10}  {'share':>6}  operator"]
        for row in self.rows():
            shape = "x".join(map(str, row["shape"]))
            lines.append(f"{row['number']:>5}  {row['microseconds']:>7.1f} us  {row['share']:>6.1%}  "
                         f"{row['op']} {shape}  [{row['implementation']}]")
        lines.append(f"{'all':>5}  {1e6 * self.total:>7.1f} us")
        return "\n".join(lines)

    __repr__ = __str__

    def to_html(self) -> str:
        """A page of its own: a table with bars as long as the times, and a picture of the graph, the darker
        the longer an operator takes."""
        widest = max(self.seconds, default=0) or 1
        rows = []
        for row, seconds in zip(self.rows(), self.seconds):
            shape = "x".join(map(str, row["shape"]))
            rows.append(f"<tr><td>{row['number']}</td><td>{html.escape(row['op'])}</td><td>{shape}</td>"
                        f"<td>{html.escape(row['implementation'])}</td><td "
                        f"class=n>{row['microseconds']:.1f}</td>"
                        f"<td class=n>{row['share']:.1%}</td><td><svg width=300 height=14><rect "
                        f"width={300 * seconds / widest:.1f} height=14 /></svg></td></tr>")
        return html_page(f"{1e6 * self.total:.0f} microseconds",
                         "<table><tr><th>node<th>operator<th>shape<th>runs on<th>microseconds<th>share<th></tr>"
                         f"{''.join(rows)}</table><h2>Graph</h2>{self.to_svg()}")

    def to_svg(self) -> str:
        """The picture of the graph alone."""
        return graph_svg(self.nodes, self.seconds)

    def plot(self, axes: Any = None) -> Any:
        """Microseconds of each operator as bars, with matplotlib, whose axes it returns."""
        axes = axes or pyplot().subplots(figsize=(9, 4), layout="constrained")[1]
        places = range(len(self.nodes))
        axes.bar(places, [1e6 * s for s in self.seconds])
        axes.set(ylabel="microseconds", title=f"{1e6 * self.total:.0f} microseconds",
                 xlim=(-0.6, len(self.nodes) - 0.4))
        axes.set_xticks(places, [f"{n.number} {n.op}" for n in self.nodes], rotation=90, fontsize=7)
        return axes

    def _repr_html_(self) -> str:
        return self.to_html()
