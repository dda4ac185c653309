#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives every source file the line that tells its licence, SPDX-License-Identifier: spdx.py [--check].
--check only names files without it.

The comment at the head of a file stays its first paragraph: the line ends that paragraph, in place of the
empty one behind it, or stands behind `#pragma once`, so that lines keep their numbers, and a compiler cache
its objects. In Python it comes before the docstring.
"""

import re
import subprocess
import sys

TAG = "SPDX-License-Identifier: Apache-2.0"
SLASHES = {"cpp", "hpp", "inl", "fbs", "proto", "mjs", "cjs", "h"}
HASHES = {"sh", "cmake", "pyi", "py"}


def sources():
    """(path, kind) of each tracked file that is source."""
    for path in subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines():
        ending = "cmake" if path.endswith("CMakeLists.txt") else path.rsplit(".", 1)[-1]
        if ending == "c" or re.search(r"compat/.*\.h$", path):
            yield path, "c"  # compiled as C89, too
        elif ending in SLASHES | HASHES:
            yield path, ending


def end_of_head(lines, start, mark):
    """The place behind the comment that begins at a line."""
    while start < len(lines) and lines[start].startswith(mark):
        start += 1
    return start


def with_tag(lines, kind):
    """The lines of a file with the tag."""
    first = 1 if lines[0].startswith("#!") else 0
    if kind == "c" or lines[0].startswith(("#pragma once", "#ifndef ")):
        at = 0 if lines[0].startswith("#") else next(i for i, line in enumerate(lines) if line.endswith("*/"))
        lines[at] += f" /* {TAG} */" if kind == "c" else f" // {TAG}"
        return lines
    mark = "#" if kind in HASHES else "//"
    at = first if kind == "py" else end_of_head(lines, first, mark)
    if at > first and at < len(lines) and lines[at] == "" and mark == "//":
        lines[at] = f"{mark} {TAG}"
    else:
        lines.insert(at, f"{mark} {TAG}")
    return lines


def main():
    missing = []
    for path, kind in sources():
        with open(path) as file:
            text = file.read()
        if TAG in text:
            continue
        missing.append(path)
        if "--check" not in sys.argv:
            with open(path, "w") as file:
                file.write("\n".join(with_tag(text.split("\n"), kind)))
    for path in missing:
        print(path + ("" if "--check" not in sys.argv else f": no '{TAG}' (scripts/spdx.py adds it)"))
    return 1 if missing and "--check" in sys.argv else 0


sys.exit(main())
