// Graphs on both sides of conditions of ONNX Runtime's rewrites at level 1: its rules of single nodes, common
// subexpressions, constants that are computed ahead, views, Slices that are one SpaceToDepth. Each has a name
// that says what is special.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');

const count = (dims) => dims.reduce((a, b) => a * b, 1);
const wave = (dims, step) => Array.from({length: count(dims)}, (_, i) => Math.sin(i * step));
const the_end = 2n ** 63n - 1n;

const all = [];
function add(name, opset, build) {
    all.push({name, graph: () => {
        const g = new graph(opset);
        g.floats = (dims, step = 0.9) => g.constant('f32', dims, wave(dims, step));
        g.number = (value, dims = []) => g.constant('f32', dims, Array(count(dims)).fill(value));
        g.list = (...values) => g.constant('s64', [values.length], values);
        g.computed = (dims, open) => g.node('Tanh', [g.input(dims, open)], dims);
        g.op = (op, inputs, dims, attributes, outputs) =>
            g.node(op, inputs, dims ?? g.dims[inputs[0]], attributes, outputs);
        const outputs = build(g);
        for (const [k, i] of g.inputs.entries())
            i.values =
                wave(i.dims, 1.7 + k)
                    .map((v) => (i.dtype === 'bool'  ? v > 0
                                 : i.dtype === 'f32' ? v
                                                     : Math.round(100 * v + (i.dtype === 'u8' ? 128 : 0))));
        return {opset, operators: g.nodes.map((n) => n.op), inputs: g.inputs, outputs, model: g.model(outputs)};
    }});
}

// ---- What does nothing

for (const [op, value] of [['Add', 0], ['Sub', 0], ['Mul', 1], ['Div', 1], ['Add', 1e-20]])
    for (const dims of [[], [1], [1, 1], [1, 1, 1]])
        for (const is_first of [false, true])
            add(`nothing_${op}_${value}_${dims}_${is_first}`, 13, (g) => {
                const x = g.computed([3, 4]), c = g.number(value, dims);
                return [g.op('Exp', [g.op(op, is_first ? [c, x] : [x, c], dims.length > 2 ? [1, 3, 4] : [3, 4])])];
            });
const slices = {
    whole: [[0], [the_end], [1]], steps: [[0], [the_end], [1], [2]], no_axes: [[0, 0], [the_end, the_end]],
    steps_without_axes: [[0, 0], [the_end, the_end], null, [1, 2]], last_axis: [[0], [the_end], [-1]],
    known_end: [[0], [6], [1]], part: [[1], [the_end], [1]],
};
for (const opset of [10, 13])
    for (const [name, [starts, ends, axes, steps]] of Object.entries(slices))
        add(`slice_${name}_${opset}`, opset, (g) => {
            const columns = steps && steps.at(-1) === 2 ? 3 : 6 - Number(starts.at(-1));
            const inputs = [
                g.computed([4, 6]), g.list(...starts), g.list(...ends), axes ? g.list(...axes) : '',
                ...(steps ? [g.list(...steps)] : [])
            ];
            return [g.op('Exp', [g.op('Slice', inputs, [4, columns])])];
        });
for (const opset of [7, 12, 13, 22])
    add(`dropout_${opset}`, opset, (g) => [g.op('Exp', [g.op('Dropout', [g.computed([4, 6])], [4, 6], {}, 2)])]);

// ---- Neighbours that are one

add('quotients_in_a_row', 13, (g) => {
    const ratio = g.op('Div', [g.number(1), g.computed([4, 6])], [4, 6]);
    return [g.op('Mul', [g.op('Mul', [ratio, g.number(1)]), g.floats([6])])];
});
for (const opset of [10, 13])
    for (const low of [null, -1, 0, 0.3])
        add(`relu_clip_${opset}_${low}`, opset, (g) => {
            const x = g.op('Relu', [g.computed([4, 6])]);
            return [opset < 11 ? g.op('Clip', [x], [4, 6], low === null ? {} : {min: {float: low}})
                               : g.op('Clip', [x, low === null ? '' : g.number(low), g.number(0.5)])];
        });
