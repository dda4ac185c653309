// Graphs of operators that the other generators do not have, with computed parameters, integers, and numbers
// at the ends of f32: functions of single numbers, reductions, indices, codes in blocks.
// `operator_graph(seed)` is a function of the seed.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {wide} = require('./wide_graphs.cjs');
const {count} = require('./random_graphs.cjs');

const unusual = [
    NaN, Infinity, -Infinity, 0, -0, 1e38, -3e38, 1e-40, 88.5, -104, 1e9, 25970, -3e5, 12345.678, 2 ** 24 + 1,
    0.5
];

class operators extends wide {
    given(dims, values, dtype = 'f32') {
        const t = this.g.input(dims, [], dtype);
        this.g.inputs.at(-1).given = values;
        return t;
    }
    drawn(dims, one, dtype = 's64') {
        return this.given(dims, Array.from({length: count(dims)}, one), dtype);
    }
    real(t) {
        return this.same('Cast', t, {to: 1});
    }

    // ---- Element by element

    functions(x) {
        const {d} = this, op = d.one(['Sin', 'Cos', 'Sign', 'Celu', 'Mish', 'Abs', 'Neg', 'Floor', 'Ceil']
                                         .filter((o) => o !== 'Mish' || this.g.opset >= 18)
                                         .filter((o) => o !== 'Celu' || this.g.opset >= 12));
        return this.same(op, x, op === 'Celu' && d.chance(0.5) ? {alpha: {float: d.one([0.5, 2, 1.3])}} : {});
    }
    truths(x) {
        const op = this.d.one(['IsNaN', 'IsInf']);
        const ends = this.d.one([{}, {detect_positive: 0}, {detect_negative: 0}]);
        const is = this.same(op, x, op === 'IsInf' ? ends : {});
        return this.real(this.same('Xor', is, {}, this.same('Less', x, {}, this.g.constant('f32', [], [0.1]))));
    }
    clipped(x) {
        const limit = (v) => this.d.one([
            () => this.given([], [v]), () => this.given(this.d.one([[], [1]]), [v]), () => '',
            () => this.g.constant('f32', [], [v])
        ])();
        const inputs = [x, limit(this.d.one([-1, 0, -0.3])), limit(this.d.one([1, 0.5, -0.5]))];
        while (inputs.at(-1) === '') inputs.pop();
        return this.g.node('Clip', inputs, this.dims(x));
    }
    power(x) {
        const dims = this.dims(x),
              type = this.g.opset < 12 ? 'f32' : this.d.one(['f32', 'f32', 's32', 's64']),
              value = () => this.d.one(type === 'f32' ? [2, 3, 0.5, 1, -1, 2.5] : [2, 3, 1, 0, -1, 5]);
        const shape = this.d.one([
            [], [1], dims, dims.slice(-1), dims.map((n, i) => (i ? 1 : n)), dims.map((n, i) => (i ? n : 1))
        ]);
        const exponent = this.d.chance(0.7)
                             ? this.drawn(shape, value, type)
                             : this.g.constant(type, shape, Array.from({length: count(shape)}, value));
        return this.g.node('Pow', [x, exponent], dims);
    }
    integers_of(x) {
        const {d} = this, dims = this.dims(x), type = d.one(['s32', 's64']),
              number = () => this.drawn(dims, () => d.integer(-99, 99), type);
        let t = number();
        for (let i = d.integer(1, 3); i > 0; i--)
            t = d.one([
                () => this.same(
                    'Div', t, {},
                    this.drawn(d.one([dims, [], dims.slice(-1)]), () => d.one([-7, -1, 1, 2, 13]), type)),
                () => this.same(d.one(['Neg', 'Abs', 'Sign']), t),
                () => this.same(d.one(['Max', 'Min', 'Add', 'Sub', 'Mul']), t, {}, number()),
                () => (this.g.opset < 12 ? t
                                         : this.g.node('Clip',
                                                       [
                                                           t, this.given([], [d.integer(-20, 0)], type),
                                                           this.g.constant(type, [], [d.integer(1, 20)])
                                                       ].slice(0, d.one([3, 2])),
                                                       dims)),
            ])();
        return this.real(t);
    }

