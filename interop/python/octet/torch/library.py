"""torch.ops.octet: operations on tensors of codes, for those who build their own modules."""

from __future__ import annotations

from typing import Any, Optional

import torch

from .. import operations
from ..operations import Array

_library = torch.library.Library("octet", "DEF")
_library.define("conv2d(Tensor x, Tensor w, Tensor? bias, int[2] stride, int[2] padding, int[2] dilation, int groups, "
                "Tensor scale, int x_zero_point, int zero_point, str rule) -> Tensor")
_library.define("linear(Tensor x, Tensor w, Tensor? bias, Tensor scale, int x_zero_point, int zero_point, str rule) -> Tensor")


def _numpy(t: Optional[torch.Tensor]) -> Optional[Array]:
    return None if t is None else t.detach().numpy()


def _conv2d(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, scale: Any, x_zero_point: int, zero_point: int,
            rule: str) -> torch.Tensor:
    return torch.from_numpy(operations.conv2d(_numpy(x), _numpy(w), _numpy(bias), stride=stride, padding=padding,
                                              dilation=dilation, groups=groups, rule=rule, scale=_numpy(scale),
                                              x_zero_point=x_zero_point, zero_point=zero_point))


def _linear(x: Any, w: Any, bias: Any, scale: Any, x_zero_point: int, zero_point: int, rule: str) -> torch.Tensor:
    return torch.from_numpy(operations.linear(_numpy(x), _numpy(w), _numpy(bias), rule=rule, scale=_numpy(scale),
                                              x_zero_point=x_zero_point, zero_point=zero_point))


_library.impl("conv2d", _conv2d, "CPU")
_library.impl("linear", _linear, "CPU")