for (const dims of [[5], [1, 5], [4, 1], [4, 5], [1], [1, 1], [1, 4, 5]])
    add(`gemm_sum_${dims}`, 13, (g) => {
        const y = g.op('Gemm', [g.input([4, 6]), g.floats([6, 5])], [4, 5], {alpha: {float: 0.7}});
        return [g.op('Sum', [y, g.computed(dims)], dims.length > 2 ? dims : [4, 5])];
    });
add('gemm_sum_absent_bias', 13,
    (g) => [g.op('Sum', [g.op('Gemm', [g.input([4, 6]), g.floats([6, 5]), ''], [4, 5]), g.input([5])],
                 [4, 5])]);
add('gemm_sum_transposed', 13, (g) => {
    const x = g.op('Transpose', [g.input([6, 4])], [4, 6], {perm: [1, 0]});
    return [g.op('Sum', [g.op('Gemm', [x, g.floats([6, 5])], [4, 5]), g.input([5])], [4, 5])];
});
for (const is_read of [false, true])
    add(`gemm_transposed_bias_${is_read}`, 13, (g) => {
        const bias = g.op('Transpose', [g.input([5, 4])], [4, 5], {perm: [1, 0]});
        return [
            g.op('Gemm', [g.input([4, 6]), g.floats([6, 5]), bias], [4, 5]),
            ...(is_read ? [g.op('Exp', [bias])] : [])
        ];
    });
for (const opset of [10, 13])
    for (const window of ['Conv', 'MaxPool', 'AveragePool'])
        for (const value of [null, 0, -0, 1, ''])
            add(`pad_${opset}_${window}_${value === 0 && 1 / value < 0 ? '-0' : value}`, opset, (g) => {
                const x = g.computed([1, 4, 6, 7]), pads = [0, 0, 1, 1, 0, 0, 1, 2], dims = [1, 4, 8, 10];
                const number = value === null || (opset < 11 && value === '')
                                   ? []
                                   : [value === '' ? '' : g.number(value)];
                const padded = opset < 11 ? g.op('Pad', [x], dims,
                                                 value                  ? {pads, value: {float: value}}
                                                 : Object.is(value, -0) ? {pads, value: {float: -0}}
                                                                        : {pads})
                                          : g.op('Pad', [x, g.list(...pads), ...number], dims);
                return [window === 'Conv' ? g.op('Conv', [padded, g.floats([8, 4, 3, 3])], [1, 8, 6, 8])
                                          : g.op(window, [padded], [1, 4, 6, 8], {kernel_shape: [3, 3]})];
            });

// ---- Equal nodes

const twice = (name, op, first, second, dims, more = () => [], opset = 13) => add(`twice_${name}`, opset, (g) => {
    const x = g.computed([4, 6]), inputs = more(g);
    return [
        g.op('Exp', [g.op(op, [x, ...inputs], dims, first)]),
        g.op('Sigmoid', [g.op(op, [x, ...inputs], dims, second)])
    ];
});
twice('softmax', 'Softmax', {}, {axis: -1});
twice('softmax_11', 'Softmax', {}, {axis: 1}, undefined, undefined, 11);
twice('softmax_other', 'Softmax', {axis: 1}, {axis: -1});
twice('leaky', 'LeakyRelu', {}, {alpha: {float: 0.01}});
twice('hard', 'HardSigmoid', {}, {alpha: {float: 0.2}});
twice('hard_beta', 'HardSigmoid', {}, {beta: {float: 0.5}});
twice('gather', 'Gather', {}, {axis: 0}, [1, 6], (g) => [g.list(1)]);
twice('mean', 'ReduceMean', {axes: [1]}, {axes: [1], keepdims: 1}, [4, 1]);
twice('norm', 'LayerNormalization', {}, {axis: -1}, [4, 6], (g) => [g.floats([6]), g.floats([6])], 17);
twice('gelu', 'Gelu', {}, {approximate: 'none'}, undefined, undefined, 20);
for (const first of [false, true])
    add(`twice_unread_${first}`, 13, (g) => {
        const x = g.input([4, 6]), own = () => g.op('Tanh', [x]);
        if (first) own();
        const y = own();
        if (!first) own();
        return [g.op('Exp', [y])];
    });

