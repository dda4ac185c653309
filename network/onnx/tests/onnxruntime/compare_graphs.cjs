// Runs random graphs in ONNX Runtime and writes them as vectors that `octet check` replays (format: the
// case's model and arrays beside graphs.json): node compare_graphs.cjs FOLDER KIND FIRST COUNT. One graph
// again: FIRST is its number, COUNT 1. Kinds: random, wide, broken, operators, single, special, unread and
// versions are without end; probes break each condition of each pattern, products go through the ways to sum
// up, conditions are those of single passes, rules those of level 1, units those of codes, nbits have weights in
// blocks (nbits_floats none that are rounded), flows have graphs in nodes, decoders have pasts,
// blocks are of channels, unusual ones are not made by these generators, known ones are known to differ.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const fs = require('fs'), path = require('path'), {spawnSync} = require('child_process');
const {operators_of} = require('./onnx_reader.cjs');
const {graph, npz, data_of} = require('./onnx_writer.cjs');
const {random_graph, dice, at_opset} = require('./random_graphs.cjs');
const {probes, probe, broken, wide_graph} = require('./wide_graphs.cjs');
const {operator_graph} = require('./operator_graphs.cjs'), {single_graph} = require('./single_graphs.cjs');
const known = require('./known_graphs.cjs'), unusual = require('./unusual_graphs.cjs'),
      products = require('./product_graphs.cjs');
const attentions = require('./attention_graphs.cjs');
const conditions = require('./condition_graphs.cjs'), blocks = require('./block_graphs.cjs');
const {nbits_graph, floats_graph} = require('./nbits_graphs.cjs');
const {flow_graph} = require('./flow_graphs.cjs'), {decoder_graph} = require('./decoder_graphs.cjs');
const rules = require('./rule_graphs.cjs'), units = require('./unit_graphs.cjs');

const listed = (graphs) => ({graph: (i) => graphs[i].graph(), name: (i) => graphs[i].name, count: () => graphs.length});

const any_graph = (seed) => [random_graph, wide_graph, broken][seed % 3](seed);

/// A graph of the other generators in an operator set that is older or newer than theirs.
function versions(seed) {
    return at_opset([7, 8, 9, 10, 22, 23, 24, 25][Math.floor(seed / 3) % 8], () => any_graph(seed));
}

/// A graph of the other generators whose inputs have numbers at the ends of f32, of which some are none.
function special(seed) {
    const graph = any_graph(seed), d = new dice(seed ^ 0x2545f491);
    const values = [NaN, Infinity, -Infinity, 0, -0, 1e38, -3e38, 1e-40, -1e-45, 88.5, -104, 1e9, 2 ** 24 + 1, 0.5];
    for (const i of graph?.inputs ?? [])
        if (i.dtype === 'f32' && !i.given) i.values = i.values.map((v) => (d.chance(0.05) ? d.one(values) : v));
    return graph;
}

/// A graph of the other generators that has lost some of its outputs: what wrote them is still there.
function unread(seed) {
    const d = new dice(seed ^ 0x1b873593), {model} = graph.prototype;
    graph.prototype.model = function (outputs) {
        return model.call(this, outputs.filter((_, i) => i === outputs.length - 1 || d.chance(0.5)));
    };
    const result = any_graph(seed);
    graph.prototype.model = model;
    return result;
}

const kinds = {
    random: {graph: random_graph}, operators: {graph: operator_graph}, single: {graph: single_graph},
    wide: {graph: wide_graph}, broken: {graph: broken}, special: {graph: special},
    versions: {graph: versions}, unread: {graph: unread},
    probe: {
        graph: probe, name: (i) => `${probes()[i].slice(0, 2).join('.')}.${i}`, count: () => probes().length
    },
    known: listed(known), unusual: listed(unusual), products: listed(products),
    attentions: listed(attentions), conditions: listed(conditions), blocks: listed(blocks),
    rules: listed(rules), units: listed(units),
    nbits: {graph: nbits_graph}, nbits_floats: {graph: floats_graph},
    flows: {graph: flow_graph}, decoders: {graph: decoder_graph},
};

const arrays = {
    float32: ['f32', Float32Array], uint8: ['u8', Uint8Array], int8: ['s8', Int8Array],
    int32: ['s32', Int32Array], int64: ['s64', BigInt64Array], bool: ['bool', Uint8Array],
};
const mark = '== graph ';

