"""Single operations on arrays, under any framework's arithmetic.

Words that all of them share:

- dtype: of the result; by default the input's, or int32 with rule "none".
- rule: how accumulators become codes (`octet.rules()`), e.g. "tflite_2step", "ort_f32"; "automatic": f32 scales.
- multiplier, shift: fixed-point factors of the rule, one or one per output channel.
- scale: the same as real numbers; a fixed-point rule derives its multipliers from them, as its framework does.
- x_scale, w_scale, y_scale: scales of input, weights and result instead; the factor x_scale * w_scale / y_scale is derived as the
  rule's framework derives it.
- x_zero_point, w_zero_point, zero_point: of input, weights and result.
- post_ops: a list of what follows before the result is stored: "relu", ("clip", low, high), ("tanh", alpha, beta, scale),
  ("add", array), ("add", number), ("prelu", weights), ("table", 256 codes).

Weights may be `octet.Weights(w)`, which are packed once. Arrays may have any strides; layout="nhwc" says that an image's channels come last.
"""

from __future__ import annotations

from typing import Any, Dict, Sequence, Union

import numpy as np

from . import _octet
from ._octet import Weights as Weights

Array = np.ndarray[Any, Any]
_Sizes = Union[int, Sequence[int]]


def _options(words: Dict[str, Any]) -> Dict[str, Any]:
    if "zero_point" in words:
        words["y_zero_point"] = words.pop("zero_point")
    return words


def _channels_first(values: Any, layout: str) -> Array:
    x: Array = np.asarray(values)
    if layout.lower() in ("nchw", "nc", "ncw", "ncdhw"):
        return x
    if layout.lower() in ("nhwc", "nwc", "ndhwc"):
        return np.moveaxis(x, -1, 1)
    raise ValueError(f"layout is '{layout}', allowed: nchw, nhwc (or ncw, nwc, ncdhw, ndhwc)")


def _as_given(y: Array, layout: str) -> Array:
    return np.moveaxis(y, 1, -1) if layout.lower().endswith("c") and y.ndim > 2 else y


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
    if x.ndim != dims + 2:
        raise ValueError(f"x has {x.ndim} dimensions, allowed: {dims + 2}")
    y = _octet.convolution(x, _weights(w, weights_layout), bias, stride, padding, dilation, groups, dtype, _options(words))
    return _as_given(y, layout)


def conv2d(x: Any, w: Any, bias: Any = None, *, stride: _Sizes = 1, padding: Any = 0, dilation: _Sizes = 1, groups: int = 1,
           layout: str = "nchw",
           weights_layout: str = "oihw", dtype: Any = None, **words: Any) -> Array:
    """Convolution of images; `padding` is one number, one per side or ((top, bottom), (left, right)).

    >>> x = np.arange(8, dtype=np.int8).reshape(1, 2, 2, 2)
    >>> w = np.ones((1, 2, 1, 1), np.int8)
    >>> conv2d(x, w, rule="none")[0, 0].tolist()
    [[4, 6], [8, 10]]
    >>> conv2d(x, w, rule="tflite_2step", multiplier=1 << 30, shift=0, zero_point=-3)[0, 0].tolist()
    [[-1, 0], [1, 2]]
    """
    return _convolution(2, x, w, bias, stride, padding, dilation, groups, layout, weights_layout, dtype, words)


def conv1d(x: Any, w: Any, bias: Any = None, *, stride: _Sizes = 1, padding: Any = 0, dilation: _Sizes = 1, groups: int = 1,
           layout: str = "ncw",
           weights_layout: str = "oiw", dtype: Any = None, **words: Any) -> Array:
    """`conv2d` of sequences."""
    return _convolution(1, x, w, bias, stride, padding, dilation, groups, layout, weights_layout, dtype, words)


def conv3d(x: Any, w: Any, bias: Any = None, *, stride: _Sizes = 1, padding: Any = 0, dilation: _Sizes = 1, groups: int = 1,
           layout: str = "ncdhw",
           weights_layout: str = "oidhw", dtype: Any = None, **words: Any) -> Array:
    """`conv2d` of volumes."""
    return _convolution(3, x, w, bias, stride, padding, dilation, groups, layout, weights_layout, dtype, words)


def conv_transpose2d(x: Any, w: Any, bias: Any = None, *, stride: _Sizes = 1, padding: Any = 0, output_padding: _Sizes = 0,
                     dilation: _Sizes = 1,
                     groups: int = 1, layout: str = "nchw", dtype: Any = None, **words: Any) -> Array:
    """Transposed convolution; weights are (input channels, output channels / groups, height, width)."""
    y = _octet.deconvolution(_channels_first(x, layout), _weights(w, "oihw"), bias, stride, padding, output_padding, dilation,
                             groups, dtype, _options(words))
    return _as_given(y, layout)


