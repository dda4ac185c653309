#!/usr/bin/env bash
# Builds the manual, build/doc/manual/index.html, and runs its examples: manual.sh [--html] [BUILD]. Every warning is
# an error. Needs a build with the Python package, which it describes, build/release by default. --html leaves the
# examples out.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

builders=(html doctest)
if [ "${1-}" = --html ]; then
    builders=(html)
    shift
else
    scripts/packages.sh build docs
fi
build=$(realpath "${1:-build/release}")
OCTET_PYTHON_DIR=$build/python OCTET_DOXYGEN_XML=$PWD/build/doc/xml
PATH=$build/tools:$PATH # of the examples that start the command
export OCTET_PYTHON_DIR OCTET_DOXYGEN_XML PATH
[ -d "$OCTET_PYTHON_DIR" ] || { echo "manual.sh: no Python package in $OCTET_PYTHON_DIR, build it first" >&2; exit 2; }
rm -rf build/doc/xml # of headers that are gone
mkdir -p build/doc
(cat doc/Doxyfile; echo "GENERATE_XML = YES"; echo "GENERATE_HTML = NO"; echo "INPUT = include/octet"
 echo "FILE_PATTERNS = *.hpp *.h"; echo "EXCLUDE = include/octet/compat"; echo "WARN_AS_ERROR = NO"
 echo "USE_MDFILE_AS_MAINPAGE ="; echo "INPUT_FILTER = scripts/doc_topics.py") | doxygen - >/dev/null
PYTHONPATH=$OCTET_PYTHON_DIR /usr/bin/python3 -W ignore scripts/doc_coverage.py build/doc/xml
scripts/doc_groups.py build/doc/xml
PYTHONPATH=$OCTET_PYTHON_DIR /usr/bin/python3 scripts/pictures.py --check
for builder in "${builders[@]}"; do
    echo "== $builder"
    /usr/bin/python3 -m sphinx -q -W --keep-going -b $builder -d build/doc/doctrees doc \
        "build/doc/$([ $builder = html ] && echo manual || echo doctest)"
done
! grep -rlF "Unnamed Group" build/doc/manual/reference || {
    echo "manual.sh: these pages have groups without a name" >&2
    exit 1
}
