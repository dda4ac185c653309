# SPDX-License-Identifier: Apache-2.0
"""octet.onnx_backend: ONNX's own suite (models of operators, without downloads), and what a program calls."""

import os
import re
import sys
import unittest

import numpy as np

try:
    import onnx
    from onnx.backend.test import loader
except ImportError:
    print("onnx backend test: the package onnx is missing (Debian: python3-onnx), skipped")
    sys.exit(77)
# Debian has the suite's models in a package of their own (libonnx-testdata), at another place.
places = [loader.DATA_DIR, "/usr/include/onnx/backend/test/data"]
data = next((place for place in places if os.path.isdir(os.path.join(place, "node"))), None)
if not data:
    print("onnx backend test: the suite's models are missing (Debian: libonnx-testdata), skipped")
    sys.exit(77)
loader.load_model_tests.__defaults__ = (data, None)
if "object" not in vars(np):
    np.object = object  # ONNX 1.12 needs it, NumPy 1.24 has it no more

import onnx.backend.test  # noqa: E402
import octet  # noqa: E402
import octet.onnx_backend as backend  # noqa: E402



class Prepared:
    """A model that counts as refused if its network is, also where that depends on the inputs."""

    def __init__(self, prepared):
        self.prepared = prepared

    def run(self, inputs):
        try:
            return self.prepared.run(inputs)
        except octet.UnsupportedError as refusal:
            raise unittest.SkipTest(str(refusal))


class Suite(backend.Backend):
    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        return True  # for `prepare` to say

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        try:
            return Prepared(super().prepare(model, device, **kwargs))
        except (octet.UnsupportedError, ValueError) as refusal:
            raise unittest.SkipTest(str(refusal))


tests = onnx.backend.test.BackendTest(Suite, __name__)
# ONNX Runtime, whose bytes Octet has, gives other numbers, and leaves these out itself.
for kind in ("cubic", "linear"):
    tests.exclude(f"test_resize_downsample_scales_{kind}_align_corners_cpu")
cases = tests.test_cases
suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(cases[f"OnnxBackend{kind}ModelTest"])
                           for kind in ("Node", "Simple", "PyTorchConverted", "PyTorchOperator"))
result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
passed = result.testsRun - len(result.skipped) - len(result.failures) - len(result.errors)
print(f"{passed} of {result.testsRun // 2} models pass")  # each is also a test of CUDA, which is skipped
assert result.wasSuccessful()
assert passed >= 547 or not onnx.__version__.startswith("1.12."), passed

# The page's list of what is missing.
with open(os.path.join(os.environ["OCTET_SOURCE_DIR"], "doc", "onnx.md")) as file:
    listed = re.search(r"### Operators of ONNX that are missing\n\n.*\n\n```text\n(.*?)```", file.read(), re.S)[1]
missing = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == "" and not schema.deprecated}
missing -= set(octet.supported_operators("onnx"))
assert set(re.findall(r"\w+", listed)) == missing or not onnx.__version__.startswith("1.12."), missing

add = onnx.helper.make_node("Add", ["a", "b"], ["sum"])
a, b = np.float32([1, 2, 3]), np.float32([10])
assert backend.run_node(add, [a, b])[0].tolist() == [11, 12, 13]
less = onnx.helper.make_node("Less", ["a", "b"], ["is_less"])
(found,) = backend.run_node(less, [a, np.float32([2])], outputs_info=[(np.bool_, (3,))])
assert found.dtype == bool and found.tolist() == [True, False, False]
info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in ("a", "b", "sum")]
model = onnx.helper.make_model(onnx.helper.make_graph([add], "sums", info[:2], info[2:]),
                               opset_imports=[onnx.helper.make_opsetid("", 13)])
prepared = backend.prepare(model, "CPU:0", threads=1)
assert isinstance(prepared, onnx.backend.base.BackendRep) and prepared.network.inputs[0].name == "a"
assert prepared.run([a, a])[0].tolist() == [2, 4, 6] == prepared.run({"a": a, "b": a})[0].tolist()
assert backend.is_compatible(model) and not backend.is_compatible(model, "CUDA")
reshape = onnx.helper.make_node("Reshape", ["a", "shape"], ["sum"])  # a network for each shape
info = [onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [6]),
        onnx.helper.make_tensor_value_info("shape", onnx.TensorProto.INT64, [2])]
model_of_shapes = onnx.helper.make_model(onnx.helper.make_graph(
    [reshape], "reshape", info, [onnx.helper.make_tensor_value_info("sum", onnx.TensorProto.FLOAT, None)]),
    opset_imports=[onnx.helper.make_opsetid("", 13)])
assert not backend.is_compatible(model_of_shapes)
prepared_shapes = backend.prepare(model_of_shapes)
for shape in ([2, 3], [3, 2], [3, 2]):
    assert prepared_shapes.run([np.float32(range(6)), np.int64(shape)])[0].shape == tuple(shape)
unknown = onnx.helper.make_node("NonMaxSuppression", ["a", "b"], ["sum"])
for function, allowed in ((lambda: backend.prepare(model, "CUDA"), "device is 'CUDA', allowed: 'CPU'"),
                          (lambda: prepared.run([a, a], slow=1), "run has no argument 'slow', allowed: inputs"),
                          (lambda: backend.run_node(add, [a]), "inputs has 1 arrays, allowed: 2"),
                          (lambda: backend.run_node(unknown, [a, b]), "NonMaxSuppression")):
    try:
        function()
    except (ValueError, TypeError, octet.UnsupportedError) as error:
        assert allowed in str(error), error
    else:
        raise AssertionError(f"no error with: {allowed}")
