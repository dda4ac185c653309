#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a transformer encoder of BERT's form as .onnx with seeded random weights, to measure whole networks.

    make_encoder.py bert_base --quantization dynamic --output bert_base_dynamic.onnx

The nodes are those that exporters and ONNX Runtime's quantizer write: embeddings, attention with its masks,
LayerNormalization and Gelu out of their parts, a pooler; sizes of batch and sequence stay open, so shapes are
computed by the network. `dynamic` has DynamicQuantizeLinear and MatMulInteger, `static` has QuantizeLinear
and DequantizeLinear around the products and the embeddings, with scales measured in float on random tokens.
Needs Debian's python3-onnx and python3-numpy.
"""

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPES = {  # layers, width, heads, inner width, vocabulary
    "bert_base": (12, 768, 12, 3072, 30522),
    "minilm": (6, 384, 12, 1536, 30522),
    "tiny": (2, 64, 4, 256, 1000),
}
POSITIONS = 512


class Writer:
    """Nodes with names, and the float values of the tensors on a sample, from which static scales come."""

    def __init__(self, quantization, seed, fused):
        self.quantization, self.fused = quantization, fused
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.names, self.ranges = [], [], set(), {}

    def constant(self, name, value):
        if name not in self.names:
            self.names.add(name)
            self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, inputs, output, count=1, domain=None, **attributes):
        outputs = [output] if count == 1 else [f"{output}{i or ''}" for i in range(count)]
        self.nodes.append(helper.make_node(op, inputs, outputs, name=output, domain=domain, **attributes))
        return output if count == 1 else outputs

    def normal(self, shape, deviation):
        return self.random.normal(0, deviation, shape).astype(np.float32)

    def shape_constant(self, name, values):
        return self.constant(name, np.array(values, np.int64))

    # ---- Quantization

    def codes_of(self, weights, axis):
        """Symmetric s8 codes, one scale per index of `axis` or one in all."""
        others = None if axis is None else tuple(a for a in range(weights.ndim) if a != axis)
        scales = (np.abs(weights).max(axis=others) / 127).astype(np.float32)
        broadcast = scales if axis is None else scales.reshape([-1 if a == axis else 1 for a in range(weights.ndim)])
        return np.clip(np.rint(weights / broadcast), -127, 127).astype(np.int8), scales

    def quantized_activation(self, x, deviation):
        """QuantizeLinear and DequantizeLinear, u8, with a range of four deviations around 0."""
        scale = self.constant(f"{x}/scale", np.float32(8 * deviation / 255))
        zero_point = self.constant(f"{x}/zero_point", np.uint8(128))
        codes = f"{x}/codes"
        if codes not in self.names:
            self.names.add(codes)
            self.node("QuantizeLinear", [x, scale, zero_point], codes)
        return self.node("DequantizeLinear", [codes, scale, zero_point], f"{x}/real{len(self.nodes)}")

    def product(self, x, name, outputs, width, deviation=1.0):
        """x times weights of {width, outputs} plus a bias; `deviation` is that of x."""
        weights, bias = self.normal((width, outputs), 1 / np.sqrt(width)), self.normal((outputs,), 0.1)
        bias_name = self.constant(f"{name}/bias", bias)
        if self.quantization == "none":
            y = self.node("MatMul", [x, self.constant(f"{name}/weights", weights)], f"{name}/product")
        elif self.quantization == "dynamic":
            codes, scale = self.codes_of(weights, 1)
            y = self.dynamic_product(x, name, codes, scale)
        else:
            codes, scales = self.codes_of(weights, 1)
            real = self.node("DequantizeLinear", [self.constant(f"{name}/weights", codes),
                                                  self.constant(f"{name}/weights/scale", scales),
                                                  self.constant(f"{name}/weights/zero_point",
                                                                np.zeros(outputs, np.int8))],
                             f"{name}/weights/real", axis=1)
            y = self.node("MatMul", [self.quantized_activation(x, deviation), real], f"{name}/product")
        return self.node("Add", [bias_name, y], f"{name}/sum")

    def dynamic_product(self, x, name, codes, scale):
        if f"{x}/codes" not in self.names:
            self.names.add(f"{x}/codes")
            self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x],
                                               [f"{x}/codes", f"{x}/scale", f"{x}/zero_point"], name=f"{x}/quantize"))
        weights = [self.constant(f"{name}/weights", codes), self.constant(f"{name}/weights/zero_point",
                                                                          np.zeros(scale.shape, np.int8))]
        y = self.node("MatMulInteger", [f"{x}/codes", weights[0], f"{x}/zero_point", weights[1]], f"{name}/integers")
        y = self.node("Cast", [y], f"{name}/cast", to=TensorProto.FLOAT)
        factor = self.node("Mul", [f"{x}/scale", self.constant(f"{name}/weights/scale", scale)], f"{name}/factor")
        return self.node("Mul", [y, factor], f"{name}/product")

    # ---- Operators out of their parts

    def layer_normalization(self, x, name, width):
        scale = self.constant(f"{name}/gamma", 1 + self.normal((width,), 0.1))
        shift = self.constant(f"{name}/beta", self.normal((width,), 0.1))
        if self.fused:
            return self.node("LayerNormalization", [x, scale, shift], name, axis=-1, epsilon=1e-12)
        mean = self.node("ReduceMean", [x], f"{name}/mean", axes=[-1])
        centred = self.node("Sub", [x, mean], f"{name}/centred")
        square = self.node("Pow", [centred, self.constant("two", np.float32(2))], f"{name}/square")
        variance = self.node("ReduceMean", [square], f"{name}/variance", axes=[-1])
        variance = self.node("Add", [variance, self.constant("epsilon", np.float32(1e-12))], f"{name}/sum")
        y = self.node("Div", [centred, self.node("Sqrt", [variance], f"{name}/deviation")], f"{name}/normal")
        return self.node("Add", [self.node("Mul", [y, scale], f"{name}/scaled"), shift], name)

    def gelu(self, x, name):
        y = self.node("Div", [x, self.constant("sqrt2", np.float32(np.sqrt(2)))], f"{name}/quotient")
        y = self.node("Add", [self.node("Erf", [y], f"{name}/erf"), self.constant("one", np.float32(1))], f"{name}/sum")
        y = self.node("Mul", [x, y], f"{name}/doubled")
        return self.node("Mul", [y, self.constant("half", np.float32(0.5))], name)

    def heads(self, x, name, heads, size, permutation):
        """{batch, sequence, width} as {batch, heads, …}; the shape is computed, as exporters write it."""
        shape = self.node("Shape", [x], f"{name}/shape")
        parts = [self.node("Unsqueeze", [self.node("Gather", [shape, self.shape_constant(f"index{i}", i)],
                                                   f"{name}/dim{i}"), self.shape_constant("axis0", [0])],
                           f"{name}/size{i}") for i in (0, 1)]
        shape = self.node("Concat", parts + [self.shape_constant("heads", [heads]),
                                             self.shape_constant("head", [size])],
                          f"{name}/new_shape", axis=0)
        return self.node("Transpose", [self.node("Reshape", [x, shape], f"{name}/split")], name, perm=permutation)

    def attention(self, x, mask, name, width, heads):
        size = width // heads
        q, k, v = (self.heads(self.product(x, f"{name}/{part}", width, width), f"{name}/{part}/heads", heads, size,
                              [0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]) for part in "qkv")
        if self.quantization == "static":
            q, k, v = (self.quantized_activation(t, 1.0) for t in (q, k, v))
        scores = self.node("MatMul", [q, k], f"{name}/products")
        scores = self.node("Div", [scores, self.constant("sqrt_size", np.float32(np.sqrt(size)))], f"{name}/scores")
        scores = self.node("Softmax", [self.node("Add", [scores, mask], f"{name}/masked")], f"{name}/weights", axis=-1)
        if self.quantization == "static":
            scale = self.constant("probability/scale", np.float32(1 / 255))
            zero_point = self.constant("probability/zero_point", np.uint8(0))
            codes = self.node("QuantizeLinear", [scores, scale, zero_point], f"{name}/weights/codes")
            scores = self.node("DequantizeLinear", [codes, scale, zero_point], f"{name}/weights/real")
        y = self.node("Transpose", [self.node("MatMul", [scores, v], f"{name}/sums")], f"{name}/transposed",
                      perm=[0, 2, 1, 3])
        y = self.node("Reshape", [y, self.shape_constant("flat", [0, 0, width])], f"{name}/context")
        return self.product(y, f"{name}/output", width, width, deviation=0.5)

    def embedding(self, name, count, width, indices):
        table = self.normal((count, width), 0.5)
        if self.quantization == "none":
            return self.node("Gather", [self.constant(f"{name}/table", table), indices], name)
        scale = np.float32(np.abs(table).max() * 2 / 255)  # u8, as ONNX Runtime quantizes tables
        codes = np.clip(np.rint(table / scale) + 128, 0, 255).astype(np.uint8)
        names = [self.constant(f"{name}/scale", scale), self.constant(f"{name}/zero_point", np.uint8(128))]
        codes = self.node("Gather", [self.constant(f"{name}/table", codes), indices], f"{name}/codes")
        return self.node("DequantizeLinear", [codes, *names], name)

    def encoder(self, layers, width, heads, inner, vocabulary):
        sequence = self.node("Gather", [self.node("Shape", ["input_ids"], "shape"), self.shape_constant("index1", 1)],
                             "sequence")
        end = self.node("Unsqueeze", [sequence, self.shape_constant("axis0", [0])], "end")
        positions = self.constant("positions", np.arange(POSITIONS, dtype=np.int64).reshape(1, -1))
        positions = self.node("Slice", [positions, self.shape_constant("axis0", [0]), end,
                                        self.shape_constant("axis1", [1])], "position_ids")
        mask = self.node("Unsqueeze", ["attention_mask", self.shape_constant("mask_axes", [1, 2])], "mask")
        mask = self.node("Sub", [self.constant("one", np.float32(1)),
                                 self.node("Cast", [mask], "real_mask", to=TensorProto.FLOAT)], "hidden")
        mask = self.node("Mul", [mask, self.constant("lowest", np.float32(-10000))], "penalty")
        x = self.node("Add", [self.embedding("words", vocabulary, width, "input_ids"),
                              self.embedding("types", 2, width, "token_type_ids")], "tokens")
        x = self.node("Add", [x, self.embedding("places", POSITIONS, width, positions)], "embeddings")
        x = self.layer_normalization(x, "embedded", width)
        for i in range(layers):
            name = f"layer{i}"
            y = self.attention(x, mask, f"{name}/attention", width, heads)
            x = self.layer_normalization(self.node("Add", [y, x], f"{name}/skip"), f"{name}/middle", width)
            y = self.gelu(self.product(x, f"{name}/inner", inner, width), f"{name}/gelu")
            y = self.product(y, f"{name}/outer", width, inner, deviation=0.7)
            x = self.layer_normalization(self.node("Add", [y, x], f"{name}/end"), f"{name}/output", width)
        self.node("Identity", [x], "last_hidden_state")
        first = self.node("Gather", [x, self.shape_constant("index0", 0)], "first", axis=1)
        self.node("Tanh", [self.product(first, "pooler", width, width)], "pooled")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=SHAPES)
    parser.add_argument("--quantization", choices=["dynamic", "static", "none"], default="dynamic")
    parser.add_argument("--fused", action="store_true", help="LayerNormalization as one operator (operator set 17)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--integers", action="store_true", help="tensors of codes and integers are outputs, too")
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    writer = Writer(options.quantization, options.seed, options.fused)
    layers, width, heads, inner, vocabulary = SHAPES[options.network]
    writer.encoder(layers, width, heads, inner, vocabulary)
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
              for name in ("input_ids", "attention_mask", "token_type_ids")]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", width]),
               helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["batch", width])]
    if options.integers:
        types = {"MatMulInteger": TensorProto.INT32, "QuantizeLinear": TensorProto.UINT8,
                 "DynamicQuantizeLinear": TensorProto.UINT8}
        outputs += [helper.make_tensor_value_info(n.output[0], types[n.op_type], None)
                    for n in writer.nodes if n.op_type in types]
    graph = helper.make_graph(writer.nodes, options.network, inputs, outputs, writer.constants)
    opsets = [helper.make_opsetid("", 17 if options.fused else 13)]
    onnx.save(helper.make_model(graph, producer_name="octet", opset_imports=opsets, ir_version=8), options.output)


if __name__ == "__main__":
    main()
