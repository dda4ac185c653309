// Writes .onnx models (protobuf by hand: no package is needed) and .npz arrays. `graph` is what generators build on.
// SPDX-License-Identifier: Apache-2.0
'use strict';

// ---- Protobuf: fields of integers, of four bytes and of bytes

function varint(value) {
    const bytes = [];
    let v = BigInt.asUintN(64, BigInt(value));
    for (; v > 127n; v >>= 7n) bytes.push(Number(v & 127n) | 128);
    bytes.push(Number(v));
    return Buffer.from(bytes);
}
const integer = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => {
    const data = Buffer.isBuffer(value) ? value : Buffer.from(value);
    return Buffer.concat([varint((field << 3) | 2), varint(data.length), data]);
};
const real = (field, value) => {
    const data = Buffer.alloc(4);
    data.writeFloatLE(value);
    return Buffer.concat([varint((field << 3) | 5), data]);
};

// ---- Types: the number in ONNX, the name in NumPy, bytes, and how an element is written

const types = {
    f32: [1, '<f4', 4, (b, v, o) => b.writeFloatLE(v, o)],
    u8: [2, '|u1', 1, (b, v, o) => b.writeUInt8(v, o)],
    s8: [3, '|i1', 1, (b, v, o) => b.writeInt8(v, o)],
    u4: [21], s4: [22], u2: [25], s2: [26], // of constants, packed
    s32: [6, '<i4', 4, (b, v, o) => b.writeInt32LE(v, o)],
    s64: [7, '<i8', 8, (b, v, o) => b.writeBigInt64LE(BigInt(v), o)],
    bool: [9, '|b1', 1, (b, v, o) => b.writeUInt8(v ? 1 : 0, o)],
};
const bits_of = {u4: 4, s4: 4, u2: 2, s2: 2};
function packed(bits, values) {
    const data = Buffer.alloc(Math.ceil(values.length * bits / 8));
    values.forEach((v, i) => (data[Math.floor(i * bits / 8)] |= (v & ((1 << bits) - 1)) << (i * bits % 8)));
    return data;
}
function data_of(type, values) {
    if (bits_of[type]) return packed(bits_of[type], values);
    const [, , size, write] = types[type];
    const data = Buffer.alloc(size * values.length);
    values.forEach((v, i) => write(data, v, i * size));
    return data;
}

function tensor(name, type, dims, values) {
    return Buffer.concat([
        ...dims.map((d) => integer(1, d)), integer(2, types[type][0]), bytes(8, name),
        bytes(9, data_of(type, values))
    ]);
}

/// Attributes by value: an integer, a list of integers, a text; floats as {float: 0.5}, tensors as {tensor:
/// [type, dims, values]}, graphs as {body: graph, outputs}.
function attribute(name, value) {
    const parts = [bytes(1, name)];
    if (typeof value === 'string') parts.push(bytes(4, value), integer(20, 3));
    else if (Array.isArray(value)) parts.push(...value.map((v) => integer(8, v)), integer(20, 7));
    else if (value.body) parts.push(bytes(6, value.body.graph_bytes(value.outputs, true)), integer(20, 5));
    else if (value.tensor) parts.push(bytes(5, tensor('', ...value.tensor)), integer(20, 4));
    else if (typeof value === 'object') parts.push(real(2, value.float), integer(20, 1));
    else parts.push(integer(3, value), integer(20, 2));
    return Buffer.concat(parts);
}

class graph {
    constructor(opset) {
        this.opset = opset;
        this.nodes = [];
        this.constants = new Map();
        this.constant_nodes = new Set(); ///< those that are nodes, not initializers
        this.replaceable = []; ///< constants that are inputs, too
        this.inputs = []; ///< {name, dtype, dims, names of open ones}
        this.dims = {};
        this.count = 0;
    }
    fresh() {
        return `t${++this.count}`;
    }
    input(dims, open = [], dtype = 'f32') {
        const name = this.fresh();
        this.inputs.push({name, dtype, dims, open});
        this.dims[name] = dims;
        return name;
    }
    constant(type, dims, values) {
        const name = this.fresh();
        this.constants.set(name, {type, dims, values});
        this.dims[name] = dims;
        return name;
    }
    /// Returns the first output; others are in `more`. An operator of another domain than ONNX's has it in
    /// front: 'com.microsoft.Gelu'.
    node(op, inputs, dims, attributes = {}, outputs = 1) {
        const names = Array.from({length: outputs}, () => this.fresh());
        this.nodes.push({op, inputs, outputs: names, attributes});
        names.forEach((n) => (this.dims[n] = dims));
        this.more = names.slice(1);
        return names[0];
    }
    is_read(t) {
        return this.nodes.some(
            (n) => n.inputs.includes(t) ||
                Object.values(n.attributes).some(({body, outputs}) => body?.is_read(t) || outputs?.includes(t)));
    }