/// Runs ONNX Runtime in a process of its own, because it may crash; its log tells which transformers changed
/// a graph.
async function run(folder, kind, first, last) {
    const ort = require('onnxruntime-node');
    const options = {
        graphOptimizationLevel: 'all', intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 0,
        optimizedModelFilePath: path.join(folder, 'optimized'),
    };
    for (let seed = first; seed < last; seed++) {
        const graph = kinds[kind].graph(seed);
        if (!graph) continue;
        const file = path.join(folder, `${seed}`), result = {seed};
        fs.writeSync(2, `${mark}${seed}\n`);
        try {
            const extra = graph.session ? {extra: {session: Object.fromEntries(
                Object.entries(graph.session).map(([k, v]) => [k, String(v)]))}} : {};
            const session = await ort.InferenceSession.create(graph.model, {...options, ...extra}), feeds = {};
            for (const {name, dtype, dims, values} of graph.inputs) {
                const [type, [, of]] = Object.entries(arrays).find(([, [t]]) => t === dtype);
                feeds[name] = new ort.Tensor(type, of.from(dtype === 's64' ? values.map(BigInt) : values), dims);
            }
            const outputs = await session.run(feeds);
            const written = graph.inputs.map(({name, dtype, dims, values}) => (
                {name: `in_${name}`, dtype, dims, data: data_of(dtype, values)}));
            result.outputs = session.outputNames.map((name) => {
                const {type, dims, data} = outputs[name], dtype = arrays[type][0];
                written.push({
                    name: `out_${name}`, dtype, dims,
                    data: Buffer.from(data.buffer, data.byteOffset, data.byteLength)
                });
                return {name, dtype, dims};
            });
            await session.release();
            result.optimized = operators_of(fs.readFileSync(options.optimizedModelFilePath));
            fs.writeFileSync(`${file}.npz`, npz(written));
            fs.writeFileSync(`${file}.onnx`, graph.model);
        } catch (e) {
            result.error = String(e.message); // ONNX Runtime refuses it
        }
        fs.writeSync(1, JSON.stringify(result) + '\n');
    }
}

/// {seed: its transformers as "L1.2 Name"}, from the log.
function transformers_in(log) {
    const fired = {};
    let seed, level = 0, step = 0;
    for (const line of log.split('\n')) {
        if (line.startsWith(mark)) {
            seed = +line.slice(mark.length);
            [fired[seed], level, step] = [[], 0, 0];
            continue;
        }
        const started = line.match(/transformer step (\d+) of \d+ for level (\d+) started/);
        if (started) [step, level] = [+started[1], +started[2]];
        const changed = line.match(/GraphTransformer (\S+) modified: 1/);
        if (changed && seed !== undefined) fired[seed].push(`L${level}.${step} ${changed[1]}`);
    }
    return fired;
}

function main(folder, kind, first, count) {
    fs.mkdirSync(folder, {recursive: true});
    const cases = [], refused = {};
    for (let seed = first, end = first + count; seed < end;) {
        const last = Math.min(seed + 250, end);
        const child = spawnSync(process.execPath, [__filename, '--run', folder, kind, seed, last],
                                {maxBuffer: 2 ** 30});
        const fired = transformers_in(child.stderr.toString());
        let done = seed - 1;
        for (const line of child.stdout.toString().split('\n').filter((l) => l)) {
            const result = JSON.parse(line), graph = kinds[kind].graph(result.seed);
            done = result.seed;
            if (result.error) {
                const reason = result.error.replace(/[tc]?\d+/g, 'N').slice(0, 100);
                refused[reason] = (refused[reason] ?? 0) + 1;
                continue;
            }
            cases.push({
                name: `${kind}/${kinds[kind].name?.(result.seed) ?? result.seed}`, file: `${result.seed}`,
                probes: 'a random graph', opset: graph.opset, operators: graph.operators,
                inputs: graph.inputs.map(({name, dtype, dims}) => ({name, dtype, dims})),
                outputs: result.outputs, session: graph.session, 
                ...(graph.bytes_only ? {} : {fired: fired[result.seed], optimized: result.optimized}),
            });
        }
        seed = child.status === 0 ? last : done + 2; // which it did not survive is left out
        if (child.status !== 0) refused['a crash'] = (refused['a crash'] ?? 0) + 1;
    }
    fs.writeFileSync(path.join(folder, 'graphs.json'),
                     JSON.stringify({framework: 'onnxruntime', seed: first, cases}));
    console.log(`${cases.length} graphs; ONNX Runtime refuses ${count - cases.length}`, refused);
}

const [, , ...args] = process.argv;
if (args[0] === '--run') run(args[1], args[2], +args[3], +args[4]);
else main(args[0], args[1], +(args[2] ?? 0), +(args[3] ?? kinds[args[1]].count()));