// ---- Constants that are computed ahead

function gelu(g, x, root, one) {
    const erf = g.op('Erf', [g.op('Div', [x, root])]),
          y = g.op('Mul', [g.op('Mul', [x, g.op('Add', [erf, one])]), g.number(0.5)]);
    return {erf, y};
}
add('folded_split', 13, (g) => {
    const root = g.op('Split', [g.constant('f32', [2], [Math.SQRT2, 1])], [1], {axis: 0}, 2);
    return [gelu(g, g.input([4, 6]), root, g.more[0]).y];
});
add('folded_split_uneven', 13, (g) => {
    const left = g.op('Split', [g.floats([4, 6]), g.list(1, 5)], [4, 1], {axis: -1}, 2), right = g.more[0];
    g.dims[right] = [4, 5];
    return [g.op('Add', [g.op('Add', [g.input([4, 5]), left]), right])];
});
add('folded_split_in_part', 13, (g) => {
    g.op('Split', [g.floats([4, 6])], [2, 6], {axis: 0}, 2);
    return [g.op('Add', [g.input([2, 6]), g.more[0]])];
});
add('not_folded_own', 13, (g) => [g.op('Add', [g.input([4, 6]), g.op('com.microsoft.Gelu', [g.floats([6])])])]);
add('not_folded_function', 14, (g) => [g.op('Add', [g.input([4, 6]), g.op('HardSwish', [g.floats([4, 6])])])]);
add('measured_alone', 13, (g) => {
    const {erf, y} = gelu(g, g.input([4, 6]), g.number(Math.SQRT2), g.number(1));
    return [g.op('Reshape', [y, g.op('Shape', [g.op('Neg', [erf])], [2])], [4, 6])];
});

for (const op of ['MatMul', 'Gemm', 'Conv', 'ConvTranspose'])
    add(`folded_${op}`, 13, (g) => {
        const [x, w, dims] = {
            MatMul: [[4, 300], [300, 40], [4, 40]], Gemm: [[4, 300], [300, 40], [4, 40]],
            Conv: [[1, 16, 6, 7], [16, 16, 3, 3], [1, 16, 4, 5]],
            ConvTranspose: [[1, 16, 6, 7], [16, 16, 3, 3], [1, 16, 8, 9]]
        }[op];
        return [g.op('Add', [g.input(dims), g.op(op, [g.floats(x), g.floats(w, 0.7)], dims)])];
    });

// ---- Convolutions that are not computed in blocks of channels

for (const op of ['none', 'Add', 'Mul'])
    add(`conv_absent_bias_${op}`, 13, (g) => {
        const y = g.op('Conv', [g.input([1, 16, 6, 7]), g.floats([16, 16, 3, 3], 0.7), ''], [1, 16, 4, 5]);
        return [op === 'none' ? y : g.op(op, [y, g.floats([16, 1, 1])])];
    });
add('conv_replaceable_norm', 13, (g) => {
    const rows = [
        g.floats([8], 0.5), g.floats([8], 0.8), g.floats([8], 1.2),
        g.constant('f32', [8], wave([8], 0.3).map((v) => v + 1.5))
    ];
    g.replaceable = [rows[0]];
    return [g.op(
        'BatchNormalization',
        [g.op('Conv', [g.input([1, 4, 6, 7]), g.floats([8, 4, 3, 3], 0.7)], [1, 8, 4, 5]), ...rows])];
});

// ---- Views and patches

for (const keeping of ['none', 'first', 'second'])
    add(`views_keeping_zeros_${keeping}`, 14, (g) => {
        const flat = g.op('Reshape', [g.computed([4, 6]), g.list(24)], [24], keeping === 'first' ? {allowzero: 1} : {});
        return [g.op('Exp', [g.op('Reshape', [flat, g.list(2, 12)], [2, 12],
                                  keeping === 'second' ? {allowzero: 1} : {})])];
    });
