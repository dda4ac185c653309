# SPDX-License-Identifier: Apache-2.0
"""torch.ops.octet: operations on tensors of codes, for those who build their own modules.

    y = torch.ops.octet.conv2d(x, w, None, [1, 1], [0, 0], [1, 1], 1, torch.tensor([0.01]), 3, 5, "ort_f32")

Codes are plain uint8 or int8 tensors; scales and zero points are arguments, and results have the dtype of the
first tensor (int32 with rule "none") unless they name one. Every operation also says what its result looks
like without computing it (tensors of the "meta" device, fake tensors), and checks shapes then as it does when
it computes.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence

import torch
from torch import Tensor

from .. import operations
from ..operations import Array

_library = torch.library.Library("octet", "DEF")
_FACTOR = "Tensor scale, int x_zero_point=0, int zero_point=0, str rule='ort_f32'"


def define(schema: str, compute: Callable[..., Any], shape: Callable[..., Tensor]) -> None:
    """An operation: `compute` on arrays, `shape` on tensors without contents."""
    name = schema.split("(")[0]

    def run(*args: Any, **keywords: Any) -> Tensor:
        shape(*args, **keywords)  # the same errors for tensors with and without contents
        return torch.from_numpy(compute(*map(_numpy, args), **{k: _numpy(v) for k, v in keywords.items()}))

    _library.define(schema + " -> Tensor")
    _library.impl(name, run, "CPU")
    for key in ("Meta", "AutogradMeta"):  # PyTorch 1.13 does not pass from the second to the first
        _library.impl(name, shape, key)


def _numpy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().numpy()
    return ([_numpy(v) for v in value] if isinstance(value, (list, tuple)) and value
            and isinstance(value[0], Tensor) else value)


def like(x: Tensor, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Without contents, with the channels last where x has them."""
    if x.dim() > 2 and x.shape[1] > 1 and x.stride(1) == 1 and len(shape) > 2:
        return torch.empty([shape[0], *shape[2:], shape[1]], dtype=dtype, device="meta").movedim(-1, 1)
    return torch.empty(list(shape), dtype=dtype, device="meta")


def _dtype(x: Tensor, rule: str) -> torch.dtype:
    return torch.int32 if rule == "none" else x.dtype


def need(what: str, given: Any, allowed: Any) -> None:
    if given != allowed:
        raise ValueError(f"{what} are {given}, allowed: {allowed}")


def per_side(values: Sequence[int], sides: int) -> List[int]:
    return list(values) * sides if len(values) == 1 else list(values)


def positions(size: int, padding: int, kernel: int, dilation: int, stride: int) -> int:
    extent = (kernel - 1) * dilation + 1
    if stride < 1:
        raise ValueError(f"stride is {stride}, allowed: 1 or more")
    if size + 2 * padding < extent:
        raise ValueError(f"x has {size} elements and a padding of {2 * padding} along a side, allowed: at "
                         f"least the {extent} of a window")
    return (size + 2 * padding - extent) // stride + 1


def _convolution(sides: int) -> None:
    function: Any = getattr(operations, f"conv{sides}d")

    def compute(x: Array, w: Array, bias: Optional[Array], stride: Any, padding: Any, dilation: Any,
                groups: int, scale: Array, x_zero_point: int = 0, zero_point: int = 0,
                rule: str = "ort_f32") -> Any:
        return function(x, w, bias, stride=stride, padding=padding, dilation=dilation, groups=groups, rule=rule,
                        scale=None if rule == "none" else scale, x_zero_point=x_zero_point, zero_point=zero_point)

    def shape(x: Tensor, w: Tensor, bias: Optional[Tensor], stride: Any, padding: Any, dilation: Any,
              groups: int, scale: Tensor, x_zero_point: int = 0, zero_point: int = 0,
              rule: str = "ort_f32") -> Tensor:
        need("x: its dimensions", x.dim(), sides + 2)
        need("w: its dimensions", w.dim(), sides + 2)
        need("x: its channels", x.shape[1], w.shape[1] * groups)
        places = [positions(*each) for each in zip(x.shape[2:], per_side(padding, sides), w.shape[2:],
                                                   per_side(dilation, sides),
                                                    per_side(stride, sides))]
        return like(x, [x.shape[0], w.shape[0], *places], _dtype(x, rule))

    define(f"conv{sides}d(Tensor x, Tensor w, Tensor? bias, int[{sides}] stride, int[{sides}] padding, "
           f"int[{sides}] dilation, int groups, {_FACTOR})", compute, shape)


