# SPDX-License-Identifier: Apache-2.0
"""Operations on elements, rows and lists of arrays."""

from __future__ import annotations

import builtins
from typing import Optional, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import _octet
from ..arguments import (Array, Integers, Numbers, PostOps, axis_of, flag, function_last, integer, keywords,
                         own_type, real, several)
from .parameters import described


@described
def eltwise(x: ArrayLike, function: str, *, alpha: float = 0, beta: float = 0, dtype: DTypeLike = None,
            rule: str = "automatic", multiplier: Integers = None, shift: Integers = None,
            scale: Numbers = None, x_scale: Numbers = None, y_scale: Numbers = None,
            x_zero_point: Integers = None, zero_point: Integers = None, x_multiplier: Integers = None,
            x_shift: Integers = None, post_ops: PostOps = None) -> Array:
    """A function of single elements.

    - x: any shape; int8, uint8, int32 or float32
    - function: "relu", "tanh", "logistic", "gelu_erf", "hardswish", "clip", "linear", … (doc/eltwise.md)
    - alpha: first parameter of the function, as the slope below 0 of "relu" or the lower bound of "clip"
    - beta: second parameter of the function, as the upper bound of "clip"

    >>> eltwise(np.array([-4, 4], np.int8), "relu", alpha=0.5).tolist()
    [-2, 4]
    """
    attributes = keywords(locals())
    x, function = function_last(function, x)
    return _octet.run("eltwise", {"x": x},
                      {"algorithm": function, "alpha": real("alpha", alpha), "beta": real("beta", beta)},
                      attributes, None, dtype)


@described
def binary(x: ArrayLike, y: ArrayLike, function: str, *, dtype: DTypeLike = None, rule: str = "automatic",
           multiplier: Integers = None, shift: Integers = None, scale: Numbers = None,
           x_scale: Numbers = None, x1_scale: Numbers = None, y_scale: Numbers = None,
           x_zero_point: Integers = None, x1_zero_point: Integers = None, zero_point: Integers = None,
           x_multiplier: Integers = None, x_shift: Integers = None, x1_multiplier: Integers = None,
           x1_shift: Integers = None, post_ops: PostOps = None) -> Array:
    """A function of two arrays, element by element.

    - x: any shape; int8, uint8, int32 or float32
    - function: "add", "sub", "mul", "div", "max", "min", "ge", "gt", "le", "lt", "eq" or "ne"

    >>> binary(np.array([1, 2], np.int8), np.array([10], np.int8), "add").tolist()
    [11, 12]
    """
    attributes = keywords(locals())
    x, y, function = function_last(function, x, y)
    return _octet.run("binary", {"x": x, "y": y}, {"algorithm": function}, attributes, None, dtype)


@described
def prelu(x: ArrayLike, w: ArrayLike, *, dtype: DTypeLike = None, rule: str = "automatic",
          multiplier: Integers = None, shift: Integers = None, scale: Numbers = None, x_scale: Numbers = None,
          w_scale: Numbers = None, y_scale: Numbers = None, x_zero_point: Integers = None,
          w_zero_point: Integers = None, zero_point: Integers = None, w_multiplier: Integers = None,
          w_shift: Integers = None, post_ops: PostOps = None) -> Array:
    """Parametric ReLU: x where it is positive, else x * w. With the rules of TFLite w holds quantized values,
    and either x_scale, w_scale, y_scale and zero points or multiplier, shift, w_multiplier and w_shift are
    needed.

    - x: any shape; int8, uint8, int32 or float32
    - w: one slope, a vector of one per channel (dimension 1), or an array that is broadcast

    >>> prelu(np.array([[-4, -4, 4]], np.float32), np.array([0.25, 0.5, 0.5], np.float32)).tolist()
    [[-1.0, -2.0, 4.0]]
    """
    attributes = keywords(locals())
    x, w = _octet.as_array(x, "x"), _octet.as_array(w, "w")
    if w.ndim > max(x.ndim, 1):
        raise ValueError(f"w has {w.ndim} dimensions, allowed: up to {max(x.ndim, 1)}")
    if w.ndim == 1 and w.size > 1 and x.ndim > 1:
        w = w.reshape((1, -1) + (1,) * (x.ndim - 2))
    return _octet.run("prelu", {"x": x, "w": w}, {}, attributes, None, dtype)


@described
def sum(xs: Sequence[ArrayLike], scales: Optional[Sequence[float]] = None, *, dtype: DTypeLike = None,
        rule: str = "automatic", zero_points: Integers = None, y_scale: Numbers = None,
        zero_point: Integers = None, post_ops: PostOps = None) -> Array:
    """Arrays of one shape added up, each times its factor. Along an axis: `octet.reduce`.

    - xs: the inputs, 1 to 1024 arrays of one shape
    - scales: factors of the inputs, one per array; None: 1
    - zero_points: with rule "caffe_double_round" zero points of the inputs, one per array

    >>> sum([np.array([1, 2], np.int8), np.array([10, 100], np.int8)], [1, 0.5]).tolist()
    [6, 52]
    """
    factors = {} if scales is None else {"factors": tuple([real("scales", s) for s in np.ravel(scales)])}
    return _octet.run("sum", several("xs", xs), factors, keywords(locals()), None, dtype)


