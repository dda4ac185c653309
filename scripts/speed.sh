#!/usr/bin/env bash
# Whether this tree is slower than another commit: speed.sh [--report] [--rounds 50] [--seconds N] BASE [ARGUMENTS…]
#
# Builds the command of BASE (in build/speed) and of this tree (in build/release), and measures chosen layers and
# networks with both in turn (scripts/speed.py explains the test and the table). ARGUMENTS are lists of arguments of
# `octet bench`, one in each word, in place of the chosen ones. --seconds bounds the measurement, not the builds.
# Exit code 1: a row is slower; with --report the table is all. Needs a machine without other work.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
options=()
while [ $# -gt 0 ]; do
    case $1 in
        --report) options+=("$1"); shift ;;
        --rounds | --seconds) options+=("$1" "${2:?"$1 needs a number"}"); shift 2 ;;
        *) break ;;
    esac
done
base=${1-}
[ -n "$base" ] && commit=$(git rev-parse -q --verify "$base^{commit}") || {
    echo "speed.sh: BASE is '$base', allowed: a commit" >&2
    sed -n '2s/^# //p' "$0" >&2
    exit 2
}
shift
chosen=("--threads 1 --shapes bench/shapes/convolutions.csv bench/shapes/products.csv"
        "--threads 1 --shapes bench/shapes/networks/mobilenet_v2.csv --only b7_"
        "--threads 1 --shapes bench/shapes/networks/bert_base.csv --only b1_s128"
        "--threads 1 --network examples/digits/digits_int8.onnx")
[ $# -eq 0 ] || chosen=("$@")

# build SOURCE FOLDER: the command of a tree, in FOLDER/tools/octet.
build() {
    cmake --preset release -S "$1" -B "$2" -DOCTET_BUILD_TESTS=OFF >/dev/null
    cmake --build "$2" --target octet_command -- --quiet
}
echo "== $(git describe --always --tags "$commit") built"
old=build/speed/$commit
[ -e "$old/source" ] || git worktree add -q --detach "$old/source" "$commit"
trap 'git worktree remove --force "$old/source"' EXIT
build "$old/source" "$PWD/$old"
echo "== this tree built"
[ -e build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target octet_command -- --quiet
echo "== measured (load of the machine: $(cut -d' ' -f1 /proc/loadavg), should be near 0)"
scripts/speed.py "${options[@]}" "$old/tools/octet" build/release/tools/octet "${chosen[@]}"
