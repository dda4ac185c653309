// Graphs of one product of floats each, over all the ways in which ONNX Runtime sums one up: sizes beside
// blocks, single rows and columns, operands that are transposed or constants, a factor, batches, convolutions
// and transposed ones of one pixel and of more.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');
const {count} = require('./random_graphs.cjs');

const wave = (n, step) => Array.from({length: n}, (_, i) => Math.sin(i * step));

class product extends graph {
    constructor() {
        super(17);
    }
    matrix(dims, is_constant) {
        if (is_constant) return this.constant('f32', dims, wave(count(dims), 0.91));
        return this.node('Tanh', [this.input(dims)], dims); // what a network computes
    }
    matmul(a, b, dims, is_constant) {
        return this.node('MatMul', [this.input(a), this.matrix(b, is_constant)], dims);
    }
    finished(y) {
        for (const [k, i] of this.inputs.entries()) i.values = wave(count(i.dims), 1.7 + k);
        return {
            opset: 17, operators: this.nodes.map((n) => n.op), inputs: this.inputs, outputs: [y],
            model: this.model([y])
        };
    }
}

function batched(a, b) {
    const left = a.length === 1 ? [1, ...a] : a, right = b.length === 1 ? [...b, 1] : b,
          rank = Math.max(left.length, right.length) - 2;
    const at = (dims, i) => dims[i - rank + dims.length - 2] ?? 1;
    const dims = Array.from({length: rank}, (_, i) => Math.max(at(left, i), at(right, i)));
    return [...dims, ...(a.length > 1 ? [left.at(-2)] : []), ...(b.length > 1 ? [right.at(-1)] : [])];
}

function* all() {
    const add = (name, make) => ({name, graph: () => {
        const g = new product();
        return g.finished(make(g));
    }});
    for (const k of [8, 40, 130, 300, 700])
        for (const n of [1, 2, 5, 40])
            for (const m of [1, 2, 5])
                for (const is_constant of [false, true]) {
                    const size = `${m}x${k}x${n}${is_constant ? '.constant' : ''}`;
                    yield add(`plain.${size}`, (g) => g.matmul([m, k], [k, n], [m, n], is_constant));
                    yield add(`factor.${size}`, (g) => g.node(
                        'Mul', [g.matmul([m, k], [k, n], [m, n], is_constant), g.constant('f32', [], [0.37])], [m, n]));
                    for (const [transA, transB, beta] of [[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1],
                                                          [0, 0, 0.5], [1, 1, 0.5]])
                        yield add(`gemm.${size}.${transA}${transB}.${beta}`,
                                  (g) => g.node('Gemm',
                                                [
                                                    g.input(transA ? [k, m] : [m, k]),
                                                    g.matrix(transB ? [n, k] : [k, n], is_constant),
                                                    g.constant('f32', [n], wave(n, 0.3))
                                                ],
                                                [m, n], {transA, transB, beta: {float: beta}}));
                }
    for (const [a, b] of [[[2, 3, 40], [40, 1]], [[2, 3, 40], [40]], [[2, 3, 40], [2, 40, 1]],
                          [[2, 3, 40], [1, 40, 1]], [[3, 40], [2, 40, 1]], [[3, 40], [1, 40, 1]],
                          [[40], [40, 1]], [[40], [40]], [[40], [2, 40, 5]], [[2, 1, 40], [2, 40, 1]],
                          [[2, 1, 40], [2, 40, 5]], [[2, 1, 40], [1, 40, 5]], [[1, 40], [1, 40, 5]],
                          [[2, 7, 40], [2, 40, 1]], [[2, 7, 300], [2, 300, 3]]])
        for (const is_constant of [false, true])
            yield add(`batch.${a.join('x')}.${b.join('x')}${is_constant ? '.constant' : ''}`,
                      (g) => g.matmul(a, b, batched(a, b), is_constant));
    for (const [channels, outputs, kernel, pixels,
                group] of [[48, 3, 3, 1, 1], [48, 1, 1, 1, 1], [48, 1, 1, 7, 1], [300, 2, 1, 1, 1],
                           [300, 1, 1, 5, 1], [32, 4, 3, 1, 2], [32, 1, 1, 6, 2], [300, 2, 3, 4, 1]])
        for (const is_constant of [false, true])
            for (const images of [1, 2])
                yield add(`deconvolution.${images}x${channels}x${pixels}.${outputs}x${kernel}.${group}${
                              is_constant ? '.constant' : ''}`,
                          (g) => g.node('ConvTranspose',
                                        [
                                            g.input([images, channels, pixels]),
                                            g.matrix([channels, outputs, kernel], is_constant)
                                        ],
                                        [images, outputs * group, pixels + kernel - 1], {group}));
    for (const [group, multiplier] of [[1, 8], [4, 1], [4, 2]]) // windows that take the whole width, and others
        for (const kernel of [1, 3, 5])
            for (const [h, w] of [[5, 5], [6, 5], [7, 6], [3, 3]])
                for (const stride of [1, 2])
                    for (const pad of [0, 1])
                        for (const is_constant of [false, true]) {
                            const size = (n) => Math.floor((n + 2 * pad - kernel) / stride) + 1;
                            if (size(h) < 1 || size(w) < 1) continue;
                            yield add(
                                `convolution.${group}x${multiplier}.${kernel}.${h}x${w}.${stride}.${pad}${
                                    is_constant ? '.constant' : ''}`,
                                (g) => g.node(
                                    'Conv',
                                    [
                                        g.input([1, 4, h, w]),
                                        g.matrix([group * multiplier, 4 / group, kernel, kernel], is_constant)
                                    ],
                                    [1, group * multiplier, size(h), size(w)],
                                    {group, pads: Array(4).fill(pad), strides: [stride, stride]}));
                        }
}

module.exports = [...all()];
