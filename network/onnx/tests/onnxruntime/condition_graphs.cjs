// Graphs on both sides of conditions of ONNX Runtime's passes that patterns rarely touch: names of open
// dimensions, dimensions and types of operands, attributes, which node comes first in the file. Each function
// below is of one pass; all have ONNX Runtime's bytes, passes and operators in Octet.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');
const {count, broadcast} = require('./random_graphs.cjs');

const wave = (dims, step) => Array.from({length: count(dims)}, (_, i) => Math.sin(i * step + 0.3));
const whole = {
    u8: (v) => Math.round(128 + 120 * v), s8: (v) => Math.round(120 * v), s32: (v) => Math.round(9 * v),
    s64: (v) => Math.round(9 * v)
};

class conditions extends graph {
    number(value, dims = []) {
        return this.constant('f32', dims, Array(count(dims)).fill(value));
    }
    floats(dims, step = 0.9) {
        return this.constant('f32', dims, wave(dims, step));
    }
    codes(type, dims) {
        return this.constant(type, dims, wave(dims, 0.7).map(whole[type]));
    }
    integers(values) {
        return this.constant('s64', [values.length], values);
    }
    same(op, x, attributes = {}, ...others) {
        return this.node(op, [x, ...others], this.dims[x], attributes);
    }
    two(op, a, b) {
        return this.node(op, [a, b], broadcast(this.dims[a], this.dims[b]));
    }
    swapped(op, a, b, is_swapped) {
        return is_swapped ? this.two(op, b, a) : this.two(op, a, b);
    }
    matmul(a, b) {
        return this.node('MatMul', [a, b], [...this.dims[a].slice(0, -1), this.dims[b].at(-1)]);
    }
    moved(x, perm) {
        return this.node('Transpose', [x], perm.map((d) => this.dims[x][d]), {perm});
    }
    finished(...outputs) {
        for (const [k, i] of this.inputs.entries()) i.values = wave(i.dims, 1.7 + k).map(whole[i.dtype] ?? ((v) => v));
        return {
            opset: this.opset, operators: this.nodes.map((n) => n.op), inputs: this.inputs, outputs,
            model: this.model(outputs)
        };
    }
}

const all = [];
const add = (name, opset, make) => all.push({name, graph: () => {
    const g = new conditions(opset), outputs = make(g);
    return g.finished(...[outputs].flat());
}});
const text = (dims) => `{${dims}}`;

// ---- Gelu and its kin

function gelu(g, x) {
    const sum = g.two('Add', g.same('Erf', g.same('Div', x, {}, g.number(Math.SQRT2))), g.number(1));
    return g.two('Mul', g.two('Mul', x, g.number(0.5)), sum);
}
for (const opset of [13, 20])
    for (const [row, of_x] of [['h', 'h'], ['k', 'h'], [undefined, 'h'], ['h', undefined]])
        add(`bias_of_open_size_${opset}_${row}_${of_x}`, opset,
            (g) => gelu(
                g, g.two('Add', g.input([2, 3, 12], [undefined, undefined, of_x]), g.input([12], [row]))));
for (const approximate of ['none', 'tanh'])
    for (const is_swapped of [false, true])
        for (const dims of [[17], [1, 17], [1], []])
            add(`bias_of_operator_${approximate}_${is_swapped}_${text(dims)}`, 20,
                (g) => g.same('Gelu', g.swapped('Add', g.input([3, 17]), g.floats(dims), is_swapped), {approximate}));
for (const type of ['s32', 'f32'])
    add(`fast_gelu_of_cast_${type}`, 17, (g) => {
        const x = type === 'f32' ? g.input([3, 14]) : g.same('Cast', g.input([3, 14], [], type), {to: 1});
        const u =
            g.two('Mul', g.two('Add', x, g.two('Mul', g.same('Pow', x, {}, g.number(3)), g.number(0.044715))),
                  g.number(0.7978845834732056));
        return g.same('Neg', g.two('Mul', g.two('Add', g.same('Tanh', u), g.number(1)),
                                   g.two('Mul', x, g.number(0.5))));
    });

// ---- Norms

