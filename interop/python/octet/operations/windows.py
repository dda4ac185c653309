# SPDX-License-Identifier: Apache-2.0
"""Pooling and resizing of sequences, images and volumes."""

from __future__ import annotations

import operator
from typing import Any, Dict, Optional

from numpy.typing import ArrayLike, DTypeLike

from .. import _octet
from ..arguments import (Array, Integers, Numbers, Padding, PostOps, Sizes, as_given, channels_first, flag,
                         keywords, need_rank, padded, padding_of, per_side, positions, text)
from .parameters import described


def _pooling(dims: int, kind: str, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, layout: str,
             dtype: Any, attributes: Dict[str, Any]) -> Array:
    x = channels_first(x, layout)
    need_rank(x, "x", dims + 2, dims + 2)
    image, kernel, dilations = x.shape[2:], per_side(kernel, dims, "kernel"), per_side(dilation, dims, "dilation")
    strides = kernel if stride is None else per_side(stride, dims, "stride")
    before, after = padding_of(padded(padding, image, kernel, strides, dilations), dims)
    sizes = tuple(map(positions, image, map(operator.add, before, after), kernel, dilations, strides))
    y = _octet.run("pooling", {"x": x}, {"algorithm": kind, "kernel": kernel, "strides": strides,
                                         "dilation": tuple([d - 1 for d in dilations]),
                                         "padding_l": before, "padding_r": after}, attributes,
                   x.shape[:2] + sizes, dtype)
    return as_given(y, layout)


def _average(include_padding: bool) -> str:
    return "avg_include_padding" if flag("include_padding", include_padding) else "avg_exclude_padding"


@described
def max_pool2d(x: ArrayLike, kernel: Sizes, *, stride: Optional[Sizes] = None, padding: Padding = 0,
               dilation: Sizes = 1, layout: str = "nchw", dtype: DTypeLike = None, rule: str = "automatic",
               multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
               x_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Integers = None,
               zero_point: Integers = None, x_multiplier: Integers = None, x_shift: Integers = None,
               post_ops: PostOps = None) -> Array:
    """Largest element of each window.

    - x: images (n, channels, height, width) of int8, uint8 or float32
    - stride: step of the window, one number or one per side; None: the kernel

    >>> max_pool2d(np.arange(8, dtype=np.int8).reshape(1, 1, 2, 4), 2).tolist()
    [[[[5, 7]]]]
    """
    return _pooling(2, "max", x, kernel, stride, padding, dilation, layout, dtype, keywords(locals()))


@described
def max_pool1d(x: ArrayLike, kernel: Sizes, *, stride: Optional[Sizes] = None, padding: Padding = 0,
               dilation: Sizes = 1, layout: str = "ncw", dtype: DTypeLike = None, rule: str = "automatic",
               multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
               x_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Integers = None,
               zero_point: Integers = None, x_multiplier: Integers = None, x_shift: Integers = None,
               post_ops: PostOps = None) -> Array:
    """`max_pool2d` of sequences.

    - x: sequences (n, channels, length) of int8, uint8 or float32
    - stride: step of the window; None: the kernel

    >>> max_pool1d(np.array([[[1, 3, 2, 0]]], np.int8), 2, stride=1).tolist()
    [[[3, 3, 2]]]
    """
    return _pooling(1, "max", x, kernel, stride, padding, dilation, layout, dtype, keywords(locals()))


@described
def max_pool3d(x: ArrayLike, kernel: Sizes, *, stride: Optional[Sizes] = None, padding: Padding = 0,
               dilation: Sizes = 1, layout: str = "ncdhw", dtype: DTypeLike = None, rule: str = "automatic",
               multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
               x_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Integers = None,
               zero_point: Integers = None, x_multiplier: Integers = None, x_shift: Integers = None,
               post_ops: PostOps = None) -> Array:
    """`max_pool2d` of volumes.

    - x: volumes (n, channels, depth, height, width) of int8, uint8 or float32
    - stride: step of the window, one number or one per side; None: the kernel

    >>> max_pool3d(np.arange(8, dtype=np.uint8).reshape(1, 1, 2, 2, 2), 2).tolist()
    [[[[[7]]]]]
    """
    return _pooling(3, "max", x, kernel, stride, padding, dilation, layout, dtype, keywords(locals()))


