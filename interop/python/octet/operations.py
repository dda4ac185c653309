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

from typing import Any, Dict, Sequence, Union

import numpy as np

from . import _octet
from ._octet import Weights as Weights
from .arguments import Array as Array, Numbers, PostOps, function_last, given, padded, sums

_Sizes = Union[int, Sequence[int]]


def _channels_first(values: Any, layout: str) -> Array:
    x: Array = np.asarray(values)
    if layout.lower() in ("nchw", "nc", "ncw", "ncdhw"):
        return x
    if layout.lower() in ("nhwc", "nwc", "ndhwc"):
        return np.moveaxis(x, -1, 1)
    raise ValueError(f"layout is '{layout}', allowed: nchw, nhwc (or ncw, nwc, ncdhw, ndhwc)")


def _as_given(y: Array, layout: str) -> Array:
    return np.moveaxis(y, 1, -1) if layout.lower().endswith("c") and y.ndim > 2 else y


def _need_rank(x: Array, rank: int) -> None:
    if x.ndim != rank:
        raise ValueError(f"x has {x.ndim} dimensions, allowed: {rank}")


def _weights(w: Any, layout: str) -> Any:
    layout = layout.lower()
    if isinstance(w, Weights):
        if layout[:2] != "oi":
            raise ValueError(f"weights_layout is '{layout}', allowed for octet.Weights: oihw")
        return w
    w = np.asarray(w)
    if layout in ("oihw", "oiw", "oidhw"):
        return w
    if layout in ("ohwi", "owi", "odhwi"):
        return np.moveaxis(w, -1, 1)
    if layout in ("hwio", "wio", "dhwio"):
        return np.moveaxis(w, (-1, -2), (0, 1))
    raise ValueError(f"weights_layout is '{layout}', allowed: oihw, ohwi, hwio")


def _convolution(dims: int, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, layout: str,
                 weights_layout: str,
                 dtype: Any, words: Dict[str, Any]) -> Array:
    x = _channels_first(x, layout)
    _need_rank(x, dims + 2)
    w = _weights(w, weights_layout)
    kernel = (w.array if isinstance(w, Weights) else w).shape[2:]
    if len(kernel) == dims:
        padding = padded(padding, x.shape[2:], kernel, stride, dilation)
    y = _octet.convolution(x, w, bias, stride, padding, dilation, groups, sums(x, bias, dtype, words), words)
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
    y = _octet.deconvolution(x, _weights(w, "oihw"), bias, stride, padding, output_padding, dilation, groups,
                             sums(x, bias, dtype, words), words)
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
    rows = x.reshape(-1, x.shape[-1]) if x.ndim != 2 else x
    words = given(locals())
    y = _octet.inner_product(rows, _weights(w, "oihw"), bias, sums(x, bias, dtype, words), words)
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
    dtype = sums(x, bias, dtype, words)
    if isinstance(w, Weights):
        if np.ndim(x) != w.array.ndim:
            raise ValueError(f"x has {np.ndim(x)} dimensions, allowed with these octet.Weights: {w.array.ndim}")
        return _octet.matmul(x, w, bias, dtype, words)
    x, w = np.asarray(x), np.asarray(w)
    if x.ndim == 0 or w.ndim == 0:
        raise ValueError(f"{'x' if x.ndim == 0 else 'w'} has 0 dimensions, allowed: 1 or more")
    a, b = x[None] if x.ndim == 1 else x, w[:, None] if w.ndim == 1 else w
    rank = max(a.ndim, b.ndim)
    y = _octet.matmul(a.reshape((1,) * (rank - a.ndim) + a.shape), b.reshape((1,) * (rank - b.ndim) + b.shape), bias, dtype,
                      words)
    y = y[..., 0] if w.ndim == 1 else y
    return y if x.ndim > 1 else y[..., 0] if w.ndim == 1 else y[..., 0, :]


def quantize(x: Any, *, scale: Any, zero_point: Any = 0, dtype: Any = "int8", axis: Any = None, rule: str = "ort_f32") -> Array:
    """Codes of real numbers, clamp(round(x / scale) + zero_point); rule "ort_f32" rounds halves to even, "tflite_2step" away from zero.

    >>> quantize(np.array([0.25, -0.25, 100], np.float32), scale=0.5).tolist()
    [0, 0, 127]
    >>> quantize(np.array([0.25, -0.25], np.float32), scale=0.5, rule="tflite_2step").tolist()
    [1, -1]
    """
    words = {"rule": rule, "y_scale": scale, "y_zero_point": zero_point}
    return _octet.reorder(np.asarray(x, np.float32), dtype, axis, words)


def dequantize(x: Any, *, scale: Any, zero_point: Any = 0, axis: Any = None) -> Array:
    """scale * (x - zero_point).

    >>> dequantize(np.array([-1, 3], np.int8), scale=0.5, zero_point=1).tolist()
    [-1.0, 1.0]
    """
    return _octet.reorder(x, "float32", axis, {"rule": "ort_f32", "x_scale": scale, "x_zero_point": zero_point})


def requantize(x: Any, *, dtype: Any = "int8", axis: Any = None, rule: str = "automatic", multiplier: Numbers = None,
               shift: Numbers = None, scale: Numbers = None, x_scale: Numbers = None, y_scale: Numbers = None,
               x_zero_point: Numbers = None, zero_point: Numbers = None, x_multiplier: Numbers = None, x_shift: Numbers = None,
               post_ops: PostOps = None) -> Array:
    """Accumulators or codes as codes of another scale, by the same words as `conv2d`.

    >>> requantize(np.array([10, -10], np.int32), rule="tflite_2step", multiplier=1 << 30, shift=0).tolist()
    [5, -5]
    """
    return _octet.reorder(x, dtype, axis, given(locals()))