function mean(g, x, keepdims) {
    const dims = g.dims[x].slice(0, -1).concat(keepdims ? [1] : []);
    return g.opset < 18 ? g.node('ReduceMean', [x], dims, {axes: [-1], keepdims})
                        : g.node('ReduceMean', [x, g.integers([-1])], dims, {keepdims});
}
const root = (g, x, exponent, keeps) =>
    g.same('Sqrt', g.two('Add', mean(g, g.same('Pow', x, {}, exponent), keeps), g.number(1e-3)));

for (const opset of [13, 17, 18]) {
    const exponents = {
        f32: (g) => g.number(2), s32: (g) => g.constant('s32', [], [2]),
        s64: (g) => g.constant('s64', [1], [2])
    };
    for (const [type, exponent] of Object.entries(exponents))
        for (const [first, second] of [[1, 1], [0, 1], [1, 0], [0, 0]])
            for (const is_swapped of [false, true]) {
                if (type !== 'f32' && (first !== 1 || is_swapped)) continue;
                add(`norm_${opset}_${type}_${first}${second}_${is_swapped}`, opset, (g) => {
                    const x = g.two('Add', g.input([6, 6, 6]), g.number(1.5)), d = g.two('Sub', x, mean(g, x, first));
                    const scaled =
                        g.two('Mul', g.swapped('Div', d, root(g, d, exponent(g), second), is_swapped),
                              g.floats([6]));
                    return g.two('Add', scaled, g.floats([6], 0.4));
                });
            }
    for (const [type, exponent] of Object.entries(exponents))
        for (const keeps of [1, 0])
            add(`rms_norm_${opset}_${type}_${keeps}`, opset, (g) => {
                const x = g.input([6, 6, 6]);
                return g.two('Mul', g.two('Div', x, root(g, x, exponent(g), keeps)), g.floats([6]));
            });
    for (const [scale, shift] of [['a', 'b'], ['a', 'a'], ['a', undefined], [undefined, 'b']])
        add(`norm_by_rows_${opset}_${scale}_${shift}`, opset, (g) => {
            const x = g.input([3, 4, 6]), d = g.two('Sub', x, mean(g, x, 1));
            return g.two('Add',
                         g.two('Mul', g.two('Div', d, root(g, d, g.number(2), 1)), g.input([6], [scale])),
                         g.input([6], [shift]));
        });
}
const rows = [[1], [], [6], [1, 6], [1, 1, 6], [4, 6], [4, 1], [3, 1, 1], [3, 1, 6], [3, 4, 6]];
for (const axis of [-1, 1, 0])
    for (const is_sum of [false, true])
        for (const scale of rows)
            for (const shift of [undefined, [1], [6], [1, 6], [4, 6], [3, 4, 6]]) {
                if (is_sum && String(scale) === '1' && (!shift || shift.length === 1))
                    continue; // ONNX Runtime's kernel fails
                if (is_sum && String(scale) === '6' && String(shift) === '1') continue;
                add(`norm_operator_${axis}_${is_sum}_${text(scale)}_${shift ? text(shift) : 'none'}`, 17, (g) => {
                    const x = is_sum ? g.two('Add', g.input([3, 4, 6]), g.input([3, 4, 6])) : g.input([3, 4, 6]);
                    return g.node('LayerNormalization',
                                  [x, g.floats(scale)].concat(shift ? [g.floats(shift, 0.4)] : []), [3, 4, 6],
                                  {axis});
                });
            }

// ---- Products of codes

