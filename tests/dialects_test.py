#!/usr/bin/env python3
"""Shared code of networks names no framework and no operator: it asks a dialect (src/network/dialect.hpp) or the row of an
operator. Fails at a literal of such a name, and at an include of a dialect's rooms, in a file that all dialects share."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

ROOMS = ("graph", "lower", "run", "saved", "c")  # whole
PARTS = ("", "passes", "ops")  # the files of the folder itself, not of those below
FILES = ("shapes/known_*", "shapes/node_*")
PROFILES = "profile"  # contracts of runtimes, each for one framework
DIALECTS = re.compile(r'#\s*include\s*"network/(?:(?:onnx|tflite|dialects|parts|ops/onnx|ops/tflite|passes/ort|passes/onnx)/'
                      r'|shapes/(?:onnx|tflite))')


def sources(folder, pattern):
    return {f for f in folder.glob(pattern) if f.suffix in (".hpp", ".cpp")}


def main():
    network = pathlib.Path(sys.argv[1]) / "src/network"
    shared = set()
    for room in ROOMS:
        shared |= sources(network / room, "**/*")
    for part in PARTS:
        shared |= sources(network / part, "*")
    for pattern in FILES:
        shared |= sources(network, pattern)
    shared = {f for f in shared if not f.name.startswith(PROFILES)}

    names = {"onnx", "tflite"}
    for table in sources(network / "ops", "*/*"):
        names |= set(re.findall(r'\b\w*row(?:<[^"(]*>)?\("(\w+)"', table.read_text()))
    if len(names) < 150:
        sys.exit(f"only {len(names)} names of operators were found: the test looks for their rows in another form")

    found = []
    for file in sorted(shared):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            code = line.split("//")[0]
            where = f"{file.relative_to(network)}:{number}"
            if DIALECTS.match(code):
                found.append(f"{where}: includes a room of one dialect: {code}")
            elif not code.lstrip().startswith("#"):
                found += [f"{where}: names {literal!r}" for literal in re.findall(r'"(\w+)"', code) if literal in names]
    if found:
        sys.exit("\n".join(found))
    print(f"{len(shared)} files, {len(names)} names")


main()
