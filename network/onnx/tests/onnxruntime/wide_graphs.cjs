// Graphs of more patterns than random_graphs.cjs has, which share its parts: convolutions and windows between
// codes, Transposes, attentions, operators that rules drop. Each place where a pattern may be broken is a
// choice among alternatives, the first of which is right. `probe(number)` takes one pattern and, in turn,
// each alternative of each choice; `wide_graph(seed)` throws dice.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');
const {dice, generator, one_opset, count, broadcast} = require('./random_graphs.cjs');

/// Choices in place of dice: the first alternative everywhere, but for the choices in `other`. Numbers are
/// random as before.
class choices extends dice {
    constructor(seed, other = new Map(), rate = 0) {
        super(seed);
        [this.other, this.rate, this.sizes, this.ways] = [other, rate, [], new Set()];
        this.breaks = new dice(seed ^ 0x5bd1e995);
    }
    choose(n) {
        const place = this.sizes.push(n) - 1;
        if (this.rate && n > 1 && this.breaks.uniform() < this.rate) return this.breaks.integer(1, n - 1);
        return Math.min(this.other.get(place) ?? 0, n - 1);
    }
    one(list) {
        const different = list.filter((v, i) => list.findIndex((w) => String(w) === String(v)) === i);
        if (typeof list[0] === 'function') this.ways.add(this.sizes.length);
        return different[this.choose(different.length)];
    }
    chance(p) {
        return (this.choose(2) === 1) !== (p > 0.5);
    }
}

class wide extends generator {
    constructor(seed, d) {
        super(seed);
        if (d) this.d = d;
        this.g = new graph(one_opset(this.d, [17, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21]));
        this.types = this.d.one([['u8'], ['s8'], ['u8', 's8']]);
    }

    // ---- Constants as files write them

    number(value, shapes = [[], [1], [1, 1], [1, 1, 1]]) {
        const is_exponent = value === 2 || value === 3; // of few dimensions, and not computed: Octet has no other
        return this.limit(value, is_exponent ? [[], [1]] : shapes, !is_exponent);
    }
    limit(value, shapes, may_be_input = false) {
        const dims = this.d.one(shapes), c = this.g.constant('f32', dims, [value]);
        const how = this.d.one(['initializer', 'node', 'initializer', 'initializer', 'folded', 'input']);
        if (how === 'node') this.g.constant_nodes.add(c);
        if (how === 'folded') return this.g.node('Neg', [this.g.constant('f32', dims, [-value])], dims);
        if (how !== 'input' || !may_be_input) return c;
        const i = this.g.input(dims);
        this.g.inputs.at(-1).given = [value];
        return i;
    }
    near(value) {
        return this.d.one([
            value, value, value, value, value * (1 + 5e-6), value * (1 - 8e-6), value * (1 + 1.2e-5),
            value * 1.02
        ]);
    }
    detour(t) {
        const ways = [
            () => t, () => t, () => t, () => t, () => t, () => this.same('Identity', t),
            () => this.two('Add', t, this.number(0)), () => this.same('Sub', t, {}, this.number(-0)),
            () => this.two('Mul', t, this.number(1)), () => this.same('Div', t, {}, this.number(1)),
            () => this.same('Dropout', t), () => this.same('Cast', t, {to: 1}),
            () => this.whole(t),
        ];
        return this.d.one(ways.map((_, i) => i).flatMap((i) => (i ? [i] : [0, 0, 0, 0, 0, 0]))) === 0 ? t
            : ways[this.d.one(ways.map((_, i) => i).slice(5))]();
    }
    /// A part that is all, a broadcast to the same size, no padding.
    whole(t) {
        const dims = this.dims(t), rank = dims.length;
        return this.d.one([
            () => this.g.node(
                'Slice', [t, this.integers([0]), this.integers([2n ** 63n - 1n]), this.integers([rank - 1])],
                dims),
            () => this.g.node('Slice', [t, this.integers([0]), this.integers([dims[0]]), this.integers([0])],
                              dims),
            () => this.g.node('Expand', [t, this.integers(dims)], dims),
            () => this.g.node('Expand', [t, this.integers([1])], dims),
            () => this.g.node('Pad', [t, this.integers(Array(2 * rank).fill(0))], dims),
            () => this.g.node('Reshape', [t, this.integers(dims.map((n, i) => (i ? n : 0)))], dims),
            () => this.g.node('Sum', [t], dims),
            () => this.g.node('Concat', [t], dims, {axis: 0}),
        ])();
    }
    row(n, more = []) {
        const dims = this.d.one([[n], [n], [n], [n], [1, n], [1], [], [1, 1, n], ...more]), c = this.normal(dims);
        return this.d.one([
            () => c, () => c, () => c, () => c, () => this.g.input(dims), () => this.same('Tanh', c),
            () => this.same('Tanh', this.g.input(dims)),
        ])();
    }

