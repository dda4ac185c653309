// Small decoders as builders write them: `decoder_graph(seed)` is a function of the seed. Layers have attention with a
// past in one of three operators, norms, products of floats or of 4- and 8-bit weights, and gated activations. They
// compute with what has the same bytes on every CPU with AVX2: products of two rows at least that are not rounded to
// codes, and no more keys than a vector of AVX2 has.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');
const {dice, count} = require('./random_graphs.cjs');

const most_keys = 8;

class decoder {
    constructor(seed) {
        const d = (this.d = new dice(seed ^ 0x51ed270b));
        this.operator = d.one(['group', 'group', 'several', 'standard']);
        this.g = new graph(this.operator === 'standard' ? d.one([23, 24]) : d.one([17, 18, 21]));
        this.batch = d.one([1, 1, 2, 3]);
        this.rows = this.batch > 1 && d.chance(0.5) ? 1 : d.integer(this.batch === 1 ? 2 : 1, 5);
        this.past = d.chance(0.3) || (this.batch > 1 && this.rows > 1) ? 0 : d.integer(0, most_keys - this.rows);
        if (this.past === 0 && this.rows === 1) this.past = 1;
        this.keys = this.past + this.rows;
        this.groups = d.integer(1, 3);
        this.heads = this.groups * (this.operator === 'several' ? 1 : d.integer(1, 3));
        this.width = d.one([16, 16, 32, 48]);
        this.hidden = d.one([16, 24, 32, 64]);
        this.words = d.integer(5, 40);
        this.kind = d.one(['llama', 'qwen', 'gemma']);
        this.outputs = [];
    }
    values(n, scale = 1) {
        return Array.from({length: n}, () => Math.fround(scale * this.d.normal()));
    }
    floats(dims, scale = 1) {
        return this.g.constant('f32', dims, this.values(count(dims), scale));
    }
    integers(values, dims = [values.length]) {
        return this.g.constant('s64', dims, values);
    }
    given(dims, dtype, open, values) {
        const t = this.g.input(dims, open, dtype);
        this.g.inputs.at(-1).values = values;
        return t;
    }
    dims(last) {
        return [this.batch, this.rows, last];
    }

    // ---- Layers

    bytes(dims) {
        return this.g.constant('u8', dims, Array.from({length: count(dims)}, () => this.d.integer(0, 255)));
    }
    product(x, inner, outputs) {
        const {d, g} = this, bits = d.one([0, 4, 4, 8]), block = d.one([16, 32]), blocks = Math.ceil(inner / block);
        if (bits === 0) return g.node('MatMul', [x, this.floats([inner, outputs], 0.3)], this.dims(outputs));
        const zeros = d.chance(0.5) ? [this.bytes([outputs, Math.ceil(blocks * bits / 8)])] : [];
        return g.node(
            'com.microsoft.MatMulNBits',
            [x, this.bytes([outputs, blocks, block * bits / 8]), this.floats([outputs, blocks], 1 / (1 << bits)),
             ...zeros],
            this.dims(outputs), {K: inner, N: outputs, bits, block_size: block, accuracy_level: 0});
    }
    projection(x, outputs) {
        const y = this.product(x, this.hidden, outputs);
        if (this.kind !== 'qwen') return y;
        return this.g.node('Add', [y, this.floats([outputs], 0.1)], this.dims(outputs));
    }
    norm(x, width, dims) {
        return this.g.node('SimplifiedLayerNormalization', [x, this.floats([width])], dims,
                           {axis: -1, epsilon: {float: 1e-5}, stash_type: 1});
    }
    skip_norm(x, skip) {
        const y = this.g.node(
            'com.microsoft.SkipSimplifiedLayerNormalization', [skip, x, this.floats([this.hidden])],
            this.dims(this.hidden), {epsilon: {float: 1e-5}}, 4);
        const node = this.g.nodes.at(-1);
        node.outputs[1] = node.outputs[2] = '';
        return [y, node.outputs[3]];
    }
    head_norm(x, heads) {
        const {g} = this, all = [this.batch, this.rows, heads, this.width];
        const y = g.node('Reshape', [x, this.integers([0, 0, heads, this.width])], all);
        return g.node('Reshape', [this.norm(y, this.width, all), this.integers([0, 0, heads * this.width])],
                      this.dims(heads * this.width));
    }
    active(gate, inner) {
        const {g} = this, dims = this.dims(inner);
        if (this.kind === 'gemma') return g.node('com.microsoft.FastGelu', [gate], dims);
        return g.node('Mul', [gate, g.node('Sigmoid', [gate], dims)], dims);
    }
    gated(x) {
        const {g} = this, inner = this.d.one([16, 40, 64]);
        const [gate, up] = [this.product(x, this.hidden, inner), this.product(x, this.hidden, inner)];
        return this.product(g.node('Mul', [this.active(gate, inner), up], this.dims(inner)), inner, this.hidden);
    }

    // ---- Attention

