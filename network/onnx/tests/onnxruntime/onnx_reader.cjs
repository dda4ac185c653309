// Reads which operators an .onnx model has that its outputs depend on by more than sizes: what Shapes alone
// read is left out, since Octet runs none of it (protobuf by hand: no package is needed).
// SPDX-License-Identifier: Apache-2.0
'use strict';

/// Calls each(field, value) for the fields of a message: integers as numbers, all else as bytes.
function fields(message, each) {
    let at = 0;
    const varint = () => {
        let value = 0, factor = 1;
        for (;; factor *= 128) {
            const byte = message[at++];
            value += (byte & 127) * factor;
            if (byte < 128) return value;
        }
    };
    while (at < message.length) {
        const key = varint(), type = key & 7;
        if (type === 0) {
            each(key >>> 3, varint());
            continue;
        }
        const size = type === 2 ? varint() : type === 5 ? 4 : 8;
        each(key >>> 3, message.subarray(at, at + size));
        at += size;
    }
}

/// Returns the operators of a ModelProto in its order.
function operators_of(model) {
    const nodes = [], needed = new Set();
    fields(model, (field, graph) => {
        if (field !== 7) return;
        fields(graph, (part, message) => {
            if (part === 12)
                fields(message, (f, name) => f === 1 && needed.add(name.toString()));
            if (part !== 1) return;
            const node = {inputs: [], outputs: []};
            fields(message, (f, value) => {
                if (f === 1) node.inputs.push(value.toString());
                if (f === 2) node.outputs.push(value.toString());
                if (f === 4) node.op = value.toString();
            });
            nodes.push(node);
        });
    });
    const left = [];
    for (const node of nodes.reverse()) // readers come after their writers
        if (node.outputs.some((t) => needed.has(t))) {
            if (node.op !== 'Shape') node.inputs.forEach((t) => t && needed.add(t));
            left.unshift(node.op);
        }
    return left;
}

module.exports = {operators_of};
