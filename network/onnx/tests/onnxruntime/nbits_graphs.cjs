// Products with weights in blocks of 2, 4 and 8 bits, the DequantizeLinear of which ONNX Runtime makes them, tables of
// such codes, and codes of 4 bits between QuantizeLinear and DequantizeLinear. `nbits_graph(seed)` is a function of
// the seed. `floats_graph` draws only what has the same bytes on every CPU with AVX2: nothing that is rounded to codes
// while it runs, and no single row of packed weights.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');
const {dice, count} = require('./random_graphs.cjs');

const float16 = 10, float32 = 1;

class nbits {
    constructor(seed, is_portable) {
        this.d = new dice(seed ^ 0x3c6ef372);
        this.g = new graph(this.d.one([21, 23, 24]));
        this.is_portable = is_portable;
        /// Entries of the session.
        this.level = is_portable ? this.d.integer(0, 3) : this.d.integer(0, 4);
        this.block = this.d.one([0, 0, -1, 16, 32, 64, 128, 256]);
    }
    values(n, one) {
        return Array.from({length: n}, one);
    }
    rows() {
        const {d} = this;
        if (this.is_portable) return d.integer(2, 9);
        return d.one([1, 1, 2, 3, 4, 5, 8, 17, 33]);
    }
    input(dims) {
        const {d} = this, t = this.g.input(dims), scale = d.one([1, 1, 30, 1e-3]);
        this.g.inputs.at(-1).values = this.values(count(dims), () => scale * d.normal());
        return t;
    }
    number() {
        return this.d.one([1, 1, 1, -1]) * 2 ** this.d.integer(-6, 0) * (0.5 + this.d.uniform());
    }
    floats(dims, one = () => this.number()) {
        return this.g.constant('f32', dims, this.values(count(dims), one));
    }
    codes(type, dims) {
        const bits = {u8: 8, s8: 8, u4: 4, s4: 4, u2: 2, s2: 2}[type], low = type[0] === 's' ? -(1 << (bits - 1)) : 0;
        return this.g.constant(type, dims, this.values(count(dims), () => this.d.integer(low, low + (1 << bits) - 1)));
    }
    bytes(dims) {
        return this.codes('u8', dims);
    }
    cast(x, to) {
        return this.g.node('Cast', [x], this.g.dims[x], {to});
    }

    product() {
        const {d, g} = this, bits = d.one([4, 4, 8, 2]), block = d.one([16, 32, 32, 64, 128, 256]);
        const K = d.one([d.integer(1, 40), d.integer(1, 300), block * d.integer(1, 9)]),
              N = d.one([d.integer(1, 9), d.integer(1, 40), 4 * d.integer(1, 20)]), G = Math.ceil(K / block);
        const level = d.one(this.is_portable ? [0, 1, 3, undefined] : [4, 4, 4, 0, 1, undefined]);
        const is_narrow = d.chance(0.15), narrow = (t) => (is_narrow ? this.cast(t, float16) : t);
        const batch = d.one([[], [], [1], [2]]), M = Math.max(1, Math.ceil(this.rows() / count(batch)));
        const index = bits === 4 && d.chance(0.1), floats = bits !== 8 && d.chance(0.15);
        const zeros = floats          ? narrow(this.floats([N, G], () => d.integer(0, 60) / 4))
                      : index         ? ''
                      : d.chance(0.6) ? this.bytes(d.one([[N, Math.ceil(G * bits / 8)], [N * Math.ceil(G * bits / 8)]]))
                                      : '';
        const inputs = [
            narrow(this.input([...batch, M, K])), this.bytes([N, G, block * bits / 8]),
            narrow(this.floats(d.one([[N, G], [N * G]]))), zeros,
            index ? g.constant('s32', [K], this.values(K, () => d.integer(0, G - 1))) : '',
            ...(d.chance(0.4) ? [narrow(this.floats([N], () => d.normal()))] : [])
        ];
        while (inputs.at(-1) === '') inputs.pop();
        const attributes = {K, N, bits, block_size: block, ...(level === undefined ? {} : {accuracy_level: level})};
        const y = g.node('com.microsoft.MatMulNBits', inputs, [...batch, M, N], attributes);
        return is_narrow ? this.cast(y, float32) : y;
    }

