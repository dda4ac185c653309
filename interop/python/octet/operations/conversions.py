# SPDX-License-Identifier: Apache-2.0
"""Conversions between real numbers, accumulators and quantized values."""

from __future__ import annotations

from typing import Any, Dict, Optional

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import _octet
from ..arguments import Array, Integers, Numbers, PostOps, axis_of, keywords
from .parameters import described


def _reordered(x: Any, dtype: Any, axis: Any, attributes: Dict[str, Any]) -> Array:
    mask = 0 if axis is None else 1 << axis_of(axis, max(np.ndim(x), 1))
    for name, value in attributes.items() if axis is None else ():
        if name != "post_ops" and np.size(value) > 1:
            raise ValueError(f"{'zero_point' if name == 'y_zero_point' else name} has {np.size(value)} "
                             f"values, allowed: 1, or one per index of `axis`")
    return _octet.run("reorder", {"x": x}, {}, attributes, None, dtype, (mask, mask, mask))


@described
def quantize(x: ArrayLike, *, scale: Numbers, zero_point: Integers = 0, dtype: DTypeLike = "int8",
             axis: Optional[int] = None, rule: str = "ort_f32") -> Array:
    """Quantized values of real numbers, clamp(round(x / scale) + zero_point).

    - x: real numbers, which are rounded to float32, or integers that stand for them
    - scale: one number, or one per index of `axis`
    - zero_point: one integer, or one per index of `axis`
    - dtype: of the result
    - axis: the dimension along which scales and zero points change; None: one for all
    - rule: "ort_f32" rounds halves to even, "tflite_2step" away from zero

    >>> quantize(np.array([0.25, -0.25, 100], np.float32), scale=0.5).tolist()
    [0, 0, 127]
    >>> quantize(np.array([0.25, -0.25], np.float32), scale=0.5, rule="tflite_2step").tolist()
    [1, -1]
    """
    attributes = {"rule": rule, "y_scale": scale, "y_zero_point": zero_point}
    x = _octet.as_array(x, "x")
    keeps_order = x.dtype.kind in "fiub"
    return _reordered(x.astype(np.float32, copy=False) if keeps_order else _octet.as_floats(x, "x"), dtype,
                      axis, attributes)


@described
def dequantize(x: ArrayLike, *, scale: Numbers, zero_point: Integers = 0, axis: Optional[int] = None) -> Array:
    """Real numbers of quantized values, scale * (x - zero_point), in float32.

    - x: quantized values or accumulators
    - scale: one number, or one per index of `axis`
    - zero_point: one integer, or one per index of `axis`
    - axis: the dimension along which scales and zero points change; None: one for all

    >>> dequantize(np.array([-1, 3], np.int8), scale=0.5, zero_point=1).tolist()
    [-1.0, 1.0]
    """
    return _reordered(x, "float32", axis, {"rule": "ort_f32", "x_scale": scale, "x_zero_point": zero_point})


@described
def requantize(x: ArrayLike, *, dtype: DTypeLike = "int8", axis: Optional[int] = None,
               rule: str = "automatic", multiplier: Integers = None, shift: Integers = None,
               scale: Numbers = None, x_scale: Numbers = None, y_scale: Numbers = None,
               x_zero_point: Integers = None, zero_point: Integers = None, x_multiplier: Integers = None,
               x_shift: Integers = None, post_ops: PostOps = None) -> Array:
    """Accumulators or quantized values in another scale, with the same keyword arguments as `octet.conv2d`.

    - x: int32, int8, uint8, int16 or float32
    - axis: the dimension along which factors, scales and zero points change; None: one for all

    >>> requantize(np.array([10, -10], np.int32), rule="tflite_2step", multiplier=1 << 30, shift=0).tolist()
    [5, -5]
    """
    return _reordered(x, dtype, axis, keywords(locals()))
