#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of README.md and doc/arithmetic.md, doc/pictures/*.svg, from what the library computes
and from the tables of doc/performance.md: pictures.py [--check]

--check compares with the committed files instead. Needs the Python package (PYTHONPATH=build/release/python).
"""

import os
import sys

import numpy as np
import octet

PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "doc", "pictures")
HEAD = ("<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
        "font-family='sans-serif' font-size='12'>\n"
        "<rect width='{0}' height='{1}' fill='white'/>\n")


def text(x, y, words, **attributes):
    """A line of text; underscores in attributes' names stand for hyphens."""
    more = "".join(f" {k.replace('_', '-')}='{v}'" for k, v in attributes.items())
    return f"<text x='{x:g}' y='{y:g}'{more}>{words}</text>\n"


def pipeline():
    """From codes to codes: what lies between."""
    stages = [("codes", "s8, u8", "src, weights", "#dbe9ff"),
              ("products", "exact", "(s − zp)·(w − zp)", "#fff"),
              ("accumulator", "s32, wraps", "Σ + bias", "#dbe9ff"),
              ("rule", "the framework's", "× factor, rounded", "#ffd9a8"),
              ("post-ops", "relative to zp", "relu, sum, table …", "#fff"),
              ("zero point", "after the rule", "+ zp", "#fff"),
              ("codes", "s8, u8", "saturated", "#dbe9ff")]
    width, step = 108, 128
    out = HEAD.format(step * len(stages) + 12, 110)
    for i, (name, kind, what, fill) in enumerate(stages):
        x = 16 + i * step
        out += f"<rect x='{x}' y='20' width='{width}' height='70' rx='6' fill='{fill}' stroke='#456'/>\n"
        out += text(x + width / 2, 41, name, text_anchor="middle", font_weight="bold")
        out += (text(x + width / 2, 60, kind, text_anchor="middle", fill="#456")
                + text(x + width / 2, 78, what, text_anchor="middle", font_size=11))
        if i + 1 < len(stages):
            out += f"<path d='M{x + width},55 h{step - width - 5} m-5,-4 l6,4 l-6,4' fill='none' stroke='#456'/>\n"
    return out + "</svg>\n"