def _pooling(dims: int, kind: str, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, layout: str, dtype: Any,
             words: Dict[str, Any]) -> Array:
    x = _channels_first(x, layout)
    _need_rank(x, dims + 2)
    padding = padded(padding, x.shape[2:], kernel, kernel if stride is None else stride, dilation)
    return _as_given(_octet.pooling(kind, x, kernel, stride, padding, dilation, dtype, words), layout)


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
    return _octet.eltwise(function, x, alpha, beta, dtype, words)


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
    return _octet.binary(function, x, y, dtype, words)


def prelu(x: Any, w: Any, *, dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None, shift: Numbers = None,
          scale: Numbers = None, x_scale: Numbers = None, w_scale: Numbers = None, y_scale: Numbers = None,
          x_zero_point: Numbers = None, w_zero_point: Numbers = None, zero_point: Numbers = None, w_multiplier: Numbers = None,
          w_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """Parametric ReLU: x where it is positive, else x * w. One slope, a vector of one per channel (dimension 1), or an array that is
    broadcast. With the rules of TFLite w holds codes: x_scale, w_scale, y_scale and zero points, or multiplier, shift, w_multiplier, w_shift.

    >>> prelu(np.array([[-4, -4, 4]], np.float32), np.array([0.25, 0.5, 0.5], np.float32)).tolist()
    [[-1.0, -2.0, 4.0]]
    """
    return _octet.prelu(x, w, dtype, given(locals()))


def sum(xs: Sequence[Any], scales: Any = None, *, dtype: Any = None, rule: str = "automatic", zero_points: Numbers = None,
        y_scale: Numbers = None, zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """Arrays of one shape added up, each times its scale (1 by default). Rule "caffe_double_round" also takes zero_points, one per array,
    with y_scale and zero_point of the result. Along an axis: `reduce`.

    >>> sum([np.array([1, 2], np.int8), np.array([10, 100], np.int8)], [1, 0.5]).tolist()
    [6, 52]
    """
    factors = [] if scales is None else [float(s) for s in np.ravel(scales)]
    return _octet.sum(list(xs), factors, dtype, given(locals()))


def layer_norm(x: Any, scale: Any = None, shift: Any = None, *, epsilon: float = 1e-5, mean: Any = None, variance: Any = None,
               rule: str = "automatic", post_ops: PostOps = None) -> Array:
    """Layer normalization of floats: each row (last dimension) gets mean 0 and variance 1, then `scale` and `shift` of its elements.
    With `mean` and `variance`, one per row, those are used. rule "ort_f32": ONNX Runtime's to the last bit.

    >>> layer_norm(np.array([[1, 3]], np.float32), np.array([2, 2], np.float32), np.array([0, 1], np.float32), epsilon=0).tolist()
    [[-2.0, 3.0]]
    """
    x = np.asarray(x)
    y = _octet.layer_normalization(np.atleast_2d(x), scale, shift, epsilon, mean, variance, {"rule": rule, "post_ops": post_ops})
    return y.reshape(x.shape)


def batch_norm(x: Any, mean: Any, variance: Any, scale: Any = None, shift: Any = None, *, epsilon: float = 1e-5,
               relu: bool = False, layout: str = "nchw", rule: str = "automatic", post_ops: PostOps = None) -> Array:
    """Batch normalization of floats by given statistics, one per channel: (x - mean) / sqrt(variance + epsilon) * scale + shift, folded
    into one product and sum; `relu` follows it in the same operation.

    >>> batch_norm(np.array([[5, 5]], np.float32), [1, 6], [4, 1], [1, 3], [0, 1], epsilon=0, relu=True).tolist()
    [[2.0, 0.0]]
    """
    words = {"rule": rule, "post_ops": post_ops}
    y = _octet.batch_normalization(_channels_first(x, layout), mean, variance, scale, shift, epsilon, relu, words)
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
    return _octet.softmax(x, axis, log, dtype, given(locals()))


def concat(xs: Sequence[Any], axis: int = 0, *, scales: Any = None, zero_points: Any = None, dtype: Any = None,
           rule: str = "automatic", y_scale: Numbers = None, zero_point: Numbers = None, post_ops: PostOps = None) -> Array:
    """Arrays one behind the other along an axis. scales, zero_points: one per array, which `rule` makes codes of y_scale and zero_point.

    >>> concat([np.array([1, 2], np.int8), np.array([3], np.int8)]).tolist()
    [1, 2, 3]
    >>> concat([np.array([10], np.int8), np.array([10], np.int8)], scales=[1, 2], zero_points=[0, 4], y_scale=4, rule="ort_f32").tolist()
    [2, 3]
    """
    return _octet.concat(list(xs), axis, dtype, dict(given(locals()), scales=scales))


def resize(x: Any, size: _Sizes, *, mode: str = "nearest", coordinates: str = "half_pixel", layout: str = "nchw",
           dtype: Any = None, rule: str = "automatic", multiplier: Numbers = None, shift: Numbers = None, scale: Numbers = None,
           x_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Numbers = None, zero_point: Numbers = None,
           x_multiplier: Numbers = None, x_shift: Numbers = None, post_ops: PostOps = None) -> Array:
    """Images of another size; mode "nearest" or "linear", coordinates as ONNX and TFLite call them.

    >>> resize(np.array([[[1, 2]]], np.uint8), 4, layout="ncw").tolist()
    [[[1, 1, 2, 2]]]
    """
    y = _octet.resampling(mode, _channels_first(x, layout), size, coordinates, dtype, given(locals()))
    return _as_given(y, layout)


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
    axes = [] if axis is None else [int(a) for a in np.atleast_1d(axis)]
    return _octet.reduction(function, x, axes, keep_dims, p, epsilon, dtype, words)
