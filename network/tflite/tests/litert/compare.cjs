// LiteRT itself, as npm has it, against `octet run --profile litert-2026.08-wasm`: the bytes of all outputs.
//
//     node compare.cjs OCTET networks FOLDER               each .tflite file there, with several random inputs
//     node compare.cjs OCTET random FLATC FIRST COUNT      random networks by number (random_models.cjs);
//                                                          one again: its number, 1
//
// Networks that LiteRT refuses are counted; for a file the refusal is printed. Exit code 0: all equal; 1:
// some differ; 77: the package is missing.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const fs = require('fs'), os = require('os'), path = require('path'), {spawnSync} = require('child_process');
const {Litert, folder_of_package} = require('./litert.cjs');
const {accepted_by_browsers} = require('./flatbuffer.cjs');
const {random_model, json_of, Random} = require('./random_models.cjs');

const profile = 'litert-2026.08-wasm', runs_of_a_file = 3;
const bytes_of = {s8: 1, u8: 1, s16: 2, s32: 4, f32: 4};
const schema = path.join(__dirname, '..', '..', 'reader', 'tflite.fbs');

function run(program, ...words) {
    const {status, stdout, stderr, error} = spawnSync(program, words, {maxBuffer: 2 ** 28});
    if (error || status) throw new Error(error ? error.message : stderr.toString().trim() || stdout.toString().trim());
    return stdout.toString();
}

/// Returns Octet's outputs for the inputs, a Buffer each.
function outputs_of_octet(octet, file, inputs, folder) {
    const names = inputs.map((bytes, i) => path.join(folder, `in_${i}`)), results = path.join(folder, 'out');
    names.forEach((name, i) => fs.writeFileSync(name, inputs[i]));
    fs.rmSync(results, {recursive: true, force: true});
    run(octet, 'run', file, '--profile', profile, '--threads', '1', '--repeat', '1', '--output-dir', results,
        ...names.flatMap((name) => ['--input', name]));
    return fs.readdirSync(results).map((_, i) => fs.readFileSync(path.join(results, `output_${i}.bin`)));
}

/// Empty, or how they differ.
function difference(expected, got) {
    for (let i = 0; i < expected.length; i++) {
        const a = expected[i].bytes, b = got[i];
        if (!b || a.length !== b.length) return `output ${i} has ${b ? b.length : 'no'} bytes, LiteRT's ${a.length}`;
        const places = [...a.keys()].filter((k) => a[k] !== b[k]), [first] = places;
        if (places.length)
            return `output ${i}: byte ${first} is ${b[first]}, LiteRT's is ${a[first]}; ${places.length} of ${
                a.length} differ`;
    }
    return '';
}

function random_bytes(random, {type, dims}) {
    const count = dims.reduce((a, b) => a * b, 1);
    if (type === 'f32') return Buffer.from(Float32Array.from({length: count}, () => random.real(-5, 5)).buffer);
    return Buffer.from(Uint8Array.from({length: count * bytes_of[type]}, () => random.below(256)));
}

async function compare_networks(octet, folder, scratch) {
    const counts = {equal: 0, different: 0, refused: 0};
    for (const name of fs.readdirSync(folder).filter((f) => f.endsWith('.tflite'))) {
        // Both get the file that LiteRT for browsers takes: an axis of a bias decides who computes the node.
        const file = path.join(scratch, name), model = accepted_by_browsers(fs.readFileSync(path.join(folder, name)));
        fs.writeFileSync(file, model);
        const {inputs} = JSON.parse(run(octet, 'inspect', file, '--json'));
        const litert = await Litert.load(), random = new Random(inputs.length);
        for (let i = 0; i < runs_of_a_file; i++) {
            const given = inputs.map((input) => random_bytes(random, input));
            let expected;
            try {
                expected = await litert.run(model, given);
            } catch (e) {
                counts.refused++;
                console.log(`${name}: not compared, LiteRT refuses it: ${e.message}`);
                break;
            }
            const found = difference(expected, outputs_of_octet(octet, file, given, scratch));
            found ? counts.different++ : counts.equal++;
            if (found) console.log(`${name}, inputs ${i}: ${found}`);
        }
    }
    return counts;
}

async function compare_random(octet, flatc, first, count, scratch) {
    const counts = {equal: 0, different: 0, refused: 0}, numbers = Array.from({length: count}, (_, i) => first + i);
    const file_of = (number, ending) => path.join(scratch, `${number}.${ending}`);
    for (const number of numbers) fs.writeFileSync(file_of(number, 'json'), json_of(random_model(number)));
    for (let i = 0; i < count; i += 200)
        run(flatc, '-b', '-o', scratch, schema, ...numbers.slice(i, i + 200).map((number) => file_of(number, 'json')));
    let litert = await Litert.load();
    for (const number of numbers) {
        const m = random_model(number), operators = m.nodes.map((n) => n.op).join(' '),
              inputs = m.inputs.map((t) => m.tensors[t].values);
        let expected;
        try {
            expected = await litert.run(fs.readFileSync(file_of(number, 'tflite')), inputs);
        } catch (e) { // a scale that XNNPACK does not take
            counts.refused++;
            litert = await Litert.load();
            continue;
        }
        let found;
        try {
            found = difference(expected, outputs_of_octet(octet, file_of(number, 'tflite'), inputs, scratch));
        } catch (e) {
            found = `octet: ${e.message}`;
        }
        found ? counts.different++ : counts.equal++;
        if (found) console.log(`network ${number} (${operators}): ${found}`);
    }
    return counts;
}

async function main(octet, what, ...words) {
    if (!folder_of_package()) {
        console.log('skipped: no @litertjs/core in NODE_PATH (scripts/packages.sh)');
        return 77;
    }
    const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'octet_litert_'));
    try {
        const counts = what === 'networks' ? await compare_networks(octet, words[0], scratch)
                                           : await compare_random(octet, words[0], +words[1], +words[2], scratch);
        console.log(`${counts.equal} runs equal, ${counts.different} different, ${
            counts.refused} networks that LiteRT refuses`);
        return counts.equal && !counts.different ? 0 : 1;
    } finally {
        fs.rmSync(scratch, {recursive: true});
    }
}

main(...process.argv.slice(2)).then((code) => process.exit(code), (e) => { console.error(e); process.exit(2); });