    // ---- Along dimensions

    reduced(x) {
        const {d} = this, dims = this.dims(x), op = d.one([
            'ReduceL1', 'ReduceL2', 'ReduceProd', 'ReduceSumSquare', 'ReduceLogSum', 'ReduceLogSumExp'
        ]);
        const axes = dims.length === 0 ? [] : d.one([
            dims.map((_, i) => i), [dims.length - 1], [0], dims.map((_, i) => i).filter(() => d.chance(0.5))
        ]),
              keepdims = d.one([1, 0]);
        const is_all = axes.length === 0;
        const y = dims.flatMap((n, i) => (!is_all && !axes.includes(i) ? [n] : keepdims ? [1] : []));
        const from = d.chance(0.3) ? this.same('Abs', x) : x;
        return this.g.node(op, this.g.opset >= 18 && !is_all ? [from, this.integers(axes)] : [from], y,
                           this.g.opset >= 18 || is_all ? {keepdims} : {axes, keepdims});
    }
    place(x) {
        const dims = this.dims(x), axis = this.d.integer(0, Math.max(dims.length - 1, 0)),
              keepdims = this.d.one([1, 0]);
        if (dims.length === 0) return this.same('Sin', x);
        const attributes = {axis, keepdims, ...(this.g.opset >= 12 ? {select_last_index: this.d.one([0, 1])} : {})};
        return this.real(this.g.node(this.d.one(['ArgMin', 'ArgMax']), [x],
                                     dims.flatMap((n, i) => (i !== axis ? [n]
                                                             : keepdims ? [1]
                                                                        : [])),
                                     attributes));
    }
    best(from) {
        const dims = this.dims(from), {d, g} = this;
        if (dims.length === 0) return this.same('Cos', from);
        const x = g.node('Where', [this.same('IsNaN', from), g.constant('f32', [], [0.25]), from],
                         dims); // there is no order among NaN
        const axis = d.integer(0, dims.length - 1), k = d.integer(1, dims[axis]),
              to = dims.map((n, i) => (i === axis ? k : n));
        const values = g.node('TopK', [x, this.integers([k])], to,
                              {axis: d.one([axis, axis - dims.length]), largest: d.one([1, 0])}, 2);
        return d.one([() => values, () => this.real(g.more[0]), () => this.two('Add', values, this.real(g.more[0]))])();
    }
    cumulative(x) {
        const dims = this.dims(x), {d} = this, attributes = {exclusive: d.one([0, 1]), reverse: d.one([0, 1])};
        if (dims.length === 0) return this.same('Sign', x);
        const axis = this.g.constant(d.one(['s64', 's32']), d.one([[], [1]]),
                                     [d.integer(-dims.length, dims.length - 1)]);
        if (d.chance(0.7)) return this.same('CumSum', x, attributes, axis);
        return this.real(this.same('CumSum', this.drawn(dims, () => d.integer(-9, 9), d.one(['s64', 's32'])),
                                   attributes, axis));
    }

    // ---- Indices