    dequantized_product() {
        const {d, g} = this, type = d.one(['u4', 's4', 'u4', 's4', 'u8', 's8']), has_blocks = d.chance(0.6);
        const block = d.one([16, 32, 64, 128, 256]), K = d.one([d.integer(1, 99), block * d.integer(1, 5)]),
              N = d.integer(1, 40), G = Math.ceil(K / block), M = this.rows();
        const shape = has_blocks ? [G, N] : d.chance(0.3) ? [] : [N];
        const scale = this.floats(shape), zero = d.chance(0.7) ? [this.codes(type, shape)] : [];
        const w = g.node('DequantizeLinear', [this.codes(type, [K, N]), scale, ...zero], [K, N],
                         has_blocks ? {axis: 0, block_size: block} : {axis: 1});
        const x = this.input([M, K]);
        if (d.chance(0.3))
            return g.node('Gemm', [x, w, ...(d.chance(0.5) ? [this.floats([N], () => d.normal())] : [])], [M, N]);
        const y = g.node('MatMul', [x, w], [M, N]);
        return d.chance(0.4) ? g.node('Add', [y, this.floats([N], () => d.normal())], [M, N]) : y;
    }

    table() {
        const {d, g} = this, type = d.one(['u8', 'u8', 'u4', 's4']), bits = type === 'u8' ? d.one([2, 4, 8]) : 4;
        const block = d.one([16, 32, 64, 128]), in_a_byte = type === 'u8' ? 8 / bits : 1;
        const rows = d.integer(1, 40), columns = d.integer(1, 80) * in_a_byte,
              has_axes = type !== 'u8' && d.chance(0.5);
        const gather_axis = has_axes ? d.integer(0, 1) : 0, quantize_axis = has_axes ? d.integer(0, 1) : 1;
        const blocks = quantize_axis === 1 ? [rows, Math.ceil(columns / block)] : [Math.ceil(rows / block), columns];
        const is_narrow = d.chance(0.3), scales = this.floats(blocks);
        const zeros = !d.chance(0.6) ? []
                      : type === 'u8' ? [this.bytes([rows, Math.ceil(blocks[1] * bits / 8)])]
                                      : [this.codes(type, blocks)];
        const shape = d.one([[3], [2, 2], []]), size = gather_axis === 0 ? rows : columns;
        const indices = this.g.input(shape, [], d.one(['s32', 's64']));
        this.g.inputs.at(-1).values = this.values(count(shape), () => d.integer(-size, size - 1));
        const data = type === 'u8' ? this.bytes([rows, columns / in_a_byte]) : this.codes(type, [rows, columns]);
        const y = g.node('com.microsoft.GatherBlockQuantized',
                         [data, indices, is_narrow ? this.cast(scales, float16) : scales, ...zeros],
                         gather_axis === 0 ? [...shape, columns] : [rows, ...shape],
                         {bits, block_size: block, gather_axis, quantize_axis});
        return is_narrow ? this.cast(y, float32) : y;
    }

    pair() {
        const {d, g} = this, type = d.one(['u4', 's4']), dims = [d.integer(1, 6), d.integer(1, 40)],
              block = d.one([0, 2, 3, 16]);
        const axis = d.integer(0, 1), blocks = dims.map((n, i) => (i === axis ? Math.ceil(n / block) : n));
        const shape = block !== 0 ? blocks : d.chance(0.5) ? [] : [dims[axis]];
        const scale = this.floats(shape, () => 0.1 + d.uniform()), zero = this.codes(type, shape);
        const attributes = block !== 0 ? {axis, block_size: block} : shape.length === 0 ? {} : {axis};
        const q = g.node('QuantizeLinear', [this.input(dims), scale, zero], dims, attributes);
        return g.node('DequantizeLinear', [q, scale, zero], dims, attributes);
    }

    make() {
        const {d, g} = this, outputs = [];
        for (let i = d.integer(1, 2); i > 0; i--)
            outputs.push(d.one([
                () => this.product(), () => this.product(), () => this.dequantized_product(), () => this.table(),
                () => this.pair()
            ])());
        return {
            model: g.model(outputs), opset: g.opset, inputs: g.inputs, operators: g.nodes.map((n) => n.op),
            session: {qdq_matmulnbits_accuracy_level: this.level, qdq_matmulnbits_block_size: this.block},
        };
    }
}

const nbits_graph = (seed) => new nbits(seed, false).make(), floats_graph = (seed) => new nbits(seed, true).make();

module.exports = {nbits_graph, floats_graph};
