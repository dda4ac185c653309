# SPDX-License-Identifier: Apache-2.0
"""Every primitive of the C++ API has a function in Python, which gives what a formula written out here gives.

The formulas are those of the headers in include/octet, in NumPy, with each rounding where the header has it.
Sizes: one element, vectors and their tails (1, 63, 65, 130 channels); arrays that are views, in several
orders.
"""

import glob
import inspect
import os
import re
import subprocess
import pickle
import sys
import unittest

import numpy as np

import octet
from digits import codes, random
from package_test import tflite_2step

octet.set_num_threads(1)  # thousands of small calls, which would wait for each other's cores on a busy machine
SOURCE = os.environ.get("OCTET_SOURCE_DIR", ".")
CHANNELS = (1, 63, 65, 130)
f32 = np.float32

# One call of each function; `Completeness` sees which primitives they run.
CALLS = """
x, image = np.ones((2, 3), f), np.ones((1, 2, 4, 4), c)
line, volume = np.ones((1, 2, 4), c), np.ones((1, 2, 4, 4, 4), c)
w = lambda sides: np.ones((2, 2) + (1,) * sides, c)
calls = dict(
    avg_pool1d=lambda: octet.avg_pool1d(line, 2), avg_pool2d=lambda: octet.avg_pool2d(image, 2),
    avg_pool3d=lambda: octet.avg_pool3d(volume, 2),
    max_pool1d=lambda: octet.max_pool1d(line, 2), max_pool2d=lambda: octet.max_pool2d(image, 2),
    max_pool3d=lambda: octet.max_pool3d(volume, 2),
    conv1d=lambda: octet.conv1d(line, w(1)), conv2d=lambda: octet.conv2d(image, w(2)),
    conv3d=lambda: octet.conv3d(volume, w(3)),
    conv_transpose1d=lambda: octet.conv_transpose1d(line, w(1)),
    conv_transpose2d=lambda: octet.conv_transpose2d(image, w(2)),
    conv_transpose3d=lambda: octet.conv_transpose3d(volume, w(3)),
    linear=lambda: octet.linear(np.ones((1, 2), c), w(0)), matmul=lambda: octet.matmul(w(0), w(0)),
    batch_norm=lambda: octet.batch_norm(x, np.ones(3), np.ones(3)), layer_norm=lambda: octet.layer_norm(x),
    lrn=lambda: octet.lrn(image.astype(f)), log_softmax=lambda: octet.log_softmax(x),
    shuffle=lambda: octet.shuffle(image, 2), rnn=lambda: octet.rnn(*[np.ones((1,) * d, f) for d in (3, 5, 5)],
                                                                   cell="vanilla_rnn"),
    softmax=lambda: octet.softmax(x), prelu=lambda: octet.prelu(x, 0.5), eltwise=lambda: octet.eltwise(x, "tanh"),
    binary=lambda: octet.binary(x, x, "add"), sum=lambda: octet.sum([x, x]), concat=lambda: octet.concat([x, x]),
    reduce=lambda: octet.reduce(x, "max"), resize=lambda: octet.resize(image, 2),
    quantize=lambda: octet.quantize(x, scale=1.),
    dequantize=lambda: octet.dequantize(image, scale=1.), requantize=lambda: octet.requantize(image, scale=1.))
"""


def header(name):
    with open(os.path.join(SOURCE, "include", "octet", name + ".hpp")) as file:
        return file.read()


def round_to_odd_sum(a, b):
    """a + b of float64, inexact results with an odd last bit, so that a second rounding to float32 is the only one."""
    s = a + b
    t = s - a
    rest = (a - (s - t)) + (b - t)
    is_even = (s.view(np.int64) & 1) == 0
    return np.where((rest != 0) & is_even, np.nextafter(s, np.where(rest > 0, np.inf, -np.inf)), s)


def fma(a, b, c):
    """a * b + c of float32 with one rounding."""
    a, b, c = np.broadcast_arrays(f32(a), f32(b), f32(c))
    return round_to_odd_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)).astype(f32)


def stored(y, dtype):
    """f32 as codes: to nearest even, saturated."""
    info = np.iinfo(dtype)
    return np.clip(np.rint(y), info.min, info.max).astype(dtype)


def views(x):
    """The same numbers in other memory: reversed, every second element, another order of dimensions."""
    yield x
    yield np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    wide = np.zeros(x.shape[:-1] + (2 * x.shape[-1],), x.dtype)
    wide[..., ::2] = x
    yield wide[..., ::2]
    yield np.asfortranarray(x)
    if x.ndim > 2:
        yield np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


class Completeness(unittest.TestCase):
    """A primitive, an algorithm or a word of the C++ API without Python's fails here."""

    def test_every_primitive_has_a_function(self):
        kinds = re.search(r"enum class primitive_kind \{(.*?)\}", header("types"), re.S).group(1)
        kinds = set(re.findall(r"\w+", kinds)) - {"undef"}
        declared = {"rnn"}  # whose cells are structures
        for path in set(glob.glob(os.path.join(SOURCE, "include", "octet", "*.hpp"))) - {
                os.path.join(SOURCE, "include", "octet", "rnn.hpp")}:
            with open(path) as file:
                declared |= set(re.findall(r"struct OCTET_API (\w+?)(?:_forward)? : public primitive \{", file.read()))
        self.assertEqual(declared, kinds)
        program = (f"import numpy as np, octet\nf, c = np.float32, np.int8\n{CALLS}\n"
                   "for call in calls.values(): call()\nprint(','.join(calls))")
        run = subprocess.run([sys.executable, "-c", program], env=dict(os.environ, OCTET_VERBOSE="1"),
                             capture_output=True, text=True, check=True)
        executed = set(re.findall(r"octet_verbose,exec,\w+,[^,]*,(\w+)", run.stdout))
        self.assertEqual(kinds - executed, set(), "primitives that no function runs")
        functions = set(octet.operations.__all__) - {"Array", "Weights"}
        self.assertEqual(functions, set(run.stdout.splitlines()[-1].split(",")), "functions without a call above")
        self.assertEqual(functions - set(octet.__all__), set())

    def test_every_algorithm_is_known(self):
        body = re.search(r"enum class algorithm \{(.*?)\};", header("types"), re.S).group(1)
        names = re.findall(r"^\s*(\w+?_\w+)(?: = \w+)?,?\s*(?://.*)?$", body, re.M)
        x, image = np.ones((2, 3), f32), np.ones((1, 2, 4, 4), np.int8)
        call = {"eltwise": lambda f: octet.eltwise(x, f), "binary": lambda f: octet.binary(x, x, f),
                "reduction": lambda f: octet.reduce(x, f, p=2., epsilon=0.5),
                "resampling": lambda f: octet.resize(image, 2, mode=f)}
        counts = dict.fromkeys(call, 0)
        for name in names:
            family, _, function = name.partition("_")
            if family in call and function not in ("gelu",):  # a second name
                counts[family] += 1
                try:
                    call[family](function)
                except octet.UnsupportedError:
                    pass
        self.assertEqual({f for f, n in counts.items() if n == 0}, set())
        others = {n for n in names if n.split("_")[0] not in call}
        others -= {"lrn_across_channels", "lrn_within_channel"}  # octet.lrn
        others -= {"vanilla_rnn", "vanilla_lstm", "vanilla_gru", "lbr_gru"}  # octet.rnn
        self.assertEqual(others, {"convolution_direct", "convolution_auto", "deconvolution_direct",
                                  "pooling_max", "pooling_avg",
                                  "pooling_avg_include_padding", "pooling_avg_exclude_padding",
                                  "softmax_accurate", "softmax_log"})

    def test_help_shows_arguments_and_an_example(self):
        for name, function in vars(octet.operations).items():
            if inspect.isfunction(function) and name in octet.__all__:
                self.assertIn(">>> " + name, function.__doc__, name)


