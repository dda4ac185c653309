// LiteRT as a device of unknown arithmetic: `octet match` is told an operator's numbers, proposes inputs, and
// has to name the runtime by what LiteRT computes for them. No name may be false: what stays consistent has
// to agree on inputs that were not proposed, too.
//
//     node match.cjs OCTET FLATC FIRST COUNT       devices by number; their kinds take turns
//
// Exit code 0: all right; 1: a false name, or none; 77: the package is missing.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const fs = require('fs'), os = require('os'), path = require('path'), {spawnSync} = require('child_process');
const {Litert, folder_of_package} = require('./litert.cjs');
const {json_of, Random} = require('./random_models.cjs');

const runtime = 'litert-2026.08-x86', probes = 256;
const schema = path.join(__dirname, '..', '..', 'reader', 'tflite.fbs');
const types = {s8: ['INT8', '|i1'], u8: ['UINT8', '|u1'], f32: ['FLOAT32', '<f4'], s32: ['INT32', '<i4']};
const low_of = {s8: -128, u8: 0};

// ---- .npy

function write_npy(file, type, dims, bytes) {
    let header = `{'descr': '${types[type][1]}', 'fortran_order': False, 'shape': (${dims.join(', ')}${
        dims.length === 1 ? ',' : ''}), }`;
    header = header.padEnd(117) + '\n';
    fs.writeFileSync(file, Buffer.concat([
        Buffer.from('\x93NUMPY\x01\x00', 'latin1'), Buffer.from([header.length & 255, header.length >> 8]),
        Buffer.from(header), bytes
    ]));
}
function read_npy(file) {
    const all = fs.readFileSync(file), end = 10 + all.readUInt16LE(8), header = all.toString('latin1', 10, end);
    return {
        dims: header.match(/'shape': \(([^)]*)\)/)[1].split(',').filter((d) => d.trim()).map(Number),
        bytes: all.subarray(end)
    };
}

// ---- devices

/// A kind: what .tflite calls it, and its model for so many rows.
const elements = (op, options_type, options = {}) =>
    ({op, row: () => [], result: () => [], options_type, options: () => options});
const kinds = {
    product: {
        op: 'FULLY_CONNECTED', row: (d) => [d.count], result: () => [1],
        options_type: 'FullyConnectedOptions', options: () => ({fused_activation_function: 'NONE'})
    },
    add: elements('ADD', 'AddOptions', {fused_activation_function: 'NONE'}),
    sub: elements('SUB', 'SubOptions', {fused_activation_function: 'NONE'}),
    mul: elements('MUL', 'MulOptions', {fused_activation_function: 'NONE'}),
    quantize: elements('QUANTIZE', 'QuantizeOptions'),
    leaky_relu: {...elements('LEAKY_RELU', 'LeakyReluOptions'), options: (d) => ({alpha: d.alpha})},
    relu: elements('RELU'), relu6: elements('RELU6'), logistic: elements('LOGISTIC'), tanh: elements('TANH'),
    hard_swish: {...elements('HARD_SWISH'), only: 's8'}, elu: {...elements('ELU'), only: 's8'},
    mean: {
        op: 'MEAN', row: (d) => [d.count], result: () => [], integers: () => [1],
        options_type: 'ReducerOptions', options: () => ({})
    },
    sum: {
        op: 'SUM', row: (d) => [d.count], result: () => [], integers: () => [1],
        options_type: 'ReducerOptions', options: () => ({})
    },
    average_pool: {
        op: 'AVERAGE_POOL_2D', row: (d) => [1, d.count, 1], result: () => [1, 1, 1], keeps: true,
        options_type: 'Pool2DOptions', options: (d) =>
            ({padding: 'VALID', stride_w: 1, stride_h: 1, filter_height: 1, filter_width: d.count})
    },
    max_pool: {
        op: 'MAX_POOL_2D', row: (d) => [1, d.count, 1], result: () => [1, 1, 1], keeps: true,
        options_type: 'Pool2DOptions', options: (d) =>
            ({padding: 'VALID', stride_w: 1, stride_h: 1, filter_height: 1, filter_width: d.count})
    },
    softmax: {
        op: 'SOFTMAX', row: (d) => [d.count], result: (d) => [d.count], options_type: 'SoftmaxOptions',
        options: () => ({beta: 1})
    },
    resize_bilinear: {
        op: 'RESIZE_BILINEAR', row: (d) => [...d.size, 1], result: (d) => [...d.to, 1], keeps: true,
        integers: (d) => d.to, options_type: 'ResizeBilinearOptions',
        options: (d) => ({align_corners: d.align_corners, half_pixel_centers: d.half_pixel_centers})
    },
};

