# SPDX-License-Identifier: Apache-2.0
"""octet.mpi under mpirun: layers of odd sizes on any number of processes against octet.linear on one."""

import sys

import numpy as np
from mpi4py import MPI

import octet
import octet.mpi

comm = MPI.COMM_WORLD
octet.set_num_threads(1)


def factors(rule, random, n):
    if rule == "none":
        return {"dtype": "int8"}
    if rule == "f32_v3":
        return {"x_scale": 0.02, "w_scale": random.uniform(0.04, 0.06, n).astype(np.float32), "y_scale": 1.3}
    if rule == "gemmlowp_legacy_scale":
        return {"multiplier": 3, "shift": 12}
    return {"scale": random.uniform(0.0005, 0.002, n)}


def main():
    random = np.random.default_rng(7)  # the same everywhere
    compared = 0
    for rule in octet.rules():
        for _ in range(4):
            k, n = int(random.integers(comm.size, 200)), int(random.integers(comm.size, 90))
            shape = tuple(random.integers(1, 6, int(random.integers(1, 3)))) + (k,)
            kind = random.choice([np.int8, np.uint8])
            info = np.iinfo(kind)
            x = random.integers(info.min, info.max, shape, kind, endpoint=True)
            w = random.integers(-128, 128, (n, k), np.int8)
            bias = None
            if random.integers(3):
                is_real = rule in ("f32_v3", "f32") and random.integers(2)
                bias = (random.normal(size=n).astype(np.float32) if is_real
                        else random.integers(-5000, 5000, n, np.int32))
            words = dict(factors(rule, random, n), rule=rule, dtype="int8", x_zero_point=int(random.integers(-3, 9)))
            if rule != "none":
                words["zero_point"] = int(random.integers(-9, 9))
            expected = octet.linear(x, w, bias, **words)
            for scatter in (False, True):
                layer = octet.mpi.RowLinear(comm, w, bias, scatter=scatter, **words)
                y = layer(x)
                assert y.dtype == expected.dtype and (y == expected).all(), (rule, scatter, x.shape, w.shape, comm.rank)
                mine = np.ascontiguousarray(x[..., layer.part])
                assert (layer(mine) == expected).all(), (rule, "parts")
            column = octet.mpi.ColumnLinear(comm, w, bias, **words)
            y = np.concatenate(comm.allgather(column(x)), -1)
            assert (y == expected).all(), (rule, "columns")
            compared += expected.size
    if comm.rank == 0:
        print(f"{comm.size} processes: {compared} codes of {len(octet.rules())} rules equal")


def fails(call, text):
    try:
        call()
    except ValueError as e:
        assert text in str(e), e
        return
    raise AssertionError(f"no error: {text}")


fails(lambda: octet.mpi.part_of(2, 0, 3), "3 processes cannot divide 2 elements")
main()
sys.stdout.flush()