    elements(x) {
        const dims = this.dims(x), {d} = this;
        if (dims.length === 0) return this.same('Sin', x);
        const axis = d.integer(0, dims.length - 1), size = dims[axis],
              to = dims.map((n, i) => (i === axis ? d.integer(1, n + 2) : d.integer(1, n)));
        if (d.chance(0.5))
            return this.g.node('GatherElements',
                               [x, this.drawn(to, () => d.integer(-size, size - 1), d.one(['s64', 's32']))],
                               to, {axis});
        to[axis] = Math.min(to[axis], size);
        const reduction = this.g.opset >= 18   ? d.one(['none', 'add', 'mul', 'min', 'max'])
                          : this.g.opset >= 16 ? d.one(['none', 'add', 'mul'])
                                               : '';
        const shift = d.integer(0, size - 1); // none twice, where the last one counts
        const lines = count(to.slice(axis + 1));
        const place = (i) =>
            (reduction && reduction !== 'none' ? d.integer(-size, size - 1)
                                               : (Math.floor(i / lines) % to[axis] + shift) % size);
        return this.g.node(
            'ScatterElements',
            [x, this.given(to, Array.from({length: count(to)}, (_, i) => place(i)), 's64'), this.normal(to)],
            dims, {axis, ...(reduction ? {reduction} : {})});
    }
    blocks(x) {
        const dims = this.dims(x), {d} = this;
        if (dims.length === 0) return this.same('Sin', x);
        const batch = this.g.opset >= 12 && dims.length > 1 ? d.one([0, 1]) : 0,
              depth = d.integer(1, dims.length - batch);
        const indices = (first, rows) => {
            const shape = [...first, ...rows, depth];
            return this.given(shape, Array.from({length: count(shape)}, (_, i) => {
                const n = dims[first.length + (i % depth)];
                return d.integer(-n, n - 1);
            }), 's64');
        };
        if (d.chance(0.5)) {
            const rows = d.one([[3], [2, 2], []]), first = dims.slice(0, batch);
            const list = [...first, ...rows];
            return this.g.node('GatherND', [x, indices(first, rows)], [...list, ...dims.slice(batch + depth)],
                               batch ? {batch_dims: batch} : {});
        }
        const deep = d.integer(1, dims.length), rows = [2];
        const at = Array.from({length: 2 * deep},
                              (_, i) => (i % deep === 0 ? Math.min(Math.floor(i / deep), dims[0] - 1)
                                                        : d.integer(0, dims[i % deep] - 1)));
        const reduction = this.g.opset >= 18   ? d.one(['none', 'add', 'mul', 'min', 'max'])
                          : this.g.opset >= 16 ? d.one(['none', 'add', 'mul'])
                                               : '';
        if (dims[0] < 2 && !(reduction && reduction !== 'none')) return this.same('Cos', x);
        return this.g.node(
            'ScatterND',
            [x, this.given([...rows, deep], at, 's64'), this.normal([...rows, ...dims.slice(deep)])], dims,
            reduction ? {reduction} : {});
    }
    classes(x) {
        const dims = this.dims(x), {d} = this, depth = d.integer(1, 6);
        if (dims.length > 4 || dims.length === 0) return this.same('Sign', x);
        const axis = d.one([-1, 0, dims.length]), at = axis < 0 ? dims.length : axis,
              to = [...dims.slice(0, at), depth, ...dims.slice(at)];
        const [type, of_values, of_depth] = d.one(
            [['s64', 'f32', 's64'], ['s32', 'f32', 's32'], ['f32', 's64', 's64'], ['s64', 's64', 's64']]);
        const indices = this.drawn(dims, () => d.integer(-depth - 1, depth), type),
              values = this.given([2], [-2, 3], of_values);
        return this.real(this.g.node(
            'OneHot', [indices, this.g.constant(of_depth, d.one([[], [1]]), [depth]), values], to, {axis}));
    }
    triangle(x) {
        const dims = this.dims(x);
        if (dims.length < 2 || this.g.opset < 14) return this.same('Sin', x);
        const inputs = this.d.chance(0.6)
                           ? [x, this.g.constant('s64', this.d.one([[], [1]]), [this.d.integer(-4, 4)])]
                           : [x];
        return this.g.node('Trilu', inputs, dims, {upper: this.d.one([0, 1])});
    }

    // ---- Codes

    coded_blocks(x) {
        const dims = this.dims(x), {d} = this;
        if (dims.length === 0 || this.g.opset < 21) return this.same('Cos', x);
        const axis = d.integer(0, dims.length - 1),
              block_size = d.one([2, 3, 4, dims[axis]].filter((b) => b <= dims[axis] || b === 2));
        const shape = dims.map((n, i) => (i === axis ? Math.ceil(n / block_size) : n)), type = d.one(['u8', 's8']);
        const scale = d.one([
            () => this.g.constant('f32', shape,
                                  Array.from({length: count(shape)}, () => d.one([0.02, 0.05, 0.013]))),
            () => this.drawn(shape, () => d.one([0.02, 0.05, 0.013]), 'f32')
        ])();
        const parameters = [
            scale, ...(type === 's8' && d.chance(0.5)
                           ? []
                           : [this.g.constant(type, shape,
                                              Array.from({length: count(shape)}, () => d.integer(0, 100)))])
        ];
        const attributes = {axis, block_size};
        const codes = d.one([
            () => this.codes(type, dims),
            () => parameters.length > 1 ? this.g.node('QuantizeLinear', [x, ...parameters], dims, attributes)
                                        : this.drawn(dims, () => d.integer(-128, 127), 's8')
        ])();
        return this.g.node('DequantizeLinear', [codes, ...parameters], dims, attributes);
    }

