// Images whose channels ONNX Runtime keeps in blocks of 16: what begins them, which operators go on with
// them, what is added to a convolution, and sums over images behind all that, whose order tells. All have
// ONNX Runtime's bytes in Octet.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');
const {count, broadcast} = require('./random_graphs.cjs');

const wave = (dims, step) => Array.from({length: count(dims)}, (_, i) => Math.sin(i * step + 0.3));

class images extends graph {
    number(value, dims = []) {
        return this.constant('f32', dims, Array(count(dims)).fill(value));
    }
    floats(dims, step = 0.9) {
        return this.constant('f32', dims, wave(dims, step + 0.01 * this.count));
    }
    same(op, x, attributes = {}, ...others) {
        return this.node(op, [x, ...others], this.dims[x], attributes);
    }
    two(op, a, b) {
        return this.node(op, [a, b], broadcast(this.dims[a], this.dims[b]));
    }
    conv(x, outputs, {k = 1, group = 1, bias = true, stride = 1, w} = {}) {
        const [n, c, ...image] = this.dims[x], pad = k >> 1, shape = [outputs, c / group, k, k];
        const inputs = [x, w ? w(shape) : this.floats(shape)].concat(bias ? [this.floats([outputs])] : []);
        const dims = [n, outputs, ...image.map((size) => Math.floor((size + 2 * pad - k) / stride) + 1)];
        return this.node('Conv', inputs, dims,
                         {kernel_shape: [k, k], pads: Array(4).fill(pad), strides: [stride, stride], group});
    }
    whole(x, op = 'GlobalAveragePool') {
        return this.node(op, [x], [...this.dims[x].slice(0, 2), 1, 1]);
    }
    windows(op, x, k, stride, pad, more = {}) {
        const out = (size) => Math[more.ceil_mode ? 'ceil' : 'floor']((size + 2 * pad - k) / stride) + 1,
              [n, c, h, w] = this.dims[x];
        return this.node(
            op, [x], [n, c, out(h), out(w)],
            {kernel_shape: [k, k], strides: [stride, stride], pads: Array(4).fill(pad), ...more});
    }
    normalized(x) {
        const row = () => this.floats([this.dims[x][1]]);
        return this.same('BatchNormalization', x, {}, row(), row(), row(), this.number(1.3, [this.dims[x][1]]));
    }
    enlarged(x, attributes) {
        const [n, c, h, w] = this.dims[x];
        return this.node('Resize', [x, '', this.constant('f32', [4], [1, 1, 2, 2])], [n, c, 2 * h, 2 * w], attributes);
    }
    joined(axis, ...inputs) {
        const dims = [...this.dims[inputs[0]]];
        dims[(axis + 4) % 4] = inputs.reduce((sum, t) => sum + this.dims[t][(axis + 4) % 4], 0);
        return this.node('Concat', inputs, dims, {axis});
    }
    finished(...outputs) {
        for (const [k, i] of this.inputs.entries()) i.values = wave(i.dims, 1.7 + k);
        return {
            opset: this.opset, operators: this.nodes.map((n) => n.op), inputs: this.inputs, outputs,
            model: this.model(outputs)
        };
    }
}

