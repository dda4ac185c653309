// Graphs that files of other exporters hold and the random generators do not make: nodes in any order,
// initialisers that a caller may replace, long sums of transposed matrices, modes that operators on codes
// lack. All have ONNX Runtime's bytes in Octet.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');

const count = (dims) => dims.reduce((a, b) => a * b, 1);
const wave = (dims, step) => Array.from({length: count(dims)}, (_, i) => Math.sin(i * step));

function finished(g, ...outputs) {
    for (const [k, i] of g.inputs.entries()) i.values = wave(i.dims, 1.7 + k);
    return {opset: g.opset, operators: g.nodes.map((n) => n.op), inputs: g.inputs, outputs, model: g.model(outputs)};
}
const floats = (g, dims, step = 0.9) => g.constant('f32', dims, wave(dims, step));

/// Two layers with Gelu in parts; `order` of the nodes in the file.
function layers(order) {
    const g = new graph(17), x = g.input([5, 24]), number = (value) => g.constant('f32', [], [value]);
    let t = x;
    for (const step of [0.9, 1.3]) {
        t = g.node('Add', [g.node('MatMul', [t, floats(g, [24, 24], step)], [5, 24]), floats(g, [24])], [5, 24]);
        const erf = g.node('Erf', [g.node('Div', [t, number(Math.SQRT2)], [5, 24])], [5, 24]);
        const half = g.node('Mul', [t, g.node('Add', [erf, number(1)], [5, 24])], [5, 24]);
        t = g.node('Mul', [half, number(0.5)], [5, 24]);
    }
    const sums = g.node('Add', [g.node('Tanh', [t], [5, 24]), g.node('Sigmoid', [x], [5, 24])], [5, 24]);
    g.nodes = order(g.nodes);
    return finished(g, sums, t);
}

/// Products by constants that are equal once one of them is computed.
function computed_constant() {
    const g = new graph(14), x = g.input([2, 3]);
    const given = g.constant('f32', [], [0.2]), computed = g.node('Neg', [g.constant('f32', [], [-0.2])], []);
    return finished(g, ...[given, computed].map((c) => g.node('Tanh', [g.node('Mul', [x, c], [2, 3])], [2, 3])));
}

function flat_leaky_relu() {
    const g = new graph(16), x = g.input([2, 5]);
    return finished(g, g.node('LeakyRelu', [x], [2, 5], {alpha: {float: 0}}));
}

/// Products, a convolution and a norm with initialisers that a caller may replace.
function replaceable() {
    const g = new graph(17), x = g.input([3, 300]), image = g.input([1, 4, 6, 6]);
    const w = floats(g, [300, 20]), row = floats(g, [20]), kernel = floats(g, [8, 4, 3, 3], 0.7),
          factor = floats(g, [8, 1, 1]);
    const root = g.constant('f32', [], [Math.SQRT2]), number = (value) => g.constant('f32', [], [value]);
    g.replaceable = [w, row, kernel, factor, root];
    const sums = g.node('Add', [g.node('MatMul', [x, w], [3, 20]), row], [3, 20]);
    const erf = g.node('Erf', [g.node('Div', [sums, root], [3, 20])], [3, 20]);
    const gelu =
        g.node('Mul', [g.node('Mul', [sums, number(0.5)], [3, 20]), g.node('Add', [erf, number(1)], [3, 20])],
               [3, 20]);
    const windows = g.node('Mul', [g.node('Conv', [image, kernel], [1, 8, 4, 4]), factor], [1, 8, 4, 4]);
    return finished(g, gelu, g.node('Relu', [windows], [1, 8, 4, 4]));
}

/// A bias of a convolution that gets its dimensions from an Unsqueeze, which ONNX Runtime computes before all else.
function unsqueezed_bias(is_replaceable) {
    const g = new graph(11), x = g.input([1, 4, 6, 6]), bias = floats(g, [8]);
    if (is_replaceable) g.replaceable = [bias];
    const image = g.node('Unsqueeze', [bias], [8, 1, 1], {axes: [1, 2]});
    const windows = g.node('Conv', [x, floats(g, [8, 4, 3, 3], 0.7)], [1, 8, 4, 4]);
    return finished(g, g.node('Relu', [g.node('Add', [windows, image], [1, 8, 4, 4])], [1, 8, 4, 4]));
}

