// Milliseconds of the processor's time that a prompt and a token behind it take in ONNX Runtime, as JSON:
// decoder_speed.cjs MODEL THREADS PROMPT TOKENS. decoder_speed.py calls it. Each step gets the present of the
// one before as its past.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const ort = require('onnxruntime-node');
const [, , model, threads, prompt, tokens] = process.argv;

async function main() {
    const session = await ort.InferenceSession.create(
        model, {graphOptimizationLevel: 'all', intraOpNumThreads: +threads, interOpNumThreads: 1});
    let pasts = {};
    for (const {name, shape} of session.inputMetadata)
        if (name.startsWith('past')) {
            const dims = [1, shape[1], 0, shape[3]];
            pasts[name] = new ort.Tensor('float32', new Float32Array(0), dims);
        }
    const integers = (values) => new ort.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
    let done = 0;
    async function step(ids) {
        done += ids.length;
        const begin = process.cpuUsage();
        const outputs = await session.run(
            {...pasts, input_ids: integers(ids), attention_mask: integers(Array(done).fill(1))});
        const {user, system} = process.cpuUsage(begin), took = (user + system) / 1e3;
        for (const name of Object.keys(pasts)) pasts[name] = outputs[name.replace('past_key_values', 'present')];
        return took;
    }
    const empty = pasts, ids = Array.from({length: +prompt}, (_, i) => 1 + i % 30);
    await step([1]); // ONNX Runtime plans in the first run
    [pasts, done] = [{...empty}, 0];
    const result = {prompt: await step(ids), token: Infinity};
    for (let i = 0; i < +tokens; i++) result.token = Math.min(result.token, await step([2]));
    console.log(JSON.stringify(result));
}
main();
