#!/usr/bin/env bash
# The programs of bench/networks that doc/howto/reproduce.md names, on a network that takes no time:
# bench_scripts_test.sh OCTET SOURCE. They run, and say that the bytes are equal; their times mean nothing here.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
octet=$1 networks=$2/bench/networks
node -e "require('onnxruntime-node')" 2>/dev/null || {
    echo "skipped: no onnxruntime-node in NODE_PATH (scripts/packages.sh)"
    exit 77
}
/usr/bin/python3 -c "import onnx" 2>/dev/null || { echo "skipped: no python3-onnx"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

/usr/bin/python3 "$networks/make_encoder.py" tiny --quantization dynamic --output tiny.onnx
said=$(node "$networks/compare_encoders.mjs" --exact --octet "$octet" --sequence 16 --rounds 1 --runs 1 tiny.onnx)
grep -q 'last_hidden_state 0.0e+0, .*ratio' <<<"$said" || { echo "$said"; exit 1; }

/usr/bin/python3 "$networks/make_onnx.py" mobilenet_v2 --output mobilenet.onnx
said=$(node "$networks/compare_onnxruntime.mjs" --exact --octet "$octet" --rounds 1 --runs 1 mobilenet.onnx)
grep -q 'equal bytes .*ratio' <<<"$said" || { echo "$said"; exit 1; }
