#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums up `octet bench --csv FILE` (or --history) as the Markdown tables of doc/performance.md, one for each
count of threads.

    bench/table.py --networks networks.csv
    bench/table.py layers.csv [--against 1=theirs_one_thread.csv] [--against 2=theirs_two_threads.csv] [--rows]

Shares are weighted by time, so by how often a layer occurs and how long it takes. --against N=FILE adds, for
N threads, another library's shares of the peak (columns table, name, share_of_peak) as they were measured
elsewhere on the same kind of machine: the ratio is Octet's share / theirs. --rows lists the layers on which
Octet is behind. --networks: whole networks beside the sums of their layers, and the baseline.
"""

import argparse
import csv

from results_file import by, geomean, read


def percent(value):
    return "" if value is None else f"{100 * value:.0f} %"


def number(value):
    return "" if value is None else f"{value:.2f}"


def share(rows, prefix, of):
    """Time at the peak, or at the bounds, / time."""
    rows = [r for r in rows if r.get(f"{prefix}microseconds") and r.get(f"{prefix}share_of_{of}")]
    time = sum(r["count"] * r[f"{prefix}microseconds"] for r in rows)
    ideal = sum(r["count"] * r[f"{prefix}microseconds"] * r[f"{prefix}share_of_{of}"] for r in rows)
    return ideal / time if time else None


def read_shares(path):
    """Another library's shares by (table, name)."""
    with open(path, newline="") as file:
        return {(r["table"], r["name"]): float(r["share_of_peak"]) for r in csv.DictReader(file) if r["share_of_peak"]}


def against(rows, theirs):
    """Ratios of the layers that both have."""
    return [r["share_of_peak"] / theirs[r["table"], r["name"]]
            for r in rows if r["share_of_peak"] and (r["table"], r["name"]) in theirs]


def line(name, rows, theirs):
    ratios = [r["ratio"] for r in rows if r["ratio"]]
    depthwise = [r["ratio"] for r in rows if r["ratio"] and "depthwise" in r["implementation"]]
    scaling = geomean([r["scaling"] for r in rows if r.get("scaling")])
    cores = [r["cores"] for r in rows if r.get("cores")]
    cells = [name, len(rows), number(geomean(ratios)), number(min(ratios, default=None)),
             number(geomean(depthwise)),
             percent(share(rows, "", "peak")), percent(share(rows, "", "bound")),
             percent(share(rows, "baseline_", "peak")),
             number(scaling), number(sum(cores) / len(cores) if cores else None)]
    if theirs is not None:
        other = against(rows, theirs)
        cells += [number(geomean(other)), number(min(other, default=None))]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(threads, rows, theirs):
    heads = ["table", "layers", "ratio, geometric mean", "lowest", "depthwise rows", "share of peak",
             "of bound", "oneDNN's of peak",
             "scaling", "cores"] + (["against", "lowest"] if theirs is not None else [])
    lines = [f"Threads: {threads or '?'}", "", "| " + " | ".join(heads) + " |",
             "| " + " | ".join("---" for _ in heads) + " |"]
    lines += [line(name, part, theirs) for name, part in by(rows, "table").items()]
    return lines + [line("all", rows, theirs), ""]


def behind(rows, theirs):
    """Layers below 1 in either ratio, lowest first."""
    found = []
    for r in rows:
        if r["ratio"] and r["ratio"] < 1:
            found.append((r["ratio"], f"{r['table']} {r['name']}: {r['ratio']:.2f} of the baseline in the same run"))
        for ratio in against([r], theirs or {}):
            if ratio < 1:
                found.append((ratio, f"{r['table']} {r['name']}: {ratio:.2f} of the other file's share"))
    return [f"- {text}" for _, text in sorted(found)] + [""]


def networks(rows):
    """One line per network and count of threads."""
    lines = ["| network | threads | ms | warm layers | network / layers | of bound | baseline, ms | ratio | "
             "scaling | cores |", "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, part in by(rows, "table").items():
        for threads, same in by(part, "threads").items():
            found = {(r["name"], r["caches"]): r for r in same}
            whole, layers = found["network", "network"], found["layers", "warm"]
            cells = [name, threads, f"{whole['microseconds'] / 1e3:.3f}",
                     f"{layers['microseconds'] / 1e3:.3f}",
                     number(whole["microseconds"] / layers["microseconds"]), percent(whole["share_of_bound"]),
                     f"{whole['baseline_microseconds'] / 1e3:.3f}" if whole["baseline_microseconds"] else "",
                     number(whole["ratio"]),
                     number(whole["scaling"]), number(whole["cores"])]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--against", action="append", default=[], metavar="N=FILE")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--networks", action="store_true")
    arguments = parser.parse_args()
    if arguments.networks:
        print("\n".join(networks(read(arguments.file))))
        return
    others = dict(given.split("=", 1) for given in arguments.against)
    rows = [row for row in read(arguments.file) if row["caches"] == "warm"]
    for threads, part in by(rows, "threads").items():
        theirs = read_shares(others[threads]) if threads in others else None
        print("\n".join(table(threads, part, theirs)))
        if arguments.rows:
            print("\n".join(behind(part, theirs)))


if __name__ == "__main__":
    main()
