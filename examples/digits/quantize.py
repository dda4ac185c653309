#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Quantizes the digits network to int8 and writes everything that the example and its tests read.

    quantize.py             digits_f32.npz -> digits_int8.tflite, .onnx, digits_test.bin, digits_golden.*
    quantize.py --check     reads these files back, recomputes what they promise, changes nothing

Debian packages: python3-sklearn, python3-onnx, python3-flatbuffers, flatbuffers-compiler.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import golden
import network
import onnx_file
import tflite_file

FOLDER = Path(__file__).parent
MAX_LOSS = 0.01  # of test accuracy, against f32
# Operators whose output has the codes of their input.
KEEPS_QUANTIZATION = ("MAX_POOL_2D", "AVERAGE_POOL_2D", "RESHAPE")


@dataclass(frozen=True)
class quantization:
    """real = scale * (code - zero_point), one pair for the tensor."""

    scale: np.float32
    zero_point: int


@dataclass(frozen=True)
class quantized_weights:
    codes: np.ndarray  # s8, symmetric
    scales: np.ndarray  # f32: one per output channel, or one
    axis: int  # the dimension that the scales run along
    bias: np.ndarray  # s32, in units of bias_scales
    bias_scales: np.ndarray


@dataclass(frozen=True)
class quantized_network:
    shapes: dict  # of one image: (h, w, c) or (c,)
    activations: dict
    weights: dict


# Exact: the code of a pixel is 8 * pixel - 128, so no rule has a rounding to do before the first operator.
IMAGE = quantization(np.float32(1 / 128), -128)
# Fixed by TensorFlow Lite for an int8 softmax.
PROBABILITY = quantization(np.float32(1 / 256), -128)


def calibrated(values):
    """The range of the values and 0 onto 256 codes; 0 is a code exactly."""
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    scale = np.float32((high - low) / 255)
    return quantization(scale, int(np.clip(np.rint(-128 - low / float(scale)), -128, 127)))


def quantize_activations(activations):
    result = {"image": IMAGE}
    for layer in network.LAYERS:
        if layer.op == "SOFTMAX":
            result[layer.name] = PROBABILITY
        elif layer.op in KEEPS_QUANTIZATION:
            result[layer.name] = result[layer.inputs[0]]
        else:
            result[layer.name] = calibrated(activations[layer.name])
    return result


def quantize_weights(layer, weights, bias, input_scale):
    """Symmetric, -127 .. 127. Fully connected: one scale, as every version of TensorFlow Lite accepts it."""
    axis = weights.ndim - 1 if layer.op == "DEPTHWISE_CONV_2D" else 0
    shared = set(range(weights.ndim)) - (set() if layer.op == "FULLY_CONNECTED" else {axis})
    scales = np.float32(np.abs(weights).max(axis=tuple(shared), keepdims=True) / 127)
    codes = np.clip(np.rint(weights / scales), -127, 127).astype(np.int8)
    scales = scales.reshape(-1)
    bias_scales = np.float32(input_scale * scales)
    bias_codes = np.rint(bias / bias_scales).astype(np.int32)
    return quantized_weights(codes, scales, axis, bias_codes, bias_scales)


def quantize(parameters, calibration_pixels):
    f32_activations = network.run(parameters, calibration_pixels)
    shapes = {name: values.shape[1:] for name, values in f32_activations.items()}
    activations, weights = quantize_activations(f32_activations), {}
    for layer in (layer for layer in network.LAYERS if layer.has_weights):
        w, bias = parameters[f"{layer.name}/weights"], parameters[f"{layer.name}/bias"]
        weights[layer.name] = quantize_weights(layer, w, bias, activations[layer.inputs[0]].scale)
    return quantized_network(shapes, activations, weights)


def main():
    parser = argparse.ArgumentParser(description="Quantizes the digits network to int8.")
    parser.add_argument("--check", action="store_true",
                        help="recompute the expectations, write nothing, exit 1 if they differ")
    check = parser.parse_args().check

    parameters = dict(np.load(FOLDER / "digits_f32.npz"))
    train_pixels, _, pixels, labels = network.load_data()
    if not check:
        net = quantize(parameters, train_pixels)
        tflite_file.write(net, FOLDER / "digits_int8.tflite")
        onnx_file.write(net, FOLDER / "digits_int8.onnx")

    f32_logits = network.run(parameters, pixels)["logits"].astype(np.float32)
    files = {"digits_test.bin": golden.test_set(pixels, labels, f32_logits),
             **golden.expectations(FOLDER, pixels)}
    problems = []
    for name, content in files.items():
        if not check:
            (FOLDER / name).write_bytes(content)
        elif (FOLDER / name).read_bytes() != content:
            problems.append(f"{name} is not what the network computes")
    if golden.report(files, labels, f32_logits) > MAX_LOSS:
        problems.append(f"quantization loses more than {MAX_LOSS:.0%} of accuracy")
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
