// The protocol over gRPC, asked by a client that shares no line with the server or its schema: gRPC in
// JavaScript, which learns services and messages by reflection, as grpcurl does.
//     NODE_PATH=…/node_modules node witness_test.cjs OCTET
// with the packages of scripts/packages.sh, which the build's tests find by themselves. Without them the test
// is skipped (exit code 77).
// SPDX-License-Identifier: Apache-2.0
const assert = require('node:assert');
const {spawn} = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

let grpc, GrpcReflection;
try {
    grpc = require('@grpc/grpc-js');
    ({GrpcReflection} = require('grpc-js-reflection-client'));
} catch {
    console.log('skipped: no @grpc/grpc-js and grpc-js-reflection-client in NODE_PATH');
    process.exit(77);
}

/// Codes of images and their answers, from the goldens of examples/digits.
function digits() {
    const folder = path.join(__dirname, '..', '..', 'examples', 'digits');
    const test = fs.readFileSync(path.join(folder, 'digits_test.bin')),
          answers = fs.readFileSync(path.join(folder, 'digits_golden.bin'));
    const {offset} = JSON.parse(fs.readFileSync(path.join(folder, 'digits_golden.json'))).test_set.tflite.probabilities;
    return Array.from({length: test.readUInt32LE(12)}, (_, i) => ({
        codes: Buffer.from(test.subarray(32 + 64 * i, 96 + 64 * i)).map(pixel => 8 * pixel - 128),
        answer: answers.subarray(offset + 10 * i, offset + 10 * i + 10),
    }));
}

/// The address of gRPC, once the server is ready.
function ready(server) {
    return new Promise((resolve, reject) => {
        let said = '';
        server.stderr.on('data', text => {
            said += text;
            const found = /gRPC (\S+),/.exec(said);
            if (found)
                resolve(found[1]);
        });
        server.on('exit', code => reject(new Error(`the server ended with ${code}: ${said}`)));
    });
}

async function main() {
    const server = spawn(process.argv[2],
                         ['serve', '--demo', '--http', 'off', '--grpc', '127.0.0.1:0', '--metrics', 'off'],
                         {stdio: ['ignore', 'ignore', 'pipe']});
    try {
        const address = await ready(server), insecure = grpc.credentials.createInsecure();
        const reflection = new GrpcReflection(address, insecure);
        const name = 'inference.GRPCInferenceService';
        assert((await reflection.listServices()).includes(name));
        const methods = (await reflection.listMethods(name)).map(method => method.name);
        for (const method of ['ServerLive', 'ServerReady', 'ServerMetadata', 'ModelMetadata', 'ModelReady',
                              'ModelInfer'])
            assert(methods.includes(method), method);
        const schema = (await reflection.getDescriptorBySymbol(name)).getPackageObject({keepCase: true, longs: Number});
        const client = new schema.inference.GRPCInferenceService(address, insecure);
        const call = (method, request) =>
            new Promise((resolve, reject) => client[method](
                            request, {deadline: Date.now() + 60_000},
                            (failure, answer) => (failure ? reject(failure) : resolve(answer))));

        assert.equal((await call('ServerReady', {})).ready, true);
        const about = await call('ModelMetadata', {name: 'digits'});
        assert.deepEqual(about.inputs[0].shape, [-1, 8, 8, 1]);
        const {name: input, datatype} = about.inputs[0];
        const request = codes => ({
            model_name: 'digits', inputs: [{name: input, datatype, shape: [codes.length / 64, 8, 8, 1]}],
            raw_input_contents: [codes]
        });
        const all = digits();
        const answers = await Promise.all(
            all.map(({codes}) => call('ModelInfer', request(codes)))); // at once: they share batches
        answers.forEach((answer, i) => assert(all[i].answer.equals(answer.raw_output_contents[0]), `image ${i}`));
        const three = await call('ModelInfer', request(Buffer.concat(all.slice(0, 3).map(({codes}) => codes))));
        assert(Buffer.concat(all.slice(0, 3).map(({answer}) => answer)).equals(three.raw_output_contents[0]));
        await assert.rejects(call('ModelInfer', {model_name: 'none'}), {code: grpc.status.NOT_FOUND});
        await assert.rejects(call('ModelInfer', request(all[0].codes.subarray(1))),
                             {code: grpc.status.INVALID_ARGUMENT});
        client.close();
        console.log(`${all.length} answers equal, by reflection`);
    } finally {
        server.removeAllListeners('exit');
        const ended = new Promise(resolve => server.on('exit', resolve));
        server.kill('SIGTERM');
        assert.equal(await ended, 0);
    }
    process.exit(0); // reflection keeps its channel
}

main().catch(failure => {
    console.error(failure);
    process.exit(1);
});
