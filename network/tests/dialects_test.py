#!/usr/bin/env python3
"""Shared code of networks names no framework, no operator and no profile: it asks a dialect (network/dialect.hpp), the
row of an operator or a runtime. Fails at a literal of such a name, and at an include of a dialect's rooms, in a file
that all dialects share.
"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

DIALECTS = ("onnx", "tflite", "dialects", "tests")  # rooms that know a framework
INCLUDE = re.compile(r'\s*#\s*include\s*"network/(?:%s)/' % "|".join(DIALECTS))


def sources(folder, pattern):
    return {f for f in folder.glob(pattern) if f.suffix in (".hpp", ".cpp")}


def main():
    network = pathlib.Path(sys.argv[1]) / "network"
    shared = {f for f in sources(network, "**/*") if f.relative_to(network).parts[0] not in DIALECTS}

    names = {"onnx", "tflite"}
    for table in sources(network, "*/ops/*"):
        names |= set(re.findall(r'\b\w*row(?:<[^"(]*>)?\("(\w+)"', table.read_text()))
    if len(names) < 150:
        sys.exit(f"only {len(names)} names of operators were found: the test looks for their rows in another form")

    profiles = set(re.findall(r'^    \{"([\w.-]+)", "', (network / "tflite/profiles/profiles.cpp").read_text(), re.M))
    if len(profiles) < 15:
        sys.exit(f"only {len(profiles)} names of profiles were found: the test looks for their rows in another form")
    names |= profiles

    found = []
    for file in sorted(shared):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            code = line.split("//")[0]
            where = f"{file.relative_to(network)}:{number}"
            if INCLUDE.match(code):
                found.append(f"{where}: includes a room of one dialect: {code}")
            elif not code.lstrip().startswith("#"):
                literals = re.findall(r'"([\w.-]+)"', code)
                found += [f"{where}: names {literal!r}" for literal in literals if literal in names]
    if found:
        sys.exit("\n".join(found))
    print(f"{len(shared)} files, {len(names)} names")


main()
