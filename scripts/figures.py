#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How large and how tangled the product is: figures.py [--source DIRECTORY]

Prints a table of figures that changes to the structure aim at, so that they are counted the same way before and after:

  product lines              all lines of C++, C and Python in the product's folders (include_graph.PRODUCT), without
                             tests, beside the aim
  lines of a package         the same, of each package; each file is counted once, also in trees in which packages lay
                             in other folders (PACKAGES has these, too)
  rings                      sets of units, and of folders, that include each other (include_graph.py)
  files that name one        product files whose code names a post-op, a level, a rule, by name: the most,
                             over all of them, the median, and the most outside of HOMES, the files that are
                             there to name them: its declaration, its row, its meaning, its generated code,
                             its contracts (`none` and `automatic` are no rules)
  files that name reduction    product files that a primitive stands in, with the doors (Python, oneDNN's
                               interface) counted apart; implementations (cpu, but for the list and the
                               reference) and those who use it (loops, network, the bench) are not counted
  convolution's closure      lines of code of all units that src/api/convolution.cpp and cpu/dot/drive.cpp
                             include, directly or not, in src, cpu and jit: headers with the files that
                             implement them; of the registry the header alone
  Xbyak outside jit          files to be compiled that include it, directly or not
  duplicated runs            pairs of places with the same eight or more lines of code one after the other, in
                             two files or in one
  without an opening         .cpp files that begin with code instead of a paragraph that says what they are for; the
                             licence's line is none

Code is what is left without comments and blank lines.
"""

import argparse
import collections
import os
import re
import statistics
import subprocess
import sys

import include_graph

RUN = 8
HOMES = {
    "a post-op": ("include/octet/primitive_attr.hpp", "src/common/post_ops.hpp", "src/api/primitive_attr.cpp",
                  "src/common/bound_epilogue.cpp",
                  "jit/epilogue/post_ops.cpp"),
    "a level": ("include/octet/settings.hpp", "src/common/machine.hpp", "interop/onednn/library/settings.cpp",
                "tools/bench/limits.cpp",
                "tools/bench/workload_onednn.cpp"),
    "a rule": ("include/octet/requantization.hpp", "src/common/rules.hpp", "src/common/requantize.hpp",
               "network/tflite/profiles/rows.hpp"),
}
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.S)


def code_lines(text):
    """Lines that have code, without comments and without white space at their ends."""
    text = COMMENT.sub(lambda m: m.group(1) or "\n" * m.group(0).count("\n"), text)
    return [line for line in (raw.strip() for raw in text.split("\n")) if line]


# (package, its folders, its aim in lines): a file belongs to the longest folder that its path begins with.
PACKAGES = (
    ("core", ("include", "src", "cpu", "jit"), 48500),
    ("loops", ("loops",), 5600),
    ("network", ("network", "src/network"), 10000),
    ("network/onnx", ("network/onnx", "src/network/onnx", "src/network/ops/onnx", "src/network/passes/ort"), 18400),
    ("network/tflite", ("network/tflite", "src/network/tflite", "src/network/ops/tflite"), 4400),
    ("interop/onednn", ("interop/onednn", "interop/dnnl", "include/octet/compat", "src/compat"), 8700),
    ("interop/onnxruntime", ("interop/onnxruntime",), 3200),
    ("interop/python", ("interop/python",), 6800),
    ("serve", ("serve",), 9000),
    ("tools", ("tools",), 14000),
)
AIM = 124000  # of all together, below the sum of the packages' aims


def product_files(root):
    """What git has of the product, without its tests."""
    listed = subprocess.run(["git", "ls-files", *include_graph.PRODUCT], cwd=root, capture_output=True, text=True,
                            check=True)
    return [name for name in listed.stdout.splitlines() if "/tests/" not in name]


def package_lines(root):
    """{package: lines of C++, C and Python}; together they are the product's."""
    lines = dict.fromkeys((name for name, _, _ in PACKAGES), 0)
    places = sorted(((folder, name) for name, folders, _ in PACKAGES for folder in folders),
                    key=lambda place: -len(place[0]))
    for path in product_files(root):
        if path.endswith((*include_graph.SOURCES, ".py")):
            package = next(name for folder, name in places if path.startswith(folder + "/"))
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                lines[package] += file.read().count("\n")
    return lines


def members(text, pattern):
    return re.findall(pattern, text, re.M)


def files_that_name(tree, names, pattern):
    """{name: the files that have it in their code}; `pattern` with the name in the place of NAME."""
    code = {path: "\n".join(code_lines(text)) for path, text in tree.text.items()}
    return {name: [path for path, text in code.items() if re.search(pattern.replace("NAME", name), text)]
            for name in names}


def naming(tree):
    """(what, {name: files}) of post-ops, levels and rules: by the names that their declarations have."""
    attr, rules, settings = (tree.text["include/octet/" + n]
                             for n in ("primitive_attr.hpp", "requantization.hpp", "settings.hpp"))
    scope = attr[attr.index("namespace post_op {"):]
    ops = members(scope[:scope.index("} // namespace post_op")], r"^struct (\w+)")
    enum = lambda text, name: members(re.search(r"enum class " + name + r"\b.*?\{(.*?)\}", text,
                                                re.S).group(1), r"^\s*(\w+)\s*(?:=|,|$|///)")
    yield "a post-op", files_that_name(tree, ops, r"post_op::NAME\b")
    yield "a level", files_that_name(tree, enum(settings, "cpu_isa"), r"(cpu_isa|level|isa)::NAME\b")
    named_rules = [name for name in enum(rules, "requantization_rule") if name not in ("none", "automatic")]
    yield "a rule", files_that_name(tree, named_rules, r"(requantization_rule|rules?|rule_t)::NAME\b")