    // ---- Rules

    noop(x) {
        const op = this.d.one(['Add', 'Sub', 'Mul', 'Div']),
              value = op === 'Add' || op === 'Sub' ? this.d.one([0, -0, 1e-9]) : this.d.one([1, 1 + 1e-6]);
        return this.same('Tanh',
                         this.two(op, this.d.chance(0.7) ? this.same('Abs', x) : x,
                                  this.number(value, [[], [1], [1, 1], [1, 1, 1, 1]]), this.d.chance(0.2)));
    }
    nothing(x) {
        return this.same('Exp', this.whole(this.d.chance(0.7) ? this.same('Tanh', x) : x));
    }
    masked(x) {
        const dims = this.dims(x), g = this.g;
        const is_less = g.node('Less', [x, this.number(0.2, [[]])], dims),
              not = this.leak_bool(g.node('Not', [is_less], dims));
        return g.node('Where',
                      [
                          this.d.chance(0.8) ? not : is_less,
                          this.d.chance(0.6) ? this.like(x) : this.number(0.5, [[], [1]]),
                          this.same('Tanh', x)
                      ],
                      dims);
    }
    leak_bool(t) {
        if (this.d.chance(0.1)) this.outputs.push(this.g.node('Cast', [t], this.dims(t), {to: 1}));
        return t;
    }
    clip(x) {
        const limit = (list) => (this.d.chance(0.8) ? this.limit(this.d.one(list), [[]]) : '');
        const inputs = [x, limit([-1, 0, 0.2, -Infinity]), limit([1, 6, 0])];
        while (inputs[inputs.length - 1] === '') inputs.pop();
        return this.g.node('Clip', inputs, this.dims(x));
    }
    padded(x) {
        const dims = this.dims(x);
        if (dims.length !== 4) return this.same('Abs', x);
        const [n, c, h, w] = dims, pads = this.d.one([
            [0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 1, 2], [0, 1, 0, 0, 0, 0, 0, 0],
            [0, 0, -1, 0, 0, 0, 0, 0]
        ]);
        const y_dims = dims.map((size, i) => size + pads[i] + pads[i + 4]), inputs = [x, this.integers(pads)];
        if (this.d.chance(0.4)) inputs.push(this.limit(this.d.one([0, -0, 1]), [[]]));
        const y = this.leak(this.g.node('Pad', inputs, y_dims, {mode: this.d.one(['constant', 'edge', 'reflect'])}));
        return this.d.one([() => this.convolution(y), () => this.windows(y), () => this.same('Relu', y)])();
    }

    // ---- Images

