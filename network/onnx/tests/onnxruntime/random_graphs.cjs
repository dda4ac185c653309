// Random graphs in ONNX Runtime's vocabulary: the parts that its transformers recognize, with conditions
// broken at random, in chains, branches and with tensors that several nodes read. `random_graph(seed)` is a
// function of the seed.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');

/// Numbers and choices of one graph.
class dice {
    constructor(seed) {
        this.state = seed >>> 0;
    }
    uniform() {
        this.state = (this.state + 0x6d2b79f5) >>> 0;
        let t = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    }
    normal() {
        return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
    }
    integer(low, high) {
        return low + Math.floor(this.uniform() * (high - low + 1));
    }
    chance(p) {
        return this.uniform() < p;
    }
    one(list) {
        return list[this.integer(0, list.length - 1)];
    }
    shuffled(n) {
        const order = Array.from({length: n}, (_, i) => i);
        for (let i = n - 1; i > 0; i--) {
            const j = this.integer(0, i);
            [order[i], order[j]] = [order[j], order[i]];
        }
        return order;
    }
}

const count = (dims) => dims.reduce((a, b) => a * b, 1);
const broadcast = (a, b) => {
    const rank = Math.max(a.length, b.length), at = (d, i) => d[d.length - rank + i] ?? 1;
    return Array.from({length: rank}, (_, i) => Math.max(at(a, i), at(b, i)));
};
const code_range = {u8: [0, 255], s8: [-128, 127]};

/// The operator set of all graphs that are made now, if it is given.
let given_opset;
function at_opset(opset, make) {
    given_opset = opset;
    try {
        return make();
    } finally {
        given_opset = undefined;
    }
}
const one_opset = (d, list) => given_opset ?? d.one(list);

class generator {
    constructor(seed) {
        this.d = new dice(seed);
        this.g = new graph(one_opset(this.d, [11, 12, 13, 14, 15, 16, 17, 17, 17, 18, 20]));
        this.outputs = [];
        this.pool = []; ///< tensors that may be read again
        this.pairs = new Map(); ///< what DequantizeLinear writes: its parameters
        this.types = this.d.one([['u8'], ['s8'], ['u8', 's8']]);
    }
    dims(t) {
        return this.g.dims[t];
    }

    // ---- Constants and single nodes

    normal(dims, deviation = 1) {
        return this.g.constant('f32', dims, Array.from({length: count(dims)}, () => this.d.normal() * deviation));
    }
    integers(values) {
        return this.g.constant('s64', [values.length], values);
    }
    number(value, shapes = [[], [], [], [], [1], [1, 1]]) {
        return this.g.constant('f32', this.d.one(shapes), [value]);
    }
    /// Within the tolerance of constants, or not.
    near(value) {
        return this.d.one([value, value, value, value, value, value * (1 + 5e-6), value * (1 - 8e-6), value * 1.02]);
    }
    codes(type, dims) {
        const [low, high] = code_range[type];
        return this.g.constant(type, dims, Array.from({length: count(dims)}, () => this.d.integer(low, high)));
    }
    same(op, x, attributes = {}, ...others) {
        return this.g.node(op, [x, ...others], this.dims(x), attributes);
    }
    /// Two operands in either order.
    two(op, a, b, swapped = this.d.chance(0.5)) {
        return this.g.node(op, swapped ? [b, a] : [a, b], broadcast(this.dims(a), this.dims(b)));
    }
    axes(op, x, axes) {
        const dims = this.dims(x).map((n, i, all) => (axes.some((a) => (a + all.length) % all.length === i) ? 1 : n));
        const given = (op === 'ReduceSum' && this.g.opset >= 13) || this.g.opset >= 18;
        return given ? this.g.node(op, [x, this.integers(axes)], dims, {keepdims: 1})
                     : this.g.node(op, [x], dims, {axes, keepdims: 1});
    }

    // ---- What breaks a pattern

    /// A second reader of an inner tensor, or an output of the network.
    leak(t, p = 0.07) {
        if (this.d.chance(p)) this.outputs.push(this.d.chance(0.6) ? t : this.same(this.d.one(['Neg', 'Abs']), t));
        return t;
    }
    /// Something that the rules drop.
    detour(t) {
        const r = this.d.uniform();
        if (r < 0.03) return this.same('Identity', t);
        if (r < 0.05) return this.two('Add', t, this.number(0));
        if (r < 0.07) return this.two('Mul', t, this.number(1));
        if (r < 0.08) return this.same('Dropout', t);
        return r < 0.09 ? this.same('Cast', t, {to: 1}) : t;
    }
    inner(t) {
        return this.leak(this.detour(t));
    }
    like(x) {
        const alike = this.pool.filter((t) => String(this.dims(t)) === String(this.dims(x)));
        return alike.length ? this.d.one(alike) : x;
    }