@described
def avg_pool2d(x: ArrayLike, kernel: Sizes, *, stride: Optional[Sizes] = None, padding: Padding = 0,
               dilation: Sizes = 1, include_padding: bool = False, layout: str = "nchw",
               dtype: DTypeLike = None, rule: str = "automatic", multiplier: Integers = None,
               shift: Integers = None, scale: Numbers = None, x_scale: Numbers = None,
               y_scale: Numbers = None, x_zero_point: Integers = None, zero_point: Integers = None,
               x_multiplier: Integers = None, x_shift: Integers = None, post_ops: PostOps = None) -> Array:
    """Average of each window, rounded as the rule says.

    - x: images (n, channels, height, width) of int8, uint8 or float32
    - stride: step of the window, one number or one per side; None: the kernel
    - include_padding: the divisor counts elements of the padding, too

    >>> avg_pool2d(np.arange(8, dtype=np.int8).reshape(1, 1, 2, 4), 2).tolist()         # 2.5 and 4.5, halves to even
    [[[[2, 4]]]]
    """
    return _pooling(2, _average(include_padding), x, kernel, stride, padding, dilation, layout, dtype,
                    keywords(locals()))


@described
def avg_pool1d(x: ArrayLike, kernel: Sizes, *, stride: Optional[Sizes] = None, padding: Padding = 0,
               dilation: Sizes = 1, include_padding: bool = False, layout: str = "ncw",
               dtype: DTypeLike = None, rule: str = "automatic", multiplier: Integers = None,
               shift: Integers = None, scale: Numbers = None, x_scale: Numbers = None,
               y_scale: Numbers = None, x_zero_point: Integers = None, zero_point: Integers = None,
               x_multiplier: Integers = None, x_shift: Integers = None, post_ops: PostOps = None) -> Array:
    """`avg_pool2d` of sequences.

    - x: sequences (n, channels, length) of int8, uint8 or float32
    - stride: step of the window; None: the kernel
    - include_padding: the divisor counts elements of the padding, too

    >>> avg_pool1d(np.array([[[2, 4, 6]]], np.int8), 3, padding=1, stride=2).tolist()
    [[[3, 5]]]
    >>> avg_pool1d(np.array([[[2, 4, 6]]], np.int8), 3, padding=1, stride=2, include_padding=True).tolist()
    [[[2, 3]]]
    """
    return _pooling(1, _average(include_padding), x, kernel, stride, padding, dilation, layout, dtype,
                    keywords(locals()))


@described
def avg_pool3d(x: ArrayLike, kernel: Sizes, *, stride: Optional[Sizes] = None, padding: Padding = 0,
               dilation: Sizes = 1, include_padding: bool = False, layout: str = "ncdhw",
               dtype: DTypeLike = None, rule: str = "automatic", multiplier: Integers = None,
               shift: Integers = None, scale: Numbers = None, x_scale: Numbers = None,
               y_scale: Numbers = None, x_zero_point: Integers = None, zero_point: Integers = None,
               x_multiplier: Integers = None, x_shift: Integers = None, post_ops: PostOps = None) -> Array:
    """`avg_pool2d` of volumes.

    - x: volumes (n, channels, depth, height, width) of int8, uint8 or float32
    - stride: step of the window, one number or one per side; None: the kernel
    - include_padding: the divisor counts elements of the padding, too

    >>> avg_pool3d(np.full((1, 2, 2, 2, 2), 7, np.uint8), 2).tolist()
    [[[[[7]]], [[[7]]]]]
    """
    return _pooling(3, _average(include_padding), x, kernel, stride, padding, dilation, layout, dtype,
                    keywords(locals()))


_COORDINATES = ("half_pixel", "asymmetric", "align_corners", "align_corners_half_pixel")


@described
def resize(x: ArrayLike, size: Sizes, *, mode: str = "nearest", coordinates: str = "half_pixel",
           layout: str = "nchw", dtype: DTypeLike = None, rule: str = "automatic",
           multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
           x_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Integers = None,
           zero_point: Integers = None, x_multiplier: Integers = None, x_shift: Integers = None,
           post_ops: PostOps = None) -> Array:
    """Images of another size.

    - x: images (n, channels, height, width), sequences or volumes of int8, uint8, int32 or float32
    - size: of the result, one number or one per side
    - mode: "nearest" or "linear"
    - coordinates: where the result's elements lie in the input, as ONNX and TFLite call it: "half_pixel",
      "asymmetric", "align_corners" or "align_corners_half_pixel"

    >>> resize(np.array([[[1, 2]]], np.uint8), 4, layout="ncw").tolist()
    [[[1, 1, 2, 2]]]
    """
    attributes = keywords(locals())
    if text("coordinates", coordinates) not in _COORDINATES:
        raise ValueError(f"coordinates is '{coordinates}', allowed: {', '.join(_COORDINATES)}")
    if text("mode", mode) not in ("nearest", "linear"):
        raise ValueError(f"mode is '{mode}', allowed: nearest, linear")
    x = channels_first(x, layout)
    need_rank(x, "x", 3, 5)
    wanted = per_side(size, x.ndim - 2, "size")
    if min(wanted) < 1:
        raise ValueError(f"size is {min(wanted)}, allowed: 1 or more")
    sizes = x.shape[:2] + wanted
    return as_given(_octet.run("resampling", {"x": x}, {"algorithm": mode, "coordinates": coordinates},
                               attributes, sizes, dtype), layout)
