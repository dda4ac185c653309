#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX Runtime's float operators, its own ones and Resize as models of one operator, with inputs.

    make_operators.py directory

For each there are NAME.onnx, one file of elements per input, and in operators.json the inputs' types and
dimensions; what is done with them: compare_operators.mjs. Needs Debian's python3-onnx and python3-numpy.
"""

import argparse
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32,
         np.dtype(np.uint8): TensorProto.UINT8,
         np.dtype(np.int8): TensorProto.INT8}
OWN = "com.microsoft"
random = np.random.default_rng(14)


def reals(*shape, deviation=1.0, mean=0.0):
    return random.normal(mean, deviation, shape).astype(np.float32)


def codes(dtype, *shape):
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max + 1, shape).astype(dtype)


class Operators:
    def __init__(self, directory):
        self.directory, self.index = directory, []

    def add(self, name, op, arguments, constants=(), domain="", opset=13, **attributes):
        """`arguments`: (name, array), or the name "" for one that is left out; those in `constants` are in the file."""
        given = [(n, a) for n, a in arguments if n and n not in constants]
        outputs = ["y", "counted"] if op == "EmbedLayerNormalization" else ["y"]
        keeps_type = ("Resize", "DepthToSpace", "SpaceToDepth", "Tile", "Pad")
        node = helper.make_node(op, [n for n, _ in arguments], outputs, domain=domain, **attributes)
        first = arguments[0][1]
        graph = helper.make_graph(
            [node], name, [helper.make_tensor_value_info(n, TYPES[a.dtype], a.shape) for n, a in given],
            [helper.make_tensor_value_info("y", TYPES[first.dtype] if op in keeps_type else TensorProto.FLOAT, None)],
            [numpy_helper.from_array(a, n) for n, a in arguments if n in constants])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(OWN, 1)])
        model.ir_version = 8
        onnx.save(model, os.path.join(self.directory, f"{name}.onnx"))
        for n, a in given:
            np.ascontiguousarray(a).tofile(os.path.join(self.directory, f"{name}_{n}.bin"))
        self.index.append({"name": name, "inputs": [{"name": n, "type": str(a.dtype),
                                                     "dims": list(a.shape)} for n, a in given]})

    def functions(self):
        x = np.concatenate([reals(1 << 17, deviation=2), np.linspace(-120, 120, 1 << 17).astype(np.float32)])
        x[:6] = [0, -0.0, np.inf, -np.inf, 1e-40, np.nan]
        x, bias = x.reshape(-1, 256), reals(256)
        for op, domain in (("Erf", ""), ("Exp", ""), ("Sigmoid", ""), ("Tanh", ""), ("Gelu", OWN),
                           ("FastGelu", OWN), ("QuickGelu", OWN)):
            self.add(op, op, [("x", x)], domain=domain)
        for op in ("BiasGelu", "FastGelu"):
            self.add(f"{op}_bias", op, [("x", x), ("bias", bias)], ["bias"], OWN)

    def elements(self):
        x = reals(64, 256, deviation=20)
        x[0, :8] = [0, -0.0, np.inf, -np.inf, 1e-40, 0.5, 1.5, -2.5]
        for op in ("Abs", "Ceil", "Floor", "Log", "Neg", "Reciprocal", "Round", "Softplus", "Softsign",
                   "ThresholdedRelu"):
            self.add(op, op, [("x", x)])
        operands = [("x", x), ("row", reals(256)), ("column", reals(64, 1))]
        for op in ("Max", "Mean", "Min", "Sum"):
            self.add(op, op, operands)
        self.add("PRelu", "PRelu", [("x", x), ("slope", reals(256))], ["slope"])
        self.add("Pow_3", "Pow", [("x", x), ("exponent", np.float32(3))], ["exponent"])

    def moves(self):
        for dtype in (np.float32, np.uint8):
            name = np.dtype(dtype).name
            x = reals(2, 8, 6, 4) if dtype == np.float32 else codes(dtype, 2, 8, 6, 4)
            for mode in ("DCR", "CRD"):
                self.add(f"DepthToSpace_{mode}_{name}", "DepthToSpace", [("x", x)], blocksize=2, mode=mode)
            self.add(f"SpaceToDepth_{name}", "SpaceToDepth", [("x", x)], blocksize=2)
            self.add(f"Tile_{name}", "Tile", [("x", x), ("repeats", np.int64([1, 2, 1, 3]))], ["repeats"])
            for mode in ("constant", "reflect", "edge"):
                self.add(f"Pad_{mode}_{name}", "Pad",
                         [("x", x), ("pads", np.int64([0, 0, 2, -1, 0, 0, 1, 2]))], ["pads"], mode=mode)

    def rows(self):
        for n in (1, 5, 8, 13, 16, 31, 48, 100, 384, 768):
            x, scale, shift = reals(40, n, deviation=3), reals(n, deviation=0.1, mean=1), reals(n, deviation=0.1)
            operands = [("scale", scale), ("shift", shift)]
            self.add(f"Softmax_{n}", "Softmax", [("x", x)], axis=-1)
            self.add(f"LogSoftmax_{n}", "LogSoftmax", [("x", x)], axis=-1)
            self.add(f"SimplifiedLayerNormalization_{n}", "SimplifiedLayerNormalization",
                     [("x", x), ("scale", scale)], ["scale"],
                     axis=-1, epsilon=1e-5)
            self.add(f"LayerNormalization_{n}", "LayerNormalization", [("x", x)] + operands,
                     ["scale", "shift"], opset=17)
            self.add(f"SkipLayerNormalization_{n}", "SkipLayerNormalization",
                     [("x", x[None]), ("skip", reals(1, 40, n))] + operands + [("bias", reals(n))],
                     ["scale", "shift", "bias"],
                     OWN, epsilon=1e-5)
            ids = (np.arange(40, dtype=np.int32) * 7 % 50).reshape(2, 20)
            self.add(f"EmbedLayerNormalization_{n}", "EmbedLayerNormalization",
                     [("ids", ids), ("segments", ids % 2), ("words", reals(50, n)), ("places", reals(30, n)),
                      ("kinds", reals(2, n))] + operands, ["words", "places", "kinds", "scale", "shift"], OWN,
                     epsilon=1e-12)

    def products(self):
        a, b = reals(2, 3, 20, 32), reals(2, 3, 40, 32)
        self.add("FusedMatMul", "FusedMatMul", [("a", a), ("b", b)], domain=OWN, transB=1, alpha=0.3)
        weights = [("w", codes(np.int8, 64, 48)), ("scale", np.float32(0.02)), ("zero_point", np.int8(3)),
                   ("bias", reals(48))]
        self.add("DynamicQuantizeMatMul", "DynamicQuantizeMatMul", [("x", reals(2, 10, 64))] + weights,
                 [n for n, _ in weights], OWN)

    def attention(self):
        for length, width, heads in ((10, 32, 4), (33, 64, 2)):
            masks = {"": None, "_mask": np.ones((2, length), np.int32), "_lengths": np.full(2, length - 2, np.int32)}
            masks["_mask"][:, length - 3:] = 0
            for kind, mask in masks.items():
                last = [] if mask is None else [("mask", mask)]
                self.add(f"Attention_{length}{kind}", "Attention",
                         [("x", reals(2, length, width)), ("w", reals(width, 3 * width, deviation=0.2)),
                          ("bias", reals(3 * width))] +
                         last, ["w", "bias"], OWN, num_heads=heads)
                self.add(f"QAttention_{length}{kind}", "QAttention",
                         [("x", codes(np.uint8, 2, length, width)), ("w", codes(np.int8, width, 3 * width)),
                          ("bias", reals(3 * width)),
                          ("x_scale", np.float32(0.02)), ("w_scale", np.float32(0.01))]
                         + (last or [("", None)]) +
                         [("x_zero", np.uint8(120)), ("w_zero", np.int8(0))],
                         ["w", "bias", "x_scale", "w_scale", "x_zero", "w_zero"], OWN, num_heads=heads)

    def resize(self):
        empty = ("", None)
        for dtype in (np.float32, np.uint8, np.int8):
            x = reals(2, 3, 9, 7) if dtype == np.float32 else codes(dtype, 2, 3, 9, 7)
            for coordinates in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
                given = {"coordinate_transformation_mode": coordinates}
                name = f"{np.dtype(dtype).name}_{coordinates}"
                self.add(f"Resize_linear_{name}", "Resize",
                         [("x", x), empty, ("scales", np.float32([1, 1, 0.6, 1.7]))], ["scales"],
                         mode="linear", **given)
                for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
                    self.add(f"Resize_{nearest}_{name}", "Resize",
                             [("x", x), empty, empty, ("sizes", np.int64([2, 3, 5, 16]))],
                             ["sizes"], mode="nearest", nearest_mode=nearest, **given)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory")
    operators = Operators(parser.parse_args().directory)
    os.makedirs(operators.directory, exist_ok=True)
    for write in (operators.functions, operators.elements, operators.moves, operators.rows,
                  operators.products, operators.attention, operators.resize):
        write()
    with open(os.path.join(operators.directory, "operators.json"), "w", encoding="utf-8") as file:
        json.dump(operators.index, file)


main()