    // ---- Activations

    gelu(x) {
        const q = this.d.chance(0.1) ? this.two('Mul', x, this.number(this.near(Math.SQRT1_2)))
                                     : this.same('Div', x, {}, this.number(this.near(Math.SQRT2)));
        const s = this.inner(this.two('Add', this.inner(this.same('Erf', this.inner(q))), this.number(this.near(1))));
        if (this.d.chance(0.5)) return this.two('Mul', this.inner(this.two('Mul', x, this.number(this.near(0.5)))), s);
        return this.two('Mul', this.inner(this.two('Mul', x, s)), this.number(this.near(0.5)));
    }
    fast_gelu(x) {
        const c = () => this.number(this.near(0.044715)), r = () => this.number(this.near(0.79788458));
        const part = (t) => (this.d.chance(0.3) ? this.inner(t) : t);
        const u = this.d.chance(0.5)
            ? this.two('Mul',
                       part(this.two('Add', part(this.two('Mul', part(this.two('Mul', x, c())), x)), this.number(1))),
                       part(this.two('Mul', x, r())))
            : this.two('Mul',
                       part(this.two('Add', x, part(this.two('Mul', part(this.same('Pow', x, {}, this.number(
                           this.d.one([3, 3, 3, 2])))), c())))),
                       r());
        const sum = part(this.two('Add', part(this.same('Tanh', part(u))), this.number(this.near(1))));
        return this.two('Mul', sum, part(this.two('Mul', x, this.number(this.near(0.5)))));
    }
    quick_gelu(x) {
        const scaled = this.d.chance(0.6)
                           ? this.leak(this.two('Mul', x, this.number(this.d.one([1.702, 1, 2, -0.5]))))
                           : x;
        return this.two('Mul', this.d.chance(0.9) ? x : scaled, this.inner(this.same('Sigmoid', scaled)));
    }
    activation(x) {
        const op = this.d.one(['Relu', 'Relu', 'Sigmoid', 'Tanh', 'LeakyRelu', 'Elu', 'HardSigmoid', 'Selu', 'Softplus',
                               'Softsign', 'Clip', this.g.opset >= 14 ? 'HardSwish' : 'Relu']);
        return op === 'Clip' ? this.clip(x) : this.same(op, x);
    }
    clip(x) {
        const limit = (list) => (this.d.chance(0.8) ? this.number(this.d.one(list), [[]]) : '');
        const inputs = [x, limit([-1, 0, 0.2]), limit([1, 6])];
        while (inputs[inputs.length - 1] === '') inputs.pop();
        return this.g.node('Clip', inputs, this.dims(x));
    }
    relu_clip(x) {
        return this.clip(this.leak(this.same('Relu', x)));
    }

    // ---- Norms