    windows(x) {
        const dims = this.dims(x), [n, c, h, w] = dims;
        if (dims.length !== 4 || h < 3 || w < 3) return this.same('Abs', x);
        const op = this.d.one(['MaxPool', 'AveragePool', 'GlobalAveragePool']);
        if (op[0] === 'G') return this.g.node(op, [x], [n, c, 1, 1]);
        const k = this.d.one([2, 3, 1]), stride = this.d.one([1, 2]), pad = this.d.one([0, k >> 1]),
              attributes = {kernel_shape: [k, k], strides: [stride, stride], pads: Array(4).fill(pad)};
        if (op[0] === 'A') attributes.count_include_pad = this.d.one([0, 1]);
        return this.g.node(op, [x],
                           [n, c, ...[h, w].map((size) => Math.floor((size + 2 * pad - k) / stride) + 1)],
                           attributes);
    }
    conv_node(x, w, b, o, k, group, op = 'Conv') {
        const [n, , ...image] = this.dims(x), stride = this.d.one([1, 1, 2]),
                    dilation = this.d.one([1, 1, 2]), pad = this.d.one([k >> 1, 0]);
        const each = image.map(() => 1), size = (i) => Math.floor((i + 2 * pad - dilation * (k - 1) - 1) / stride) + 1;
        if (op !== 'Conv' || image.some((i) => size(i) < 1)) {
            const valid = op === 'Conv' ? {auto_pad: 'SAME_UPPER'} : {strides: each.map(() => stride)};
            const y_dims = image.map((i) => (op === 'Conv' ? i : stride * (i - 1) + k));
            return this.g.node(op, b ? [x, w, b] : [x, w], [n, o, ...y_dims], {...valid, group});
        }
        const attributes = {
            pads: [...each, ...each].map(() => pad), strides: each.map(() => stride),
            dilations: each.map(() => dilation), group
        };
        return this.g.node('Conv', b ? [x, w, b] : [x, w], [n, o, ...image.map(size)], attributes);
    }
    convolution(x) {
        const dims = this.dims(x);
        if (dims.length < 3) return this.activation(x);
        const c = dims[1], o = this.d.one([16, 32, 8, 3, c, 48]), k = this.d.one([3, 1, 5]);
        const group = this.d.one([1, c, 2, 4].filter((s) => c % s === 0 && o % s === 0));
        const shape = [o, c / group, ...dims.slice(2).map(() => k)];
        const w = this.d.one([
            () => this.normal(shape, 0.3), () => this.normal(shape, 0.3),
            () => this.same('Tanh', this.g.input(shape))
        ])();
        let y = this.leak(this.conv_node(
            x, w,
            this.d.chance(0.6) ? this.d.one([() => this.normal([o]), () => this.g.input([o])])() : undefined,
            o, k, group));
        for (let i = this.d.one([1, 0, 2, 3]); i > 0; i--) {
            const ones = dims.slice(2).map(() => 1);
            const constant = () => this.normal(this.d.one([
                [o, ...ones], [1, o, ...ones], [], [1], [o], [1, 1, ...ones], [1, ...this.dims(y).slice(1)]
            ].filter((s) => s.length !== 1 || s[0] === 1 || s[0] === this.dims(y).at(-1))));
            y = this.d.one([
                () => this.leak(this.two('Add', y, constant(), this.d.chance(0.2))),
                () => this.leak(this.two('Mul', y, constant(), this.d.chance(0.2))), () => this.batch_norm(y),
                () => this.activation(y), () => this.two('Add', y, this.beside(y), this.d.chance(0.3)),
                () => this.same('Sub', y, {}, constant()), () => this.same('Div', y, {}, constant()),
            ])();
        }
        return this.d.one([
            () => this.same('Relu', y), () => y, () => this.activation(y), () => this.windows(y),
            () => this.convolution(y)
        ])();
    }
    /// Returns a tensor of the same size: an input, another convolution, or a tensor that the network has.
    beside(y) {
        const dims = this.dims(y);
        return this.d.one([
            () => this.g.input(dims),
            () => this.conv_node(this.g.input(dims),
                                 this.normal([dims[1], dims[1], ...dims.slice(2).map(() => 1)], 0.3),
                                 undefined, dims[1], 1, 1),
            () => this.same('Relu', this.g.input(dims)), () => y, () => this.like(y),
        ])();
    }
    deconvolution(x) {
        const dims = this.dims(x), c = dims[1], o = this.d.one([8, 3]), k = this.d.one([3, 1]);
        if (dims.length < 3) return this.activation(x);
        const b = this.d.chance(0.6) ? this.normal([o]) : undefined;
        return this.activation(this.conv_node(x, this.normal([c, o, ...dims.slice(2).map(() => k)], 0.3), b,
                                              o, k, 1, 'ConvTranspose'));
    }

    // ---- What moves elements