def _transposed(sides: int) -> None:
    function: Any = getattr(operations, f"conv_transpose{sides}d")

    def compute(x: Array, w: Array, bias: Optional[Array], stride: Any, padding: Any, output_padding: Any,
                groups: int, dilation: Any, scale: Array, x_zero_point: int = 0, zero_point: int = 0,
                rule: str = "ort_f32") -> Any:
        return function(x, w, bias, stride=stride, padding=padding, output_padding=output_padding,
                        dilation=dilation, groups=groups, rule=rule, scale=None if rule == "none" else scale,
                        x_zero_point=x_zero_point, zero_point=zero_point)

    def shape(x: Tensor, w: Tensor, bias: Optional[Tensor], stride: Any, padding: Any, output_padding: Any,
              groups: int, dilation: Any, scale: Tensor, x_zero_point: int = 0, zero_point: int = 0,
              rule: str = "ort_f32") -> Tensor:
        need("x: its dimensions", x.dim(), sides + 2)
        need("w: its dimensions", w.dim(), sides + 2)
        need("x: its channels", x.shape[1], w.shape[0])
        each = zip(x.shape[2:], w.shape[2:], *(per_side(v, sides) for v in (stride, padding, output_padding, dilation)))
        places = [(n - 1) * s - 2 * p + (k - 1) * d + 1 + more for n, k, s, p, more, d in each]
        return like(x, [x.shape[0], w.shape[1] * groups, *places], _dtype(x, rule))

    define(f"conv_transpose{sides}d(Tensor x, Tensor w, Tensor? bias, int[{sides}] stride, int[{sides}] "
           f"padding, int[{sides}] output_padding, int groups, int[{sides}] dilation, {_FACTOR})", compute,
           shape)


def _linear(x: Array, w: Array, bias: Optional[Array], scale: Array, x_zero_point: int = 0,
            zero_point: int = 0, rule: str = "ort_f32") -> Any:
    return operations.linear(x, w, bias, rule=rule, scale=None if rule == "none" else scale,
                             x_zero_point=x_zero_point, zero_point=zero_point)


def _linear_shape(x: Tensor, w: Tensor, bias: Optional[Tensor], scale: Tensor, x_zero_point: int = 0,
                  zero_point: int = 0, rule: str = "ort_f32") -> Tensor:
    need("w: its dimensions", w.dim(), 2)
    need("x: the elements of a row", x.shape[-1] if x.dim() else 0, w.shape[1])
    return torch.empty([*x.shape[:-1], w.shape[0]], dtype=_dtype(x, rule), device="meta")


def _matmul(x: Array, y: Array, scale: Array, x_zero_point: int = 0, y_zero_point: int = 0,
            zero_point: int = 0, rule: str = "ort_f32") -> Any:
    return operations.matmul(x, y, rule=rule, scale=None if rule == "none" else scale,
                             x_zero_point=x_zero_point, w_zero_point=y_zero_point, zero_point=zero_point)


def _matmul_shape(x: Tensor, y: Tensor, scale: Tensor, x_zero_point: int = 0, y_zero_point: int = 0,
                  zero_point: int = 0, rule: str = "ort_f32") -> Tensor:
    if x.dim() < 2 or y.dim() < 2:
        raise ValueError(f"x and y have {x.dim()} and {y.dim()} dimensions, allowed: 2 or more")
    need("x: the elements of a row", x.shape[-1], y.shape[-2])
    return torch.empty([*torch.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]],
                       dtype=_dtype(x, rule), device="meta")


for _sides in (1, 2, 3):
    _convolution(_sides)
    _transposed(_sides)
define(f"linear(Tensor x, Tensor w, Tensor? bias, {_FACTOR})", _linear, _linear_shape)
define("matmul(Tensor x, Tensor y, Tensor scale, int x_zero_point=0, int y_zero_point=0, int zero_point=0, "
       "str rule='ort_f32')", _matmul,
        _matmul_shape)