    last_axis(x) {
        const rank = this.dims(x).length;
        return this.d.one([[-1], [-1], [-1], [-1], [-1], [rank - 1], [rank - 1], [0], [-2]]);
    }
    row(n, more = []) {
        const dims = this.d.one([[n], [n], [n], [n], [n], [1, n], [1], [], ...more]);
        return this.d.chance(0.06) ? this.g.input(dims) : this.normal(dims);
    }
    variance_root(p, axes, first) {
        const v = this.leak(this.axes('ReduceMean', p, axes));
        return this.same('Sqrt', this.leak(this.two('Add', v, this.number(this.d.one([1e-5, 1e-12, 1e-3])), first)));
    }
    layer_norm(x) {
        const n = this.dims(x).at(-1), axes = this.last_axis(x), mean = this.leak(this.axes('ReduceMean', x, axes));
        const swapped = this.d.chance(0.15), centred = this.two('Sub', x, mean, swapped);
        const again = this.d.chance(0.15) ? this.two('Sub', x, mean, this.d.chance(0.8) ? swapped : !swapped) : centred;
        const squares = this.d.chance(0.1) ? this.g.node('Mul', [centred, centred], this.dims(x))
                                           : this.same('Pow', centred, {}, this.number(this.d.one([2, 2, 2, 3])));
        const normal = this.leak(this.same('Div', again, {}, this.leak(this.variance_root(
            squares, this.d.chance(0.95) ? axes : this.last_axis(x), this.d.chance(0.25)))));
        const scaled = this.leak(this.two('Mul', normal, this.row(n)));
        return this.d.chance(0.9) ? this.two('Add', scaled, this.row(n)) : scaled;
    }
    rms_norm(x) {
        const squares = this.leak(this.d.chance(0.9) ? this.same('Pow', x, {}, this.number(this.d.one([2, 2, 2, 3])))
                                                     : this.g.node('Mul', [x, x], this.dims(x)));
        const root = this.variance_root(squares, this.last_axis(x));
        const r = this.d.uniform();
        const normal =
            r < 0.7 ? this.same('Div', x, {}, root)
            : r < 0.85
                ? this.two('Mul', x,
                           this.leak(this.g.node('Div', [this.number(1, [[], [1]]), root], this.dims(root))))
                : this.two('Mul', x, this.same('Reciprocal', root));
        return this.two('Mul', this.leak(normal), this.row(this.dims(x).at(-1)));
    }
    norm(x) {
        if (this.g.opset < 17 || this.d.chance(0.5)) return this.layer_norm(x);
        const n = this.dims(x).at(-1);
        return this.same('LayerNormalization', x, this.d.chance(0.5) ? {epsilon: {float: 1e-3}} : {}, this.normal([n]),
                         this.normal([n]));
    }
    skip_norm(x) {
        const k = this.dims(x).at(-1), dims = String(this.dims(x));
        let y = this.d.chance(0.3) ? this.g.node('MatMul', [x, this.normal([k, k], 0.3)], this.dims(x)) : x;
        if (this.d.chance(0.4)) y = this.leak(this.two('Add', y, this.row(k)));
        if (String(this.dims(y)) !== dims) return y;
        let z = this.like(x);
        if (this.d.chance(0.2)) z = this.two('Add', z, this.row(k));
        return String(this.dims(z)) === dims ? this.norm(this.leak(this.two('Add', y, z))) : z;
    }

    // ---- Products

