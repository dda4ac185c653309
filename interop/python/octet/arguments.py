# SPDX-License-Identifier: Apache-2.0
"""Arguments of `octet.operations`: from what Python users write to what the compiled module takes."""

from __future__ import annotations

from operator import index
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _octet

Array = np.ndarray[Any, Any]
Sizes = Union[int, Sequence[int]]  # one, or one per side
Padding = Union[str, int, Sequence[int], Sequence[Sequence[int]]]
Numbers = Union[None, float, np.floating[Any], np.integer[Any], Sequence[float], Array]  # one, or one per channel
Integers = Union[None, int, np.integer[Any], Sequence[int], Array]
PostOps = Union[None, str, Sequence[Union[str, Sequence[Any]]]]

_ATTRIBUTES = {name: name for name in (
    "rule", "multiplier", "shift", "scale", "x_scale", "x1_scale", "w_scale", "y_scale", "x_zero_point",
    "x1_zero_point", "w_zero_point",
    "quantize", "quantizer", "symmetric", "codes", "combination", "group", "w_type",
    "x_multiplier", "x_shift", "x1_multiplier", "x1_shift", "w_multiplier", "w_shift", "zero_points",
    "post_ops")}
_ATTRIBUTES["zero_point"] = "y_zero_point"


class Weights(_octet.Weights):
    """Weights that are packed once, for the operations that they are given to again and again.

    - w: the weights, which are not copied; their numbers must not change afterwards.

    >>> w = Weights(np.ones((1, 2), np.int8))
    >>> w
    octet.Weights(shape=(1, 2), dtype=int8)
    """

    def __init__(self, w: ArrayLike) -> None:
        super().__init__(w)


WeightsLike = Union[ArrayLike, Weights]


def keywords(arguments: Dict[str, Any]) -> Dict[str, Any]:
    """The attributes among a function's arguments that have a value, as the compiled module calls them."""
    if "rule" in arguments:
        text("rule", arguments["rule"])
    return {_ATTRIBUTES[name]: value for name, value in arguments.items() if value is not None and name in _ATTRIBUTES}


def integer(who: str, value: Any, bits: int = 64) -> int:
    """The integer that an argument of this name is."""
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{who} is {value!r}, allowed: an integer") from None
    if not -1 << bits - 1 <= number < 1 << bits - 1:
        raise ValueError(f"{who} is {number}, allowed: an integer of {bits} bits")
    return number


def text(who: str, value: Any) -> str:
    """The name that an argument of this name is."""
    if not isinstance(value, str):
        raise TypeError(f"{who} is {value!r}, allowed: a name")
    return value


def real(who: str, value: Any) -> float:
    """The number that an argument of this name is."""
    number: Any = None if isinstance(value, (str, bytes)) else value  # which float would read
    try:
        return float(number)
    except (TypeError, ValueError):
        raise TypeError(f"{who} is {value!r}, allowed: a number") from None
    except OverflowError:
        raise ValueError(f"{who} is an integer of {value.bit_length()} bits, allowed: up to 1024") from None


def flag(who: str, value: Any) -> bool:
    """The truth value that an argument of this name is."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{who} is {value!r}, allowed: True or False")
    return bool(value)


def several(who: str, values: Any, what: str = "arrays") -> List[Any]:
    """What an argument of this name lists."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{who} is {values!r}, allowed: a list of {what}")
    return list(values)


def function_last(function: Any, *arrays: Any) -> Any:
    """(arrays…, function), also where the function's name was given first, as in oneDNN."""
    if not isinstance(arrays[0], str) or isinstance(function, str):
        return (*arrays, text("function", function))
    return (*arrays[1:], function, arrays[0])


def sums(x: Any, bias: Any, dtype: Any, attributes: Dict[str, Any]) -> Any:
    """dtype of a product: integers without a rule, a scale or a post-op are added up exactly, in int32."""
    if (dtype is not None or attributes.get("rule") != "automatic" or set(attributes)
        - {"rule", "x_zero_point", "w_zero_point"}):
        return dtype
    if np.asarray(x).dtype.kind not in "iu" or (bias is not None and np.asarray(bias).dtype.kind not in "iu"):
        return dtype
    attributes["rule"] = "none"
    return "int32"


def own_type(x: Array) -> Any:
    """dtype of results that have their input's: float64 is computed as float32."""
    return np.float32 if x.dtype == np.float64 else x.dtype