/// MatMul, what moves its elements, BatchNormalization: a channel is a column, wherever that has gone.
function moved_normalization(opset, moves) {
    const g = new graph(opset), x = g.input([6, 9]);
    let t = g.node('MatMul', [x, floats(g, [9, 6])], [6, 6]);
    for (const {op, dims, perm} of moves)
        t = op === 'Reshape' ? g.node(op, [t, g.constant('s64', [dims.length], dims)], dims)
                             : g.node(op, [t], dims, {perm});
    const positive = g.constant('f32', [6], wave([6], 0.3).map((v) => v + 1.5));
    return finished(g, g.node('BatchNormalization',
                              [t, floats(g, [6]), floats(g, [6], 1.1), floats(g, [6], 0.6), positive],
                              g.dims[t]));
}

/// A product of computed matrices, `inner` products each, that lie transposed, with a factor.
function transposed_product(inner, columns, transposed, factor) {
    const g = new graph(17), dims = [[7, inner], [inner, columns]];
    const operands = dims.map((d, k) => {
        const x = g.input(transposed[k] ? [2, d[1], d[0]] : [2, ...d]);
        return transposed[k] ? g.node('Transpose', [x], [2, ...d], {perm: [0, 2, 1]}) : x;
    });
    const y = g.node('MatMul', operands, [2, 7, columns]);
    return finished(g, factor === 1 ? y : g.node('Mul', [y, g.constant('f32', [], [factor])], [2, 7, columns]));
}

/// A Resize between pairs of codes, which stays one of numbers if it mixes them.
function resize_between_pairs(mode) {
    const g = new graph(13), x = g.input([1, 3, 5, 4]), scale = g.constant('f32', [], [0.05]),
          zero = g.constant('u8', [], [120]);
    const pair = (t) => g.node(
        'DequantizeLinear', [g.node('QuantizeLinear', [t, scale, zero], g.dims[t]), scale, zero], g.dims[t]);
    const to = [1, 3, 9, 8], sizes = g.constant('s64', [4], to);
    return finished(g, pair(g.node('Resize', [pair(x), '', '', sizes], to, {mode})));
}

/// Nodes that nobody reads are readers all the same: a Gelu in parts and a product with a row stay as they are.
function unread() {
    const g = new graph(17), x = g.input([4, 24]), number = (value) => g.constant('f32', [], [value]);
    const erf = g.node('Erf', [g.node('Div', [x, number(Math.SQRT2)], [4, 24])], [4, 24]);
    const half = g.node('Mul', [x, g.node('Add', [erf, number(1)], [4, 24])], [4, 24]);
    const gelu = g.node('Mul', [half, number(0.5)], [4, 24]);
    const product = g.node('MatMul', [gelu, floats(g, [24, 8])], [4, 8]),
          y = g.node('Add', [product, floats(g, [8])], [4, 8]);
    g.node('Neg', [erf], [4, 24]);
    g.node('Exp', [g.node('Neg', [product], [4, 8])], [4, 8]);
    return finished(g, g.node('Relu', [y], [4, 8]));
}

/// A Shape of an open size reads what is in the middle of a pattern, unless Reshapes of the same tensor alone need it.
function sizes_of(what, is_open) {
    const g = new graph(17), dims = [2, 3, 8], x = g.input(dims, is_open ? ['n', 's'] : []),
          z = g.input(dims, is_open ? ['n', 's'] : []);
    const number = (value) => g.constant('f32', [], [value]), t = {};
    t.sum = g.node('Add', [x, z], dims);
    t.norm = g.node('LayerNormalization', [t.sum, floats(g, [8]), floats(g, [8])], dims, {axis: -1});
    t.erf = g.node('Erf', [g.node('Div', [t.norm, number(Math.SQRT2)], dims)], dims);
    t.half = g.node('Mul', [t.norm, g.node('Add', [t.erf, number(1)], dims)], dims);
    t.gelu = g.node('Mul', [t.half, number(0.5)], dims);
    t.moved = g.node('Transpose', [t.gelu], [2, 8, 3], {perm: [0, 2, 1]});
    t.product = g.node('MatMul', [t.gelu, t.moved], [2, 3, 3]);
    t.scaled = g.node('Mul', [t.product, number(0.3)], [2, 3, 3]);
    const of = t[what] ?? t.scaled;
    const first = g.node('Gather', [g.node('Shape', [of], [3]), g.constant('s64', [1], [0])], [1], {axis: 0});
    const sizes = g.node('Concat', [first, g.constant('s64', [1], [-1])], [2], {axis: 0});
    return finished(g, g.node('Reshape', [t.scaled, sizes], [2, 9]), g.node('Relu', [t.scaled], [2, 3, 3]));
}

