# SPDX-License-Identifier: Apache-2.0
"""Arguments of `octet.operations`: from what Python users write to what the compiled module takes."""

from __future__ import annotations

from typing import Any, Dict, Sequence, Union

import numpy as np

Array = np.ndarray[Any, Any]
Numbers = Union[None, float, Sequence[float], Array]  # one, or one per channel
PostOps = Union[None, str, Sequence[Any]]

_WORDS = {word: word for word in (
    "rule", "multiplier", "shift", "scale", "x_scale", "x1_scale", "w_scale", "y_scale", "x_zero_point", "x1_zero_point", "w_zero_point",
    "x_multiplier", "x_shift", "x1_multiplier", "x1_shift", "w_multiplier", "w_shift", "zero_points", "post_ops")}
_WORDS["zero_point"] = "y_zero_point"


def given(arguments: Dict[str, Any]) -> Dict[str, Any]:
    """The words among a function's arguments that have a value, as the compiled module calls them."""
    return {_WORDS[name]: value for name, value in arguments.items() if name in _WORDS and value is not None}


def function_last(function: Any, *arrays: Any) -> Any:
    """(arrays…, function), also where the function's name was given first, as in oneDNN."""
    if not isinstance(arrays[0], str) or isinstance(function, str):
        return (*arrays, function)
    return (*arrays[1:], function, arrays[0])


def sums(x: Any, bias: Any, dtype: Any, words: Dict[str, Any]) -> Any:
    """dtype of a product: integers without a rule, a scale or a post-op are added up exactly, in int32."""
    is_integer = np.asarray(x).dtype.kind in "iu" and (bias is None or np.asarray(bias).dtype.kind in "iu")
    if dtype is None and is_integer and words.get("rule") == "automatic" and not set(words) - {"rule", "x_zero_point", "w_zero_point"}:
        words["rule"] = "none"
        return "int32"
    return dtype


def padded(padding: Any, sizes: Sequence[int], kernel: Any, stride: Any, dilation: Any) -> Any:
    """"same" and "valid" in numbers; with "same" a result has ceil(size / stride) positions, and the larger half of the padding is behind."""
    if not isinstance(padding, str):
        return padding
    if padding.lower() == "valid":
        return 0
    if padding.lower() != "same":
        raise ValueError(f"padding is '{padding}', allowed: \"same\", \"valid\" or numbers")
    each = [np.broadcast_to(value, len(sizes)) for value in (kernel, stride, dilation)]
    if (each[1] < 1).any():
        raise ValueError(f"stride is {each[1].min()}, allowed: 1 or more")
    totals = [max((-(-size // int(s)) - 1) * int(s) + (int(k) - 1) * int(d) + 1 - size, 0) for size, k, s, d in zip(sizes, *each)]
    return [(total // 2, total - total // 2) for total in totals]
