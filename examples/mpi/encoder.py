#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stack of BERT-sized encoder layers divided among MPI's processes, byte for byte what one process
computes, under every rule.

    mpirun -n 4 python3 examples/mpi/encoder.py                   # 2 layers, 32 tokens
    mpirun -n 4 python3 examples/mpi/encoder.py --layers 12 --tokens 128 --rules tflite_2step

Query, key, value and the first feed-forward layer are divided by outputs (whole heads), so they need no
communication; the projection behind attention and the second feed-forward layer by inputs: partial sums are
added by MPI_Allreduce, two of tokens x 768 x 4 bytes a layer. Weights and inputs are random. The first
process also computes the stack alone, with octet.linear, and compares.
"""

import argparse
import functools
import sys

import numpy as np
from mpi4py import MPI

import octet
import octet.mpi

WIDTH, HIDDEN, HEADS = 768, 3072, 12


class Whole:
    """The same layers on one process, for comparison."""

    def __init__(self, comm, w, bias, **keywords):
        self.w, self.bias, self.keywords = octet.Weights(w), bias, keywords

    def __call__(self, x):
        return octet.linear(x, self.w, self.bias, **self.keywords)


def keywords_of(rule, random, n, k):
    """Factors that bring random sums of k products into the range of codes, as the keyword arguments of a rule."""
    typical = 30 / (np.sqrt(k) * 74 * 37)
    scale = random.uniform(0.8, 1.2, n) * typical
    if rule == "none":
        return {"dtype": "int8"}
    if rule == "f32_v3":
        return {"x_scale": 0.05, "w_scale": scale.astype(np.float32), "y_scale": 0.05}
    if rule == "gemmlowp_legacy_scale":
        return {"multiplier": 3, "shift": round(np.log2(3 / typical))}
    return {"scale": scale}


def make_layer(rule, random, column, row, comm):
    """Weights of a layer; every process draws the same."""
    def linear(kind, n, k, x_zero_point):
        w = random.integers(-64, 65, (n, k), np.int8)
        bias = (random.integers(-20000, 20000, n, np.int32) if rule != "f32_v3"
                else random.normal(size=n).astype(np.float32))
        return kind(comm, w, bias, rule=rule, x_zero_point=x_zero_point,
                    **{"dtype": "int8", **keywords_of(rule, random, n, k)})
    names = [("q", column, WIDTH, WIDTH), ("k", column, WIDTH, WIDTH), ("v", column, WIDTH, WIDTH),
             ("out", row, WIDTH, WIDTH),
             ("up", column, HIDDEN, WIDTH), ("down", row, WIDTH, HIDDEN)]
    return {name: linear(kind, n, k, i) for i, (name, kind, n, k) in enumerate(names)}


def heads_of(x):
    """(tokens, width) as (heads, tokens, 64)."""
    return np.ascontiguousarray(x.reshape(len(x), -1, WIDTH // HEADS).transpose(1, 0, 2))


def add(x, y):
    """A residual connection on codes."""
    return octet.binary(x, y, "add", rule="ort_f32", x_scale=0.1, x1_scale=0.1, y_scale=0.14, x_zero_point=0,
                        x1_zero_point=0, zero_point=0)


def run(layers, x):
    """The stack; what a process holds of query, key and value are whole heads, so attention is its own affair."""
    for layer in layers:
        q, k, v = (heads_of(layer[name](x)) for name in "qkv")
        scores = octet.matmul(q, k.transpose(0, 2, 1), rule="f32", scale=0.0002, dtype="float32")
        weights = octet.quantize(octet.softmax(scores), scale=1 / 256, zero_point=-128)
        mixed = octet.matmul(weights, v, rule="f32", scale=1 / 128, x_zero_point=-128, dtype="int8")
        x = add(x, layer["out"](np.ascontiguousarray(mixed.transpose(1, 0, 2).reshape(len(x), -1))))
        x = add(x, layer["down"](layer["up"](x)))
    return x


def main():
    """Runs the stack under each rule and prints a line for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rules", nargs="*", default=octet.rules(), choices=octet.rules(), metavar="RULE")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--scatter", action="store_true",
                        help="MPI_Reduce_scatter and codes gathered, instead of MPI_Allreduce")
    arguments = parser.parse_args()
    octet.set_num_threads(1)
    comm, different = MPI.COMM_WORLD, 0
    x = np.random.default_rng(0).integers(-128, 128, (arguments.tokens, WIDTH), np.int8)
    for rule in arguments.rules:
        def layers(column, row):
            random = np.random.default_rng(1)
            return [make_layer(rule, random, column, row, comm) for _ in range(arguments.layers)]
        parts = layers(octet.mpi.ColumnLinear, functools.partial(octet.mpi.RowLinear, scatter=arguments.scatter))
        run(parts, x)  # packs weights
        waited = sum(layer[name].seconds_in_mpi for layer in parts for name in ("out", "down"))
        comm.Barrier()
        begin = MPI.Wtime()
        y = run(parts, x)
        seconds = MPI.Wtime() - begin
        waited = sum(layer[name].seconds_in_mpi for layer in parts for name in ("out", "down")) - waited
        same_everywhere = len(set(comm.allgather(y.tobytes()))) == 1
        if comm.rank == 0:
            expected = run(layers(Whole, Whole), x)
            count = int((y != expected).sum())
            different += count + (not same_everywhere)
            kinds = len(np.unique(expected))
            print(f"{rule:>28}: {comm.size} processes, {count} of {y.size} codes differ from one process's "
                  f"({kinds} kinds of codes), {1e3 * seconds:.1f} ms, {1e3 * waited:.1f} of them in MPI",
                  flush=True)
    sys.exit(1 if comm.bcast(different) else 0)


if __name__ == "__main__":
    main()