def files_of_primitive(root, name):
    """(in the library and the command, in the doors): files whose code names the operation, its problem or its kind."""
    pattern = re.compile(
        rf'\b({name}(_forward)?::|{name}_problem\b|primitive_kind::{name}\b|ROW\({name}\)|octet/{name}\.hpp|'
        rf'dnnl_{name}(_desc_t)?\b|kind\({name}\b|NAMED\({name}\)|struct (OCTET_API )?{name}\b|def '
        rf'{name}\b|_octet\.{name}\b)|"{name}"|^\s*{name},?\s*(///|$)', re.M)
    users = ("loops/", "network/", "src/network/", "tools/bench/", "tools/match/", "serve/",
             "interop/python/octet/torch/")
    found = []
    for path in product_files(root):
        implements = path.startswith("cpu/") and not path.startswith(("cpu/ref/", "cpu/choice/"))
        if path.endswith((*include_graph.SOURCES, ".py", ".pyi")) and not path.startswith(users) and not implements:
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                text = file.read()
            if pattern.search(text if path.endswith((".py", ".pyi")) else "\n".join(code_lines(text))):
                found.append(path)
    doors = [p for p in found if p.startswith(("interop/", "include/octet/compat/"))]
    return [p for p in found if p not in doors], doors


def closure_lines(tree, *start):
    """Lines of code of the units that files need."""
    implementation = collections.defaultdict(set)
    for path in tree.text:
        implementation[include_graph.unit(path)].add(path)
    seen, rest = set(), list(start)
    while rest:
        path = rest.pop()
        if path in seen or not path.startswith(("src/", "cpu/", "jit/")):
            continue
        seen.add(path)
        rest += tree.includes[path]
        if not path.endswith("/registry.hpp"): # its table has all families
            rest += implementation[include_graph.unit(path)]
    return sum(len(code_lines(tree.text[p])) for p in seen)


def duplicated_runs(tree):
    """Maximal runs of equal lines that stand in two places."""
    places = collections.defaultdict(list)
    lines = {p: [line for line in code_lines(t) if not line.startswith("#include") and len(line) > 3] for p,
             t in tree.text.items()}
    for path, code in lines.items():
        for i in range(len(code) - RUN + 1):
            places["\n".join(code[i:i + RUN])].append((path, i))
    starts = set()
    for found in places.values():
        for a in found[:8]:
            for b in found[:8]:
                if a < b and not (a[0] == b[0] and b[1] - a[1] < RUN):
                    starts.add((a, b))
    step = lambda place: (place[0], place[1] - 1)
    return sorted((a, b) for a, b in starts if (step(a), step(b)) not in starts)


def without_opening(tree):
    """Files whose first line, but for the licence's, is no comment."""
    first = lambda text: re.sub(r"^\s*// SPDX-[^\n]*\n", "", text).lstrip()
    return sorted(p for p, t in tree.text.items() if p.endswith(".cpp") and not first(t).startswith(("//", "/*")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", default=os.path.join(os.path.dirname(__file__), ".."))
    parser.add_argument("--list", action="store_true",
                        help="name duplicated runs, files without an opening paragraph, those of reduction, "
                        "and those that name a post-op, level or "
                             "rule (those of HOMES have a star), too")
    options = parser.parse_args()
    tree = include_graph.Tree(options.source)
    sys.setrecursionlimit(10000)
    runs, bare = duplicated_runs(tree), without_opening(tree)
    lines = package_lines(options.source)
    of_aim = lambda count, aim: f"{count:,} of {aim:,}"
    rows = [("product lines, of the aim", of_aim(sum(lines.values()), AIM)),
            *((f"lines of {name}", of_aim(lines[name], aim)) for name, _, aim in PACKAGES),
            ("rings of units", len(include_graph.rings(tree.graph(include_graph.unit)))),
            ("rings of folders", len(include_graph.rings(tree.graph(os.path.dirname))))]
    named = list(naming(tree))
    for what, files in named:
        counts = [len(f) for f in files.values()]
        elsewhere = [len(set(f) - set(HOMES[what])) for f in files.values()]
        rows += [(f"files that name {what}: most, median, away",
                  f"{max(counts)}, {statistics.median(counts):g}, {max(elsewhere)}")]
    inside, doors = files_of_primitive(options.source, "reduction")
    rows += [("files that name reduction: library, doors", f"{len(inside)}, {len(doors)}")]
    rows += [("convolution's closure, lines of code",
              closure_lines(tree, "src/api/convolution.cpp", "cpu/dot/drive.cpp")),
             ("files outside jit compiled with Xbyak", len(include_graph.with_xbyak(tree))),
             (f"duplicated runs of {RUN} lines", len(runs)),
             (".cpp files without an opening paragraph",
              f"{len(bare)} of {sum(p.endswith('.cpp') for p in tree.text)}")]
    for name, value in rows:
        print(f"{name:45}{value:>18}" if isinstance(value, str) else f"{name:45}{value:>18,}")
    if options.list:
        for a, b in runs:
            print(f"{a[0]}:{a[1]} ~ {b[0]}:{b[1]} (lines of code)")
        print("\n".join(bare))
        print("\n".join(f"names reduction: {p}" for p in inside + doors))
        for what, files in named:
            for name in (n for n in files if len(set(files[n]) - set(HOMES[what])) > 1):
                print(f"name {name}: {' '.join(p + '*' * (p in HOMES[what]) for p in files[name])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
