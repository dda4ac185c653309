#!/usr/bin/env bash
# Makes a folder that runs and measures Octet on any x86-64 Linux: bundle.sh [--octet PROGRAM] [--shapes DIR]
# [--output DIR] [NETWORK.onnx…]
#
# By default PROGRAM is build/release/tools/octet, DIR bench/shapes/networks, and the output build/bundle. The folder
# has the loader and all libraries, glibc's too, so that nothing of the other system is asked for but its kernel;
# shape tables; goldens; the given networks and those of bench/networks, as far as they fit; and measure.sh, which
# writes all that there is to know about the other machine into one file. A command that is linked to oneDNN
# (-DOCTET_WITH_ONEDNN=ON) takes it along.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/release/tools/octet output=build/bundle shapes=bench/shapes/networks networks=()
while [ $# -gt 0 ]; do
    case $1 in
    --octet) program=$2 && shift ;;
    --shapes) shapes=$2 && shift ;;
    --output) output=$2 && shift ;;
    -*) sed -n '2,7s/^# \?//p' "$0" >&2 && exit 2 ;;
    *) networks+=("$1") ;;
    esac
    shift
done
fail() { echo "bundle.sh: $*" >&2; exit 1; }
[ -x "$program" ] || fail "$program is not there: build the target octet_command, or name another with --octet"
[ ! -e "$output" ] || [ -e "$output/measure.sh" ] || fail "$output is there and is no bundle"
rm -rf "$output"
mkdir -p "$output"/{lib,shapes,networks,check,licenses}
megabytes() { echo $(($(du -sb --apparent-size "$output" | cut -f1) / 1000000)); }

cp scripts/bundle/octet scripts/bundle/measure.sh "$output/"
strip -o "$output/lib/octet" "$program"
mapfile -t libraries < <(ldd "$program" | awk '$2 == "=>" { print $3 } $1 ~ /ld-linux/ { print $1 }')
for library in "${libraries[@]}"; do
    [ -e "$library" ] || fail "a library of $program is missing: see ldd"
    # oneTBB loads its allocator by itself.
    [[ $library != */libtbb.so* ]] || libraries+=("$(dirname "$library")"/libtbbmalloc.so.2)
done
for library in "${libraries[@]}"; do
    [ -e "$library" ] || continue
    cp -L "$library" "$output/lib/"
    package=$(dpkg -S "*/$(basename "$(realpath "$library")")" | head -1 | cut -d: -f1)
    cp -L "/usr/share/doc/$package/copyright" "$output/licenses/$package"
done
cp LICENSE "$output/licenses/octet"
cp examples/digits/digits_golden.* examples/digits/digits_int8.tflite "$output/check/"
for table in "$shapes"/*.csv; do # other tables may lie there
    [[ $(head -1 "$table") != name,* ]] || cp "$table" "$output/shapes/"
done

# Networks, each with the bytes that it gives here, as long as there is room.
limit=60
[ ! -e "$output"/lib/libdnnl.so.2 ] || limit=80 # oneDNN has 40 alone
add_network() { # FILE
    local name
    name=$(basename "$1" .onnx)
    cp "$1" "$output/networks/$name.onnx"
    "$output/octet" run "$output/networks/$name.onnx" --repeat 1 --output-dir "$output/networks/$name" >/dev/null
    [ "$(megabytes)" -ge $limit ] || return 0
    rm -r "$output/networks/$name" "$output/networks/$name.onnx"
    echo "bundle.sh: without $name, which does not fit into $limit MB"
}
for network in "${networks[@]}"; do add_network "$network"; done
if /usr/bin/python3 -c 'import onnx, numpy' 2>/dev/null; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    for name in mobilenet_v1 mobilenet_v2 resnet50; do
        /usr/bin/python3 bench/networks/make_onnx.py $name --format qdq --output "$scratch/$name.onnx"
        add_network "$scratch/$name.onnx"
    done
else
    echo "bundle.sh: without the networks of bench/networks, which take python3-onnx and python3-numpy"
fi
[ "$(megabytes)" -lt $limit ] || fail "$output has $(megabytes) MB, allowed: $limit"
echo "$output: $(megabytes) MB; there: sh measure.sh"
