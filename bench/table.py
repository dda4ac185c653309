#!/usr/bin/env python3
"""Sums up `octet bench --peer onednn --csv FILE` as the Markdown table of doc/performance.md.

    bench/table.py one_thread.csv

Shares of the peak are weighted by time, so by how often a layer occurs and how long it takes.
"""

import csv
import math
import sys


def geomean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def share(rows, prefix):
    time = sum(int(r["count"]) * float(r[f"{prefix}microseconds"]) for r in rows)
    ideal = sum(int(r["count"]) * float(r[f"{prefix}microseconds"]) * float(r[f"{prefix}share_of_peak"]) for r in rows)
    return f"{100 * ideal / time:.0f} %"


def line(name, rows):
    ratios = [float(r["ratio"]) for r in rows]
    depthwise = geomean([float(r["ratio"]) for r in rows if "depthwise" in r["implementation"]])
    return (f"| {name} | {len(rows)} | {geomean(ratios):.2f} | {min(ratios):.2f} | "
            f"{f'{depthwise:.2f}' if depthwise else ''} | {share(rows, '')} | {share(rows, 'peer_')} |")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["ratio"]]
    print("| table | layers | ratio, geometric mean | lowest | depthwise rows | share of peak | oneDNN's |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for table in dict.fromkeys(row["table"] for row in rows):
        print(line(table, [row for row in rows if row["table"] == table]))
    print(line("all", rows))


if __name__ == "__main__":
    main()
