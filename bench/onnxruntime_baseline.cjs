// ONNX Runtime as the baseline of `octet bench --network`, which has this text inside and starts it with
// `node -e`. Not to be run by hand: it talks in lines of JSON over file descriptor 3.
//
//     <- {"model", "threads", "node_modules", "inputs": [{"name", "type", "dims", "file"}],
//         "outputs": [{"name", "file"}]}
//     -> {"version"}, after a run whose outputs are in the files; or {"error"}, here and below
//     <- 20                       that many runs
//     -> [1.25, ...]              milliseconds of each
//
// The end of the channel ends it.
// SPDX-License-Identifier: Apache-2.0
const fs = require('node:fs');
const net = require('node:net');
const readline = require('node:readline');

const channel = new net.Socket({ fd: 3, readable: true, writable: true });
const reply = (value) => channel.write(`${JSON.stringify(value)}\n`);

function load(nodeModules) {
  const paths = [nodeModules, process.cwd()].filter(Boolean);
  let place;
  try {
    place = require.resolve('onnxruntime-node', { paths });
  } catch {
    throw new Error('the package onnxruntime-node is not installed where node looks for it: ' +
      'npm install --ignore-scripts onnxruntime-node, then --node-modules DIR or NODE_PATH=DIR names its node_modules');
  }
  return require(place);
}

const ARRAYS = { float32: Float32Array, uint8: Uint8Array, int8: Int8Array, int32: Int32Array };

// Token ids are int64 in files and 32 bits in Octet.
function tensorOf(ort, input, metadata) {
  const bytes = fs.readFileSync(input.file);
  const values = new ARRAYS[input.type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const isWide = (metadata || []).some((m) => m.name === input.name && m.type === 'int64');
  return isWide ? new ort.Tensor('int64', BigInt64Array.from(values, BigInt), input.dims) :
    new ort.Tensor(input.type, values, input.dims);
}

function bytesOf(data) {
  const narrow = data instanceof BigInt64Array ? Int32Array.from(data, Number) : data;
  return Buffer.from(narrow.buffer, narrow.byteOffset, narrow.byteLength);
}

async function prepare(request) {
  const ort = load(request.node_modules);
  const session = await ort.InferenceSession.create(request.model, {
    intraOpNumThreads: request.threads, interOpNumThreads: 1, graphOptimizationLevel: 'all',
  });
  const feeds = {};
  for (const input of request.inputs) feeds[input.name] = tensorOf(ort, input, session.inputMetadata);
  const results = await session.run(feeds);
  for (const output of request.outputs) fs.writeFileSync(output.file, bytesOf(results[output.name].data));
  reply({ version: ort.env?.versions?.node ?? ort.env?.versions?.common ?? '' });
  return () => session.run(feeds);
}

async function time(run, count) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const start = process.hrtime.bigint();
    await run();
    times.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  reply(times);
}

async function serve() {
  let run;
  for await (const line of readline.createInterface({ input: channel })) {
    const request = JSON.parse(line);
    try {
      if (run) await time(run, request);
      else run = await prepare(request);
    } catch (error) {
      reply({ error: error.message });
    }
  }
  process.exit(0);
}

serve();