function random_description(number) {
    const random = new Random(number), names = Object.keys(kinds), kind = names[number % names.length],
          facts = kinds[kind];
    const type = facts.only ?? random.of(['s8', 's8', 'u8']), is_pair = ['add', 'sub', 'mul', 'product'].includes(kind);
    const scale = (wish) =>
        Math.fround(random.chance(.4) ? 2 ** Math.round(Math.log2(wish)) : wish * 2 ** random.real(-.5, .5));
    const operand = (wish) =>
        ({type, scale: scale(wish), zero_point: random.between(low_of[type] + 60, low_of[type] + 200)});
    const x = operand(2 ** random.real(-6, -3)), inputs = [x], d = {kind, inputs};
    if (is_pair) inputs.push(operand(kind === 'mul' || kind === 'product' ? .02 : x.scale));
    if (kind === 'product' && type === 's8') inputs[1].zero_point = 0; // as filters have it
    if (kind === 'quantize' && random.chance(.5)) inputs[0] = {type: 'f32'};
    const n = random.of([5, 7, 16, 49]);
    if (facts.row({count: n, size: [4, 4]}).length && kind !== 'resize_bilinear') d.count = kind === 'product' ? 24 : n;
    if (kind === 'leaky_relu') d.alpha = Math.fround(random.of([.1, .3, -.5]));
    if (kind === 'resize_bilinear') {
        Object.assign(d, {size: [4, 5], to: [random.between(3, 9), random.between(6, 11)]});
        d.align_corners = random.chance(.3);
        d.half_pixel_centers = !d.align_corners && random.chance(.5);
    }
    const wish = {
        mul: x.scale * (inputs[1]?.scale ?? 1) * 60, product: x.scale * (inputs[1]?.scale ?? 1) * 200,
        sum: x.scale * 4, logistic: 1 / 200, tanh: 1 / 100, quantize: x.scale * 1.3
    }[kind] ?? x.scale;
    d.output = kind === 'softmax' ? {type, scale: 1 / 256, zero_point: low_of[type]} : facts.keeps ? x : operand(wish);
    return d;
}

const tensor = (shape, {type, scale, zero_point}, data = null) => ({
    shape, type: types[type][0], data,
    ...(type === 'f32' || type === 's32' ? {} : {scales: [scale], zero_points: [zero_point]})
});

function model_of(d, rows, weights) {
    const facts = kinds[d.kind], tensors = [], is_product = d.kind === 'product';
    const add = (...of) => tensors.push(tensor(...of)) - 1;
    const inputs = d.inputs.slice(0, is_product ? 1 : 2).map((o) => add([rows, ...facts.row(d)], o)), all = [...inputs];
    if (is_product) all.push(add([1, d.count], d.inputs[1], weights));
    if (facts.integers) {
        const values = facts.integers(d);
        all.push(add([values.length], {type: 's32'}, Buffer.from(Int32Array.from(values).buffer)));
    }
    const result = add([rows, ...facts.result(d)], d.output);
    return json_of({
        tensors, inputs, outputs: [result],
        nodes: [{
            op: facts.op, inputs: all, outputs: [result], options_type: facts.options_type,
            options: facts.options(d)
        }]
    });
}

// ---- asking

function run(program, ...words) {
    const {status, stdout, stderr} = spawnSync(program, words, {maxBuffer: 2 ** 28});
    if (status > 1 || status === null) throw new Error(`${program} ${words.join(' ')}: ${stderr}`);
    return stdout.toString();
}

class Device {
    constructor(litert, flatc, d, folder) { Object.assign(this, {litert, flatc, d, folder}); }

