#!/usr/bin/env bash
# clang-tidy (.clang-tidy) on lines that changed: tidy.sh [BASE]. Compares the working tree with the commit BASE and
# fails where a changed line has a finding, or a changed file does not parse. BASE is $OCTET_TIDY_BASE where that is
# set; else as many of the last commits are checked as change at most 24 files (4 seconds of a core each), and of a
# last commit that changes more, the first 24. Without the analyzer's checks, which take three times as long. Needs no
# build but headers that one has generated, if a changed file includes them. tests/tidy_test.sh shows that it fails.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "${OCTET_TIDY_SOURCE:-$(dirname "$0")/..}"
most_files=24
rooms=(include src cpu jit loops network interop serve tools)
patterns=("${rooms[@]/%//*.cpp}")

changed() { git diff --name-only --diff-filter=d "$1" -- "${patterns[@]}" ':(exclude,glob)**/tests/**'; }

base=${1:-${OCTET_TIDY_BASE:-}}
if [ -z "$base" ]; then
    for commit in $(git rev-list --first-parent -n 200 --skip 1 HEAD); do
        [ -z "$base" ] || [ "$(changed "$commit" | wc -l)" -le $most_files ] || break
        base=$commit
    done
fi
command -v clang-tidy-diff >/dev/null || { echo "clang-tidy is missing: changed lines are not checked"; exit 0; }
git rev-parse -q --verify "$base^{commit}" >/dev/null ||
    { echo "no commit '$base': changed lines are not checked"; exit 0; }
mapfile -t files < <(changed "$base")
since=$(git rev-parse --short "$base")
echo "clang-tidy: ${#files[@]} files that changed since $since, at most $most_files are checked"
[ ${#files[@]} -gt 0 ] || exit 0

includes=()
for folder in include src . interop serve tools interop/python/src build/release/include \
    build/release/network/generated build/release/serve; do
    includes+=("-I$folder")
done
if command -v python3-config >/dev/null; then
    read -ra python <<<"$(python3-config --includes)"
    includes+=("${python[@]}")
fi
output=$(git diff -U0 --no-color "$base" -- "${files[@]:0:most_files}" |
    clang-tidy-diff -p1 -quiet -j "$(nproc)" -checks='-clang-analyzer-*' -- -std=c++17 -fopenmp -DONNX_ML=1 \
        -DONNX_NAMESPACE=onnx "${includes[@]}" 2>&1) && status=0 || status=$?
found=$(grep -E '(^|: )(warning|error|fatal error): ' <<<"$output" | sort -u) || true
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }
[ "$status" -eq 0 ] || { printf '%s\n' "$output" "clang-tidy-diff ended with $status"; exit 1; }