    scale(x) {
        const c = this.number(this.d.one([0.5, 2, 0.125, 1.7, 0.3]),
                              this.dims(x).length > 1 ? [[], [], [1], [1, 1]] : [[], [1]]);
        return this.d.chance(0.6) ? this.two('Mul', x, c) : this.same('Div', x, {}, c);
    }
    add_row(x) {
        const dims = this.dims(x), n = dims.at(-1), m = dims.at(-2);
        return this.two('Add', x, this.row(n, m === undefined ? [] : [[m, 1], [m, n]]));
    }
    matmul(x) {
        if (this.d.chance(0.25)) x = this.leak(this.scale(x));
        let dims = this.dims(x);
        if (dims.length === 2 && this.d.chance(0.1)) {
            x = this.g.node('Transpose', [x], dims.toReversed(), {perm: [1, 0]});
            dims = this.dims(x);
        }
        const k = dims.at(-1), n = this.d.one([k, k, 24, 16, 7, 33]);
        const b = this.d.chance(0.9) ? this.normal([k, n], 0.3)
                                     : this.g.node('Transpose', [this.normal([n, k], 0.3)], [k, n], {perm: [1, 0]});
        let y = this.leak(this.g.node('MatMul', [x, b], [...dims.slice(0, -1), n]));
        if (this.d.chance(0.2)) y = this.leak(this.scale(y));
        if (this.d.chance(0.6)) y = this.detour(this.add_row(y));
        if (this.d.chance(0.15)) y = this.scale(y);
        return dims.length === 2 && this.dims(y).length === 2 && this.d.chance(0.1) ? this.batch_norm(y) : y;
    }
    batch_norm(x) {
        const n = this.dims(x)[1];
        const variance = this.g.constant('f32', [n], Array.from({length: n}, () => 0.1 + Math.abs(this.d.normal())));
        return this.same('BatchNormalization', x, {}, this.normal([n]), this.normal([n]), this.normal([n]), variance);
    }
    /// x times its own transpose, scaled on the way.
    scores(x) {
        const dims = this.dims(x), perm = dims.map((_, i) => i), rank = dims.length;
        [perm[rank - 1], perm[rank - 2]] = [rank - 2, rank - 1];
        let t = this.leak(this.g.node('Transpose', [x], perm.map((i) => dims[i]), {perm}), 0.1);
        if (this.d.chance(0.3)) t = this.scale(t);
        if (this.d.chance(0.3)) x = this.scale(x);
        const y = this.g.node('MatMul', [x, t], [...dims.slice(0, -1), dims.at(-2)]);
        return this.d.chance(0.4) ? this.leak(this.scale(y)) : this.same('Softmax', y, {axis: rank - 1});
    }
    gemm(x) {
        if (this.dims(x).length !== 2) return this.matmul(x);
        const transA = +this.d.chance(0.15), transB = +this.d.chance(0.3);
        const [m, k] = transA ? this.dims(x).toReversed() : this.dims(x), n = this.d.one([k, 16, 7]);
        const attributes = {transA, transB};
        if (this.d.chance(0.2)) attributes.alpha = {float: this.d.one([0.5, 1.3])};
        if (this.d.chance(0.2)) attributes.beta = {float: this.d.one([0.5, 1.3, 0])};
        const inputs = [x, this.normal(transB ? [n, k] : [k, n], 0.3)];
        if (this.d.chance(0.6)) inputs.push(this.normal(this.d.one([[n], [n], [1, n], [m, 1], [m, n], [1], []])));
        let y = this.leak(this.g.node('Gemm', inputs, [m, n], attributes));
        if (this.d.chance(0.15)) y = this.g.node('Sum', [y, this.row(n, [[m, n]])], [m, n]);
        if (this.d.chance(0.1)) y = this.g.node('Transpose', [y], [n, m], {perm: [1, 0]});
        if (this.d.chance(0.2)) y = this.add_row(y);
        return this.d.chance(0.3) ? this.activation(y) : y;
    }
    integer_product(x) {
        const dims = this.dims(x), k = dims.at(-1), n = this.d.one([k, 16, 7]), type = this.d.one(['u8', 's8']);
        const codes = this.g.node('DynamicQuantizeLinear', [x], dims, {}, 3), [scale, zero] = this.g.more;
        this.g.dims[scale] = this.g.dims[zero] = [];
        const inputs = [codes, this.codes(type, [k, n]), zero];
        if (this.d.chance(0.6)) inputs.push(this.g.constant(type, [], [0]));
        const y_dims = [...dims.slice(0, -1), n];
        const sums = this.g.node('Cast', [this.g.node('MatMulInteger', inputs, y_dims)], y_dims, {to: 1});
        const y = this.leak(this.two('Mul', sums, this.two('Mul', scale, this.number(0.01, [[], [1]]))));
        return this.d.chance(0.6) ? this.add_row(y) : y;
    }
    /// Weights alone in codes.
    coded_weights(x) {
        const k = this.dims(x).at(-1), n = this.d.one([k, 8, 5, 33]),
              per_column = this.g.opset >= 13 && this.d.chance(0.4);
        const y = this.g.node('MatMul', [x, this.weights([k, n], per_column ? 1 : -1)],
                              [...this.dims(x).slice(0, -1), n]);
        this.leak(y);
        return this.d.chance(0.4) ? this.add_row(y) : this.d.chance(0.2) ? this.activation(y) : y;
    }

    // ---- Moving and adding up

    reduction(x) {
        const rank = this.dims(x).length, axes = this.d.shuffled(rank).slice(0, this.d.integer(1, rank)).sort();
        return this.two(this.d.one(['Add', 'Mul']), x, this.axes(this.d.one(['ReduceMean', 'ReduceSum']), x, axes));
    }
    reciprocal(x) {
        const positive = this.two('Add', this.same('Abs', x), this.number(0.5, [[]]));
        const r = this.leak(this.g.node('Div', [this.number(this.d.one([1, 1, 2])), positive], this.dims(x)));
        return this.two('Mul', r, this.d.chance(0.2) ? this.normal([this.dims(x).at(-1)]) : this.like(x));
    }
    residual(x) {
        return this.two('Add', x, this.like(x));
    }
    function(x) {
        return this.same(this.d.one(['Neg', 'Abs', 'Relu', 'Sigmoid', 'Exp']), this.same('Tanh', x));
    }

    // ---- QuantizeLinear and DequantizeLinear