    /// Weights alone in codes, with scales for blocks of rows.
    block_weights(x) {
        const dims = this.dims(x), {d, g} = this, inner = dims.at(-1), columns = d.one([4, 6, 9]);
        if (dims.length < 2 || g.opset < 21) return this.same('Sin', x);
        const shape = [Math.ceil(inner / 32), columns], type = d.one(['u8', 's8']),
              numbers = (one) => Array.from({length: count(shape)}, one);
        const parameters = [
            g.constant('f32', shape, numbers(() => 0.01 + 0.01 * d.uniform())),
            ...(d.chance(0.7) ? [g.constant(type, shape, numbers(() => d.integer(0, 9)))] : [])
        ];
        const w = g.node('DequantizeLinear', [this.codes(type, [inner, columns]), ...parameters],
                         [inner, columns], {axis: 0, block_size: 32});
        return this.leak(g.node('MatMul', [x, w], [...dims.slice(0, -1), columns]));
    }
    integer_points(x) {
        const dims = this.dims(x), {d, g} = this, k = dims.at(-1),
              code = (type) => () => d.integer(...(type === 'u8' ? [0, 255] : [-128, 127]));
        if (dims.length < 2) return this.same('Cos', x);
        const type = d.one(['u8', 's8']), a = this.drawn(dims, code('u8'), 'u8'),
              b = d.one([() => this.drawn([k, 5], code(type), type), () => this.codes(type, [k, 5])])();
        const points =
            [this.drawn([], code('u8'), 'u8'), this.drawn(d.one([[], [1]]), code(type), type)].slice(
                0, d.one([2, 1]));
        return this.real(g.node('MatMulInteger', [a, b, ...points], [...dims.slice(0, -1), 5]));
    }

    // ---- Sums before norms

    skip_norms(x) {
        const dims = this.dims(x), {d, g} = this, n = dims.at(-1), row = () => this.normal([n]);
        if (dims.length !== 3) return this.same('Sign', x);
        const skip = this.drawn(d.one([dims, dims.slice(1), [1, ...dims.slice(1)]]), () => d.normal(), 'f32');
        const norm = d.one([['SkipSimplifiedLayerNormalization', []], ['SkipLayerNormalization', [row()]]]);
        return g.node('com.microsoft.' + norm[0], [x, skip, row(), ...norm[1], ...d.one([[], [row()]])], dims,
                      {epsilon: {float: 1e-5}});
    }

    make_operators() {
        const {d} = this, with_special = d.chance(0.3);
        this.inputs(d.one(['floats', 'images']));
        const all = [
            'functions', 'truths', 'clipped', 'power', 'integers_of', 'reduced', 'reduced', 'place', 'best',
            'cumulative', 'elements', 'blocks', 'classes', 'triangle', 'coded_blocks', 'block_weights',
            'integer_points', 'skip_norms'
        ];
        const others = ['activation', 'matmul', 'transposed', 'scale', 'softmax'];
        for (let i = d.integer(1, 4); i > 0; i--) {
            const x = d.one(this.pool.slice(-2));
            if (count(this.dims(x)) > 6000) break;
            this.pool.push(this[d.chance(0.75) || this.dims(x).length < 2 ? d.one(all) : d.one(others)](x));
        }
        const graph = this.finish();
        for (const i of graph?.inputs ?? [])
            if (with_special && i.dtype === 'f32' && !i.given)
                i.values = i.values.map((v) => (d.chance(0.05) ? d.one(unusual) : v));
        return graph;
    }
}

module.exports = {operator_graph: (seed) => new operators(seed).make_operators()};
