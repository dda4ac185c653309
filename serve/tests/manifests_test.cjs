// The Kubernetes manifests of serve/deploy against the schemas of Kubernetes' API, which npm's
// kubernetes-models has. With the file of KServe's CustomResourceDefinition for ServingRuntime as a second
// argument, the runtime against that one, too.
//     NODE_PATH=…/node_modules node manifests_test.cjs FOLDER [serving.kserve.io_servingruntimes.yaml]
// with the packages of scripts/packages.sh, which the build's tests find by themselves. Without them the test
// is skipped (exit code 77).
// SPDX-License-Identifier: Apache-2.0
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

let yaml, Ajv;
try {
    yaml = require('js-yaml');
    Ajv = require('ajv');
    require('kubernetes-models/v1/Service');
} catch {
    console.log('skipped: no kubernetes-models and js-yaml in NODE_PATH');
    process.exit(77);
}

const [folder, crd] = process.argv.slice(2);
const documents = name => yaml.loadAll(fs.readFileSync(path.join(folder, name), 'utf8'));

function check(document) {
    const kind = require(`kubernetes-models/${document.apiVersion}/${document.kind}`)[document.kind];
    new kind(document).validate();
    console.log(`${document.apiVersion} ${document.kind}: valid`);
}

/// A structural schema in which keys that it does not name are errors; the API server drops them without a word.
function closed(schema) {
    if (schema.properties && schema.additionalProperties === undefined &&
        !schema['x-kubernetes-preserve-unknown-fields'])
        schema.additionalProperties = false;
    for (const part of [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties])
        if (typeof part === 'object')
            closed(part);
    return schema;
}

const all = documents('octet-serve.yaml');
all.forEach(check);
const wrong = structuredClone(all[0]); // the schemas do find what is wrong
wrong.spec.template.spec.containers[0].ports[0].containerPort = 'http';
assert.throws(() => check(wrong), /containerPort must be integer/);

if (crd) {
    const [runtime] = documents('kserve-runtime.yaml');
    const version = yaml.load(fs.readFileSync(crd, 'utf8'))
                        .spec.versions.find(v => runtime.apiVersion.endsWith('/' + v.name));
    const schema = closed(version.schema.openAPIV3Schema);
    schema.properties.metadata = {type: 'object'};
    const ajv = new (Ajv.default ?? Ajv)({strict: false, validateFormats: false});
    assert(ajv.validate(schema, runtime), ajv.errorsText());
    console.log(`${runtime.apiVersion} ${runtime.kind}: valid`);
}
