#!/usr/bin/env node
// Random small decoders of make_decoder.py in ONNX Runtime and in `octet run`: a prompt, then some tokens behind it,
// each time with the past that ONNX Runtime gave. How many runs have equal bytes in logits and caches?
//
//     NODE_PATH=DIR node compare_decoders.cjs --octet build/release/tools/octet --count 20 --first 0
//
// ONNX Runtime's own kernels give these bytes on a CPU with AVX512-VNNI. On any CPU its sessions have them with Octet
// as their provider, which is compared with networks then:
//
//     OCTET_ONNXRUNTIME_OPTIONS=threads=1,claim=all,minimum=1 octet preload --onnxruntime node compare_decoders.cjs
// SPDX-License-Identifier: Apache-2.0
'use strict';
const fs = require('fs'), os = require('os'), path = require('path'), {spawnSync} = require('child_process');
const {parseArgs} = require('util'), ort = require('onnxruntime-node');
const tests = path.join(__dirname, '../../network/onnx/tests/onnxruntime');
const {npz} = require(`${tests}/onnx_writer.cjs`), {arrays_of} = require(`${tests}/npz_reader.cjs`);
const {dice} = require(`${tests}/random_graphs.cjs`);

const text = (value) => ({type: 'string', default: value});
const {values: options} = parseArgs(
    {options: {octet: text('octet'), count: text('20'), first: text('0'), steps: text('3')}});

/// Arguments of make_decoder.py.
function drawn(d) {
    const kv = d.one([1, 2]), block = d.one([16, 32, 64, 128]);
    const sizes = {
        layers: d.one([1, 2, 3]), hidden: d.one([32, 48, 64, 136]), 'kv-heads': kv, heads: kv * d.one([1, 2, 3]),
        head: d.one([16, 32, 64]), inner: d.one([40, 96, 160]), vocabulary: d.one([33, 75, 100]), block,
        bits: d.one([4, 8]), 'head-bits': d.one([4, 8]), level: d.one([0, 4, 4]), window: d.one([1, 4, 8]),
    };
    return [d.one(['llama', 'qwen', 'gemma']), ...Object.entries(sizes).map(([k, v]) => `--${k}=${v}`),
            ...(d.chance(0.5) ? ['--zero-points'] : [])];
}

function command(program, ...args) {
    // The preloaded library is for this process alone.
    const {status, stderr} = spawnSync(program, args, {env: {...process.env, LD_PRELOAD: ''}});
    if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
}

const bytes_of = ({data}) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/// The largest difference between floats.
function distance(a, b) {
    let most = 0;
    for (let i = 0; i < a.length; i += 4) most = Math.max(most, Math.abs(a.readFloatLE(i) - b.readFloatLE(i)));
    return most.toExponential(1);
}

/// Runs a decoder on both; returns the outputs that differ, and by how much.
function differing(folder, model, feeds, results) {
    const names = {float32: 'f32', int64: 's64'};
    fs.writeFileSync(path.join(folder, 'in.npz'), npz(Object.entries(feeds).map(
        ([name, x]) => ({name, dtype: names[x.type], dims: x.dims, data: bytes_of(x)}))));
    command(options.octet, 'run', model, '--input', path.join(folder, 'in.npz'), '--threads', '1', '--repeat', '1',
            '--format', 'npz', '--output-dir', folder);
    const ours = arrays_of(fs.readFileSync(path.join(folder, 'outputs.npz')));
    return Object.keys(results).filter((name) => !bytes_of(results[name]).equals(ours[name])).map(
        (name) => `${name} by ${distance(bytes_of(results[name]), ours[name])}`);
}

async function compare(folder, seed) {
    const d = new dice(seed), model = path.join(folder, 'decoder.onnx'), drawn_options = drawn(d);
    command('/usr/bin/python3', path.join(__dirname, 'make_decoder.py'), ...drawn_options, `--seed=${seed}`,
            '--output', model);
    const session = await ort.InferenceSession.create(
        model, {intraOpNumThreads: 1, graphOptimizationLevel: 'all', logSeverityLevel: 3});
    const size = (name) => Number(drawn_options.find((o) => o.startsWith(`--${name}=`)).split('=')[1]);
    const ids = (count) => BigInt64Array.from({length: count}, () => BigInt(d.integer(0, size('vocabulary') - 1)));
    let pasts = {}, done = 0, differences = 0;
    for (const name of session.inputNames.filter((n) => n.startsWith('past')))
        pasts[name] = new ort.Tensor('float32', new Float32Array(0), [1, size('kv-heads'), 0, size('head')]);
    for (let step = 0; step <= Number(options.steps); step++) {
        const count = step === 0 ? d.one([1, 2, 5, 17]) : d.one([1, 1, 1, 3]);
        done += count;
        const feeds = {
            input_ids: new ort.Tensor('int64', ids(count), [1, count]),
            attention_mask: new ort.Tensor('int64', new BigInt64Array(done).fill(1n), [1, done]), ...pasts,
        };
        const results = await session.run(feeds), wrong = differing(folder, model, feeds, results);
        if (wrong.length > 0) {
            differences++;
            console.log(`${seed}: ${drawn_options.join(' ')}, step ${step}, ${count} tokens: ${wrong.join(', ')}`);
        }
        for (const name of Object.keys(pasts)) pasts[name] = results[name.replace('past_key_values', 'present')];
    }
    return differences;
}

(async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'decoders-')), count = Number(options.count);
    let differences = 0;
    try {
        for (let i = 0; i < count; i++) differences += await compare(folder, Number(options.first) + i);
    } finally {
        fs.rmSync(folder, {recursive: true});
    }
    const runs = count * (Number(options.steps) + 1);
    console.log(`${runs - differences} of ${runs} runs of ${count} decoders have equal bytes`);
    process.exitCode = differences === 0 ? 0 : 1;
})();