    pasts() {
        const dims = [this.batch, this.groups, this.past, this.width];
        return [0, 1].map(() => this.given(dims, 'f32', ['batch', '', 'past', ''], this.values(count(dims))));
    }
    finish(y, node_outputs) {
        this.outputs.push(...node_outputs.slice(1, 3));
        return this.product(y, this.heads * this.width, this.hidden);
    }
    group(x) {
        const {d, g} = this, q = this.heads * this.width, kv = this.groups * this.width;
        const is_packed = this.kind === 'llama' && d.chance(0.6);
        const heads = is_packed ? [this.projection(x, q + 2 * kv), '', '']
                                : [q, kv, kv].map((width) => this.projection(x, width));
        if (this.kind === 'gemma') {
            heads[0] = this.head_norm(heads[0], this.heads);
            heads[1] = this.head_norm(heads[1], this.groups);
        }
        const y = g.node(
            'com.microsoft.GroupQueryAttention', [...heads, ...this.pasts(), ...this.lengths, ...this.angles],
            this.dims(q),
            {
                num_heads: this.heads, kv_num_heads: this.groups, do_rotary: 1,
                rotary_interleaved: this.interleaved, local_window_size: d.one([-1, -1, 3]),
                ...(d.chance(0.3) ? {softcap: {float: 20}} : {}),
            },
            3);
        return this.finish(y, g.nodes.at(-1).outputs);
    }
    rotated(x) {
        return this.g.node('com.microsoft.RotaryEmbedding', [x, this.positions, ...this.angles], this.g.dims[x],
                           {interleaved: this.interleaved});
    }
    separate(x) {
        const q = this.heads * this.width, kv = this.groups * this.width;
        return [this.rotated(this.projection(x, q)), this.rotated(this.projection(x, kv)), this.projection(x, kv)];
    }
    several(x) {
        const {g} = this;
        const y = g.node('com.microsoft.MultiHeadAttention',
                         [...this.separate(x), '', '', this.bias, ...this.pasts()], this.dims(this.heads * this.width),
                         {num_heads: this.heads}, 3);
        return this.finish(y, g.nodes.at(-1).outputs);
    }
    standard(x) {
        const {d, g} = this;
        const y = g.node('Attention', [...this.separate(x), this.bias, ...this.pasts()],
                         this.dims(this.heads * this.width),
                         {
                             q_num_heads: this.heads, kv_num_heads: this.groups,
                             ...(d.chance(0.3) ? {softcap: {float: 20}} : {}),
                         },
                         3);
        return this.finish(y, g.nodes.at(-1).outputs);
    }

    // ---- What layers share

    /// Lengths of GroupQueryAttention, or a number for each score, from attention_mask.
    read_mask() {
        const {d, g, batch, keys} = this;
        const is_ragged = this.operator !== 'group' || this.rows === 1 || this.past === 0;
        const values = Array.from({length: batch}, () => {
            const least = this.past === 0 ? 1 : this.rows, some = is_ragged ? d.integer(least, keys) : keys;
            const ones = Array.from({length: keys}, (_, t) => +(t < some));
            return this.operator === 'group' ? ones : ones.reverse();
        });
        if (this.operator === 'group') values[0].fill(1);
        const mask = this.given([batch, keys], 's64', ['batch', 'all'], values.flat());
        if (this.operator !== 'group') {
            const row = g.node('Unsqueeze', [g.node('Cast', [mask], [batch, keys], {to: 1}), this.integers([1, 2])],
                               [batch, 1, 1, keys]);
            const not = g.node('Sub', [g.constant('f32', [], [1]), row], [batch, 1, 1, keys]);
            const padding = g.node('Mul', [not, g.constant('f32', [], [-10000])], [batch, 1, 1, keys]);
            const order = Array.from({length: this.rows * keys},
                                     (_, i) => (i % keys > this.past + Math.floor(i / keys) ? -10000 : 0));
            this.bias = g.node('Add', [padding, g.constant('f32', [1, 1, this.rows, keys], order)],
                               [batch, 1, this.rows, keys]);
            return;
        }
        const ones = this.integers([1]);
        const last = g.node('Sub', [g.node('ReduceSum', [mask, ones], [batch], {keepdims: 0}), ones], [batch]);
        const size = g.node('Gather', [g.node('Shape', [mask], [2]), this.integers([1], [])], [], {axis: 0});
        this.lengths = [g.node('Cast', [last], [batch], {to: 6}), g.node('Cast', [size], [], {to: 6})];
    }
    read_positions() {
        const {d, g} = this, half = this.width / 2;
        const angles = Array.from({length: 16 * half}, (_, i) => Math.floor(i / half) * 1e4 ** (-(i % half) / half));
        this.angles = [Math.cos, Math.sin].map((f) => g.constant('f32', [16, half], angles.map(f).map(Math.fround)));
        this.interleaved = d.integer(0, 1);
        if (this.operator === 'group') return;
        const values = Array.from({length: this.batch * this.rows}, (_, i) => this.past + i % this.rows);
        this.positions = this.given([this.batch, this.rows], 's64', ['batch', 'rows'], values);
    }

    make() {
        const {d, g, batch, rows} = this;
        const ids = this.given([batch, rows], 's64', ['batch', 'rows'],
                               Array.from({length: batch * rows}, () => d.integer(0, this.words - 1)));
        this.read_mask();
        this.read_positions();
        let sum = g.node('Gather', [this.floats([this.words, this.hidden]), ids], this.dims(this.hidden));
        if (this.kind === 'gemma') sum = g.node('Mul', [sum, g.constant('f32', [], [4])], this.dims(this.hidden));
        let x = this.norm(sum, this.hidden, this.dims(this.hidden));
        for (let i = d.integer(1, 2); i > 0; i--) {
            [x, sum] = this.skip_norm(this[this.operator](x), sum);
            [x, sum] = this.skip_norm(this.gated(x), sum);
        }
        const y = this.product(x, this.hidden, this.words);
        return {
            model: g.model([y, ...this.outputs]), opset: g.opset, inputs: g.inputs,
            operators: g.nodes.map((n) => n.op), bytes_only: true,
        };
    }
}

module.exports = {decoder_graph: (seed) => new decoder(seed).make()};
