// The baseline of load.py: ONNX Runtime behind node's HTTP server, a process per worker. A request's body is
// the bytes of the only input, f32, and the reply's those of the first output.
//     NODE_PATH=…/node_modules node onnxruntime_server.cjs MODEL PORT WORKERS
// SPDX-License-Identifier: Apache-2.0
const cluster = require('node:cluster');
const http = require('node:http');
const [model, port, workers] = process.argv.slice(2);

async function serve() {
    const ort = require('onnxruntime-node');
    const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, interOpNumThreads: 1});
    const name = session.inputNames[0], output = session.outputNames[0];
    const dims = (session.inputMetadata[0] ?? session.inputMetadata[name])
                     .shape.map(d => (Number(d) > 0 ? Number(d) : 1));
    const server = http.createServer((request, reply) => {
        const parts = [];
        request.on('data', part => parts.push(part));
        request.on('end', async () => {
            try {
                const bytes = Buffer.concat(parts);
                const numbers = new Float32Array(
                    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
                const answer = (await session.run({[name]: new ort.Tensor('float32', numbers, dims)}))[output].data;
                const data = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength);
                reply.writeHead(200, {'Content-Length': data.length});
                reply.end(data);
            } catch (failure) {
                reply.writeHead(500);
                reply.end(String(failure));
            }
        });
    });
    server.listen(Number(port), '127.0.0.1', () => console.log('ready'));
}

if (cluster.isPrimary) {
    for (let i = 0; i < Number(workers); i++)
        cluster.fork();
    process.on('SIGTERM', () => {
        for (const worker of Object.values(cluster.workers))
            worker.kill();
        process.exit(0);
    });
} else {
    serve();
}