    moved(x, perm) {
        return this.g.node('Transpose', [x], perm.map((i) => this.dims(x)[i]), {perm});
    }
    /// Something between two Transposes, which may cancel each other.
    transposed(x) {
        const perm = this.d.shuffled(this.dims(x).length), back = perm.map((_, i) => perm.indexOf(i));
        let y = this.leak(this.moved(x, perm));
        for (let i = this.d.one([1, 0, 2]); i > 0; i--)
            y = this[this.d.one([
                'activation', 'scale', 'add_row', 'reduction', 'residual', 'relu_clip', 'parts', 'softmax'
            ])](y);
        if (this.dims(y).length !== perm.length) return y;
        return this.d.chance(0.7) ? this.moved(this.leak(y), this.d.chance(0.8) ? back : perm) : y;
    }
    softmax(x) {
        return this.same('Softmax', x, {axis: this.d.one([-1, this.dims(x).length - 1, 0])});
    }
    /// Cut in two, and together again.
    parts(x) {
        const dims = this.dims(x), axis = this.d.one([dims.length - 1, 1, 0]), n = dims[axis];
        if (!(n > 1) || axis === 0) return this.same('Abs', x);
        const sizes = [n >> 1, n - (n >> 1)], of = (k) => dims.map((size, i) => (i === axis ? sizes[k] : size));
        const first = this.g.opset >= 13 ? this.g.node('Split', [x, this.integers(sizes)], of(0), {axis}, 2)
                                         : this.g.node('Split', [x], of(0), {axis, split: sizes}, 2);
        const [second] = this.g.more;
        this.g.dims[second] = of(1);
        return this.g.node('Concat', [this.leak(this.d.chance(0.5) ? this.activation(first) : first), second],
                           dims, {axis});
    }
    scores(x) {
        return this.dims(x).length < 2 ? this.same('Abs', x) : super.scores(x);
    }
    matmul_transpose(x) {
        const dims = this.dims(x), rank = dims.length;
        if (rank < 2) return this.same('Abs', x);
        const swapped = dims.map((_, i) => i);
        [swapped[rank - 1], swapped[rank - 2]] = [rank - 2, rank - 1];
        const perm = this.d.one([swapped, swapped, this.d.shuffled(rank)]),
              t = this.leak(this.moved(x, perm)), k = this.dims(t).at(-1);
        const other = this.d.one([
            () => this.normal([k, 5]), () => this.normal([...this.dims(t).slice(0, -2), k, 5]),
            () => this.g.input([...this.dims(t).slice(0, -2), k, 5])
        ])();
        return this.scale(this.g.node('MatMul', [t, other], [...this.dims(t).slice(0, -1), 5]));
    }
    /// As BERT's files have it.
    attention(x) {
        const dims = this.dims(x), width = dims.at(-1), heads = 2, d = this.d;
        if (dims.length !== 3 || width % heads) return this.transposed(x);
        const g = this.g, is_old = g.opset < 13,
              mask = g.input(dims.slice(0, 2), ['batch'], d.one(['f32', 's64', 's32']));
        const unsqueeze = (t, axis, to) => (is_old ? g.node('Unsqueeze', [t], to, {axes: [axis]})
                                                   : g.node('Unsqueeze', [t, this.integers([axis])], to));
        let outer = unsqueeze(unsqueeze(mask, 1, [dims[0], 1, dims[1]]), 2, [dims[0], 1, 1, dims[1]]);
        if (g.inputs.at(-1).dtype !== 'f32' || d.chance(0.7)) outer = this.same('Cast', outer, {to: 1});
        const penalty = this.same('Mul', this.two('Sub', this.number(d.one([1, 2]), [[], [1]]), outer, false),
                                  {}, this.number(d.one([-10000, -9000]), [[], [1]]));
        const norm = d.one([
            () => this.layer_norm(x),
            () => this.same('LayerNormalization', x, {}, this.normal([width]), this.normal([width]))
        ].slice(g.opset < 17 ? 0 : 0))(),
              size = width / heads;
        if (String(this.dims(norm)) !== String(dims)) return norm;
        const bias = () => this.normal(d.one([[width], [1, width]]));
        const project = (from) => this.leak(
            this.two('Add', this.leak(g.node('MatMul', [from, this.normal([width, width], 0.3)], dims), 0.02),
                     bias(), d.chance(0.03)),
            0.02);
        const split = () =>
            this.leak(g.node('Reshape',
                             [
                                 project(norm), this.integers(d.one([
                                     [0, 0, heads, size], [0, -1, heads, size], [0, 0, heads, -1],
                                     [0, 0, -1, size], [-1, dims[1], heads, size], [0, dims[1], heads, size]
                                 ]))
                             ],
                             [dims[0], dims[1], heads, size]),
                      0.02);
        const q = this.moved(split(), [0, 2, 1, 3]), k = d.one([
            () => this.moved(split(), [0, 2, 3, 1]),
            () => this.moved(this.moved(split(), [0, 2, 1, 3]), [0, 1, 3, 2])
        ])(),
              v = this.moved(split(), [0, 2, 1, 3]);
        const scaled = (t) => d.one([
            () => this.same('Div', t, {}, this.number(Math.sqrt(size) * d.one([1, 1.1]), [[], [1]])),
            () => this.two('Mul', t, this.number(1 / Math.sqrt(size)))
        ])();
        const before = d.chance(0.1),
              product = g.node('MatMul', [before ? scaled(q) : q, k], [dims[0], heads, dims[1], dims[1]]);
        const sum = d.chance(0.8)
                        ? this.two('Add', before ? product : scaled(product), penalty, d.chance(0.1))
                        : product;
        const shares = this.leak(this.same('Softmax', sum, {axis: d.one([3, -1])}), 0.03);
        const sums = this.moved(g.node('MatMul', [shares, v], [dims[0], heads, dims[1], size]), [0, 2, 1, 3]);
        const joined = g.node(
            'Reshape',
            [sums, this.integers(d.one([[0, 0, width], [0, 0, -1], [0, -1, width], [-1, dims[1], width]]))],
            dims);
        return this.layer_norm(this.two('Add', project(joined), norm, d.chance(0.1)));
    }

