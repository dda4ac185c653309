#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws files of `octet bench` as an SVG, one bar per layer, tables side by side, a panel for each file and
count of threads.

    bench/plot.py one_thread.csv [two_threads.csv …] > doc/performance.svg
    bench/plot.py --of bound layers.csv > bounds.svg
    bench/plot.py --of scaling layers.csv > scaling.svg
    bench/plot.py --of networks networks.csv > networks.svg

--of ratio (the default; needs --baseline): the baseline's time / Octet's, above the line of 1 Octet is
faster. --of bound: share of each layer's bound, coloured by what binds it. --of scaling: time with the first
count of threads / with this one. --of networks: the baseline's time / Octet's of whole networks.
"""

import argparse
import math
import os
import sys
from html import escape

from results_file import by, geomean, read

BAR, GAP, HEIGHT, MARGIN, TITLE = 5, 14, 180, 50, 40
COLORS = ["#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377"]
BOUND_COLORS = {"compute": "#4477aa", "read": "#ccbb44", "write": "#ee6677", "layers": "#888888"}


class Figure:
    """A column, and the axis on which it is drawn: bars stand on `base`, values beyond the ends are cut off."""

    def __init__(self, column, title, base, lowest, highest, ticks, is_logarithmic=False, by_bound=False):
        self.column, self.title, self.base, self.ticks = column, title, base, ticks
        self.lowest, self.highest, self.is_logarithmic, self.by_bound = lowest, highest, is_logarithmic, by_bound

    def height(self, value):
        clipped = min(max(value, self.lowest), self.highest)
        if self.is_logarithmic:
            return HEIGHT * (1 - math.log(clipped / self.lowest) / math.log(self.highest / self.lowest))
        return HEIGHT * (1 - (clipped - self.lowest) / (self.highest - self.lowest))

    def color(self, row, number):
        return BOUND_COLORS[row["bound"]] if self.by_bound else COLORS[number % len(COLORS)]


def figure_of(name, rows):
    if name in ("ratio", "networks"):
        return Figure("ratio", "time of the baseline / time of Octet", 1, 0.5, 4, (0.5, 1, 1.1, 2, 4),
                      is_logarithmic=True)
    if name == "bound":
        return Figure("share_of_bound", "share of the bound (blue: compute, yellow: read, red: write)", 0, 0, 1.2,
                      (0, 0.25, 0.5, 0.75, 1), by_bound=True)
    threads = max((int(row["threads"]) for row in rows if row["threads"]), default=1)
    return Figure("scaling", "scaling", 0, 0, threads + 0.2, range(0, threads + 1))


def is_drawn(row, of, column):
    """Layers by themselves with warm caches, or whole networks."""
    is_network = row["caches"] == "network" and row["name"] == "network"
    return row.get(column) and (is_network if of == "networks" else row["caches"] == "warm")


def panel(title, rows, figure, top):
    lines = [f'<text x="{MARGIN}" y="{top + 18}" font-weight="bold">{escape(title)}</text>']
    top += TITLE
    width = MARGIN
    for number, (table, layers) in enumerate(by(rows, "table").items()):
        start = width
        for row in layers:
            value = row[figure.column]
            label = f"{table} {row['name']}: {value:.2f}"
            y, base = figure.height(value), figure.height(figure.base)
            lines.append(f'<rect x="{width}" y="{top + min(y, base):.1f}" width="{BAR - 1}" '
                         f'height="{max(abs(base - y), 0.5):.1f}" fill="{figure.color(row, number)}">'
                         f"<title>{escape(label)}</title></rect>")
            width += BAR
        mean = geomean([row[figure.column] for row in layers])
        lines.append(f'<text x="{start}" y="{top + HEIGHT + 14}" font-size="9" fill="{COLORS[number % len(COLORS)]}">'
                     f"{escape(table)} {mean:.2f}</text>")
        width = max(width, start + 6 * len(table) + 26) + GAP
    for tick in figure.ticks:
        y = top + figure.height(tick)
        lines.append(f'<line x1="{MARGIN - 4}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#888" '
                     f'stroke-width="{1 if tick == 1 else 0.3}"/>')
        if tick != 1.1:
            lines.append(f'<text x="{MARGIN - 8}" y="{y + 3:.1f}" font-size="9" text-anchor="end">{tick}</text>')
    return lines, width, top + HEIGHT + 24


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--of", choices=("ratio", "bound", "scaling", "networks"), default="ratio")
    arguments = parser.parse_args()
    body, width, top = [], 0, 0
    for path in arguments.files:
        rows = read(path)
        figure = figure_of(arguments.of, rows)
        drawn = [row for row in rows if is_drawn(row, arguments.of, figure.column)]
        if not drawn:
            sys.exit(f"{path}: nothing in the column {figure.column}" +
                     ("; was octet bench run with --baseline?" if figure.column == "ratio" else ""))
        name = os.path.splitext(os.path.basename(path))[0].replace("_", " ")
        for threads, part in by(drawn, "threads").items():
            which = f", threads: {threads}" if threads else ""
            lines, right, top = panel(f"{name}{which}: {figure.title}", part, figure, top)
            body += lines
            width = max(width, right)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 10}" height="{top}" '
          f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>')
    print("\n".join(body))
    print("</svg>")


if __name__ == "__main__":
    main()