    model(outputs) {
        const domains = [...new Set(
            this.nodes.filter((n) => n.op.includes('.')).map((n) => n.op.slice(0, n.op.lastIndexOf('.'))))];
        return Buffer.concat([integer(1, 8), bytes(7, this.graph_bytes(outputs)), bytes(8, integer(2, this.opset)),
                              ...domains.map((d) => bytes(8, Buffer.concat([bytes(1, d), integer(2, 1)])))]);
    }

    /// Inputs of a graph in a node stay, whether they are read or not.
    graph_bytes(outputs, is_inner = false) {
        const value = ({name, dtype, dims, open}) => {
            const shape = dims.map((d, i) => bytes(1, open[i] ? bytes(2, open[i]) : integer(1, d)));
            const type = Buffer.concat([integer(1, types[dtype][0]), bytes(2, Buffer.concat(shape))]);
            return Buffer.concat([bytes(1, name), bytes(2, bytes(1, type))]);
        };
        const node = (n) =>
            Buffer.concat([
                ...n.inputs.map((t) => bytes(1, t)),
                ...n.outputs.map((t) => bytes(2, t)),
                bytes(4, n.op.slice(n.op.lastIndexOf('.') + 1)),
                ...(n.op.includes('.') ? [bytes(7, n.op.slice(0, n.op.lastIndexOf('.')))] : []),
                ...Object.entries(n.attributes).map(([k, v]) => bytes(5, attribute(k, v))),
            ]);
        const constant = ([name, {type, dims, values}]) => tensor(name, type, dims, values);
        const read = [...this.constants].filter(([name]) => this.is_read(name) || outputs.includes(name));
        const is_node = ([name]) => this.constant_nodes.has(name);
        const as_node = (c) => Buffer.concat([
            bytes(2, c[0]), bytes(4, 'Constant'),
            bytes(5, Buffer.concat([bytes(1, 'value'), bytes(5, constant(c)), integer(20, 4)])),
        ]);
        const replaceable = this.replaceable.map((name) => ({name, dtype: 'f32', open: [], dims: this.dims[name]}));
        return Buffer.concat([
            ...read.filter(is_node).map((c) => bytes(1, as_node(c))),
            ...this.nodes.map((n) => bytes(1, node(n))),
            bytes(2, 'random'),
            ...read.filter((c) => !is_node(c)).map((c) => bytes(5, constant(c))),
            ...[...this.inputs, ...replaceable].filter(({name}) => is_inner || this.is_read(name))
                .map((i) => bytes(11, value(i))),
            ...outputs.map((name) => bytes(12, bytes(1, name))),
        ]);
    }
}

// ---- .npz: .npy arrays in an uncompressed zip

const crc_table = Array.from({length: 256}, (_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
    return n >>> 0;
});
const crc32 = (data) => {
    let sum = 0xffffffff;
    for (const b of data) sum = (sum >>> 8) ^ crc_table[(sum ^ b) & 255];
    return (sum ^ 0xffffffff) >>> 0;
};

/// Arrays are {name, dtype, dims, data}.
function npz(arrays) {
    const files = [], directory = [];
    let offset = 0;
    for (const {name, dtype, dims, data} of arrays) {
        const shape = dims.length === 1 ? `(${dims[0]},)` : `(${dims.join(', ')})`;
        let text = `{'descr': '${types[dtype][1]}', 'fortran_order': False, 'shape': ${shape}, }`;
        text += ' '.repeat(63 - ((10 + text.length) % 64)) + '\n';
        const length = Buffer.alloc(2);
        length.writeUInt16LE(text.length);
        const content = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), length, Buffer.from(text), data]);
        const title = Buffer.from(`${name}.npy`), fields = Buffer.alloc(26);
        fields.writeUInt16LE(20, 0); // version, flags, method, time, date
        fields.writeUInt32LE(crc32(content), 10);
        fields.writeUInt32LE(content.length, 14);
        fields.writeUInt32LE(content.length, 18);
        fields.writeUInt16LE(title.length, 22);
        const place = Buffer.alloc(14);
        place.writeUInt32LE(offset, 10);
        const file = Buffer.concat([Buffer.from('PK\x03\x04'), fields, title, content]);
        directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, place, title]));
        files.push(file);
        offset += file.length;
    }
    const list = Buffer.concat(directory), end = Buffer.alloc(18);
    end.writeUInt16LE(arrays.length, 4);
    end.writeUInt16LE(arrays.length, 6);
    end.writeUInt32LE(list.length, 8);
    end.writeUInt32LE(offset, 12);
    return Buffer.concat([...files, list, Buffer.from('PK\x05\x06'), end]);
}

module.exports = {graph, npz, data_of};
