# SPDX-License-Identifier: Apache-2.0
"""The files that C++ tests read: the test images, and what each arithmetic makes of them.

README.md states the formats. Everything here is computed from the written .tflite and .onnx files, not from
the values that went into them.
"""

import hashlib
import json
import struct
import zlib

import numpy as np

import network
import ort_arithmetic
import tflite_arithmetic
import tflite_file

TEST_MAGIC, TEST_VERSION = b"OCTDIGIT", 1
RUNS = 8  # images listed operator by operator; one checksum per activation covers the whole test set
ALIGNMENT = 16
LINE = 200


def test_set(pixels, labels, f32_logits):
    header = struct.pack("<8s6I", TEST_MAGIC, TEST_VERSION, *pixels.shape, network.CLASSES, network.PIXEL_MAX)
    return header + pixels.tobytes() + labels.tobytes() + f32_logits.astype("<f4").tobytes()


class blob:
    def __init__(self):
        self.bytes = bytearray()

    def add(self, values):
        """Stores the codes; returns where, as the JSON says it."""
        self.bytes += bytes(-len(self.bytes) % ALIGNMENT)
        offset, data = len(self.bytes), values.astype(np.int8).tobytes()
        self.bytes += data
        return {"offset": offset, "nbytes": len(data)}


def s8(values):
    return {"dtype": "s8", "dims": list(values.shape)}


def crc32(values):
    return {"crc32": f"{zlib.crc32(values.astype(np.int8).tobytes()):08x}"}


def whole_test_set(values, out):
    """values: activations of all test images by name, in execution order."""
    return {"activations": [{"name": name, **s8(v), **crc32(v)} for name, v in values.items()],
            **{name: {**s8(values[name]), **out.add(values[name])} for name in ("logits", "probabilities")}}


def described(model, index):
    t = model.tensors[index]
    return {"tensor": index, "name": t.name, "dtype": "s8", "dims": t.shape, "scale": float(t.scale[0]).hex(),
            "zero_point": t.zero_point}


def single_run(model, codes, number, out):
    """One image, operator by operator; the first run also stores every intermediate tensor."""
    one = {index: values[number : number + 1] for index, values in codes.items()}

    def stored(index):
        return {"tensor": index, **s8(one[index]), **out.add(one[index])}

    op_outputs = []
    for op_index, o in enumerate(model.operators):
        values = one[o.outputs[0]]
        op_outputs.append({"op_index": op_index, "op": o.op, "output_tensor": o.outputs[0], **s8(values),
                           **crc32(values), **(out.add(values) if number == 0 else {})})
    return {"name": f"test_{number}", "source": f"digits_test.bin, image {number}",
            "inputs": [stored(index) for index in model.inputs],
            "outputs": [stored(index) for index in model.outputs],
            "op_outputs": op_outputs}


def described_model(path, model, codes, out):
    content = path.read_bytes()
    return {"name": path.stem, "file": path.name,
            "sha256": hashlib.sha256(content).hexdigest(), "nbytes": len(content),
            "inputs": [described(model, index) for index in model.inputs],
            "outputs": [described(model, index) for index in model.outputs],
            "ops": [{"op_index": i, "op": o.op, "inputs": o.inputs, "outputs": o.outputs}
                    for i, o in enumerate(model.operators)],
            "runs": [single_run(model, codes, number, out) for number in range(RUNS)]}


def to_json(value, indent=""):
    """JSON in which everything that fits on one line is on one line."""
    line = json.dumps(value)
    if len(line) <= LINE or not isinstance(value, (dict, list)):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {to_json(item, inner)}" for key, item in value.items()]
    else:
        items = [to_json(item, inner) for item in value]
    body = ",\n".join(inner + item for item in items)
    return f"{line[0]}\n{body}\n{indent}{line[-1]}"


def expectations(folder, pixels):
    """The content of digits_golden.json and digits_golden.bin."""
    tflite_path, onnx_path = folder / "digits_int8.tflite", folder / "digits_int8.onnx"
    model = tflite_file.read(tflite_path)
    image_codes = 8 * pixels[..., None].astype(np.int64) - 128
    tflite_codes = tflite_arithmetic.run(model, image_codes)
    ort_values = ort_arithmetic.run(onnx_path, network.as_input(pixels).transpose(0, 3, 1, 2))
    del ort_values["output"]  # f32; the codes before it say the same
    assert np.array_equal(ort_values["image"][:, 0], image_codes[..., 0])

    out = blob()
    named = {model.tensors[index].name: values for index, values in tflite_codes.items()}
    tests = {"images": "digits_test.bin", "tflite": whole_test_set(named, out),
             "ort": whole_test_set(ort_values, out)}
    described_tflite = described_model(tflite_path, model, tflite_codes, out)
    content = bytes(out.bytes)
    golden = {
        "format": "int8-model-goldens/1", "blob": "digits_golden.bin", "byte_order": "little",
        "blob_nbytes": len(content), "blob_sha256": hashlib.sha256(content).hexdigest(),
        "reference": {"what": "tflite_arithmetic.py, ort_arithmetic.py", "rounding": "double rounding"},
        "test_set": tests, "models": [described_tflite],
    }
    return {"digits_golden.json": (to_json(golden) + "\n").encode(), "digits_golden.bin": content}


def report(files, labels, f32_logits):
    """Prints accuracy and agreement; returns the accuracy that the worse arithmetic loses against f32."""
    tests, content = json.loads(files["digits_golden.json"])["test_set"], files["digits_golden.bin"]

    def codes(arithmetic, name):
        where = tests[arithmetic][name]
        return np.frombuffer(content, np.int8, where["nbytes"], where["offset"]).reshape(where["dims"])

    accuracies = {"f32": network.accuracy(f32_logits, labels)}
    print(f"f32     {accuracies['f32']:.2%}")
    for arithmetic in ("tflite", "ort"):
        logits = codes(arithmetic, "logits")
        accuracies[arithmetic] = network.accuracy(logits, labels)
        same = np.mean(logits.argmax(axis=1) == f32_logits.argmax(axis=1))
        print(f"{arithmetic:7} {accuracies[arithmetic]:.2%}, same class as f32 {same:.2%}")
    for name in ("logits", "probabilities"):
        different = codes("tflite", name) != codes("ort", name)
        print(f"tflite and ort differ in {different.sum()} of {different.size} bytes of the {name}")
    return accuracies["f32"] - min(accuracies.values())
