#!/bin/sh
# Measures this machine with what lies beside this script, and writes one file: measure.sh [FILE=measured.txt]
# [THREADS=1,2,4,…,all]
#
# Instruction sets and caches; goldens and the bytes of whole networks at every instruction set; all shape tables and
# networks with these counts of threads, against oneDNN where it is in the folder, and with vectors where the machine
# has tile registers. Needs /bin/sh alone. Exit code 1 if anything differs or fails.
# SPDX-License-Identifier: Apache-2.0
set -u
case $0 in
*/*) here=${0%/*} ;;
*) here=. ;;
esac
output=${1-measured.txt} threads=${2-} failed=0

# report COMMAND…: what it says goes to the file, how it ends also to the terminal.
report() {
    printf '\n== %s\n' "$*" >>"$output"
    if "$@" >>"$output" 2>&1; then ending=ok; else ending=FAILED failed=1; fi
    echo "$ending: $*" >>"$output"
    echo "$ending: $*"
}
# The first paragraph of a file of the system: of /proc/cpuinfo the first processor.
show() {
    [ -r "$1" ] || return 0
    printf '\n== %s\n' "$1"
    while IFS= read -r line && [ -n "$line" ]; do printf '%s\n' "$line"; done <"$1"
}

"$here/octet" --version >"$output" || exit 1
for file in /proc/version /proc/loadavg /proc/cpuinfo; do show $file >>"$output"; done
report "$here/octet" info
facts=$("$here/octet" info)
# "ref, avx2, …; highest …": ref is the formula itself
levels=${facts#*instruction sets*ref} levels=${levels%%;*} highest=${levels##* }
most=${facts#*  threads } most=$((${most%%(*}))
if [ -z "$threads" ]; then
    threads=1 count=2
    while [ $count -lt $most ]; do threads=$threads,$count count=$((2 * count)); done
    [ $most -eq 1 ] || threads=$threads,$most
fi

for level in $levels; do
    level=${level%,}
    [ -n "$level" ] || continue
    report "$here/octet" check "$here/check/digits_golden.json" --isa "$level"
    for network in "$here"/networks/*.onnx; do
        [ -e "$network" ] || continue
        for count in 1 $most; do
            report "$here/octet" run "$network" --isa "$level" --threads "$count" --repeat 1 \
                --against "${network%.onnx}"
        done
    done
done

baseline=
for library in "$here"/lib/libdnnl.so*; do
    [ ! -e "$library" ] || baseline='--baseline onednn'
done
vectors=avx512_vnni
[ "$highest" = avx512_amx ] || vectors=
for level in $highest $vectors; do
    # shellcheck disable=SC2086 # two words
    report "$here/octet" bench --shapes "$here"/shapes/*.csv --threads "$threads" --isa "$level" $baseline
    set -- "$here"/networks/*.onnx
    [ ! -e "$1" ] || report "$here/octet" bench --network "$@" --threads "$threads" --isa "$level"
done
echo "all of it is in $output"
exit $failed
