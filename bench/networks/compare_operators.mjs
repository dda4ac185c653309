#!/usr/bin/env node
// The models of make_operators.py in ONNX Runtime and in `octet run`: how many elements have other bits?
//
//     npm install --ignore-scripts onnxruntime-node
//     make_operators.py operators
//     node compare_operators.mjs --octet build/release/tools/octet operators
// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

// From the working directory, where the package is installed, rather than from this file's.
const ort = createRequire(join(process.cwd(), 'package.json'))('onnxruntime-node');
const { values: options, positionals: [directory] } = parseArgs({
  allowPositionals: true, options: { octet: { type: 'string', default: 'octet' } },
});

const arrays = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array, int8: Int8Array };
const results = mkdtempSync(join(tmpdir(), 'operators-'));

/// What is wrong, or nothing.
async function compare({ name, inputs }) {
  const model = join(directory, `${name}.onnx`);
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: 1, graphOptimizationLevel: 'all', logSeverityLevel: 3,
  });
  const feeds = {}, given = [];
  for (const input of inputs) {
    const file = join(directory, `${name}_${input.name}.bin`), bytes = new Uint8Array(readFileSync(file));
    feeds[input.name] = new ort.Tensor(input.type, new arrays[input.type](bytes.buffer), input.dims);
    given.push('--input', `${input.name}=${file}`);
  }
  const { data } = (await session.run(feeds)).y;
  const run = spawnSync(options.octet, ['run', model, ...given, '--output-dir', results]);
  if (run.status !== 0) return `refused: ${run.stderr}`.trim();
  const ours = readFileSync(join(results, 'output_0.bin')), size = data.BYTES_PER_ELEMENT;
  const theirs = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (ours.length !== theirs.length) return `${ours.length} bytes instead of ${theirs.length}`;
  let different = 0;
  for (let i = 0; i < ours.length; i += size)
    different += ours.compare(theirs, i, i + size, i, i + size) !== 0;
  return different === 0 ? '' : `${different} of ${data.length} elements differ`;
}

let differing = 0;
try {
  const operators = JSON.parse(readFileSync(join(directory, 'operators.json')));
  for (const operator of operators) {
    const difference = await compare(operator);
    if (difference === '') continue;
    console.log(`${operator.name}: ${difference}`);
    differing++;
  }
  console.log(`${operators.length - differing} of ${operators.length} models have equal bytes`);
} finally {
  rmSync(results, { recursive: true });
}
process.exitCode = differing === 0 ? 0 : 1;
