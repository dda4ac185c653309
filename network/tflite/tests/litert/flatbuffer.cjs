// Removes from a file, in place, what LiteRT for browsers does not take and other versions run: sizes that
// the file leaves open (the tensor's own size stands beside them), and axes of biases beyond their only
// dimension. Nothing else of the file changes.
// SPDX-License-Identifier: Apache-2.0
'use strict';

/// Slots of the tables of the schema (network/tflite/reader/tflite.fbs), in the order of their fields.
const subgraphs_of_model = 2, tensors_of_subgraph = 0, shape = 0, quantization = 4, shape_signature = 7,
      quantized_dimension = 6;

function accepted_by_browsers(model) {
    const bytes = Buffer.from(model);
    const follow = (at) => at + bytes.readUInt32LE(at);
    const entry = (table, slot) => { // where the vtable says where a field is
        const vtable = table - bytes.readInt32LE(table), at = vtable + 4 + 2 * slot;
        return at < vtable + bytes.readUInt16LE(vtable) ? at : 0;
    };
    const field = (table, slot) => {
        const at = entry(table, slot);
        return at && bytes.readUInt16LE(at) ? table + bytes.readUInt16LE(at) : 0;
    };
    const tables = (vector) => Array.from({length: bytes.readUInt32LE(vector)}, (_, i) => follow(vector + 4 + 4 * i));

    const signatures = [];
    for (const subgraph of tables(follow(field(follow(0), subgraphs_of_model))))
        for (const tensor of tables(follow(field(subgraph, tensors_of_subgraph)))) {
            if (field(tensor, shape_signature)) signatures.push(entry(tensor, shape_signature));
            const rank = field(tensor, shape) ? bytes.readUInt32LE(follow(field(tensor, shape))) : 0;
            const numbers = field(tensor, quantization) && follow(field(tensor, quantization));
            const axis = numbers && field(numbers, quantized_dimension);
            if (axis && bytes.readInt32LE(axis) >= rank) bytes.writeInt32LE(0, axis);
        }
    for (const at of signatures) bytes.writeUInt16LE(0, at); // tensors share vtables, so at last
    return bytes;
}

module.exports = {accepted_by_browsers};
