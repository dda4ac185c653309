# SPDX-License-Identifier: Apache-2.0
"""Files of `octet bench --csv` and `--history` for the scripts beside this one: a row that occurs several
times, in several runs, counts with the medians of its numbers."""

import csv
import math
import statistics
import sys

KEY = ("table", "name", "threads", "caches")
TEXT = KEY + ("implementation", "baseline_implementation", "bound", "run", "version")


def median_row(rows):
    """One row of all that have the same key; numbers are floats, or None where a cell is empty."""
    result = {}
    for column, first in rows[0].items():
        if column in TEXT:
            result[column] = first
        else:
            values = [float(row[column]) for row in rows if row[column]]
            result[column] = statistics.median(values) if values else None
    return result


def read(path):
    """Rows in the order of the file. Files of before threads and caches had columns are of warm caches."""
    groups = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            row.setdefault("threads", "")
            row.setdefault("caches", "warm")
            groups.setdefault(tuple(row.get(column) for column in KEY), []).append(row)
    if not groups:
        sys.exit(f"{path}: no rows")
    return [median_row(rows) for rows in groups.values()]


def by(rows, column):
    """Rows by the values of a column, in their order."""
    groups = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def geomean(values):
    """None of no values."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None
