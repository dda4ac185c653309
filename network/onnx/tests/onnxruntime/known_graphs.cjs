// Graphs that have other bytes or operators in Octet than in ONNX Runtime, as doc/onnx.md lists them. A test
// sees to it that each still differs, and by no more than is said here.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');

const wave = (count, step) => Array.from({length: count}, (_, i) => Math.sin(i * step));

function finished(g, ...outputs) {
    for (const [k, i] of g.inputs.entries()) i.values = wave(i.dims.reduce((a, b) => a * b, 1), 1.7 + k);
    return {opset: g.opset, operators: g.nodes.map((n) => n.op), inputs: g.inputs, outputs, model: g.model(outputs)};
}

/// A Slice to the largest number of 32 bits, which Octet keeps for that of 64 bits: ONNX Runtime does not
/// take it for the whole.
function slice_to_32_bits() {
    const g = new graph(17), x = g.input([4, 8]), one = (value) => g.constant('s64', [1], [value]);
    const y = g.node('Slice', [g.node('Tanh', [x], [4, 8]), one(0), one(2 ** 31 - 1), one(1)], [4, 8]);
    return finished(g, g.node('Exp', [y], [4, 8]));
}

/// More keys than ONNX Runtime takes at once: 1 MiB / 16 / (256 + 256) on a machine whose second cache has 1 MiB.
function several_blocks() {
    const g = new graph(17), dims = [1, 520, 256];
    return finished(g, g.node('com.microsoft.MultiHeadAttention',
                              [g.input(dims), g.input(dims), g.input(dims)], dims, {num_heads: 1}));
}

/// Channels last, around a Resize of the images between two Transposes.
function between_transposes(mode) {
    const g = new graph(17), x = g.input([1, 4, 5, 3]),
          moved = g.node('Transpose', [x], [1, 3, 4, 5], {perm: [0, 3, 1, 2]});
    const y = g.node('Resize', [moved, '', g.constant('f32', [4], [1, 1, 2, 2])], [1, 3, 8, 10], {mode});
    return finished(g, g.node('Transpose', [y], [1, 8, 10, 3], {perm: [0, 2, 3, 1]}));
}

/// Rows of a table from the first to an open size.
function range_of_size() {
    const g = new graph(17), x = g.input([5, 4], ['n']), number = (value) => g.constant('s64', [], [value]);
    const size = g.node('Gather', [g.node('Shape', [x], [2]), number(0)], [], {axis: 0}),
          places = g.node('Range', [number(0), size, number(1)], [5]);
    return finished(
        g,
        g.node('Add',
               [x, g.node('Gather', [g.constant('f32', [8, 4], wave(32, 0.9)), places], [5, 4], {axis: 0})],
               [5, 4]));
}

/// `bound`: of the difference of the first element that differs; 0: the same bytes from other operators.
module.exports = [
    {name: 'resize_between_transposes', bound: 0, graph: () => between_transposes('linear')},
    {name: 'cubic_between_transposes', bound: 2e-6, graph: () => between_transposes('cubic')},
    {name: 'range_of_size', bound: 0, graph: range_of_size},
    {name: 'several_blocks', bound: 2e-6, graph: several_blocks},
    {name: 'slice_to_32_bits', bound: 0, graph: slice_to_32_bits},
];
