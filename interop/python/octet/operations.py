# SPDX-License-Identifier: Apache-2.0
"""Single operations on arrays, under any framework's arithmetic.

Words that all of them share:

- dtype: of the result; by default the input's, or int32 with rule "none". Products of integers (convolutions, linear, matmul) to which
  neither a rule nor a scale nor a post-op is given are exact int32 sums. A narrower result saturates.
- rule: how accumulators become codes (`octet.rules()`), e.g. "tflite_2step", "ort_f32"; "automatic": f32 scales.
- multiplier, shift: fixed-point factors of the rule, one or one per output channel.
- scale: the same as real numbers; a fixed-point rule derives its multipliers from them, as its framework does.
- x_scale, w_scale, y_scale: scales of input, weights and result instead; the factor x_scale * w_scale / y_scale is derived as the
  rule's framework derives it.
- x_zero_point, w_zero_point, zero_point: of input, weights and result.
- x_multiplier, x_shift, x1_multiplier, x1_shift, w_multiplier, w_shift: fixed-point factors of single inputs, where a rule has such (TFLite's ADD, SOFTMAX, PRELU, …).
- padding: one number, one per side, ((top, bottom), (left, right)), "valid" for none, or "same" for results of ceil(size / stride).
- post_ops: a list of what follows before the result is stored: "relu", ("clip", low, high), ("tanh", alpha, beta, scale),
  ("add", array) or another operation of `binary`, ("add", number), ("prelu", weights), ("table", 256 codes),
  ("sum", array, scale, zero_point), ("leaky_relu", multiplier, shift, multiplier below 0, shift below 0).

Weights may be `octet.Weights(w)`, which are packed once. Arrays may have any strides; layout="nhwc" says that an image's channels come last.
float64, NumPy's default, is rounded to float32; other types than the operation's are TypeErrors.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from . import _octet
from ._octet import Weights as Weights
from .arguments import (Array as Array, Numbers, PostOps, axis_of, floats, function_last, given, integer, need_rank, own_type, padded,
                        padding_of, per_side, positions, real, several, sums, text)

_Sizes = Union[int, Sequence[int]]


def _channels_first(values: Any, layout: str) -> Array:
    x: Array = np.asarray(values)
    if text("layout", layout).lower() in ("nchw", "nc", "ncw", "ncdhw"):
        return x
    if layout.lower() in ("nhwc", "nwc", "ndhwc"):
        return np.moveaxis(x, -1, 1)
    raise ValueError(f"layout is '{layout}', allowed: nchw, nhwc (or ncw, nwc, ncdhw, ndhwc)")


def _as_given(y: Array, layout: str) -> Array:
    return np.moveaxis(y, 1, -1) if layout.lower().endswith("c") and y.ndim > 2 else y


def _need_rank(x: Array, rank: int) -> None:
    if x.ndim != rank:
        raise ValueError(f"x has {x.ndim} dimensions, allowed: {rank}")


def _weights(w: Any, layout: str = "oihw") -> Tuple[Array, Optional[Weights]]:
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


def _product(operation: str, x: Array, w: Tuple[Array, Optional[Weights]], bias: Any, parameters: Dict[str, Any], sizes: Tuple[int, ...],
             masks: Tuple[int, int, int], dtype: Any, words: Dict[str, Any], keep_order: bool = True) -> Array:
    dtype = sums(x, bias, dtype, words)
    return _octet.run(operation, {"x": x, "bias": _octet.as_bias(bias)}, parameters, words, sizes, dtype, masks, w, keep_order)


def _convolution(dims: int, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, layout: str,
                 weights_layout: str,
                 dtype: Any, words: Dict[str, Any]) -> Array:
    x = _channels_first(x, layout)
    _need_rank(x, dims + 2)
    w, kept = _weights(w, weights_layout)
    need_rank(w, "w", dims + 2, dims + 2)
    kernel = w.shape[2:]
    strides, dilations = per_side(stride, dims, "stride"), per_side(dilation, dims, "dilation")
    before, after = padding_of(padded(padding, x.shape[2:], kernel, strides, dilations), dims)
    sizes = tuple(map(positions, x.shape[2:], map(operator.add, before, after), kernel, dilations, strides))
    y = _product("convolution", x, (_grouped(w, groups), kept), bias,
                 {"strides": strides, "dilates": tuple([d - 1 for d in dilations]), "padding_l": before, "padding_r": after},
                 (x.shape[0], w.shape[0]) + sizes, (2, 1 if groups == 1 else 3, 2), dtype, words)
    return _as_given(y, layout)


def conv2d(x: Any, w: Any, bias: Any = None, *, stride: _Sizes = 1, padding: Any = 0, dilation: _Sizes = 1, groups: int = 1,
           layout: str = "nchw", weights_layout: str = "oihw", dtype: Any = None, rule: str = "automatic",
           multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None,
           w_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None, w_zero_point: Numbers = None,
           zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """Convolution of images.

    >>> x = np.arange(8, dtype=np.int8).reshape(1, 2, 2, 2)
    >>> w = np.ones((1, 2, 1, 1), np.int8)
    >>> conv2d(x, w)[0, 0].tolist()                        # exact sums
    [[4, 6], [8, 10]]
    >>> conv2d(x, np.ones((1, 2, 2, 2), np.int8), padding="same").shape
    (1, 1, 2, 2)
    >>> conv2d(x, w, rule="tflite_2step", multiplier=1 << 30, shift=0, zero_point=-3)[0, 0].tolist()
    [[-1, 0], [1, 2]]
    """
    return _convolution(2, x, w, bias, stride, padding, dilation, groups, layout, weights_layout, dtype, given(locals()))


def conv1d(x: Any, w: Any, bias: Any = None, *, stride: _Sizes = 1, padding: Any = 0, dilation: _Sizes = 1, groups: int = 1,
           layout: str = "ncw", weights_layout: str = "oiw", dtype: Any = None, rule: str = "automatic",
           multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None,
           w_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None, w_zero_point: Numbers = None,
           zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """`conv2d` of sequences.

    >>> conv1d(np.array([[[1, 2, 3]]], np.int8), np.array([[[1, 1]]], np.int8), rule="none").tolist()
    [[[3, 5]]]
    """
    return _convolution(1, x, w, bias, stride, padding, dilation, groups, layout, weights_layout, dtype, given(locals()))


def conv3d(x: Any, w: Any, bias: Any = None, *, stride: _Sizes = 1, padding: Any = 0, dilation: _Sizes = 1, groups: int = 1,
           layout: str = "ncdhw", weights_layout: str = "oidhw", dtype: Any = None, rule: str = "automatic",
           multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None,
           w_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None, w_zero_point: Numbers = None,
           zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """`conv2d` of volumes.

    >>> conv3d(np.ones((1, 2, 3, 3, 3), np.uint8), np.ones((1, 2, 3, 3, 3), np.int8), rule="none").tolist()
    [[[[[54]]]]]
    """
    return _convolution(3, x, w, bias, stride, padding, dilation, groups, layout, weights_layout, dtype, given(locals()))


def _transposed(dims: int, x: Any, w: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int,
                layout: str, dtype: Any, words: Dict[str, Any]) -> Array:
    x = _channels_first(x, layout)
    _need_rank(x, dims + 2)
    w, kept = _weights(w)
    need_rank(w, "w", dims + 2, dims + 2)
    strides, dilations = per_side(stride, dims, "stride"), per_side(dilation, dims, "dilation")
    before, behind = padding_of(padding, dims)
    after = tuple([p - extra for p, extra in zip(behind, per_side(output_padding, dims, "output_padding"))])
    sizes = tuple([(size - 1) * s + (k - 1) * d + 1 - b - a
                   for size, k, s, d, b, a in zip(x.shape[2:], w.shape[2:], strides, dilations, before, after)])
    by_output = w.swapaxes(0, 1) if groups == 1 else _grouped(w, groups).swapaxes(1, 2)
    y = _product("deconvolution", x, (by_output, kept), bias,
                 {"strides": strides, "dilates": tuple([d - 1 for d in dilations]), "padding_l": before, "padding_r": after},
                 (x.shape[0], w.shape[1] * groups) + sizes, (2, 1 if groups == 1 else 3, 2), dtype, words)
    return _as_given(y, layout)


def conv_transpose2d(x: Any, w: Any, bias: Any = None, *, stride: _Sizes = 1, padding: Any = 0, output_padding: _Sizes = 0,
                     dilation: _Sizes = 1, groups: int = 1, layout: str = "nchw", dtype: Any = None, rule: str = "automatic",
                     multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None,
                     w_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None, w_zero_point: Numbers = None,
                     zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """Transposed convolution (the C++ API's deconvolution); weights are (input channels, output channels / groups, height, width).

    >>> conv_transpose2d(np.array([[[[1, 2]]]], np.int8), np.ones((1, 1, 1, 2), np.int8), stride=2, rule="none")[0, 0].tolist()
    [[1, 1, 2, 2]]
    """
    return _transposed(2, x, w, bias, stride, padding, output_padding, dilation, groups, layout, dtype, given(locals()))


def conv_transpose1d(x: Any, w: Any, bias: Any = None, *, stride: _Sizes = 1, padding: Any = 0, output_padding: _Sizes = 0,
                     dilation: _Sizes = 1, groups: int = 1, layout: str = "ncw", dtype: Any = None, rule: str = "automatic",
                     multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None,
                     w_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None, w_zero_point: Numbers = None,
                     zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """`conv_transpose2d` of sequences.

    >>> conv_transpose1d(np.array([[[1, 2]]], np.int8), np.array([[[1, 10]]], np.int8), rule="none").tolist()
    [[[1, 12, 20]]]
    """
    return _transposed(1, x, w, bias, stride, padding, output_padding, dilation, groups, layout, dtype, given(locals()))


def conv_transpose3d(x: Any, w: Any, bias: Any = None, *, stride: _Sizes = 1, padding: Any = 0, output_padding: _Sizes = 0,
                     dilation: _Sizes = 1, groups: int = 1, layout: str = "ncdhw", dtype: Any = None, rule: str = "automatic",
                     multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None,
                     w_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None, w_zero_point: Numbers = None,
                     zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """`conv_transpose2d` of volumes.

    >>> conv_transpose3d(np.ones((1, 2, 1, 1, 1), np.int8), np.ones((2, 3, 2, 2, 2), np.int8), rule="none").shape
    (1, 3, 2, 2, 2)
    """
    return _transposed(3, x, w, bias, stride, padding, output_padding, dilation, groups, layout, dtype, given(locals()))


def linear(x: Any, w: Any, bias: Any = None, *, dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None,
           shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
           x_zero_point: Numbers = None, w_zero_point: Numbers = None, zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """Fully connected layer: x (…, k) times weights (n, k), transposed.

    >>> linear(np.array([[1, 2, 3]], np.uint8), np.array([[1, -1, 2]], np.int8), rule="none").tolist()
    [[5]]
    """
    x = np.asarray(x)
    if x.ndim == 0:
        raise ValueError("x has 0 dimensions, allowed: 1 or more")
    rows = x.reshape(-1, x.shape[-1]) if x.ndim != 2 else x
    words = given(locals())
    w, kept = _weights(w)
    need_rank(w, "w", 2, 2)
    y = _product("inner_product", rows, (w, kept), bias, {}, (rows.shape[0], w.shape[0]), (2, 1, 2), dtype, words, False)
    return y if x.ndim == 2 else y.reshape(x.shape[:-1] + y.shape[-1:])


def matmul(x: Any, w: Any, bias: Any = None, *, dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None,
           shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
           x_zero_point: Numbers = None, w_zero_point: Numbers = None, zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """Matrix product, batched and broadcast as NumPy's. Of integers it is exact in int32; dtype="int8" saturates.

    >>> x = np.array([[100, 100]], np.int8)
    >>> matmul(x, x.T).tolist(), matmul(x, x.T, dtype="int8").tolist()
    ([[20000]], [[127]])
    """
    words = given(locals())
    x, (w, kept) = np.asarray(x), _weights(w)
    if kept is not None and x.ndim != w.ndim:
        raise ValueError(f"x has {x.ndim} dimensions, allowed with these octet.Weights: {w.ndim}")
    if x.ndim == 0 or w.ndim == 0:
        raise ValueError(f"{'x' if x.ndim == 0 else 'w'} has 0 dimensions, allowed: 1 or more")
    a, b = x[None] if x.ndim == 1 else x, w[:, None] if w.ndim == 1 else w
    rank = max(a.ndim, b.ndim)
    a, b = (m if m.ndim == rank else m.reshape((1,) * (rank - m.ndim) + m.shape) for m in (a, b))
    sizes = tuple([n if m == 1 else m for m, n in zip(a.shape[:-2], b.shape)]) + (a.shape[-2], b.shape[-1])
    dtype, column, bias = sums(x, bias, dtype, words), 1 << (rank - 1), _octet.as_bias(bias)
    if bias is not None:
        bias = bias.reshape((1,) * (rank - 1) + bias.shape)
    y = _octet.run("matmul", {"x": a, "bias": bias}, {}, words, sizes, dtype, (column >> 1, column, column), (b, kept), False)
    y = y[..., 0] if w.ndim == 1 else y
    return y if x.ndim > 1 else y[..., 0] if w.ndim == 1 else y[..., 0, :]


def _reordered(x: Any, dtype: Any, axis: Any, words: Dict[str, Any]) -> Array:
    mask = 0 if axis is None else 1 << axis_of(axis, max(np.ndim(x), 1))
    return _octet.run("reorder", {"x": x}, {}, words, None, dtype, (mask, mask, mask))


def quantize(x: Any, *, scale: Any, zero_point: Any = 0, dtype: Any = "int8", axis: Any = None, rule: str = "ort_f32") -> Array:
    """Codes of real numbers, clamp(round(x / scale) + zero_point); rule "ort_f32" rounds halves to even, "tflite_2step" away from zero.

    >>> quantize(np.array([0.25, -0.25, 100], np.float32), scale=0.5).tolist()
    [0, 0, 127]
    >>> quantize(np.array([0.25, -0.25], np.float32), scale=0.5, rule="tflite_2step").tolist()
    [1, -1]
    """
    words = {"rule": rule, "y_scale": scale, "y_zero_point": zero_point}
    x = _octet.as_array(x, "x")
    keeps_order = x.dtype.kind in "fiub"
    return _reordered(x.astype(np.float32, copy=False) if keeps_order else _octet.as_floats(x, "x"), dtype, axis, words)


def dequantize(x: Any, *, scale: Any, zero_point: Any = 0, axis: Any = None) -> Array:
    """scale * (x - zero_point).

    >>> dequantize(np.array([-1, 3], np.int8), scale=0.5, zero_point=1).tolist()
    [-1.0, 1.0]
    """
    return _reordered(x, "float32", axis, {"rule": "ort_f32", "x_scale": scale, "x_zero_point": zero_point})


def requantize(x: Any, *, dtype: Any = "int8", axis: Any = None, rule: str = "automatic", multiplier: Numbers = None,
               shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None, y_scale: Numbers = None,
               x_zero_point: Numbers = None, zero_point: Numbers = None, x_multiplier: Numbers = None, x_shift: Numbers = None,
               post_ops: PostOps = None) -> Array:
    """Accumulators or codes as codes of another scale, by the same words as `conv2d`.

    >>> requantize(np.array([10, -10], np.int32), rule="tflite_2step", multiplier=1 << 30, shift=0).tolist()
    [5, -5]
    """
    return _reordered(x, dtype, axis, given(locals()))


def _pooling(dims: int, kind: str, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, layout: str, dtype: Any,
             words: Dict[str, Any]) -> Array:
    x = _channels_first(x, layout)
    _need_rank(x, dims + 2)
    image, kernel, dilations = x.shape[2:], per_side(kernel, dims, "kernel"), per_side(dilation, dims, "dilation")
    strides = kernel if stride is None else per_side(stride, dims, "stride")
    before, after = padding_of(padded(padding, image, kernel, strides, dilations), dims)
    sizes = tuple(map(positions, image, map(operator.add, before, after), kernel, dilations, strides))
    y = _octet.run("pooling", {"x": x}, {"algorithm": kind, "kernel": kernel, "strides": strides, "dilation": tuple([d - 1 for d in dilations]),
                                         "padding_l": before, "padding_r": after}, words, x.shape[:2] + sizes, dtype)
    return _as_given(y, layout)


def _average(include_padding: bool) -> str:
    return "avg_include_padding" if include_padding else "avg_exclude_padding"


def max_pool2d(x: Any, kernel: _Sizes, *, stride: Any = None, padding: Any = 0, dilation: _Sizes = 1, layout: str = "nchw",
               dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None, shift: Numbers = None,
               scale: Numbers = None, x_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None,
               zero_point: Numbers = None, x_multiplier: Numbers = None, x_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """Largest element of each window; `stride` is the kernel by default.

    >>> max_pool2d(np.arange(8, dtype=np.int8).reshape(1, 1, 2, 4), 2).tolist()
    [[[[5, 7]]]]
    """
    return _pooling(2, "max", x, kernel, stride, padding, dilation, layout, dtype, given(locals()))


def max_pool1d(x: Any, kernel: _Sizes, *, stride: Any = None, padding: Any = 0, dilation: _Sizes = 1, layout: str = "ncw",
               dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None, shift: Numbers = None,
               scale: Numbers = None, x_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None,
               zero_point: Numbers = None, x_multiplier: Numbers = None, x_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """`max_pool2d` of sequences.

    >>> max_pool1d(np.array([[[1, 3, 2, 0]]], np.int8), 2, stride=1).tolist()
    [[[3, 3, 2]]]
    """
    return _pooling(1, "max", x, kernel, stride, padding, dilation, layout, dtype, given(locals()))


def max_pool3d(x: Any, kernel: _Sizes, *, stride: Any = None, padding: Any = 0, dilation: _Sizes = 1, layout: str = "ncdhw",
               dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None, shift: Numbers = None,
               scale: Numbers = None, x_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None,
               zero_point: Numbers = None, x_multiplier: Numbers = None, x_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """`max_pool2d` of volumes.

    >>> max_pool3d(np.arange(8, dtype=np.uint8).reshape(1, 1, 2, 2, 2), 2).tolist()
    [[[[[7]]]]]
    """
    return _pooling(3, "max", x, kernel, stride, padding, dilation, layout, dtype, given(locals()))


def avg_pool2d(x: Any, kernel: _Sizes, *, stride: Any = None, padding: Any = 0, dilation: _Sizes = 1,
               include_padding: bool = False, layout: str = "nchw", dtype: Any = None, rule: str = "automatic",
               multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None,
               y_scale: Numbers = None, x_zero_point: Numbers = None, zero_point: Numbers = None, x_multiplier: Numbers = None,
               x_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """Average of each window, rounded as the rule says.

    >>> avg_pool2d(np.arange(8, dtype=np.int8).reshape(1, 1, 2, 4), 2).tolist()         # 2.5 and 4.5, halves to even
    [[[[2, 4]]]]
    """
    return _pooling(2, _average(include_padding), x, kernel, stride, padding, dilation, layout, dtype, given(locals()))


def avg_pool1d(x: Any, kernel: _Sizes, *, stride: Any = None, padding: Any = 0, dilation: _Sizes = 1,
               include_padding: bool = False, layout: str = "ncw", dtype: Any = None, rule: str = "automatic",
               multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None,
               y_scale: Numbers = None, x_zero_point: Numbers = None, zero_point: Numbers = None, x_multiplier: Numbers = None,
               x_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """`avg_pool2d` of sequences.

    >>> avg_pool1d(np.array([[[2, 4, 6]]], np.int8), 3, padding=1, stride=2).tolist()
    [[[3, 5]]]
    >>> avg_pool1d(np.array([[[2, 4, 6]]], np.int8), 3, padding=1, stride=2, include_padding=True).tolist()
    [[[2, 3]]]
    """
    return _pooling(1, _average(include_padding), x, kernel, stride, padding, dilation, layout, dtype, given(locals()))


def avg_pool3d(x: Any, kernel: _Sizes, *, stride: Any = None, padding: Any = 0, dilation: _Sizes = 1,
               include_padding: bool = False, layout: str = "ncdhw", dtype: Any = None, rule: str = "automatic",
               multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None,
               y_scale: Numbers = None, x_zero_point: Numbers = None, zero_point: Numbers = None, x_multiplier: Numbers = None,
               x_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """`avg_pool2d` of volumes.

    >>> avg_pool3d(np.full((1, 2, 2, 2, 2), 7, np.uint8), 2).tolist()
    [[[[[7]]], [[[7]]]]]
    """
    return _pooling(3, _average(include_padding), x, kernel, stride, padding, dilation, layout, dtype, given(locals()))


def eltwise(x: Any, function: str, *, alpha: float = 0, beta: float = 0, dtype: Any = None, rule: str = "automatic",
            multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None,
            y_scale: Numbers = None, x_zero_point: Numbers = None, zero_point: Numbers = None, x_multiplier: Numbers = None,
            x_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """A function of single elements: "relu", "tanh", "logistic", "gelu_erf", "hardswish", "clip", "linear", …

    >>> eltwise(np.array([-4, 4], np.int8), "relu", alpha=0.5).tolist()
    [-2, 4]
    """
    words = given(locals())
    x, function = function_last(function, x)
    return _octet.run("eltwise", {"x": x}, {"algorithm": function, "alpha": real("alpha", alpha), "beta": real("beta", beta)}, words, None, dtype)


def binary(x: Any, y: Any, function: str, *, dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None,
           shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None, x1_scale: Numbers = None,
           y_scale: Numbers = None, x_zero_point: Numbers = None, x1_zero_point: Numbers = None, zero_point: Numbers = None,
           x_multiplier: Numbers = None, x_shift: Numbers = None, x1_multiplier: Numbers = None, x1_shift: Numbers = None,
           post_ops: PostOps = None) -> Array:
    """Two arrays element by element, broadcast as NumPy's: "add", "sub", "mul", "div", "max", "min", "ge", …; x1_scale, x1_zero_point
    and, for the rules of TFLite, x1_multiplier, x1_shift are y's.

    >>> binary(np.array([1, 2], np.int8), np.array([10], np.int8), "add").tolist()
    [11, 12]
    """
    words = given(locals())
    x, y, function = function_last(function, x, y)
    return _octet.run("binary", {"x": x, "y": y}, {"algorithm": function}, words, None, dtype)


def prelu(x: Any, w: Any, *, dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None, shift: Numbers = None,
          scale: Numbers = None, x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
          x_zero_point: Numbers = None, w_zero_point: Numbers = None, zero_point: Numbers = None, w_multiplier: Numbers = None,
          w_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """Parametric ReLU: x where it is positive, else x * w. One slope, a vector of one per channel (dimension 1), or an array that is
    broadcast. With the rules of TFLite w holds codes: x_scale, w_scale, y_scale and zero points, or multiplier, shift, w_multiplier, w_shift.

    >>> prelu(np.array([[-4, -4, 4]], np.float32), np.array([0.25, 0.5, 0.5], np.float32)).tolist()
    [[-1.0, -2.0, 4.0]]
    """
    words = given(locals())
    x, w = _octet.as_array(x, "x"), _octet.as_array(w, "w")
    if w.ndim > max(x.ndim, 1):
        raise ValueError(f"w has {w.ndim} dimensions, allowed: up to {max(x.ndim, 1)}")
    if w.ndim == 1 and w.size > 1 and x.ndim > 1:
        w = w.reshape((1, -1) + (1,) * (x.ndim - 2))
    return _octet.run("prelu", {"x": x, "w": w}, {}, words, None, dtype)


def sum(xs: Sequence[Any], scales: Any = None, *, dtype: Any = None, rule: str = "automatic", zero_points: Numbers = None,
        y_scale: Numbers = None, zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """Arrays of one shape added up, each times its scale (1 by default). Rule "caffe_double_round" also takes zero_points, one per array,
    with y_scale and zero_point of the result. Along an axis: `reduce`.

    >>> sum([np.array([1, 2], np.int8), np.array([10, 100], np.int8)], [1, 0.5]).tolist()
    [6, 52]
    """
    factors = {} if scales is None else {"factors": tuple([real("scales", s) for s in np.ravel(scales)])}
    return _octet.run("sum", several("xs", xs), factors, given(locals()), None, dtype)


def _normalized(operation: str, x: Array, mean: Any, variance: Any, statistics: Tuple[int, ...], scale: Any, shift: Any,
                channels: Tuple[int, ...], epsilon: float, relu: bool, words: Dict[str, Any]) -> Array:
    vectors = {"mean": floats(mean, "mean", statistics), "variance": floats(variance, "variance", statistics),
               "scale": floats(scale, "scale", channels), "shift": floats(shift, "shift", channels)}
    flags = [flag for flag, is_set in (("use_global_stats", mean is not None or variance is not None), ("use_scale", scale is not None),
                                       ("use_shift", shift is not None), ("fuse_norm_relu", relu)) if is_set]
    return _octet.run(operation, {"x": x, **vectors}, {"epsilon": real("epsilon", epsilon), "flags": "+".join(flags) or "none"}, words, x.shape,
                      own_type(x) if words["rule"] == "none" else None, keep_order=operation == "batch_normalization")


def layer_norm(x: Any, scale: Any = None, shift: Any = None, *, epsilon: float = 1e-5, mean: Any = None, variance: Any = None,
               rule: str = "automatic", post_ops: PostOps = None) -> Array:
    """Layer normalization of floats: each row (last dimension) gets mean 0 and variance 1, then `scale` and `shift` of its elements.
    With `mean` and `variance`, one per row, those are used. rule "ort_f32": ONNX Runtime's to the last bit.

    >>> layer_norm(np.array([[1, 3]], np.float32), np.array([2, 2], np.float32), np.array([0, 1], np.float32), epsilon=0).tolist()
    [[-2.0, 3.0]]
    """
    x = np.asarray(x)
    rows = np.atleast_2d(x)
    need_rank(rows, "x", 2, 6)
    if (mean is None) != (variance is None):
        raise TypeError("mean and variance are given one without the other")
    y = _normalized("layer_normalization", rows, mean, variance, rows.shape[:-1], scale, shift, rows.shape[-1:], epsilon, False,
                    {"rule": rule, "post_ops": post_ops})
    return y.reshape(x.shape)


def batch_norm(x: Any, mean: Any, variance: Any, scale: Any = None, shift: Any = None, *, epsilon: float = 1e-5,
               relu: bool = False, layout: str = "nchw", rule: str = "automatic", post_ops: PostOps = None) -> Array:
    """Batch normalization of floats by given statistics, one per channel: (x - mean) / sqrt(variance + epsilon) * scale + shift, folded
    into one product and sum; `relu` follows it in the same operation.

    >>> batch_norm(np.array([[5, 5]], np.float32), [1, 6], [4, 1], [1, 3], [0, 1], epsilon=0, relu=True).tolist()
    [[2.0, 0.0]]
    """
    x = _channels_first(x, layout)
    need_rank(x, "x", 2, 5)
    channels = x.shape[1:2]
    y = _normalized("batch_normalization", x, mean, variance, channels, scale, shift, channels, epsilon, relu,
                    {"rule": rule, "post_ops": post_ops})
    return _as_given(y, layout)


def softmax(x: Any, axis: int = -1, *, log: bool = False, dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None,
            shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None, y_scale: Numbers = None,
            x_zero_point: Numbers = None, zero_point: Numbers = None, x_multiplier: Numbers = None, x_shift: Numbers = None,
            post_ops: PostOps = None) -> Array:
    """Softmax along an axis, or its logarithm; of codes by the rule's framework: "ort_f32" with x_scale, y_scale, zero_point,
    "tflite_2step" with x_multiplier and x_shift.

    >>> softmax(np.array([1, 1], np.float32)).tolist()
    [0.5, 0.5]
    """
    return _octet.run("softmax", {"x": x}, {"algorithm": "log" if log else "accurate", "axis": integer("axis", axis, 32)}, given(locals()), None, dtype)


def concat(xs: Sequence[Any], axis: int = 0, *, scales: Any = None, zero_points: Any = None, dtype: Any = None,
           rule: str = "automatic", y_scale: Numbers = None, zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """Arrays one behind the other along an axis. scales, zero_points: one per array, which `rule` makes codes of y_scale and zero_point.

    >>> concat([np.array([1, 2], np.int8), np.array([3], np.int8)]).tolist()
    [1, 2, 3]
    >>> concat([np.array([10], np.int8), np.array([10], np.int8)], scales=[1, 2], zero_points=[0, 4], y_scale=4, rule="ort_f32").tolist()
    [2, 3]
    """
    words = given(locals())
    if scales is not None:
        words["scales"] = scales
    arrays = [x if isinstance(x, np.ndarray) else _octet.as_array(x, f"x{i}") for i, x in enumerate(several("xs", xs))]
    shapes = [x.shape or (1,) for x in arrays]
    if not shapes or any([len(shape) != len(shapes[0]) for shape in shapes]):
        return _octet.run("concat", arrays, {}, words)  # says what is wrong
    first, along = shapes[0], axis_of(axis, len(shapes[0]))
    sizes = (*first[:along], builtins.sum([shape[along] for shape in shapes]), *first[along + 1:])
    return _octet.run("concat", arrays, {"axis": along}, words, sizes,
                      own_type(arrays[0]) if dtype is None and rule == "none" else dtype)


_COORDINATES = ("half_pixel", "asymmetric", "align_corners", "align_corners_half_pixel")


def resize(x: Any, size: _Sizes, *, mode: str = "nearest", coordinates: str = "half_pixel", layout: str = "nchw",
           dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None,
           x_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None, zero_point: Numbers = None,
           x_multiplier: Numbers = None, x_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """Images of another size; mode "nearest" or "linear", coordinates as ONNX and TFLite call them.

    >>> resize(np.array([[[1, 2]]], np.uint8), 4, layout="ncw").tolist()
    [[[1, 1, 2, 2]]]
    """
    words = given(locals())
    if coordinates not in _COORDINATES:
        raise ValueError(f"coordinates is '{coordinates}', allowed: {', '.join(_COORDINATES)}")
    if mode not in ("nearest", "linear"):
        raise ValueError(f"mode is '{mode}', allowed: nearest, linear")
    x = _channels_first(x, layout)
    need_rank(x, "x", 3, 5)
    wanted = per_side(size, x.ndim - 2, "size")
    if min(wanted) < 1:
        raise ValueError(f"size is {min(wanted)}, allowed: 1 or more")
    sizes = x.shape[:2] + wanted
    return _as_given(_octet.run("resampling", {"x": x}, {"algorithm": mode, "coordinates": coordinates}, words, sizes, dtype), layout)


def reduce(x: Any, function: str, axis: Any = None, *, keep_dims: bool = False, p: float = 0, epsilon: float = 0,
           dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None,
           x_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None, zero_point: Numbers = None,
           x_multiplier: Numbers = None, x_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """"max", "min", "sum", "mul", "mean" or norms ("norm_lp_sum" and others, of power p) along axes, computed in float32; None: along all.

    >>> reduce(np.arange(6, dtype=np.float32).reshape(2, 3), "sum", 1).tolist()
    [3.0, 12.0]
    >>> reduce(np.array([3, 4], np.float32), "norm_lp_sum", p=2).tolist()
    5.0
    """
    words = given(locals())
    x, function = function_last(function, x)
    x = _octet.as_array(x, "x")
    shape = x.shape or (1,)
    axes = {axis_of(a, len(shape)) for a in ([] if axis is None else np.atleast_1d(axis))} or range(len(shape))
    sizes = tuple([1 if d in axes else size for d, size in enumerate(shape)])
    y = _octet.run("reduction", {"x": x}, {"algorithm": function, "p": real("p", p), "epsilon": real("epsilon", epsilon)}, words, sizes, dtype,
                   keep_order=False)
    return y.reshape(sizes if keep_dims else [size for d, size in enumerate(shape) if d not in axes])
