#!/usr/bin/env bash
# The clients that use every function, alone and with liboctet_dnnl in front: equal outputs. Then packed weights.
# handles_test.sh LIBRARY HANDLES PACKED_WEIGHTS [LIBRARIES THAT COME FIRST, e.g. a sanitizer's]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
library=${1:?liboctet_dnnl.so} handles=${2:?handles} packed=${3:?packed_weights} before=${4:-}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive

"$handles" >"$directory/alone"
front="${before:+$before:}$library"
LD_PRELOAD=$front OCTET_DNNL_VERBOSE=1 "$handles" >"$directory/octet" 2>"$directory/log"
diff "$directory/alone" "$directory/octet"
grep -q '^octet: taken: convolution' "$directory/log" || { cat "$directory/log"; exit 1; }
grep -q '^octet: falls back to oneDNN: convolution src:f32' "$directory/log" || { cat "$directory/log"; exit 1; }
LD_PRELOAD=$front OCTET_DNNL=off "$handles" | diff "$directory/alone" -
echo "$(wc -l <"$directory/alone") lines equal"
# Children of a process whose pool has threads would wait for them.
OMP_NUM_THREADS=1 LD_PRELOAD=$front "$packed"
