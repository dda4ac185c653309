# SPDX-License-Identifier: Apache-2.0
"""Layer, batch and local response normalization of floats."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _octet
from ..arguments import (Array, PostOps, as_given, channels_first, flag, floats, integer, need_rank, own_type, real,
                         text)
from .parameters import described


def _normalized(operation: str, x: Array, mean: Any, variance: Any, statistics: Tuple[int, ...], scale: Any, shift: Any,
                channels: Tuple[int, ...], epsilon: float, relu: bool, attributes: Dict[str, Any]) -> Array:
    vectors = {"mean": floats(mean, "mean", statistics), "variance": floats(variance, "variance", statistics),
               "scale": floats(scale, "scale", channels), "shift": floats(shift, "shift", channels)}
    flags = [flag for flag, is_set in (("use_global_stats", mean is not None or variance is not None),
                                       ("use_scale", scale is not None),
                                       ("use_shift", shift is not None),
                                       ("fuse_norm_relu", flag("relu", relu))) if is_set]
    return _octet.run(operation, {"x": x, **vectors},
                      {"epsilon": real("epsilon", epsilon), "flags": "+".join(flags) or "none"}, attributes,
                      x.shape,
                      own_type(x) if attributes["rule"] == "none" else None,
                      keep_order=operation == "batch_normalization")


@described
def layer_norm(x: ArrayLike, scale: Optional[ArrayLike] = None, shift: Optional[ArrayLike] = None, *,
               epsilon: float = 1e-5, mean: Optional[ArrayLike] = None, variance: Optional[ArrayLike] = None,
               rule: str = "automatic", post_ops: PostOps = None) -> Array:
    """Layer normalization: each row gets mean 0 and variance 1, then a scale and a shift for each of its elements.

    - x: rows (…, k) of float32
    - scale: factors (k)
    - shift: numbers (k) that are added
    - mean: one per row, with `variance`: these are used instead of the row's own
    - variance: one per row, with `mean`
    - rule: "ort_f32" gives ONNX Runtime's floats to the last bit

    >>> layer_norm(np.array([[1, 3]], np.float32), np.array([2, 2], np.float32), np.array([0, 1], np.float32),
    ...            epsilon=0).tolist()
    [[-2.0, 3.0]]
    """
    x = np.asarray(x)
    rows = np.atleast_2d(x)
    need_rank(rows, "x", 2, 6)
    if (mean is None) != (variance is None):
        raise TypeError("mean and variance are given one without the other")
    y = _normalized("layer_normalization", rows, mean, variance, rows.shape[:-1], scale, shift,
                    rows.shape[-1:], epsilon, False,
                    {"rule": text("rule", rule), "post_ops": post_ops})
    return y.reshape(x.shape)


@described
def batch_norm(x: ArrayLike, mean: ArrayLike, variance: ArrayLike, scale: Optional[ArrayLike] = None,
               shift: Optional[ArrayLike] = None, *, epsilon: float = 1e-5,
               relu: bool = False, layout: str = "nchw", rule: str = "automatic", post_ops: PostOps = None) -> Array:
    """Batch normalization by given statistics: (x - mean) / sqrt(variance + epsilon) * scale + shift, folded
    into one product and sum.

    - x: images (n, channels, height, width), or rows, sequences or volumes, of float32
    - mean: one per channel
    - variance: one per channel
    - scale: factors, one per channel
    - shift: numbers that are added, one per channel
    - relu: numbers below 0 become 0

    >>> batch_norm(np.array([[5, 5]], np.float32), [1, 6], [4, 1], [1, 3], [0, 1], epsilon=0, relu=True).tolist()
    [[2.0, 0.0]]
    """
    x = channels_first(x, layout)
    need_rank(x, "x", 2, 5)
    channels = x.shape[1:2]
    y = _normalized("batch_normalization", x, mean, variance, channels, scale, shift, channels, epsilon, relu,
                    {"rule": text("rule", rule), "post_ops": post_ops})
    return as_given(y, layout)


@described
def lrn(x: ArrayLike, local_size: int = 5, *, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.,
        window: str = "across_channels", layout: str = "nchw") -> Array:
    """Local response normalization: x / (k + alpha / n * the sum of squares in a window of n elements) ** beta, with
    oneDNN's bytes.

    - x: images (n, channels, height, width), or rows, sequences or volumes, of float32
    - local_size: channels of the window, or its height and width
    - alpha: the factor of the mean square
    - beta: the exponent
    - k: the number that is added
    - window: "across_channels", or "within_channel" for pixels of one channel

    >>> lrn(np.array([[3, 4]], np.float32), 3, alpha=3, beta=1, k=0).tolist()
    [[0.11999999731779099, 0.1599999964237213]]
    """
    x = channels_first(x, layout)
    need_rank(x, "x", 2, 5)
    y = _octet.run("lrn", {"x": x},
                   {"algorithm": text("window", window), "local_size": integer("local_size", local_size),
                    "alpha": real("alpha", alpha), "beta": real("beta", beta), "k": real("k", k)}, {},
                   x.shape, own_type(x))
    return as_given(y, layout)