/// Codes of A with their scale and zero point, B's scale; what they give.
function integer_product(g, {b = [8, 5], a_scale, b_scale = [], is_swapped = false, is_computed = false, row}) {
    let a, scale, zero;
    if (a_scale) {
        [a, scale, zero] = [g.input([3, 8], [], 'u8'), g.number(0.03, a_scale), g.constant('u8', [], [7])];
    } else {
        a = g.node('DynamicQuantizeLinear', [g.input([...b.slice(0, -2), 3, 8])], [...b.slice(0, -2), 3, 8], {}, 3);
        [scale, zero] = g.more;
        g.dims[scale] = g.dims[zero] = [];
    }
    const matrix = is_computed ? g.input(b, [], 's8') : g.codes('s8', b), dims = [...g.dims[a].slice(0, -1), b.at(-1)];
    const sums = g.node('Cast', [g.node('MatMulInteger', [a, matrix, zero], dims)], dims, {to: 1});
    const y = g.two('Mul', sums,
                    g.swapped('Mul', scale,
                              g.constant('f32', b_scale, wave(b_scale, 0.8).map((v) => 0.02 + 0.01 * v)),
                              is_swapped));
    return row ? g.two('Add', y, g.floats(row)) : y;
}
for (const row of [undefined, [5], [1, 5], [1]])
    for (const is_swapped of [false, true])
        for (const b_scale of [[], [1], [1, 1], [5], [1, 5]])
            for (const a_scale of [undefined, [], [1], [1, 1]])
                add(`scales_${row ? text(row) : 'none'}_${is_swapped}_${text(b_scale)}_${
                        a_scale ? text(a_scale) : 'dynamic'}`,
                    17, (g) => integer_product(g, {row, is_swapped, b_scale, a_scale}));
for (const b_scale of [[], [5], [1, 5], [1, 1, 5], [2, 1, 5], [2, 1, 1]])
    for (const is_computed of [false, true])
        add(`scales_of_matrices_${text(b_scale)}_${is_computed}`, 17,
            (g) => integer_product(g, {b: [2, 8, 5], b_scale, is_computed}));
for (const is_computed of [false, true])
    for (const row of [undefined, [5]])
        for (const behind of ['Relu', 'Add'])
            add(`own_dynamic_product_${is_computed}_${row}_${behind}`, 17, (g) => {
                const b = is_computed ? g.input([8, 5], [], 's8') : g.codes('s8', [8, 5]);
                const inputs = [g.input([3, 8]), b, g.number(0.02), g.constant('s8', [], [3])].concat(
                    row ? [g.floats(row)] : []);
                const y = g.node('com.microsoft.DynamicQuantizeMatMul', inputs, [3, 5]);
                return behind === 'Add' ? g.two('Add', y, g.floats([5], 0.4)) : g.same('Relu', y);
            });

// ---- Products of floats

for (const [dims, open] of [[[5], ['n']], [[5], []], [[1, 5], [undefined, 'n']]])
    for (const a of [[3, 8], [2, 3, 8]])
        add(`summand_${text(dims)}_${open}_${text(a)}`, 17,
            (g) => g.two('Add', g.matmul(g.input(a), g.floats([8, 5])), g.input(dims, open)));
for (const left of [1, 2, 3])
    for (const right of [1, 2, 3])
        for (const is_right_first of [false, true])
            add(`factors_${left}_${right}_${is_right_first}`, 17, (g) => {
                const scaled = (x, n) => Array.from({length: n})
                                             .reduce((t, _, i) => g.same(i % 2 ? 'Mul' : 'Div', t, {},
                                                                         g.number([0.3, 1.7, 0.9][i])),
                                                     x);
                const [x, y] = [g.input([3, 8]), g.input([8, 5])],
                          b = is_right_first ? scaled(y, right) : undefined, a = scaled(x, left);
                return g.same('Mul', g.matmul(a, b ?? scaled(y, right)), {}, g.number(1.1));
            });
for (const type of ['s32', 's64', 'u8', 's8'])
    for (const side of [0, 1])
        for (const reader of [undefined, 'of_cast', 'of_transpose'])
            add(`cast_of_transpose_${type}_${side}_${reader}`, 17, (g) => {
                const t = g.moved(g.input([4, 3], [], type), [1, 0]), x = g.same('Cast', t, {to: 1}), outputs = [];
                if (reader === 'of_cast') outputs.push(g.same('Neg', x));
                if (reader === 'of_transpose') outputs.push(g.same('Cast', t, {to: type === 's32' ? 7 : 6}));
                return [...outputs, side ? g.matmul(g.input([5, 3]), x) : g.matmul(x, g.input([4, 5]))];
            });
