#!/usr/bin/env bash
# A network in ONNX Runtime itself: row_test.sh OCTET MODEL [SANITIZERS]. `octet bench` compares the bytes of its
# outputs, also with Octet's provider in its session, and an unmodified program gets that by octet preload.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
node -e "require('onnxruntime-node')" 2>/dev/null || {
    echo "skipped: no onnxruntime-node in NODE_PATH (scripts/packages.sh)"
    exit 77
}
said=$("$1" bench --network "$2" --baseline onnxruntime --json)
grep '"equal": true' <<<"$said" || { echo "$said"; exit 1; }

# A library with a sanitizer cannot be loaded into Node.js, whose libraries begin without its runtime.
[ -z "${3-}" ] || { echo "without Octet in ONNX Runtime's sessions: this build has the sanitizers $3"; exit 0; }

through=$("$1" bench --network "$2" --through onnxruntime --samples 1 --json)
grep '"equal": true' <<<"$through" && grep 'on Octet' <<<"$through" && grep '"ratio": [0-9]' <<<"$through" || {
    echo "$through"
    exit 1
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A single row times a computed matrix, which ONNX Runtime sums up in an order of its own.
cat >"$scratch/row.cjs" <<'NODE'
const { graph } = require(process.argv[2]);
const g = new graph(17), x = g.input([1, 67]), m = g.input([67, 33]);
const pair = (op, t) => g.node(op, [t, g.constant('f32', [], [0.05]), g.constant('u8', [], [128])], [67, 33]);
const again = (t) => pair('DequantizeLinear', pair('QuantizeLinear', t));
require('node:fs').writeFileSync(process.argv[3],
  g.model([g.node('MatMul', [x, m], [1, 33]), again(g.node('Relu', [again(m)], [67, 33]))]));
NODE
node "$scratch/row.cjs" "$(realpath "$(dirname "$0")/onnx_writer.cjs")" "$scratch/row.onnx"
through=$("$1" bench --network "$scratch/row.onnx" --through onnxruntime --samples 1 --threads 1 --json)
grep '"equal": true' <<<"$through" || { echo "$through"; exit 1; }
said=$("$1" bench --network "$scratch/row.onnx" --baseline onnxruntime --samples 1 --threads 1 --json)
grep '"equal": true' <<<"$said" && grep '"reason": null' <<<"$said" || { echo "$said"; exit 1; }
said=$("$1" bench --network "$scratch/row.onnx" --baseline onnxruntime --samples 1 --threads 1 --rows-alike)
grep 'DIFFERENT (--rows-alike: without it the bytes are equal; doc/onnx.md)' <<<"$said" || { echo "$said"; exit 1; }

cat >"$scratch/app.cjs" <<'NODE'
const ort = require('onnxruntime-node');
(async () => {
  const session = await ort.InferenceSession.create(process.argv[2]);
  const [input] = session.inputMetadata, dims = input.shape.map((d) => (typeof d === 'number' ? d : 1));
  const count = dims.reduce((a, b) => a * b, 1);
  const array = { float32: Float32Array, uint8: Uint8Array, int8: Int8Array }[input.type];
  const x = new ort.Tensor(input.type, array.from({ length: count }, (_, i) => (i * 37) % 101), dims);
  const results = await session.run({ [input.name]: x });
  for (const name of session.outputNames) console.log(name, Array.from(results[name].data).join(' '));
})();
NODE
plain=$(node "$scratch/app.cjs" "$2")
octet=$("$1" preload --onnxruntime --verbose node "$scratch/app.cjs" "$2" 2>"$scratch/log")
[ "$octet" = "$plain" ] || { printf 'by itself: %s\non Octet:  %s\n' "$plain" "$octet"; exit 1; }
grep 'OctetExecutionProvider: taken: ' "$scratch/log" || { cat "$scratch/log"; exit 1; }
OCTET_ONNXRUNTIME_OPTIONS=thread=1 "$1" preload --onnxruntime node "$scratch/app.cjs" "$2" >"$scratch/out" \
    2>"$scratch/log" || :
grep "option 'thread' is unknown" "$scratch/log" || { cat "$scratch/out" "$scratch/log"; exit 1; }
! grep 'nothing made a session' "$scratch/log" || { cat "$scratch/log"; exit 1; }
allowed=$(sed -n "s/.*option 'thread' is unknown, allowed: //p" "$scratch/log" | tr -d ' ' | tr ',' '\n' | sort)
listed=$("$1" onnxruntime | sed -n 's/^Options: \(.*\) (doc.*/\1/p' | tr -d ' ' | tr ',' '\n' | sort)
[ -n "$listed" ] && [ "$allowed" = "$listed" ] || {
    printf 'the provider has:\n%s\noctet onnxruntime lists:\n%s\n' "$allowed" "$listed"
    exit 1
}
"$1" preload --onnxruntime /bin/true 2>"$scratch/log"
grep 'nothing made a session' "$scratch/log" || { cat "$scratch/log"; exit 1; }
