#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole decoders against a reference in f64 with a bound: decoder_reference_test.py OCTET MAKE_DECODER.

The reference computes a decoder of make_decoder.py in f64. Each operation also says how far its result can be from
that in f32 on the same operands, whatever the order of its sums: with u = 2^-24, a sum of n products is within
(n + 8) u Σ |x w|. Derivatives of the logits carry these errors to the end:

    |error of a logit| <= 2 Σ |∂logit / ∂result| |error of the result|, over all results

The 2 is for terms of second order, which are far smaller than those of first order. Logits of `octet run` must lie
within the bound, in both orders of sums, and the bound must be small enough to say something. Products that round
their rows to codes (level 4) are no continuous functions, so level 0 is what is compared.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

OCTET, MAKE = sys.argv[1:]
U = 2.0 ** -24
LOGISTIC = 2.0 ** -22  # how far ONNX Runtime's polynomials are from the function
EXPONENTIAL = 2 * U    # the same of its exponential function, relative


class Value:
    """A result in f64, the largest errors of its elements, and the operands with what carries derivatives to them."""

    def __init__(self, v, local=0.0, operands=()):
        self.v, self.local, self.operands = np.asarray(v, np.float64), local, operands

    def reshape(self, *shape):
        return Value(self.v.reshape(*shape), 0.0, [(self, lambda g: g.reshape(g.shape[0], *self.v.shape))])

    def __getitem__(self, at):
        def back(g):
            whole = np.zeros((g.shape[0], *self.v.shape))
            whole[(slice(None), *(at if isinstance(at, tuple) else (at,)))] = g
            return whole
        return Value(self.v[at], 0.0, [(self, back)])

    def __add__(self, other):
        v = self.v + other.v
        return Value(v, U * np.abs(v), [(self, lambda g: g), (other, lambda g: g)])

    def __mul__(self, other):
        v = self.v * other.v
        return Value(v, U * np.abs(v), [(self, lambda g: g * other.v), (other, lambda g: g * self.v)])

    def bounds(self, chosen):
        """Of elements of this result: `chosen` are derivatives, [elements, *shape]."""
        order, seen = [], set()

        def visit(x):
            if id(x) not in seen:
                seen.add(id(x))
                for operand, _ in x.operands:
                    visit(operand)
                order.append(x)
        visit(self)
        derivatives, bounds = {id(self): chosen}, np.zeros(chosen.shape[0])
        for x in reversed(order):
            g = derivatives.pop(id(x))
            bounds += (np.abs(g) * x.local).reshape(g.shape[0], -1).sum(-1)
            for operand, back in x.operands:
                derivatives[id(operand)] = derivatives.get(id(operand), 0) + back(g)
        return 2 * bounds


def product(x, w):
    """x [.., K] times w [K, N], which f32 has within 2 u."""
    return Value(x.v @ w, (w.shape[0] + 10) * U * (np.abs(x.v) @ np.abs(w)), [(x, lambda g: g @ w.T)])


def norm(x, weight, epsilon):
    n = x.v.shape[-1]
    r = 1 / np.sqrt(np.mean(x.v ** 2, -1, keepdims=True) + epsilon)
    v = x.v * r * weight

    def back(g):
        g = g * weight
        return r * g - x.v * r ** 3 / n * np.sum(g * x.v, -1, keepdims=True)
    return Value(v, ((n + 8) / 2 + 6) * U * np.abs(v), [(x, back)])


def active(x):
    """x / (1 + exp(-x))."""
    s = 1 / (1 + np.exp(-x.v))
    return Value(x.v * s, LOGISTIC * np.abs(x.v) + 2 * U * np.abs(x.v * s),
                 [(x, lambda g: g * (s + x.v * s * (1 - s)))])


def rotated(x, cosines, sines):
    """x [rows, heads, width]."""
    half = x.v.shape[-1] // 2
    c, s = cosines[:, None], sines[:, None]

    def turned(x, s):
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * c - b * s, b * c + a * s], -1)
    local = 3 * U * np.concatenate([np.abs(x.v[..., :half] * c) + np.abs(x.v[..., half:] * s),
                                    np.abs(x.v[..., half:] * c) + np.abs(x.v[..., :half] * s)], -1)
    return Value(turned(x.v, s), local, [(x, lambda g: turned(g, -s))])


