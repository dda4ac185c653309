# SPDX-License-Identifier: Apache-2.0
"""Writing the quantized network as .onnx: the .tflite file's codes and scales in ONNX Runtime's operators.

Channels-first. Int8 between one QuantizeLinear and one DequantizeLinear at the edges; QLinearAdd,
QLinearGlobalAveragePool, QGemm and QLinearSoftmax are of the domain com.microsoft. A relu needs no node: its
output has zero point -128, so the saturation of the operator before it is the relu.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import network

MICROSOFT = "com.microsoft"
OPSETS = [helper.make_opsetid("", 13), helper.make_opsetid(MICROSOFT, 1)]
CHANNELS_FIRST = {"CONV_2D": (0, 3, 1, 2), "DEPTHWISE_CONV_2D": (3, 0, 1, 2), "FULLY_CONNECTED": (0, 1)}


class graph_writer:
    def __init__(self, net):
        self.net, self.nodes, self.constants = net, [], {}

    def constant(self, name, value):
        self.constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def quantization(self, name):
        """The names of the scale and zero point constants of an activation."""
        q = self.net.activations[name]
        return [self.constant(f"{name}/scale", q.scale),
                self.constant(f"{name}/zero_point", np.int8(q.zero_point))]

    def quantized(self, name):
        return [name, *self.quantization(name)]

    def weights(self, layer):
        w = self.net.weights[layer.name]
        codes = np.ascontiguousarray(w.codes.transpose(CHANNELS_FIRST[layer.op]))
        scales = w.scales if w.scales.size > 1 else w.scales.reshape(())
        return [self.constant(f"{layer.name}/weights", codes),
                self.constant(f"{layer.name}/weights/scale", scales),
                self.constant(f"{layer.name}/weights/zero_point", np.zeros(scales.shape, np.int8))]

    def bias(self, layer):
        return self.constant(f"{layer.name}/bias", self.net.weights[layer.name].bias)

    def node(self, op, inputs, output, domain=None, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))


def add_layer(graph, layer):
    x, y = [graph.quantized(name) for name in layer.inputs], graph.quantization(layer.name)
    window = {"kernel_shape": [layer.kernel] * 2, "strides": [layer.stride] * 2}
    if layer.op in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        h, w, channels = graph.net.shapes[layer.inputs[0]]
        pads = np.array([network.same_padding(size, layer.kernel, layer.stride) for size in (h, w)])
        graph.node("QLinearConv", [*x[0], *graph.weights(layer), *y, graph.bias(layer)], layer.name,
                   pads=pads.T.reshape(-1).tolist(), group=1 if layer.op == "CONV_2D" else channels, **window)
    elif layer.op == "ADD":
        graph.node("QLinearAdd", [*x[0], *x[1], *y], layer.name, MICROSOFT)
    elif layer.op == "MAX_POOL_2D":
        graph.node("MaxPool", [x[0][0]], layer.name, **window)
    elif layer.op == "AVERAGE_POOL_2D":
        assert graph.net.shapes[layer.inputs[0]][:2] == (layer.kernel, layer.kernel)
        graph.node("QLinearGlobalAveragePool", [*x[0], *y], layer.name, MICROSOFT, channels_last=0)
    elif layer.op == "RESHAPE":
        graph.node("Flatten", [x[0][0]], layer.name, axis=1)
    elif layer.op == "FULLY_CONNECTED":
        graph.node("QGemm", [*x[0], *graph.weights(layer), graph.bias(layer), *y], layer.name, MICROSOFT,
                   transB=1)
    elif layer.op == "SOFTMAX":
        graph.node("QLinearSoftmax", [*x[0], *y], layer.name, MICROSOFT, axis=-1, opset=13)


def write(net, path):
    graph = graph_writer(net)
    first, last = "image", network.LAYERS[-1].name
    graph.node("QuantizeLinear", ["input", *graph.quantization(first)], first)
    for layer in network.LAYERS:
        add_layer(graph, layer)
    graph.node("DequantizeLinear", graph.quantized(last), "output")
    h, w, channels = net.shapes[first]
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["n", channels, h, w])]
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["n", network.CLASSES])]
    constants = used_constants(graph)
    model = helper.make_model(helper.make_graph(graph.nodes, "digits", inputs, outputs, constants),
                              producer_name="octet", opset_imports=OPSETS, ir_version=7)
    onnx.checker.check_model(model, full_check=False)
    onnx.save(model, str(path))


def used_constants(graph):
    """A pool has its input's quantization, named again by the node after it: keep what some node reads."""
    used = {name for node in graph.nodes for name in node.input}
    return [constant for name, constant in graph.constants.items() if name in used]
