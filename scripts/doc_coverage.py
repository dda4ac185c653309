#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of the public interfaces is documented: doc_coverage.py XML [--least PERCENT]

C++ and C: every public class, function, variable, type and enumeration that doxygen found below include/octet
(XML is its output). Not counted: what is = default or = delete, operators, the names in a documented
enumeration, oneDNN's own interface (compat). Python: every public name of the package octet, and every public
member of its classes. Prints a table and what is missing; fails where one of them has less than PERCENT (95).
Run by scripts/manual.sh.
"""

import argparse
import glob
import importlib
import inspect
import os
import pkgutil
import sys
from xml.etree import ElementTree


def has_text(element):
    """Whether doxygen found a comment."""
    return any("".join(d.itertext()).strip() for tag in ("briefdescription", "detaileddescription")
               for d in element.findall(tag))


def native(xml):
    """{language: {name: is documented}}"""
    found = {"C++": {}, "C": {}}
    for path in glob.glob(os.path.join(xml, "*.xml")):
        for compound in ElementTree.parse(path).getroot().findall("compounddef"):
            name = compound.findtext("compoundname")
            if compound.get("kind") in ("class", "struct", "union") and compound.get("prot") == "public":
                add(found, compound, name)
            if compound.get("kind") not in ("class", "struct", "union", "namespace", "file"):
                continue
            for member in compound.iter("memberdef"):
                if (member.get("prot") != "public" or not member.findtext("name")
                    or member.findtext("name").startswith("@")):
                    continue
                # The same item is in the lists of its file, its namespace and its topic: it is one where it
                # was declared.
                place = member.find("location")
                add(found, member, f"{name}::{member.findtext('name')} {member.findtext('argsstring') or ''}",
                    place is not None
                    and (place.get("file"), place.get("line"), place.get("column"), member.findtext("name")))
    return {language: {name: documented for name, documented in items.values()} for language, items in found.items()}


def add(found, element, name, identity=None):
    """Notes an item that lies in a public header."""
    location = element.find("location")
    file = location.get("file", "") if location is not None else ""
    if "include/octet/" not in file or "/compat/" in file:
        return
    language = "C" if file.endswith(".h") else "C++"
    kind = element.get("kind")
    if ("operator" in (element.findtext("name") or "")
        or (element.findtext("argsstring") or "").endswith(("=default", "=delete"))):
        return
    if kind == "define" and language == "C++":
        return  # the interface of C++ has none
    found[language][identity or name] = (name, has_text(element))


def python():
    """{name: has a docstring} of the package."""
    import octet
    found = {}
    for info in pkgutil.iter_modules(octet.__path__):
        if info.name.startswith("_"):
            continue
        try:
            module = importlib.import_module("octet." + info.name)
        except ImportError as e:
            print(f"Python: octet.{info.name} is left out: {e}")
            continue
        found[module.__name__] = bool(inspect.getdoc(module))
        names = getattr(module, "__all__", None) or [n for n, o in vars(module).items() if not n.startswith("_")
                                                     and getattr(o, "__module__", None) == module.__name__]
        members_of(module, names, module.__name__, found)
    members_of(octet, octet.__all__, "octet", found)
    return found


def is_documented(item):
    """Whether there is more than the signature that pybind11 writes by itself."""
    words = inspect.getdoc(item) or ""
    if inspect.isbuiltin(item):
        words = words.partition("\n")[2]
    return bool(words.strip())


def members_of(owner, names, prefix, found):
    """Notes names and, of classes, what they define in public."""
    for name in names:
        item = getattr(owner, name)
        if not (inspect.isclass(item) or inspect.isroutine(item)):
            continue
        found[f"{prefix}.{name}"] = is_documented(item)
        if not inspect.isclass(item):
            continue
        for base in item.__mro__:
            if not base.__module__.startswith("octet"):
                continue
            for member, value in vars(base).items():
                if not member.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
                    found[f"{prefix}.{name}.{member}"] = is_documented(getattr(item, member))


def main():
    """The table, and an exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("xml")
    parser.add_argument("--least", type=float, default=95)
    arguments = parser.parse_args()
    tables = {**native(arguments.xml), "Python": python()}
    is_short = False
    for language, items in tables.items():
        if not items:
            sys.exit(f"doc_coverage.py: found nothing in {language}")
        missing = sorted(name for name, documented in items.items() if not documented)
        percent = 100 * (1 - len(missing) / len(items))
        print(f"{language}: {len(items) - len(missing)} of {len(items)} public items documented, {percent:.1f} %")
        for name in missing:
            print(f"    without a word: {name}")
        is_short = is_short or percent < arguments.least
    sys.exit(f"less than {arguments.least:g} %" if is_short else 0)


if __name__ == "__main__":
    main()
