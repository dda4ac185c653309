#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a decoder with seeded random weights as .onnx, in the form of ONNX Runtime GenAI's model builder.

    make_decoder.py llama --output llama.onnx                          # two small layers
    make_decoder.py qwen --bits 8 --block 128 --output qwen.onnx
    make_decoder.py llama --size 1b --output llama_1b.onnx             # to measure
    make_decoder.py gemma --layers 4 --hidden 256 --heads 8 --output gemma.onnx

The form is that of the builder at its commit 5543195a (opset 21) for CPUs in f32: MatMulNBits, GroupQueryAttention with
rotation inside and lengths from attention_mask, SimplifiedLayerNormalization and SkipSimplifiedLayerNormalization,
inputs input_ids, attention_mask, past_key_values.N.key and .value, outputs logits, present.N.key and .value.
`llama` has one packed product for q, k and v; `qwen` has three with a bias, and norms of the heads of q and k;
`gemma` has a scaled embedding, FastGelu, norms on both sides of each block, a window in every other layer and
capped logits. `--form qdq` has DequantizeLinear in blocks before MatMul in place of MatMulNBits (opset 21).
Needs Debian's python3-onnx and python3-numpy.
"""

import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZES = {  # layers, hidden, heads, heads of keys, head, inner, vocabulary
    "tiny": (2, 64, 4, 2, 16, 96, 75),
    "1b": (16, 2048, 32, 8, 64, 8192, 128256),
    "8b": (32, 4096, 32, 8, 128, 14336, 128256),
}
OPTIONS = ("layers", "hidden", "heads", "kv_heads", "head", "inner", "vocabulary")
EPSILON = 1e-5
ONNX_TYPES = {4: 21, 8: TensorProto.UINT8}  # UINT4, which older packages of onnx lack


class Decoder:
    def __init__(self, options):
        self.o, self.random = options, np.random.default_rng(options.seed)
        self.nodes, self.constants = [], []

    # ---- Nodes

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, inputs, name, outputs=None, domain="", **attributes):
        outputs = outputs or [f"{name}/output_0"]
        self.nodes.append(helper.make_node(op, inputs, outputs, name=name, domain=domain, **attributes))
        return outputs[0]

    def fused(self, op, inputs, name, outputs=None, **attributes):
        return self.node(op, inputs, name, outputs, "com.microsoft", **attributes)

    def norm_weights(self, name, width):
        return self.constant(name, (1 + self.random.normal(0, 0.1, width)).astype(np.float32))

    def norm(self, x, name, width):
        return self.node("SimplifiedLayerNormalization", [x, self.norm_weights(f"{name}.weight", width)], name, axis=-1,
                         epsilon=EPSILON, stash_type=1)

    def skip_norm(self, x, skip, name, is_last=False):
        """The norm of a sum, and the sum."""
        outputs = [f"{name}/output_0"] + ([] if is_last else ["", "", f"{name}/output_3"])
        self.fused("SkipSimplifiedLayerNormalization", [skip, x, self.norm_weights(f"{name}.weight", self.o.hidden)],
                   name, outputs, epsilon=EPSILON)
        return outputs[0], outputs[-1]

    # ---- Products: codes of 0 to 2^bits - 1, the zero point is the middle or, with --zero-points, drawn

    def product(self, x, name, inner, outputs, bits=None, bias=False, y=None):
        o, bits = self.o, bits or self.o.bits
        blocks = -(-inner // o.block)
        codes = self.random.integers(0, 1 << bits, (outputs, blocks * o.block), dtype=np.uint8)
        scales = (self.random.uniform(0.5, 1.5, (outputs, blocks)) * 3.5 / (1 << bits) / np.sqrt(inner))
        zeros = np.full((outputs, blocks), 1 << bits - 1, np.uint8)
        if o.zero_points:
            zeros = self.random.integers(3 << bits - 3, 5 << bits - 3, (outputs, blocks), dtype=np.uint8)
        make = self.dequantized_product if o.form == "qdq" else self.product_of_blocks
        if bias:
            bias = self.constant(f"{name}.bias", self.random.normal(0, 0.1, outputs).astype(np.float32))
        return make(x, name, inner, bits, codes, scales.astype(np.float32), zeros, bias or "", y)

    @staticmethod
    def packed(codes, bits):
        """Rows of codes, two in a byte if they have 4 bits."""
        if bits == 8:
            return codes
        if codes.shape[-1] % 2:
            codes = np.concatenate([codes, np.zeros_like(codes[..., :1])], -1)
        return codes[..., ::2] | codes[..., 1::2] << 4

    def product_of_blocks(self, x, name, inner, bits, codes, scales, zeros, bias, y):
        outputs, blocks = scales.shape
        inputs = [x, self.constant(f"{name}.qweight", self.packed(codes, bits).reshape(outputs, blocks, -1)),
                  self.constant(f"{name}.scales", scales)]
        if self.o.zero_points or bias:
            inputs.append(self.constant(f"{name}.qzeros", self.packed(zeros, bits)) if self.o.zero_points else "")
        if bias:
            inputs += ["", bias]
        return self.fused("MatMulNBits", inputs, f"{name}/MatMulNBits", [y] if y else None, K=inner, N=outputs,
                          bits=bits, block_size=self.o.block, accuracy_level=self.o.level)

    def dequantized_product(self, x, name, inner, bits, codes, scales, zeros, bias, y):
        def of_codes(kind, values):
            flat = self.packed(values.T.reshape(1, -1), bits)
            self.constants.append(TensorProto(name=f"{name}.{kind}", data_type=ONNX_TYPES[bits],
                                              dims=values.T.shape, raw_data=flat.tobytes()))
            return f"{name}.{kind}"
        real = self.node("DequantizeLinear", [of_codes("qweight", codes[:, :inner]),
                                              self.constant(f"{name}.scales", np.ascontiguousarray(scales.T)),
                                              of_codes("qzeros", zeros)],
                         f"{name}/DequantizeLinear", axis=0, block_size=self.o.block)
        product = self.node("MatMul", [x, real], f"{name}/MatMul", [y] if y and not bias else None)
        return self.node("Add", [product, bias], f"{name}/Add", [y] if y else None) if bias else product

    # ---- Layers

    def lengths(self):
        """seqlens_k and total_sequence_length, from attention_mask."""
        at = "/model/attn_mask_reformat/attn_mask_subgraph"
        one = self.constant("/model/constants/INT64/[1]", np.array([1], np.int64))
        count = self.node("ReduceSum", ["attention_mask", one], f"{at}/ReduceSum", keepdims=0)
        last = self.node("Sub", [count, one], f"{at}/Sub")
        size = self.node("Shape", ["attention_mask"], f"{at}/Shape")
        index = self.constant("/model/constants/INT64/1", np.array(1, np.int64))
        total = self.node("Gather", [size, index], f"{at}/Gather", axis=0)
        return [self.node("Cast", [x], f"{at}/{kind}/Cast", to=TensorProto.INT32)
                for x, kind in ((last, "Sub"), (total, "Gather"))]

    def rotation(self):
        half = self.o.head // 2
        angles = np.outer(np.arange(self.o.positions), 1e4 ** (-np.arange(half) / half))
        return [self.constant(name, f(angles).astype(np.float32))
                for name, f in (("cos_cache", np.cos), ("sin_cache", np.sin))]

    def head_norm(self, x, name, heads):
        """Of each head by itself."""
        shape = self.constant(f"{name}.heads", np.array([0, -1, self.o.head], np.int64))
        back = self.constant(f"{name}.all", np.array([0, -1, heads * self.o.head], np.int64))
        y = self.norm(self.node("Reshape", [x, shape], f"{name}/Reshape_1"), name, self.o.head)
        return self.node("Reshape", [y, back], f"{name}/Reshape_2")

    def attention(self, x, i, lengths, rotation):
        o, at = self.o, f"/model/layers.{i}/attn"
        q, kv = o.heads * o.head, o.kv_heads * o.head
        if o.kind == "llama":
            heads = [self.product(x, f"{at}/qkv_proj", o.hidden, q + 2 * kv), "", ""]
        else:
            heads = [self.product(x, f"{at}/{name}_proj", o.hidden, width, bias=o.kind == "qwen")
                     for name, width in (("q", q), ("k", kv), ("v", kv))]
            heads[0] = self.head_norm(heads[0], f"{at}/q_norm", o.heads)
            heads[1] = self.head_norm(heads[1], f"{at}/k_norm", o.kv_heads)
        past = [f"past_key_values.{i}.{kind}" for kind in ("key", "value")]
        present = [f"present.{i}.{kind}" for kind in ("key", "value")]
        window = o.window if o.kind == "gemma" and i % 2 == 0 else -1
        y = self.fused("GroupQueryAttention", heads + past + lengths + rotation, f"{at}/GroupQueryAttention",
                       [f"{at}/GroupQueryAttention/output_0"] + present, num_heads=o.heads, kv_num_heads=o.kv_heads,
                       scale=float(1 / np.sqrt(o.head)), do_rotary=1, rotary_interleaved=0, local_window_size=window,
                       softcap=0.0)
        return self.product(y, f"{at}/o_proj", q, o.hidden)

    def inner(self, x, i):
        o, at = self.o, f"/model/layers.{i}/mlp"
        gate, up = (self.product(x, f"{at}/{name}_proj", o.hidden, o.inner) for name in ("gate", "up"))
        if o.kind == "gemma":
            active = self.fused("FastGelu", [gate], f"{at}/act_fn/FastGelu")
        else:
            active = self.node("Mul", [gate, self.node("Sigmoid", [gate], f"{at}/act_fn/Sigmoid")], f"{at}/act_fn/Mul")
        return self.product(self.node("Mul", [active, up], f"{at}/Mul"), f"{at}/down_proj", o.inner, o.hidden)

    def embedding(self):
        o = self.o
        table = self.random.normal(0, 1, (o.vocabulary, o.hidden)).astype(np.float32)
        x = self.node("Gather", [self.constant("model.embed_tokens.weight", table), "input_ids"],
                      "/model/embed_tokens/Gather")
        if o.kind != "gemma":
            return x
        scale = self.constant("model.embed_tokens.scale", np.float32(np.sqrt(o.hidden)))
        return self.node("Mul", [x, scale], "/model/embed_tokens/Mul")

    def head(self, x):
        o = self.o
        if o.kind != "gemma":
            return self.product(x, "/lm_head", o.hidden, o.vocabulary, o.head_bits, y="logits")
        cap = self.constant("/lm_head/softcap", np.float32(30))
        x = self.node("Div", [self.product(x, "/lm_head", o.hidden, o.vocabulary, o.head_bits), cap], "/lm_head/Div")
        return self.node("Mul", [self.node("Tanh", [x], "/lm_head/Tanh"), cap], "/lm_head/Mul", ["logits"])

    def model(self):
        o = self.o
        lengths, rotation, sum_ = self.lengths(), self.rotation(), self.embedding()
        x = self.norm(sum_, "/model/layers.0/input_layernorm", o.hidden)
        for i in range(o.layers):
            at = f"/model/layers.{i}"
            y = self.attention(x, i, lengths, rotation)
            if o.kind == "gemma":
                y = self.norm(y, f"{at}/post_attention_layernorm", o.hidden)
            x, sum_ = self.skip_norm(y, sum_, f"{at}/pre_feedforward_layernorm" if o.kind == "gemma" else
                                     f"{at}/post_attention_layernorm")
            y = self.inner(x, i)
            if o.kind == "gemma":
                y = self.norm(y, f"{at}/post_feedforward_layernorm", o.hidden)
            is_last = i + 1 == o.layers
            x, sum_ = self.skip_norm(y, sum_, "/model/final_norm" if is_last else
                                     f"/model/layers.{i + 1}/input_layernorm", is_last)
        self.head(x)

        def value(name, *dims, kind=TensorProto.FLOAT):
            return helper.make_tensor_value_info(name, kind, dims)
        ids = [value("input_ids", "batch_size", "sequence_length", kind=TensorProto.INT64),
               value("attention_mask", "batch_size", "total_sequence_length", kind=TensorProto.INT64)]

        def caches(name, rows):
            return [value(f"{name}.{i}.{kind}", "batch_size", o.kv_heads, rows, o.head)
                    for i in range(o.layers) for kind in ("key", "value")]
        graph = helper.make_graph(
            self.nodes, o.kind, ids + caches("past_key_values", "past_sequence_length"),
            [value("logits", "batch_size", "sequence_length", o.vocabulary)] +
            caches("present", "total_sequence_length"), self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, producer_name="octet", opset_imports=opsets, ir_version=10)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kind", choices=("llama", "qwen", "gemma"))
    parser.add_argument("--size", choices=SIZES, default="tiny")
    for name, what in zip(OPTIONS, ("layers", "elements of a token", "heads of queries", "heads of keys and values",
                                    "elements of a head", "elements between the products of a layer", "tokens")):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, help=f"{what}, in place of the size's")
    parser.add_argument("--bits", type=int, choices=(4, 8), default=4)
    parser.add_argument("--head-bits", type=int, choices=(4, 8), default=8, help="of the last product")
    parser.add_argument("--block", type=int, choices=(16, 32, 64, 128, 256), default=32)
    parser.add_argument("--level", type=int, choices=(0, 4), default=4, help="accuracy level; 4 rounds rows to 8 bits")
    parser.add_argument("--zero-points", action="store_true", help="of each block, in place of the middle")
    parser.add_argument("--window", type=int, default=8, help="keys that Gemma's layers 0, 2, ... see")
    parser.add_argument("--positions", type=int, default=4096, help="rows of the tables of rotation")
    parser.add_argument("--form", choices=("nbits", "qdq"), default="nbits")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    for name, size in zip(OPTIONS, SIZES[options.size]):
        if getattr(options, name) is None:
            setattr(options, name, size)
    onnx.save(Decoder(options).model(), options.output, save_as_external_data=options.size != "tiny",
              location=os.path.basename(options.output) + ".data")


if __name__ == "__main__":
    main()
