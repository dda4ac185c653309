#!/usr/bin/env bash
# oneDNN's own examples, unmodified, alone and with liboctet_dnnl in front of oneDNN: outputs must be equal, times
# aside.
#
#     scripts/onednn_examples.sh TREE [LIBRARY]
#
# TREE has oneDNN's sources, of the version that is installed (libdnnl-dev).
#
# Not part of the tests, because the sources are in no package. The headers are the installed ones; where they were
# configured for OpenCL and its headers are missing, a copy says that there is no GPU, which changes no function that
# is called.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
tree=${1:?directory with oneDNN\'s sources}
library=$(realpath "${2:-$(dirname "$0")/../build/release/interop/onednn/preload/liboctet_dnnl.so}")
[ -d "$tree/examples" ] || { echo "$tree has no directory examples"; exit 2; }
[ -f "$library" ] || { echo "$library: not built"; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=passive
export ONEDNN_MAX_CPU_ISA=${ONEDNN_MAX_CPU_ISA:-AVX512_CORE_VNNI} # with AMX its bytes are others (doc/onednn.md)

headers=$(dirname "$(dirname "$(echo '#include <oneapi/dnnl/dnnl.h>' | c++ -E -x c++ - |
    grep -o '"[^"]*/oneapi/dnnl/dnnl.h"' | head -1 | tr -d '"')")")
mkdir -p "$work/include"
cp -r "$headers" "$work/include/oneapi"
if [ ! -e /usr/include/CL/cl.h ]; then
    sed -i 's/^#define DNNL_GPU_RUNTIME .*/#define DNNL_GPU_RUNTIME DNNL_RUNTIME_NONE/' \
        "$work/include/oneapi/dnnl/dnnl_config.h"
fi

build() {
    local compiler=(c++ -std=c++11)
    [ "${1##*.}" = c ] && compiler=(cc -std=c99)
    "${compiler[@]}" -O1 -fopenmp -I"$work/include" -I"$tree/examples" "$1" -o "$2" -ldnnl -lm 2>"$2.errors"
}

# Times, rates, and what is timed.
without_times() {
    sed -E 's/[0-9.]+(e[-+]?[0-9]+)? *(ms|us|s|sec|seconds|GFlop\/s|Gflops?)\b//Ig
            s/(time|took|speed)[^0-9]*[0-9.e+-]+//Ig'
}

equal=0 taken=0 different=() unbuilt=()
while read -r source; do
    name=$(basename "$source")
    program=$work/${name//./_}
    build "$source" "$program" || { unbuilt+=("$name"); continue; }
    status=0
    "$program" cpu >"$work/alone" 2>&1 || status=$?
    octet_status=0
    LD_PRELOAD=$library OCTET_DNNL_VERBOSE=1 "$program" cpu >"$work/all" 2>"$work/errors" || octet_status=$?
    { cat "$work/all"; grep -v '^octet: ' "$work/errors" || true; } >"$work/octet"
    if [ "$status" = "$octet_status" ] && diff <(without_times <"$work/alone") <(without_times <"$work/octet") \
        >"$work/diff"; then
        equal=$((equal + 1))
    else
        different+=("$name")
        echo "$name: exit codes $status and $octet_status"
        cat "$work/diff"
    fi
    count=$(grep -c '^octet: taken' "$work/errors" || true)
    [ "$count" -gt 0 ] && { taken=$((taken + 1)); echo "$name: $count problems taken, exit code $octet_status"; }
done < <(find "$tree/examples" \( -name '*.c' -o -name '*.cpp' \) ! -name '*sycl*' ! -name '*opencl*' | sort)

echo "$equal examples print the same; in $taken Octet takes problems"
[ ${#unbuilt[@]} -eq 0 ] || echo "do not build here: ${unbuilt[*]}"
[ ${#different[@]} -eq 0 ] || { echo "different: ${different[*]}"; exit 1; }