    parameters(type = this.d.one(this.types)) {
        const zero = this.d.one(type === 'u8' ? [0, 128, 100, 255, 128] : [0, 0, -128, 10, -3]);
        const scale = this.d.one([0.02, 0.05, 0.013, 0.031, 0.1]);
        return {type, scale, inputs: () => [this.number(scale, [[]]), this.g.constant(type, [], [zero])]};
    }
    pair(x, p = this.parameters()) {
        const codes = this.same('QuantizeLinear', x, {}, ...p.inputs());
        if (this.d.chance(0.03)) this.outputs.push(codes);
        const y = this.same('DequantizeLinear', codes, {}, ...p.inputs());
        this.pairs.set(y, p);
        if (this.d.chance(0.06)) this.pool.push(this.same('DequantizeLinear', codes, {}, ...p.inputs()));
        return y;
    }
    /// Dequantized constants, with a scale per index of `axis` or one.
    weights(dims, axis) {
        const type = this.d.one(['s8', 's8', 'u8']), shape = axis < 0 ? [] : [dims[axis]];
        const scales = Array.from({length: count(shape)}, () => 0.001 + Math.abs(this.d.normal()) * 0.01);
        const zeros = scales.map(() => (type === 'u8' ? 128 : this.d.one([0, 0, 5])));
        return this.g.node('DequantizeLinear',
                           [
                               this.codes(type, dims), this.g.constant('f32', shape, scales),
                               this.g.constant(type, shape, zeros)
                           ],
                           dims, axis < 0 ? {} : {axis});
    }
    quantized_product(x, p) {
        const dims = this.dims(x), k = dims.at(-1), n = this.d.one([k, 8, 5]),
              is_gemm = dims.length === 2 && this.d.chance(0.5);
        const transB = is_gemm ? +this.d.chance(0.5) : 0, shape = transB ? [n, k] : [k, n];
        const per_column = this.g.opset >= 13 && this.d.chance(0.4);
        const inputs = [
            x,
            this.d.chance(0.8) ? this.weights(shape, per_column ? 1 - transB : -1) : this.normal(shape, 0.3)
        ];
        if (is_gemm && this.d.chance(0.4)) inputs.push(this.normal([n]));
        const y = this.g.node(is_gemm ? 'Gemm' : 'MatMul', inputs, [...dims.slice(0, -1), n], is_gemm ? {transB} : {});
        return this.d.chance(0.3) ? this.add_row(y) : y;
    }
    quantized_binary(x, p) {
        const dims = this.dims(x), other = this.parameters(this.d.chance(0.8) ? p.type : undefined);
        const constant = () => {
            const shape = this.d.one([dims, [dims.at(-1)], []]);
            return this.g.node('DequantizeLinear', [this.codes(other.type, shape), ...other.inputs()], shape);
        };
        const y = this.d.chance(0.4) ? constant() : this.pair(this.g.input(dims), other);
        const op = this.d.one(['Add', 'Mul', 'Add', 'Mul', 'Sub', 'Max']);
        return this.two(op, x, y);
    }
    quantized_move(x) {
        const dims = this.dims(x), rank = dims.length, perm = this.d.shuffled(rank);
        return this.d.one([
            () => this.g.node('Reshape', [x, this.integers([dims[0], -1])], [dims[0], count(dims.slice(1))]),
            () => this.g.node('Transpose', [x], perm.map((i) => dims[i]), {perm}),
            () => this.g.node('Flatten', [x], [dims[0], count(dims.slice(1))], {axis: 1}),
            () => this.g.node('Gather', [x, this.integers([0, 0])], [2, ...dims.slice(1)], {axis: 0}),
            () => this.g.node('Tile', [x, this.integers([...dims.slice(1).map(() => 1), 2])],
                              [...dims.slice(0, -1), 2 * dims.at(-1)]),
            () => this.g.node('Concat', [x, x], [...dims.slice(0, -1), 2 * dims.at(-1)], {axis: rank - 1}),
        ])();
    }
    unit(x) {
        if (!this.pairs.has(x)) x = this.pair(x);
        const p = this.pairs.get(x);
        let y = this.d.one([
            () => this.same(this.d.one(['Sigmoid', 'LeakyRelu', 'Tanh', 'Abs']), x),
            () => this.quantized_move(x),
            () => this.quantized_binary(x, p),
            () => this.quantized_product(x, p),
            () => this.quantized_product(x, p),
            () => this.activation(x),
        ])();
        if (this.d.chance(0.06)) y = this.leak(y);
        if (this.d.chance(0.25)) y = this.d.chance(0.5) ? this.activation(y) : this.relu_clip(y);
        if (this.d.chance(0.88))
            y = this.pair(y,
                          this.d.chance(0.5) ? p : this.parameters(this.d.chance(0.8) ? p.type : undefined));
        return this.d.chance(0.1) ? this.pair(y) : y;
    }

