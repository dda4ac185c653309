# SPDX-License-Identifier: Apache-2.0
"""The Python package against NumPy: formulas written out here, golden outputs of the example network,
PyTorch's tensors."""

import doctest
import json
import os
import pickle
import re
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import numpy as np

import octet
from octet import arguments, comparison, contracts, drawing, network, operations, profiling
from digits import DIGITS, Digits, codes, random


def sums(x, w, stride=1, padding=0, dilation=1, groups=1):
    """int64 accumulators of a 2D convolution, one window position at a time."""
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    n, c, h, width = x.shape
    o, _, kh, kw = w.shape
    oh, ow = (h - (kh - 1) * dilation - 1) // stride + 1, (width - (kw - 1) * dilation - 1) // stride + 1
    y = np.zeros((n, o, oh, ow), np.int64)
    for g in range(groups):
        xs, ws = x[:, g * c // groups:(g + 1) * c // groups], w[g * o // groups:(g + 1) * o // groups].astype(np.int64)
        for i in range(kh):
            for j in range(kw):
                window = xs[:, :, i * dilation:i * dilation + (oh - 1) * stride + 1:stride,
                            j * dilation:j * dilation + (ow - 1) * stride + 1:stride]
                y[:, g * o // groups:(g + 1) * o // groups] += np.einsum("nchw,oc->nohw", window, ws[:, :, i, j])
    return y


def tflite_2step(acc, multiplier, shift):
    """SaturatingRoundingDoublingHighMul, then a rounding division by a power of two (halves away from zero)."""
    left, right = max(shift, 0), max(-shift, 0)
    product = acc.astype(object) * (1 << left) * multiplier
    high = np.where(product >= 0, (product + (1 << 30)) // (1 << 31), -((-product + (1 << 30) - 1) // (1 << 31)))
    quotient = high // (1 << right)
    remainder = high - quotient * (1 << right)
    threshold = (((1 << right) - 1) >> 1) + (high < 0)
    return (quotient + (remainder > threshold)).astype(np.int64)


class Operations(unittest.TestCase):
    def test_convolutions_accumulate_exactly(self):
        for groups, stride, padding, dilation in [(1, 1, 1, 1), (2, 2, 0, 1), (1, 1, 2, 2), (70, 1, 1, 1)]:
            x, w = codes(2, 70, 9, 11), codes(70, 70 // groups, 3, 3)
            expected = sums(x, w, stride, padding, dilation, groups)
            y = octet.conv2d(x, w, rule="none", stride=stride, padding=padding, dilation=dilation, groups=groups)
            self.assertEqual(y.dtype, np.int32)
            np.testing.assert_array_equal(y, expected)

    def test_layouts_give_the_same_numbers(self):
        x, w = codes(2, 33, 7, 6, dtype=np.uint8), codes(20, 33, 3, 3)
        expected = sums(x, w, 1, 1)
        last = np.ascontiguousarray(np.moveaxis(x, 1, -1))
        np.testing.assert_array_equal(
            octet.conv2d(last, w, rule="none", padding=1, layout="nhwc"), np.moveaxis(expected, 1, -1))
        np.testing.assert_array_equal(
            octet.conv2d(x, np.moveaxis(w, (0, 1), (-1, -2)), rule="none", padding=1, weights_layout="hwio"), expected)
        strided = np.zeros((4, 33, 7, 12), np.uint8)[::2, :, :, ::2]
        strided[...] = x
        np.testing.assert_array_equal(octet.conv2d(strided, w, rule="none", padding=1), expected)
        np.testing.assert_array_equal(octet.conv2d(x[:, ::-1], w[:, ::-1], rule="none", padding=1), expected)

    def test_fixed_point_rule_per_channel(self):
        x, w, bias = codes(1, 16, 5, 5), codes(67, 16, 1, 1), random.integers(-9999, 9999, 67, np.int32)
        multiplier = random.integers(1 << 30, (1 << 31) - 1, 67)
        shift = random.integers(-12, -3, 67)
        acc = sums(x.astype(np.int64) - 4, w) + bias[:, None, None]
        rounded = [tflite_2step(acc[:, c], int(multiplier[c]), int(shift[c])) for c in range(67)]
        expected = np.clip(np.stack(rounded, 1) - 3, -128, 127)
        y = octet.conv2d(x, w, bias, rule="tflite_2step", multiplier=multiplier, shift=shift, x_zero_point=4,
                         zero_point=-3)
        np.testing.assert_array_equal(y, expected)

    def test_float_scales_and_post_ops(self):
        x, w = codes(5, 64, dtype=np.uint8), codes(48, 64)
        acc = (x.astype(np.int64) @ w.T.astype(np.int64)).astype(np.float32)
        expected = np.clip(np.rint(np.maximum(acc * np.float32(0.01), 0)), -128, 127)
        np.testing.assert_array_equal(octet.linear(x, w, rule="f32", scale=0.01, dtype="int8",
                                                   post_ops=["relu"]), expected)
        residual = random.normal(size=(5, 48)).astype(np.float32)
        expected = acc * np.float32(0.5) + residual
        np.testing.assert_array_equal(
            octet.linear(x, w, rule="f32", scale=0.5, dtype="float32", post_ops=[("add", residual)]), expected)

    def test_matrix_products_broadcast(self):
        x, w = codes(3, 2, 5, 40), codes(2, 40, 33)
        np.testing.assert_array_equal(octet.matmul(x, w, rule="none"), x.astype(np.int32) @ w.astype(np.int32))
        np.testing.assert_array_equal(octet.matmul(x, w[0], rule="none"), x.astype(np.int32) @ w[0].astype(np.int32))

    def test_transposed_convolution(self):
        x, w = codes(1, 6, 4, 5), codes(6, 7, 3, 3)
        expected = np.zeros((1, 7, 9, 11), np.int64)
        for i in range(4):
            for j in range(5):
                expected[:, :, 2 * i:2 * i + 3, 2 * j:2 * j + 3] += np.einsum(
                    "nc,cohw->nohw", x[:, :, i, j].astype(np.int64), w.astype(np.int64))
        np.testing.assert_array_equal(octet.conv_transpose2d(x, w, rule="none", stride=2), expected)

    def test_pooling_concat_reduce_resize(self):
        x = codes(2, 9, 6, 8)
        windows = x.reshape(2, 9, 3, 2, 4, 2)
        np.testing.assert_array_equal(octet.max_pool2d(x, 2), windows.max((3, 5)))
        np.testing.assert_array_equal(octet.concat([x, x[:, :3]], 1), np.concatenate([x, x[:, :3]], 1))
        np.testing.assert_array_equal(octet.resize(x, (12, 16)), x.repeat(2, 2).repeat(2, 3))
        f = x.astype(np.float32)
        np.testing.assert_array_equal(octet.reduce(f, "max", (2, 3)), f.max((2, 3)))
        np.testing.assert_allclose(octet.softmax(f[0, 0], 1).sum(1), np.ones(6), rtol=1e-6)

    def test_codes_and_reals(self):
        reals = random.normal(size=(4, 5)).astype(np.float32)
        np.testing.assert_array_equal(octet.quantize(reals, scale=0.02, zero_point=3),
                                      np.clip(np.rint(reals / np.float32(0.02)) + 3, -128, 127))
        per_channel = octet.quantize(reals, scale=[0.1, 0.2, 0.3, 0.4, 0.5], zero_point=[0] * 5, axis=1)
        np.testing.assert_array_equal(per_channel, np.rint(reals / np.float32([0.1, 0.2, 0.3, 0.4, 0.5])))
        self.assertEqual(octet.quantize_multiplier(0.5), (1 << 30, 0))

    def test_wrong_arguments_are_named(self):
        x, w = codes(1, 4, 5, 5), codes(8, 4, 3, 3)
        for error, words, text in [(ValueError, {"rule": "nearest"}, "allowed: automatic"),
                                   (TypeError, {"scales": 1}, "unexpected keyword argument 'scales'"),
                                   (TypeError, {"rule": "tflite_2step", "multiplier": 1 << 30},
                                    "without shift"),
                                   (ValueError, {"padding": (1, 2, 3)}, "padding has 3 values"),
                                   (ValueError, {"groups": 3}, "groups is 3"),
                                   (ValueError, {"layout": "hcwn"}, "layout is 'hcwn'"),
                                   (ValueError, {"rule": "tflite_2step", "multiplier": [1, 2], "shift": 0},
                                    "multipliers")]:
            with self.assertRaises(error) as raised:
                octet.conv2d(x, w, **words)
            self.assertIn(text, str(raised.exception))
        with self.assertRaisesRegex(TypeError, "x is complex128"):
            octet.conv2d(x.astype(complex), w)


def open_model(op, inputs, names=("a", "b"), dims=("ns", "ns", "ns")):
    """An .onnx file of one operator on inputs a, b, … of these dimensions, all of them open; the last ones
    are the output's."""
    def field(number, value):
        if isinstance(value, int):
            return bytes([number << 3, value])
        value = value.encode() if isinstance(value, str) else value
        return bytes([number << 3 | 2, len(value)]) + value
    names = names[:inputs]
    shapes = [b"".join(field(1, field(2, size)) for size in sizes) for sizes in (*dims[:inputs], dims[-1])]
    values = [field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))) for name,
              shape in zip((*names, "y"), shapes)]
    node = b"".join(field(1, name) for name in names) + field(2, "y") + field(4, op)
    graph = field(1, node) + field(2, "g") + b"".join(field(11, v) for v in values[:-1]) + field(12, values[-1])
    return field(1, 7) + field(7, graph) + field(8, field(2, 13))


class Networks(Digits):
    def test_golden_outputs(self):
        with open(os.path.join(DIGITS, "digits_golden.json")) as file:
            golden = json.load(file)
        with open(os.path.join(DIGITS, golden["blob"]), "rb") as file:
            blob = file.read()

        def read(t):
            kind = {"s8": np.int8, "u8": np.uint8, "f32": np.float32}[t["dtype"]]
            return np.frombuffer(blob[t["offset"]:t["offset"] + t["nbytes"]], kind).reshape(t["dims"])
        compared = 0
        for model in golden["models"]:
            net = octet.Network(os.path.join(DIGITS, model["file"]))
            for run in model["runs"]:
                outputs = net(*[read(t) for t in run["inputs"]])
                for ours, t in zip(outputs if isinstance(outputs, tuple) else [outputs], run["outputs"]):
                    np.testing.assert_array_equal(ours, read(t))
                    compared += 1
        self.assertEqual(compared, 8)

    def test_refused_nodes(self):
        path = os.path.join(DIGITS, "digits_int8.onnx")
        self.assertEqual(octet.refused_nodes(path), [])
        with open(path, "rb") as file:
            other = file.read().replace(b"QLinearSoftmax", b"QLinearSoftmux")
        with tempfile.TemporaryDirectory() as folder:
            unknown = os.path.join(folder, "unknown.onnx")
            with open(unknown, "wb") as file:
                file.write(other)
            (number, reason), = octet.refused_nodes(unknown)
            self.assertEqual(reason, f"unsupported operators: node {number} (QLinearSoftmux)")

    def test_threads(self):
        wrong = []

        def work():
            for image, expected in zip(self.images, self.expected):
                if (self.net(image) != expected).any():
                    wrong.append(image)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_what_numpy_users_pass(self):
        image, expected = self.images[0], self.expected[0]
        np.testing.assert_array_equal(self.net(image.astype(np.int64)), expected)
        np.testing.assert_array_equal(self.net(image[:, ::-1, :, :][:, ::-1]), expected)
        np.testing.assert_array_equal(self.net(np.asfortranarray(image)), expected)
        np.testing.assert_array_equal(self.net(image.tolist()), expected)
        np.testing.assert_array_equal(self.net(image=image), expected)
        info = self.net.inputs[0]
        reals = (image.astype(np.float32) - info.zero_point) * np.float32(info.scale)
        out = self.net.outputs[0]
        for kind in (np.float32, np.float64):
            np.testing.assert_array_equal(self.net(reals.astype(kind)),
                                          (expected.astype(np.float32) - out.zero_point) * np.float32(out.scale))
        np.testing.assert_array_equal(self.net(memoryview(np.ascontiguousarray(image))), expected)

    def test_results_are_the_callers(self):
        first = self.net(self.images[0])
        kept = first.copy()
        self.net(self.images[1])
        np.testing.assert_array_equal(first, kept)

    def test_dlpack(self):
        class Foreign:
            def __init__(self, array): self.array = array
            def __dlpack__(self, stream=None): return self.array.__dlpack__()
            def __dlpack_device__(self): return self.array.__dlpack_device__()
        np.testing.assert_array_equal(self.net(Foreign(self.images[0].copy())), self.expected[0])
        y = self.net(self.images[0])
        shared = np.from_dlpack(y)
        self.assertEqual(shared.ctypes.data, y.ctypes.data)  # the result's own memory

    def test_buffers(self):
        image = bytearray(np.ascontiguousarray(self.images[0]).tobytes())
        view = memoryview(image).cast("b", (1, 8, 8, 1))
        np.testing.assert_array_equal(self.net(view), self.expected[0])
        y = memoryview(self.net(self.images[0]))
        self.assertEqual((y.format, y.shape, y.tobytes()), ("b", (1, 10), self.expected[0].tobytes()))
        x = np.arange(6, dtype=np.int32).reshape(2, 3)
        np.testing.assert_array_equal(octet.dequantize(memoryview(x), scale=0.5), x / 2)

    def test_sizes(self):
        net = octet.Network(os.path.join(DIGITS, "digits_int8.tflite"), batch=4, threads=1)
        np.testing.assert_array_equal(net(self.images[:4, 0]), np.concatenate(self.expected[:4]))
        net.resize(batch=20)
        np.testing.assert_array_equal(net(self.images[:, 0]), np.concatenate(self.expected))
        with self.assertRaisesRegex(ValueError, "dimension"):
            net.resize(dimensions={"n": 3})

    def test_resize_while_others_call(self):
        """Each call is of the sizes that it was checked for, whatever `resize` does meanwhile: every row of
        every result."""
        net = octet.Network(os.path.join(DIGITS, "digits_int8.tflite"), threads=1)
        images, expected = self.images[:, 0], np.concatenate(self.expected)
        out = net.outputs[0]
        reals = (expected.astype(np.float32) - out.zero_point) * np.float32(out.scale)
        info = net.inputs[0]
        real_images = (images.astype(np.float32) - info.zero_point) * np.float32(info.scale)
        is_over, wrong, fitting = threading.Event(), [], []

        def check(got, wanted, batch):
            fitting.append(batch)
            if got.shape != wanted[:batch].shape or (got != wanted[:batch]).any():
                wrong.append((batch, got))

        def work(seed):
            random = np.random.default_rng(seed)
            while not is_over.is_set():
                batch = int(random.choice((1, 2, 20)))
                try:
                    if seed % 4 == 0:
                        check(net(real_images[:batch]), reals, batch)
                    elif seed % 4 == 1:
                        check(net.trace(images[:batch])[out.name], expected, batch)
                    elif seed % 4 == 2:
                        check(net.run({info.name: images[:batch]})[out.name], expected, batch)
                    else:
                        check(net(images[:batch]), expected, batch)
                    net.inputs, net.nodes, net.buffer_bytes, net.last_inputs
                except ValueError as e:
                    if "Network.resize takes other sizes" not in str(e):
                        wrong.append(e)
                except Exception as e:  # pylint: disable=broad-except
                    wrong.append(e)
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        try:
            for batch in (1, 20, 2) * 50:
                net.resize(batch=batch)
                time.sleep(0.001)
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(set(fitting), {1, 2, 20})
        self.assertEqual(net.outputs[0].shape[0], 2)

    def test_concurrent_resizes_agree(self):
        net = octet.Network(os.path.join(DIGITS, "digits_int8.tflite"), threads=1)
        threads = [threading.Thread(target=lambda b=b: [net.resize(batch=b) for _ in range(20)]) for b in (3, 5, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(pickle.loads(pickle.dumps(net)).inputs, net.inputs)

    def test_inputs_that_change_the_network(self):
        """Arrays are made before a call has its turn, so what makes them may use the network."""
        net = octet.Network(os.path.join(DIGITS, "digits_int8.tflite"), threads=1)

        class Resizing:
            def __init__(self, batch): self.batch = batch
            def __array__(_, dtype=None):
                net.resize(batch=_.batch)
                net(self.images[:_.batch, 0])
                return self.images[0]
        np.testing.assert_array_equal(net(Resizing(1)), self.expected[0])
        with self.assertRaisesRegex(ValueError, "Network.resize takes other sizes"):
            net(Resizing(2))
            net(Resizing(2))

    def test_progress_that_throws(self):
        def progress(done, what):
            if refuses:
                raise KeyError(what)
        refuses = []
        net = octet.Network(os.path.join(DIGITS, "digits_int8.tflite"), threads=1, progress=progress)
        refuses.append(True)
        with self.assertRaises(KeyError):
            net.resize(batch=3)
        np.testing.assert_array_equal(net(self.images[0]), self.expected[0])

    def test_progress_cannot_use_the_network(self):
        refusals = []

        def progress(done, what):
            if nets and not refusals:
                for use in (lambda: nets[0](self.images[0]), lambda: nets[0].resize(batch=3),
                            nets[0].reset_state, lambda: nets[0].nodes):
                    with self.assertRaisesRegex(ValueError, "in use by this thread") as refusal:
                        use()
                    refusals.append(refusal)
        nets = []
        nets.append(octet.Network(os.path.join(DIGITS, "digits_int8.tflite"), threads=1, progress=progress))
        nets[0].resize(batch=2)
        self.assertEqual(len(refusals), 4)
        np.testing.assert_array_equal(nets[0](self.images[:2, 0]), np.concatenate(self.expected[:2]))

    def test_misaligned_arrays(self):
        def misaligned(array):
            bytes_ = np.zeros(array.nbytes + 1, np.uint8)
            moved = bytes_[1:].view(array.dtype).reshape(array.shape)
            moved[...] = array
            self.assertFalse(moved.flags.aligned)
            return moved
        info, out = self.net.inputs[0], self.net.outputs[0]
        reals = ((self.images[0].astype(np.float32) - info.zero_point) * np.float32(info.scale)).astype(np.float32)
        np.testing.assert_array_equal(self.net(misaligned(reals)), self.net(reals))
        np.testing.assert_array_equal(self.net(misaligned(self.images[0].astype(np.int32))), self.expected[0])
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        net = octet.Network(os.path.join(DIGITS, "digits_int8.onnx"))
        floats = np.zeros(net.inputs[0].shape, net.inputs[0].dtype) + net.inputs[0].dtype.type(1)
        np.testing.assert_array_equal(net(misaligned(floats) if floats.itemsize > 1 else floats), net(floats))
        np.testing.assert_array_equal(octet.softmax(misaligned(x)), octet.softmax(x))
        np.testing.assert_array_equal(octet.layer_norm(x, scale=misaligned(x[0, 0]), shift=misaligned(x[0, 1])),
                                      octet.layer_norm(x, scale=x[0, 0], shift=x[0, 1]))
        np.testing.assert_array_equal(octet.dequantize(misaligned(x.astype(np.int32)), scale=0.5), x / 2)

    def test_bytes_paths_and_rules(self):
        with open(os.path.join(DIGITS, "digits_int8.tflite"), "rb") as file:
            np.testing.assert_array_equal(octet.Network(file.read())(self.images[0]), self.expected[0])
        net = octet.Network(os.path.join(DIGITS, "digits_int8.tflite"), rule="ort_f32")
        self.assertEqual(net(self.images[0]).shape, self.expected[0].shape)

    def test_bytes_and_objects_that_serialize_themselves(self):
        with open(os.path.join(DIGITS, "digits_int8.onnx"), "rb") as file:
            content = file.read()

        class ModelProto:  # as protobuf's messages do
            def SerializeToString(self):
                return content
        x = np.zeros((1, 1, 8, 8), np.float32)
        expected = octet.Network(os.path.join(DIGITS, "digits_int8.onnx"))(x)
        for model in (content, bytearray(content), memoryview(content), ModelProto()):
            np.testing.assert_array_equal(octet.Network(model)(x), expected)
        with self.assertRaisesRegex(TypeError, "model is int, allowed: a path, bytes or an onnx.ModelProto"):
            octet.Network(3)

    def test_run_takes_the_array_of_an_only_input(self):
        np.testing.assert_array_equal(self.net.run(self.images[0])[self.net.outputs[0].name], self.expected[0])
        with self.assertRaisesRegex(TypeError, r"takes 2 inputs: run\({'a': …, 'b': …}\)"):
            octet.Network(open_model("Add", 2)).run(np.zeros((1, 1), np.float32))

    def test_context_manager(self):
        with octet.Network(os.path.join(DIGITS, "digits_int8.tflite")) as net:
            np.testing.assert_array_equal(net(self.images[0]), self.expected[0])
        for use in (lambda: net(self.images[0]), lambda: net.run({}), lambda: net.resize(batch=2),
                    lambda: net.nodes, lambda: net.save("/tmp/no")):
            with self.assertRaisesRegex(ValueError, "the network is closed"):
                use()

    def test_open_sizes(self):
        for op, count in (("Relu", 1), ("Add", 2)):
            net = octet.Network(open_model(op, count))
            self.assertEqual([info.shape for info in net.inputs], [(1, -1)] * count)
            self.assertEqual([info.axes for info in net.inputs], [("n", "s")] * count)
            self.assertIn("shape=(1, -1), axes=('n', 's'), dtype=float32", repr(net.inputs))
            self.assertIsNone(net.outputs[0].dtype)  # until a call chooses sizes
            self.assertIn("dtype=None", repr(net))
            expected = (
                "dimension 1 .'s'. has no fixed size, and none is given; a call with an array, or resize, gives one"
            )
            with self.assertRaisesRegex(ValueError, expected):
                net.nodes
            for n, s in [(1, 3), (2, 5), (1, 3)] + [(1, s) for s in range(1, 40)]:
                xs = [random.normal(size=(n, s)).astype(np.float32) for _ in range(count)]
                np.testing.assert_array_equal(net(*xs), np.maximum(xs[0], 0) if op == "Relu" else xs[0] + xs[1])
            self.assertEqual(net.inputs[0].shape, (1, 3))  # of the first call
            self.assertEqual(net.inputs[0].axes, ("n", "s"))
            self.assertIn("n×s", net._repr_html_())
            with self.assertRaisesRegex(ValueError, r"input 'a' has shape 3, allowed is \*x\*"):
                net(*[np.zeros(3, np.float32)] * count)
        with self.assertRaisesRegex(ValueError, "node 0 .Add."):
            net(np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32))
        self.assertEqual(net(np.zeros((2, 3), np.float32), np.zeros((1, 3), np.float32)).shape, (2, 3))

    def test_profiles_have_the_sizes_of_their_inputs(self):
        net = octet.Network(open_model("Relu", 1), batch=1, dimensions={"s": 3})
        for progress in (False, True):
            self.assertEqual([row["shape"] for row in net.profile(np.zeros((4, 5), np.float32),
                                                                  progress=progress).rows()], [(4, 5)])
        self.assertEqual([row["shape"] for row in net.profile().rows()], [(1, 3)])

    def test_names_with_control_characters(self):
        model = open_model("Relu", 1, ["a\nb"])
        for name in ("a\nb", "a?b"):
            self.assertEqual(octet.Network(model, shapes={name: [2, 3]}).inputs[0].shape, (2, 3))
        self.assertEqual(octet.Network(model).inputs[0].name, "a?b")
        with self.assertRaisesRegex(ValueError, r"shape of 'a\?\?b': the network's inputs are 'a\?b'"):
            octet.Network(model, shapes={"a\n\nb": [2, 3]})

    def test_a_fixed_axis_has_no_name(self):
        self.assertEqual(self.net.inputs[0].axes, (None,) * 4)
        self.assertNotIn("axes", repr(self.net.inputs[0]))

    def test_open_sizes_from_many_threads(self):
        net = octet.Network(open_model("Relu", 1), threads=1)
        wrong = []

        def call(seed):
            for i in range(200):
                x = np.random.default_rng(seed * 1000 + i).normal(size=(
                    1 + i % 3, 1 + (seed + i) % 23)).astype(np.float32)
                if not (net(x) == np.maximum(x, 0)).all():
                    wrong.append(x.shape)
        threads = [threading.Thread(target=call, args=(seed,)) for seed in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_rows_alike(self):
        model = open_model("MatMul", 2, dims=("nk", "km", "nm"))
        usual, alike = octet.Network(model), octet.Network(model, rows_alike=True)
        x, w = random.normal(size=(3, 67)).astype(np.float32), random.normal(size=(67, 33)).astype(np.float32)
        together = alike(x, w)
        np.testing.assert_array_equal(usual(x, w), together)
        for net in (alike, pickle.loads(pickle.dumps(alike))):
            np.testing.assert_array_equal(np.concatenate([net(x[i:i + 1], w) for i in range(3)]), together)
        self.assertFalse((np.concatenate([usual(x[i:i + 1], w) for i in range(3)]) == together).all())
        with self.assertRaisesRegex(TypeError, "rows_alike is 'yes'"):
            octet.Network(model, rows_alike="yes")

    def test_saved_plans(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "digits.octet")
            self.net.save(path)
            np.testing.assert_array_equal(octet.Network(path)(self.images[0]), self.expected[0])
            np.testing.assert_array_equal(octet.Network(path, batch=2)(self.images[:2, 0]),
                                          np.concatenate(self.expected[:2]))
            with self.assertRaisesRegex(octet.UnsupportedError, "rule ort_f32: the plan was saved with automatic"):
                octet.Network(path, rule="ort_f32")

    def test_runtime_profile(self):
        path = os.path.join(DIGITS, "digits_int8.tflite")
        usual, net = octet.Network(path), octet.Network(path, profile="litert-2026.08-x86")
        codes = np.random.default_rng(3).integers(-128, 128, net.inputs[0].shape, np.int8)
        self.assertEqual(net(codes).shape, usual(codes).shape)
        same = octet.Network(path, profile="tflm-90b983c")
        np.testing.assert_array_equal(same(codes), usual(codes))
        with self.assertRaisesRegex(ValueError,
                                    "no profile 'litert-2026.08-x68'; the closest are litert-2026.08-x86, "):
            octet.Network(path, profile="litert-2026.08-x68")
        for phone in ("litert-2026.08-arm64", "litert-2026.08-arm64-gcc",
                      "litert-2026.08-arm64-a53+litert-2026.08-arm64"):
            shares = octet.Network(path, profile=phone)(codes)
            self.assertLessEqual(np.abs(shares.astype(int) - net(codes)).max(), 1)
        with self.assertRaisesRegex(ValueError, "allowed: one of them"):
            octet.Network(path, profile="litert-2026.08-x86", rule="ort_f32")

    def test_pages_name_every_operator_and_function(self):
        def page(*names):
            with open(os.path.join(DIGITS, "..", "..", "doc", *names), encoding="utf-8") as file:
                return file.read()
        operators, reference = page("operators.md") + page("onnx.md"), page("reference", "python.md")
        for name in [*octet.supported_operators("tflite"), *octet.supported_operators("onnx")]:
            with self.subTest(name):
                self.assertTrue(re.search(rf"\b{name}\b", operators), "neither doc/operators.md nor doc/onnx.md has it")
        for name in octet.__all__:
            if not hasattr(octet.operations, name):  # that page has all of the module
                with self.subTest(name):
                    self.assertTrue(re.search(rf"octet\.{name}\b", reference), "doc/reference/python.md lacks it")

    def test_pages_say_what_is_not_supported(self):
        with open(os.path.join(DIGITS, "..", "..", "doc", "onnx.md"), encoding="utf-8") as file:
            section = file.read().split("## Not supported")[1].split("\n## ")[0]
        for name in ("NonMaxSuppression", "If", "Loop", "Scan"):
            with self.subTest(name):
                self.assertIn(name, section)
                self.assertNotIn(name, octet.supported_operators("onnx"))

    def test_progress(self):
        steps = []
        octet.Network(os.path.join(DIGITS, "digits_int8.tflite"), progress=lambda done, what: steps.append(done))
        self.assertEqual(steps, sorted(steps))


def parts_of_operations():
    """The modules whose functions octet.operations has."""
    return {sys.modules[getattr(operations, name).__module__] for name in operations.__all__
            if name not in ("Array", "Weights")}


def load_tests(loader, tests, pattern):
    os.chdir(os.environ.get("OCTET_SOURCE_DIR", "."))
    for module in (octet, arguments, comparison, contracts, drawing, network, *parts_of_operations(), profiling):
        tests.addTests(doctest.DocTestSuite(module, extraglobs={"np": np}))
    return tests


if __name__ == "__main__":
    unittest.main()