def staircases():
    """Codes of the sums around zero at a factor of 1/4: how each rule treats halves."""
    rules = [("ort_f32", "halves to even"), ("tflite_2step", "rounds twice"),
             ("tflite_single_rounding", "halves up"),
             ("rounded_shift", "¼ lies just below"), ("qnnpack_avgpool", "halves away"),
             ("caffe_double_round", "away, twice")]
    sums = np.arange(-10, 11, dtype=np.int32)
    cell, wide, high = 11, 292, 150
    out = HEAD.format(3 * wide + 10, 2 * (high + 26) + 4)
    for n, (rule, words) in enumerate(rules):
        left, top = 30 + (n % 3) * wide, 30 + (n // 3) * (high + 26)
        x = [left + cell * (s + 11) for s in sums]
        y = [top + 12 + cell * 1.6 * (3 - c) for c in octet.requantize(sums, rule=rule, scale=0.25).tolist()]
        out += text(left, top, f"{rule}: {words}", font_weight="bold")
        zero = top + 12 + cell * 1.6 * 3
        out += f"<path d='M{left},{zero:g} h{cell * 22} M{left + cell * 11},{top + 8} v{high - 24}' stroke='#bbb'/>\n"
        out += (f"<path d='M{x[0]:g},{zero + cell * 1.6 * 2.5:g} L{x[-1]:g},{zero - cell * 1.6 * 2.5:g}' "
                "stroke='#9bd' stroke-dasharray='3,3'/>\n")
        for s, a, b in zip(sums, x, y):
            is_half = s % 4 == 2
            out += (f"<circle cx='{a:g}' cy='{b:g}' r='{4 if is_half else 2.5}' "
                    f"fill='{'#e60' if is_half else '#357'}'/>\n")
        out += text(left, top + high - 4, "sums −10 … 10, times ¼; orange: halves", fill="#666", font_size=11)
    return out + "</svg>\n"


def differences():
    """Which rules differ at one factor, and for how many of 60,000 sums."""
    rules = ["ort_f32", "tflite_2step", "tflite_single_rounding", "tflite_1step", "caffe2_2step",
             "gemmlowp_fixedpoint", "rounded_shift", "qnnpack_avgpool", "ev_rte15", "f64_scale"]
    # Codes of one sign and the other, few of them saturated.
    sums, factor = np.arange(-30000, 30000, dtype=np.int32), 0.00390625 * 0.9
    codes = [octet.requantize(sums, rule=rule, scale=factor) for rule in rules]
    cell, left, top = 62, 165, 150
    out = HEAD.format(left + cell * len(rules) + 16, top + 26 * len(rules) + 34)
    for i, rule in enumerate(rules):
        out += text(left - 8, top + 26 * i + 17, rule, text_anchor="end")
        x = left + cell * i + cell / 2
        out += text(x, top - 8, rule, transform=f"rotate(-40 {x:g} {top - 8})")
        for j in range(len(rules)):
            count = int((codes[i] != codes[j]).sum())
            shade = 255 if count == 0 else int(225 - 20 * min(8, np.log2(1 + count)))
            out += (f"<rect x='{left + cell * j}' y='{top + 26 * i}' width='{cell - 2}' height='24' "
                    f"fill='rgb(255,{shade},{max(60, shade - 40)})' stroke='#ddd'/>\n")
            out += text(left + cell * j + cell / 2 - 1, top + 26 * i + 17, count if i != j else "·",
                        text_anchor="middle", font_size=11)
    out += text(left, top + 26 * len(rules) + 22,
                f"sums −30000 … 29999 whose codes differ, factor {factor:g}", fill="#666")
    return out + "</svg>\n"


def rows_behind(page, *beginnings):
    """The first table behind lines of a page of doc/ that begin so, in this order: its rows as lists of cells."""
    with open(os.path.join(PLACE, "..", page)) as file:
        lines = iter(file.read().splitlines())
    for beginning in beginnings:
        next(line for line in lines if line.startswith(beginning))
    rows = []
    for line in lines:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            return rows[2:]  # without the head
    return rows[2:]


def speed():
    """How many times as fast as ONNX Runtime (networks) and oneDNN (layers of networks), one thread, as
    doc/performance.md has it."""
    networks = [(row[0], float(row[-1])) for row in rows_behind("performance.md", "**Whole networks**")
                if row[1] == "1"]
    layers = [(row[0], float(row[2])) for row in rows_behind("performance.md", "## Against oneDNN") if row[0] != "all"]
    left, unit, top = 150, 150, 44
    out = HEAD.format(2 * left + 2 * unit * 2 + 90, top + 20 * max(len(networks), len(layers)) + 36)
    for n, (title, bars) in enumerate((("Networks against ONNX Runtime 1.30", networks),
                                       ("Layers of … against oneDNN 2.6.3", layers))):
        x = left + n * (left + 2 * unit + 40)
        out += text(x, 22, title, font_weight="bold")
        for i, (name, ratio) in enumerate(bars):
            y = top + 20 * i
            out += text(x - 8, y + 11, name, text_anchor="end")
            out += f"<rect x='{x}' y='{y}' width='{unit * ratio:g}' height='14' fill='#e9823a'/>\n"
            out += text(x + unit * ratio + 5, y + 11, f"{ratio:.2f}")
        height = 20 * len(bars) + 4
        out += f"<path d='M{x + unit},{top - 6} v{height}' stroke='#345' stroke-dasharray='3,3'/>\n"
        out += text(x + unit, top + height + 8, "as fast", text_anchor="middle", fill="#345", font_size=11)
    out += text(left, top + 20 * max(len(networks), len(layers)) + 28, "Zen 5, one thread; longer is faster",
                fill="#666", font_size=11)
    return out + "</svg>\n"


def main():
    """Writes or compares the pictures."""
    os.makedirs(PLACE, exist_ok=True)
    other = []
    for draw in (pipeline, staircases, differences, speed):
        path, drawn = os.path.join(PLACE, draw.__name__ + ".svg"), draw()
        if "--check" not in sys.argv:
            with open(path, "w") as file:
                file.write(drawn)
        elif not os.path.exists(path) or open(path).read() != drawn:
            other.append(path)
    sys.exit(f"pictures.py: {', '.join(other)}: the library computes other pictures, draw them anew" if other else 0)


if __name__ == "__main__":
    main()
