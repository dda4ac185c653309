#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ResNet-50 v1.5, MobileNet v1 or MobileNet v2 as int8 .onnx with random weights, to measure whole networks.

    make_onnx.py resnet50 --types u8s8 --format qlinear --output resnet50_u8s8.onnx

The structure, the types and the ranges are those of a network quantized per channel; the classes mean nothing.
Scales follow from the statistics of the random numbers: a normal value keeps a standard deviation of 40 codes, so
neither saturation nor dead channels distort what is compared. Needs Debian's python3-onnx and python3-numpy.
"""

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
OPSETS = [helper.make_opsetid("", 13), helper.make_opsetid(MICROSOFT, 1)]
DEVIATION = 40.0  # of an activation before its relu, in codes
CODES = {"u8": np.uint8, "s8": np.int8}


class Activation:
    """A tensor on its way: `power` is the mean square of its codes minus the zero point."""

    def __init__(self, name, channels, size, scale, zero_point, power):
        self.name, self.channels, self.size = name, channels, size
        self.scale, self.zero_point, self.power = scale, zero_point, power


class Writer:
    """Operators on codes; `qdq` writes float operators between DequantizeLinear and QuantizeLinear instead."""

    def __init__(self, types, qdq, seed):
        self.qdq = qdq
        self.activation_type, self.weights_type = CODES[types[:2]], CODES[types[2:]]
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, inputs, output, domain=None, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))

    def quantization(self, x):
        """Names of the scale and zero point; the same constants wherever the tensor is read."""
        names = [f"{x.name}/scale", f"{x.name}/zero_point"]
        if not any(c.name == names[0] for c in self.constants):
            self.constant(names[0], np.float32(x.scale))
            self.constant(names[1], self.activation_type(x.zero_point))
        return names

    def activation(self, name, channels, size, deviation, relu):
        """An output whose real values have this standard deviation."""
        lowest = np.iinfo(self.activation_type).min
        scale = deviation / DEVIATION
        # Half of the values are cut off by a relu, which saturation to the lowest code performs.
        zero_point, power = (lowest, DEVIATION**2 / 2) if relu else (lowest + 128, DEVIATION**2)
        return Activation(name, channels, size, scale, zero_point, power)

    def quantize(self, name, channels, size):
        x = self.activation(name, channels, size, 1.0, relu=False)
        self.node("QuantizeLinear", ["input", *self.quantization(x)], name)
        return x

    def weights(self, name, shape, channel_axis):
        """Normal values, quantized symmetrically per output channel; returns their real deviation."""
        k = np.prod(shape) // shape[channel_axis]
        real = self.random.normal(0, 1 / np.sqrt(k), shape).astype(np.float32)
        others = tuple(a for a in range(len(shape)) if a != channel_axis)
        scales = (np.abs(real).max(axis=others) / 127).astype(np.float32)
        broadcast = scales.reshape([-1 if a == channel_axis else 1 for a in range(len(shape))])
        codes = np.clip(np.rint(real / broadcast), -127, 127).astype(np.int32)
        zero_point = 128 if self.weights_type is np.uint8 else 0
        zero_points = np.full(scales.shape, zero_point, self.weights_type)
        return [self.constant(f"{name}/weights", (codes + zero_point).astype(self.weights_type)),
                self.constant(f"{name}/weights/scale", scales),
                self.constant(f"{name}/weights/zero_point", zero_points)], scales

    def bias(self, name, scales, x):
        real = self.random.normal(0, 0.2, scales.shape) * x.scale * np.sqrt(x.power)
        return self.constant(f"{name}/bias", np.rint(real / (x.scale * scales)).astype(np.int32))

    def dequantized(self, codes, scale, zero_point=None, **attributes):
        """A node of its own for each reader, as quantizers write them."""
        name = f"real{len(self.nodes)}"
        self.node("DequantizeLinear", [codes, scale] + ([zero_point] if zero_point else []), name, **attributes)
        return name

    def real(self, x):
        return self.dequantized(x.name, *self.quantization(x))

    def float_operator(self, op, inputs, y, **attributes):
        self.node(op, inputs, f"{y.name}/real", **attributes)
        self.node("QuantizeLinear", [f"{y.name}/real", *self.quantization(y)], y.name)

    def products(self, x, weights, bias, scales, name):
        """The float inputs of an operator that sums products."""
        bias_scale = self.constant(f"{name}/bias/scale", np.float32(x.scale) * scales)
        return [self.real(x), self.dequantized(*weights, axis=0), self.dequantized(bias, bias_scale, axis=0)]

    def conv(self, x, name, channels, kernel=1, stride=1, group=1, relu=True, pads=None):
        weights, scales = self.weights(name, (channels, x.channels // group, kernel, kernel), 0)
        pads = pads or [kernel // 2] * 4
        size = (x.size + pads[0] + pads[2] - kernel) // stride + 1
        y = self.activation(name, channels, size, x.scale * np.sqrt(x.power), relu)
        window = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": pads, "group": group}
        bias = self.bias(name, scales, x)
        if self.qdq:
            self.float_operator("Conv", self.products(x, weights, bias, scales, name), y, **window)
        else:
            self.node("QLinearConv", [x.name, *self.quantization(x), *weights, *self.quantization(y), bias], name,
                      **window)
        return y

    def add(self, a, b, name, relu):
        deviation = np.sqrt(a.scale**2 * a.power + b.scale**2 * b.power)
        y = self.activation(name, a.channels, a.size, deviation, relu)
        if self.qdq:
            self.float_operator("Add", [self.real(a), self.real(b)], y)
            return y
        self.node("QLinearAdd", [a.name, *self.quantization(a), b.name, *self.quantization(b), *self.quantization(y)],
                  name, MICROSOFT)
        return y

    def max_pool(self, x, name):
        self.node("MaxPool", [x.name], name, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        y = Activation(name, x.channels, (x.size + 2 - 3) // 2 + 1, x.scale, x.zero_point, 2 * x.power)
        self.constants_of(y, x)
        return y

    def constants_of(self, y, x):
        self.constant(f"{y.name}/scale", np.float32(x.scale))
        self.constant(f"{y.name}/zero_point", self.activation_type(x.zero_point))

    def classify(self, x, classes):
        mean = self.activation("mean", x.channels, 1, x.scale * np.sqrt(x.power), relu=True)
        if self.qdq:
            self.float_operator("GlobalAveragePool", [self.real(x)], mean)
        else:
            self.node("QLinearGlobalAveragePool", [x.name, *self.quantization(x), *self.quantization(mean)], "mean",
                      MICROSOFT, channels_last=0)
        self.node("Flatten", ["mean"], "features", axis=1)
        weights, scales = self.weights("logits", (classes, x.channels), 0)
        y = self.activation("logits", classes, 1, mean.scale * np.sqrt(mean.power), relu=False)
        bias = self.bias("logits", scales, mean)
        if self.qdq:
            features = Activation("features", x.channels, 1, mean.scale, mean.zero_point, mean.power)
            self.constants_of(features, mean)
            self.float_operator("Gemm", self.products(features, weights, bias, scales, "logits"), y, transB=1)
        else:
            self.node("QGemm", ["features", *self.quantization(mean), *weights, bias, *self.quantization(y)], "logits",
                      MICROSOFT, transB=1)
        self.node("DequantizeLinear", ["logits", *self.quantization(y)], "output")


def bottleneck(w, x, name, width, stride):
    y = w.conv(x, f"{name}_1x1a", width)
    y = w.conv(y, f"{name}_3x3", width, kernel=3, stride=stride)
    y = w.conv(y, f"{name}_1x1b", 4 * width, relu=False)
    if stride != 1 or x.channels != 4 * width:
        x = w.conv(x, f"{name}_shortcut", 4 * width, stride=stride, relu=False)
    return w.add(y, x, f"{name}_sum", relu=True)


def resnet50(w):
    x = w.max_pool(w.conv(w.quantize("image", 3, 224), "conv1", 64, kernel=7, stride=2), "pool1")
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], 2):
        for block in range(blocks):
            x = bottleneck(w, x, f"res{stage}{'abcdef'[block]}", width, 2 if block == 0 and stage > 2 else 1)
    w.classify(x, 1000)


def same(x, stride):
    """Padding SAME of a 3x3 window."""
    total = max((-(-x.size // stride) - 1) * stride + 3 - x.size, 0)
    return [total // 2, total // 2, total - total // 2, total - total // 2]


def depthwise(w, x, name, stride):
    return w.conv(x, name, x.channels, kernel=3, stride=stride, group=x.channels, pads=same(x, stride))


def mobilenet_v1(w):
    x = w.quantize("image", 3, 224)
    x = w.conv(x, "conv0", 32, kernel=3, stride=2, pads=same(x, 2))
    layers = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + 5 * [(512, 1)] + [(1024, 2), (1024, 1)]
    for i, (channels, stride) in enumerate(layers, 1):
        x = w.conv(depthwise(w, x, f"dw{i}", stride), f"pw{i}", channels)
    w.classify(x, 1000)


def mobilenet_v2(w):
    x = w.quantize("image", 3, 224)
    x = w.conv(x, "conv0", 32, kernel=3, stride=2, pads=same(x, 2))
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for stage, (expansion, channels, blocks, stride) in enumerate(stages, 1):
        for block in range(blocks):
            name, block_input = f"block{stage}{'abcd'[block]}", x
            if expansion != 1:
                x = w.conv(x, f"{name}_expand", expansion * x.channels)
            x = depthwise(w, x, f"{name}_dw", stride if block == 0 else 1)
            x = w.conv(x, f"{name}_project", channels, relu=False)
            if block > 0:
                x = w.add(block_input, x, f"{name}_sum", relu=False)
    w.classify(w.conv(x, "head", 1280), 1000)


NETWORKS = {"resnet50": resnet50, "mobilenet_v1": mobilenet_v1, "mobilenet_v2": mobilenet_v2}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--types", choices=["u8s8", "s8s8", "u8u8"], default="u8s8", help="activations, weights")
    parser.add_argument("--format", choices=["qlinear", "qdq"], default="qlinear")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    writer = Writer(options.types, options.format == "qdq", options.seed)
    NETWORKS[options.network](writer)
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["n", 3, 224, 224])]
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["n", 1000])]
    graph = helper.make_graph(writer.nodes, options.network, inputs, outputs, writer.constants)
    onnx.save(helper.make_model(graph, producer_name="octet", opset_imports=OPSETS, ir_version=7), options.output)


if __name__ == "__main__":
    main()
