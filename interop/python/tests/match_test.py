# SPDX-License-Identifier: Apache-2.0
"""octet.match asks libraries that are here, PyTorch's two engines and ONNX Runtime among them, and roundings
that nobody has. The right contract must be named, and no wrong one: a contract that stays has to agree with
the device on inputs that were never proposed.

    match_test.py            what libraries miss is said, not failed
"""

import base64
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import octet

try:
    import torch
except ImportError:
    torch = None
try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None


def has_onnxruntime():
    try:
        return (onnx is not None and subprocess.run(["node", "-e", "require('onnxruntime-node')"],
                                                    capture_output=True).returncode == 0)
    except FileNotFoundError:
        return False


RUN_ONNX = """
const ort = require('onnxruntime-node');
const request = JSON.parse(require('fs').readFileSync(0));
(async () => {
  const session = await ort.InferenceSession.create(request.model), feeds = {};
  const kinds = {int8: Int8Array, uint8: Uint8Array, float32: Float32Array};
  for (const [name, t] of Object.entries(request.feeds)) {
    const bytes = Uint8Array.from(Buffer.from(t.data, 'base64'));
    feeds[name] = new ort.Tensor(t.type, new kinds[t.type](bytes.buffer), t.dims);
  }
  const y = (await session.run(feeds)).y;
  process.stdout.write(Buffer.from(y.data.buffer, y.data.byteOffset, y.data.byteLength).toString('base64'));
})();
"""


class OnnxRuntime:
    """A device of one operator in ONNX Runtime; constants are initializers."""

    def __init__(self, op, order, constants, output, domain="", **attributes):
        self.op, self.order, self.constants, self.output = op, order, constants, np.dtype(output)
        self.domain, self.attributes = domain, attributes

    def __call__(self, **feeds):
        kind = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "float32": TensorProto.FLOAT}
        rows = next(iter(feeds.values())).shape[0]
        graph = helper.make_graph(
            [helper.make_node(self.op, self.order, ["y"], domain=self.domain, **self.attributes)], "one",
            [helper.make_tensor_value_info(n, kind[str(a.dtype)], a.shape) for n, a in feeds.items()],
            [helper.make_tensor_value_info("y", kind[str(self.output)], None)],
            [numpy_helper.from_array(np.asarray(v), n) for n, v in self.constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13),
                                                        helper.make_opsetid("com.microsoft", 1)])
        model.ir_version = 8
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "one.onnx")
            onnx.save(model, path)
            request = {"model": path, "feeds": {n: {"type": str(a.dtype), "dims": list(a.shape),
                                                   "data": base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()}
                                                for n, a in feeds.items()}}
            done = subprocess.run(["node", "-e", RUN_ONNX], input=json.dumps(request).encode(),
                                  capture_output=True, check=True)
        return np.frombuffer(base64.b64decode(done.stdout), self.output).reshape(rows, -1)


def operand(kind, scale, zero_point=0):
    return {"type": kind, "scale": float(scale), "zero_point": int(zero_point)}