for (const opset of [9, 13, 22])
    add(`transpose_without_order_${opset}`, opset, (g) => {
        const [a, b] = [g.input([6, 4]), g.input([5, 6])].map((t) => g.node('Transpose', [t], g.dims[t].toReversed()));
        return g.matmul(a, b);
    });
add('transpose_by_itself', 17, (g) => {
    const t = g.moved(g.input([4, 4]), [1, 0]);
    return g.matmul(t, t);
});
for (const [transBatchA, transBatchB] of [[0, 1], [1, 0], [1, 1]])
    for (const transA of [0, 1])
        add(`batch_transposed_${transBatchA}${transBatchB}${transA}`, 17, (g) => {
            const a = [2, ...(transA ? [5, 3] : [3, 5])], b = [2, 5, 4];
            const of = (dims, moves) => g.input(moves ? [dims[1], dims[0], dims[2]] : dims);
            return g.node('com.microsoft.FusedMatMul', [of(a, transBatchA), of(b, transBatchB)], [2, 3, 4],
                          {transA, transBatchA, transBatchB});
        });

/// A norm that is read by three products, of which so many have rows, and by a sum.
for (const rows of [0, 1, 3])
    for (const dims of [[2, 3, 8], [3, 8]])
        add(`products_of_norm_${rows}_${text(dims)}`, 17, (g) => {
            const row = () => g.floats([8]), norm = g.same('LayerNormalization', g.input(dims), {}, row(), row());
            const all_products = [0, 1, 2].map((k) => {
                const y = g.matmul(norm, g.floats([8, 8], 0.9 + 0.1 * k));
                return g.same('Tanh', k < rows ? g.two('Add', y, row()) : y);
            });
            const behind = g.two('Mul', g.two('Mul', all_products[0], all_products[1]), all_products[2]);
            return g.two('Add', g.two('Add', g.matmul(behind, g.floats([8, 8])), row()), norm);
        });

// ---- Parts of a tensor

const index = (g, x, at, axis, dims = []) =>
    g.node('Gather', [x, g.constant('s64', dims, Array(count(dims)).fill(at))],
           g.dims[x].flatMap((n, d) => (d === axis ? dims : [n])), {axis});
const range = (g, x, begin, end, axis, step) => g.node(
    'Slice',
    [x, g.integers([begin]), g.integers([end]), g.integers([axis])].concat(step ? [g.integers([step])] : []),
    g.dims[x].map((n, d) => (d === axis ? Math.ceil((Math.min(Number(end), n) - begin) / (step ?? 1)) : n)));
const parts = {
    indices: (g, x) => [0, 1, 2].map((at) => index(g, x, at, 1)),
    lists: (g, x) => [2, 1, 0].map((at) => index(g, x, at, 1, [1])),
    mixed: (g, x) => [index(g, x, 0, 1), range(g, x, 1, 3, 1)],
    steps: (g, x) => [index(g, x, 0, 1), range(g, x, 1, 3, 1, 1)],
    step_of_2: (g, x) => [range(g, x, 0, 3, 1, 2), index(g, x, 1, 1)],
    to_the_end: (g, x) => [range(g, x, 0, 1, 1), range(g, x, 1, 2n ** 63n - 1n, 1)],
    some: (g, x) => [index(g, x, 0, 1), index(g, x, 1, 1)],
    overlapping: (g, x) => [index(g, x, 0, 1), range(g, x, 0, 3, 1)],
    other_axis: (g, x) => [index(g, x, 0, 0), index(g, x, 1, 1), index(g, x, 2, 1)],
    with_others: (g, x) => [...[0, 1, 2].map((at) => index(g, x, at, 1)), g.same('Neg', x)],
};
for (const opset of [11, 13, 20])
    for (const [name, of] of Object.entries(parts))
        for (const open of [[], ['n'], [undefined, 'n']])
            for (const is_input of [true, false])
                add(`parts_${name}_${opset}_${open}_${is_input}`, opset, (g) => {
                    const x = g.input([2, 3, 4], open);
                    return of(g, is_input ? x : g.same('Tanh', x)).map((y) => g.same('Exp', y));
                });

// ---- Transposes

