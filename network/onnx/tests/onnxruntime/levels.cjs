// How many graphs ONNX Runtime computes otherwise than on a machine with AVX512-VNNI, by the features that it
// finds in the CPU:
//
//     node levels.cjs GRAPHS [OCTET [LIBRARY]]
//
// GRAPHS is a folder with graphs.json, models and outputs of such a machine, as compare_graphs.cjs writes it.
// The first row is of this CPU as it is; with OCTET, the command, each row also tells what differs with
// Octet's provider. LIBRARY (hidden_cpu_features.c) adds rows of CPUs that lack features of this one. Fails
// if a quantized graph differs with the provider: the bytes of those do not depend on the CPU. Ends with 77
// where the kernel cannot hide features, which the first row does not need.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const fs = require('fs'), path = require('path'), {spawnSync} = require('child_process');
const {arrays_of} = require('./npz_reader.cjs');

const kinds = {
    f32: ['float32', Float32Array], u8: ['uint8', Uint8Array], s8: ['int8', Int8Array],
    s32: ['int32', Int32Array], s64: ['int64', BigInt64Array], bool: ['bool', Uint8Array],
};
/// The processors to compare, and the features that each row hides (hidden_cpu_features.h).
const levels = [
    ['without AMX', 'amx'],
    ['AVX-VNNI without AVX-512', 'amx,avx512'],
    ['AVX-512 without VNNI', 'amx,vnni'],
    ['AVX2', 'amx,vnni,avx512'],
    ['AVX', 'amx,vnni,avx512,avx2'],
];
const unsupported = 77;

/// Equal bits; one NaN is as good as another.
function is_equal(dtype, a, b) {
    if (dtype !== 'f32') return Buffer.compare(a, b) === 0;
    const bits = (buffer) => new Uint32Array(Uint8Array.from(buffer).buffer), [x, y] = [bits(a), bits(b)];
    const is_nan = (v) => (v & 0x7fffffff) > 0x7f800000;
    return x.length === y.length && x.every((v, i) => v === y[i] || (is_nan(v) && is_nan(y[i])));
}

/// In a process of its own: the names of the graphs whose outputs differ.
async function run(folder) {
    const ort = require('onnxruntime-node');
    const options = {graphOptimizationLevel: 'all', intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3};
    const {cases} = JSON.parse(fs.readFileSync(path.join(folder, 'graphs.json')));
    for (const {name, file, inputs, outputs} of cases) {
        const given = arrays_of(fs.readFileSync(path.join(folder, `${file}.npz`))), feeds = {};
        const session = await ort.InferenceSession.create(path.join(folder, `${file}.onnx`), options);
        for (const i of inputs) {
            const [type, of] = kinds[i.dtype];
            feeds[i.name] = new ort.Tensor(type, new of(Uint8Array.from(given[`in_${i.name}`]).buffer), i.dims);
        }
        const results = await session.run(feeds);
        const bytes = ({data}) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
        const same = outputs.every((o) => is_equal(o.dtype, bytes(results[o.name]), given[`out_${o.name}`]));
        fs.writeSync(1, `${same ? 'equal' : 'differs'} ${name}\n`);
        await session.release();
    }
}

/// {count, differ: names}, or nothing where the features cannot be hidden.
function outcome(folder, octet, library, hidden) {
    const program = [process.execPath, __filename, '--run', folder];
    const command = octet ? [octet, 'preload', '--onnxruntime', ...program] : program;
    const env = {...process.env, ...(hidden && {LD_PRELOAD: library, HIDDEN_CPU_FEATURES: hidden})};
    const child = spawnSync(command[0], command.slice(1), {env, encoding: 'utf8', maxBuffer: 2 ** 28});
    if (child.status === unsupported) return undefined;
    if (child.status !== 0)
        throw new Error(`${command.join(' ')} ended with ${child.status ?? child.signal}\n${child.stderr}`);
    const lines = child.stdout.split('\n').filter((l) => l), differ = lines.filter((l) => l.startsWith('differs '));
    return {count: lines.length, differ: differ.map((l) => l.slice('differs '.length))};
}

function main(folder, octet, library) {
    try {
        require.resolve('onnxruntime-node');
    } catch {
        console.log('skipped: no onnxruntime-node in NODE_PATH (scripts/packages.sh)');
        process.exit(unsupported);
    }
    const {cases} = JSON.parse(fs.readFileSync(path.join(folder, 'graphs.json')));
    const quantized =
        new Set(cases.filter(({operators}) => operators.some((o) => /Quantize|Integer|QLinear/.test(o)))
                    .map(({name}) => name));
    const row = (title, hidden) => {
        const plain = outcome(folder, undefined, library, hidden);
        if (!plain) return false;
        console.log(`${title}: ${plain.differ.length} of ${plain.count} graphs differ`);
        if (!octet) return true;
        const {differ} = outcome(folder, octet, library, hidden), wrong = differ.filter((name) => quantized.has(name));
        console.log(`    with Octet's provider ${differ.length}: ${differ.join(' ')}`);
        if (wrong.length) throw new Error(`quantized graphs differ: ${wrong.join(' ')}`);
        return true;
    };
    row('this CPU');
    if (library && !levels.every(([title, hidden]) => row(title, hidden))) {
        console.log('skipped: this kernel cannot fault CPUID, so no feature can be hidden');
        process.exitCode = unsupported;
    }
}

const [, , ...args] = process.argv;
if (args[0] === '--run') run(args[1]);
else main(...args);
