# SPDX-License-Identifier: Apache-2.0
"""Signatures and their documentation, and what wrong arguments are told.

Every public function has a signature with types, and a line of documentation for each parameter. Functions of
octet.operations pass what the library's descriptions have. Messages name the argument, what was given and
what is allowed.
"""

import inspect
import os
import re
import tempfile
import unittest
import unittest.mock

import numpy as np

import octet
from octet import _octet, arguments
from operations_test import CALLS

DIGITS = os.path.join(os.environ.get("OCTET_SOURCE_DIR", "."), "examples", "digits")
MODEL = os.path.join(DIGITS, "digits_int8.tflite")

# Their keyword arguments are the names of a model's inputs.
TAKE_INPUTS = {"compare", "compare_rules", "profile", "Network.__call__", "Network.profile", "Network.trace"}


def functions():
    """Name and function of all that users call: functions, constructors and methods."""
    for name in octet.__all__:
        value = getattr(octet, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and not issubclass(value, Exception):
            yield name, value
            for method in [m for m in vars(value) if not m.startswith("_")] + ["__call__"] * (value is octet.Network):
                if callable(getattr(value, method)):
                    yield f"{name}.{method}", getattr(value, method)


def parameters_of(function):
    return {name: p for name, p in inspect.signature(function).parameters.items() if name != "self"}


class Signatures(unittest.TestCase):
    def test_every_parameter_has_a_type(self):
        for name, function in functions():
            with self.subTest(name):
                for parameter in parameters_of(function).values():
                    may_be_any = name.endswith((".plot", "Network.__call__"))
                    self.assertNotIn(parameter.annotation,
                                     () if may_be_any else (inspect.Parameter.empty, "Any"))
                kinds = {p.kind for p in parameters_of(function).values()}
                self.assertEqual(inspect.Parameter.VAR_KEYWORD in kinds, name in TAKE_INPUTS)

    def test_every_parameter_is_described(self):
        for name, function in functions():
            made_here = inspect.isclass(function) and function not in (octet.Network, octet.Weights)
            is_listed = not made_here and not name.endswith((".plot", "Network.profile"))
            for parameter in parameters_of(function) if is_listed else []:
                with self.subTest(name, parameter=parameter):
                    self.assertRegex(function.__doc__ or "", rf"(?m)^\s*- {parameter}: ")

    def test_one_name_has_one_type(self):
        types = {}
        for name in octet.operations.__all__:
            if name in ("Array", "Weights"):
                continue
            for parameter, facts in parameters_of(getattr(octet, name)).items():
                types.setdefault((parameter, facts.annotation), []).append(name)
        found = {}
        for (parameter, annotation), names in types.items():
            found.setdefault(parameter, {})[annotation] = names
        several = {parameter: kinds for parameter, kinds in found.items() if len(kinds) > 1}
        vectors = {"scale", "shift", "mean", "variance"}  # of normalizations, or None
        self.assertEqual(set(several) - vectors - {"axis", "stride", "w"}, set(), several)

    def test_no_description_is_left_over(self):
        described = {parameter for name in octet.operations.__all__ if name not in ("Array", "Weights")
                     for parameter in parameters_of(getattr(octet, name))}
        from octet.operations.parameters import DESCRIPTIONS
        self.assertEqual(set(DESCRIPTIONS) - described, set())
        self.assertEqual(set(arguments._ATTRIBUTES) - described, set())

    def test_operations_pass_every_parameter_of_the_library(self):
        passed = {}

        def recorded(operation, arrays, parameters, *rest, **keywords):
            passed.setdefault(operation, set()).update(parameters)
            return run(operation, arrays, parameters, *rest, **keywords)

        run, names = _octet.run, {"np": np, "octet": octet, "f": np.float32, "c": np.int8}
        exec(CALLS, names)
        with unittest.mock.patch.object(_octet, "run", recorded):
            for call in names["calls"].values():
                call()
            octet.sum([np.ones(2, np.int8)], [1.0])
        x = np.ones((1, 2, 4, 4), np.float32)
        for operation, given in passed.items():
            with self.subTest(operation), self.assertRaises(ValueError) as raised:
                _octet.run(operation, {"x": x}, {"nonsense": 1}, {}, x.shape)
            allowed = re.fullmatch(operation + ": parameter 'nonsense', allowed: (.*)", str(raised.exception)).group(1)
            known = set() if allowed == "none" else set(allowed.split(", "))
            self.assertEqual(known - given - {"prop"}, set(), operation)  # all run forward

    def test_help_shows_signature_and_parameters(self):
        self.assertEqual(str(inspect.signature(octet.Network(MODEL).__call__)), "(*values, **feeds)")
        self.assertEqual(repr(octet.Weights(np.ones((1, 2), np.int8))), "octet.Weights(shape=(1, 2), dtype=int8)")
        self.assertEqual(parameters_of(octet.conv2d)["rule"].default, "automatic")
        self.assertIn("\n- weights_layout: order of the weights' dimensions", octet.conv2d.__doc__)


# What no argument of an operation should be; what one of them may be anyway is not an error.
NONSENSE = (None, float("nan"), float("inf"), -1, 0, 1 << 70, -(1 << 70), 1.5, "x", "", b"x", [], (), {},
            [[]], [1, 2, 3, 4, 5, 6, 7], [None],
            np.zeros((0,), np.float32), np.zeros((2, 0), np.int8), np.ones((1, 2), complex), np.array(["a"]),
            np.ones((2, 3), object),
            np.ones((1,) * 7, np.int8), object(), len, True, np.datetime64("2020"))
FOREIGN = ("set_", "OCTET_ARG", "from_double", "num_threads_scope", "incompatible function arguments",
           "Unable to cast", "reshape", "memory::desc", "negative dimensions", "truth value")


class WrongArguments(unittest.TestCase):
    def refused(self, error, text, call):
        with self.subTest(text), self.assertRaises(error) as raised:
            call()
        self.assertIn(text, str(raised.exception))
        for foreign in FOREIGN:
            self.assertNotIn(foreign, str(raised.exception))

    def test_nonsense_in_every_argument_of_every_operation(self):
        x, image, w = np.ones((2, 3), np.float32), np.ones((1, 2, 4, 4), np.int8), np.ones((2, 2, 1, 1), np.int8)
        calls = dict(avg_pool2d=(image, 2), max_pool2d=(image, 2), conv2d=(image, w),
                     conv_transpose2d=(image, w), linear=(w[:, :, 0, 0],) * 2,
                     matmul=(w[:, :, 0, 0],) * 2, batch_norm=(x, np.ones(3), np.ones(3)), layer_norm=(x,),
                     softmax=(x,), prelu=(x, 0.5),
                     eltwise=(x, "tanh"), binary=(x, x, "add"), sum=([x, x],), concat=([x, x],),
                     reduce=(x, "max"), resize=(image, 2),
                     quantize=(x,), dequantize=(image,), requantize=(image,))
        for name, values in calls.items():
            for i, parameter in enumerate(parameters_of(getattr(octet, name))):
                for nonsense in NONSENSE:
                    given, named = list(values), {"scale": 1.0} if name.endswith("quantize") else {}
                    if i < len(values):
                        given[i] = nonsense
                    else:
                        named[parameter] = nonsense
                    try:
                        getattr(octet, name)(*given, **named)
                    except (ValueError, TypeError, octet.UnsupportedError) as e:
                        self.assertFalse([foreign for foreign in FOREIGN if foreign in str(e)],
                                         (name, parameter, nonsense, str(e)))

    def test_slopes_of_prelu_as_post_op(self):
        x, w = -np.ones((3, 4), np.int8), np.ones((6, 4), np.int8)
        for shape in (0, 2, 5, 7, (2, 6)):
            self.refused(ValueError, "post_ops: prelu has slopes of shape (", lambda: octet.linear(
                x, w, post_ops=[("prelu", np.ones(shape, np.float32))]))
        self.refused(ValueError, "shape (5,), allowed: 1 or 6 in dimension 1", lambda: octet.linear(
            x, w, post_ops=[("prelu", np.ones(5, np.float32))]))
        for slopes in (np.ones(6), np.ones((1, 6)), np.ones((6, 1)), np.ones(1), 1.):
            self.assertEqual(octet.linear(x, w, post_ops=[("prelu", slopes)]).tolist(), [[-4] * 6] * 3)

    def test_recurrent_networks(self):
        x, w = np.ones((2, 1, 1), np.float32), np.ones((1, 1, 1, 4, 1), np.float32)
        for error, text, change in [
                (ValueError, "direction is 'both', allowed: left2right, right2left, concat, sum",
                 dict(direction="both")),
                (ValueError, "activation is 'relu' with alpha 0, allowed with cell 'vanilla_lstm': 'tanh' with 0",
                 dict(activation="relu")),
                (ValueError, "activation is 'tanh' with alpha 1, allowed with cell", dict(alpha=1)),
                (TypeError, "activation is None, allowed: a name", dict(activation=None)),
                (ValueError, "data_scale is an integer of 2001 bits", dict(data_scale=2**2000)),
                (TypeError, "x is <U1, allowed: float32", dict(x="s")),
                (TypeError, "r is <U1, allowed: float32", dict(r="s")),
                (TypeError, "h is str, allowed: an array of numbers", dict(h="s"))]:
            self.refused(error, text, lambda: octet.rnn(**{**dict(x=x, w=w, r=w), **change}))

    def test_channels_last_of_a_vector(self):
        self.refused(ValueError, "x has 1 dimensions, allowed: 2 to 5",
                     lambda: octet.lrn(np.ones(3, np.float32), layout="nhwc"))

    def test_settings(self):
        for error, text, call in [
                (TypeError, "threads is 'a', allowed: an integer", lambda: octet.set_num_threads("a")),
                (TypeError, "threads is None, allowed: an integer", lambda: octet.set_num_threads(None)),
                (TypeError, "level is None, allowed: an integer", lambda: octet.set_verbose(None)),
                (TypeError, "isa is 3, allowed: a name", lambda: octet.set_max_cpu_isa(3)),
                (ValueError, "'avx9'", lambda: octet.set_max_cpu_isa("avx9")),
                (TypeError, "framework is None, allowed: a name", lambda: octet.supported_operators(None)),
                (ValueError, "'torch'", lambda: octet.supported_operators("torch")),
                (ValueError, "real is nan for rule tflite_2step, allowed: 0 <= M, finite",
                 lambda: octet.quantize_multiplier(float("nan"))),
                (ValueError, "real is inf", lambda: octet.quantize_multiplier(float("inf"))),
                (ValueError, "real is -1", lambda: octet.quantize_multiplier(-1)),
                (TypeError, "real is None, allowed: a number", lambda: octet.quantize_multiplier(None)),
                (TypeError, "real is '0.5', allowed: a number", lambda: octet.quantize_multiplier("0.5")),
                (TypeError, "rule is 3, allowed: a name", lambda: octet.quantize_multiplier(1, 3)),
                (ValueError, "rule is f32, allowed: ", lambda: octet.quantize_multiplier(1, "f32"))]:
            self.refused(error, text, call)

    def test_networks(self):
        pixels = np.fromfile(os.path.join(DIGITS, "digits_test.bin"), np.uint8, 360 * 64,
                             offset=32).reshape(360, 1, 8, 8, 1)
        images = (8 * pixels.astype(int) - 128).astype(np.int8)
        net = octet.Network(MODEL)
        for error, text, call in [
                (TypeError, "input 'image' is missing", lambda: net()),
                (TypeError, "takes 1 inputs, 2 are given", lambda: net(1, 2)),
                (ValueError, "shape 3x3", lambda: net(np.zeros((3, 3), np.int8))),
                (ValueError, "'picture'", lambda: net(picture=images[0])),
                (ValueError, "allowed for int8: -128 to 127", lambda: net(images[0].astype(int) + 1000)),
                (TypeError, "complex128", lambda: net(np.zeros((1, 8, 8, 1), complex))),
                (TypeError, "batch is 'two', allowed: an integer", lambda: octet.Network(MODEL, batch="two")),
                (ValueError, "batch is 1180591620717411303424, allowed: an integer of 64 bits",
                 lambda: octet.Network(MODEL, batch=1 << 70)),
                (ValueError, "threads is 1099511627776, allowed",
                 lambda: octet.Network(MODEL, threads=1 << 40)),
                (ValueError, "memory_limit is -1, allowed: 0 (no limit) and above",
                 lambda: octet.Network(MODEL, memory_limit=-1)),
                (TypeError, "rule is 3, allowed: a name", lambda: octet.Network(MODEL, rule=3)),
                (TypeError, "shapes is [1, 8], allowed: a dict by name", lambda: net.resize(shapes=[1, 8])),
                (TypeError, "shapes['image'] is '1x8x8x1', allowed: a list of integers",
                 lambda: net.resize(shapes={"image": "1x8x8x1"})),
                (TypeError, "dimensions['n'] is 1.5, allowed: an integer",
                 lambda: net.resize(dimensions={"n": 1.5})),
                (FileNotFoundError, "No such file or directory: '/no/such.tflite'",
                 lambda: octet.Network("/no/such.tflite")),
                (FileNotFoundError, "/no/such", lambda: net.save("/no/such/plan.octet")),
                (TypeError, "image is NoneType, allowed: an array of numbers", lambda: net(None)),
                (TypeError, "image is str, allowed: an array of numbers", lambda: net("image")),
                (ValueError, "expected has 0 arrays, allowed: one for each of the 1 outputs",
                 lambda: octet.compare(net, [])),
                (TypeError, "expected['stem'] is float32, the network's is int8",
                 lambda: octet.compare(net, {"stem": np.zeros((1, 8, 8, 16), np.float32)}, images[0])),
                (ValueError, "the network was not called before",
                 lambda: octet.compare(octet.Network(MODEL), [images])),
                (TypeError, "net is int, allowed: an octet.Network", lambda: octet.compare(3, 4, 5)),
                (TypeError, "expected is int, allowed: arrays by name, or one for each output",
                 lambda: octet.compare(net, 4, images[0])),
                (TypeError, "tolerance is 'a', allowed: a number",
                 lambda: octet.compare(net, {}, images[0], tolerance="a")),
                (TypeError, "net is int, allowed: an octet.Network", lambda: octet.explain(3)),
                (TypeError, "net is NoneType, allowed: an octet.Network", lambda: octet.profile(None)),
                (TypeError, "repeat is 'a', allowed: an integer", lambda: net.profile(repeat="a")),
                (TypeError, "rules is 'ort_f32', allowed: a list of names",
                 lambda: octet.compare_rules(MODEL, rules="ort_f32")),
                (TypeError, "description is int, allowed: a dict or a path", lambda: octet.match(3, len)),
                (TypeError, "device is int, allowed: a function of arrays", lambda: octet.match({}, 3)),
                (TypeError, "description has a object, allowed: texts, numbers, lists and dicts",
                 lambda: octet.match({"kind": object()}, len)),
                (TypeError, "model is int, allowed: a path", lambda: octet.refused_nodes(3)),
                (FileNotFoundError, "No such file or directory: '/no/such.tflite'",
                 lambda: octet.refused_nodes("/no/such.tflite")),
                (ValueError, "model is '', allowed: the name of a file", lambda: octet.refused_nodes("")),
                (ValueError, "path is '', allowed: the name of a file", lambda: net.save("")),
                (TypeError, "a name in feeds is 3, allowed: a name", lambda: net.run({3: images[0]})),
                (TypeError, "outputs is 'probabilities', allowed: a list of names",
                 lambda: net.run(images[0], "probabilities")),
                (TypeError, "outputs is None, allowed: a list of names", lambda: net.run(images[0], None)),
                (TypeError, "progress is 3, allowed: None, True or a function",
                 lambda: octet.Network(MODEL, progress=3)),
                (TypeError, "fusion is None, allowed: True or False",
                 lambda: octet.Network(MODEL, fusion=None)),
                (TypeError, "a name in expected is 3, allowed: a name",
                 lambda: octet.compare(net, {3: images[0]}, images[0])),
                (ValueError, "tolerance is nan, allowed: 0 and above",
                 lambda: octet.compare(net, {}, images[0], tolerance=float("nan"))),
                (ValueError, "tolerance is -1.0, allowed: 0 and above",
                 lambda: octet.compare(net, {}, images[0], tolerance=-1)),
                (ValueError, "rules is empty, allowed: one name or more",
                 lambda: octet.compare_rules(MODEL, rules=[])),
                (ValueError, "probes is 1, allowed: 16 to 1024", lambda: octet.match({}, len, 1)),
                (ValueError, "description has a number that is nan or infinite",
                 lambda: octet.match({"scale": float("nan")}, len)),
                (ValueError, "bytes: ", lambda: octet.Network(b"nothing")),
                (ValueError, "best", lambda: octet.Network(b"", rule="best"))]:
            self.refused(error, text, call)

    def test_products_of_floats_name_what_is_wrong(self):
        x, w, one = np.ones((3, 64), np.float32), np.ones((64, 8), np.int8), np.ones(8, np.float32)
        two = np.ones((2, 8), np.float32)

        def product(w=w, x=x, quantize="row", w_scale=one, **options):
            return lambda: octet.matmul(x, w, quantize=quantize, w_scale=w_scale, **options)
        for error, text, call in [
                (ValueError, "group is 0, allowed: 1 and above", product(w_scale=two, group=0)),
                (ValueError, "group is 128, allowed: 1 to 64, the k of w", product(w_scale=two[:1], group=128)),
                (ValueError, "w_scale has shape (2, 8), allowed: (3, 8)", product(w_scale=two, group=24)),
                (ValueError, "w_scale has shape (8, 2), allowed: (2, 8)", product(w_scale=two.T, group=32)),
                (TypeError, "group is not given, allowed with w_scale of 2 dimensions", product(w_scale=two)),
                (ValueError, "w_scale has 7 values, allowed: 1, 8", product(w_scale=one[1:])),
                (TypeError, "w_scale is not given, allowed with quantize", product(w_scale=None)),
                (ValueError, "value 0 is -1, allowed: finite, not negative", product(w_scale=-one)),
                (ValueError, "value 0 is nan, allowed: finite", product(w_scale=one * np.nan)),
                (ValueError, "value 0 is 200, allowed: -128 to 127, the codes of int8",
                 product(w_zero_point=np.full(8, 200))),
                (ValueError, "w_zero_point has 7 values, allowed: 1, 8", product(w_zero_point=np.ones(7, np.int32))),
                (ValueError, "w has the code 8, allowed with w_type \"int4\": -8 to 7",
                 product(w=8 * w, w_type="int4")),
                (ValueError, "quantize is 'rows', allowed: row, group, tensor", product(quantize="rows")),
                (ValueError, "quantizer is 'none', allowed: dynamic, xnnpack", product(quantizer="none")),
                (ValueError, "quantizer xnnpack without combination", product(quantizer="xnnpack")),
                (ValueError, "w has 3 dimensions, allowed with quantize: 2", product(w=w[None])),
                (ValueError, "K of x is 63, of weights 64", product(x=x[:, 1:]))]:
            self.refused(error, text, call)

    def test_operations_use_numpys_names(self):
        x, w = np.ones((1, 2, 4, 4), np.int8), np.ones((1, 2, 1, 1), np.float32)
        for error, text, call in [
                (octet.UnsupportedError, "convolution: x has type int16, implemented: uint8, int8, float32",
                 lambda: octet.conv2d(x.astype(np.int16), x)),
                (octet.UnsupportedError, "weights has type float32, implemented: int8, uint8",
                 lambda: octet.conv2d(x, w)),
                (TypeError, "rule is 3, allowed: a name", lambda: octet.quantize(x, scale=1.0, rule=3)),
                (TypeError, "x is NoneType, allowed: an array of numbers", lambda: octet.softmax(None)),
                (TypeError, "y is NoneType, allowed: an array of numbers",
                 lambda: octet.binary(x, None, "add")),
                (ValueError, "x_scale: scale 0 is nan, allowed: finite",
                 lambda: octet.conv2d(x, x, x_scale=float("nan"), rule="ort_f32")),
                (ValueError, "3 values of zero_point", lambda: octet.max_pool2d(x, 2, zero_point=[1, 2, 3])),
                (ValueError, "post_ops: function 'nosuch' is unknown, allowed: relu",
                 lambda: octet.eltwise(x, "relu", post_ops="nosuch")),
                (ValueError, "bias has 7 dimensions, allowed: 1",
                 lambda: octet.conv2d(x, x, np.ones((1,) * 7, np.int32))),
                (ValueError, "x has 7 dimensions, allowed: up to 6",
                 lambda: octet.eltwise(np.ones((1,) * 7, np.int8), "relu")),
                (ValueError, "stride is 1180591620717411303424, allowed: integers up to 1073741824",
                 lambda: octet.conv2d(x, x, stride=1 << 70)),
                (ValueError, "stride is -1, allowed: 1 or more",
                 lambda: octet.conv_transpose2d(x, x[:, :, :1, :1], stride=-1)),
                (TypeError, "kernel is b'x', allowed: an integer, or one per side",
                 lambda: octet.max_pool2d(x, b"x")),
                (TypeError, "keep_dims is 1, allowed: True or False",
                 lambda: octet.reduce(x, "sum", keep_dims=1)),
                (ValueError, "scale has 2 values, allowed: 1, or one per index of `axis`",
                 lambda: octet.requantize(x, scale=[1, 2])),
                (TypeError, "rule is None, allowed: a name", lambda: octet.layer_norm(x, rule=None)),
                (ValueError, "axis is (), allowed: None for all", lambda: octet.reduce(x, "sum", ()))]:
            self.refused(error, text, call)

    def test_sizes_are_integers_of_any_kind(self):
        x = np.arange(16, dtype=np.int8).reshape(1, 1, 4, 4)
        for kernel in (2, np.int64(2), (2, 2), [2], np.array([2, 2]), np.array(2)):
            np.testing.assert_array_equal(octet.max_pool2d(x, kernel)[0, 0], [[5, 7], [13, 15]])

    def test_matching(self):
        for error, text, call in [
                (ValueError, "description: key 'kind' is missing", lambda: octet.match({}, len)),
                (ValueError, "description: kind is 3, allowed: a word", lambda: octet.match({"kind": 3}, len))]:
            self.refused(error, text, call)
        with self.assertRaises(ValueError) as raised:
            octet.match({}, len)
        self.assertEqual(str(raised.exception), "description: key 'kind' is missing")


if __name__ == "__main__":
    unittest.main()