class Windows(unittest.TestCase):
    def test_pooling_of_sequences_images_and_volumes(self):
        for sides, largest, average in ((1, octet.max_pool1d, octet.avg_pool1d),
                                        (2, octet.max_pool2d, octet.avg_pool2d),
                                        (3, octet.max_pool3d, octet.avg_pool3d)):
            for channels in CHANNELS:
                x = codes(2, channels, *[7, 6, 5][:sides], dtype=(np.int8, np.uint8)[sides % 2])
                for kernel, stride, padding, dilation in ((2, 2, 0, 1), (3, 1, 1, 1), (2, 1, 1, 2)):
                    low = np.iinfo(x.dtype).min
                    pad = [(0, 0)] * 2 + [(padding, padding)] * sides
                    window, axes = (kernel - 1) * dilation + 1, tuple(range(2, 2 + sides))

                    def windows(a, fill):
                        a = np.lib.stride_tricks.sliding_window_view(np.pad(a, pad, constant_values=fill),
                                                                     [window] * sides, axes)
                        step, tap = (slice(None, None, stride),) * sides, (slice(None, None, dilation),) * sides
                        return a[(slice(None),) * 2 + step + tap].reshape(
                            a.shape[:2] + tuple(-(-n // stride) for n in a.shape[2:2 + sides]) + (-1,))
                    words = dict(stride=stride, padding=padding, dilation=dilation)
                    sums, count = windows(x.astype(np.int64), 0).sum(-1), windows(np.ones(x.shape, np.int64), 0).sum(-1)
                    for view in views(x):
                        np.testing.assert_array_equal(largest(view, kernel, **words), windows(x, low).max(-1))
                        np.testing.assert_array_equal(average(view, kernel, **words),
                                                      stored(f32(sums) / f32(count), x.dtype))
                        np.testing.assert_array_equal(average(view, kernel, include_padding=True, **words),
                                                      stored(f32(sums) / f32(kernel ** sides), x.dtype))
                    last = np.moveaxis(x, 1, -1)
                    np.testing.assert_array_equal(largest(last, kernel,
                                                          layout=["nwc", "nhwc", "ndhwc"][sides - 1],
                                                          **words),
                                                  np.moveaxis(windows(x, low).max(-1), 1, -1))

    def test_transposed_convolutions(self):
        for sides, function in ((1, octet.conv_transpose1d), (2, octet.conv_transpose2d), (3, octet.conv_transpose3d)):
            for groups, i, o, stride, padding, extra, dilation in ((1, 5, 67, 2, 1, 1, 1),
                                                                   (1, 1, 1, 1, 0, 0, 1),
                                                                   (2, 6, 130, 3, 1, 2, 1),
                                                                   (1, 65, 3, 1, 1, 0, 2),
                                                                   (3, 3, 3, 2, 0, 1, 1)):
                x, w = codes(2, i, *[4, 3, 2][:sides], dtype=np.uint8), codes(i, o // groups, *[3] * sides)
                bias = random.integers(-99, 99, o, np.int32)
                whole = [(n - 1) * stride + 2 * dilation + 1 + extra for n in x.shape[2:]]
                acc = np.zeros((2, o, *whole), np.int64)
                for tap in np.ndindex(*[3] * sides):
                    for g in range(groups):
                        part = np.einsum("ni...,io->no...",
                                         x[:, g * i // groups:(g + 1) * i // groups].astype(np.int64) - 7,
                                         w[(slice(g * i // groups, (g + 1) * i // groups), slice(None))
                                           + tap].astype(np.int64))
                        place = tuple(slice(t * dilation, t * dilation + (n - 1) * stride + 1, stride) for t,
                                      n in zip(tap, x.shape[2:]))
                        acc[(slice(None), slice(g * o // groups, (g + 1) * o // groups)) + place] += part
                inside = (slice(None), slice(None)) + tuple(slice(padding, n - padding) for n in whole)
                acc = acc[inside] + bias.reshape((1, o) + (1,) * sides)
                words = dict(stride=stride, padding=padding, output_padding=extra, dilation=dilation,
                             groups=groups, x_zero_point=7)
                np.testing.assert_array_equal(function(x, w, bias, rule="none", **words), acc)
                multiplier, shift = random.integers(1 << 30, (1 << 31) - 1, o), random.integers(-9, -4, o)
                expected = np.stack([tflite_2step(acc[:, c], int(multiplier[c]), int(shift[c])) for c in range(o)], 1)
                for view in views(x):
                    y = function(view, octet.Weights(w), bias, rule="tflite_2step", multiplier=multiplier,
                                 shift=shift, dtype="int8", zero_point=-3, **words)
                    np.testing.assert_array_equal(y, np.clip(expected - 3, -128, 127))


class Elements(unittest.TestCase):
    def test_prelu(self):
        for channels in CHANNELS:
            x, w = f32(random.normal(size=(2, channels, 3, 5))), f32(random.normal(size=channels))
            slopes = w.reshape(-1, 1, 1)
            for view in views(x):
                np.testing.assert_array_equal(octet.prelu(view, w), np.where(x > 0, x, x * slopes))
            np.testing.assert_array_equal(octet.prelu(x, slopes), np.where(x > 0, x, x * slopes))
            every = f32(random.normal(size=x.shape[1:]))
            np.testing.assert_array_equal(octet.prelu(x, every), np.where(x > 0, x, x * every))
            c = codes(2, channels, 3, 5)
            np.testing.assert_array_equal(octet.prelu(c, w), stored(np.where(c > 0, f32(c), f32(c) * slopes), np.int8))

    def test_prelu_of_tflite(self):
        x, w = codes(2, 65, 3, 3), codes(65)
        d, alpha = x.astype(np.int64) - 3, w.astype(np.int64).reshape(-1, 1, 1) + 5
        expected = np.where(d >= 0, tflite_2step(d, 1 << 30, 1), tflite_2step(d * alpha, (1 << 30) + 12345, -7)) - 10
        y = octet.prelu(x, w, rule="tflite_2step", multiplier=1 << 30, shift=1,
                        w_multiplier=(1 << 30) + 12345, w_shift=-7, x_zero_point=3,
                        w_zero_point=-5, zero_point=-10)
        np.testing.assert_array_equal(y, np.clip(expected, -128, 127))
        with self.assertRaisesRegex(TypeError, "w_multiplier and w_shift are given one without the other"):
            octet.prelu(x, w, rule="tflite_2step", multiplier=1, shift=1, w_multiplier=3)

    def test_sum(self):
        for channels in CHANNELS:
            xs, scales = [f32(random.normal(size=(2, channels, 5))) for _ in range(3)], [0.3, -1.5, 2.25]
            expected = f32(0) + xs[0] * f32(0.3)
            for x, s in zip(xs[1:], scales[1:]):
                expected = expected + x * f32(s)
            for first in views(xs[0]):
                np.testing.assert_array_equal(octet.sum([first] + xs[1:], scales), expected)
            a, b = codes(channels, 4), codes(channels, 4, dtype=np.uint8)
            np.testing.assert_array_equal(octet.sum([a, b]), stored(f32(a) + f32(b), np.int8))
            np.testing.assert_array_equal(octet.sum([a, b], dtype="int32"), a.astype(np.int32) + b)

    def test_sum_of_caffe(self):
        a, b = codes(3, 65), codes(3, 65)
        ratios, shift = [f32(0.04) / f32(0.05), f32(0.07) / f32(0.05)], 0
        while max(ratios) < 2 ** 21:
            ratios, shift = [r * f32(2) for r in ratios], shift + 1
        m = [int(np.floor(r + 0.5)) for r in ratios]
        acc = (a.astype(np.int64) - 2) * m[0] + (b.astype(np.int64) + 3) * m[1]
        expected = np.sign(acc) * ((abs(acc) + (1 << (shift - 1))) >> shift) + 4
        y = octet.sum([a, b], [0.04, 0.07], zero_points=[2, -3], y_scale=0.05, zero_point=4, rule="caffe_double_round")
        np.testing.assert_array_equal(y, np.clip(expected, -128, 127))

    def test_concat_of_codes_with_scales(self):
        xs, scales, zero_points = [codes(2, n, 3) for n in CHANNELS], [0.1, 0.2, 0.05, 0.1], [3, 0, -7, 1]
        expected = [stored(np.rint(f32(s) * (f32(x) - z) / f32(0.1)) + 1, np.int8) if (s, z) != (0.1, 1) else x
                    for x, s, z in zip(xs, scales, zero_points)]
        y = octet.concat(xs, 1, scales=scales, zero_points=zero_points, y_scale=0.1, zero_point=1, rule="ort_f32")
        np.testing.assert_array_equal(y, np.concatenate(expected, 1))
        with self.assertRaisesRegex(ValueError, "scales has 1 values, allowed: one for each of the 4 tensors"):
            octet.concat(xs, 1, scales=[1], rule="ort_f32")

    def test_scalars_and_broadcasting(self):
        self.assertEqual(octet.binary(np.int8(3), np.int8(4), "mul").shape, ())
        self.assertEqual(octet.prelu(f32(-2), f32(0.5)), -1)
        x, y = codes(2, 65, 4), codes(65, 1)
        np.testing.assert_array_equal(octet.binary(x, y, "max"), np.maximum(x, y))
        np.testing.assert_array_equal(octet.matmul(x[0, :, 0], y, rule="none"), x[0, :, 0].astype(int) @ y.astype(int))
        np.testing.assert_array_equal(octet.matmul(x[0].T, y[:, 0], rule="none"),
                                      x[0].T.astype(int) @ y[:, 0].astype(int))
        np.testing.assert_array_equal(octet.matmul(y[:, 0], y[:, 0], rule="none"),
                                      y[:, 0].astype(int) @ y[:, 0].astype(int))
        np.testing.assert_array_equal(octet.matmul(x[:, 0],
                                                   pickle.loads(pickle.dumps(octet.Weights(
                                                       codes(4, 7) * 0 + 1))), rule="none"),
                                      x[:, 0].astype(int).sum(1, keepdims=True).repeat(7, 1))


    def test_functions_come_first_or_last(self):
        x, y = codes(2, 65), codes(2, 65)
        np.testing.assert_array_equal(octet.eltwise("relu", x), octet.eltwise(x, "relu"))
        np.testing.assert_array_equal(octet.binary("sub", x, y), octet.binary(x, y, "sub"))
        np.testing.assert_array_equal(octet.reduce("max", x, 1), octet.reduce(x, "max", 1))

    def test_products_without_a_rule_are_exact_sums(self):
        x, w = codes(3, 65), codes(65, 7)
        for bias in (None, codes(7)):
            exact = x.astype(np.int32) @ w.astype(np.int32) + (0 if bias is None else bias)
            y = octet.matmul(x, w, bias)
            self.assertEqual(y.dtype, np.int32)
            np.testing.assert_array_equal(y, exact)
            np.testing.assert_array_equal(octet.linear(x, w.T, bias), exact)
            np.testing.assert_array_equal(octet.conv2d(x[:, :, None, None], w.T[:, :, None, None], bias)[
                :, :, 0, 0], exact)
            np.testing.assert_array_equal(octet.matmul(x, w, bias, dtype="int8"), np.clip(exact, -128, 127))
        self.assertEqual(octet.matmul(x, w, scale=0.01).dtype, np.int8)
        self.assertEqual(octet.matmul(f32(x), f32(w)).dtype, np.float32)
        np.testing.assert_array_equal(octet.matmul(x, w, x_zero_point=3), (x.astype(np.int32) - 3) @ w.astype(np.int32))

    def test_same_padding(self):
        for size, kernel, stride, dilation in ((7, 3, 1, 1), (7, 3, 2, 1), (8, 3, 2, 1), (8, 4, 1, 1),
                                               (9, 2, 3, 1), (9, 3, 2, 2), (5, 1, 2, 1)):
            x, w = codes(1, 2, size, size), codes(3, 2, kernel, kernel)
            out = -(-size // stride)
            total = max((out - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
            sides = [(total // 2, total - total // 2)] * 2
            y = octet.conv2d(x, w, stride=stride, dilation=dilation, padding="same")
            self.assertEqual(y.shape, (1, 3, out, out))
            np.testing.assert_array_equal(y, octet.conv2d(x, w, stride=stride, dilation=dilation, padding=sides))
            np.testing.assert_array_equal(octet.conv2d(x, octet.Weights(w), stride=stride, dilation=dilation,
                                                       padding="same"), y)
            if dilation == 1 and kernel > 1:
                np.testing.assert_array_equal(octet.max_pool2d(x, kernel, stride=stride, padding="same"),
                                              octet.max_pool2d(x, kernel, stride=stride, padding=sides))
        np.testing.assert_array_equal(octet.conv2d(x, w, padding="valid"), octet.conv2d(x, w))
        with self.assertRaisesRegex(ValueError, 'padding is \'full\', allowed: "same", "valid" or numbers'):
            octet.conv2d(x, w, padding="full")

    def test_messages_are_in_terms_of_python(self):
        x, w = codes(1, 4), codes(4, 2)
        for words, text in (({"rule": "tflite_2step"}, "multiplier"), ({"rule": "f64_scale"}, "scale"),
                            ({"scale": 2.0, "x_scale": 1.0}, "scale")):
            with self.assertRaises((ValueError, octet.UnsupportedError)) as raised:
                octet.matmul(x, w, **words)
            self.assertIn(text, str(raised.exception))
            for foreign in ("set_", "OCTET_ARG", "num_threads_scope"):
                self.assertNotIn(foreign, str(raised.exception))


class Normalizations(unittest.TestCase):
    def test_layer_norm(self):
        for n in (1, 2, 15, 16, 17, 63, 65, 130):
            x, scale, shift = f32(random.normal(size=(2, 3, n))
                                  + 1), f32(random.normal(size=n)), f32(random.normal(size=n))

            def lanes(values, step):
                acc = np.zeros((2, 3, 16), f32)
                for i in range(n):
                    acc[..., i % 16] = step(values[..., i], acc[..., i % 16])
                for half in (8, 4, 2, 1):
                    acc = acc[..., :half] + acc[..., half:2 * half]
                return acc / f32(n)
            mean = lanes(x, lambda v, a: v + a)
            d = x - mean
            variance = lanes(d, lambda v, a: fma(v, v, a))
            d = d * (f32(1) / np.sqrt(variance + f32(1e-5)))
            for view in views(x):
                np.testing.assert_array_equal(octet.layer_norm(view), d)
            np.testing.assert_array_equal(octet.layer_norm(x, scale, shift), fma(d, scale, shift))
            np.testing.assert_array_equal(octet.layer_norm(x, scale), d * scale)
            np.testing.assert_array_equal(octet.layer_norm(x, shift=shift), d + shift)
            np.testing.assert_array_equal(octet.layer_norm(x, mean=mean[..., 0], variance=variance[..., 0]), d)
            np.testing.assert_array_equal(octet.layer_norm(x[0, 0]), d[0, 0])
            np.testing.assert_allclose(octet.layer_norm(x, scale, shift, rule="ort_f32"),
                                       fma(d, scale, shift), rtol=1e-4, atol=1e-4)

    def test_batch_norm(self):
        for c in CHANNELS:
            for sides in range(4):
                x = f32(random.normal(size=(2, c, 4, 3, 2)[:2 + sides]))
                mean, scale, shift, variance = (f32(v) for v in (*random.normal(size=(3, c)),
                                                                 random.uniform(0.1, 2, c)))
                a = scale / np.sqrt(variance + f32(1e-3))
                shape = (c,) + (1,) * sides
                y = fma(x, a.reshape(shape), fma(-mean, a, shift).reshape(shape))
                for view in views(x):
                    np.testing.assert_array_equal(octet.batch_norm(view, mean, variance, scale, shift, epsilon=1e-3), y)
                np.testing.assert_array_equal(octet.batch_norm(x, mean, variance, scale, shift, epsilon=1e-3,
                                                               relu=True), np.maximum(y, 0))
                plain = f32(1) / np.sqrt(variance + f32(1e-5))
                np.testing.assert_array_equal(octet.batch_norm(x, mean, variance),
                                              fma(x, plain.reshape(shape),
                                                  fma(-mean, plain, f32(0)).reshape(shape)))

    def test_reductions(self):
        x = f32(random.integers(-9, 9, (3, 65, 2)))
        for view in views(x):
            np.testing.assert_array_equal(octet.reduce(view, "norm_lp_sum", 1, p=2, epsilon=1),
                                          np.sqrt(f32((x * x).sum(1) + 1)))
            np.testing.assert_array_equal(octet.reduce(view, "norm_lp_power_p_max", (0, -1), p=1,
                                                       epsilon=1e9), np.full(65, 1e9, f32))
            np.testing.assert_array_equal(octet.reduce(view, "mean", keep_dims=True), f32([[[x.sum() / f32(x.size)]]]))
        c = codes(70, 3)
        np.testing.assert_array_equal(octet.reduce(c, "sum", 0, dtype="int32"), c.sum(0))
        np.testing.assert_array_equal(octet.reduce(c, "sum", 0), np.clip(c.sum(0), -128, 127))


class Arguments(unittest.TestCase):
    def test_sums_of_post_ops_begin_with_an_array(self):
        x, w, before = codes(2, 5, 4, 4), codes(65, 5, 1, 1), codes(2, 65, 4, 4)
        acc = np.einsum("nchw,oc->nohw", x.astype(np.int64), w[:, :, 0, 0].astype(np.int64))
        expected = stored(fma(f32(0.5), f32(before), f32(acc) * f32(0.01)), np.int8)
        kept = before.copy()
        np.testing.assert_array_equal(octet.conv2d(x, w, rule="f32", scale=0.01,
                                                   post_ops=[("sum", before, 0.5)]), expected)
        np.testing.assert_array_equal(before, kept)
        with self.assertRaisesRegex(ValueError, "post_ops: sum has an array of other shape"):
            octet.conv2d(x, w, rule="f32", scale=0.01, post_ops=[("sum", before[:1], 0.5)])

    def test_leaky_relu_of_tflite(self):
        x, w = codes(2, 30), codes(65, 30)
        acc = x.astype(np.int64) @ w.T.astype(np.int64)
        sums = tflite_2step(acc, 1 << 30, -4)
        expected = np.where(sums >= 0, tflite_2step(sums, 1 << 30, 1), tflite_2step(sums, 1 << 30, -2))
        y = octet.linear(x, w, rule="tflite_2step", multiplier=1 << 30, shift=-4,
                         post_ops=[("leaky_relu", 1 << 30, 1, 1 << 30, -2)])
        np.testing.assert_array_equal(y, np.clip(expected, -128, 127))

    def test_numpys_default_types(self):
        x = random.normal(size=(3, 4))
        self.assertEqual(octet.layer_norm(x).dtype, np.float32)
        np.testing.assert_array_equal(octet.quantize(x.tolist(), scale=0.1), octet.quantize(f32(x), scale=0.1))
        c, w = codes(2, 3), codes(4, 3)
        np.testing.assert_array_equal(octet.linear(c, w, [1, 2, 3, 4], rule="none"),
                                      c.astype(int) @ w.T.astype(int) + [1, 2, 3, 4])
        np.testing.assert_array_equal(octet.linear(c, w, [.5, 1, 2, 3.], rule="f32", scale=1., dtype="float32"),
                                      f32(c.astype(int) @ w.T.astype(int)) + f32([.5, 1, 2, 3]))

    def test_numbers_are_those_of_arrays(self):
        x = codes(3, 5).astype(np.int32)
        for multiplier, scale in ((1 << 30, 1), (0x7fffffff, 1e-7), (3, 1 / 3), (0, 0.3)):
            by_number = octet.requantize(x, rule="tflite_2step", multiplier=multiplier, shift=-2, zero_point=5)
            by_array = octet.requantize(x, rule="tflite_2step", multiplier=np.array([multiplier]),
                                        shift=np.int64(-2), zero_point=np.int8(5))
            np.testing.assert_array_equal(by_number, by_array)
            np.testing.assert_array_equal(octet.requantize(x, scale=scale), octet.requantize(x, scale=np.array(scale)))
        for wrong in (True, 1.5, 1 << 31, -1 << 40, 1 << 70, None, "1"):
            with self.assertRaises((TypeError, ValueError), msg=wrong):
                octet.requantize(x, rule="tflite_2step", multiplier=wrong, shift=0)

    def test_empty_arrays(self):
        self.assertEqual(octet.conv2d(np.zeros((0, 3, 4, 4), np.int8), np.ones((8, 3, 3, 3), np.int8),
                                      rule="none").shape, (0, 8, 2, 2))
        self.assertEqual(octet.max_pool1d(np.zeros((0, 3, 4), np.int8), 2).shape, (0, 3, 2))
        self.assertEqual(octet.eltwise(np.zeros((0, 3), np.int8), "relu").shape, (0, 3))
        for x, w in (((0, 2, 3), (1, 3, 4)), ((1, 2, 3), (0, 3, 4)), ((5, 0, 2, 3), (3, 4))):
            x, w = np.zeros(x, np.int8), np.zeros(w, np.int8)
            self.assertEqual(octet.matmul(x, w).shape, np.matmul(x, w).shape)

    def test_a_single_element_backwards(self):
        x = codes(3, 5)[:1, ::-1][:, :1][::-1, ::-1]
        self.assertLess(min(x.strides), 0)
        np.testing.assert_array_equal(octet.binary(x, x, "max"), x)
        np.testing.assert_array_equal(octet.matmul(x, x), x.astype(int) * x)

    def test_wrong_arguments_are_named(self):
        image, x = codes(1, 2, 4, 4), f32(np.ones((2, 3)))
        for error, call, text in [
                (ValueError, lambda: octet.max_pool1d(image, 2), "x has 4 dimensions, allowed: 3"),
                (ValueError, lambda: octet.conv_transpose3d(image, image), "x has 4 dimensions, allowed: 5"),
                (ValueError, lambda: octet.max_pool2d(image, 5), "at least the 5 of a window"),
                (ValueError, lambda: octet.avg_pool2d(image, 2, stride=0), "stride is 0, allowed: 1 or more"),
                (TypeError, lambda: octet.max_pool2d(image, 1.5),
                 "kernel is 1.5, allowed: an integer, or one per side"),
                (ValueError, lambda: octet.max_pool2d(image, (1, 2, 3)),
                 "kernel has 3 values, allowed: 1 or 2"),
                (ValueError,
                 lambda: octet.requantize(image, rule="tflite_2step", multiplier=1 << 31, shift=0),
                 "multiplier has numbers outside of int32"),
                (ValueError, lambda: octet.sum([]), "xs is empty, allowed: 1 to 1024 arrays"),
                (ValueError, lambda: octet.max_pool2d(image, 0), "kernel is 0, allowed: 1 or more"),
                (ValueError, lambda: octet.conv2d(image, image, dilation=0),
                 "dilation is 0, allowed: 1 or more"),
                (ValueError, lambda: octet.conv2d(image, image, stride=0, padding="same"),
                 "stride is 0, allowed: 1 or more"),
                (ValueError, lambda: octet.conv2d(image, image[0]), "w has 3 dimensions, allowed: 4"),
                (TypeError, lambda: octet.conv2d(image, image, groups="two"),
                 "groups is 'two', allowed: an integer"),
                (TypeError, lambda: octet.conv2d(image, image, rule=3), "rule is 3, allowed: a name"),
                (TypeError, lambda: octet.softmax(x, "last"), "axis is 'last', allowed: an integer"),
                (ValueError, lambda: octet.resize(image, -1), "size is -1, allowed: 1 or more"),
                (ValueError, lambda: octet.resize(image, 2, mode="cubic"),
                 "mode is 'cubic', allowed: nearest, linear"),
                (ValueError, lambda: octet.eltwise(image, "nosuch"),
                 "function 'nosuch' is unknown, allowed: relu, "),
                (ValueError,
                 lambda: octet.conv2d(image, image, rule="ort_f32", x_scale=-1, w_scale=1, y_scale=1),
                 "x scale is -1, allowed: positive or zero"),
                (ValueError, lambda: octet.sum([x, x[0]]), "x1 has 1 dimensions, the first 2"),
                (ValueError, lambda: octet.sum([x, x], [1]), "1 scales for 2 sources"),
                (TypeError, lambda: octet.sum([x.astype(complex)]), "x0 is complex128"),
                (ValueError, lambda: octet.prelu(x, x[None]), "w has 3 dimensions, allowed: up to 2"),
                (ValueError, lambda: octet.prelu(x, x[0, :2]), "prelu: weights have dims {1, 2}"),
                (octet.UnsupportedError, lambda: octet.layer_norm(image),
                 "x has type int8, implemented: float32"),
                (ValueError, lambda: octet.layer_norm(x, x), r"scale has shape (2, 3), allowed: (3,)"),
                (TypeError, lambda: octet.layer_norm(x, mean=x[:, 0]),
                 "mean and variance are given one without the other"),
                (ValueError, lambda: octet.layer_norm(x, epsilon=-1), "epsilon is -1"),
                (ValueError, lambda: octet.batch_norm(x, x[0], x[0, :2]),
                 "variance has shape (2,), allowed: (3,)"),
                (ValueError, lambda: octet.batch_norm(x, x[0], None), "variance"),
                (ValueError, lambda: octet.softmax(x, 2), "axis is 2, allowed: -2 to 1"),
                (ValueError, lambda: octet.quantize(x, scale=[1, 1], axis=2), "axis is 2, allowed: -2 to 1"),
                (TypeError, lambda: octet.eltwise(x, "relu", post_ops=[3]),
                 "post_ops: 3 does not begin with a name"),
                (TypeError, lambda: octet.eltwise(x, "relu", post_ops=3),
                 "post_ops is 3, allowed: a name, or a list"),
                (ValueError, lambda: octet.eltwise(x, "relu", post_ops=[("relu", 1, 2, 3, 4)]),
                 "'relu' has 4 values, allowed: up to 3"),
                (TypeError, lambda: octet.eltwise(x, "relu", dtype="nosuch"),
                 "dtype is 'nosuch', allowed: float32, int8"),
                (TypeError, lambda: octet.eltwise(x, "relu", alpha="a"), "alpha is 'a', allowed: a number"),
                (TypeError, lambda: octet.eltwise(x, 3), "function is 3, allowed: a name"),
                (TypeError, lambda: octet.binary(x, x, None), "function is None, allowed: a name"),
                (TypeError, lambda: octet.reduce(x, "sum", "rows"), "axis is 'rows', allowed: an integer"),
                (TypeError, lambda: octet.layer_norm(x, epsilon="a"), "epsilon is 'a', allowed: a number"),
                (TypeError, lambda: octet.concat(3), "xs is 3, allowed: a list of arrays"),
                (TypeError, lambda: octet.sum("ab"), "xs is 'ab', allowed: a list of arrays"),
                (TypeError, lambda: octet.sum([x, x], "ab"), "scales is 'ab', allowed: a number"),
                (TypeError, lambda: octet.quantize("a", scale=1), "x is str, allowed: an array of numbers"),
                (TypeError, lambda: octet.max_pool2d(image, 2, layout=3), "layout is 3, allowed: a name"),
                (TypeError, lambda: octet.conv2d(image, image, weights_layout=None),
                 "weights_layout is None, allowed: a name"),
                (ValueError, lambda: octet.conv2d(image, image, padding=10**12),
                 "padding is 1000000000000, allowed: integers up to 1073741824"),
                (ValueError, lambda: octet.linear(3, x), "x has 0 dimensions, allowed: 1 or more"),
                (TypeError, lambda: octet.eltwise(x, "relu", post_ops=[(3, 4)]),
                 "does not begin with a name"),
                (TypeError, lambda: octet.eltwise(x, "relu", post_ops=[("clip", "low", 4)]),
                 "'low' is no integer"),
                (ValueError, lambda: octet.eltwise(x, "relu", post_ops=["sum"]), "'sum' lacks the array"),
                (ValueError, lambda: octet.eltwise(x, "relu", post_ops=["table"]),
                 "'table' has 0 values, allowed: 1")]:
            with self.subTest(text=text), self.assertRaises(error) as raised:
                call()
            self.assertIn(text, str(raised.exception))


class DynamicProducts(unittest.TestCase):
    """Products of floats with weights of codes: doc/dynamic.md's symmetric quantizer and Octet's own order."""

    @staticmethod
    def rows(x):
        """Codes and scales of rows."""
        a = np.abs(x).max(axis=1, keepdims=True)
        return np.rint(x * (np.float32(127) / a)), a / np.float32(127)

    def grouped(self, x, w, scales, group, bias=None):
        """w (n, k), scales (n, groups)"""
        q, s = self.rows(x)
        y = np.zeros((len(x), len(w)), np.float32)
        for g in range(scales.shape[1]):
            part = slice(g * group, (g + 1) * group)
            products = (q[:, part] @ w[:, part].T.astype(np.float64)) * scales[:, g].astype(np.float64)
            y = (products.astype(np.longdouble) + y).astype(np.float32)
        if bias is None:
            return y * s
        return ((y.astype(np.float64) * s).astype(np.longdouble) + bias).astype(np.float32)

    def test_groups_of_small_codes(self):
        random = np.random.default_rng(3)
        x = random.normal(size=(5, 48)).astype(np.float32)
        bias = random.normal(size=20).astype(np.float32)
        scales = random.uniform(.01, 1, (20, 3)).astype(np.float32)
        for w_type, low, high, dtype in (("int4", -8, 7, np.int8), ("uint4", 0, 15, np.uint8),
                                         (None, -128, 127, np.int8)):
            w = random.integers(low, high + 1, (20, 48)).astype(dtype)
            options = dict(quantize="row", group=16, w_type=w_type)
            for b in (None, bias):
                expected = self.grouped(x, w, scales, 16, b)
                for kept in (w, octet.Weights(w)):
                    np.testing.assert_array_equal(octet.linear(x, kept, b, w_scale=scales, **options), expected)
                np.testing.assert_array_equal(octet.matmul(x, w.T, b, w_scale=scales.T, **options), expected)
            three = np.stack([x, x[::-1]])
            np.testing.assert_array_equal(octet.matmul(three, w.T, bias, w_scale=scales.T, **options)[1],
                                          expected[::-1])
            np.testing.assert_array_equal(octet.linear(three, w, bias, w_scale=scales, **options)[1], expected[::-1])
            np.testing.assert_array_equal(octet.matmul(x[0], w.T, bias, w_scale=scales.T, **options), expected[0])

    def test_zero_points_of_weights(self):
        random = np.random.default_rng(4)
        x, w = random.normal(size=(3, 32)).astype(np.float32), random.integers(0, 16, (6, 32)).astype(np.uint8)
        scales, zero_points = random.uniform(.1, 1, (6, 2)).astype(np.float32), random.integers(0, 16, (6, 2))
        moved = w.astype(int) - np.repeat(zero_points, 16, axis=1)
        np.testing.assert_array_equal(
            octet.linear(x, w, quantize="row", w_scale=scales, w_zero_point=zero_points, group=16, w_type="uint4"),
            self.grouped(x, moved, scales, 16))

    def test_weights_are_packed_again_with_other_scales(self):
        x, w = np.ones((1, 4), np.float32), octet.Weights(np.ones((2, 4), np.int8))
        one, two = (octet.linear(x, w, quantize="row", w_scale=scale) for scale in (1., 2.))
        np.testing.assert_array_equal(one * 2, two)
        np.testing.assert_array_equal(octet.linear(x, w, quantize="row", w_scale=1.), one)

    def test_weights_are_packed_again_where_values_change_in_their_array(self):
        x, w = np.ones((1, 4), np.float32), octet.Weights(np.ones((2, 4), np.int8))
        scales, zeros = np.ones(2, np.float32), np.zeros(2, np.int32)
        one = octet.linear(x, w, quantize="row", w_scale=scales, w_zero_point=zeros)
        scales[:] = 2
        np.testing.assert_array_equal(octet.linear(x, w, quantize="row", w_scale=scales, w_zero_point=zeros), one * 2)
        zeros[:] = 1
        np.testing.assert_array_equal(octet.linear(x, w, quantize="row", w_scale=scales, w_zero_point=zeros), one * 0)

    def test_orders_of_libraries_and_codes_as_results(self):
        random = np.random.default_rng(5)
        x, w = random.normal(size=(4, 24)).astype(np.float32), random.integers(-127, 128, (24, 9)).astype(np.int8)
        scale = random.uniform(.001, .01, 9).astype(np.float32)
        q, s = self.rows(x)
        acc = (q @ w.astype(np.float64)).astype(np.float32)
        litert = octet.matmul(x, w, quantize="row", quantizer="litert", combination="litert", w_scale=scale)
        np.testing.assert_array_equal(litert, acc * (s * scale))
        own = octet.matmul(x, w, quantize="row", w_scale=scale)
        stored = octet.matmul(x, w, quantize="row", w_scale=scale, dtype="uint8", y_scale=.5, zero_point=9)
        np.testing.assert_array_equal(stored, np.clip(np.rint(own * np.float32(2) + 9), 0, 255))
        relu = octet.matmul(x, w, quantize="row", w_scale=scale, post_ops="relu")
        np.testing.assert_array_equal(relu, np.maximum(own, 0))
        for quantizer in ("onnxruntime", "qnnpack"):
            y = octet.matmul(x, w, quantize="tensor", quantizer=quantizer, combination=quantizer, w_scale=scale)
            np.testing.assert_allclose(y, x @ (w * scale), atol=.05)

    def test_what_is_wrong_is_told(self):
        x, w = np.ones((2, 6), np.float32), np.full((3, 6), 9, np.int8)
        for error, words, text in [
                (TypeError, dict(group=2), "group is given without quantize"),
                (TypeError, dict(quantize="row"), "w_scale is not given"),
                (ValueError, dict(quantize="rows", w_scale=1.), "quantize is 'rows', allowed: row, group, tensor"),
                (ValueError, dict(quantize="row", quantizer="octet", w_scale=1.),
                 "quantizer is 'octet', allowed: dynamic"),
                (ValueError, dict(quantize="row", quantizer="xnnpack", w_scale=1.), "combination"),
                (ValueError, dict(quantize="row", combination="none", w_scale=1.), "combination is 'none', allowed:"),
                (TypeError, dict(quantize="row", w_scale=np.ones((3, 2))), "group is not given"),
                (TypeError, dict(quantize="row", w_scale=1., group=2), "group is given, allowed with w_scale of 2"),
                (TypeError, dict(quantize="row", w_scale=1., group="2"), "group is '2', allowed: an integer"),
                (TypeError, dict(quantize="row", w_scale=1., symmetric=1), "symmetric is 1, allowed: True or False"),
                (ValueError, dict(quantize="row", w_scale=1., w_type="int2"), "w_type is 'int2', allowed: int4, uint4"),
                (ValueError, dict(quantize="row", w_scale=1., w_type="int4"), "w has the code 9"),
                (ValueError, dict(quantize="row", w_scale=-1.), "not negative"),
                (ValueError, dict(quantize="row", w_scale=[1., 2.]), "w_scale has 2 values, allowed: 1, 3"),
                (ValueError, dict(quantize="row", w_scale=np.ones((3, 3)), group=4),
                 "w_scale has shape (3, 3), allowed: (3, 2)")]:
            with self.subTest(text=text), self.assertRaises(error) as raised:
                octet.linear(x, w, **words)
            self.assertIn(text, str(raised.exception))


class Recurrent(unittest.TestCase):
    """octet.rnn against the formulas of octet/rnn.hpp."""

    def tensors(self, seed, states=7, layers=1):
        random = np.random.default_rng(seed)
        code = lambda *shape: random.integers(-128, 128, shape).astype(np.int8)
        return (random, random.integers(0, 256, (5, 3, states if layers > 1 else 6)).astype(np.uint8),
                lambda gates, outputs=7: code(layers, 1, states if layers > 1 else 6, gates, 7),
                lambda gates, outputs=7: code(layers, 1, outputs, gates, 7))

    def test_codes_of_vanilla_networks(self):
        random, x, make_w, make_r = self.tensors(0)
        w, r, bias = make_w(1), make_r(1), random.normal(size=(1, 1, 1, 7)).astype(f32)
        scale, shift, factors = f32(90), f32(20), random.uniform(2000, 4000, (1, 7)).astype(f32)
        y, h_last = octet.rnn(x, w, r, bias, cell="vanilla_rnn", activation="relu", data_scale=90, data_shift=20,
                              weights_scale=factors)
        wm, rm = w[0, 0, :, 0].astype(int), r[0, 0, :, 0].astype(int)
        divisor = factors[0] * scale
        b = bias[0, 0, 0] - (rm.sum(0).astype(f32) + wm.sum(0).astype(f32)) * shift / divisor
        h = np.full((3, 7), 20)  # the code of 0
        for step, expected in zip(x, y):
            h = np.clip(np.rint(np.maximum((step @ wm + h @ rm).astype(f32) / divisor + b, 0) * scale + shift), 0, 255)
            h = h.astype(int)
            np.testing.assert_array_equal(expected, h)
        np.testing.assert_array_equal(h_last[0, 0], y[-1])
        self.assertEqual((y.dtype, h_last.dtype), (np.uint8, np.uint8))

    def test_codes_of_lstm_with_peephole_and_projection(self):
        random, x, make_w, make_r = self.tensors(1)
        w, r, projection = make_w(4), make_r(4, 4), random.integers(-128, 128, (1, 1, 7, 4)).astype(np.int8)
        peephole, c = random.normal(size=(1, 1, 3, 7)).astype(f32), random.normal(size=(1, 1, 3, 7)).astype(f32)
        h = random.integers(0, 256, (1, 1, 3, 4)).astype(np.uint8)
        words = dict(projection=projection, peephole=peephole, h=h, c=c, data_scale=100, data_shift=50,
                     weights_scale=3000., projection_scale=random.uniform(500, 900, 4).astype(f32))
        y, h_last, c_last = octet.rnn(x, w, r, **words)
        scale, shift, divisor, p = f32(100), f32(50), f32(3000) * f32(100), peephole[0, 0]
        sigmoid, tanh = lambda g: octet.eltwise(g, "logistic"), lambda g: octet.eltwise(g, "tanh")
        code = lambda v: np.clip(np.rint(v * scale + shift), 0, 255).astype(int)
        wm, rm, pm = (a[0, 0].astype(int) for a in (w, r, projection))
        b = -((rm.sum(0).astype(f32) + wm.sum(0).astype(f32)) * shift / divisor)
        h, c = h[0, 0].astype(int), c[0, 0]
        for step, expected in zip(x, y):
            sums = np.einsum("ni,igk->gnk", step.astype(int), wm) + np.einsum("ni,igk->gnk", h, rm)
            i, f, candidate, o = sums.astype(f32) / divisor + b[:, None]
            i, f = sigmoid(fma(p[0], c, i)), sigmoid(fma(p[1], c, f))
            c = fma(i, tanh(candidate), c * f)
            h = code(tanh(c) * sigmoid(fma(p[2], c, o)))
            sums, factor = (h @ pm).astype(f32), words["projection_scale"] * scale
            h = code((sums - pm.sum(0).astype(f32) * shift) / factor)
            np.testing.assert_array_equal(expected, h)
        np.testing.assert_array_equal(h_last[0, 0], h)
        np.testing.assert_array_equal(c_last[0, 0], c)

    def test_float_states_of_codes(self):
        _, x, make_w, make_r = self.tensors(2, layers=2)
        w, r = make_w(3), make_r(3)
        words = dict(cell="vanilla_gru", data_scale=100, data_shift=50, weights_scale=3000.)
        codes = octet.rnn(x, w, r, **words)
        given = octet.rnn(x, w, r, h=np.zeros((2, 1, 3, 7), f32), dtype="float32", **words)
        for code, value in zip(codes, given):
            np.testing.assert_array_equal((code.astype(f32) - 50) / f32(100), value)

    def test_what_is_wrong_is_told(self):
        x, w, r = np.ones((2, 1, 3), np.uint8), np.ones((1, 1, 3, 4, 2), np.int8), np.ones((1, 1, 2, 4, 2), np.int8)
        for error, given, words, text in [
                (octet.UnsupportedError, (x, w.astype(f32), r), {}, "w has type float32, implemented: int8"),
                (octet.UnsupportedError, (x.astype(np.int8), w, r), dict(data_shift=3),
                 "data_shift is 3 with x of type int8, implemented: 0"),
                (ValueError, (x, w, r), dict(data_scale=0), "data_scale is 0, allowed: positive and finite"),
                (ValueError, (x, w, r), dict(weights_scale=-1.), "weights_scale: scale 0 is -1, allowed: positive"),
                (ValueError, (x, w, r), dict(weights_scale=np.ones(8)),
                 "weights_scale has shape (8,), allowed: (4, 2)"),
                (ValueError, (x, w, r), dict(projection_scale=2.), "projection_scale without projection"),
                (ValueError, (x, w, r), dict(h=np.zeros((1, 1, 2, 2))),
                 "h has shape (1, 1, 2, 2), allowed: (1, 1, 1, 2)"),
                (ValueError, (x.astype(f32), w, r), dict(weights_scale=2.), "x of type float32"),
                (TypeError, (x, w, r), dict(data_scale="1"), "data_scale is '1', allowed: a number")]:
            with self.subTest(text=text), self.assertRaises(error) as raised:
                octet.rnn(*given, **words)
            self.assertIn(text, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
