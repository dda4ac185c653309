#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names in `backticks` exist: symbols.py

A name of Octet's own that a comment of C++, C, Python or a script, or a page, has in backticks must stand in
the code of some tracked file: as a word outside comments. Only names that cannot be words of English are
looked at: those with an underscore inside, or `::`. Words of other projects, which Octet's code does not
have, are listed below. Pages of measurements are not looked at: they name layers of networks.
"""

import re
import subprocess
import sys

CODE = (".hpp", ".cpp", ".inl", ".h", ".c", ".py", ".pyi", ".sh", ".cmake", ".cjs", ".mjs", ".fbs", ".proto",
        ".in", ".h2m", ".yaml", ".toml", "CMakeLists.txt", ".json", ".csv", ".html", ".js")
C = (".hpp", ".cpp", ".inl", ".h", ".c")
NAME = re.compile(r"`([A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)*)(?:\(\))?`")
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
MEASUREMENTS = ("doc/notes/", "doc/performance.md")
# Words of other projects, and places that a reader fills in.
OTHERS = set("""
allow_spinning inference_input_type reduce_range tf_crop_and_resize
SessionOptionsAppendExecutionProvider_V2 cnn_training_f32
POST_OP packed_KIND Py_LIMITED_API manylinux_2_28 manylinux_2_34 pthread_mutex_trylock pthread_once
ai_edge_torch litert_torch convert_pt2e prepare_pt2e quantize_static
""".split())


def main():
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    words, named = set(), {}
    for path in listed:
        if not path.endswith((*CODE, ".md")) or path == "CHANGELOG.md" or path.startswith(MEASUREMENTS):
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if path.endswith(".md"):
            comments = text
        elif path.endswith(C):
            comments = "\n".join(m.group(0) for m in COMMENT.finditer(text) if m.group(0)[0] == "/")
            words.update(re.findall(r"\w+", COMMENT.sub(lambda m: m.group(0) if m.group(0)[0] == '"' else " ", text)))
        else:
            comments = "\n".join(line[line.index("#"):] for line in text.split("\n") if "#" in line)
            words.update(re.findall(r"\w+", text))
        for name in NAME.findall(comments):
            if "_" in name.strip("_") and name == name.strip("_") or "::" in name:
                named.setdefault(name, path)
    missing = sorted((path, name) for name, path in named.items()
                     if name not in OTHERS and not set(name.replace("std::", "").split("::")) <= words
                     | {"std", "octet"})
    for path, name in missing:
        print(f"{path}: `{name}` stands in no code")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