    // ---- Between codes

    parameters(type = this.d.one(this.types)) {
        const zero = this.d.one(type === 'u8' ? [128, 0, 100, 255] : [0, -128, 10, 127]);
        const scale = this.d.one([0.02, 0.05, 0.1]), shape = this.d.one([[], [], [], [], [], [1]]),
              omits = zero === 0 && type === 'u8' && this.d.chance(0.2);
        const inputs =
            () => [this.g.constant('f32', shape, [scale]), this.g.constant(type, shape, [zero])].slice(
                0, omits ? 1 : 2);
        return {type, scale, zero, inputs};
    }
    biased(scale, o) {
        return this.d.one([
            () => this.g.node('DequantizeLinear',
                              [
                                  this.g.constant('s32', [o],
                                                  Array.from({length: o}, () => this.d.integer(-300, 300))),
                                  this.g.constant('f32', [], [scale * this.d.one([1, 1.005, 1.02])])
                              ].concat(this.d.chance(0.3) ? [this.g.constant('s32', [], [0])] : []),
                              [o]),
            () => this.normal([o]), () => undefined, () => this.g.input([o]), () => this.normal([1, o]),
        ])();
    }
    quantized_convolution(x, p) {
        const dims = this.dims(x), c = dims[1];
        if (dims.length < 3) return this.quantized_product(x, p);
        const o = this.d.one([8, 16, 3]), k = this.d.one([3, 1]),
              group = this.d.one([1, 2].filter((s) => c % s === 0 && o % s === 0)),
              op = this.d.one(['Conv', 'ConvTranspose']);
        const shape = [...(op === 'Conv' ? [o, c / group] : [c, o / group]), ...dims.slice(2).map(() => k)];
        const w = this.d.one([
            () => this.weights(shape, -1), () => this.weights(shape, 0), () => this.normal(shape, 0.3),
            () => this.pair(this.g.input(shape), this.parameters('s8')), () => this.weights(shape, 1)
        ])();
        const b = this.biased(p.scale * 0.01, o);
        return this.conv_node(x, w, b && this.dims(b).length === 1 ? b : undefined, o, k, group, op);
    }
    weights(dims, axis) {
        if (this.g.opset < 13) axis = -1;
        const type = this.d.one(['s8', 'u8']), shape = axis < 0 ? this.d.one([[], [1]]) : [dims[axis]];
        const scales = Array.from({length: count(shape)}, () => this.d.one([0.01, 0.02]));
        const zeros = scales.map(() => (type === 'u8' ? 128 : 0)), z = this.d.one([0, 0, 5]);
        return this.g.node('DequantizeLinear',
                           [this.codes(type, dims), this.g.constant('f32', shape, scales)].concat(
                               type === 's8' && this.d.chance(0.15)
                                   ? []
                                   : [this.g.constant(type, shape, zeros.map((v) => v + z))]),
                           dims, axis < 0 ? {} : {axis: this.d.one([axis, axis - dims.length])});
    }
    quantized_gemm(x, p) {
        const dims = this.dims(x), k = dims.at(-1), n = this.d.one([8, 5]), d = this.d;
        if (dims.length !== 2) return this.quantized_product(x, p);
        const transB = d.one([0, 1]), shape = transB ? [n, k] : [k, n], attributes = {transB};
        if (d.chance(0.15)) attributes.alpha = {float: d.one([1, 0.5])};
        if (d.chance(0.15)) attributes.beta = {float: d.one([1, 0.5, 0])};
        const w = d.one([
            () => this.weights(shape, -1), () => this.weights(shape, 1 - transB),
            () => this.weights(shape, transB), () => this.normal(shape, 0.3),
            () => this.pair(this.g.input(shape), this.parameters('s8'))
        ])();
        const b = this.biased(p.scale * 0.01, n);
        return this.g.node('Gemm', b ? [x, w, b] : [x, w], [dims[0], n], attributes);
    }
    quantized_move(x) {
        const dims = this.dims(x), rank = dims.length, g = this.g, last = rank - 1, perm = dims.map((_, i) => last - i);
        const axes = (op, to, list, more = []) =>
            (g.opset >= 13 ? g.node(op, [x, ...more, this.integers(list)], to)
                           : g.node(op, [x], to, {axes: list}));
        return this.d.one([
            () => g.node('Reshape', [x, this.integers([dims[0], -1])], [dims[0], count(dims.slice(1))]),
            () => g.node('Transpose', [x], perm.map((i) => dims[i]), {perm}),
            () => g.node('Flatten', [x], [dims[0], count(dims.slice(1))], {axis: 1}),
            () => g.node('Gather', [x, this.integers([0, 0])], [2, ...dims.slice(1)], {axis: 0}),
            () => g.node('Tile', [x, this.integers([...dims.slice(1).map(() => 1), 2])],
                         [...dims.slice(0, -1), 2 * dims.at(-1)]),
            () => axes('Unsqueeze', [1, ...dims], [0]),
            () => g.node('Slice', [x, this.integers([1]), this.integers([dims[last]]), this.integers([last])],
                         [...dims.slice(0, -1), dims[last] - 1]),
            () => g.node('Expand', [x, this.integers([2, ...dims])], [2, ...dims]),
            () => g.node('Pad',
                         [x, this.integers([...dims.map(() => 0), ...dims.map((_, i) => +(i === last))])],
                         [...dims.slice(0, -1), dims[last] + 1]),
            () => g.node('ReduceMax', [x].concat(g.opset >= 18 ? [this.integers([last])] : []),
                         [...dims.slice(0, -1), 1],
                         g.opset >= 18 ? {keepdims: 1} : {axes: [last], keepdims: 1}),
            () => g.node('ReduceMean', [x].concat(g.opset >= 18 ? [this.integers([last])] : []),
                         [...dims.slice(0, -1), 1],
                         g.opset >= 18 ? {keepdims: 1} : {axes: [last], keepdims: 1}),
            () => (rank === 4 && dims[1] % 4 === 0
                       ? g.node('DepthToSpace', [x], [dims[0], dims[1] / 4, 2 * dims[2], 2 * dims[3]],
                                {blocksize: 2})
                       : this.same('Neg', x)),
            () => (rank === 4 ? g.node('Resize', [x, '', g.constant('f32', [4], [1, 1, 2, 2])],
                                       [dims[0], dims[1], 2 * dims[2], 2 * dims[3]],
                                       {mode: this.d.one(['nearest', 'linear'])})
                              : this.same('Neg', x)),
            () => this.windows(x), () => this.softmax(x),
        ])();
    }
    /// Several operands, which need not be of one type.
    joined(x, p) {
        const dims = this.dims(x), other = () => this.pair(this.g.input(dims), this.d.one([p, this.parameters()]));
        return this.d.one([
            () => this.g.node('Concat', [x, other()], [...dims.slice(0, -1), 2 * dims.at(-1)],
                              {axis: dims.length - 1}),
            () => this.g.node('Concat', [x, other(), this.g.input(dims)],
                              [...dims.slice(0, -1), 3 * dims.at(-1)], {axis: dims.length - 1}),
            () => this.g.node('Where',
                              [
                                  this.g.node('Less', [this.g.input(dims), this.g.constant('f32', [], [0.1])],
                                              dims),
                                  ...this.d.one([
                                      [x, other()], [x, this.number(this.d.one([0.5, 0, -2]), [[], [1]])],
                                      [this.number(0.5, [[]]), x]
                                  ])
                              ],
                              dims),
            () => this.parts(x),
        ])();
    }
    unit(x) {
        if (!this.pairs.has(x)) x = this.pair(x);
        const p = this.pairs.get(x), d = this.d;
        let y = d.one([
            () => this.quantized_convolution(x, p), () => this.quantized_gemm(x, p),
            () => this.quantized_product(x, p), () => this.quantized_binary(x, p),
            () => this.quantized_move(x), () => this.joined(x, p),
            () => this.same(d.one(['Sigmoid', 'LeakyRelu', 'Tanh', 'HardSigmoid', 'Abs']), x),
            () => this.activation(x),
        ])();
        if (d.chance(0.06)) y = this.leak(y, 0.6);
        if (d.chance(0.25))
            y = d.one([
                () => this.same('Relu', y), () => this.clip(y), () => this.relu_clip(y),
                () => this.activation(y), () => this.detour(y)
            ])();
        if (d.chance(0.88))
            y = this.pair(y, d.one([() => p, () => this.parameters(p.type), () => this.parameters()])());
        return d.chance(0.1) ? this.pair(y, d.one([() => p, () => this.parameters()])()) : y;
    }
    units(x) {
        return this.unit(this.unit(x));
    }