    // ---- Convolutions of floats

    convolution(x) {
        if (this.dims(x).length !== 4) return this.activation(x);
        const [n, c, h, w] = this.dims(x), o = this.d.one([16, 32, 8, 3, c]), k = this.d.one([1, 3]);
        const inputs = [x, this.normal([o, c, k, k], 0.3)];
        if (this.d.chance(0.6)) inputs.push(this.normal([o]));
        let y = this.leak(this.g.node('Conv', inputs, [n, o, h, w], {pads: Array(4).fill(k >> 1)}));
        for (let i = this.d.integer(0, 2); i > 0; i--) {
            const shape = this.d.one([[o, 1, 1], [1, o, 1, 1], [], [1]]);
            y = this.d.one([
                () => this.leak(this.two('Add', y, this.normal(shape))),
                () => this.leak(this.two('Mul', y, this.normal(shape))),
                () => this.batch_norm(y),
                () => this.activation(y),
            ])();
        }
        if (this.d.chance(0.5)) y = this.activation(y);
        if (this.d.chance(0.15)) return this.g.node('GlobalAveragePool', [y], [n, o, 1, 1]);
        const pool = this.d.one(['MaxPool', 'AveragePool']);
        return this.d.chance(0.15) && h > 1 && w > 1
            ? this.g.node(pool, [y], [n, o, h - 1, w - 1], {kernel_shape: [2, 2]})
            : y;
    }

    // ---- Graphs

    inputs(kind) {
        const d = this.d, b = d.one([2, 4, 5]);
        const dims = kind === 'images'
                         ? [d.one([1, 2]), d.one([3, 16, 32, 4]), d.one([4, 5, 7]), d.one([4, 5, 6])]
                     : kind === 'codes' ? d.one([[b, d.one([8, 12])], [2, d.one([3, 5]), d.one([8, 12])]])
                                        : d.one([
                                              [2, d.one([3, 5, 7]), d.one([8, 16, 24, 32])],
                                              [2, d.one([3, 5]), 24], [b, d.one([8, 12, 32])], [2, 2, 4, 8]
                                          ]);
        const open = [];
        if (kind !== 'images' && d.chance(0.3)) open[0] = 'batch';
        if (open[0] && dims.length > 2 && d.chance(0.4)) open[1] = 'sequence';
        for (let i = d.one([1, 1, 2]); i > 0; i--) this.pool.push(this.g.input(dims, open));
    }
    make() {
        const floats = [
            'gelu',         'gelu',      'fast_gelu',  'quick_gelu', 'layer_norm',
            'layer_norm',   'rms_norm',  'norm',       'add_row',    'scale',
            'matmul',       'matmul',    'matmul',     'scores',     'gemm',
            'activation',   'relu_clip', 'residual',   'skip_norm',  'skip_norm',
            'skip_norm',    'reduction', 'reciprocal', 'function',   'integer_product', 'coded_weights'
        ];
        const kinds = {
            floats,
            codes: [...Array(8).fill('unit'), 'add_row', 'activation', 'residual', 'gelu'],
            images: [...Array(6).fill('convolution'), 'activation', 'scale'],
            mixed: ['unit', 'unit', 'pair', ...floats],
        };
        const kind = this.d.one(['floats', 'floats', 'floats', 'codes', 'codes', 'images', 'mixed']);
        this.inputs(kind);
        for (let i = this.d.integer(1, 5); i > 0; i--) {
            const x = this.d.one(this.pool.slice(-3));
            if (count(this.dims(x)) > 6000) break;
            this.pool.push(this[this.d.one(kinds[kind])](x));
        }
        const given = new Set(this.g.inputs.map((i) => i.name));
        for (const t of this.pool) if (!this.g.is_read(t)) this.outputs.push(t);
        const outputs = [...new Set(this.outputs)].filter((t) => !given.has(t) && !this.g.constants.has(t));
        if (outputs.length === 0) return null;
        const inputs = this.g.inputs.filter((i) => this.g.is_read(i.name));
        for (const i of inputs) i.values = Array.from({length: count(i.dims)}, () => this.d.normal());
        return {
            opset: this.g.opset, operators: this.g.nodes.map((n) => n.op), inputs, outputs,
            model: this.g.model(outputs)
        };
    }
}

module.exports = {
    dice, generator, at_opset, one_opset, count, broadcast,
    random_graph : (seed) => new generator(seed).make()
};
