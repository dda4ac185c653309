// The arrays of an uncompressed .npz file, as numpy.savez and onnx_writer.cjs write it.
// SPDX-License-Identifier: Apache-2.0
'use strict';

/// {name: bytes of the array}.
function arrays_of(file) {
    const end = file.lastIndexOf('PK\x05\x06', undefined, 'latin1'), arrays = {};
    let entry = file.readUInt32LE(end + 16);
    for (let left = file.readUInt16LE(end + 10); left > 0; left--) {
        if (file.readUInt16LE(entry + 10) !== 0) throw new Error('a compressed .npz file');
        const size = file.readUInt32LE(entry + 24), local = file.readUInt32LE(entry + 42),
              name_length = file.readUInt16LE(entry + 28);
        const name = file.toString('utf8', entry + 46, entry + 46 + name_length).replace(/\.npy$/, '');
        const start = local + 30 + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28);
        const npy = file.subarray(
            start, start + size); // version 1: 10 bytes, of which the last two are the header's length
        arrays[name] = npy.subarray(10 + npy.readUInt16LE(8));
        entry += 46 + name_length + file.readUInt16LE(entry + 30) + file.readUInt16LE(entry + 32);
    }
    return arrays;
}

module.exports = {arrays_of};
