#!/usr/bin/env node
// Writes products with weights in blocks (MatMulNBits) of one size, any number of rows, to time them:
//
//     node make_blocks.cjs directory
//     octet bench --network directory/bits4_block32_level4.onnx --dimension rows=16 --baseline onnxruntime --threads 1
// SPDX-License-Identifier: Apache-2.0
'use strict';
const fs = require('fs'), path = require('path');
const {graph} = require('../../network/onnx/tests/onnxruntime/onnx_writer.cjs');

const [directory] = process.argv.slice(2), N = 4096, K = 4096;
fs.mkdirSync(directory, {recursive: true});
for (const bits of [4, 8])
    for (const block of [32, 128])
        for (const level of [4, 0]) {
            const blocks = K / block, g = new graph(21);
            const codes = Uint8Array.from({length: N * K * bits / 8}, (_, i) => (i * 2654435761) >>> 24);
            const scales = Float32Array.from({length: N * blocks}, (_, i) => 0.01 + 0.001 * (i % 13));
            const y = g.node('com.microsoft.MatMulNBits', [
                g.input([1, K], ['rows']), g.constant('u8', [N, blocks, block * bits / 8], codes),
                g.constant('f32', [N, blocks], scales),
            ], [1, N], {K, N, bits, block_size: block, accuracy_level: level});
            fs.writeFileSync(path.join(directory, `bits${bits}_block${block}_level${level}.onnx`), g.model([y]));
        }