    // ---- Graphs

    patterns() {
        return [
            'gelu',          'fast_gelu',  'quick_gelu',       'bias_gelu',   'layer_norm',
            'rms_norm',      'norm',       'skip_norm',        'matmul',      'add_row',
            'gemm',          'scores',     'matmul_transpose', 'scale_chain', 'integer_product',
            'coded_weights', 'coded_gemm', 'activation',       'relu_clip',   'reduction',
            'reciprocal',    'noop',       'nothing',          'masked',      'transposed',
            'parts',         'attention',  'residual'
        ];
    }
    bias_gelu(x) {
        return this[this.d.one(['gelu', 'fast_gelu'])](this.leak(this.two('Add', x, this.row(this.dims(x).at(-1)))));
    }
    scale_chain(x) {
        let y = this.matmul(x);
        for (let i = this.d.one([1, 2, 0]); i > 0; i--) y = this.scale(y);
        return this.d.one([() => y, () => this.gelu(y), () => this.add_row(y)])();
    }
    coded_gemm(x) {
        const dims = this.dims(x), k = dims.at(-1), n = this.d.one([8, 5]), transB = this.d.one([0, 1]);
        if (dims.length !== 2) return this.coded_weights(x);
        const w = this.weights(transB ? [n, k] : [k, n], this.d.one([-1, 1 - transB, transB]));
        const inputs = [x, w].concat(this.d.one([[], [this.normal([n])], [this.normal([1, n])], [this.normal([1])]]));
        return this.activation(this.leak(this.g.node('Gemm', inputs, [dims[0], n], {
            transB, ...(this.d.chance(0.1) ? {alpha: {float: 0.5}} : {}),
            ...(this.d.chance(0.1) ? {beta: {float: 0.5}} : {})
        })));
    }
    inputs(kind) {
        const d = this.d, dims = kind === 'images' ? d.one([
            [1, 16, 5, 6], [2, 16, 5, 6], [1, 3, 7, 7], [1, 4, 6, 5], [1, 32, 4, 4], [1, 8, 9], [2, 8, 6, 6]
        ])
                                                   : d.one([
                                                         [2, 3, 8], [4, 8], [2, 4, 24], [1, 8], [2, 2, 3, 8],
                                                         [8], [1, 1, 16], [1, 5, 32], [16, 7]
                                                     ]);
        this.open = d.one([[], ['batch'], ['batch', 'sequence'], [undefined, 'sequence'], []]);
        if (kind === 'images') this.open = this.open.slice(0, 1);
        this.pool.push(this.g.input(dims, this.open));
    }
    kinds() {
        const floats = this.patterns();
        return {
            floats, images: ['convolution', 'padded', 'deconvolution', 'windows', 'transposed'],
            codes: ['unit', 'units'], images_of_codes: ['unit', 'units'], mixed: ['unit', 'pair', ...floats]
        };
    }
    make_wide() {
        const kinds = this.kinds(), kind = this.d.one(['floats', 'images', 'codes', 'images_of_codes', 'mixed']);
        this.inputs(kind.startsWith('images') ? 'images' : kind);
        for (let i = this.d.integer(1, 4); i > 0; i--) {
            const x = this.d.one(this.pool.slice(-3));
            if (count(this.dims(x)) > 6000) break;
            this.pool.push(this[this.d.one(kinds[kind])](x));
        }
        return this.finish();
    }
    /// One pattern, with something before and behind it.
    make_pattern(kind, pattern) {
        this.inputs(kind.startsWith('images') ? 'images' : kind);
        const x = this.d.one([
            () => this.pool[0], () => this.same('Tanh', this.pool[0]),
            () => this.two('Mul', this.pool[0], this.g.input(this.dims(this.pool[0])))
        ])();
        const y = this[pattern](x);
        this.pool.push(y);
        this.pool.push(this.d.one([() => y, () => this.same('Neg', y), () => this.matmul(y), () => this.add_row(y)])());
        return this.finish();
    }
    finish() {
        const given = new Set(this.g.inputs.map((i) => i.name));
        for (const t of this.pool) if (!this.g.is_read(t)) this.outputs.push(t);
        const outputs = [...new Set(this.outputs)].filter((t) => !given.has(t) && !this.g.constants.has(t));
        if (outputs.length === 0) return null;
        const inputs = this.g.inputs.filter((i) => this.g.is_read(i.name));
        for (const i of inputs)
            i.values =
                i.given ?? Array.from({length: count(i.dims)},
                                      () => (i.dtype === 'f32' ? this.d.normal() : this.d.integer(0, 1)));
        return {
            opset: this.g.opset, operators: this.g.nodes.map((n) => n.op), inputs, outputs,
            model: this.g.model(outputs)
        };
    }
}

