#!/usr/bin/env node
// An encoder of make_encoder.py in ONNX Runtime and in `octet run`: how far are the outputs apart, and how do the times
// compare?
//
//     npm install --ignore-scripts onnxruntime-node
//     node compare_encoders.mjs --octet build/release/tools/octet --threads 1 --sequence 128 bert_base_dynamic.onnx ...
//
// Both get the same tokens and take turns, `--rounds` times; the ratios are those of the medians and of the minima of
// all runs. Outputs of integers (make_encoder.py --integers) are counted. Floats are compared relative to the largest
// of their tensor. Two programs whose floats differ in a last bit sooner or later round a code apart, and all that
// follows with it; so this prints differences and judges none.
// On a CPU without VNNI, ONNX Runtime's products of u8 and s8 saturate; --exact asks it for products that do not
// (session.x64quantprecision). Nothing changes on other CPUs.
// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

// From the working directory, where the package is installed, rather than from this file's.
const ort = createRequire(join(process.cwd(), 'package.json'))('onnxruntime-node');

const { values: options, positionals: models } = parseArgs({
  allowPositionals: true,
  options: {
    octet: { type: 'string', default: 'octet' },
    exact: { type: 'boolean', default: false },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    runs: { type: 'string', default: '10' }, // of each, in one round
    batch: { type: 'string', default: '1' },
    sequence: { type: 'string', default: '128' },
  },
});
const [threads, runs, batch, sequence] = ['threads', 'runs', 'batch', 'sequence'].map((name) => Number(options[name]));

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/// Tokens of the smallest vocabulary; the last two are hidden, the second half is of the second type.
const inputs = {
  input_ids: (i) => (i * 37) % 1000,
  attention_mask: (i) => (i % sequence < sequence - 2 ? 1 : 0),
  token_type_ids: (i) => (i % sequence > sequence / 2 ? 1 : 0),
};
const tokens = (f) => Array.from({ length: batch * sequence }, (_, i) => f(i));

async function timeOnnxRuntime(session, feeds) {
  const times = [];
  for (let i = 0; i < runs; i++) {
    const start = process.hrtime.bigint();
    await session.run(feeds);
    times.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  return times;
}

function timeOctet(model, directory) {
  const trace = join(directory, 'profile.json');
  const given = Object.keys(inputs).flatMap((name) => ['--input', `${name}=${join(directory, `${name}.bin`)}`]);
  const result = spawnSync(options.octet, ['run', model, ...given, '--dimension', `batch=${batch}`, '--dimension',
    `sequence=${sequence}`, '--output-dir', directory, '--threads', options.threads, '--repeat', String(runs),
    '--trace', trace]);
  if (result.status !== 0) throw new Error(`octet run failed: ${result.stderr}`);
  return JSON.parse(readFileSync(trace)).traceEvents.filter((e) => e.cat === 'run').map((e) => e.dur / 1e3);
}

function difference(name, expected, file) {
  const bytes = readFileSync(file);
  const got = new expected.data.constructor(bytes.buffer, bytes.byteOffset, expected.data.length);
  let largest = 0, apart = 0, different = 0;
  for (let i = 0; i < got.length; i++) {
    largest = Math.max(largest, Math.abs(expected.data[i]));
    apart = Math.max(apart, Math.abs(got[i] - expected.data[i]));
    different += got[i] !== expected.data[i];
  }
  return expected.type === 'float32' ? { name, relative: apart / largest } : { name, different, of: got.length };
}

async function compare(model) {
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: 'all',
    extra: { session: { x64quantprecision: options.exact ? '1' : '0' } },
  });
  const directory = mkdtempSync(join(tmpdir(), 'encoders-'));
  try {
    const feeds = {};
    for (const [name, f] of Object.entries(inputs)) {
      feeds[name] = new ort.Tensor('int64', BigInt64Array.from(tokens(f), BigInt), [batch, sequence]);
      writeFileSync(join(directory, `${name}.bin`), Int32Array.from(tokens(f)));
    }
    const expected = await session.run(feeds);
    const theirs = [], ours = [];
    for (let round = 0; round < Number(options.rounds); round++) {
      theirs.push(...await timeOnnxRuntime(session, feeds));
      ours.push(...timeOctet(model, directory));
    }
    const apart = session.outputNames.map(
        (name, i) => difference(name, expected[name], join(directory, `output_${i}.bin`)));
    const integers = apart.filter((d) => d.of), changed = integers.filter((d) => d.different);
    const floats = apart.filter((d) => d.relative !== undefined);
    console.log(`${model} threads ${threads} batch ${batch} sequence ${sequence}: ` +
                floats.map((d) => `${d.name} ${d.relative.toExponential(1)}`).join(', ') +
                (integers.length === 0
                     ? ''
                     : `, ${integers.reduce((sum, d) => sum + d.different, 0)} of ${
                           integers.reduce((sum, d) => sum + d.of, 0)} integers ` +
                           `differ${
                               changed.length === 0
                                   ? ''
                                   : `, first ${changed[0].different} of ${changed[0].name}`}`) +
                `; ONNX Runtime ${median(theirs).toFixed(3)} ms, Octet ${median(ours).toFixed(3)} ms, ` +
                `ratio ${(median(theirs) / median(ours)).toFixed(2)}, of minima ${
                    (Math.min(...theirs) / Math.min(...ours)).toFixed(2)}`);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

for (const model of models) await compare(model);
