# SPDX-License-Identifier: Apache-2.0
"""Convolutions, transposed convolutions, linear layers and matrix products."""

from __future__ import annotations

import math
import operator
from typing import Any, Dict, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import _octet
from ..arguments import (Array, Integers, Numbers, Padding, PostOps, Sizes, Weights, WeightsLike, as_given,
                         channels_first, flag, integer, keywords, need_rank, need_window, padded, padding_of,
                         per_side, positions, sums, text)
from .parameters import described


def _weights(w: WeightsLike, layout: str = "oihw") -> Tuple[Array, Optional[Weights]]:
    """The array with output channels first, and the Weights that it is of."""
    layout = text("weights_layout", layout).lower()
    if isinstance(w, Weights):
        if layout[:2] != "oi":
            raise ValueError(f"weights_layout is '{layout}', allowed for octet.Weights: oihw")
        return w.array, w
    w = np.asarray(w)
    if layout in ("oihw", "oiw", "oidhw"):
        return w, None
    if layout in ("ohwi", "owi", "odhwi"):
        return np.moveaxis(w, -1, 1), None
    if layout in ("hwio", "wio", "dhwio"):
        return np.moveaxis(w, (-1, -2), (0, 1)), None
    raise ValueError(f"weights_layout is '{layout}', allowed: oihw, ohwi, hwio")


