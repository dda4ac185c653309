#!/usr/bin/env bash
# Checks of the sources that need no build: format, and that every public item of include/octet is documented.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/packages.sh

echo "== clang-format"
git ls-files '*.cpp' '*.hpp' '*.inl' | xargs clang-format --dry-run -Werror

echo "== doxygen"
mkdir -p build/doc
doxygen doc/Doxyfile