def channels_first(values: Any, layout: str) -> Array:
    """An image with its channels in dimension 1, where a layout says that they are there or last."""
    x: Array = np.asarray(values)
    if text("layout", layout).lower() in ("nchw", "nc", "ncw", "ncdhw"):
        return x
    if layout.lower() in ("nhwc", "nwc", "ndhwc"):
        return np.moveaxis(x, -1, 1) if x.ndim > 1 else x
    raise ValueError(f"layout is '{layout}', allowed: nchw, nhwc (or ncw, nwc, ncdhw, ndhwc)")


def as_given(y: Array, layout: str) -> Array:
    """A result with its channels in dimension 1 as the layout has it."""
    return np.moveaxis(y, 1, -1) if layout.lower().endswith("c") and y.ndim > 2 else y


def need_rank(x: Array, who: str, lowest: int, highest: int) -> None:
    """Raises ValueError unless `who`, an argument, has from `lowest` to `highest` dimensions."""
    if not lowest <= x.ndim <= highest:
        allowed = highest if lowest == highest else f"{lowest} to {highest}"
        raise ValueError(f"{who} has {x.ndim} dimensions, allowed: {allowed}")


def need_shape(x: Array, who: str, shape: Tuple[int, ...]) -> None:
    """Raises ValueError unless `who`, an argument, has this shape."""
    if x.shape != shape:
        raise ValueError(f"{who} has shape {x.shape}, allowed: {shape}")


def axis_of(axis: int, rank: int) -> int:
    """A dimension counted from either end, from 0 on."""
    axis = integer("axis", axis)
    if not -rank <= axis < rank:
        raise ValueError(f"axis is {axis}, allowed: {-rank} to {rank - 1}")
    return axis % rank


def per_side(value: Any, sides: int, who: str) -> Tuple[int, ...]:
    """One integer, or one per side, as one per side."""
    try:
        values: Tuple[int, ...] = (index(value),) * sides
    except TypeError:
        values = _each(value, who)
        if len(values) == 1:
            values = values * sides
        if len(values) != sides:
            raise ValueError(f"{who} has {len(values)} values, allowed: 1 or {sides}") from None
    if max(values) > 1 << 30 or min(values) < -1 << 30:
        raise ValueError(f"{who} is {value}, allowed: integers up to {1 << 30}")
    return values


def _each(values: Any, who: str) -> Tuple[int, ...]:
    given: Any = None if isinstance(values, bytes) else values  # bytes are integers, too
    try:
        return tuple([index(each) for each in given])
    except TypeError:
        raise TypeError(f"{who} is {values!r}, allowed: an integer, or one per side") from None


def padding_of(padding: Any, sides: int) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    """What is before and what is behind each side: from one value, one per side, or (before, after) per side."""
    if isinstance(padding, (tuple, list)) and len(padding) == sides and isinstance(padding[0], (tuple, list)):
        both = [per_side(side, 2, "padding of a side") for side in padding]
        return tuple([before for before, _ in both]), tuple([after for _, after in both])
    same = per_side(padding, sides, "padding")
    return same, same


def need_window(kernel: int, dilation: int, stride: int) -> None:
    """Raises ValueError for a window that has no elements or does not move."""
    if kernel < 1 or stride < 1 or dilation < 1:
        who, value = next(pair for pair in (("kernel", kernel), ("stride", stride), ("dilation", dilation))
                          if pair[1] < 1)
        raise ValueError(f"{who} is {value}, allowed: 1 or more")


def positions(size: int, padding: int, kernel: int, dilation: int, stride: int) -> int:
    """Windows along a side."""
    need_window(kernel, dilation, stride)
    extent = (kernel - 1) * dilation + 1
    if size + padding < extent:
        raise ValueError(f"x has {size} elements and a padding of {padding} along a side, allowed: at least "
                         f"the {extent} of a window")
    return (size + padding - extent) // stride + 1


def floats(values: Any, who: str, shape: Tuple[int, ...]) -> Optional[Array]:
    """Values of a normalization, in float32; None where there are none."""
    if values is None:
        return None
    given = _octet.as_floats(values, who)
    need_shape(given, who, shape)
    return given


def padded(padding: Any, sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int],
           dilation: Sequence[int]) -> Any:
    """"same" and "valid" in numbers; with "same" a result has ceil(size / stride) positions, and the larger
    half of the padding is behind."""
    if not isinstance(padding, str):
        return padding
    if padding.lower() == "valid":
        return 0
    if padding.lower() != "same":
        raise ValueError(f"padding is '{padding}', allowed: \"same\", \"valid\" or numbers")
    if min(stride) < 1:
        raise ValueError(f"stride is {min(stride)}, allowed: 1 or more")
    totals = [max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0) for size, k, s,
              d in zip(sizes, kernel, stride, dilation)]
    return [(total // 2, total - total // 2) for total in totals]
