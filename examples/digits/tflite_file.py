# SPDX-License-Identifier: Apache-2.0
"""Writing the quantized network as .tflite and reading such a file back.

Both go through network/tflite/reader/tflite.fbs, the schema that Octet reads models with. Writing hands
flatc a JSON text; reading uses the Python accessors that flatc generates: its JSON output would round floats.
"""

import functools
import importlib
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import network

SCHEMA = Path(__file__).parents[2] / "network" / "tflite" / "reader" / "tflite.fbs"
OPTIONS = {
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "ADD": "AddOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "RESHAPE": "ReshapeOptions",
    "SOFTMAX": "SoftmaxOptions",
}
# Operator code and the first version of the operator that takes int8.
OPERATOR_CODES = {
    "CONV_2D": (3, 3),
    "DEPTHWISE_CONV_2D": (4, 3),
    "FULLY_CONNECTED": (9, 4),
    "ADD": (0, 2),
    "MAX_POOL_2D": (17, 2),
    "AVERAGE_POOL_2D": (1, 2),
    "RESHAPE": (22, 1),
    "SOFTMAX": (25, 2),
}
DTYPES = {"INT8": np.int8, "INT32": np.int32}


class graph_writer:
    """Collects tensors and their buffers; an index is returned for each tensor."""

    def __init__(self):
        self.tensors, self.buffers = [], [{}]

    def add(self, name, dtype, shape, scale=None, zero_point=0, axis=0, data=None, signature=None):
        tensor = {"name": name, "type": dtype, "shape": [int(n) for n in shape], "buffer": len(self.buffers)}
        self.buffers.append({} if data is None else {"data": list(data.astype(DTYPES[dtype]).tobytes())})
        if scale is not None:
            scales = [float(s) for s in np.atleast_1d(scale)]
            tensor["quantization"] = {"scale": scales, "zero_point": [zero_point] * len(scales),
                                      "quantized_dimension": axis}
        if signature is not None:
            tensor["shape_signature"] = signature
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def add_activation(self, name, shape, quantization):
        return self.add(name, "INT8", [1, *shape], quantization.scale, quantization.zero_point,
                        signature=[-1, *shape])


def options_of(layer):
    filters = {"filter_width": layer.kernel, "filter_height": layer.kernel}
    strides = {"stride_w": layer.stride, "stride_h": layer.stride}
    activation = {"fused_activation_function": "RELU" if layer.relu else "NONE"}
    return {
        "CONV_2D": lambda: {"padding": "SAME", **strides, **activation},
        "DEPTHWISE_CONV_2D": lambda: {"padding": "SAME", **strides, "depth_multiplier": 1, **activation},
        "FULLY_CONNECTED": lambda: activation,
        "ADD": lambda: activation,
        "RESHAPE": lambda: {"new_shape": [-1, layer.channels]},
        "SOFTMAX": lambda: {"beta": 1.0},
        "MAX_POOL_2D": lambda: {"padding": "VALID", **strides, **filters, **activation},
        "AVERAGE_POOL_2D": lambda: {"padding": "VALID", **strides, **filters, **activation},
    }[layer.op]()


