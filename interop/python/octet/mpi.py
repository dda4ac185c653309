# SPDX-License-Identifier: Apache-2.0
"""Layers whose work is divided among MPI's processes, with the bytes of one process, under every rule.

    from mpi4py import MPI
    import octet.mpi
    # Each process has a part of the outputs.
    up = octet.mpi.ColumnLinear(MPI.COMM_WORLD, w1, b1, rule="tflite_2step", multiplier=m1, shift=s1)
    # Each process has a part of the sums.
    down = octet.mpi.RowLinear(MPI.COMM_WORLD, w2, b2, rule="tflite_2step", multiplier=m2, shift=s2)
    y = down(up(x))  # as on one process

Sums of integers don't depend on their order, so partial sums (rule "none", s32) that MPI adds up are the sums
of one process, and the rule, as an operation on single elements, makes the same values of them. Floats lose
this at the first addition.
"""

from __future__ import annotations

import inspect
from typing import Any, Dict, Optional

import numpy as np
from mpi4py import MPI
from numpy.typing import ArrayLike, DTypeLike

from . import operations
from .arguments import Array, Integers, Numbers, PostOps, Weights

__all__ = ["ColumnLinear", "RowLinear", "part_of"]


def part_of(count: int, rank: int, ranks: int) -> slice:
    """A process's part of `count` elements: parts differ by one at most and follow each other.

    >>> [part_of(10, rank, 4) for rank in range(4)]
    [slice(0, 3, None), slice(3, 6, None), slice(6, 8, None), slice(8, 10, None)]
    """
    if count < ranks:
        raise ValueError(f"{ranks} processes cannot divide {count} elements")
    least, more = divmod(count, ranks)
    start = rank * least + min(rank, more)
    return slice(start, start + least + (rank < more))


def _of_channels(value: Any, part: slice) -> Any:
    """What of a number, or of a number per channel, belongs to a part of the channels."""
    return value[part] if isinstance(value, (np.ndarray, list)) and np.ndim(value) == 1 and len(value) > 1 else value


_PER_CHANNEL = ("multiplier", "shift", "scale", "w_scale")
_KEYWORDS = {name for name, p in inspect.signature(operations.linear).parameters.items() if p.kind is p.KEYWORD_ONLY}


class ColumnLinear:
    """A linear layer of which each process computes a part of the outputs: no communication."""

    def __init__(self, comm: Any, w: ArrayLike, bias: Optional[ArrayLike] = None, *, dtype: DTypeLike = None,
                 rule: str = "automatic", multiplier: Integers = None, shift: Integers = None,
                 scale: Numbers = None, x_scale: Numbers = None, w_scale: Numbers = None,
                 y_scale: Numbers = None, x_zero_point: Integers = None, w_zero_point: Integers = None,
                 zero_point: Integers = None, post_ops: PostOps = None) -> None:
        """All arguments are those of `octet.linear` for the whole layer, the same on all processes.

        - comm: a communicator of mpi4py
        - w: quantized values (n, k)
        """
        arguments = {name: value for name, value in locals().items() if name in _KEYWORDS and value is not None}
        weights = np.asarray(w)
        part = part_of(weights.shape[0], comm.rank, comm.size)
        self.weights = Weights(np.ascontiguousarray(weights[part]))
        self.bias = None if bias is None else np.asarray(bias)[part]
        self.keywords = {name: _of_channels(value, part) if name in _PER_CHANNEL else value for name,
                         value in arguments.items()}

    def __call__(self, x: Any) -> Array:
        """x (…, k), the same on all processes; the result is this process's part of the quantized values (…, n)."""
        return operations.linear(x, self.weights, self.bias, **self.keywords)