    /// Returns the outputs for the inputs in a folder.
    async outputs_for(inputs) {
        const read = (name) => read_npy(path.join(inputs, `${name}.npy`)), x = read('x'), [rows] = x.dims;
        const is_product = this.d.kind === 'product', given = [x.bytes];
        if (this.d.inputs.length > 1 && !is_product) given.push(read('y').bytes);
        const file = path.join(this.folder, 'device.json');
        fs.writeFileSync(file, model_of(this.d, rows, is_product ? read('weights').bytes : null));
        run(this.flatc, '-b', '-o', this.folder, schema, file);
        const [{bytes}] = await this.litert.run(fs.readFileSync(path.join(this.folder, 'device.tflite')), given);
        write_npy(path.join(inputs, 'outputs.npy'), this.d.output.type,
                  [rows, ...kinds[this.d.kind].result(this.d)], bytes);
    }
}

const names_in = (report) => JSON.parse(report).consistent.map((c) => `${c.contract} ${c.detail}`.trim());

/// Inputs of the same form with other numbers.
function write_others(from, to, random) {
    fs.mkdirSync(to, {recursive: true});
    for (const name of ['x', 'y', 'weights'].filter((n) => fs.existsSync(path.join(from, `${n}.npy`)))) {
        const {dims, bytes} = read_npy(path.join(from, `${name}.npy`));
        const type = bytes.length === 4 * dims.reduce((a, b) => a * b, 1) ? 'f32' : null;
        const centre = random.below(256), other = Buffer.from(bytes);
        if (type) for (let i = 0; i < bytes.length; i += 4) other.writeFloatLE(random.real(-9, 9), i);
        else if (name !== 'weights')
            for (let i = 0; i < bytes.length; i++)
                other[i] = random.chance(.5) ? random.below(256) : centre + random.between(-9, 9);
        const all = fs.readFileSync(path.join(from, `${name}.npy`));
        other.copy(all, all.length - other.length);
        fs.writeFileSync(path.join(to, `${name}.npy`), all);
    }
}

/// Empty, or what is wrong.
async function complaint(octet, device, number) {
    const {folder, d} = device, file = path.join(folder, 'op.json'), at = path.join(folder, 'probes'),
                   elsewhere = path.join(folder, 'others');
    for (const old of [at, elsewhere]) fs.rmSync(old, {recursive: true, force: true});
    fs.mkdirSync(at);
    fs.writeFileSync(file, JSON.stringify(d));
    run(octet, 'match', file, '--propose', String(probes), '--inputs', at);
    await device.outputs_for(at);
    const named = names_in(
        run(octet, 'match', file, '--inputs', at, '--outputs', path.join(at, 'outputs.npy'), '--json'));
    write_others(at, elsewhere, new Random(number));
    await device.outputs_for(elsewhere);
    const right = names_in(run(octet, 'match', file, '--inputs', elsewhere, '--outputs',
                               path.join(elsewhere, 'outputs.npy'), '--json'));
    const wanted = d.kind === 'product' ? 'xnnpack_f32' : runtime, wrong = named.filter((n) => !right.includes(n));
    if (!named.some((n) => n.startsWith(wanted))) return `${wanted} is not named, but ${named.join(', ') || 'none'}`;
    return wrong.length ? `false names: ${wrong.join(', ')}` : '';
}

async function main(octet, flatc, first, count) {
    if (!folder_of_package()) {
        console.log('skipped: no @litertjs/core in NODE_PATH (scripts/packages.sh)');
        return 77;
    }
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octet_litert_match_')), litert = await Litert.load();
    let wrong = 0;
    try {
        for (let number = +first; number < +first + +count; number++) {
            const d = random_description(number),
                  found = await complaint(octet, new Device(litert, flatc, d, folder), number);
            if (found) console.log(`device ${number} (${JSON.stringify(d)}): ${found}`);
            wrong += found !== '';
        }
        console.log(`${count} devices, ${wrong} wrong`);
        return wrong ? 1 : 0;
    } finally {
        fs.rmSync(folder, {recursive: true});
    }
}

main(...process.argv.slice(2)).then((code) => process.exit(code), (e) => { console.error(e); process.exit(2); });