def as_json(net):
    """The model as the JSON form of the schema."""
    graph, operators = graph_writer(), []
    index = {"image": graph.add_activation("image", net.shapes["image"], net.activations["image"])}
    codes = list(dict.fromkeys(layer.op for layer in network.LAYERS))
    for layer in network.LAYERS:
        inputs = [index[name] for name in layer.inputs]
        if layer.has_weights:
            w, name = net.weights[layer.name], layer.name
            inputs += [graph.add(f"{name}/weights", "INT8", w.codes.shape, w.scales, 0, w.axis, w.codes),
                       graph.add(f"{name}/bias", "INT32", w.bias.shape, w.bias_scales, data=w.bias)]
        elif layer.op == "RESHAPE":
            shape = np.array([-1, layer.channels])
            inputs.append(graph.add(f"{layer.name}/shape", "INT32", shape.shape, data=shape))
        output = graph.add_activation(layer.name, net.shapes[layer.name], net.activations[layer.name])
        index[layer.name] = output
        operators.append({"opcode_index": codes.index(layer.op), "inputs": inputs, "outputs": [output],
                          "builtin_options_type": OPTIONS[layer.op], "builtin_options": options_of(layer)})
    subgraph = {"name": "digits", "tensors": graph.tensors, "operators": operators,
                "inputs": [index["image"]], "outputs": [index[network.LAYERS[-1].name]]}
    operator_codes = [{"deprecated_builtin_code": OPERATOR_CODES[op][0], "builtin_code": op,
                       "version": OPERATOR_CODES[op][1]} for op in codes]
    return {"version": 3, "description": "Octet example: handwritten digits, int8",
            "operator_codes": operator_codes, "subgraphs": [subgraph], "buffers": graph.buffers}


def write(net, path):
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / f"{path.stem}.json"
        text.write_text(json.dumps(as_json(net)))
        subprocess.run(["flatc", "--binary", "-o", path.parent, SCHEMA, text], check=True)


# ---- Reading.


@dataclass
class tensor:
    name: str
    shape: list
    scale: np.ndarray  # f32; empty, one, or one per channel
    zero_point: int
    data: np.ndarray  # None when the tensor is computed


@dataclass
class operator:
    op: str
    inputs: list
    outputs: list
    options: object  # the generated class of the options table; None when the file has none


@dataclass
class model:
    tensors: list
    operators: list
    inputs: list
    outputs: list


@functools.lru_cache(maxsize=None)
def generated_package():
    """The folder of the accessors that flatc generates from the schema; it lives as long as the process."""
    folder = tempfile.TemporaryDirectory()
    subprocess.run(["flatc", "--python", "-o", folder.name, SCHEMA], check=True)
    sys.path.insert(0, folder.name)
    return folder


@functools.lru_cache(maxsize=None)
def generated(name):
    """A class of the schema."""
    generated_package()
    return getattr(importlib.import_module(f"octet.tflite.{name}"), name)


def name_in(enum, value):
    return next(name for name, number in vars(enum).items() if number == value)


def read_tensor(source, t):
    dtype = DTYPES[name_in(generated("TensorType"), t.Type())]
    shape = [int(n) for n in t.ShapeAsNumpy()]
    buffer, q = source.Buffers(t.Buffer()), t.Quantization()
    data = None
    if not buffer.DataIsNone():
        data = np.frombuffer(buffer.DataAsNumpy().tobytes(), dtype).reshape(shape)
    is_quantized = q is not None and not q.ScaleIsNone()
    scale = q.ScaleAsNumpy() if is_quantized else np.zeros(0, np.float32)
    return tensor(t.Name().decode(), shape, scale, int(q.ZeroPoint(0)) if is_quantized else 0, data)


def read_operator(source, o):
    code = source.OperatorCodes(o.OpcodeIndex())
    options = None
    if o.BuiltinOptionsType():
        table = o.BuiltinOptions()
        options = generated(name_in(generated("BuiltinOptions"), o.BuiltinOptionsType()))()
        options.Init(table.Bytes, table.Pos)
    op = name_in(generated("BuiltinOperator"), max(code.BuiltinCode(), code.DeprecatedBuiltinCode()))
    return operator(op, o.InputsAsNumpy().tolist(), o.OutputsAsNumpy().tolist(), options)


def read(path):
    source = generated("Model").GetRootAs(path.read_bytes(), 0)
    graph = source.Subgraphs(0)
    return model([read_tensor(source, graph.Tensors(i)) for i in range(graph.TensorsLength())],
                 [read_operator(source, graph.Operators(i)) for i in range(graph.OperatorsLength())],
                 graph.InputsAsNumpy().tolist(), graph.OutputsAsNumpy().tolist())
