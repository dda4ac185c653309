#!/usr/bin/env bash
# Checks of the sources: format, the length of lines, the licence of each file, that files and symbols named in
# comments and pages exist, links and spelling of the pages, that every public item of include/octet is documented, and
# clang-tidy on changed lines where there is a build. Prints the figures of scripts/figures.py, too.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/packages.sh test docs

echo "== clang-format"
git ls-files '*.cpp' '*.hpp' '*.inl' | xargs clang-format --dry-run -Werror

echo "== lines of at most 120 columns"
# Characters, not bytes. What programs write is left out: octet.abi, JSON and other data.
long=$(git ls-files -z -- '*.cpp' '*.hpp' '*.inl' '*.h' '*.c' '*.in' '*.map' '*.fbs' '*.proto' '*.py' '*.pyi' \
    '*.js' '*.cjs' '*.mjs' '*.sh' '*.cmake' '*CMakeLists.txt' .ci/run scripts/bundle/octet |
    LC_ALL=C.UTF-8 xargs -0 grep -nHE '^.{121}') || true
[ -z "$long" ] || { printf '%s\n' "$long"; exit 1; }

echo "== licences"
scripts/spdx.py --check

echo "== names of files"
# Files of other projects are named with their folders.
files=$(git ls-files | sed 's/\.in$//')
missing=0
while read -r name; do
    grep -qE "(^|/)$name\$" <<<"$files" || { git grep -nIF "$name" -- ':!CHANGELOG.md'; missing=1; }
done < <(git grep -hIoE '(^|[ (`"])[a-z_]+(/[A-Za-z0-9_-]+)+\.(hpp|cpp|inl|md|sh|py|cmake|fbs)\b' -- ':!CHANGELOG.md' |
    tr -d ' (`"' | sort -u | grep -v 'NAME\|^oneapi/\|^onnx/reference/\|^onnxruntime/core/')
# Names without a folder: in comments, and as code in pages.
names=$(sed 's#.*/##' <<<"$files")
while read -r name; do
    grep -qxF "$name" <<<"$names" || { git grep -nIF "$name" -- ':!CHANGELOG.md'; missing=1; }
done < <({ git grep -hIoE '//.*' -- '*.cpp' '*.hpp' '*.inl' '*.h'
           git grep -hIoE '#.*' -- '*.sh' '*.py' '*.cmake' '*CMakeLists.txt'
           git grep -hIoE '`[A-Za-z0-9_-]+\.[a-z]+`' -- '*.md'; } |
               grep -oE '\b[A-Za-z0-9_-]+\.(hpp|cpp|inl|fbs|sh|py|cmake|mjs)\b' | grep -v '^NAME' | sort -u)
[ "$missing" -eq 0 ] || { echo "no such files"; exit 1; }

echo "== owners"
owned=$(sed -n 's#^/\([^ ]*\)/ .*#\1#p' .github/CODEOWNERS | sort | xargs)
packages=$(git ls-files | sed -nE 's#^([a-z]*)/.*\.[ch]pp$#\1#p' | sort -u | grep -vx tests | xargs)
[ "$owned" = "$packages" ] || { echo ".github/CODEOWNERS has lines for $owned; the packages are $packages"; exit 1; }

echo "== names of symbols"
scripts/symbols.py

echo "== links and spelling of the pages"
tests/documents_test.sh .

echo "== figures of the structure"
python3 scripts/figures.py

echo "== clang-tidy"
if [ -d build/release/include ]; then
    scripts/tidy.sh
else
    echo "no build/release, where headers are generated: changed lines are not checked"
fi

echo "== doxygen"
mkdir -p build/doc
doxygen doc/Doxyfile
