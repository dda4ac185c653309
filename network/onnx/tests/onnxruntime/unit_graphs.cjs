// Operators between pairs of QuantizeLinear and DequantizeLinear, on both sides of the conditions under which
// ONNX Runtime computes with codes: types, zero points that are left out, dimensions of scales, weights and
// biases of all kinds, who else reads what.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');

const count = (dims) => dims.reduce((a, b) => a * b, 1);
const wave = (dims, step) => Array.from({length: count(dims)}, (_, i) => Math.sin(i * step));
const zero_of = (type) => (type === 'u8' ? 128 : 0);
const both = ['u8', 's8'];

/// A graph with words for codes. `dims` of a scale and of its zero point may be told apart.
class coded_graph extends graph {
    floats(dims, step = 0.9) {
        return this.constant('f32', dims, wave(dims, step));
    }
    number(value, dims = []) {
        return this.constant('f32', dims, Array(count(dims)).fill(value));
    }
    list(...values) {
        return this.constant('s64', [values.length], values);
    }
    op(op, inputs, dims, attributes = {}, outputs = 1) {
        return this.node(op, inputs, dims ?? this.dims[inputs[0]], attributes, outputs);
    }
    parameters(scale, zero, type, dims = [], zero_dims = dims) {
        return [this.number(scale, dims), ...(zero === null ? [] : [this.constant(type, zero_dims, [zero])])];
    }
    quantize(x, scale, zero, type = 'u8', ...dims) {
        return this.op('QuantizeLinear', [x, ...this.parameters(scale, zero, type, ...dims)]);
    }
    dequantize(x, scale, zero, type = 'u8', ...dims) {
        return this.op('DequantizeLinear', [x, ...this.parameters(scale, zero, type, ...dims)]);
    }
    pair(x, type = 'u8', scale = 0.02, zero = zero_of(type), ...dims) {
        return this.dequantize(this.quantize(x, scale, zero, type, ...dims), scale, zero, type, ...dims);
    }
    codes(type, dims) {
        return this.constant(type, dims, wave(dims, 0.7).map((v) => Math.round(100 * v + (type === 'u8' ? 120 : 0))));
    }
    coded_input(type, dims) {
        return this.input(dims, [], type);
    }
}

const all = [];
function add(name, opset, build) {
    all.push({name, graph: () => {
        const g = new coded_graph(opset), outputs = build(g);
        for (const [k, i] of g.inputs.entries())
            i.values = wave(i.dims, 1.7 + k)
                           .map((v) => (i.dtype === 'bool'  ? v > 0
                                        : i.dtype === 'f32' ? v
                                                            : Math.round(100 * v + zero_of(i.dtype))));
        return {opset, operators: g.nodes.map((n) => n.op), inputs: g.inputs, outputs, model: g.model(outputs)};
    }});
}

// ---- Operators of one input

const unary = {
    MaxPool: [[1, 3, 6, 8], [1, 3, 4, 6], {kernel_shape: [3, 3]}],
    AveragePool: [[1, 3, 6, 8], [1, 3, 4, 6], {kernel_shape: [3, 3]}],
    GlobalAveragePool: [[1, 3, 6, 8], [1, 3, 1, 1]], Transpose: [[4, 6], [6, 4], {perm: [1, 0]}],
    Flatten: [[2, 3, 4], [2, 12]], Gather: [[4, 6], [2, 6], {}, (g) => [g.list(1, 3)]],
    Reshape: [[4, 6], [6, 4], {}, (g) => [g.list(6, 4)]],
    Squeeze: [[1, 4, 6], [4, 6], {}, (g) => [g.list(0)]],
    Slice: [[4, 6], [4, 3], {}, (g) => [g.list(1), g.list(4), g.list(1)]],
    Expand: [[1, 6], [4, 6], {}, (g) => [g.list(4, 6)]], Tile: [[4, 6], [8, 6], {}, (g) => [g.list(2, 1)]],
    ReduceMax: [[4, 6], [4, 1], {axes: [1]}], ReduceMean: [[4, 6], [4, 1], {axes: [1]}],
    DepthToSpace: [[1, 8, 3, 2], [1, 2, 6, 4], {blocksize: 2}],
    SpaceToDepth: [[1, 2, 6, 4], [1, 8, 3, 2], {blocksize: 2}],
    LeakyRelu: [[4, 6], [4, 6], {alpha: {float: 0.2}}], Sigmoid: [[4, 6], [4, 6]],
    Softmax: [[4, 6], [4, 6], {axis: 1}], Tanh: [[4, 6], [4, 6]],
};
for (const [op, [dims, to, attributes, more = () => []]] of Object.entries(unary)) {
    const apply = (g, x) => g.op(op, [x, ...more(g)], to, attributes);
    for (const type of both) {
        add(`${op}_${type}`, 13, (g) => [g.pair(apply(g, g.pair(g.input(dims), type)), type)]);
        add(`${op}_${type}_other_scale`, 13, (g) => [g.pair(apply(g, g.pair(g.input(dims), type)), type, 0.025)]);
        add(`${op}_${type}_codes`, 13,
            (g) => [g.quantize(apply(g, g.dequantize(g.coded_input(type, dims), 0.02, 3, type)), 0.02, 3,
                               type)]);
        add(`${op}_${type}_behind`, 13, (g) => [g.op('Exp', [apply(g, g.pair(g.input(dims), type))])]);
        add(`${op}_${type}_before`, 13,
            (g) => [g.quantize(apply(g, g.op('Tanh', [g.input(dims)])), 0.02, zero_of(type), type)]);
        if (!attributes?.axes)
            add(`${op}_${type}_21`, 21,
                (g) => [g.op('Exp', [apply(g, g.dequantize(g.coded_input(type, dims), 0.02, null, type))])]);
    }
    add(`${op}_both_types`, 13, (g) => [g.pair(apply(g, g.pair(g.input(dims), 's8')))]);
    add(`${op}_without_zero`, 13,
        (g) => [g.pair(apply(g, g.pair(g.op('Exp', [g.input(dims)]), 'u8', 0.02, null)), 'u8', 0.02, null)]);
    add(`${op}_two_readers`, 13, (g) => {
        const y = apply(g, g.pair(g.input(dims)));
        return [g.pair(y), g.op('Exp', [y])];
    });
}
for (const type of both)
    for (const zero of [null, zero_of(type)])
        add(`ArgMax_${type}_${zero}`, 13,
            (g) => [g.op('ArgMax', [g.dequantize(g.coded_input(type, [4, 6]), 0.02, zero, type)], [4, 1],
                         {axis: 1})]);

// ---- Operators of several inputs

for (const a of both)
    for (const b of both)
        for (const y of both) {
            const operands = (g) => [g.pair(g.input([4, 6]), a), g.pair(g.input([4, 6]), b, 0.03)];
            for (const op of ['Add', 'Mul', 'Sub'])
                add(`${op}_${a}_${b}_${y}`, 13, (g) => [g.pair(g.op(op, operands(g)), y, 0.05)]);
            add(`Concat_${a}_${b}_${y}`, 13, (g) => [g.pair(g.op('Concat', operands(g), [8, 6], {axis: 0}), y, 0.05)]);
            add(`Where_${a}_${b}_${y}`, 13,
                (g) => [g.pair(g.op('Where', [g.input([4, 6], [], 'bool'), ...operands(g)], [4, 6]), y,
                               0.05)]);
        }
for (const type of both)
    for (const value of [0, 1.5, -2.5])
        for (const dims of [[], [1]])
            add(`Where_${type}_or_${value}_${dims}`, 13, (g) => {
                const x = g.pair(g.input([4, 6]), type);
                return [g.pair(g.op('Where', [g.input([4, 6], [], 'bool'), x, g.number(value, dims)], [4, 6]),
                               type, 0.05)];
            });

for (const type of both)
    for (const perm of [undefined, [1, 0]])
        add(`constants_transposed_${type}_${perm}`, 13, (g) => {
            const w = g.dequantize(g.codes(type, [4, 6]), 0.02, zero_of(type), type);
            return [g.op('Add', [g.input([6, 4]), g.op('Transpose', [w], [6, 4], perm ? {perm} : {})])];
        });

// ---- Limits before codes

for (const [zero, low, high] of [[0, 0, 6], [0, 0, 5.09], [10, -0.2, 4.9], [10, -0.19, 5], [10, -1, 9], [255, -9, 9]])
    add(`Clip_${zero}_${low}_${high}`, 13, (g) => {
        const x = g.op('Exp', [g.pair(g.input([4, 6]))]);
        return [g.pair(g.op('Clip', [x, g.number(low), g.number(high)]), 'u8', 0.02, zero)];
    });
for (const [type, zero, dims] of [['u8', 0, []], ['u8', 10, []], ['s8', -128, []], ['s8', 0, []], ['u8', 0, [1]]])
    add(`Relu_${type}_${zero}_${dims}`, 13,
        (g) => [g.pair(g.op('Relu', [g.op('Exp', [g.pair(g.input([4, 6]), type)])]), type, 0.02, zero,
                       dims)]);

// ---- Products

/// Weights of every kind; `channel` is the axis of the output channels.
const weights = {
    one_scale: (g, dims, type) => g.dequantize(g.codes(type, dims), 0.01, type === 'u8' ? 120 : 0, type),
    list_of_one: (g, dims, type) => g.dequantize(g.codes(type, dims), 0.01, type === 'u8' ? 120 : 0, type, [1]),
    list_and_zero: (g, dims, type) => g.dequantize(g.codes(type, dims), 0.01, type === 'u8' ? 120 : 0, type, [1], []),
    scale_and_list: (g, dims, type) => g.dequantize(g.codes(type, dims), 0.01, type === 'u8' ? 120 : 0, type, [], [1]),
    without_zero: (g, dims, type) => g.dequantize(g.codes(type, dims), 0.01, null, type),
    computed: (g, dims, type) => g.pair(g.input(dims), type),
    floats: (g, dims) => g.floats(dims, 0.7),
    by_channel: (g, dims, type, channel) => {
        const n = dims[channel], scales = g.constant('f32', [n], wave([n], 0.4).map((v) => 0.01 + 0.004 * v));
        return g.op(
            'DequantizeLinear',
            [g.codes(type, dims), scales, g.constant(type, [n], Array(n).fill(type === 'u8' ? 120 : 0))],
            dims, {axis: channel});
    },
};
const biases = {
    none: () => [],
    floats: (g, n) => [g.floats([n], 0.5)],
    codes: (g, n) => [g.op('DequantizeLinear',
                           [
                               g.constant('s32', [n], wave([n], 0.5).map((v) => Math.round(3000 * v))),
                               g.number(Math.fround(0.02) * Math.fround(0.01))
                           ],
                           [n])],
};
const ends = {
    pair: (g, y, type) => [g.pair(y, type, 0.05)],
    floats: (g, y) => [g.op('Tanh', [y])],
    relu: (g, y, type) => [g.pair(g.op('Relu', [y]), type, 0.05, type === 'u8' ? 0 : -128)],
};
for (const [kind, weights_of] of Object.entries(weights))
    for (const [bias, bias_of] of Object.entries(biases))
        for (const [end, finish] of Object.entries(ends))
            for (const [x, w] of kind === 'floats' ? [['u8', 's8']] : [['u8', 'u8'], ['u8', 's8'], ['s8', 's8']]) {
                const name = `${x}_${w}_${kind}_${bias}_${end}`;
                add(`Conv_${name}`, 13,
                    (g) => finish(g,
                                  g.op('Conv',
                                       [
                                           g.pair(g.input([1, 4, 6, 6]), x),
                                           weights_of(g, [8, 4, 3, 3], w, 0), ...bias_of(g, 8)
                                       ],
                                       [1, 8, 4, 4]),
                                  x));
                add(`Gemm_${name}`, 13,
                    (g) => finish(
                        g,
                        g.op('Gemm',
                             [g.pair(g.input([4, 6]), x), weights_of(g, [5, 6], w, 0), ...bias_of(g, 5)],
                             [4, 5], {transB: 1}),
                        x));
                if (bias !== 'none') continue;
                add(`MatMul_${name}`, 13,
                    (g) => finish(
                        g, g.op('MatMul', [g.pair(g.input([4, 6]), x), weights_of(g, [6, 5], w, 1)], [4, 5]),
                        x));
                add(`blocks_${name}`, 13,
                    (g) =>
                        finish(g,
                               g.op('MatMul',
                                    [g.op('Tanh', [g.input([4, 40])]), weights_of(g, [40, 5], w, 1)], [4, 5]),
                               x));
            }
for (const [name, attributes] of [['alpha', {alpha: {float: 1.0000005}}],
                                  ['other_alpha', {alpha: {float: 1.00001}}],
                                  ['beta', {beta: {float: 0.9999995}}], ['transposed', {transB: 1}]])
    add(`blocks_of_gemm_${name}`, 13, (g) => {
        const w = weights.one_scale(g, attributes.transB ? [5, 40] : [40, 5], 's8');
        return [g.op('Gemm', [g.input([4, 40]), w, g.floats([5])], [4, 5], attributes)];
    });
add('blocks_of_size_none', 21, (g) => {
    const codes = g.codes('s8', [40, 5]);
    return [g.op(
        'MatMul',
        [g.input([4, 40]), g.op('DequantizeLinear', [codes, g.number(0.01)], [40, 5], {block_size: 0})],
        [4, 5])];
});
for (const what of ['weights', 'bias'])
    add(`Conv_replaceable_${what}`, 13, (g) => {
        const own = g.floats(what === 'weights' ? [8, 4, 3, 3] : [8], 0.7);
        g.replaceable = [own];
        const x = g.pair(g.input([1, 4, 6, 6]));
        return [g.pair(
            g.op('Conv', what === 'weights' ? [x, own] : [x, weights.one_scale(g, [8, 4, 3, 3], 's8'), own],
                 [1, 8, 4, 4]))];
    });

// ---- Pairs in a row, and pairs whose result only sizes are taken of

const rows = {
    narrow: [[0.02, 100], [0.01, 100]], wide: [[0.01, 100], [0.02, 100]], equal: [[0.02, 100], [0.02, 100]],
    three: [[0.02, 100], [0.015, 120], [0.03, 90]]
};
for (const [name, row] of Object.entries(rows))
    for (const is_output of [false, true])
        add(`pairs_${name}_${is_output}`, 13, (g) => {
            const x = row.reduce((t, [scale, zero]) => g.pair(t, 'u8', scale, zero), g.input([4, 6]));
            return [is_output ? x : g.op('Exp', [x])];
        });
add('sum_read_by_shapes', 13, (g) => {
    const sum = g.op('Add', [g.pair(g.input([2, 3, 8], ['n', 's'])), g.pair(g.input([2, 3, 8], ['n', 's']))]);
    const size = (d) => g.op(
        'Unsqueeze',
        [g.op('Gather', [g.op('Shape', [sum], [3]), g.constant('s64', [], [d])], [], {axis: 0}), g.list(0)],
        [1]);
    const sizes = g.op('Concat', [size(0), size(1), g.list(2), g.list(4)], [4], {axis: 0});
    return [g.pair(g.op('Reshape', [g.pair(sum, 'u8', 0.03), sizes], [2, 3, 2, 4]), 'u8', 0.03)];
});
for (const reader of ['Slice', 'Gather'])
    add(`floats_read_by_shape_and_${reader}`, 13, (g) => {
        const image = g.op('Sigmoid', [g.pair(g.input([2, 3, 4, 4], ['n']))]), shape = g.op('Shape', [image], [4]);
        const sizes = reader === 'Slice' ? g.op('Slice', [shape, g.list(0), g.list(2), g.list(0)], [2])
                                         : g.op('Gather', [shape, g.list(0, 1)], [2], {axis: 0});
        return [g.op('Reshape',
                     [g.pair(image, 'u8', 0.03), g.op('Concat', [sizes, g.list(-1)], [3], {axis: 0})],
                     [2, 3, 16])];
    });
for (const type of both)
    add(`pair_read_by_shapes_${type}`, 13, (g) => {
        const x = g.pair(g.input([2, 3, 8], ['n', 's']), type);
        const size = (d) => g.op(
            'Unsqueeze',
            [g.op('Gather', [g.op('Shape', [x], [3]), g.constant('s64', [], [d])], [], {axis: 0}), g.list(0)],
            [1]);
        return [g.op('Reshape', [x, g.op('Concat', [size(0), size(1), g.list(2), g.list(4)], [4], {axis: 0})],
                     [2, 3, 2, 4])];
    });

module.exports = all;