def _grouped(w: Array, groups: int) -> Array:
    """(O, I, pixels) as (groups, O / groups, I, pixels)."""
    groups = integer("groups", groups)
    if groups == 1:
        return w
    if groups < 1 or w.shape[0] % groups != 0:
        raise ValueError(f"groups is {groups}, allowed: a divisor of the {w.shape[0]} output channels")
    return w.reshape((groups, w.shape[0] // groups) + w.shape[1:])


def _product(operation: str, x: Array, w: Tuple[Array, Optional[Weights]], bias: Any,
             parameters: Dict[str, Any], sizes: Tuple[int, ...], masks: Tuple[int, int, int], dtype: Any,
             attributes: Dict[str, Any], keep_order: bool = True) -> Array:
    dtype = sums(x, bias, dtype, attributes)
    return _octet.run(operation, {"x": x, "bias": _octet.as_bias(bias)}, parameters, attributes, sizes, dtype,
                      masks, w, keep_order)


def _convolution(dims: int, x: Any, w: WeightsLike, bias: Any, stride: Any, padding: Any, dilation: Any,
                 groups: int, layout: str, weights_layout: str, dtype: Any,
                 attributes: Dict[str, Any]) -> Array:
    x = channels_first(x, layout)
    need_rank(x, "x", dims + 2, dims + 2)
    w, kept = _weights(w, weights_layout)
    need_rank(w, "w", dims + 2, dims + 2)
    kernel = w.shape[2:]
    strides, dilations = per_side(stride, dims, "stride"), per_side(dilation, dims, "dilation")
    before, after = padding_of(padded(padding, x.shape[2:], kernel, strides, dilations), dims)
    sizes = tuple(map(positions, x.shape[2:], map(operator.add, before, after), kernel, dilations, strides))
    y = _product("convolution", x, (_grouped(w, groups), kept), bias,
                 {"strides": strides, "dilates": tuple([d - 1 for d in dilations]), "padding_l": before,
                  "padding_r": after},
                 (x.shape[0], w.shape[0]) + sizes, (2, 1 if groups == 1 else 3, 2), dtype, attributes)
    return as_given(y, layout)


@described
def conv2d(x: ArrayLike, w: WeightsLike, bias: Optional[ArrayLike] = None, *, stride: Sizes = 1,
           padding: Padding = 0, dilation: Sizes = 1, groups: int = 1, layout: str = "nchw",
           weights_layout: str = "oihw", dtype: DTypeLike = None, rule: str = "automatic",
           multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
           x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
           x_zero_point: Integers = None, w_zero_point: Integers = None, zero_point: Integers = None,
           post_ops: PostOps = None) -> Array:
    """Convolution of images.

    - x: images (n, channels, height, width) of int8, uint8 or float32
    - w: the weights (output channels, input channels / groups, height, width) of int8 or uint8, float32 for a
      float32 input; `octet.Weights(w)` packs them once for many calls

    >>> x = np.arange(8, dtype=np.int8).reshape(1, 2, 2, 2)
    >>> w = np.ones((1, 2, 1, 1), np.int8)
    >>> conv2d(x, w)[0, 0].tolist()                        # exact sums
    [[4, 6], [8, 10]]
    >>> conv2d(x, np.ones((1, 2, 2, 2), np.int8), padding="same").shape
    (1, 1, 2, 2)
    >>> conv2d(x, w, rule="tflite_2step", multiplier=1 << 30, shift=0, zero_point=-3)[0, 0].tolist()
    [[-1, 0], [1, 2]]
    """
    return _convolution(2, x, w, bias, stride, padding, dilation, groups, layout, weights_layout, dtype,
                        keywords(locals()))


@described
def conv1d(x: ArrayLike, w: WeightsLike, bias: Optional[ArrayLike] = None, *, stride: Sizes = 1,
           padding: Padding = 0, dilation: Sizes = 1, groups: int = 1, layout: str = "ncw",
           weights_layout: str = "oiw", dtype: DTypeLike = None, rule: str = "automatic",
           multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
           x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
           x_zero_point: Integers = None, w_zero_point: Integers = None, zero_point: Integers = None,
           post_ops: PostOps = None) -> Array:
    """`conv2d` of sequences.

    - x: sequences (n, channels, length) of int8, uint8 or float32
    - w: the weights (output channels, input channels / groups, length); `octet.Weights(w)` packs them once
      for many calls

    >>> conv1d(np.array([[[1, 2, 3]]], np.int8), np.array([[[1, 1]]], np.int8), rule="none").tolist()
    [[[3, 5]]]
    """
    return _convolution(1, x, w, bias, stride, padding, dilation, groups, layout, weights_layout, dtype,
                        keywords(locals()))


@described
def conv3d(x: ArrayLike, w: WeightsLike, bias: Optional[ArrayLike] = None, *, stride: Sizes = 1,
           padding: Padding = 0, dilation: Sizes = 1, groups: int = 1, layout: str = "ncdhw",
           weights_layout: str = "oidhw", dtype: DTypeLike = None, rule: str = "automatic",
           multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
           x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
           x_zero_point: Integers = None, w_zero_point: Integers = None, zero_point: Integers = None,
           post_ops: PostOps = None) -> Array:
    """`conv2d` of volumes.

    - x: volumes (n, channels, depth, height, width) of int8, uint8 or float32
    - w: the weights (output channels, input channels / groups, depth, height, width); `octet.Weights(w)`
      packs them once for many calls

    >>> conv3d(np.ones((1, 2, 3, 3, 3), np.uint8), np.ones((1, 2, 3, 3, 3), np.int8), rule="none").tolist()
    [[[[[54]]]]]
    """
    return _convolution(3, x, w, bias, stride, padding, dilation, groups, layout, weights_layout, dtype,
                        keywords(locals()))


def _transposed(dims: int, x: Any, w: WeightsLike, bias: Any, stride: Any, padding: Any, output_padding: Any,
                dilation: Any, groups: int, layout: str, dtype: Any, attributes: Dict[str, Any]) -> Array:
    x, groups = channels_first(x, layout), integer("groups", groups)
    need_rank(x, "x", dims + 2, dims + 2)
    w, kept = _weights(w)
    need_rank(w, "w", dims + 2, dims + 2)
    strides, dilations = per_side(stride, dims, "stride"), per_side(dilation, dims, "dilation")
    before, behind = padding_of(padding, dims)
    after = tuple([p - extra for p, extra in zip(behind, per_side(output_padding, dims, "output_padding"))])
    for window in zip(w.shape[2:], dilations, strides):
        need_window(*window)
    sizes = tuple([(size - 1) * s + (k - 1) * d + 1 - b - a
                   for size, k, s, d, b, a in zip(x.shape[2:], w.shape[2:], strides, dilations, before, after)])
    if min(sizes) < 0:
        raise ValueError(f"padding is {padding}, of which the result would have {min(sizes)} elements along "
                         f"a side, allowed: less")
    by_output = w.swapaxes(0, 1) if groups == 1 else _grouped(w, groups).swapaxes(1, 2)
    y = _product("deconvolution", x, (by_output, kept), bias,
                 {"strides": strides, "dilates": tuple([d - 1 for d in dilations]), "padding_l": before,
                  "padding_r": after},
                 (x.shape[0], w.shape[1] * groups) + sizes, (2, 1 if groups == 1 else 3, 2), dtype,
                 attributes)
    return as_given(y, layout)


@described
def conv_transpose2d(x: ArrayLike, w: WeightsLike, bias: Optional[ArrayLike] = None, *, stride: Sizes = 1,
                     padding: Padding = 0, output_padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1,
                     layout: str = "nchw", dtype: DTypeLike = None, rule: str = "automatic",
                     multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
                     x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
                     x_zero_point: Integers = None, w_zero_point: Integers = None,
                     zero_point: Integers = None, post_ops: PostOps = None) -> Array:
    """Transposed convolution of images (the C++ API's deconvolution).

    - x: images (n, channels, height, width) of int8, uint8 or float32
    - w: the weights (input channels, output channels / groups, height, width); `octet.Weights(w)` packs them
      once for many calls
    - padding: elements that are cut off around the result: one number, one per side, or ((top, bottom), (left, right))

    >>> conv_transpose2d(np.array([[[[1, 2]]]], np.int8), np.ones((1, 1, 1, 2), np.int8), stride=2,
    ...                  rule="none")[0, 0].tolist()
    [[1, 1, 2, 2]]
    """
    return _transposed(2, x, w, bias, stride, padding, output_padding, dilation, groups, layout, dtype,
                       keywords(locals()))


@described
def conv_transpose1d(x: ArrayLike, w: WeightsLike, bias: Optional[ArrayLike] = None, *, stride: Sizes = 1,
                     padding: Padding = 0, output_padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1,
                     layout: str = "ncw", dtype: DTypeLike = None, rule: str = "automatic",
                     multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
                     x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
                     x_zero_point: Integers = None, w_zero_point: Integers = None,
                     zero_point: Integers = None, post_ops: PostOps = None) -> Array:
    """`conv_transpose2d` of sequences.

    - x: sequences (n, channels, length) of int8, uint8 or float32
    - w: the weights (input channels, output channels / groups, length); `octet.Weights(w)` packs them once
      for many calls
    - padding: elements that are cut off around the result: one number, or ((before, behind),)

    >>> conv_transpose1d(np.array([[[1, 2]]], np.int8), np.array([[[1, 10]]], np.int8), rule="none").tolist()
    [[[1, 12, 20]]]
    """
    return _transposed(1, x, w, bias, stride, padding, output_padding, dilation, groups, layout, dtype,
                       keywords(locals()))


@described
def conv_transpose3d(x: ArrayLike, w: WeightsLike, bias: Optional[ArrayLike] = None, *, stride: Sizes = 1,
                     padding: Padding = 0, output_padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1,
                     layout: str = "ncdhw", dtype: DTypeLike = None, rule: str = "automatic",
                     multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
                     x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
                     x_zero_point: Integers = None, w_zero_point: Integers = None,
                     zero_point: Integers = None, post_ops: PostOps = None) -> Array:
    """`conv_transpose2d` of volumes.

    - x: volumes (n, channels, depth, height, width) of int8, uint8 or float32
    - w: the weights (input channels, output channels / groups, depth, height, width); `octet.Weights(w)`
      packs them once for many calls
    - padding: elements that are cut off around the result: one number, one per side, or (before, behind) per side

    >>> conv_transpose3d(np.ones((1, 2, 1, 1, 1), np.int8), np.ones((2, 3, 2, 2, 2), np.int8), rule="none").shape
    (1, 3, 2, 2, 2)
    """
    return _transposed(3, x, w, bias, stride, padding, output_padding, dilation, groups, layout, dtype,
                       keywords(locals()))


def _is_dynamic(attributes: Dict[str, Any]) -> bool:
    """True if the input is quantized in the product."""
    for name in ("quantizer", "symmetric", "codes", "combination", "group", "w_type"):
        if name in attributes and "quantize" not in attributes:
            raise TypeError(f"{name} is given without quantize")
    if "group" in attributes:
        integer("group", attributes["group"])
    if "symmetric" in attributes:
        flag("symmetric", attributes["symmetric"])
    return "quantize" in attributes


def _rows(x: Array) -> Array:
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _row(bias: Any) -> Any:
    """One number per column, as a matrix."""
    offsets = _octet.as_bias(bias)
    return None if offsets is None else offsets.reshape((1,) + offsets.shape)


@described
def linear(x: ArrayLike, w: WeightsLike, bias: Optional[ArrayLike] = None, *, dtype: DTypeLike = None,
           rule: str = "automatic", multiplier: Integers = None, shift: Integers = None,
           scale: Numbers = None, x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
           x_zero_point: Integers = None, w_zero_point: Integers = None, zero_point: Integers = None,
           quantize: Optional[str] = None, quantizer: Optional[str] = None, symmetric: Optional[bool] = None,
           codes: DTypeLike = None, combination: Optional[str] = None, group: Optional[int] = None,
           w_type: Optional[str] = None, post_ops: PostOps = None) -> Array:
    """Fully connected layer: the input times the transposed weights.

    - x: rows (…, k) of int8, uint8 or float32
    - w: the weights (n, k) of int8 or uint8, float32 for a float32 input; `octet.Weights(w)` packs them once
      for many calls

    >>> linear(np.array([[1, 2, 3]], np.uint8), np.array([[1, -1, 2]], np.int8), rule="none").tolist()
    [[5]]
    >>> w = np.array([[1, -8, 7, 3], [2, 2, -4, 0]], np.int8)   # 4 bits, a scale for each two of them
    >>> linear(np.float32([[1, 0, 2, 0]]), w, quantize="row", w_type="int4", w_scale=[[1, .5], [1, 1]],
    ...        group=2).tolist()
    [[8.00787353515625, -5.984251976013184]]
    """
    x = np.asarray(x)
    if x.ndim == 0:
        raise ValueError("x has 0 dimensions, allowed: 1 or more")
    rows = _rows(x)
    attributes = keywords(locals())
    _is_dynamic(attributes)
    w, kept = _weights(w)
    need_rank(w, "w", 2, 2)
    y = _product("inner_product", rows, (w, kept), bias, {}, (rows.shape[0], w.shape[0]), (2, 1, 2), dtype,
                 attributes, False)
    return y if x.ndim == 2 else y.reshape(x.shape[:-1] + y.shape[-1:])


@described
def matmul(x: ArrayLike, w: WeightsLike, bias: Optional[ArrayLike] = None, *, dtype: DTypeLike = None,
           rule: str = "automatic", multiplier: Integers = None, shift: Integers = None,
           scale: Numbers = None, x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
           x_zero_point: Integers = None, w_zero_point: Integers = None, zero_point: Integers = None,
           quantize: Optional[str] = None, quantizer: Optional[str] = None, symmetric: Optional[bool] = None,
           codes: DTypeLike = None, combination: Optional[str] = None, group: Optional[int] = None,
           w_type: Optional[str] = None, post_ops: PostOps = None) -> Array:
    """Matrix product, batched and broadcast as NumPy's. Of integers it is exact in int32; dtype="int8" saturates.

    - x: matrices (…, m, k), or a vector, of int8, uint8 or float32
    - w: matrices (…, k, n), or a vector; `octet.Weights(w)` packs them once for many calls

    >>> x = np.array([[100, 100]], np.int8)
    >>> matmul(x, x.T).tolist(), matmul(x, x.T, dtype="int8").tolist()
    ([[20000]], [[127]])
    >>> matmul(np.float32([[1, .5]]), x.T, quantize="row", w_scale=.01).tolist()   # codes 127 and 64
    [[1.503937005996704]]
    """
    attributes = keywords(locals())
    x, (w, kept) = np.asarray(x), _weights(w)
    if _is_dynamic(attributes) and x.ndim > 2:
        need_rank(w, "w", 2, 2)
        y = _octet.run("matmul", {"x": _rows(x), "bias": _row(bias)}, {}, attributes,
                       (math.prod(x.shape[:-1]), w.shape[1]), dtype, (1, 2, 2), (w, kept), False)
        return y.reshape(x.shape[:-1] + y.shape[1:])
    if kept is not None and x.ndim != w.ndim:
        raise ValueError(f"x has {x.ndim} dimensions, allowed with these octet.Weights: {w.ndim}")
    if x.ndim == 0 or w.ndim == 0:
        raise ValueError(f"{'x' if x.ndim == 0 else 'w'} has 0 dimensions, allowed: 1 or more")
    a, b = x[None] if x.ndim == 1 else x, w[:, None] if w.ndim == 1 else w
    rank = max(a.ndim, b.ndim)
    a, b = (m if m.ndim == rank else m.reshape((1,) * (rank - m.ndim) + m.shape) for m in (a, b))
    sizes = tuple([n if m == 1 else m for m, n in zip(a.shape[:-2], b.shape)]) + (a.shape[-2], b.shape[-1])
    dtype, column, offsets = sums(x, bias, dtype, attributes), 1 << (rank - 1), _octet.as_bias(bias)
    if offsets is not None:
        offsets = offsets.reshape((1,) * (rank - 1) + offsets.shape)
    y = _octet.run("matmul", {"x": a, "bias": offsets}, {}, attributes, sizes, dtype,
                   (column >> 1, column, column), (b, kept), False)
    y = y[..., 0] if w.ndim == 1 else y
    return y if x.ndim > 1 else y[..., 0] if w.ndim == 1 else y[..., 0, :]