/// A vector times a computed matrix, and a row: a product of matrices between two Reshapes.
function vector_by_matrix() {
    const g = new graph(17), x = g.input([40]), b = g.input([40, 24]), row = floats(g, [24]);
    return finished(g, g.node('Add', [g.node('MatMul', [x, b], [24]), row], [24]));
}

/// Rows of whole numbers times a vector, so that no order of the sums counts; what follows has a number for each row.
function rows_by_vector() {
    const g = new graph(17), x = g.input([6]),
          whole = (dims) => g.constant('f32', dims, wave(dims, 0.9).map((v) => Math.round(9 * v)));
    const vector = g.node('Round', [g.node('Mul', [x, g.constant('f32', [], [8])], [6])], [6]);
    const sums = g.node('Add', [g.node('MatMul', [whole([2, 6]), vector], [2]), whole([2])], [2]);
    return finished(g, g.node('Relu', [sums], [2]));
}

/// Slice below operator set 10: of all that there is, which nothing is left of, and of all but the first.
function slice_by_attributes() {
    const g = new graph(9), x = g.input([4, 6]), end = 2n ** 63n - 1n;
    const all = g.node('Slice', [g.node('Tanh', [x], [4, 6])], [4, 6], {starts: [0, 0], ends: [end, end]});
    return finished(g, g.node('Exp', [g.node('Slice', [all], [3, 6], {axes: [0], starts: [1], ends: [end]})], [3, 6]));
}

/// Sums of integers of 32 or 64 bits over some axes.
function integer_sums(type, axes, dims) {
    const g = new graph(17), x = g.input([3, 4, 5]), axis = g.constant('s64', [axes.length], axes);
    const whole = g.node('Cast', [g.node('Mul', [x, g.constant('f32', [], [1000])], [3, 4, 5])], [3, 4, 5], {to: type});
    return finished(g, g.node('Cast', [g.node('ReduceSum', [whole, axis], dims, {keepdims: 0})], dims, {to: 1}));
}

/// Windows that are the whole image, that are longer than vectors take, that are padded; maxima of negative infinities.
function windows(op, opset, dims, kernel_shape, more) {
    const g = new graph(opset), x = g.input(dims),
          {strides = kernel_shape.map(() => 1), pads = kernel_shape.flatMap(() => [0, 0])} = more;
    const y_dims = [
        ...dims.slice(0, 2),
        ...kernel_shape.map(
            (k, i) =>
                Math.floor((dims[i + 2] + pads[i] + pads[i + kernel_shape.length] - k) / strides[i]) + 1)
    ];
    const y = g.node(op, [g.node('Neg', [x], dims)], y_dims, {kernel_shape, strides, pads, ...more});
    const graph_of_windows = finished(g, y);
    if (op === 'MaxPool') g.inputs[0].values = g.inputs[0].values.map((v, i) => (i % 9 < 5 ? Infinity : v));
    return graph_of_windows;
}
const window_cases = ['AveragePool', 'MaxPool'].flatMap(
    (op) => [11, 19].flatMap(
        (opset) => [[[1, 20, 5, 6], [5, 6]],
                    [[1, 20, 5, 6], [3, 3]], [[2, 20, 9, 10], [3, 2], {strides: [2, 2], pads: [1, 0, 1, 1]}],
                    [[1, 20, 9, 10], [3, 3], {strides: [3, 3]}], [[1, 3, 40, 40], [33, 3]],
                    [[1, 16, 9, 9], [9, 9]], [[1, 20, 11], [11]],
                    [[1, 20, 11], [3], {strides: [2], pads: [1, 1]}], [[1, 6, 5, 6, 7], [5, 6, 7]],
                    [[1, 6, 5, 6, 7], [2, 3, 3], {strides: [1, 2, 1], pads: [0, 1, 1, 1, 1, 0]}],
].map(([dims, kernel, more = {}]) => ({
            name: `windows_${op}_${opset}_${dims.join('x')}_${kernel.join('x')}`,
            graph: () => windows(op, opset, dims, kernel, more)
        }))));

/// Averages of nothing but -0.
function averages_of_zeros(opset, dims, kernel, more) {
    const zeros = windows('AveragePool', opset, dims, kernel, more);
    for (const x of zeros.inputs) x.values = x.values.map(() => 0);
    return zeros;
}
const zero_cases = [11, 19].flatMap((opset) => [[[1, 20, 5, 6], [1, 1]],
                                                [[1, 20, 5, 6], [3, 3], {pads: [1, 1, 1, 1]}],
                                                [[1, 20, 5, 6], [5, 6]],
                                                [[1, 20, 9, 10], [3, 3], {strides: [3, 3]}],
                                                [[1, 20, 11], [3]],
                                                [[1, 6, 3, 3, 3], [2, 2, 2]],
].map(([dims, kernel, more = {}]) => ({
          name: `zeros_${opset}_${dims.join('x')}_${kernel.join('x')}`,
          graph: () => averages_of_zeros(opset, dims, kernel, more)
      })));