def attention(q, k, v, scale):
    """Of one sequence, [rows, heads, width] and [rows, groups, width]."""
    rows, heads, width = q.v.shape
    each = heads // k.v.shape[1]
    keys, values = np.repeat(k.v, each, 1), np.repeat(v.v, each, 1)
    seen = np.tril(np.ones((rows, rows), bool))
    scores = np.where(seen, scale * np.einsum("qhd,khd->hqk", q.v, keys), -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    of_scores = np.where(seen, scale * (width + 8) * U * np.einsum("qhd,khd->hqk", np.abs(q.v), np.abs(keys)), 0)
    span = np.where(seen, np.abs(np.where(seen, scores, 0)), 0).max(-1)
    relative = 2 * (of_scores.max(-1) + (rows + 16) * U + EXPONENTIAL + 4 * U * span)
    local = (relative + (rows + 8) * U).T[..., None] * np.einsum("hqk,khd->qhd", p, np.abs(values))

    def of_weights(g):
        g = np.einsum("gqhd,khd->ghqk", g, values)
        return scale * p * (g - np.sum(g * p, -1, keepdims=True))

    def of_groups(g):
        return g.reshape(*g.shape[:2], -1, each, width).sum(3)
    return Value(np.einsum("hqk,khd->qhd", p, values), local, [
        (q, lambda g: np.einsum("ghqk,khd->gqhd", of_weights(g), keys)),
        (k, lambda g: of_groups(np.einsum("ghqk,qhd->gkhd", of_weights(g), q.v))),
        (v, lambda g: of_groups(np.einsum("hqk,gqhd->gkhd", p, g)))])


class Reference:
    """A decoder of `make_decoder.py`, of kind llama or qwen, with MatMulNBits."""

    def __init__(self, path):
        import onnx
        from onnx import numpy_helper
        model = onnx.load(path).graph
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.initializer}
        self.nodes = list(model.node)
        self.attribute = {n.name: {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute} for n in self.nodes}

    def weights(self, node):
        a, inputs = self.attribute[node.name], list(node.input) + [""] * 3
        codes, scales = self.constants[inputs[1]], self.constants[inputs[2]].astype(np.float64)
        outputs, blocks = a["N"], -(-a["K"] // a["block_size"])

        def unpacked(x, count):
            x = x.reshape(outputs, -1)
            if a["bits"] == 4:
                x = np.stack([x & 15, x >> 4], -1).reshape(outputs, -1)
            return x[:, :count].astype(np.float64)
        zeros = unpacked(self.constants[inputs[3]], blocks) if inputs[3] else float(1 << a["bits"] - 1)
        w = unpacked(codes, blocks * a["block_size"]).reshape(outputs, blocks, -1)
        w = (w - np.reshape(zeros, (-1, blocks if inputs[3] else 1))[..., None]) * scales.reshape(outputs, blocks, 1)
        return w.reshape(outputs, -1)[:, :a["K"]].T, self.constants.get(inputs[5])

    def matmul_nbits(self, node, x):
        w, bias = self.weights(node)
        a = self.attribute[node.name]
        x = x.reshape(-1, a["K"])
        y = product(x, w)
        return y if bias is None else y + Value(np.broadcast_to(bias, y.v.shape))

    def group_query_attention(self, node, x):
        a, inputs = self.attribute[node.name], node.input
        heads, groups = a["num_heads"], a["kv_num_heads"]
        q = x[inputs[0]]
        if inputs[1]:
            k, v = x[inputs[1]], x[inputs[2]]
        else:
            width = q.v.shape[-1] // (heads + 2 * groups)
            q, k, v = q[:, :heads * width], q[:, heads * width:-groups * width], q[:, -groups * width:]
        rows = q.v.reshape(-1, q.v.shape[-1]).shape[0]
        q, k, v = q.reshape(rows, heads, -1), k.reshape(rows, groups, -1), v.reshape(rows, groups, -1)
        cosines, sines = (self.constants[inputs[i]][:rows].astype(np.float64) for i in (7, 8))
        y = attention(rotated(q, cosines, sines), rotated(k, cosines, sines), v, np.float64(np.float32(a["scale"])))
        return y.reshape(rows, -1)

    def run(self, ids):
        x, c, rows = {}, self.constants, len(ids)
        for n in self.nodes:
            i, a = n.input, self.attribute[n.name]
            if n.op_type in ("ReduceSum", "Sub", "Cast", "Shape") or "attention_mask" in i or i[0] not in x and (
                    n.op_type == "Gather" and i[1] != "input_ids"):
                continue  # lengths
            if n.op_type == "Gather":
                y = Value(c[i[0]][ids])
            elif n.op_type == "MatMulNBits":
                y = self.matmul_nbits(n, x[i[0]])
            elif n.op_type == "GroupQueryAttention":
                y = self.group_query_attention(n, x)
            elif n.op_type == "SimplifiedLayerNormalization":
                y = norm(x[i[0]], c[i[1]].astype(np.float64), a["epsilon"])
            elif n.op_type == "SkipSimplifiedLayerNormalization":
                total = x[i[0]].reshape(rows, -1) + x[i[1]].reshape(rows, -1)
                y = norm(total, c[i[2]].astype(np.float64), a["epsilon"])
                if len(n.output) > 3:
                    x[n.output[3]] = total
            elif n.op_type == "Reshape":
                y = x[i[0]].reshape(rows, -1, c[i[1]][-1]) if n.name.endswith("_1") else x[i[0]].reshape(rows, -1)
            elif n.op_type == "Sigmoid":
                continue  # with the product that follows
            elif n.op_type == "Mul" and n.name.endswith("act_fn/Mul"):
                y = active(x[i[0]])
            elif n.op_type == "Mul":
                y = x[i[0]] * x[i[1]]
            else:
                raise AssertionError(f"the reference has no {n.op_type}")
            x[n.output[0]] = y
        return x["logits"]


def logits_of(model, ids, *options):
    past = {name: np.zeros((1, SIZES["kv-heads"], 0, SIZES["head"]), np.float32) for name in (
        f"past_key_values.{i}.{kind}" for i in range(SIZES["layers"]) for kind in ("key", "value"))}
    np.savez("in.npz", input_ids=ids[None], attention_mask=np.ones((1, len(ids)), np.int64), **past)
    subprocess.run([OCTET, "run", model, "--input", "in.npz", "--repeat", "1", "--format", "npz", "--output-dir", ".",
                    *options], check=True, stdout=subprocess.DEVNULL)
    return np.load("outputs.npz")["logits"].reshape(len(ids), -1).astype(np.float64)


SIZES = {"layers": 2, "hidden": 64, "heads": 4, "kv-heads": 2, "head": 16, "inner": 96, "vocabulary": 75}


def main():
    try:
        import onnx  # noqa: F401
    except ImportError:
        print("skipped: no python3-onnx (scripts/packages.sh)")
        sys.exit(77)
    for kind, bits, seed in (("llama", 4, 1), ("qwen", 8, 2), ("llama", 8, 3), ("qwen", 4, 4)):
        sizes = [f"--{name}={size}" for name, size in SIZES.items()]
        subprocess.run(["/usr/bin/python3", MAKE, kind, "--output", "m.onnx", "--level=0", f"--bits={bits}",
                        f"--seed={seed}", "--zero-points", *sizes], check=True)
        ids = np.random.default_rng(seed).integers(0, SIZES["vocabulary"], 23)
        logits = Reference("m.onnx").run(ids)
        bounds = np.empty_like(logits.v)
        for row in range(len(ids)):
            chosen = np.zeros((logits.v.shape[1], *logits.v.shape))
            chosen[:, row] = np.eye(logits.v.shape[1])
            bounds[row] = logits.bounds(chosen)
        for options in ([], ["--rows-alike"]):
            errors = np.abs(logits_of("m.onnx", ids, *options) - logits.v)
            print(f"{kind}, {bits} bits{' '.join([''] + options)}: errors up to {errors.max():.1e}, bounds "
                  f"{bounds.min():.1e} to {bounds.max():.1e}, logits up to {np.abs(logits.v).max():.1f}")
            assert np.all(errors <= bounds), "a logit lies outside its bound"
        assert bounds.max() < np.abs(logits.v).max() / 100, "the bound says too little"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