const places = [[0, 0], [0, 1], [1, 0], [1, 1]];
const patches = (name, order, axis, {open = [], end = the_end, also_read = false, step = 2} = {}) =>
    add(`patches_${name}`, 13, (g) => {
        const x = g.computed([1, 3, 8, 6], open);
        const parts = order.map(
            (k) =>
                g.op('Slice', [x, g.list(...places[k]), g.list(end, end), g.list(2, -1), g.list(step, step)],
                     [1, 3, 4, 3]));
        return [
            g.op('Exp', [g.op('Concat', parts, [1, 3 * order.length, 4, 3], {axis})]),
            ...(also_read ? [g.op('Neg', [parts[1]])] : [])
        ];
    });
patches('in_order', [0, 1, 2, 3], 1);
patches('other_order', [0, 2, 1, 3], 1);
patches('reversed', [3, 2, 1, 0], -3);
patches('open', [0, 2, 1, 3], 1, {open: ['n', '', 'h', 'w']});
patches('known_end', [0, 1, 2, 3], 1, {end: 8});
patches('read_elsewhere', [0, 1, 2, 3], 1, {also_read: true});
patches('one_twice', [0, 1, 1, 3], 1);
patches('three', [0, 1, 2], 1);

// ---- Transposes

const transposed = (g, x, perm) => g.op('Transpose', [x], perm.map((d) => g.dims[x][d]), {perm});
for (const [index, dims] of [[0, []], [-1, []], [1, [1]]])
    for (const axis of [0, -2])
        add(`gather_behind_transpose_${index}_${dims}_${axis}`, 17, (g) => {
            const x =
                transposed(g, g.op('Reshape', [g.input([2, 5, 72]), g.list(2, 5, 3, 4, 6)], [2, 5, 3, 4, 6]),
                           [2, 0, 3, 1, 4]);
            const left = g.dims[x].flatMap((n, d) => (d === (axis + 5) % 5 ? dims : [n]));
            const y = g.op('Gather', [x, g.constant('s64', dims, [index])], left, {axis});
            return [transposed(g, y, dims.length ? [0, 1, 2, 4, 3] : [0, 1, 3, 2])];
        });
for (const inner of ['Transpose', 'Tanh', 'MatMul'])
    add(`transposed_by_default_${inner}`, 13, (g) => {
        const x = g.op('Transpose', [transposed(g, g.input([2, 3, 4]), [2, 0, 1])], [3, 2, 4]);
        if (inner === 'Transpose') return [g.op('Exp', [x])];
        if (inner === 'Tanh') return [transposed(g, g.op('Tanh', [x]), [2, 1, 0])];
        return [g.op('MatMul', [g.input([3, 5, 4]), g.op('Transpose', [g.input([2, 4, 3])], [3, 4, 2])], [3, 5, 2])];
    });
add('transposed_between_pairs', 13, (g) => {
    const pair = (x, scale) => {
        const parameters = [g.number(scale), g.constant('s8', [], [3])];
        return g.op('DequantizeLinear', [g.op('QuantizeLinear', [x, ...parameters]), ...parameters], g.dims[x]);
    };
    let x = g.op('Add', [pair(transposed(g, g.input([1, 16, 10]), [0, 2, 1]), 0.02), g.input([1, 10, 16])]);
    for (const scale of [0.03, 0.025, 0.04]) x = pair(x, scale);
    return [transposed(g, x, [0, 2, 1])];
});
for (const op of ['GreaterOrEqual', 'LessOrEqual'])
    add(`transposed_${op}`, 16, (g) => {
        const x = () => transposed(g, g.input([2, 3, 4]), [0, 2, 1]);
        return [g.op('Cast', [transposed(g, g.op(op, [x(), x()]), [0, 2, 1])], [2, 3, 4], {to: 1})];
    });

module.exports = all;
