// Single operators whose bytes depend on where dimensions of 1 stand and on zeros, infinities and NaN:
// powers, extremes, choices, reductions, sizes, sines of large angles. `single_graph(seed)` is a function of
// the seed.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');
const {dice, count} = require('./random_graphs.cjs');

const zeros = [0, -0], ends = [NaN, Infinity, -Infinity, 0, -0, 1e38, -3e38, 1e-40, -1e-45, 1, -1, 0.5];

class single {
    constructor(seed) {
        this.d = new dice(seed ^ 0x6a09e667);
        this.g = new graph(this.d.one([13, 17, 18]));
    }
    /// Up to four dimensions, half of which are 1.
    shape(longest = 4) {
        return Array.from({length: this.d.integer(0, longest)}, () => (this.d.chance(0.5) ? 1 : this.d.integer(2, 9)));
    }
    /// Dimensions that broadcast to others: some are 1, leading ones are missing.
    part_of(dims) {
        const {d} = this, from = d.chance(0.5) ? 0 : d.integer(0, dims.length);
        return dims.slice(from).map((n) => (d.chance(0.4) ? 1 : n));
    }
    result(...shapes) {
        const rank = Math.max(...shapes.map((s) => s.length));
        return Array.from({length: rank}, (_, i) => Math.max(...shapes.map((s) => s[i - rank + s.length] ?? 1)));
    }
    /// One kind of numbers for a whole tensor.
    number() {
        const {d} = this;
        return d.one([
            () => d.one(zeros), () => d.one(zeros), () => d.one(ends), () => d.normal(),
            () => (d.chance(0.2) ? d.one(ends) : d.normal())
        ]);
    }
    floats(dims, number = this.number()) {
        const values = Array.from({length: count(dims)}, number);
        if (this.d.chance(0.2)) return this.g.constant('f32', dims, values);
        const t = this.g.input(dims);
        this.g.inputs.at(-1).values = values;
        return t;
    }
    input(dims, number) {
        const t = this.g.input(dims);
        this.g.inputs.at(-1).values = Array.from({length: count(dims)}, number ?? this.number());
        return t;
    }
    /// Operands of which the first has all dimensions, or none has.
    operands(n) {
        const {d} = this, dims = this.shape(), all = Array.from({length: n}, () => this.part_of(dims));
        if (d.chance(0.5)) all[d.integer(0, n - 1)] = dims;
        return all;
    }

