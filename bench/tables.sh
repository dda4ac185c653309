#!/usr/bin/env bash
# Every table and plot of doc/performance.md in one run, for an otherwise idle machine:
#
#     bench/tables.sh --output DIR [--shapes bench/shapes/networks] [--octet build/release/tools/octet]
#                     [--rounds 9] [--threads 1,2] [--against N=FILE.csv]… [--network FILE.onnx]…
#                     [--node-modules DIR]
#
# --shapes is a folder of shape tables (*.csv). Each round times all layers with each count of threads and in oneDNN,
# sample by sample in turn, so the command needs -DOCTET_WITH_ONEDNN=ON; a layer counts with its medians over the
# rounds. --against adds another library's shares of the peak for N threads (bench/table.py). --network times whole
# networks and their layers, against ONNX Runtime where --node-modules says that it is installed. A run that was
# stopped goes on where it was.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

octet=build/release/tools/octet rounds=9 threads=1,2 shapes=bench/shapes/networks output='' node_modules=''
against=() networks=()
while [ $# -gt 0 ]; do
    case $1 in
    --shapes) shapes=$2 ;;
    --output) output=$2 ;;
    --octet) octet=$2 ;;
    --rounds) rounds=$2 ;;
    --threads) threads=$2 ;;
    --against) against+=(--against "$2") ;;
    --network) networks+=("$2") ;;
    --node-modules) node_modules=$2 ;;
    *) sed -n '2,12s/^# \?//p' "$0"; exit 2 ;;
    esac
    shift 2
done
if [ -z "$output" ]; then
    sed -n '2,12s/^# \?//p' "$0"
    exit 2
fi
mkdir -p "$output"
load=$(cut -d' ' -f1 /proc/loadavg)
echo "load of the machine: $load (should be near 0), $("$octet" --version), $rounds rounds" | tee "$output/machine.txt"
grep -m1 'model name' /proc/cpuinfo >> "$output/machine.txt"

tables=()
for table in "$shapes"/*.csv; do # other tables may lie there
    head -1 "$table" | grep -q '^name,' && tables+=("$table")
done

# round NUMBER NAME ARGUMENTS…: one run of the command, once. Its rows are appended when it has come to its end.
round() {
    local done_file="$output/$2.round$1"
    [ -e "$done_file" ] && return
    echo "$(date +%T) round $1 of $rounds: $2"
    "$octet" bench --threads "$threads" --csv "$output/$2.part.csv" "${@:3}" > "$output/$2.last.txt"
    if [ -s "$output/$2.csv" ]; then
        tail -n +2 "$output/$2.part.csv" >> "$output/$2.csv"
    else
        cp "$output/$2.part.csv" "$output/$2.csv"
    fi
    rm "$output/$2.part.csv"
    touch "$done_file"
}

baseline=()
[ -z "$node_modules" ] || baseline=(--baseline onnxruntime --node-modules "$node_modules")
for ((i = 1; i <= rounds; i++)); do
    round "$i" layers --shapes "${tables[@]}" --baseline onednn --samples 5
    [ ${#networks[@]} -eq 0 ] || round "$i" networks --network "${networks[@]}" "${baseline[@]}" --samples 5
done

bench/table.py "$output/layers.csv" "${against[@]}" --rows > "$output/layers.md"
bench/plot.py "$output/layers.csv" > "$output/ratio.svg"
bench/plot.py --of bound "$output/layers.csv" > "$output/bound.svg"
[[ $threads != *,* ]] || bench/plot.py --of scaling "$output/layers.csv" > "$output/scaling.svg"
if [ ${#networks[@]} -gt 0 ]; then
    bench/table.py --networks "$output/networks.csv" > "$output/networks.md"
    [ -z "$node_modules" ] || bench/plot.py --of networks "$output/networks.csv" > "$output/networks.svg"
fi
echo "$output has *.md and *.svg; all numbers are in layers.csv and networks.csv"