/// A sum before a LayerNormalization whose bias has one dimension more, or not.
function skipped(bias) {
    const g = new graph(17), dims = [2, 3, 16], x = g.input(dims), z = g.input(dims);
    const row = (shape, step) => g.constant('f32', shape, Array.from({length: 16}, (_, i) => Math.sin(i * step)));
    return finished(
        g, g.node('LayerNormalization', [g.node('Add', [x, z], dims), row([16], 0.7), row(bias, 0.4)], dims));
}

/// Constants in codes, what moves their elements, and a product.
function moved_constants(op, type, has_zero_point = true) {
    const g = new graph(17), x = g.input([3, 6]),
          codes = g.constant(type, [4, 6], wave([4, 6], 0.7).map((v) => Math.round(50 + 40 * v)));
    const zero_point = has_zero_point ? [g.constant(type, [], [50])] : [];
    const w = g.node('DequantizeLinear', [codes, g.constant('f32', [], [0.02]), ...zero_point], [4, 6]);
    const moved = op === 'Reshape' ? g.node(op, [w, g.constant('s64', [2], [6, 4])], [6, 4])
                                   : g.node(op, [w], [6, 4], {perm: [1, 0]});
    return finished(g, g.node('MatMul', [x, moved], [3, 4]));
}

/// Scores divided by the root of a size.
function divided_by_size(is_open) {
    const g = new graph(17), x = g.input([4, 10], is_open ? ['n'] : []), dims = [4, 6];
    const size = g.node('Gather', [g.node('Shape', [x], [2]), g.constant('s64', [], [1])], []);
    const root = g.node('Sqrt', [g.node('Cast', [size], [], {to: 1})], []);
    return finished(g, g.node('Div', [g.node('MatMul', [x, floats(g, [10, 6])], dims), root], dims));
}

/// Averages that count their padding, with a last window that reaches beyond it.
function averages(opset) {
    const g = new graph(opset), x = g.input([1, 3, 8, 7]),
          attributes = {kernel_shape: [3, 3], strides: [2, 2], ceil_mode: 1, count_include_pad: 1};
    return finished(g, g.node('AveragePool', [x], [1, 3, 4, 3], attributes));
}

/// Floats by a matrix in codes, and a row in codes.
function row_in_codes() {
    const g = new graph(17), x = g.input([3, 40]), number = (value) => g.constant('f32', [], [value]);
    const codes = (dims) => g.constant('s8', dims, wave(dims, 0.7).map((v) => Math.round(90 * v)));
    const w = g.node('DequantizeLinear', [codes([40, 6]), number(0.013)], [40, 6]);
    const row = g.node('DequantizeLinear', [codes([6]), number(0.02)], [6]);
    return finished(g, g.node('Add', [g.node('MatMul', [x, w], [3, 6]), row], [3, 6]));
}

/// Instances whose first elements lie at any place in a vector of four.
function instances(size) {
    const g = new graph(17), dims = [2, 5, size], x = g.input(dims);
    return finished(g, g.node('InstanceNormalization', [x, floats(g, [5]), floats(g, [5], 1.1)], dims));
}

/// A convolution's image, enlarged by whole factors: in blocks of channels. What is made of it is so, too.
function enlarged_blocks(opset, mode, place, by_sizes, is_averaged) {
    const g = new graph(opset), channels = is_averaged ? 16 : 20, dims = [2, channels, 12, 15];
    const image = g.node('Conv', [g.input([2, 16, 6, 5]), floats(g, [channels, 16, 1, 1])], [2, channels, 6, 5]);
    const scales = g.constant('f32', [4], [1, 1, 2, 3]),
          sizes = by_sizes ? ['', '', g.constant('s64', [4], dims)] : ['', scales];
    const attributes =
        opset < 11 ? {mode}
                   : {mode, ...(place && {coordinate_transformation_mode: place}), nearest_mode: 'floor'};
    const large = g.node('Resize', [image, ...(opset < 11 ? [scales] : sizes)], dims, attributes);
    return finished(g, is_averaged ? g.node('GlobalAveragePool', [large], [2, channels, 1, 1]) : large);
}

