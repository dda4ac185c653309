#!/usr/bin/env bash
# Recurrent networks of the random client alone and with liboctet_dnnl in front, which must take all of them.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
library=${1:?liboctet_dnnl.so} client=${2:?random_rnn}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
export OMP_WAIT_POLICY=passive

for threads in 1 2; do
    OMP_NUM_THREADS=$threads "$client" >"$directory/alone"
    OMP_NUM_THREADS=$threads OCTET_DNNL=only OCTET_DNNL_VERBOSE=1 LD_PRELOAD=$library "$client" \
        >"$directory/octet" 2>"$directory/taken"
    diff "$directory/alone" "$directory/octet" | head -5
    cmp "$directory/alone" "$directory/octet"
    grep -q "^octet: taken: rnn " "$directory/taken"
done
echo "$(wc -l <"$directory/alone") networks, equal bytes"
