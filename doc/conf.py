# SPDX-License-Identifier: Apache-2.0
"""The manual: scripts/manual.sh builds it from these pages, the headers' comments and the Python package's docstrings.
"""

import importlib.util
import os
import re
import sys

from sphinx import addnodes

root = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.environ.get("OCTET_PYTHON_DIR", os.path.join(root, "build", "release", "python")))

project = "Octet"
author = "the Octet developers"
with open(os.path.join(root, "CMakeLists.txt")) as file:
    release = re.search(r"project\(octet VERSION ([0-9.]+)", file.read()).group(1)

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.doctest", "sphinx.ext.napoleon"]
exclude_patterns = ["Doxyfile"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

html_theme = "furo"
html_title = f"Octet {release}"
html_static_path = []

myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # pages of the repository begin where they like

breathe_projects = {"octet": os.environ.get("OCTET_DOXYGEN_XML", os.path.join(root, "build", "doc", "xml"))}
breathe_default_project = "octet"
breathe_default_members = ("members", "undoc-members")
breathe_show_include = True
cpp_id_attributes = ["OCTET_API"]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
# The packages that parts of the Python package are for need not be there to describe these parts.
autodoc_mock_imports = [name for name in ("torch", "dask", "distributed", "mpi4py")
                        if not importlib.util.find_spec(name)]
default_role = "literal"  # of the docstrings' single backticks

# Examples of the pages run in the repository's root, where the example network lies.
doctest_global_setup = f"""
import os
os.chdir({root!r})
import numpy as np
import octet
from octet import Weights, compare_rules, quantize_multiplier
from octet.operations import *
from octet.mpi import part_of
try:
    import torch, warnings
    warnings.filterwarnings("ignore")
except ImportError:
    torch = None
"""


def join_overloads(app, doctree):
    """Neighbours in the C++ reference with the same description, as overloads have, become one entry with several
    signatures."""
    for section in {id(entry.parent): entry.parent for entry in doctree.findall(addnodes.desc)}.values():
        last = None
        for entry in list(section):
            if not isinstance(entry, addnodes.desc) or entry.get("domain") != "cpp":
                continue
            if last is not None and entry[-1].astext() and entry[-1].astext() == last[-1].astext():
                entry[:0] = [child for child in last if isinstance(child, addnodes.desc_signature)]
                section.remove(last)
            last = entry


def setup(app):
    """Sphinx's entry."""
    app.connect("doctree-read", join_overloads)