/// A Resize of the dimensions that it names, by factors or to sizes, which may keep the aspect ratio.
function resized_axes({axes, factors, policy, mode, is_blocked, opset = 18}) {
    const g = new graph(opset), dims = is_blocked ? [2, 16, 6, 5] : [1, 3, 6, 5], named = axes ?? [0, 1, 2, 3];
    const x = is_blocked ? g.node('Conv', [g.input(dims), floats(g, [16, 16, 1, 1])], dims) : g.input(dims);
    const sizes = named.map((d, k) => Math.floor(dims[d] * factors[k]));
    let result = dims.map((n, d) => (named.includes(d) ? sizes[named.indexOf(d)] : n));
    if (policy) {
        const ratios = named.map((d, k) => Math.fround(sizes[k] / dims[d])),
              factor = policy === 'not_larger' ? Math.min(...ratios) : Math.max(...ratios);
        result = dims.map((n, d) => (named.includes(d) ? Math.round(Math.fround(factor * n)) : n));
    }
    const given = policy || factors.by_sizes ? ['', '', g.constant('s64', [named.length], sizes)]
                                             : ['', g.constant('f32', [named.length], [...factors])];
    const places = is_blocked && mode === 'nearest'
                       ? {coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor'}
                       : {};
    return finished(
        g, g.node('Resize', [x, ...given], result,
                  {mode, ...places, ...(axes && {axes}), ...(policy && {keep_aspect_ratio_policy: policy})}));
}
const resize_cases =
    [[2, 3], [3, 2], [3], [2]]
        .flatMap(
            (axes) => [1.5, 0.7, 2].flatMap((factor) => ['nearest', 'linear', 'cubic'].flatMap((mode) => {
                const factors = axes.map((d) => (d === 2 ? factor : factor + 0.9)),
                      by_sizes = Object.assign([...factors], {by_sizes: true});
                return [
                    {factors}, {factors: by_sizes}, {factors, policy: 'not_larger'},
                    {factors, policy: 'not_smaller'}
                ].map((how) => ({axes, mode, ...how}));
            })))
        .concat(
            ['nearest', 'linear'].flatMap(
                (mode) => [[[2, 3], [2, 3]], [[3, 2], [2, 3]], [[0, 1, 2, 3], [1, 1, 2, 2]],
                           [undefined, [1, 1, 2, 2]]]
                              .flatMap(
                                  ([axes, factors]) => [18, 19].flatMap(
                                      (opset) =>
                                          [{factors},
                                           {factors: Object.assign([...factors], {by_sizes: true})},
                                           ...(axes?.length === 2 ? ['not_larger', 'not_smaller'].map(
                                                                        (policy) => ({factors, policy}))
                                                                  : [])]
                                              .map((how) =>
                                                       ({axes, mode, is_blocked: true, opset, ...how}))))),
            [
                {axes: [1, 3], factors: [2, 1.6], mode: 'nearest'},
                {factors: [1, 2, 1.5, 1.6], policy: 'not_larger', mode: 'nearest'},
                {factors: [2, 2, 1.5, 1.6], policy: 'not_larger', mode: 'nearest'},
                {factors: [1, 2, 1.5, 1.6], policy: 'not_smaller', mode: 'nearest'}
            ],
            )
        .map((c) => ({
                 name: `resized_axes_${c.axes ?? 'all'}_${c.factors}_${c.factors.by_sizes ?? false}_${
                     c.policy}_${c.mode}_${c.is_blocked ?? false}_${c.opset}`,
                 graph: () => resized_axes(c)
             }));

/// Two images in blocks of channels, each behind a convolution and what `parts` make of it, added up; sizes
/// of the inputs may be open.
function sums_of_blocks(op, parts, open, shares_input) {
    const g = new graph(20), dims = [1, 16, 7, 6];
    const inputs = [0, 1].map((k) => (k && shares_input ? null : g.input([1, 32, 7, 6], open[k])));
    const sides = parts.map((make, k) => {
        const image = g.node('Conv', [inputs[k] ?? inputs[0], floats(g, [16, 32, 3, 3], 0.9 + k)], dims,
                             {pads: [1, 1, 1, 1]});
        return make(g, image, dims);
    });
    const sum = g.node(op, sides, dims);
    return finished(g, g.node('GlobalAveragePool', [g.node('Relu', [sum], dims)], [1, 16, 1, 1]),
                    g.node('MaxPool', [sum], [1, 16, 6, 5], {kernel_shape: [2, 2]}));
}
const of_blocks = {
    alone: (g, t) => t,
    relu: (g, t, dims) => g.node('Relu', [t], dims),
    gelu: (g, t, dims) => g.node('Gelu', [t], dims),
    hard: (g, t, dims) => g.node('HardSigmoid', [t], dims),
    swish: (g, t, dims) => g.node('HardSwish', [t], dims),
    quick: (g, t, dims) => g.node('Mul', [t, g.node('Sigmoid', [t], dims)], dims),
    pool: (g, t, dims) => g.node('MaxPool', [t], dims, {kernel_shape: [3, 3], pads: [1, 1, 1, 1]}),
    scaled: (g, t, dims) => g.node('Mul', [g.node('Relu', [t], dims), floats(g, [16, 1, 1], 1.1)], dims),
    normal: (g, t, dims) =>
        g.node('BatchNormalization',
               [
                   g.node('Relu', [t], dims), floats(g, [16]), floats(g, [16], 1.1), floats(g, [16], 0.6),
                   g.constant('f32', [16], wave([16], 0.3).map((v) => v + 1.5))
               ],
               dims),
    again: (g, t, dims) =>
        g.node('Conv', [t, floats(g, [16, 16, 3, 3], 1.7)], dims, {auto_pad: 'SAME_UPPER'}),
};
const blocks = Object.keys(of_blocks), [closed, rows, all] = [[], ['batch'], ['batch', '', 'height', 'width']];
const sum_cases = [
    ...blocks.flatMap((a) => blocks.map((b) => ['Add', [a, b], [closed, closed], false])),
    ...blocks.flatMap((a) => [[[rows, closed], false], [[all, closed], false], [[all, all], false],
                              [[all], true], [[['', '', '', 'width']], true]]
                                 .map(([open, shares]) => ['Add', [a, 'again'], open, shares])),
    ...blocks.flatMap(
        (a) => ['Sum', 'Mul'].flatMap(
            (op) => [[op, ['alone', a], [rows, closed], false], [op, [a, 'relu'], [closed, closed], false]])),
].map(([op, parts, open, shares]) => ({
          name: `sums_of_blocks_${op}_${parts}_${open.map((o) => o.join('.')).join('_')}_${shares}`,
          graph: () => sums_of_blocks(op, parts.map((p) => of_blocks[p]), open, shares)
      }));

/// Convolutions by computed weights of images that become one pixel, or two.
function whole_rows(groups, channels, outputs, size, pixels) {
    const g = new graph(17), x = g.input([2, groups * channels, size + pixels - 1]),
          weights = g.input([groups * outputs, channels, size]);
    return finished(g, g.node('Conv', [x, weights, g.input([groups * outputs])],
                              [2, groups * outputs, pixels], {group: groups}));
}

/// MobileCLIP's convolution: each channel becomes two, by kernels of 7 x 7 at strides of 2. What is added to
/// it comes first, at edges.
function pairs_of_channels(size, is_constant, is_added) {
    const g = new graph(17), x = g.input([2, 3, size, size + 1]), dims = [6, 1, 7, 7],
          half = (n) => Math.floor((n - 1) / 2) + 1;
    const weights = is_constant ? floats(g, dims) : g.input(dims), result = [2, 6, half(size), half(size + 1)];
    const y = g.node('Conv', [x, weights, floats(g, [6])], result, {group: 3, strides: [2, 2], pads: [3, 3, 3, 3]});
    return finished(g, is_added ? g.node('Add', [y, g.input(result)], result) : y);
}

/// A window that is a whole image of one column.
function whole_column(outputs) {
    const g = new graph(17), x = g.input([2, 3, 9, 1]), weights = g.input([3 * outputs, 1, 9, 1]);
    return finished(g, g.node('Conv', [x, weights], [2, 3 * outputs, 1, 1], {group: 3}));
}

/// A Transpose, a Reshape that splits or joins dimensions, and another Transpose.
function split_behind_transpose(dims, perm, parts, back, is_open) {
    const g = new graph(17), x = g.input(dims, is_open ? ['n'] : []), moved = perm.map((d) => dims[d]);
    const t = g.node('Transpose', [g.node('Tanh', [x], dims)], moved, {perm});
    const y = g.node('Reshape', [t, g.constant('s64', [parts.length], parts)],
                     parts.map((n, d) => (n > 0 ? n : moved[d])));
    return finished(g, g.node('Transpose', [y], back.map((d) => g.dims[y][d]), {perm: back}));
}
const split_cases =
    [
        [[8], [0], [1, 8], [0, 1]], [[8], [0], [2, 4], [1, 0]],
        [[2, 6, 8], [0, 2, 1], [2, 2, 4, 6], [0, 3, 1, 2]],
        [[2, 6, 8], [0, 2, 1], [2, 2, 4, 6], [1, 0, 2, 3]],
        [[1, 4, 5, 24], [0, 3, 1, 2], [1, 3, 8, 4, 5], [0, 3, 4, 1, 2]],
        [[2, 6, 8], [2, 1, 0], [8, 2, 3, 2], [3, 1, 2, 0]], [[2, 6, 8], [0, 2, 1], [2, 4, 12], [0, 1, 2]],
        [[2, 6, 1], [0, 2, 1], [2, 1, 1, 6], [0, 1, 3, 2]],
        [[2, 6, 8], [0, 2, 1], [0, 4, 2, 6], [0, 3, 1, 2]], [[2, 6, 8], [1, 0, 2], [6, 2, 8], [1, 0, 2]],
    ]
        .flatMap(([dims, perm, parts, back]) => [false, true].map(
                     (is_open) => ({
                         name: `split_${dims.join('.')}_${perm}_${parts}_${back}_${is_open}`,
                         graph: () => split_behind_transpose(dims, perm, parts, back, is_open)
                     })));

/// Reductions with each set of axes, of zeros of both signs, infinities and NaN.
function reduction(op, dims, axes) {
    const g = new graph(13), x = g.input(dims), keeps = {keepdims: 1},
          values = [-0, -0, 0, NaN, Infinity, -Infinity, 0.5];
    const result = dims.map((n, d) => (axes.includes(d) ? 1 : n));
    const y = op === 'ReduceSum' ? g.node(op, [x, g.constant('s64', [axes.length], axes)], result, keeps)
                                 : g.node(op, [x], result, {...keeps, axes});
    const all = finished(g, y), is_special = (i) => Math.sin(i * i * 3.7) > 0.75;
    for (const input of all.inputs) // the first half has no numbers but -0
        input.values = input.values.map((v, i) => (i < count(dims) / 2 ? -0
                                                   : is_special(i)     ? values[i % values.length]
                                                                       : v));
    return all;
}
const reductions =
    [
        [7, 1, 4], [4, 1], [1, 9], [9], [2, 6, 3], [3, 4, 1], [2, 1, 5, 1], [3, 2, 4, 5], [1, 17, 16],
        [2, 17, 6], [20, 300], [3, 5]
    ].flatMap((dims) => (Array
                             .from({length: 2 ** dims.length - 1},
                                   (_, mask) => dims.map((_, d) => d).filter((d) => ((mask + 1) >> d) & 1))
                             .flatMap((axes) => ([
                                          'ReduceSum', 'ReduceMean', 'ReduceL2', 'ReduceMax', 'ReduceMin'
                                      ].map((op) => ({op, dims, axes}))))));

/// Images of two convolutions, joined: in blocks of channels, if each has whole ones and the axis is no
/// negative number.
function joined_blocks(channels, axis) {
    const g = new graph(17), x = g.input([1, 16, 6, 5]);
    const images = [0.9, 1.3].map(
        (step) => g.node('Conv', [x, floats(g, [channels, 16, 1, 1], step)], [1, channels, 6, 5]));
    const joined = g.node('Concat', images, [1, 2 * channels, 6, 5], {axis});
    return finished(g, g.node('GlobalAveragePool', [joined], [1, 2 * channels, 1, 1]));
}

const flat = {op: 'Reshape', dims: [6, 1, 1, 6]}, turned = {op: 'Transpose', dims: [6, 6, 1, 1], perm: [0, 3, 1, 2]};

module.exports = [
    ...window_cases,
    ...zero_cases,
    ...[[16], [1, 16]].map((bias) => ({name : `skipped_${bias}`, graph : () => skipped(bias)})),
    {name : 'nodes_reversed', graph : () => layers((nodes) => [...nodes].reverse())},
    {
        name : 'nodes_interleaved',
        graph : () => layers(
                  (nodes) => [...nodes.filter((_, i) => i % 2), ...nodes.filter((_, i) => i % 2 === 0)])
    },
    {name : 'computed_constant', graph : computed_constant},
    {name : 'flat_leaky_relu', graph : flat_leaky_relu}, {name : 'replaceable', graph : replaceable},
    ...[true, false].map(
        (is_replaceable) =>
            ({name : `unsqueezed_${is_replaceable}`, graph : () => unsqueezed_bias(is_replaceable)})),
    {name : 'normalization_behind_moves', graph : () => moved_normalization(13, [flat, turned])},
    {
        name : 'normalization_of_rows',
        graph : () => moved_normalization(13, [{op : 'Transpose', dims : [6, 6], perm : [1, 0]}])
    },
    {name : 'unread', graph : unread},
    ...['Reshape', 'Transpose'].flatMap(
        (op) => ['u8', 's8'].map(
            (type) => ({name : `constants_${op}_${type}`, graph : () => moved_constants(op, type)}))),
    {name : 'constants_without_zero_point', graph : () => moved_constants('Transpose', 'u8', false)},
    ...[true, false].map((is_open) => ({
                             name : `divided_by_size_${is_open ? 'open' : 'fixed'}`,
                             graph : () => divided_by_size(is_open)
                         })),
    {name : 'row_in_codes', graph : row_in_codes},
    ...[11, 17, 19].map((opset) => ({name : `averages_${opset}`, graph : () => averages(opset)})),
    ...['sum', 'norm', 'erf', 'half', 'gelu', 'moved', 'product', 'scaled'].flatMap(
        (what) => [true, false].map((is_open) => ({
                                        name : `sizes_of_${what}_${is_open ? 'open' : 'fixed'}`,
                                        graph : () => sizes_of(what, is_open)
                                    }))),
    {name : 'vector_by_matrix', graph : vector_by_matrix}, {name : 'rows_by_vector', graph : rows_by_vector},
    {name : 'slice_by_attributes', graph : slice_by_attributes},
    ...[6, 7].flatMap(
        (type) => [[[1], [3, 5]], [[0, 2], [4]], [[-1], [3, 4]]].map(
            ([axes, dims]) =>
                ({name : `integer_sums_${type}_${axes}`, graph : () => integer_sums(type, axes, dims)}))),
    ...[[300, 20], [600, 150]].flatMap(
        ([inner, columns]) => [1, 0.37].flatMap(
            (factor) => [[1, 0], [1, 1], [0, 1]].map(
                (transposed) => ({
                    name : `transposed_${inner}_${columns}_${factor}_${transposed}`,
                    graph : () => transposed_product(inner, columns, transposed, factor)
                })))),
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 18, 25, 30, 34, 41, 100, 1003].map(
        (size) => ({name : `instances_${size}`, graph : () => instances(size)})),
    ...[10, 13, 17, 19].flatMap((opset) => ['linear', 'nearest'].flatMap((mode) => [undefined,
                                                                                    'half_pixel',
                                                                                    'asymmetric',
                                                                                    'align_corners',
                                                                                    'pytorch_half_pixel',
].flatMap((place) => [false,
                      true].flatMap((by_sizes) => [false, true].map((is_averaged) => ({
                                                                        name : `enlarged_${opset}_${mode}_${
                                                                                 place}_${by_sizes}_${
                                                                                 is_averaged}`,
                                                                        graph : () => enlarged_blocks(
                                                                                  opset, mode, place,
                                                                                  by_sizes, is_averaged)
                                                                    })))))),
    ...sum_cases,
    ...resize_cases,
    ...split_cases,
    ...reductions.map(
        ({op, dims, axes}) =>
            ({name : `${op}_${dims.join('.')}_${axes}`, graph : () => reduction(op, dims, axes)})),
    ...[14, 15].flatMap(
        (size) => [false, true].flatMap((is_constant) => [false, true].map(
                                            (is_added) => ({
                                                name : `pairs_of_channels_${size}_${is_constant}_${is_added}`,
                                                graph : () => pairs_of_channels(size, is_constant, is_added)
                                            })))),
    ...[1, 2, 5].map((outputs) => ({name : `whole_column_${outputs}`, graph : () => whole_column(outputs)})),
    ...[1, 3].flatMap(
        (groups) => [1, 2].flatMap(
            (channels) => [1, 3].flatMap(
                (outputs) => [3, 5, 9].flatMap(
                    (size) => [1, 2].map((pixels) => ({
                                             name : `whole_rows_${[groups, channels, outputs, size, pixels]}`,
                                             graph : () => whole_rows(groups, channels, outputs, size, pixels)
                                         })))))),
    ...[[16, 1], [16, -3], [24, 1]].map(
        ([channels, axis]) =>
            ({name : `joined_${channels}_${axis}`, graph : () => joined_blocks(channels, axis)})),
    ...['nearest', 'linear', 'cubic'].map(
        (mode) => ({name : `resize_${mode}`, graph : () => resize_between_pairs(mode)})),
];