for (const axis of [0, 1, 2, 3])
    for (const dims of [[], [1], [2]])
        for (const order of [[0, 2, 3, 1], [3, 2, 1, 0]])
            add(`index_of_moved_${axis}_${text(dims)}_${order}`, 17, (g) => {
                const y = index(g, g.moved(g.input([2, 3, 4, 5]), order), 1, axis, dims.length ? dims : []);
                return g.moved(y, g.dims[y].map((_, d, all_dims) => (d + 1) % all_dims.length));
            });
for (const op of ['Greater', 'GreaterOrEqual', 'Less', 'LessOrEqual', 'Equal'])
    add(`comparison_of_moved_${op}`, 17, (g) => {
        const [x, z] = [g.input([2, 3, 4]), g.input([2, 3, 4])].map((t) => g.moved(t, [2, 0, 1]));
        return g.moved(g.same('Cast', g.two(op, x, z), {to: 1}), [1, 2, 0]);
    });
/// As vision transformers have it.
for (const open of [[], ['n']])
    add(`queries_of_one_product_${open}`, 17, (g) => {
        const x = g.input([2, 5, 12], open), y = g.two('Add', g.matmul(x, g.floats([12, 24])), g.floats([24]));
        const heads = g.moved(g.node('Reshape', [y, g.integers([-1, 5, 3, 2, 4])], [2, 5, 3, 2, 4]), [2, 0, 3, 1, 4]);
        const [q, k, v] = [0, 1, 2].map((at) => index(g, heads, at, 0));
        return g.matmul(
            g.same('Softmax', g.matmul(g.two('Mul', q, g.number(0.5)), g.moved(k, [0, 1, 3, 2])), {axis: -1}),
            v);
    });

// ---- Sizes that a network computes

const shape_of = (g, x, attributes = {}) => g.node('Shape', [x], [g.dims[x].length], attributes);
const listed = (g, t) => (g.opset < 13 ? g.node('Unsqueeze', [t], [1], {axes: [0]})
                                       : g.node('Unsqueeze', [t, g.integers([0])], [1]));
const size_at = (g, x, at, dims = []) =>
    g.node('Gather', [shape_of(g, x), g.constant('s64', dims, [at])], dims, {axis: 0});
const sliced = (g, x, d, more = []) =>
    g.node('Slice', [shape_of(g, x), g.integers([d]), g.integers([d + 1]), ...more], [1]);
const sizes = {
    index: (g, x, d) => listed(g, size_at(g, x, d)),
    index_from_behind: (g, x, d) => listed(g, size_at(g, x, d - 3)), list: (g, x, d) => size_at(g, x, d, [1]),
    slice: (g, x, d) => sliced(g, x, d, [g.integers([0])]), slice_without_axes: (g, x, d) => sliced(g, x, d),
    squeezed: (g, x, d) => listed(g, g.node('Squeeze', [sliced(g, x, d)], [])),
    part: (g, x, d) => shape_of(g, x, {start: d, end: d + 1}), rest: (g) => g.integers([-1]),
    constant: (g, x, d) => g.integers([g.dims[x][d]]),
};
for (const opset of [13, 17])
    for (const [first, of_first] of Object.entries(sizes))
        for (const [second, of_second] of Object.entries(sizes))
            for (const open of [['b'], ['b', 's']]) {
                if ((first === 'part' || second === 'part') && opset < 15) continue;
                if (first === 'constant' || (first === 'rest' && second === 'rest')) continue;
                if (open.length === 2 && first !== second && second !== 'index') continue;
                add(`sizes_${first}_${second}_${open}_${opset}`, opset, (g) => {
                    const x = g.input([2, 4, 8], open), t = g.same('Tanh', x), moved = g.moved(t, [0, 2, 1]);
                    const list = g.node('Concat', [of_first(g, t, 0), of_second(g, t, 1), g.integers([8])],
                                        [3], {axis: 0});
                    const sum = g.two('Add', g.node('Reshape', [moved, list], [2, 4, 8]), x);
                    return opset < 17 ? gelu(g, g.two('Add', sum, g.floats([8])))
                                      : g.same('LayerNormalization', sum, {}, g.floats([8]), g.floats([8]));
                });
            }
