#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sorts what doxygen found for the manual: doc_groups.py XML. The headers put neighbours with a common comment between
///@{ and ///@}, groups without a name, which the manual would show as such and before everything else. Their members
go where those without a group are, in the order of the header. Run by scripts/manual.sh."""

import glob
import os
import sys
from xml.etree import ElementTree

IN_CLASS = {"typedef": "type", "enum": "type", "function": "func", "variable": "attrib"}
ELSEWHERE = {"function": "func", "variable": "var"}


def section_of(compound, member):
    """The kind of section that has a member which is in no group."""
    kind = member.get("kind")
    if compound.get("kind") not in ("class", "struct", "union"):
        return ELSEWHERE.get(kind, kind)
    if kind not in IN_CLASS:
        return kind
    return f"{member.get('prot')}-{'static-' if member.get('static') == 'yes' else ''}{IN_CLASS[kind]}"


def line(member):
    """Where it is declared."""
    location = member.find("location")
    return (location.get("file"), int(location.get("line")))


def dissolve(compound):
    """Moves the members of groups without a name. Returns whether there were any."""
    groups = [s for s in compound.findall("sectiondef") if s.get("kind") == "user-defined" and s.find("header") is None]
    for group in groups:
        place = list(compound).index(group)
        compound.remove(group)
        for member in group.findall("memberdef"):
            kind = section_of(compound, member)
            section = compound.find(f"sectiondef[@kind='{kind}']")
            if section is None:
                section = ElementTree.Element("sectiondef", kind=kind)
                compound.insert(place, section)
            section.append(member)
    for section in compound.findall("sectiondef") if groups else ():
        members = sorted(section.findall("memberdef"), key=line)
        for member in members:
            section.remove(member)
        section.extend(members)
    return bool(groups)


def main():
    """All files."""
    for path in glob.glob(os.path.join(sys.argv[1], "*.xml")):
        tree = ElementTree.parse(path)
        if any([dissolve(compound) for compound in tree.getroot().findall("compounddef")]):
            tree.write(path, encoding="utf-8", xml_declaration=True)


main()