/// Behind a convolution: x.
const middles = {
    nothing: (g, x) => x, Relu: (g, x) => g.same('Relu', x), Sigmoid: (g, x) => g.same('Sigmoid', x),
    HardSigmoid: (g, x) => g.same('HardSigmoid', x),
    Clip: (g, x) => g.same('Clip', x, {}, g.number(0), g.number(6)),
    LeakyRelu: (g, x) => g.same('LeakyRelu', x, {alpha: {float: 0.1}}), Elu: (g, x) => g.same('Elu', x),
    Gelu: (g, x) => g.same('com.microsoft.Gelu', x), FastGelu: (g, x) => g.same('com.microsoft.FastGelu', x),
    QuickGelu: (g, x) => g.two('Mul', x, g.same('Sigmoid', x)), HardSwish: (g, x) => g.same('HardSwish', x),
    PRelu: (g, x) => g.same('PRelu', x, {}, g.floats([16, 1, 1])),
    normalized: (g, x) => g.normalized(g.same('Relu', x)),
    factors: (g, x) => g.two('Mul', g.same('Relu', x), g.floats([16, 1, 1])),
    factor: (g, x) => g.two('Mul', g.same('Relu', x), g.number(0.3)),
    terms: (g, x) => g.two('Add', g.same('Relu', x), g.floats([16, 1, 1])), nearest: (g, x) =>
        g.enlarged(x, {mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor'}),
    rounded: (g, x) => g.enlarged(x, {mode: 'nearest'}), linear: (g, x) => g.enlarged(x, {mode: 'linear'}),
    maxima: (g, x) => g.windows('MaxPool', x, 2, 2, 0),
    averages: (g, x) => g.windows('AveragePool', x, 3, 2, 1),
    outside: (g, x) => g.windows('AveragePool', x, 3, 2, 0, {ceil_mode: 1, count_include_pad: 1}),
    joined: (g, x) => g.joined(1, x, g.conv(x, 16)),
    joined_from_behind: (g, x) => g.joined(-3, x, g.conv(x, 16)),
    joined_halves: (g, x) => g.joined(1, g.conv(x, 8), g.conv(x, 8)),
    excited: (g, x) => g.two('Mul', x, g.same('Sigmoid', g.conv(g.whole(x), 16))),
    square: (g, x) => g.two('Mul', x, x), twice: (g, x) => g.two('Add', x, x),
    sum: (g, x) => g.two('Sum', x, g.conv(x, 16)),
    sum_of_three: (g, x) => g.node('Sum', [x, g.conv(x, 16), g.conv(x, 16)], g.dims[x]),
    summed: (g, x) => g.two('Add', x, g.conv(x, 16)), product: (g, x) => g.two('Mul', x, g.conv(x, 16)),
    maximum: (g, x) => g.two('Add', g.whole(x, 'GlobalMaxPool'), g.same('Relu', x)),
    dropped: (g, x) => g.same('Dropout', x),
    cut: (g, x) => g.node('Reshape', [x, g.constant('s64', [4], [0, 16, 3, -1])], [2, 16, 3, 10]),
};
/// Behind that: y, with another image z in blocks.
const ends = {
    mean: (g, y) => g.whole(y), averages: (g, y) => g.windows('AveragePool', y, 3, 1, 1),
    conv: (g, y) => g.conv(y, 16), first: (g, y, z) => g.two('Add', y, g.conv(z, 16)),
    second: (g, y, z) => g.two('Add', g.conv(z, 16), y), sum: (g, y, z) => g.two('Sum', y, g.conv(z, 16)),
    normalized: (g, y, z) => g.two('Add', g.normalized(g.same('Relu', y)), g.same('Relu', g.conv(z, 16))),
    factors: (g, y, z) =>
        g.two('Add', g.two('Mul', g.same('Relu', y), g.floats([16, 1, 1])), g.same('Relu', g.conv(z, 16))),
};

const all = [];
const add = (name, opset, make) => all.push({name, graph: () => {
    const g = new images(opset), outputs = make(g);
    return g.finished(...[outputs].flat());
}});

for (const [middle, behind] of Object.entries(middles))
    for (const [end, last] of Object.entries(ends))
        for (const opset of ['averages', 'outside'].includes(middle) ? [17, 20] : [17])
            add(`${middle}_${end}_${opset}`, opset, (g) => {
                const x = g.input([2, 16, 5, 6]), y = behind(g, g.conv(x, 16, {k: 3})),
                      z = g.same('Relu', g.conv(x, 16));
                if (String(g.dims[y]) !== String(g.dims[z]) && !['mean', 'averages', 'conv'].includes(end))
                    return y;
                return last(g, y, z);
            });
const names = {
    fixed: [[], []], same: [['n', undefined, 'h', 'w'], ['n', undefined, 'h', 'w']],
    different: [['n', undefined, 'h', 'w'], ['m', undefined, 'k', 'l']], one: [['n', undefined, 'h'], []]
};
for (const op of ['Add', 'Mul', 'Sum'])
    for (const [name, [left, right]] of Object.entries(names)) {
        add(`sizes_of_two_${op}_${name}`, 17, (g) => {
            const y = g.two(op, g.same('Relu', g.conv(g.input([1, 16, 5, 6], left), 16, {k: 3})),
                            g.conv(g.input([1, 16, 5, 6], right), 16, {k: 3}));
            return [g.whole(y), g.same('Neg', y)];
        });
        for (const stride of [1, 2])
            add(`sizes_of_one_${op}_${name}_${stride}`, 17, (g) => {
                const x = g.same('Relu', g.conv(g.input([1, 16, 6, 8], left), 16));
                return g.two(op, g.same('Tanh', g.conv(x, 16, {k: 3, stride})),
                             g.conv(g.same('Relu', g.conv(x, 16, {stride})), 16));
            });
    }
for (const [group, inputs, outputs] of [[1, 4, 8], [2, 4, 8], [4, 4, 8], [4, 4, 4], [2, 32, 32], [2, 32, 16],
                                        [16, 16, 16], [1, 15, 8], [1, 17, 8], [1, 20, 8], [8, 8, 16],
                                        [6, 6, 6]])
    for (const bias of [false, true])
        for (const is_computed of [false, true])
            add(`group_${group}_${inputs}_${outputs}_${bias}_${is_computed}`, 17, (g) => {
                const w = is_computed ? (shape) => g.input(shape) : undefined,
                      y = g.conv(g.input([1, inputs, 5, 6]), outputs, {k: 3, group, bias, w});
                return [y, g.whole(g.same('Relu', y))];
            });
for (const is_replaceable of [false, true])
    add(`limits_${is_replaceable}`, 17, (g) => {
        const low = g.number(-0.3);
        if (is_replaceable) g.replaceable = [low];
        return g.whole(g.same('Clip', g.conv(g.input([1, 16, 5, 6]), 16, {k: 3}), {}, low, g.number(0.4)));
    });
for (const channels of [16, 20])
    for (const open of [undefined, 'c'])
        for (const before of [undefined, 'Abs'])
            for (const end of ['mean', 'averages'])
                add(`channels_${channels}_${open}_${before}_${end}`, 17, (g) => {
                    const x = g.input([1, channels, 5, 6], [undefined, open]);
                    return ends[end](g, before ? g.same(before, x) : x);
                });
for (const open of [[], ['n']])
    add(`enlarged_sum_${open}`, 17, (g) => {
        const x = g.input([1, 16, 12, 12], open), half = g.conv(x, 16, {k: 3, stride: 2, pad: 1});
        return g.two(
            'Add',
            g.enlarged(
                half, {mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor'}),
            g.conv(x, 16));
    });

module.exports = all;