/// The token of a class before patches, for each image of an open batch.
add('expanded_for_each_image', 17, (g) => {
    const x = g.input([2, 4, 8], ['b']), y = g.same('Tanh', x), minus = g.constant('s64', [3], [-1, -1, -1]);
    const list = g.node('Concat', [listed(g, size_at(g, x, 0)), g.integers([-1]), g.integers([-1])], [3], {axis: 0});
    const to = g.node('Where', [g.node('Equal', [list, minus], [3]), g.constant('s64', [3], [1, 1, 1]), list], [3]);
    const tokens = g.node('Concat', [g.node('Expand', [g.floats([1, 1, 8]), to], [2, 1, 8]), y], [2, 5, 8], {axis: 1});
    const places = g.two('Add', tokens, g.floats([1, 5, 8])), z = g.two('Add', g.same('Neg', places), places);
    return g.same('LayerNormalization', z, {}, g.floats([8]), g.floats([8]));
});

/// Positions up to an open length: of a Slice to a computed end nothing is known, of the rows that they
/// choose the last size alone.
const positions = (g, ids, table) => {
    const up_to = g.node('Slice',
                         [
                             g.constant('s64', [1, 8], [0, 1, 2, 3, 4, 5, 6, 7]), g.integers([0]),
                             listed(g, size_at(g, ids, 1)), g.integers([1])
                         ],
                         [1, 4]);
    return g.node('Gather', [table, up_to], [1, 4, 8]);
};
for (const opset of [11, 13, 20]) {
    add(`positions_${opset}`, opset, (g) => {
        const ids = g.input([2, 4], ['batch', 'length']), rows = positions(g, ids, g.floats([8, 8]));
        const first = g.node('Concat', [listed(g, size_at(g, rows, 0)), g.integers([-1]), g.integers([2, 4])],
                             [4], {axis: 0});
        const last = g.node('Concat', [listed(g, size_at(g, rows, 0)), g.integers([-1]), g.integers([8])],
                            [3], {axis: 0});
        const heads = g.moved(g.node('Reshape', [rows, first], [1, 4, 2, 4]), [0, 2, 1, 3]);
        return g.node('Reshape', [g.moved(heads, [0, 2, 1, 3]), last], [1, 4, 8]);
    });
    add(`positions_added_${opset}`, opset, (g) => {
        const ids = g.input([2, 4], ['batch', 'length']), x = g.input([2, 4, 2, 4], ['batch']),
              y = g.input([2, 4, 8], ['batch']);
        const sum = g.two('Add', y, positions(g, ids, g.floats([8, 8])));
        const list = g.node('Concat', [listed(g, size_at(g, sum, 0)), g.integers([-1]), g.integers([8])], [3],
                            {axis: 0});
        return gelu(g, g.two('Add', g.floats([16]),
                             g.matmul(g.node('Reshape', [x, list], [2, 4, 8]), g.floats([8, 16]))));
    });
}
/// A tensor of known sizes that takes those of another one.
add('split_of_computed_sizes', 21, (g) => {
    const x = g.input([2, 8, 4, 4], ['batch']), y = g.input([1, 4, 2, 4, 4]), shape = shape_of(g, x);
    const at = (d) => g.node('Gather', [shape, g.integers([d])], [1], {axis: 0});
    const z = g.node('Reshape',
                     [y, g.node('Concat', [g.integers([0]), g.integers([8]), at(2), at(3)], [4], {axis: 0})],
                     [1, 8, 4, 4]);
    const part = (from, to) =>
        g.node('Slice', [z, g.integers([from]), g.integers([to]), g.integers([1])], [1, 4, 4, 4]);
    return g.node('Concat', [part(0, 4), g.same('Tanh', part(4, 8))], [1, 8, 4, 4], {axis: 1});
});
/// Two views of what one pair gives have one list of sizes, and each a DequantizeLinear of its own.
add('heads_of_one_pair', 13, (g) => {
    const parameters = [g.constant('f32', [], [0.03]), g.constant('u8', [], [128])], x = g.input([1, 4, 8], [, 's']);
    const y = g.node('DequantizeLinear',
                     [g.node('QuantizeLinear', [x, ...parameters], [1, 4, 8]), ...parameters], [1, 4, 8]);
    const sizes = [listed(g, size_at(g, y, 0)), listed(g, size_at(g, y, 1)), g.integers([2]), g.integers([-1])];
    const heads = (order, dims) =>
        g.node('Transpose', [g.node('Reshape', [y, g.node('Concat', sizes, [4], {axis: 0})], [1, 4, 2, 4])],
               dims, {perm: order});
    return g.matmul(heads([0, 2, 1, 3], [1, 2, 4, 4]), heads([0, 2, 3, 1], [1, 2, 4, 4]));
});

