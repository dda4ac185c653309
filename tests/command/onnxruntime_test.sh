#!/usr/bin/env bash
# A network in ONNX Runtime itself: onnxruntime_test.sh OCTET MODEL. `octet bench` compares the bytes of its outputs.
set -euo pipefail
node -e "require('onnxruntime-node')" 2>/dev/null || { echo "skipped: no onnxruntime-node in NODE_PATH (scripts/packages.sh)"; exit 77; }
said=$("$1" bench --network "$2" --peer onnxruntime --json)
grep '"equal": true' <<<"$said" || { echo "$said"; exit 1; }
