# SPDX-License-Identifier: Apache-2.0
"""What a network tells of its tensors and operators."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np


class Tensor(NamedTuple):
    """An input or output: real = scale * (value - zero_point) where it holds quantized values, else `scale` is None.

    `axes` has the name of each axis that the model leaves open, so that calls choose its size, and None for
    the others. In `shape` an open axis has the size in use: for the first axis 1 until another one is chosen,
    for others -1 until then. `dtype` is None for an output whose type follows from sizes that are not chosen
    yet.
    """

    name: str
    shape: Tuple[int, ...]
    dtype: Optional[np.dtype[Any]]
    scale: Optional[float]
    zero_point: Optional[int]
    axes: Tuple[Optional[str], ...] = ()

    def __repr__(self) -> str:
        axes = f", axes={self.axes}" if any(self.axes) else ""
        codes = "" if self.scale is None else f", scale={self.scale:.6g}, zero_point={self.zero_point}"
        return f"Tensor({self.name!r}, shape={self.shape}{axes}, dtype={self.dtype}{codes})"

    @property
    def _sizes(self) -> str:
        """Sizes as a text, of open axes their names."""
        return "×".join(name or str(size) for name, size in zip(self.axes, self.shape))


class Node(NamedTuple):
    """An operator as it runs: `op` lists those that were fused, `number` is that of the first in the file."""

    number: int
    op: str
    inputs: List[str]
    outputs: List[str]
    shape: Tuple[int, ...]
    implementation: str
    explanation: str