/// A constant that one of its readers wants moved: the others read it behind a Transpose, and may give theirs for it.
const readers = {
    product: (g, c) => [g.two('Mul', g.moved(g.input([2, 6, 4, 8]), [0, 2, 1, 3]), c)],
    sum_alone: (g, c) => [g.two('Add', g.input([2, 4, 6, 8]), c)],
    matrix: (g, c) => [g.node('MatMul', [g.input([2, 4, 8, 6]), c], [2, 4, 8, 8])],
    whole: (g, c) => [g.same('Tanh', c)],
    twice: (g, c) => ['Mul', 'Sub'].map((op) => g.two(op, g.moved(g.input([2, 6, 4, 8]), [0, 2, 1, 3]), c)),
    read_twice: (g, c) =>
        ((x) => [g.two('Mul', x, c), g.same('Tanh', x)])(g.moved(g.input([2, 6, 4, 8]), [0, 2, 1, 3])),
};
for (const opset of [11, 14, 17])
    for (const [name, others] of Object.entries(readers))
        for (const is_first of [true, false])
            for (const leads of [true, false])
                add(`shared_constant_${name}_${is_first}_${leads}_${opset}`, opset, (g) => {
                    const c = g.floats([1, 4, 6, 8]), y = g.input([2, 6, 4, 8]);
                    const one = () => {
                        const sum = g.two('Add', g.moved(y, [0, 2, 1, 3]), c);
                        return leads ? g.moved(sum, [0, 2, 3, 1]) : g.same('Neg', sum);
                    };
                    const early = is_first ? one() : undefined, more = others(g, c), last = early ?? one();
                    const parts = more.flatMap(
                        (t) => [g.node('Slice', [t, g.integers([0]), g.integers([1]), g.integers([3])],
                                       [...g.dims[t].slice(0, 3), 1]),
                                g.same('Abs', t)]);
                    const to_row = (t) => g.node('Reshape', [t, g.integers([-1])], [g.dims[t].reduce((a, b) => a * b)]);
                    const rows = (is_first ? [...parts, last] : [last, ...parts]).map(to_row);
                    return g.node('Concat', rows, [rows.reduce((sum, t) => sum + g.dims[t][0], 0)], {axis: 0});
                });

/// Transposes that cancel around a pair and leave two readers to its DequantizeLinear: what comes together
/// then goes at level 2.
for (const type of ['u8', 's8'])
    for (const [name, reader] of Object.entries(
             {sum: (g, t) => g.two('Add', t, g.input([3, 4, 8])), negative: (g, t) => g.same('Neg', t)}))
        for (const scale of [0.03, 0.02])
            add(`pair_read_twice_${type}_${name}_${scale}`, 17, (g) => {
                const pair = (t, by) => ['QuantizeLinear', 'DequantizeLinear'].reduce(
                    (x, op) => g.node(
                        op,
                        [x, g.constant('f32', [], [by]), g.constant(type, [], [type === 'u8' ? 128 : -7])],
                        g.dims[x]),
                    t);
                const t = g.moved(pair(g.moved(g.input([3, 4, 8]), [0, 2, 1]), 0.03), [0, 2, 1]);
                const rows = [reader(g, t), pair(g.same('Relu', pair(t, scale)), 0.03)].map(
                    (y) => g.node('Reshape', [y, g.integers([-1])], [96]));
                return g.node('Concat', rows, [192], {axis: 0});
            });

module.exports = all;
