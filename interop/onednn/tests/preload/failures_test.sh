#!/usr/bin/env bash
# What failures.cpp describes. failures_test.sh LIBRARY DIRECTORY, where the programs and stand-ins are.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
library=${1:?liboctet_dnnl.so} programs=${2:?directory of the programs}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
failures=$programs/interop_failures
export OMP_WAIT_POLICY=passive

fail() { echo "FAILED: $1"; exit 1; }

# A program that never heard of oneDNN: nothing of it is loaded.
LD_PRELOAD=$library /bin/true
LD_PRELOAD=$library LD_DEBUG=files /bin/true 2>&1 | grep -q libdnnl && fail "libdnnl is loaded into /bin/true"

LD_PRELOAD=$programs/libhidden_library.so:$library "$failures" absent 2>"$directory/said"
[ "$(grep -c 'oneDNN (libdnnl.so.2) is not there' "$directory/said")" = 1 ] || fail "one sentence for an absent library"

LD_PRELOAD=$library:$programs/libdnnl.so.3 "$failures" version 2>"$directory/said"
grep -q 'oneDNN 3.1.*falls back' "$directory/said" || fail "a sentence for another version"

for threads in 1 2; do
    OMP_NUM_THREADS=$threads LD_PRELOAD=$library "$failures" threads
    OMP_NUM_THREADS=$threads LD_PRELOAD=$library "$failures" pool "$threads"
done
OMP_NUM_THREADS=2 LD_PRELOAD=$library timeout 60 "$failures" fork
LD_PRELOAD=$library OCTET_DNNL_VERBOSE=1 "$failures" late "$programs/libinterop_plugin.so" >"$directory/out" \
    2>"$directory/said"
grep -q 'octet: taken: convolution' "$directory/said" || fail "a plugin's problems are taken"

OCTET_DNNL=sometimes LD_PRELOAD=$library "$programs/interop_handles" 2>&1 >/dev/null |
    grep -q 'allowed: off, auto, only' || fail "a wrong OCTET_DNNL"

# What Octet takes is the same under "only"; what it refuses is an error then, and not an answer of oneDNN's.
OMP_NUM_THREADS=2 "$programs/interop_handles" >"$directory/alone"
OCTET_DNNL=only OMP_NUM_THREADS=2 LD_PRELOAD=$library "$programs/interop_handles" | diff "$directory/alone" - ||
    fail "OCTET_DNNL=only"
OCTET_DNNL=only LD_PRELOAD=$library "$programs/interop_random_client" write "$directory/answers" 2 2>"$directory/said"
grep -q 'refused (OCTET_DNNL=only): ' "$directory/said" || fail "a refused problem under OCTET_DNNL=only"
echo "absent, another version, threads, pool, fork, plugin, only: right"
