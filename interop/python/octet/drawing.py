# SPDX-License-Identifier: Apache-2.0
"""Pictures and tables: a network's graph as SVG, plots of differences with matplotlib."""

from __future__ import annotations

import html
from typing import Any, Dict, Iterable, List, Sequence, Tuple

from .nodes import Node

_BOX, _GAP, _ROW, _HEIGHT = 190, 24, 74, 46  # width of a box, space beside it, from row to row, height of a box


def pyplot() -> Any:
    """matplotlib.pyplot; an ImportError that says how to get it where it is missing."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as e:
        raise ImportError("plots need matplotlib, which is not installed (Debian: python3-matplotlib, pip: "
                          "matplotlib)") from e
    return plt


def html_table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table for notebooks and reports."""
    def line(cells: Sequence[Any], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{html.escape(str(cell))}</{kind}>" for cell in cells) + "</tr>"
    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def html_page(title: str, body: str) -> str:
    """A page that needs no other file."""
    style = ("body{font-family:sans-serif}td,th{padding:2px 8px;text-align:left}.n{text-align:right}"
             "td rect,.bars rect{fill:#36c}tr:nth-child(even){background:#f4f4f4}")
    return (f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><style>{style}</style>"
            f"<h1>{html.escape(title)}</h1>{body}")


def histogram_svg(histogram: Dict[float, int]) -> str:
    """A bar for each difference, with its count."""
    bars, most, step, height = [], max(histogram.values(), default=1), 56, 90
    for i, (value, count) in enumerate(histogram.items()):
        x, h = step * i, max(1, height * count / most)
        bars.append(f"<rect x='{x + 8}' y='{height + 14 - h:.1f}' width='{step - 16}' height='{h:.1f}'/>"
                    f"<text x='{x + step / 2}' y='{height + 10 - h:.1f}'>{count}</text><text "
                    f"x='{x + step / 2}' y='{height + 30}'>{value:+g}</text>")
    return (f"<svg class='bars' xmlns='http://www.w3.org/2000/svg' width='{step * len(histogram)}' "
            f"height='{height + 36}' "
            f"font-family='sans-serif' font-size='11' text-anchor='middle'>{''.join(bars)}</svg>")


def _rows(nodes: Sequence[Node]) -> Tuple[List[int], List[Tuple[int, int]]]:
    """Each node's row, below all that it reads, and the edges between nodes."""
    writer: Dict[str, int] = {}
    rows: List[int] = []
    edges: List[Tuple[int, int]] = []
    for i, node in enumerate(nodes):
        sources = sorted({writer[name] for name in node.inputs if name in writer})
        rows.append(1 + max((rows[s] for s in sources), default=-1))
        edges += [(s, i) for s in sources]
        for name in node.outputs:
            writer[name] = i
    return rows, edges


def _places(rows: List[int], edges: List[Tuple[int, int]]) -> List[Tuple[float, float]]:
    """Left upper corners: in its row a node is near the middle of those that it reads, and rows are centred."""
    sources: Dict[int, List[int]] = {}
    for s, i in edges:
        sources.setdefault(i, []).append(s)
    members: Dict[int, List[int]] = {}
    for i, row in enumerate(rows):
        members.setdefault(row, []).append(i)
    step = _BOX + _GAP
    width = step * max(map(len, members.values()), default=1)
    x: Dict[int, float] = {}
    for row in sorted(members):
        wanted = {i: sum(x[s] for s in sources[i]) / len(sources[i]) if i in sources else 0.0 for i in members[row]}
        first = (width - step * len(members[row])) / 2
        for n, i in enumerate(sorted(members[row], key=lambda i: (wanted[i], i))):
            x[i] = first + n * step
    return [(x[i] + _GAP / 2, _GAP / 2 + rows[i] * _ROW) for i in range(len(rows))]


def _colour(share: float, largest: float) -> str:
    """From white to orange, by a part of the largest share."""
    t = share / largest if largest else 0.0
    return f"rgb(255,{int(250 - 110 * t)},{int(245 - 205 * t)})"


def graph_svg(nodes: Sequence[Node], seconds: Sequence[float]) -> str:
    """The graph from top to bottom: a box per operator with its shape, time and share, the darker the longer it takes.
    """
    if not nodes:
        return "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'></svg>"
    rows, edges = _rows(nodes)
    places = _places(rows, edges)
    total, largest = sum(seconds) or 1.0, max(seconds) or 1.0
    width = max(x for x, _ in places) + _BOX + _GAP
    height = max(y for _, y in places) + _HEIGHT + _GAP
    parts = [f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}' "
             f"font-family='sans-serif' font-size='11'>"]
    for s, i in edges:
        x0, y0 = places[s][0] + _BOX / 2, places[s][1] + _HEIGHT
        x1, y1 = places[i][0] + _BOX / 2, places[i][1]
        aside = 0.0  # past the boxes between
        if rows[i] - rows[s] > 1 and abs(x0 - x1) < _BOX / 2:
            aside = _BOX * 0.85
        bend = (y1 - y0) / 2 if aside else 14
        parts.append(f"<path d='M{x0:.0f},{y0:.0f} C{x0 + aside:.0f},{y0 + bend:.0f} "
                     f"{x1 + aside:.0f},{y1 - bend:.0f} {x1:.0f},{y1:.0f}' " "fill='none' stroke='#888'/>")
    for node, time, (x, y) in zip(nodes, seconds, places):
        op = node.op if len(node.op) <= 28 else node.op[:27] + "…"
        shape = "×".join(map(str, node.shape))
        parts.append(f"<g><title>node {node.number}: {html.escape(node.op)}, "
                     f"{html.escape(node.implementation)}</title>"
                     f"<rect x='{x:.0f}' y='{y:.0f}' width='{_BOX}' height='{_HEIGHT}' rx='5' "
                     f"fill='{_colour(time, largest)}' stroke='#555'/>"
                     f"<text x='{x + 8:.0f}' y='{y + 18:.0f}' font-weight='bold'>{node.number}: "
                     f"{html.escape(op)}</text>" f"<text x='{x + 8:.0f}' y='{y + 36:.0f}'>{shape}</text>"
                     f"<text x='{x + _BOX - 8:.0f}' y='{y + 36:.0f}' text-anchor='end'>{1e6 * time:.1f} µs, "
                     f"{time / total:.1%}</text></g>")
    return "".join(parts) + "</svg>"
