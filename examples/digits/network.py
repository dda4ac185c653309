# SPDX-License-Identifier: Apache-2.0
"""The digits network: its layers, its data, and what it computes in floating point.

The layer list below is the only place that knows the architecture. train.py builds a trainable network from
it, quantize.py calibrates, quantizes and exports it. Arrays are channels-last (n, h, w, c); weights are as
TensorFlow Lite orders them: (out, kh, kw, in), depthwise (1, kh, kw, channels), fully connected (out, in).
"""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

IMAGE_SIZE = 8
CLASSES = 10
PIXEL_MAX = 16  # pixels are 0 .. 16; the network's input is pixel / 16


@dataclass(frozen=True)
class layer:
    name: str
    op: str  # TensorFlow Lite's name of the operator
    inputs: tuple
    channels: int = 0
    kernel: int = 1
    stride: int = 1
    relu: bool = False

    @property
    def has_weights(self):
        return self.op in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


LAYERS = (
    layer("stem", "CONV_2D", ("image",), 16, kernel=3, relu=True),
    layer("mix_space", "DEPTHWISE_CONV_2D", ("stem",), 16, kernel=3, relu=True),
    layer("mix_channels", "CONV_2D", ("mix_space",), 16),
    layer("residual", "ADD", ("stem", "mix_channels"), 16, relu=True),
    layer("shrink", "MAX_POOL_2D", ("residual",), 16, kernel=2, stride=2),
    layer("widen", "CONV_2D", ("shrink",), 32, relu=True),
    layer("reduce_space", "DEPTHWISE_CONV_2D", ("widen",), 32, kernel=3, stride=2, relu=True),
    layer("reduce_channels", "CONV_2D", ("reduce_space",), 32, relu=True),
    layer("average", "AVERAGE_POOL_2D", ("reduce_channels",), 32, kernel=2, stride=2),
    layer("flat", "RESHAPE", ("average",), 32),
    layer("logits", "FULLY_CONNECTED", ("flat",), CLASSES),
    layer("probabilities", "SOFTMAX", ("logits",), CLASSES),
)


def load_data():
    """(train pixels, train labels, test pixels, test labels), pixels u8 (n, 8, 8). Every fifth is a test."""
    digits = load_digits()
    pixels, labels = digits.images.astype(np.uint8), digits.target.astype(np.uint8)
    is_test = np.arange(len(labels)) % 5 == 0
    return pixels[~is_test], labels[~is_test], pixels[is_test], labels[is_test]


def as_input(pixels):
    return pixels[..., None].astype(np.float64) / PIXEL_MAX


def same_padding(size, kernel, stride):
    """(before, after) so that the output has ceil(size / stride) positions; an odd row goes to the end."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def windows(x, kernel, stride):
    """For each (kh, kw): the elements of the padded x that this tap meets, shaped like the output."""
    last_h, last_w = ((size - taps) // stride * stride for size, taps in zip(x.shape[1:3], kernel))
    for kh in range(kernel[0]):
        for kw in range(kernel[1]):
            yield kh, kw, x[:, kh : kh + last_h + 1 : stride, kw : kw + last_w + 1 : stride]


def convolve(x, weights, stride, padding, depthwise=False):
    """Sum over taps and input channels; exact for integers. padding: ((top, bottom), (left, right))."""
    x = np.pad(x, ((0, 0), *padding, (0, 0)))
    taps = windows(x, weights.shape[1:3], stride)
    if depthwise:
        return sum(tap * weights[0, kh, kw] for kh, kw, tap in taps)
    return sum(tap @ weights[:, kh, kw].T for kh, kw, tap in taps)


def pool(x, kernel, stride, combine):
    return combine(np.stack([tap for _, _, tap in windows(x, (kernel, kernel), stride)]), axis=0)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def run_layer(layer, x, parameters):
    """One layer in float64. parameters: {"<layer>/weights": ..., "<layer>/bias": ...}."""
    if layer.has_weights:
        weights = parameters[f"{layer.name}/weights"].astype(np.float64)
        bias = parameters[f"{layer.name}/bias"].astype(np.float64)
    if layer.op == "FULLY_CONNECTED":
        y = x[0] @ weights.T + bias
    elif layer.has_weights:
        padding = [same_padding(size, layer.kernel, layer.stride) for size in x[0].shape[1:3]]
        y = convolve(x[0], weights, layer.stride, padding, layer.op == "DEPTHWISE_CONV_2D") + bias
    elif layer.op == "ADD":
        y = x[0] + x[1]
    elif layer.op == "MAX_POOL_2D":
        y = pool(x[0], layer.kernel, layer.stride, np.max)
    elif layer.op == "AVERAGE_POOL_2D":
        y = pool(x[0], layer.kernel, layer.stride, np.mean)
    elif layer.op == "RESHAPE":
        y = x[0].reshape(len(x[0]), -1)
    elif layer.op == "SOFTMAX":
        y = softmax(x[0])
    return np.maximum(y, 0) if layer.relu else y


def run(parameters, pixels):
    """Every activation by name, in float64: no figure then depends on the order of a BLAS library's sums."""
    activations = {"image": as_input(pixels)}
    for layer in LAYERS:
        activations[layer.name] = run_layer(layer, [activations[name] for name in layer.inputs], parameters)
    return activations


def accuracy(scores, labels):
    return float(np.mean(scores.argmax(axis=1) == labels))
