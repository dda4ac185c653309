#!/usr/bin/env python3
"""Draws the ratios of `octet bench --peer onednn --csv FILE` as an SVG: one bar per layer, tables side by side.

    bench/plot.py one_thread.csv [two_threads.csv …] > doc/performance.svg

Each file becomes one panel. A bar above the line of 1 is a layer on which Octet is faster.
"""

import csv
import math
import os
import sys
from html import escape

BAR, GAP, HEIGHT, MARGIN, TITLE = 5, 14, 180, 50, 40
LOWEST, HIGHEST = 0.5, 4.0  # ratios beyond are cut off; the axis is logarithmic
COLORS = ["#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377"]


def read(path):
    """Rows with a ratio, in the order of the file, by table."""
    tables = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["ratio"]:
                tables.setdefault(row["table"], []).append((row["name"], float(row["ratio"])))
    if not tables:
        sys.exit(f"{path}: no ratios; was octet bench run with --peer?")
    return tables


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def y_of(ratio):
    clipped = min(max(ratio, LOWEST), HIGHEST)
    return HEIGHT * (1 - math.log(clipped / LOWEST) / math.log(HIGHEST / LOWEST))


def panel(title, tables, top):
    lines = [f'<text x="{MARGIN}" y="{top + 18}" font-weight="bold">{escape(title)}</text>']
    top += TITLE
    width = MARGIN
    for number, (table, rows) in enumerate(tables.items()):
        color, start = COLORS[number % len(COLORS)], width
        for name, ratio in rows:
            y, base = y_of(ratio), y_of(1)
            lines.append(f'<rect x="{width}" y="{top + min(y, base):.1f}" width="{BAR - 1}" '
                         f'height="{max(abs(base - y), 0.5):.1f}" fill="{color}">'
                         f"<title>{escape(f'{table} {name}: {ratio:.2f}')}</title></rect>")
            width += BAR
        mean = geomean([ratio for _, ratio in rows])
        lines.append(f'<text x="{start}" y="{top + HEIGHT + 14}" font-size="9" fill="{color}">'
                     f"{escape(table)} {mean:.2f}</text>")
        width = max(width, start + 6 * len(table) + 26) + GAP
    for ratio in (0.5, 1, 1.1, 2, 4):
        y = top + y_of(ratio)
        lines.append(f'<line x1="{MARGIN - 4}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#888" '
                     f'stroke-width="{1 if ratio == 1 else 0.3}"/>')
        if ratio != 1.1:
            lines.append(f'<text x="{MARGIN - 8}" y="{y + 3:.1f}" font-size="9" text-anchor="end">{ratio}</text>')
    return lines, width, top + HEIGHT + 24


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    body, width, top = [], 0, 0
    for path in sys.argv[1:]:
        title = os.path.splitext(os.path.basename(path))[0].replace("_", " ")
        lines, right, top = panel(f"{title}: time of oneDNN / time of Octet", read(path), top)
        body += lines
        width = max(width, right)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 10}" height="{top}" '
          f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>')
    print("\n".join(body))
    print("</svg>")


if __name__ == "__main__":
    main()
