#!/usr/bin/env bash
# clang-tidy (.clang-tidy) on lines that changed: tidy.sh [BASE]. Compares the working tree with the commit BASE, by default
# $OCTET_TIDY_BASE or the commit before the last one, and fails where a changed line has a finding. Needs no build but headers that
# one has generated, if a changed file includes them.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-${OCTET_TIDY_BASE:-HEAD~1}}
command -v clang-tidy-diff >/dev/null || { echo "clang-tidy is missing: changed lines are not checked"; exit 0; }
git rev-parse -q --verify "$base^{commit}" >/dev/null || { echo "no commit $base: changed lines are not checked"; exit 0; }
rooms=(include src cpu jit serve tools)

git diff -U0 --no-color "$base" -- "${rooms[@]/%//*.cpp}" >"${TMPDIR:-/tmp}/octet-tidy.$$"
trap 'rm -f "${TMPDIR:-/tmp}/octet-tidy.$$"' EXIT
includes=()
for folder in include src . interop serve tools build/release/include build/release/src/network build/release/serve; do includes+=("-I$folder"); done
found=$(clang-tidy-diff -p1 -quiet -j "$(nproc)" -- -std=c++17 -fopenmp "${includes[@]}" <"${TMPDIR:-/tmp}/octet-tidy.$$" 2>&1 |
    grep -E ': (warning|error): ' | sort -u) || true
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }
