// Graphs of attentions: the operators of com.microsoft with each of their inputs, and the parts of GPT-2,
// DistilBERT, BERT and MobileCLIP, as exporters write them, which ONNX Runtime combines; each condition is
// broken in one of them.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');
const {count} = require('./random_graphs.cjs');

const batch = 2, heads = 2, length = 5, width = 16, size = width / heads;

/// Numbers that look random and are the same each time; integers are 0 and 1, each about as often.
const wave = (n, step) => Array.from({length: n}, (_, i) => Math.sin(i * step + step));
const bits = (n, step) => wave(n, step).map((v) => +(v > -0.4));

class attention extends graph {
    constructor(opset, sizes = {}) {
        super(opset);
        Object.assign(this, {length, past: 3, is_open: false, ...sizes});
        this.steps = 0;
    }
    weights(dims, scale = 0.3) {
        return this.constant('f32', dims, wave(count(dims), 1.3 + 0.37 * ++this.steps).map((v) => v * scale));
    }
    number(value, dims = []) {
        return this.constant('f32', dims, [value]);
    }
    integers(values, dims = [values.length]) {
        return this.constant('s64', dims, values);
    }
    given(dims, names = [], dtype = 'f32', values) {
        const t = this.input(dims, this.is_open ? names : [], dtype);
        this.inputs.at(-1).values = values ?? (dtype === 'f32' ? wave : bits)(count(dims), 1.7 + ++this.steps);
        return t;
    }
    hidden(last = width, rows = this.length) {
        return this.given([batch, rows, last], ['batch', 'sequence']);
    }
    axes(op, x, list, dims) {
        return this.opset < 13 ? this.node(op, [x], dims, {axes: list}) : this.node(op, [x, this.integers(list)], dims);
    }
    move(x, perm) {
        return this.node('Transpose', [x], perm.map((i) => this.dims[x][i]), {perm});
    }
    view(x, shape, dims) {
        return this.node('Reshape', [x, typeof shape === 'string' ? shape : this.integers(shape)], dims);
    }
    add_row(x, n) {
        return this.node('Add', [x, this.weights([n])], this.dims[x]);
    }
    finished(...outputs) {
        return {
            opset: this.opset, operators: this.nodes.map((n) => n.op), inputs: this.inputs, outputs,
            model: this.model(outputs)
        };
    }
}

// ---- Operators

const operators = {
    plain: {}, causal: {unidirectional: 1}, scaled: {scale: {float: 0.5}}, mask: {mask: [batch, length]},
    causal_mask: {mask: [batch, length], unidirectional: 1}, mask_of_pairs: {mask: [batch, length, length]},
    causal_mask_of_pairs: {mask: [batch, length, length], unidirectional: 1},
    ends: {mask: [batch], values: [3, 5]}, ends_and_starts: {mask: [2 * batch], values: [3, 5, 1, 2]},
    causal_ends: {mask: [batch], values: [3, 0], unidirectional: 1}, no_mask: {mask: [1, 1]},
    filter: {mask: [batch, length], mask_filter_value: {float: -3}},
    all_masked: {mask: [batch, length], values: Array(batch * length).fill(0)},
    past: {past: 3}, causal_past: {past: 3, unidirectional: 1},
    past_mask: {past: 3, mask: [batch, length + 3], unidirectional: 1},
    past_ends: {past: 3, mask: [batch], values: [7, 4]},
    past_pairs: {past: 3, mask: [batch, length, length + 3], unidirectional: 1}, present: {present: true},
    present_causal: {present: true, unidirectional: 1}, bias: {bias: [batch, heads, length, length]},
    bias_of_all: {bias: [1, 1, length, length], mask: [batch, length]},
    causal_bias: {bias: [1, heads, length, length], unidirectional: 1},
    narrow_values: {v: 12, qkv_hidden_sizes: [width, width, 12]}, wide: {x: 24},
    one_row: {length: 1, past: 3, unidirectional: 1},
};
function operator({x = width, v = width, mask, values, past = 0, present, bias, length: rows = length, ...attributes}) {
    const g = new attention(17, {length: rows}),
          inputs = [g.hidden(x), g.weights([x, 2 * width + v]), g.weights([2 * width + v])];
    inputs.push(mask ? g.given(mask, [], 's32', values) : '', past ? g.given([2, batch, heads, past, size]) : '',
                bias ? g.given(bias) : '');
    while (inputs.at(-1) === '') inputs.pop();
    const y = g.node('com.microsoft.Attention', inputs, [batch, rows, v], {num_heads: heads, ...attributes},
                     past || present ? 2 : 1);
    return g.finished(y, ...g.more);
}

const several = {
    plain: {}, cross: {rows: 7}, scaled: {scale: {float: 0.3}}, biased: {biased: true},
    biased_cross: {biased: true, rows: 7}, causal: {unidirectional: 1}, mask: {mask: [batch, length]},
    ends: {mask: [batch], values: [3, 5]}, mask_of_pairs: {mask: [batch, length, length]},
    filter: {mask: [batch, length], mask_filter_value: {float: -3}},
    bias: {bias: [batch, heads, length, length]}, bias_of_all: {bias: [1, 1, length, length]},
    bias_and_mask: {bias: [1, heads, length, length], mask: [batch, length]}, past: {past: 3},
    causal_past: {past: 3, unidirectional: 1},
    past_mask: {past: 3, mask: [batch, length + 3], unidirectional: 1}, present: {present: true},
    narrow_values: {v: 12}, heads_first: {rows: 7, heads_first: true},
    heads_first_biased: {rows: 7, heads_first: true, biased: true},
    one_row: {length: 1, past: 3, unidirectional: 1}, one_row_of_many: {length: 1, rows: 7},
    long: {length: 40},
};
function operator_of_several({
    length: n = length, rows = n, v = width, mask, values, past = 0, present, bias, biased, heads_first,
    ...attributes
}) {
    const g = new attention(17, {length: n}), inputs = [g.hidden()];
    for (const last of [width, v])
        inputs.push(heads_first ? g.given([batch, heads, rows, last / heads]) : g.hidden(last, rows));
    inputs.push(biased ? g.weights([2 * width + v]) : '', mask ? g.given(mask, [], 's32', values) : '',
                bias ? g.given(bias) : '');
    for (let i = 0; i < 2; i++) inputs.push(past ? g.given([batch, heads, past, size]) : '');
    while (inputs.at(-1) === '') inputs.pop();
    const y = g.node('com.microsoft.MultiHeadAttention', inputs, [batch, n, v],
                     {num_heads: heads, ...attributes}, past || present ? 3 : 1);
    return g.finished(y, ...g.more);
}

// ---- Parts: sizes of tensors are computed, as exporters have it

class parts extends attention {
    constructor(opset, options = {}) {
        super(opset, {is_open: true, ...options});
    }
    /// One number of a shape.
    one_size(x, i) {
        const shape = this.node('Shape', [x], [this.dims[x].length]);
        return this.node('Gather', [shape, this.integers([i], [])], [], {axis: 0});
    }
    list(...sizes) {
        return this.node('Concat',
                         sizes.map((s) => (typeof s === 'number' ? this.integers([s])
                                                                 : this.axes('Unsqueeze', s, [0], [1]))),
                         [sizes.length], {axis: 0});
    }
    /// The last sizes, [from, to) of the shape.
    sliced_size(x, from, to) {
        const shape = this.node('Shape', [x], [this.dims[x].length]);
        return this.axes(
            'Squeeze',
            this.node('Slice', [shape, this.integers([from]), this.integers([to]), this.integers([0])], [1]),
            [0], []);
    }
    norm(x) {
        const g = this, dims = g.dims[x], rows = [...dims.slice(0, -1), 1];
        if (g.opset >= 17) return g.node('LayerNormalization', [x, g.weights([width]), g.weights([width])], dims);
        const mean = (t) => g.node('ReduceMean', [t], rows, {axes: [-1], keepdims: 1});
        const d = g.node('Sub', [x, mean(x)], dims), v = mean(g.node('Pow', [d, g.number(2)], dims));
        const root = g.node('Sqrt', [g.node('Add', [v, g.number(1e-5)], rows)], rows);
        return g.node(
            'Add',
            [g.node('Mul', [g.node('Div', [d, root], dims), g.weights([width])], dims), g.weights([width])],
            dims);
    }
    /// GPT-2's products: of rows, as a Gemm.
    rows_product(x, n) {
        const g = this, [b, s, k] = g.dims[x], last = g.sliced_size(x, -1, 2n ** 63n - 1n);
        const flat = g.view(
            x, g.node('Concat', [g.integers([-1]), g.axes('Unsqueeze', last, [0], [1])], [2], {axis: 0}),
            [b * s, k]);
        const y = g.node('Gemm', [flat, g.weights([k, n]), g.weights([n])], [b * s, n]);
        return g.view(y, g.list(g.one_size(x, 0), g.one_size(x, 1), n), [b, s, n]);
    }
    penalty(mask, one = 1) {
        const g = this, [b, n] = g.dims[mask],
              outer = g.axes('Unsqueeze', g.axes('Unsqueeze', mask, [1], [b, 1, n]), [2], [b, 1, 1, n]);
        const floats = g.node('Cast', [outer], [b, 1, 1, n], {to: 1});
        return g.node('Mul', [g.node('Sub', [g.number(one), floats], [b, 1, 1, n]), g.number(-10000)], [b, 1, 1, n]);
    }
}

const gpt2_cases = {
    plain: {}, mask_of_floats: {mask_type: 'f32'}, masked: {masked: true}, past: {has_past: true},
    past_mask: {has_past: true, masked: true}, all_ones: {value_of: () => 1}, old: {opset: 11},
    filter: {filter: -1e4}, small_filter: {filter: -100}, wrong_root: {root: 3},
    other_mask: {value_of: (i, j) => +(i > j)}, opset13: {opset: 13}, fixed: {is_open: false},
    heads_in_place: {shape_of_heads: [0, 0, heads, size]}, joined_width: {joined: [0, 0, width]},
};
function gpt2({
    opset = 12, masked, has_past, filter = -1e4, root = Math.sqrt(size), value_of = (i, j) => +(i >= j),
    is_open = true, mask_type = 'u8', shape_of_heads = [0, 0, heads, -1], joined = [0, 0, -1]
}) {
    const g = new parts(opset, {is_open}), s = g.length, past = has_past ? g.past : 0, t = s + past;
    const before = g.node('Add', [g.hidden(), g.given([batch, s, width], ['batch', 'sequence'])], [batch, s, width]);
    const cache =
        has_past ? g.given([2, batch, heads, past, size], [undefined, 'batch', undefined, 'past', undefined])
                 : '';
    const mask = masked ? g.given([batch, t], ['batch', 'total'], 'f32', bits(batch * t, 2.1)) : '';
    const qkv = g.rows_product(g.norm(before), 3 * width), dims = [batch, s, width];
    const [q, k, v] = [
        g.node('Split', [qkv], dims, {axis: 2, ...(opset < 13 ? {split: [width, width, width]} : {})}, 3),
        ...g.more
    ];
    const split = (x, perm) => g.move(g.view(x, shape_of_heads, [batch, s, heads, size]), perm);
    let keys = split(k, [0, 2, 3, 1]), values = split(v, [0, 2, 1, 3]), present;
    const queries = split(q, [0, 2, 1, 3]);
    if (has_past) {
        const part = (i) => g.node('Gather', [cache, g.integers([i], [])], [batch, heads, past, size], {axis: 0});
        keys = g.node('Concat', [g.move(part(0), [0, 1, 3, 2]), keys], [batch, heads, size, t], {axis: 3});
        values = g.node('Concat', [part(1), values], [batch, heads, t, size], {axis: 2});
        const one = (x) => g.axes('Unsqueeze', x, [0], [1, batch, heads, t, size]);
        present = g.node('Concat', [one(g.move(keys, [0, 1, 3, 2])), one(values)], [2, batch, heads, t, size],
                         {axis: 0});
    }
    const pairs = [batch, heads, s, t],
          scores = g.node('Div', [g.node('MatMul', [queries, keys], pairs), g.number(root)], pairs);
    const all = 9,
          triangle =
              g.constant(mask_type, [1, 1, all, all],
                         Array.from({length: all * all}, (_, i) => value_of(Math.floor(i / all), i % all)));
    const total = g.sliced_size(scores, -1, 2n ** 63n - 1n), rows = g.sliced_size(scores, -2, -1),
          one = (x) => g.axes('Unsqueeze', x, [0], [1]);
    const first = one(g.node('Sub', [total, rows], []));
    const some = g.node('Slice', [triangle, first, one(total), g.integers([2]), g.integers([1])], [1, 1, s, all]);
    const these = g.node('Slice', [some, g.integers([0]), one(total), g.integers([3]), g.integers([1])], [1, 1, s, t]);
    let masked_scores =
        g.node('Where', [g.node('Cast', [these], [1, 1, s, t], {to: 9}), scores, g.number(filter)], pairs);
    if (masked) masked_scores = g.node('Add', [masked_scores, g.penalty(mask)], pairs);
    const sums = g.node('MatMul', [g.node('Softmax', [masked_scores], pairs, {axis: 3}), values],
                        [batch, heads, s, size]);
    const y = g.rows_product(g.view(g.move(sums, [0, 2, 1, 3]), joined, dims), width);
    const after = g.node('Add', [before, y], dims);
    return g.finished(g.node('Tanh', [after], dims), ...(present ? [present] : []));
}

const distilbert_cases = {
    plain: {}, opset12: {opset: 12}, opset13: {opset: 13}, opset14: {opset: 14}, opset17: {opset: 17},
    finite: {lowest: -1e4}, fixed: {is_open: false}, floats: {dtype: 'f32'}, reads_one: {compared: 1},
    embedded: {embedded: true}, embedded13: {embedded: true, opset: 13}, two: {layers: 2},
    ...Object.fromEntries(Object
                              .entries({
                                  constant: {}, constant13: {opset: 13}, constant14: {opset: 14},
                                  constant_finite: {lowest: -1e4}, constant_two: {layers: 2},
                                  constant_one: {compared: 1}, constant_integers: {dtype: 's64'},
                                  constant_fixed: {is_open: false}, constant_embedded: {embedded: true}
                              })
                              .map(([name, c]) => [name, {dtype: 'f32', view: [0, -1, heads, size], ...c}])),
};
function distilbert({
    opset = 11, lowest = -Infinity, is_open = true, dtype = 's64', compared = 0, embedded, layers = 1, view
}) {
    const g = new parts(opset, {is_open}), dims = [batch, g.length, width], names = ['batch', 'sequence'];
    const start = embedded ? embeddings_of(g, 'distilbert', 'range') : g.hidden();
    const mask = g.given([batch, g.length], names, dtype);
    let y = g.norm(start);
    for (let i = 0; i < layers; i++) {
        const x = y, b = g.one_size(x, 0), n = g.one_size(x, 1), pairs = [batch, heads, g.length, g.length];
        const project = (from) => g.add_row(g.node('MatMul', [from, g.weights([width, width])], dims), width);
        const split = (perm) => g.move(
            g.view(project(x), view ?? g.list(b, -1, heads, size), [batch, g.length, heads, size]), perm);
        const q = g.node('Div', [split([0, 2, 1, 3]), g.number(Math.sqrt(size))], [batch, heads, g.length, size]);
        const scores = g.node('MatMul', [q, split([0, 2, 3, 1])], pairs);
        const zero = g.constant(dtype, [], [compared]);
        const is_masked = g.view(g.node('Equal', [mask, zero], [batch, g.length]), g.list(b, 1, 1, n),
                                 [batch, 1, 1, g.length]);
        const all = g.node('Expand', [is_masked, g.node('Shape', [scores], [4])], pairs);
        const shares = g.node('Softmax', [g.node('Where', [all, g.number(lowest), scores], pairs)], pairs, {axis: 3});
        const sums = g.move(g.node('MatMul', [shares, split([0, 2, 1, 3])], [batch, heads, g.length, size]),
                            [0, 2, 1, 3]);
        const joined = g.view(sums, g.list(b, -1, width), dims);
        y = g.norm(g.node('Add', [project(joined), x], dims));
    }
    return g.finished(y);
}

/// Sums of rows of tables, whose positions a network computes of the length.
function embeddings_of(g, kind, way) {
    const dims = [batch, g.length, width],
          ids = g.given([batch, g.length], ['batch', 'sequence'], 's64',
                        bits(batch * g.length, 1.9).map((v, i) => v + (i % 7)));
    const rows = (n, indices) => g.node('Gather', [g.weights([n, width]), indices], dims, {axis: 0});
    const n = g.one_size(ids, 1), list = [g.length];
    let numbers;
    if (way.startsWith('nonzero')) {
        const ones = g.node('ConstantOfShape', [g.axes('Unsqueeze', n, [0], [1])], list);
        g.nodes.at(-1).attributes = {value: {tensor: ['s64', [1], [1]]}};
        numbers = g.axes('Squeeze', g.move(g.node('NonZero', [ones], [1, g.length]), [1, 0]), [1], list);
    } else numbers = g.node('Range', [g.integers([0], []), n, g.integers([1], [])], list);
    let all = way.endsWith('shape') ? g.node('Shape', [ids], [2]) : g.list(g.one_size(ids, 0), n);
    if (way === 'where') { // sizes that are -1, which none is, would be 1
        const view = g.view(all, [-1], [2]);
        all = g.node('Where', [g.node('Equal', [view, g.integers([-1, -1])], [2]), g.integers([1, 1]), view], [2]);
    }
    const positions = g.node('Expand', [g.axes('Unsqueeze', numbers, [0], [1, g.length]), all], [batch, g.length]);
    const words = rows(9, ids), places = rows(12, positions);
    if (kind === 'distilbert') return g.node('Add', [words, places], dims);
    const segments = g.given([batch, g.length], ['batch', 'sequence'], 's64');
    return g.node('Add', [g.node('Add', [words, places], dims), rows(2, segments)], dims);
}
const bert_cases = Object.fromEntries(['range', 'nonzero', 'shape', 'nonzero_shape', 'where'].flatMap(
    (way) => [['', 12], ['11', 11]].map(([name, opset]) => [`${way}${name}`, {way, opset}])));
function bert({opset, way, is_open = true}) {
    const g = new parts(opset, {is_open}), dims = [batch, g.length, width], x = g.norm(embeddings_of(g, 'bert', way));
    const mask = g.given([batch, g.length], ['batch', 'sequence'], 's64'), pairs = [batch, heads, g.length, g.length];
    const project = (from) => g.add_row(g.node('MatMul', [from, g.weights([width, width])], dims), width);
    const split = (perm) => g.move(g.view(project(x), [0, 0, heads, size], [batch, g.length, heads, size]), perm);
    const scores = g.node(
        'Div',
        [g.node('MatMul', [split([0, 2, 1, 3]), split([0, 2, 3, 1])], pairs), g.number(Math.sqrt(size))],
        pairs);
    const shares = g.node('Softmax', [g.node('Add', [scores, g.penalty(mask)], pairs)], pairs, {axis: 3});
    const sums = g.move(g.node('MatMul', [shares, split([0, 2, 1, 3])], [batch, heads, g.length, size]), [0, 2, 1, 3]);
    return g.finished(g.norm(g.node('Add', [project(g.view(sums, [0, 0, width], dims)), x], dims)));
}

const clip_cases = {
    plain: {}, opset13: {opset: 13}, open: {is_open: true}, scale_first: {swapped: true},
    bias_first: {bias_first: true}, axis: {axis: 3}, other_root: {scale: 0.2}, batch_of_one: {images: 1},
    gemm: {as_gemm: true},
};
function mobileclip({
    opset = 17, is_open = false, swapped, bias_first, axis = -1, scale = 1 / Math.sqrt(size), images = batch,
    as_gemm
}) {
    const g = new parts(opset, {is_open}), s = 9, rows = [images, s, width];
    const x = g.node('Relu', [g.given([images, width, 3, 3], ['batch'])], [images, width, 3, 3]);
    const sequence = g.move(g.view(x, [is_open ? 0 : images, width, 9], [images, width, 9]), [0, 2, 1]);
    const qkv = g.view(g.node('MatMul', [sequence, g.weights([width, 3 * width])], [images, s, 3 * width]),
                       [is_open ? 0 : images, s, 3, heads, size], [images, s, 3, heads, size]);
    const one = [images, s, 1, heads, size],
          [q5, k5, v5] = [g.node('Split', [qkv, g.integers([1, 1, 1])], one, {axis: 2}, 3), ...g.more];
    const squeeze = (t, at, dims) => g.node('Squeeze', [t, g.integers([at])], dims), each = [images, heads, s, size];
    const q = squeeze(g.move(q5, [2, 0, 3, 1, 4]), 0, each), v = squeeze(g.move(v5, [2, 0, 3, 1, 4]), 0, each);
    const k = g.move(squeeze(k5, 2, [images, s, heads, size]), [0, 2, 3, 1]);
    const factor = g.number(scale), scaled = g.node('Mul', swapped ? [factor, q] : [q, factor], each),
          pairs = [images, heads, s, s];
    const shares = g.node('Softmax', [g.node('MatMul', [scaled, k], pairs)], pairs, {axis});
    const joined = g.view(g.move(g.node('MatMul', [shares, v], each), [0, 2, 1, 3]),
                          [is_open ? 0 : images, s, width], rows);
    const product = g.node('MatMul', [joined, g.weights([width, width])], rows), bias = g.weights([width]);
    const y = g.node('Add', bias_first ? [bias, product] : [product, bias], rows);
    return g.finished(g.node('Tanh', [y], rows));
}

const named = (prefix, cases, make) =>
    Object.entries(cases).map(([name, options]) => ({name: `${prefix}.${name}`, graph: () => make(options)}));
module.exports = [
    ...named('attention', operators, operator), ...named('several', several, operator_of_several),
    ...named('gpt2', gpt2_cases, gpt2), ...named('distilbert', distilbert_cases, distilbert),
    ...named('bert', bert_cases, bert), ...named('mobileclip', clip_cases, mobileclip),
];
