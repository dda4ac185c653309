# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime on x86-64 computes for the exported .onnx file, operation by operation.

The other oracle for the C++ code: whole numbers up to the accumulator, then IEEE binary32 with one rounding
per operation, ties to even. Each function takes the node's inputs in the node's order; codes are int64.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

import network

f32 = np.float32
LOW, HIGH = -128, 127


def fma(a, b, c):
    """a * b + c, rounded once to f32: the product here has at most 32 significant bits and c is of a like
    size, so that binary64 holds the sum exactly."""
    return f32(np.float64(a) * np.float64(b) + np.float64(c))


def requantize(acc, scale, zero_point):
    assert np.abs(acc).max() < 1 << 31
    v = acc.astype(np.int32).astype(f32) * f32(scale)
    return np.rint(np.clip(v, f32(LOW - zero_point), f32(HIGH - zero_point))).astype(np.int64) + zero_point


def quantize_linear(attributes, x, scale, zero_point):
    v = np.clip(f32(x) / scale, f32(LOW - zero_point), f32(HIGH - zero_point))
    return np.rint(v).astype(np.int64) + zero_point


def dequantize_linear(attributes, x, scale, zero_point):
    return f32(x - zero_point) * scale


def qlinear_conv(attributes, x, x_scale, x_zp, w, w_scale, w_zp, y_scale, y_zp, bias):
    top, left, bottom, right = attributes["pads"]
    stride, depthwise = attributes["strides"][0], attributes["group"] > 1
    assert not np.any(w_zp) and attributes["group"] in (1, x.shape[1])
    weights = w.transpose((1, 2, 3, 0) if depthwise else (0, 2, 3, 1))
    padding = ((top, bottom), (left, right))
    acc = network.convolve((x - x_zp).transpose(0, 2, 3, 1), weights, stride, padding, depthwise)
    y = requantize(acc + bias, (x_scale * w_scale) / y_scale, y_zp)
    return y.transpose(0, 3, 1, 2)


def qlinear_add(attributes, a, a_scale, a_zp, b, b_scale, b_zp, y_scale, y_zp):
    """Raw codes enter two FMAs; the zero points are folded into one constant."""
    ratio_a, ratio_b = a_scale / y_scale, b_scale / y_scale
    fixed = f32(y_zp) - fma(ratio_a, a_zp, ratio_b * f32(b_zp))
    v = fma(a, ratio_a, fma(b, ratio_b, fixed))
    return np.clip(np.rint(v), LOW, HIGH).astype(np.int64)


def max_pool(attributes, x):
    kernel, stride = attributes["kernel_shape"][0], attributes["strides"][0]
    return network.pool(x.transpose(0, 2, 3, 1), kernel, stride, np.max).transpose(0, 3, 1, 2)


def qlinear_global_average_pool(attributes, x, x_scale, x_zp, y_scale, y_zp):
    count = x.shape[2] * x.shape[3]
    return requantize((x - x_zp).sum(axis=(2, 3), keepdims=True), x_scale / (y_scale * f32(count)), y_zp)


def flatten(attributes, x):
    return x.reshape(len(x), -1)


def qgemm(attributes, a, a_scale, a_zp, b, b_scale, b_zp, bias, y_scale, y_zp):
    assert attributes["transB"] == 1 and not np.any(b_zp)
    return requantize((a - a_zp) @ b.T + bias, (a_scale * b_scale) / y_scale, y_zp)


def qlinear_softmax(attributes, x, x_scale, x_zp, y_scale, y_zp):
    """A table of exponentials, shifted up so that the sum just fits f32; x_zp plays no part."""
    length = x.shape[-1]
    limit = f32(np.log(np.float64(np.finfo(f32).max / f32(length))))
    shift = max(0.0, float(limit) - 5.0) / float(x_scale)
    table = np.exp((np.arange(256) - 255 + shift) * float(x_scale)).astype(f32)
    e = table[255 - (x.max(axis=-1, keepdims=True) - x)]
    total = np.zeros(e.shape[:-1], f32)
    for j in range(length):
        total = total + e[..., j]
    v = (e * np.floor(f32(1) / y_scale)) / total[..., None]
    return np.minimum(np.rint(v).astype(np.int64) + y_zp, HIGH)


OPERATORS = {
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
    "QLinearConv": qlinear_conv,
    "QLinearAdd": qlinear_add,
    "MaxPool": max_pool,
    "QLinearGlobalAveragePool": qlinear_global_average_pool,
    "Flatten": flatten,
    "QGemm": qgemm,
    "QLinearSoftmax": qlinear_softmax,
}


def constant_value(tensor):
    value = numpy_helper.to_array(tensor)
    return value if value.dtype == f32 else value.astype(np.int64)


def run(path, images):
    """Every value of the graph by name; images are f32 (n, 1, 8, 8)."""
    model = onnx.load(str(path))
    values = {tensor.name: constant_value(tensor) for tensor in model.graph.initializer}
    values["input"] = f32(images)
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        values[node.output[0]] = OPERATORS[node.op_type](attributes, *(values[name] for name in node.input))
    return {name: values[name] for node in model.graph.node for name in node.output}
