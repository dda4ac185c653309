#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who includes whom: include_graph.py [--source DIRECTORY]

A module for scripts/figures.py and tests/layering_test.py: run as a program it prints rings of units and of
folders in the product, rings of Python's modules, and files outside jit/ that are compiled with Xbyak, and
fails if there are any. A unit is a header with the file that implements it; a ring is a set of units (or folders)
of which each includes, over others of them, every other one.
"""

import argparse
import ast
import os
import re
import sys

PRODUCT = ("include", "src", "cpu", "jit", "loops", "network", "interop", "serve", "tools")
SOURCES = (".hpp", ".cpp", ".h", ".inl", ".c")
# Where quoted names begin, besides the folder of the including file.
ROOTS = ("include", "src", "", "serve", "tools", "interop", "interop/python/src")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)', re.M)


class Tree:
    """The sources below some folders, without their tests: `text` by path, and what each file includes, of these
    files (`includes`) and of others (`foreign`, as they are written)."""

    def __init__(self, root, folders=PRODUCT):
        self.text, self.includes, self.foreign = {}, {}, {}
        for folder in folders:
            for where, rooms, names in os.walk(os.path.join(root, folder)):
                rooms[:] = [room for room in rooms if room != "tests"]
                for name in names:
                    if name.endswith(SOURCES):
                        path = os.path.join(where, name)
                        with open(path, encoding="utf-8", errors="replace") as file:
                            self.text[os.path.relpath(path, root)] = file.read()
        for path, text in self.text.items():
            names = INCLUDE.findall(text)
            found = [self._find(path, name) for name in names]
            self.includes[path] = [f for f in found if f]
            self.foreign[path] = [name for name, f in zip(names, found) if not f]

    def _find(self, path, name):
        for root in (os.path.dirname(path), *ROOTS):
            candidate = os.path.normpath(os.path.join(root, name))
            if candidate in self.text:
                return candidate
        return None

    def closure(self, path):
        """The file and all that it includes, directly or not."""
        seen, rest = {path}, [path]
        while rest:
            for name in self.includes[rest.pop()]:
                if name not in seen:
                    seen.add(name)
                    rest.append(name)
        return seen

    def compiles(self, path, library):
        """Whether the file includes, directly or not, a header of this library."""
        return any(name.startswith(library) for f in self.closure(path) for name in self.foreign[f])

    def graph(self, node_of):
        """{node: nodes that it includes} with files put together by node_of(path)."""
        edges = {}
        for path, names in self.includes.items():
            edges.setdefault(node_of(path), set()).update(node_of(n) for n in names)
        return {node: targets - {node} for node, targets in edges.items()}


class Modules:
    """The modules of the Python package: which of them each imports, also within functions (`includes`, by path), and
    the names of modules of others (`foreign`). The compiled module has no file here."""

    def __init__(self, root, package="interop/python/octet"):
        self.includes, self.foreign = {}, {}
        paths = {}
        for where, _, names in os.walk(os.path.join(root, package)):
            for name in (name for name in names if name.endswith(".py")):
                path = os.path.relpath(os.path.join(where, name), root)
                module = os.path.relpath(path, os.path.dirname(package))[:-3].removesuffix("/__init__")
                paths[module.replace("/", ".")] = path
        for module, path in paths.items():
            with open(os.path.join(root, path), encoding="utf-8") as file:
                wanted = set(self._imported(module, path, ast.parse(file.read()), paths))
            self.includes[path] = sorted(paths[name] for name in wanted if name in paths)
            self.foreign[path] = sorted(name for name in wanted if name not in paths and not name.startswith("octet."))

    @staticmethod
    def _imported(module, path, tree, paths):
        package = module if path.endswith("/__init__.py") else module.rpartition(".")[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                above = package.rsplit(".", node.level - 1)[0] if node.level else ""
                name = ".".join(part for part in (above, node.module) if part)
                for alias in node.names:
                    inner = f"{name}.{alias.name}"
                    yield inner if inner in paths or name == "octet" else name

    def graph(self):
        """{module's file: files that it imports}."""
        return {path: set(names) - {path} for path, names in self.includes.items()}


def unit(path):
    """"cpu/dot/plan" of cpu/dot/plan.hpp and cpu/dot/plan.cpp."""
    return re.sub(r"\.(hpp|cpp|inl)$", "", path)


def rings(graph):
    """Sets of more than one node that reach each other (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph[node]:
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            ring = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(ring) > 1:
                found.append(sorted(ring))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def with_xbyak(tree):
    """Files to be compiled outside jit/ that include the assembler."""
    return sorted(p for p in tree.text if p.endswith(".cpp") and not p.startswith("jit/")
                  and tree.compiles(p, "xbyak/"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", default=os.path.join(os.path.dirname(__file__), ".."))
    root = parser.parse_args().source
    tree = Tree(root)
    sys.setrecursionlimit(10000)
    complaints = [f"units include each other in a ring: {' '.join(r)}" for r in rings(tree.graph(unit))]
    complaints += [f"folders include each other in a ring: {' '.join(r)}" for r in rings(tree.graph(os.path.dirname))]
    complaints += [f"modules import each other in a ring: {' '.join(r)}" for r in rings(Modules(root).graph())]
    complaints += [f"Xbyak belongs to jit/, and is compiled with {path}" for path in with_xbyak(tree)]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
