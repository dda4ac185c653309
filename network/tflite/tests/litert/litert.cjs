// LiteRT's interpreter with its default delegate XNNPACK, as npm has it for browsers (@litertjs/core,
// WebAssembly): the bytes of a .tflite model in, the bytes of its outputs out. The package's own loader wants
// a browser and knows no int8, so this one calls the functions that it is made on. Start reading at
// Litert.run.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const fs = require('fs'), path = require('path');

/// Whether npm's package is there, where NODE_PATH says.
function folder_of_package() {
    for (const folder of module.paths.concat((process.env.NODE_PATH || '').split(path.delimiter))) {
        const found = path.join(folder, '@litertjs', 'core');
        if (folder && fs.existsSync(path.join(found, 'package.json'))) return found;
    }
    return null;
}

class Litert {
    static async load() {
        const folder = path.join(folder_of_package(), 'wasm'),
              file = path.join(folder, 'litert_wasm_compat_internal.js');
        const unit = {exports: {}};
        new Function('require', 'module', 'exports', '__filename', '__dirname', fs.readFileSync(file, 'utf8'))(
            require, unit, unit.exports, file, folder);
        const result = new Litert(), print = (line) => { if (/^ERROR/.test(line)) result.errors.push(line); };
        result.errors = [];
        result.wasm = await unit.exports({locateFile: (name) => path.join(folder, name), print, printErr: print});
        result.wasm.setupLogging();
        result.environment = result.wasm.LiteRtEnvironment.create(null);
        return result;
    }

    /// Outputs as {type (of LiteRT's enumeration), bytes}. Throws what LiteRT says of a model that it refuses.
    async run(model, inputs) {
        const {wasm, environment} = this, made = [];
        this.errors = [];
        const keep = (object) => { made.push(object); return object; };
        const at = wasm._malloc(model.length);
        try {
            wasm.HEAPU8.set(model, at);
            const loaded = keep(wasm.loadModel(environment, at, model.length));
            const compiled = keep(await wasm.compileModel(environment, loaded, {
                environment: {liteRtEnvironment: environment}, accelerator: 'wasm', cpuOptions: {numThreads: 1},
                gpuOptions: {}, webNNOptions: {},
            }));
            const buffers = inputs.map((bytes, i) => {
                const type = keep(loaded.getInputTensorType(0, i));
                if (type.bytes() !== bytes.length)
                    throw new Error(`input ${i} has ${type.bytes()} bytes, given ${bytes.length}`);
                const {HOST_MEMORY} = wasm.LiteRtTensorBufferType, {WRITE} = wasm.LiteRtTensorBufferLockMode;
                const buffer =
                    keep(wasm.LiteRtTensorBuffer.createManaged(environment, HOST_MEMORY, type, bytes.length));
                wasm.HEAPU8.set(bytes, buffer.lock(WRITE));
                buffer.unlock();
                return buffer;
            });
            const results = await compiled.run(0, buffers);
            if (this.errors.length)
                throw new Error(
                    'it has no results'); // those of a graph that could not be prepared are nothing
            return results.map((buffer, i) => {
                keep(buffer);
                const type = keep(loaded.getOutputTensorType(0, i)),
                      from = buffer.lock(wasm.LiteRtTensorBufferLockMode.READ);
                const bytes = Buffer.from(wasm.HEAPU8.slice(from, from + type.bytes()));
                buffer.unlock();
                return {type: type.elementType().value, bytes};
            });
        } catch (e) {
            throw new Error([...this.errors, e.message].join('; '));
        } finally {
            for (const object of made.reverse()) object.delete();
            wasm._free(at);
        }
    }
}

module.exports = {Litert, folder_of_package};
