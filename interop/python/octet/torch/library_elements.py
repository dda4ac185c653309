# SPDX-License-Identifier: Apache-2.0
"""torch.ops.octet: the operations without weights. See `library`."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import torch
from torch import Tensor

from .. import operations
from ..operations import Array
from .library import define, like, need, per_side, positions


def _binary(function: str) -> None:
    def compute(x: Array, y: Array, x_scale: float, x_zero_point: int, y_scale: float, y_zero_point: int,
                scale: float, zero_point: int, rule: str = "ort_f32") -> Any:
        return operations.binary(x, y, function, rule=rule, x_scale=x_scale, x_zero_point=x_zero_point,
                                 x1_scale=y_scale, x1_zero_point=y_zero_point, y_scale=scale,
                                 zero_point=zero_point)

    def shape(x: Tensor, y: Tensor, *rest: Any, **keywords: Any) -> Tensor:
        sizes = torch.broadcast_shapes(x.shape, y.shape)
        return like(x if x.dim() == len(sizes) else x.reshape([1] * (len(sizes) - x.dim()) + list(x.shape)),
                    sizes, x.dtype)

    define(f"{function}(Tensor x, Tensor y, float x_scale, int x_zero_point, float y_scale, int "
           f"y_zero_point, float scale, int zero_point, str rule='ort_f32')", compute, shape)


def _eltwise_shape(function: str, x: Tensor, alpha: float = 0, beta: float = 0) -> Tensor:
    return like(x, x.shape, x.dtype)


def _reorder_keywords(scale: Array, zero_point: Array, axis: Optional[int]) -> Dict[str, Any]:
    return dict(scale=scale, zero_point=zero_point, axis=axis)


def _check_axis(x: Tensor, scale: Tensor, axis: Optional[int]) -> None:
    if axis is None:
        need("scale: its elements", scale.numel(), 1)
    elif not -x.dim() <= axis < x.dim():
        raise ValueError(f"axis is {axis}, allowed: {-x.dim()} to {x.dim() - 1}")
    else:
        need("scale: its elements", scale.numel(), x.shape[axis])


def _quantize(x: Array, scale: Array, zero_point: Array, dtype: torch.dtype, axis: Optional[int] = None,
              rule: str = "ort_f32") -> Any:
    return operations.quantize(x, dtype=_name(dtype), rule=rule, **_reorder_keywords(scale, zero_point, axis))


def _quantize_shape(x: Tensor, scale: Tensor, zero_point: Tensor, dtype: torch.dtype,
                    axis: Optional[int] = None, rule: str = "ort_f32") -> Tensor:
    _check_axis(x, scale, axis)
    return like(x, x.shape, dtype)


def _dequantize(x: Array, scale: Array, zero_point: Array, axis: Optional[int] = None) -> Any:
    return operations.dequantize(x, **_reorder_keywords(scale, zero_point, axis))


def _dequantize_shape(x: Tensor, scale: Tensor, zero_point: Tensor, axis: Optional[int] = None) -> Tensor:
    _check_axis(x, scale, axis)
    return like(x, x.shape, torch.float32)


def _requantize(x: Array, scale: Array, x_zero_point: int, zero_point: int, dtype: torch.dtype,
                axis: Optional[int] = None, rule: str = "f32") -> Any:
    return operations.requantize(x, scale=scale, x_zero_point=x_zero_point, zero_point=zero_point,
                                 dtype=_name(dtype), axis=axis, rule=rule)


def _requantize_shape(x: Tensor, scale: Tensor, x_zero_point: int, zero_point: int, dtype: torch.dtype,
                      axis: Optional[int] = None, rule: str = "f32") -> Tensor:
    _check_axis(x, scale, axis)
    return like(x, x.shape, dtype)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).replace("torch.", "")


_binary("add")
_binary("mul")
define("eltwise(str function, Tensor x, float alpha=0, float beta=0)",
        lambda function, x, alpha=0, beta=0: operations.eltwise(x, function, alpha=alpha, beta=beta), _eltwise_shape)
define("quantize(Tensor x, Tensor scale, Tensor zero_point, ScalarType dtype, int? axis=None, str "
       "rule='ort_f32')", _quantize, _quantize_shape)
define("dequantize(Tensor x, Tensor scale, Tensor zero_point, int? axis=None)", _dequantize, _dequantize_shape)
define("requantize(Tensor x, Tensor scale, int x_zero_point, int zero_point, ScalarType dtype, int? "
       "axis=None, str rule='f32')", _requantize,
        _requantize_shape)


def _softmax(x: Array, dim: int, x_scale: Optional[float] = None, scale: Optional[float] = None,
             zero_point: int = 0, rule: str = "f32") -> Any:
    keywords: Dict[str, Any] = {} if scale is None else dict(x_scale=x_scale, y_scale=scale, zero_point=zero_point)
    return operations.softmax(x, dim, rule=rule, **keywords)


def _softmax_shape(x: Tensor, dim: int, x_scale: Optional[float] = None, scale: Optional[float] = None,
                   zero_point: int = 0, rule: str = "f32") -> Tensor:
    _check_dim(x, dim)
    return like(x, x.shape, x.dtype)


def _check_dim(x: Tensor, dim: int) -> None:
    if not -x.dim() <= dim < x.dim():
        raise ValueError(f"dim is {dim}, allowed: {-x.dim()} to {x.dim() - 1}")


def _layer_norm(x: Array, scale: Optional[Array] = None, shift: Optional[Array] = None, epsilon: float = 1e-5,
                rule: str = "f32") -> Any:
    return operations.layer_norm(x, scale, shift, epsilon=epsilon, rule=rule)


def _layer_norm_shape(x: Tensor, scale: Optional[Tensor] = None, shift: Optional[Tensor] = None, epsilon: float = 1e-5,
                      rule: str = "f32") -> Tensor:
    for name, value in (("scale", scale), ("shift", shift)):
        if value is not None:
            need(f"{name}: its sizes", tuple(value.shape), tuple(x.shape[-1:]))
    return torch.empty(x.shape, dtype=x.dtype, device="meta")


def _prelu_shape(x: Tensor, w: Tensor) -> Tensor:
    if w.dim() == 1 and w.numel() > 1:
        need("w: its elements", w.numel(), x.shape[1] if x.dim() > 1 else x.numel())
    return like(x, x.shape, x.dtype)


def _cat_shape(xs: Sequence[Tensor], dim: int = 0) -> Tensor:
    if not xs:
        raise ValueError("xs is empty")
    _check_dim(xs[0], dim)
    sizes = list(xs[0].shape)
    for i, x in enumerate(xs[1:]):
        rest = [list(t.shape) for t in (xs[0], x)]
        for shape in rest:
            if len(shape) == len(sizes):
                shape[dim] = 0
        need(f"x{i + 1}: its sizes but for dim {dim}", rest[1], rest[0])
        sizes[dim] += x.shape[dim]
    return like(xs[0], sizes, xs[0].dtype)


define("softmax(Tensor x, int dim, float? x_scale=None, float? scale=None, int zero_point=0, str rule='f32')",
       _softmax, _softmax_shape)
define("layer_norm(Tensor x, Tensor? scale=None, Tensor? shift=None, float epsilon=1e-5, str rule='f32')",
       _layer_norm, _layer_norm_shape)
define("prelu(Tensor x, Tensor w)", lambda x, w: operations.prelu(x, w), _prelu_shape)
define("cat(Tensor[] xs, int dim=0)", lambda xs, dim=0: operations.concat(xs, dim), _cat_shape)


def _pooling(sides: int, kind: str) -> None:
    function: Any = getattr(operations, f"{kind}_pool{sides}d")

    def compute(x: Array, kernel: List[int], stride: List[int], padding: List[int],
                count_include_pad: bool = True) -> Any:
        keywords = dict(include_padding=count_include_pad) if kind == "avg" else {}
        return function(x, kernel, stride=stride or None, padding=padding, **keywords)

    def shape(x: Tensor, kernel: List[int], stride: List[int], padding: List[int],
              count_include_pad: bool = True) -> Tensor:
        need("x: its dimensions", x.dim(), sides + 2)
        kernel, padding = per_side(kernel, sides), per_side(padding, sides)
        stride = per_side(stride, sides) if stride else kernel
        places = [positions(n, p, k, 1, s) for n, p, k, s in zip(x.shape[2:], padding, kernel, stride)]
        return like(x, [*x.shape[:2], *places], x.dtype)

    define(f"{kind}_pool{sides}d(Tensor x, int[{sides}] kernel, int[{sides}] stride, int[{sides}] padding"
           + (", bool count_include_pad=True)" if kind == "avg" else ")"), compute, shape)


def _resize_shape(x: Tensor, size: List[int], mode: str = "nearest", coordinates: str = "half_pixel") -> Tensor:
    return like(x, [*x.shape[:2], *per_side(size, x.dim() - 2)], x.dtype)


for _sides in (1, 2, 3):
    _pooling(_sides, "max")
    _pooling(_sides, "avg")
define("resize(Tensor x, int[] size, str mode='nearest', str coordinates='half_pixel')",
       lambda x, size, mode="nearest",
       coordinates="half_pixel": operations.resize(x, size, mode=mode, coordinates=coordinates),
       _resize_shape)
