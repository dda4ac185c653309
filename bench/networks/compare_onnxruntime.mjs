#!/usr/bin/env node
// One network in ONNX Runtime and in `octet run`: are the output bytes equal, and how do the times compare?
//
//     npm install --ignore-scripts onnxruntime-node
//     node compare_onnxruntime.mjs --octet build/release/tools/octet --threads 1 resnet50_u8s8.onnx ...
//
// Both get the same input. They take turns, `--rounds` times, so that a change of the machine's clock meets both;
// the ratio is that of the medians of all runs. Exit code 1: some output differs.
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
    rounds: { type: 'string', default: '7' },
    runs: { type: 'string', default: '20' }, // of each, in one round
    batch: { type: 'string', default: '1' },
  },
});
const threads = Number(options.threads), runs = Number(options.runs), batch = Number(options.batch);

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const milliseconds = (nanoseconds) => Number(nanoseconds) / 1e6;

function pseudoRandomImage(elements) {
  const image = new Float32Array(elements);
  let state = 12345;
  for (let i = 0; i < elements; i++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    image[i] = (state >>> 8) / 2 ** 23 - 1; // the network's input has a standard deviation of about one
  }
  return image;
}

async function timeOnnxRuntime(session, feeds) {
  const times = [];
  for (let i = 0; i < runs; i++) {
    const start = process.hrtime.bigint();
    await session.run(feeds);
    times.push(milliseconds(process.hrtime.bigint() - start));
  }
  return times;
}

function timeOctet(model, directory) {
  const trace = join(directory, 'profile.json');
  const result = spawnSync(options.octet, ['run', model, '--input', join(directory, 'input.bin'), '--output-dir',
    directory, '--threads', options.threads, '--batch', options.batch, '--repeat', String(runs), '--trace', trace]);
  if (result.status !== 0) throw new Error(`octet run failed: ${result.stderr}`);
  return JSON.parse(readFileSync(trace)).traceEvents.filter((e) => e.cat === 'run').map((e) => e.dur / 1e3);
}

async function compare(model) {
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: 'all',
    extra: { session: { x64quantprecision: options.exact ? '1' : '0' } },
  });
  const directory = mkdtempSync(join(tmpdir(), 'networks-'));
  try {
    const image = pseudoRandomImage(batch * 3 * 224 * 224);
    writeFileSync(join(directory, 'input.bin'), image);
    const feeds = { [session.inputNames[0]]: new ort.Tensor('float32', image, [batch, 3, 224, 224]) };
    const expected = (await session.run(feeds))[session.outputNames[0]].data;
    const theirs = [], ours = [];
    for (let round = 0; round < Number(options.rounds); round++) {
      theirs.push(...await timeOnnxRuntime(session, feeds));
      ours.push(...timeOctet(model, directory));
    }
    const equal = readFileSync(join(directory, 'output_0.bin')).equals(Buffer.from(expected.buffer));
    const distinct = new Set(expected).size; // a constant output would prove nothing
    console.log(`${model} threads ${threads} batch ${batch}: ${equal ? 'equal bytes' : 'OUTPUTS DIFFER'} ` +
      `(${distinct} distinct values), ONNX Runtime ${median(theirs).toFixed(3)} ms, ` +
      `Octet ${median(ours).toFixed(3)} ms, ratio ${(median(theirs) / median(ours)).toFixed(2)}`);
    return equal;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

let allEqual = true;
for (const model of models) allEqual = await compare(model) && allEqual;
process.exitCode = allEqual ? 0 : 1;