    power() {
        const {d, g} = this, [x, e] = this.operands(2),
                  exponents = d.one([[2], [3], [0], [1], [2, 3], [0.5, 2, 3, -1, 0, 1, 2.5]]);
        const base = d.chance(0.7) ? () => 3 * d.normal() : undefined;
        const of_integers = d.chance(0.3),
              values = () => (of_integers ? Math.round(d.one(exponents)) : d.one(exponents));
        let exponent;
        if (of_integers) {
            if (d.chance(0.3)) exponent = g.constant('s32', e, Array.from({length: count(e)}, values));
            else {
                exponent = g.input(e, [], 's32');
                g.inputs.at(-1).values = Array.from({length: count(e)}, values);
            }
        } else exponent = this.floats(e, values);
        return g.node('Pow', [this.input(x, base), exponent], this.result(x, e));
    }
    extremes() {
        const {d, g} = this, shapes = this.operands(d.one([1, 2, 2, 2, 3])), one = this.number();
        const inputs = shapes.map((s, i) => (i ? this.floats(s, one) : this.input(s, one)));
        return g.node(d.one(['Max', 'Min']), inputs, this.result(...shapes));
    }
    elements() {
        const {d, g} = this, shapes = this.operands(2);
        return g.node(d.one(['Add', 'Sub', 'Mul', 'Div', 'PRelu']),
                      shapes.map((s, i) => (i ? this.floats(s) : this.input(s))), this.result(...shapes));
    }
    many() {
        const {d, g} = this, shapes = this.operands(d.one([1, 2, 3, 4]));
        return g.node(d.one(['Sum', 'Mean']), shapes.map((s, i) => (i ? this.floats(s) : this.input(s))),
                      this.result(...shapes));
    }
    choice() {
        const {d, g} = this, shapes = this.operands(3), truths = g.input(shapes[0], [], 'bool');
        g.inputs.at(-1).values = Array.from({length: count(shapes[0])}, () => d.integer(0, 1));
        return g.node('Where', [truths, this.floats(shapes[1]), this.floats(shapes[2])], this.result(...shapes));
    }
    reduction() {
        const {d, g} = this, dims = this.shape(), op = d.one([
            'ReduceSum', 'ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceL1', 'ReduceL2', 'ReduceProd',
            'ReduceSumSquare', 'ReduceLogSum', 'ReduceLogSumExp'
        ]);
        const axes = d.chance(0.2) ? []
                                   : dims.map((_, i) => i)
                                         .filter(() => d.chance(0.5))
                                         .map((i) => (d.chance(0.2) ? i - dims.length : i));
        const keepdims = d.integer(0, 1), has_input = g.opset >= 18 || op === 'ReduceSum', attributes = {keepdims};
        const noop = has_input && axes.length === 0 && d.chance(0.3);
        if (noop) attributes.noop_with_empty_axes = 1;
        if (axes.length > 0 && !has_input) attributes.axes = axes;
        const named = axes.map((a) => (a < 0 ? a + dims.length : a)),
              goes = (i) => (axes.length === 0 ? !noop : named.includes(i));
        const inputs = [
            this.input(dims),
            ...(axes.length > 0 && has_input ? [g.constant('s64', [axes.length], axes)] : [])
        ];
        return g.node(op, inputs, dims.flatMap((n, i) => (!goes(i) ? [n] : keepdims ? [1] : [])), attributes);
    }
    circular() {
        const {d, g} = this, dims = [d.one([3, 16, 400])];
        const number = d.one([
            () => 3e4 * d.normal(), () => 2 ** d.integer(10, 127) * d.normal(),
            () => (d.chance(0.2) ? d.one(ends) : 1e6 * d.normal())
        ]);
        return g.node(d.one(['Sin', 'Cos']), [this.input(dims, number)], dims);
    }
    resized() {
        const {d, g} = this, rank = d.integer(1, 4),
                  dims = Array.from({length: rank},
                                    (_, i) => (rank === 4 && i < 2 ? d.integer(1, 2) : d.integer(1, 6)));
        const mode = d.one([
            'nearest', 'nearest', rank === 2 || rank === 4 ? 'linear' : 'nearest',
            rank === 4 ? 'cubic' : 'nearest'
        ]);
        const has_axes = g.opset >= 18 && d.chance(0.7),
              first = mode === 'nearest' || !has_axes ? 0 : Math.max(rank - 2, 0);
        let axes = d.shuffled(rank).filter((i) => i >= first && (mode !== 'nearest' || d.chance(0.7)));
        if (!has_axes || axes.length === 0) axes = dims.map((_, i) => i);
        const named = axes.map((a) => (d.chance(0.4) ? a - rank : a)),
              policy = g.opset >= 18 ? d.one(['stretch', 'not_larger', 'not_smaller']) : 'stretch';
        const stays = (i) => mode !== 'nearest' && i < rank - 2;
        const sizes = axes.map((i) => (stays(i) ? dims[i] : d.integer(1, 9))),
              result = dims.map((n, i) => (axes.includes(i) ? sizes[axes.indexOf(i)] : n));
        const coordinate_transformation_mode =
            d.one(['half_pixel', 'asymmetric', 'align_corners', 'pytorch_half_pixel']);
        const attributes = {mode, coordinate_transformation_mode, ...(has_axes ? {axes: named} : {})};
        if (d.chance(0.5))
            return g.node(
                'Resize', [this.input(dims), '', '', g.constant('s64', [axes.length], sizes)], result,
                {...attributes, ...(policy === 'stretch' ? {} : {keep_aspect_ratio_policy: policy})});
        const scales = axes.map((i, k) => Math.fround(sizes[k] / dims[i]));
        return g.node('Resize', [this.input(dims), '', g.constant('f32', [axes.length], scales)], result, attributes);
    }

    make() {
        const y = this[this.d.one([
            'power', 'power', 'extremes', 'extremes', 'elements', 'many', 'choice', 'reduction', 'reduction',
            'reduction', 'circular', 'resized', 'resized'
        ])]();
        const {g} = this;
        if (g.inputs.length === 0) return null;
        return {
            opset: g.opset, operators: g.nodes.map((n) => n.op), inputs: g.inputs, outputs: [y],
            model: g.model([y])
        };
    }
}

module.exports = {single_graph: (seed) => new single(seed).make()};