/// Every pattern with each of its choices broken alone: [kind, pattern, choice, alternative].
let all;
function probes() {
    if (all) return all;
    all = [];
    for (const [kind, patterns] of Object.entries(new wide(0, new choices(0)).kinds()))
        for (const pattern of patterns) {
            if (kind === 'mixed') continue;
            const visit = (other, ways, breaks) => {
                const d = new choices(all.length, other);
                if (!new wide(0, d).make_pattern(kind, pattern)) return;
                all.push([kind, pattern, other]);
                d.sizes.forEach((n, place) => {
                    const is_way = d.ways.has(place), last = Math.max(-1, ...other.keys());
                    if (place <= last || (is_way ? ways === 0 : breaks === 0)) return;
                    for (let k = 1; k < n; k++) visit(new Map([...other, [place, k]]), ways - is_way, breaks - !is_way);
                });
            };
            visit(new Map(), 1, 1);
        }
    return all;
}
function probe(number) {
    const [kind, pattern, other] = probes()[number];
    return new wide(0, new choices(number, other)).make_pattern(kind, pattern);
}
/// A pattern with some of its choices broken.
function broken(seed) {
    const d = new dice(seed), kinds = Object.entries(new wide(0, new choices(0)).kinds());
    const [kind, patterns] = d.one(kinds);
    return new wide(0, new choices(seed, new Map(), d.one([0.05, 0.1, 0.2]))).make_pattern(kind, d.one(patterns));
}

module.exports = {wide, probes, probe, broken, wide_graph: (seed) => new wide(seed).make_wide()};