def linear(x: Any, w: Any, bias: Any = None, *, dtype: Any = None, **words: Any) -> Array:
    """Fully connected layer: x (…, k) times weights (n, k), transposed.

    >>> linear(np.array([[1, 2, 3]], np.uint8), np.array([[1, -1, 2]], np.int8), rule="none").tolist()
    [[5]]
    """
    x = np.asarray(x)
    rows = x.reshape(-1, x.shape[-1]) if x.ndim != 2 else x
    y = _octet.inner_product(rows, _weights(w, "oihw"), bias, dtype, _options(words))
    return y if x.ndim == 2 else y.reshape(x.shape[:-1] + y.shape[-1:])


def matmul(x: Any, w: Any, bias: Any = None, *, dtype: Any = None, **words: Any) -> Array:
    """Matrix product, batched and broadcast as NumPy's.

    >>> matmul(np.array([[1, 2]], np.int8), np.array([[3], [4]], np.int8), rule="none").tolist()
    [[11]]
    """
    x, w = np.asarray(x), np.asarray(w)
    rank = max(x.ndim, w.ndim, 2)
    x = x.reshape((1,) * (rank - x.ndim) + x.shape)
    w = w.reshape((1,) * (rank - w.ndim) + w.shape)
    return _octet.matmul(x, w, bias, dtype, _options(words))


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


def requantize(x: Any, *, dtype: Any = "int8", axis: Any = None, **words: Any) -> Array:
    """Accumulators or codes as codes of another scale, by the same words as `conv2d`.

    >>> requantize(np.array([10, -10], np.int32), rule="tflite_2step", multiplier=1 << 30, shift=0).tolist()
    [5, -5]
    """
    return _octet.reorder(x, dtype, axis, _options(words))


def _pooling(kind: str, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, layout: str, dtype: Any, words: Dict[str,
             Any]) -> Array:
    y = _octet.pooling(kind, _channels_first(x, layout), kernel, stride, padding, dilation, dtype, _options(words))
    return _as_given(y, layout)


def max_pool2d(x: Any, kernel: _Sizes, *, stride: Any = None, padding: Any = 0, dilation: _Sizes = 1, layout: str = "nchw",
               dtype: Any = None,
               **words: Any) -> Array:
    """Largest element of each window; `stride` is the kernel by default."""
    return _pooling("max", x, kernel, stride, padding, dilation, layout, dtype, words)


def avg_pool2d(x: Any, kernel: _Sizes, *, stride: Any = None, padding: Any = 0, include_padding: bool = False,
               layout: str = "nchw", dtype: Any = None,
               **words: Any) -> Array:
    """Average of each window, rounded as the rule says."""
    kind = "avg_include_padding" if include_padding else "avg_exclude_padding"
    return _pooling(kind, x, kernel, stride, padding, 1, layout, dtype, words)


def eltwise(function: str, x: Any, *, alpha: float = 0, beta: float = 0, dtype: Any = None, **words: Any) -> Array:
    """A function of single elements: "relu", "tanh", "logistic", "gelu_erf", "hardswish", "clip", "linear", …"""
    return _octet.eltwise(function, x, alpha, beta, dtype, _options(words))


def binary(function: str, x: Any, y: Any, *, dtype: Any = None, **words: Any) -> Array:
    """Two arrays element by element: "add", "sub", "mul", "div", "max", "min", "ge", …; scales of y are x1_scale, x1_zero_point.

    >>> binary("add", np.array([1, 2], np.int8), np.array([10], np.int8)).tolist()
    [11, 12]
    """
    return _octet.binary(function, x, y, dtype, _options(words))


def softmax(x: Any, axis: int = -1, *, log: bool = False, dtype: Any = None, **words: Any) -> Array:
    """Softmax along an axis; with codes by the rule's framework (x_scale, y_scale, zero_point)."""
    return _octet.softmax(x, axis, log, dtype, _options(words))


def concat(xs: Sequence[Any], axis: int = 0, **words: Any) -> Array:
    """Arrays one behind the other along an axis."""
    return _octet.concat(list(xs), axis, _options(words))


def resize(x: Any, size: _Sizes, *, mode: str = "nearest", coordinates: str = "half_pixel", layout: str = "nchw", dtype: Any = None,
           **words: Any) -> Array:
    """Images of another size; mode "nearest" or "linear", coordinates as ONNX and TFLite call them."""
    y = _octet.resampling(mode, _channels_first(x, layout), size, coordinates, dtype, _options(words))
    return _as_given(y, layout)


def reduce(function: str, x: Any, axis: Any = None, *, keep_dims: bool = False, **words: Any) -> Array:
    """"max", "min", "sum", "mul" or "mean" along axes, in float32; None: along all."""
    axes = [] if axis is None else [int(a) for a in np.atleast_1d(axis)]
    return _octet.reduction(function, x, axes, keep_dims, _options(words))
