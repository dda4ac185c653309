#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a build is slower than another: speed.py OLD NEW [--rounds 50] [--seconds 0] [--report] ARGUMENTS…

OLD and NEW are `octet` commands, which run in turn; ARGUMENTS are lists of arguments of `octet bench`, one in each
word. A round is one sample of every row from each command; which of them is first alternates. --seconds ends after
the round that reaches them, but not before the fourth.

A sample is disturbed if the peak that the command measured beside it is more than 5 % below the median of all peaks
of that row, or if its time is more than 25 % above the median of its command: something else ran on the core, or its
clock fell. Its round is left out for that row. The table has, for
each row, the geometric mean of old time / new time, and the probability (p, one-sided t-test of the logarithms,
corrected for the number of rows by Holm's method) that rounds like these come from a build that is not slower.
SLOWER: p < 0.05 and more than 1 % slower. Exit code 1: a row is, unless --report says that the table is all.
"""

import argparse
import csv
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

LOW_PEAK, LONG_TIME, NOTABLE, CHANCE = 0.95, 1.25, 0.99, 0.05
FEWEST = 4  # rounds that a test needs


def sample(command, arguments):
    """One sample of each row: {(table, name): (microseconds, peak or None)}. Of networks the whole one counts."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        subprocess.run([command, "bench", *arguments, "--samples", "1", "--csv", path], check=True,
                       stdout=subprocess.DEVNULL)
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
    whole = [row for row in rows if row["caches"] == "network" and row["name"] == "network"]
    return {(row["table"], row["name"]): (float(row["microseconds"]),
                                          float(row["peak_gops"]) if row.get("peak_gops") else None)
            for row in whole or rows}


def round_of(commands, lists, first):
    """One sample of each command: a list of two dicts, in the order of the commands."""
    found = [{}, {}]
    for arguments in lists:
        for which in (first, 1 - first):
            rows = sample(commands[which], arguments)
            for key in rows.keys() & found[which].keys():
                sys.exit(f"speed.py: the row '{' '.join(key)}' is in two lists of arguments")
            found[which].update(rows)
    return found


def without_disturbed(pairs):
    """The pairs ((time, peak), (time, peak)) of a row of which neither sample is disturbed."""
    peaks = [peak for pair in pairs for _, peak in pair if peak]
    least = LOW_PEAK * statistics.median(peaks) if peaks else 0
    most = [LONG_TIME * statistics.median(time for time, _ in side) for side in zip(*pairs)]
    return [pair for pair in pairs if all((peak is None or peak >= least) and time <= limit
                                          for (time, peak), limit in zip(pair, most))]


def beyond(t, freedom):
    """The probability that Student's t with so many degrees of freedom exceeds a value."""
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term, total = (1.0, 1.0) if freedom % 2 == 0 else (cosine, cosine if freedom > 1 else 0.0)
    for k in range(1 + freedom % 2, freedom - 2, 2):
        term *= cosine * cosine * k / (k + 1)
        total += term
    inside = sine * total if freedom % 2 == 0 else 2 / math.pi * (angle + sine * total)
    return (1 - inside) / 2


def chance_of(logarithms):
    """p that the mean of log(new / old) is not above 0."""
    mean = statistics.fmean(logarithms)
    error = statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    if error == 0:
        return 0.0 if mean > 0 else 1.0
    return beyond(mean / error, len(logarithms) - 1)


def by_holm(chances):
    """Probabilities corrected for their number, in their order; None stays."""
    known = sorted((p, i) for i, p in enumerate(chances) if p is not None)
    result, so_far = list(chances), 0.0
    for rank, (p, i) in enumerate(known):
        so_far = max(so_far, min(1.0, p * (len(known) - rank)))
        result[i] = so_far
    return result


def verdicts(rounds):
    """A row of the table for each row of the commands: (name, old us, new us, ratio, p, rounds left, verdict)."""
    keys = [key for key in rounds[0][0] if all(key in side for both in rounds for side in both)]
    rows, chances = [], []
    for key in keys:
        pairs = without_disturbed([(old[key], new[key]) for old, new in rounds])
        rows.append(pairs)
        chances.append(chance_of([math.log(n[0] / o[0]) for o, n in pairs]) if len(pairs) >= FEWEST else None)
    for key, pairs, chance in zip(keys, rows, by_holm(chances)):
        name = " ".join(key)
        if chance is None:
            yield name, None, None, None, None, len(pairs), "too disturbed"
            continue
        ratio = math.exp(statistics.fmean(math.log(o[0] / n[0]) for o, n in pairs))
        slower = chance < CHANCE and ratio < NOTABLE
        yield (name, statistics.median(o[0] for o, _ in pairs), statistics.median(n[0] for _, n in pairs), ratio,
               chance, len(pairs), "SLOWER" if slower else "")


def show(rows, rounds):
    width = max([len("layer or network")] + [len(row[0]) for row in rows])
    print(f"{'layer or network':{width}}  {'old us':>10}  {'new us':>10}  {'old/new':>7}  {'p':>7}  rounds")
    for name, old, new, ratio, chance, left, verdict in rows:
        numbers = (f"{old:10.1f}  {new:10.1f}  {ratio:7.3f}  {chance:7.4f}" if chance is not None
                   else f"{'-':>10}  {'-':>10}  {'-':>7}  {'-':>7}")
        print(f"{name:{width}}  {numbers}  {left:2} of {rounds}  {verdict}".rstrip())
    ratios = [row[3] for row in rows if row[3]]
    if ratios:
        print(f"geometric mean of old/new: {statistics.geometric_mean(ratios):.3f} ({len(ratios)} rows; "
              "above 1: faster)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("arguments", nargs="+", metavar="ARGUMENTS")
    given = parser.parse_args()
    if given.rounds < FEWEST:
        parser.error(f"--rounds is {given.rounds}, allowed: {FEWEST} and more")
    lists = [shlex.split(word) for word in given.arguments]
    begin, rounds = time.monotonic(), []
    while len(rounds) < given.rounds:
        rounds.append(round_of((given.old, given.new), lists, len(rounds) % 2))
        if given.seconds and len(rounds) >= FEWEST and time.monotonic() - begin >= given.seconds:
            break
    rows = list(verdicts(rounds))
    if not rows:
        sys.exit("speed.py: the commands have no row in common")
    show(rows, len(rounds))
    return 1 if any(row[-1] == "SLOWER" for row in rows) and not given.report else 0


if __name__ == "__main__":
    sys.exit(main())
