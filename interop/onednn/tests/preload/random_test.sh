#!/usr/bin/env bash
# The random client alone and with liboctet_dnnl in front, on 1 and 2 threads; and with Octet capped to AVX2, the same
# bytes.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
library=${1:?liboctet_dnnl.so} client=${2:?random_client} seeds=${3:-40}
grep -q avx512_vnni /proc/cpuinfo || {
    echo "skipped: oneDNN's int8 arithmetic is exact with AVX512-VNNI only"
    exit 77
}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
export OMP_WAIT_POLICY=passive

for threads in 1 2; do
    OMP_NUM_THREADS=$threads "$client" write "$directory/alone" "$seeds"
    OMP_NUM_THREADS=$threads LD_PRELOAD=$library "$client" write "$directory/octet" "$seeds"
    echo "$threads threads:"
    "$client" compare "$directory/alone" "$directory/octet" "$seeds"
    OMP_NUM_THREADS=$threads LD_PRELOAD=$library OCTET_MAX_CPU_ISA=avx2 "$client" write "$directory/avx2" "$seeds"
    # Names of implementations differ, bytes do not.
    "$client" compare "$directory/alone" "$directory/avx2" "$seeds" >/dev/null || {
        echo "other bytes with AVX2"
        exit 1
    }
done
