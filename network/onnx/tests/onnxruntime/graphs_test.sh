#!/usr/bin/env bash
# Graphs in ONNX Runtime itself and in Octet: graphs_test.sh OCTET [KIND FIRST COUNT]. `octet check` compares the
# bytes of all outputs, which passes changed the graph, and the operators that they leave. Graphs that are known to
# differ are listed with their reason (doc/onnx.md).
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
octet=$1
here=$(cd "$(dirname "$0")" && pwd)
node -e "require('onnxruntime-node')" 2>/dev/null || {
    echo "skipped: no onnxruntime-node in NODE_PATH (scripts/packages.sh)"
    exit 77
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

compare() { # kind [first count]
    node "$here/compare_graphs.cjs" "$folder" "$@"
    "$octet" check "$folder/graphs.json" >"$folder/report" || true
    tail -1 "$folder/report"
    grep -q ' passed' "$folder/report" || { cat "$folder/report"; exit 1; }
    local new number
    new=$(sed -n "s|^FAIL $1/\([^:]*\):.*|\1|p" "$folder/report")
    [[ -z $new ]] && return
    echo "differ and are not listed (again: node compare_graphs.cjs FOLDER KIND NUMBER 1):"
    for number in $new; do grep "^FAIL $1/$number:" "$folder/report"; done
    exit 1
}

if [[ $# -gt 1 ]]; then
    compare "$2" "$3" "$4"
    exit 0
fi
# The same on every CPU with AVX2:
compare nbits_floats 0 200
compare flows 0 1000 # graphs in nodes
compare decoders 0 300
grep -q avx512_vnni /proc/cpuinfo || {
    echo "the others are skipped: without AVX512-VNNI ONNX Runtime computes otherwise (levels.cjs)"
    exit 0
}
compare random 0 2000
compare broken 0 2000 # patterns, some of whose conditions do not hold
compare wide 0 500
compare unread 0 600 # nodes whose results nobody reads
compare nbits 0 600 # weights in blocks, codes of 4 bits
compare operators 0 1000 # functions, reductions, indices, computed parameters
compare single 0 2000 # one operator: dimensions of 1, zeros, infinities, NaN
compare versions 0 480 # operator sets 7 to 10, 22 to 25
compare products
compare unusual
compare attentions
compare conditions
compare blocks
compare rules
compare units
# What doc/onnx.md lists: each differs still, and by no more than is said there.
node "$here/compare_graphs.cjs" "$folder" known
"$octet" check "$folder/graphs.json" >"$folder/report" || true
node -e '
    const report = require("fs").readFileSync(process.argv[1], "utf8").split("\n");
    for (const {name, bound} of require(process.argv[2])) {
        const line = report.find((l) => l.startsWith(`FAIL known/${name}:`));
        const values = line?.match(/expected (\S+), got (\S+) \(/);
        const difference = values ? Math.abs(values[1] - values[2]) : 0;
        if (!line) throw new Error(`${name} is equal now: take it from doc/onnx.md and known_graphs.cjs`);
        if (!(difference <= bound)) throw new Error(`${name} differs by more than ${bound}: ${line}`);
    }' "$folder/report" "$here/known_graphs.cjs"

compare operators 5971 1 # the place of the largest, along an open dimension
# The sign of zero, in blocks, of norms by one scale and in Selu.
for number in 101536 102673 105635 915797; do compare random "$number" 1; done
# Rows of norms, sizes; lists of one scale; folded constants.
for number in 41377 51335 56724 57932 83635 2073 2381 2049 3353 4441 5919 7440 8003 9550; do
    compare wide "$number" 1
done