@described
def concat(xs: Sequence[ArrayLike], axis: int = 0, *, scales: Optional[Sequence[float]] = None,
           zero_points: Integers = None, dtype: DTypeLike = None, rule: str = "automatic",
           y_scale: Numbers = None, zero_point: Integers = None, post_ops: PostOps = None) -> Array:
    """Arrays one behind the other along an axis.

    - scales: scales of the inputs, one per array, from which `rule` makes values of y_scale and zero_point;
      None: values are copied

    >>> concat([np.array([1, 2], np.int8), np.array([3], np.int8)]).tolist()
    [1, 2, 3]
    >>> concat([np.array([10], np.int8), np.array([10], np.int8)], scales=[1, 2], zero_points=[0, 4],
    ...        y_scale=4, rule="ort_f32").tolist()
    [2, 3]
    """
    attributes = keywords(locals())
    if scales is not None:
        attributes["scales"] = scales
    arrays = [x if isinstance(x, np.ndarray) else _octet.as_array(x, f"x{i}") for i, x in enumerate(several("xs", xs))]
    shapes = [x.shape or (1,) for x in arrays]
    if not shapes or any([len(shape) != len(shapes[0]) for shape in shapes]):
        return _octet.run("concat", arrays, {}, attributes)  # says what is wrong
    first, along = shapes[0], axis_of(axis, len(shapes[0]))
    sizes = (*first[:along], builtins.sum([shape[along] for shape in shapes]), *first[along + 1:])
    return _octet.run("concat", arrays, {"axis": along}, attributes, sizes,
                      own_type(arrays[0]) if dtype is None and rule == "none" else dtype)


@described
def reduce(x: ArrayLike, function: str, axis: Union[None, int, Sequence[int]] = None, *,
           keep_dims: bool = False, p: float = 0, epsilon: float = 0, dtype: DTypeLike = None,
           rule: str = "automatic", multiplier: Integers = None, shift: Integers = None,
           scale: Numbers = None, x_scale: Numbers = None, y_scale: Numbers = None,
           x_zero_point: Integers = None, zero_point: Integers = None, x_multiplier: Integers = None,
           x_shift: Integers = None, post_ops: PostOps = None) -> Array:
    """One number for all elements along axes, computed in float32.

    - x: any shape; int8, uint8, int32 or float32
    - function: "max", "min", "sum", "mul", "mean", or a norm: "norm_lp_max", "norm_lp_sum",
      "norm_lp_power_p_max", "norm_lp_power_p_sum"
    - axis: a dimension or several; None: all
    - keep_dims: the result has dimensions of 1 there
    - p: power of a norm, 1 or more
    - epsilon: lower bound of a norm's sum, or what is added to it

    >>> reduce(np.arange(6, dtype=np.float32).reshape(2, 3), "sum", 1).tolist()
    [3.0, 12.0]
    >>> reduce(np.array([3, 4], np.float32), "norm_lp_sum", p=2).tolist()
    5.0
    """
    attributes = keywords(locals())
    x, function = function_last(function, x)
    x = _octet.as_array(x, "x")
    shape = x.shape or (1,)
    axes = set(range(len(shape))) if axis is None else {axis_of(a, len(shape)) for a in np.atleast_1d(axis)}
    if not axes:
        raise ValueError(f"axis is {axis!r}, allowed: None for all, a dimension or several")
    sizes = tuple([1 if d in axes else size for d, size in enumerate(shape)])
    y = _octet.run("reduction", {"x": x},
                   {"algorithm": function, "p": real("p", p), "epsilon": real("epsilon", epsilon)},
                   attributes, sizes, dtype,
                   keep_order=False)
    return y.reshape(sizes if flag("keep_dims", keep_dims) else [size for d, size in enumerate(shape) if d not in axes])


@described
def softmax(x: ArrayLike, axis: int = -1, *, log: bool = False, dtype: DTypeLike = None,
            rule: str = "automatic", multiplier: Integers = None, shift: Integers = None,
            scale: Numbers = None, x_scale: Numbers = None, y_scale: Numbers = None,
            x_zero_point: Integers = None, zero_point: Integers = None, x_multiplier: Integers = None,
            x_shift: Integers = None, post_ops: PostOps = None) -> Array:
    """Softmax along an axis, or its logarithm. Quantized values need the scales of their framework: with
    "ort_f32" x_scale, y_scale and zero_point, with "tflite_2step" x_multiplier and x_shift.

    - x: any shape; int8, uint8, int32 or float32
    - log: the logarithm instead

    >>> softmax(np.array([1, 1], np.float32)).tolist()
    [0.5, 0.5]
    """
    return _octet.run("softmax", {"x": x}, {"algorithm": "log" if flag("log", log) else "accurate",
                                            "axis": integer("axis", axis, 32)}, keywords(locals()), None,
                      dtype)


@described
def log_softmax(x: ArrayLike, axis: int = -1, *, scale: Numbers = None, dtype: DTypeLike = None) -> Array:
    """The logarithm of softmax along an axis, with oneDNN's bytes; `softmax` with `log` has those of its rule.

    - x: any shape; int8, uint8 or float32
    - scale: a factor of the result

    >>> log_softmax(np.array([1, 1], np.float32)).tolist()
    [-0.693145751953125, -0.693145751953125]
    """
    return _octet.run("logsoftmax", {"x": x}, {"axis": integer("axis", axis, 32)}, keywords(locals()), None, dtype)


@described
def shuffle(x: ArrayLike, group_size: int, axis: int = 1) -> Array:
    """Channel shuffle: the axis, seen as a matrix with rows of `group_size` elements, is transposed.

    - x: any shape of up to five dimensions
    - group_size: elements of a group, which divide the axis

    >>> shuffle(np.array([[1, 2, 3, 4, 5, 6]], np.int8), 2).tolist()
    [[1, 3, 5, 2, 4, 6]]
    """
    x = _octet.as_array(x, "x")
    return _octet.run("shuffle", {"x": x}, {"axis": integer("axis", axis, 32),
                                            "group_size": integer("group_size", group_size, 32)}, {}, x.shape,
                      own_type(x))