class RowLinear:
    """A linear layer of which each process computes a part of every sum: one MPI_Allreduce of s32, then the rule."""

    def __init__(self, comm: Any, w: ArrayLike, bias: Optional[ArrayLike] = None, *,
                 dtype: DTypeLike = "int8", rule: str = "automatic", multiplier: Integers = None,
                 shift: Integers = None, scale: Numbers = None, x_scale: Numbers = None,
                 w_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Integers = 0,
                 zero_point: Integers = None, post_ops: PostOps = None, scatter: bool = False) -> None:
        """All arguments but the last are those of `octet.linear` for the whole layer, the same on all processes.

        - comm: a communicator of mpi4py
        - w: quantized values (n, k)
        - scatter: MPI_Reduce_scatter gives each process the sums of some rows, and after the rule the results
          are gathered: 5 bytes travel instead of 8 where results have one. Where there are fewer rows than
          processes it is MPI_Allreduce all the same.
        """
        own = {"dtype", "x_zero_point"}
        self.keywords = {name: value for name,
                         value in locals().items() if name in _KEYWORDS - own and value is not None}
        self.comm, self.dtype, self.scatter = comm, dtype, scatter
        weights = np.asarray(w)
        self.part = part_of(weights.shape[1], comm.rank, comm.size)
        self.weights = Weights(np.ascontiguousarray(weights[:, self.part]))
        self.x_zero_point = x_zero_point
        # In float rules the bias is not a part of the integer sum: f32_v3 adds it behind the scale, f32 to
        # the sum as a float.
        self.bias = None if bias is None else np.asarray(bias)
        self.is_bias_of_reals = rule in ("f32", "f32_v3", "automatic")
        self.seconds_in_mpi = 0.0

    def __call__(self, x: Any) -> Array:
        """x: this process's part of the inputs (…, k / ranks), or all of them; the result is the same on all processes.
        """
        x = np.asarray(x)
        size = self.part.stop - self.part.start
        if x.shape[-1] != size:
            x = np.ascontiguousarray(x[..., self.part])
        is_first = self.comm.rank == 0 and not self.is_bias_of_reals
        sums = operations.linear(x, self.weights, self.bias if is_first else None, rule="none",
                                 x_zero_point=self.x_zero_point)
        if self.scatter and sums.size // sums.shape[-1] >= self.comm.size:
            return self._scattered(sums)
        begin = MPI.Wtime()
        self.comm.Allreduce(MPI.IN_PLACE, sums, MPI.SUM)
        self.seconds_in_mpi += MPI.Wtime() - begin
        return self._finished(sums)

    def _scattered(self, sums: Array) -> Array:
        rows = sums.reshape(-1, sums.shape[-1])
        parts = [part_of(len(rows), rank, self.comm.size) for rank in range(self.comm.size)]
        counts = [(part.stop - part.start) * rows.shape[1] for part in parts]
        own = np.empty((counts[self.comm.rank] // rows.shape[1], rows.shape[1]), np.int32)
        begin = MPI.Wtime()
        self.comm.Reduce_scatter(rows, own, counts, MPI.SUM)
        self.seconds_in_mpi += MPI.Wtime() - begin
        finished = np.ascontiguousarray(self._finished(own))
        y = np.empty(rows.shape, finished.dtype)
        begin = MPI.Wtime()
        self.comm.Allgatherv(finished, (y, counts))
        self.seconds_in_mpi += MPI.Wtime() - begin
        return y.reshape(sums.shape)

    def _finished(self, sums: Array) -> Array:
        keywords: Dict[str, Any] = dict(self.keywords)
        zero_point = keywords.pop("zero_point", 0)
        if "w_scale" in keywords:  # the accumulator's scale; a reorder has no weights
            keywords["x_scale"] = (np.float32(keywords.get("x_scale", 1))
                                   * np.asarray(keywords.pop("w_scale"), np.float32))
        axis = sums.ndim - 1
        if keywords.get("rule", "automatic") == "none":
            return (sums if np.dtype(self.dtype) == np.int32
                    else operations.requantize(sums, rule="none", dtype=self.dtype))
        if self.bias is None or not self.is_bias_of_reals:
            return operations.requantize(sums, axis=axis, dtype=self.dtype, zero_point=zero_point, **keywords)
        return self._with_real_bias(sums, keywords, zero_point, axis)

    def _with_real_bias(self, sums: Array, keywords: Dict[str, Any], zero_point: int, axis: int) -> Array:
        assert self.bias is not None
        bias = self.bias.astype(np.float32).reshape((1,) * axis + (-1,))
        if "x_scale" in keywords or "y_scale" in keywords:  # f32_v3
            keywords["post_ops"] = [("add", bias)] + list(keywords.get("post_ops", []))
            return operations.requantize(sums, axis=axis, dtype=self.dtype, zero_point=zero_point, **keywords)
        reals = operations.binary(operations.requantize(sums, rule="f32", scale=1, dtype="float32"), bias,
                                  "add", rule="f32")
        return operations.requantize(reals, axis=axis, dtype=self.dtype, zero_point=zero_point, **keywords)
