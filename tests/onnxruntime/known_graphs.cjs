// Graphs that have other bytes or operators in Octet than in ONNX Runtime, as doc/onnx.md lists them. A test sees to it that each
// still differs, and by no more than is said here.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');

const wave = (count, step) => Array.from({length: count}, (_, i) => Math.sin(i * step));

function finished(g, ...outputs) {
    for (const [k, i] of g.inputs.entries()) i.values = wave(i.dims.reduce((a, b) => a * b, 1), 1.7 + k);
    return {opset: g.opset, operators: g.nodes.map((n) => n.op), inputs: g.inputs, outputs, model: g.model(outputs)};
}

/// One row times a matrix that is computed, all alone.
function single_row() {
    const g = new graph(17), x = g.input([1, 40]), b = g.input([40, 6]);
    return finished(g, g.node('MatMul', [x, g.node('Tanh', [b], [40, 6])], [1, 6]));
}

/// A Slice to the largest number of 32 bits, which Octet keeps for that of 64 bits: ONNX Runtime does not take it for the whole.
function slice_to_32_bits() {
    const g = new graph(17), x = g.input([4, 8]), one = (value) => g.constant('s64', [1], [value]);
    const y = g.node('Slice', [g.node('Tanh', [x], [4, 8]), one(0), one(2 ** 31 - 1), one(1)], [4, 8]);
    return finished(g, g.node('Exp', [y], [4, 8]));
}

/// More keys than ONNX Runtime takes at once: 1 MiB / 16 / (256 + 256) on a machine whose second cache has 1 MiB.
function several_blocks() {
    const g = new graph(17), dims = [1, 520, 256];
    return finished(g, g.node('com.microsoft.MultiHeadAttention', [g.input(dims), g.input(dims), g.input(dims)], dims, {num_heads: 1}));
}

/// `bound`: of the difference of the first element that differs; 0: the same bytes from other operators.
module.exports = [
    {name: 'single_row', bound: 2e-6, graph: single_row},
    {name: 'several_blocks', bound: 2e-6, graph: several_blocks},
    {name: 'slice_to_32_bits', bound: 0, graph: slice_to_32_bits},
];