class MatchTest(unittest.TestCase):
    def check(self, description, device, names, most=512):
        """`names`: one of them has to be found; none: no name at all."""
        found = octet.match(description, device, probes=most)
        self.assertLessEqual(found.results, 1024)
        if names:
            self.assertTrue(set(names) & set(found.contracts), f"{description}\n{found}")
        else:
            self.assertEqual(found.contracts, [], description)
        return found

    def test_arithmetic_written_here(self):
        scales = [(0.5, 0.125, 1.0, 1), (0.02, 0.01, 0.05, 7), (0.25, 0.25, 0.5, -3)]
        roundings = {
            "ort_f32": lambda x: np.rint(x), "qnnpack_avgpool": lambda x: np.trunc(x + np.copysign(0.5, x)),
            "tflite_1step": lambda x: np.floor(x + 0.5), "": lambda x: np.floor(x),
            "ties down": lambda x: np.ceil(x - 0.5),
        }
        for s_x, s_w, s_y, z in scales:
            factor = float(np.float32(s_x)) * float(np.float32(s_w)) / float(np.float32(s_y))
            for name, rounding in roundings.items():
                def device(acc):
                    return np.clip(rounding(acc * factor) + z, -128, 127).astype(np.int8)
                description = {"kind": "requantize", "inputs": [operand("s8", s_x), operand("s8", s_w)],
                               "output": operand("s8", s_y, z)}
                if name == "ties down" and s_x == 0.02:
                    continue  # it has no ties, so every rounding to the nearest is the same
                self.check(description, device, [name] if name in octet.rules() else [])

    def test_a_scale_per_channel(self):
        scales = np.float32([0.125, 0.09375, 0.0416, 0.25])
        factors = (np.float32(0.5) * scales / np.float32(1.0)).astype(np.float64)
        description = {"kind": "requantize", "inputs": [operand("s8", 0.5), {"type": "s8", "scale": scales.tolist()}],
                       "output": operand("s8", 1.0, 1)}
        found = self.check(description,
                           lambda acc: np.clip(np.rint(acc * factors) + 1, -128, 127).astype(np.int8),
                           ["ort_f32"])
        self.assertEqual(found.probes[0].shape[1], 4)
        self.assertNotIn("f32", found.contracts)
        wrong = factors * [1, 1, 1, 1.01]  # one channel's factor is nobody's
        self.check(description, lambda acc: np.clip(np.rint(acc * wrong) + 1, -128, 127).astype(np.int8), [])

    def test_sources_that_are_quantized(self):
        """DynamicQuantizeLinear in NumPy, alone and in front of a product."""
        f32 = np.float32

        def codes(x):
            low, high = min(f32(0), x.min()), max(f32(0), x.max())
            scale = f32(1) if low == high else (high - low) / f32(255)
            zero_point = np.rint(np.clip(f32(0) - low / scale, 0, 255))
            return np.rint(np.clip(x / scale, -zero_point, 255 - zero_point)), zero_point, scale

        def quantizer(x):
            return np.stack([sum(codes(row)[:2]) for row in x]).astype(np.uint8)

        def product(x, weights, scales, bias):
            y = np.empty((len(x), len(weights)), f32)
            for row, to in zip(x, y):
                centred, _, scale = codes(row)
                sums = (weights.astype(np.int64) @ centred.astype(np.int64)).astype(f32)
                to[:] = sums * (scale * scales) + bias
            return y

        source = {"type": "f32"}
        found = octet.match({"kind": "dynamic_quantize", "inputs": [source], "output": {"type": "u8"}, "count": 32},
                            quantizer)
        self.assertEqual(found.contracts, ["onnxruntime"])
        found = octet.match({"kind": "dynamic_product", "inputs": [source, {"type": "s8"}], "output": source,
                             "count": 64, "channels": 4}, product, 1024)
        self.assertIn("onnxruntime/onnxruntime", found.contracts)
        self.assertEqual({name.split("/")[0] for name in found.contracts}, {"onnxruntime"})
        self.assertNotIn("onnxruntime/dynamic_row", found.contracts)
        self.assertIsInstance(found.excluded[0].got, float)

    def test_onnx_specification(self):
        """The formula of ONNX's reference evaluator (op_qlinear_matmul.py) in NumPy."""
        for s_x, s_w, s_y, z in [(0.5, 0.125, 1.0, 1), (0.02, 0.01, 0.05, 7), (0.25, 0.5, 1.0, -3)]:
            scales = [np.float32(s) for s in (s_x, s_w, s_y)]

            def device(x, weights):
                c = np.matmul(x.astype(np.int32), weights.astype(np.int32).T)
                d = c * (scales[0] * scales[1] / scales[2])
                assert d.dtype == np.float64
                d += np.int8(z)
                return np.clip(np.rint(d), -128, 127).astype(np.int8)
            description = {"kind": "product", "inputs": [operand("s8", s_x), operand("s8", s_w)],
                           "output": operand("s8", s_y, z)}
            found = self.check(description, device, ["onnx_f64"])
            if s_x != 0.02:  # ties: rules that round before an odd zero point are told apart
                self.assertFalse({"ort_f32", "f64_scale"} & set(found.contracts), found)
            random = np.random.default_rng(1)
            x, w = random.integers(-128, 128, (500, 64), np.int8), random.integers(-128, 128, (5, 64), np.int8)
            factor = float(scales[0] * scales[1] / scales[2])
            ours = octet.matmul(x, np.ascontiguousarray(w.T), rule="onnx_f64", scale=factor, zero_point=z, dtype="int8")
            np.testing.assert_array_equal(ours, device(x, w))

    def test_first_difference_and_refusals(self):
        description = {"kind": "requantize", "inputs": [operand("s8", 0.5), operand("s8", 0.5)],
                       "output": operand("s8", 1, 1)}
        description["output"]["scale"] = np.float32(1)  # NumPy's numbers are numbers
        found = octet.match(description, lambda acc: np.clip(np.rint(acc * 0.25) + 1, -128, 127).astype(np.int8))
        e = next(e for e in found.excluded if e.contract == "tflite_2step")
        self.assertEqual(found.outputs[e.first], e.got)
        self.assertNotEqual(e.expected, e.got)
        self.assertEqual(e.inputs, f"acc = {found.probes[0][e.first]}")
        self.assertIn("consistent with", str(found))
        for device, message in [(lambda acc: np.zeros(3, np.int8), "dimensions 3, allowed"),
                                (lambda acc: np.zeros(len(acc), np.uint8), "type u8, allowed: s8"),
                                (lambda acc: np.full(len(acc), np.nan, np.float32), "element 0 is NaN")]:
            with self.assertRaisesRegex(ValueError, message):
                octet.match(description, device)
        with self.assertRaisesRegex(ValueError, "probes is 15, allowed: 16 to 1024"):
            octet.match(description, lambda acc: acc, probes=15)
        with self.assertRaisesRegex(ValueError, "kind 'nosuch', allowed: requantize"):
            octet.match({"kind": "nosuch"}, lambda acc: acc)

    @unittest.skipIf(torch is None, "PyTorch is not here")
    def test_pytorch(self):
        expected = {"qnnpack": ["ort_f32"], "onednn": ["f32"]}
        for engine, names in expected.items():
            if engine not in torch.backends.quantized.supported_engines:
                continue
            torch.backends.quantized.engine = engine
            for s_x, z_x, s_w, s_y, z_y in [(0.5, 128, 0.125, 1.0, 129), (0.02, 100, 0.01, 0.05, 3),
                                            (0.25, 0, 0.5, 1.0, 101)]:
                s_x, s_w, s_y = (float(np.float32(s)) for s in (s_x, s_w, s_y))

                def device(x, weights):
                    xq = torch._make_per_tensor_quantized_tensor(torch.from_numpy(x), s_x, z_x)
                    wq = torch._make_per_tensor_quantized_tensor(torch.from_numpy(weights), s_w, 0)
                    packed = torch.ops.quantized.linear_prepack(wq, None)
                    return torch.ops.quantized.linear(xq, packed, s_y, z_y).int_repr().numpy()
                description = {"kind": "product", "inputs": [operand("u8", s_x, z_x), operand("s8", s_w)],
                               "output": operand("u8", s_y, z_y)}
                self.check(description, device, names)

    @unittest.skipIf(torch is None, "PyTorch is not here")
    def test_pytorch_elements(self):
        """Sums and products of codes in PyTorch's two engines. What stays consistent agrees on all pairs."""
        named = 0
        every = np.array([(a, b) for a in range(256) for b in range(256)], np.uint8)
        for engine in ("qnnpack", "onednn"):
            if engine not in torch.backends.quantized.supported_engines:
                continue
            torch.backends.quantized.engine = engine
            for kind, s_x, z_x, s_z, z_z, s_y, z_y in [("add", 0.5, 128, 0.25, 100, 1.0, 129),
                                                       ("add", 0.02, 100, 0.01, 0, 0.05, 3),
                                                       ("mul", 0.5, 128, 0.25, 100, 2.0, 129),
                                                       ("mul", 0.02, 100, 0.01, 7, 0.003, 3)]:
                s_x, s_z, s_y = (float(np.float32(s)) for s in (s_x, s_z, s_y))

                def device(x, y):
                    a = torch._make_per_tensor_quantized_tensor(torch.from_numpy(x), s_x, z_x)
                    b = torch._make_per_tensor_quantized_tensor(torch.from_numpy(y), s_z, z_z)
                    return getattr(torch.ops.quantized, kind)(a, b, s_y, z_y).int_repr().numpy()
                description = {"kind": kind, "inputs": [operand("u8", s_x, z_x), operand("u8", s_z, z_z)],
                               "output": operand("u8", s_y, z_y)}
                found = octet.match(description, device, probes=512)
                self.assertLessEqual(found.results, 1024)
                theirs = device(np.ascontiguousarray(every[:, 0]), np.ascontiguousarray(every[:, 1]))
                for name in set(found.contracts) & set(octet.rules()):
                    ours = octet.binary(every[:, 0], every[:, 1], kind, rule=name, x_scale=s_x, x1_scale=s_z,
                                        y_scale=s_y,
                                        x_zero_point=z_x, x1_zero_point=z_z, zero_point=z_y, dtype="uint8")
                    np.testing.assert_array_equal(ours, theirs, f"a false name: {name}, {engine}, {description}")
                    named += 1
        self.assertGreater(named, 0)

    @unittest.skipUnless(has_onnxruntime(), "onnxruntime-node or onnx is not here")
    def test_onnxruntime(self):
        f = np.float32
        for kind, s_x, z_x, s_w, s_y, z_y in [("int8", 0.5, 3, 0.125, 1.0, 1), ("uint8", 0.02, 128, 0.01, 0.05, 3)]:
            short = {"int8": "s8", "uint8": "u8"}[kind]
            t = np.dtype(kind).type

            def product(x, weights):
                run = OnnxRuntime("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"],
                                  {"xs": f(s_x), "xz": t(z_x), "w": weights.T.copy(), "ws": f(s_w),
                                   "wz": np.int8(0), "ys": f(s_y), "yz": t(z_y)}, kind)
                return run(x=x)
            self.check({"kind": "product", "inputs": [operand(short, s_x, z_x), operand("s8", s_w)],
                        "output": operand(short, s_y, z_y)},
                       product, ["ort_f32"])
            both = {"xs": f(s_x), "xz": t(z_x), "zs": f(s_w), "zz": t(0), "ys": f(s_y), "yz": t(z_y)}
            order = ["x", "xs", "xz", "z", "zs", "zz", "ys", "yz"]
            for name in ("add", "mul"):
                def pair(x, y):
                    return OnnxRuntime("QLinear" + name.title(), order, both, kind, "com.microsoft")(x=x, z=y)[:, 0]
                self.check({"kind": name, "inputs": [operand(short, s_x, z_x), operand(short, s_w)],
                            "output": operand(short, s_y, z_y)},
                           pair, ["ort-1.30"])

            def quantize(x):
                return OnnxRuntime("QuantizeLinear", ["x", "ys", "yz"], {"ys": f(s_y), "yz": t(z_y)}, kind)(x=x)[:, 0]
            self.check({"kind": "quantize", "inputs": [{"type": "f32"}], "output": operand(short, s_y, z_y)},
                       quantize, ["ort-1.30"])

            def leaky(x):
                return OnnxRuntime("QLinearLeakyRelu", ["x", "xs", "xz", "ys", "yz"],
                                   {k: both[k] for k in ("xs", "xz", "ys", "yz")}, kind,
                                   "com.microsoft", alpha=0.1)(x=x)[:, 0]
            self.check({"kind": "leaky_relu", "alpha": 0.1, "inputs": [operand(short, s_x, z_x)],
                        "output": operand(short, s_y, z_y)},
                       leaky, ["ort-1.30"], most=256)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
