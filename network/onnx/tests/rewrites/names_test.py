#!/usr/bin/env python3
"""Each file of network/onnx/rewrites begins with the files of ONNX Runtime that it repeats and their level.
Its tests, FILE_test.cpp here, have a suite for each of those: GeluFusion for `gelu_fusion.cc`. The version is
that of scripts/packages.sh."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

NAME = r"`(\w+)\.cc`"


def head(text):
    """The first comment of a file as one line."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("// ") or "SPDX" in line:
            break
        lines.append(line[3:])
    return " ".join(lines)


def suite(name):
    return "".join(word.capitalize() for word in name.split("_"))


def complaints(file, tests, version):
    pattern = rf"As ({NAME}(?:(?:, | and ){NAME})*) of ONNX Runtime (\S+), (all levels|levels? [0-9][^:]*): "
    first = re.match(pattern, head(file.read_text()))
    if not first or first[4] != version:
        yield f'{file}: does not begin with "As `FILE.cc` of ONNX Runtime {version}, level 1: "'
        return
    test = tests / f"{file.stem}_test.cpp"
    if not test.exists():
        yield f"{file}: there is no {test}"
        return
    suites = set(re.findall(r"^TEST(?:_F|_P)?\((\w+),", test.read_text(), re.MULTILINE))
    for name in re.findall(NAME, first[1]):
        if suite(name) not in suites:
            yield f"{test}: no test of {suite(name)}, after `{name}.cc`, which {file.name} names"


def main():
    root = pathlib.Path(sys.argv[1])
    version = re.search(r"onnxruntime-node@(\d+\.\d+)", (root / "scripts/packages.sh").read_text())[1]
    files = sorted((root / "network/onnx/rewrites").glob("*.cpp"))
    found = [c for f in files for c in complaints(f, root / "network/onnx/tests/rewrites", version)]
    if found or not files:
        sys.exit("\n".join(found) or "there are no rewrites")
    print(f"{len(files)} files")


main()
