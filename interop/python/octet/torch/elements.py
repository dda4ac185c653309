# SPDX-License-Identifier: Apache-2.0
"""What lies between the products of a quantized PyTorch network: activations, sums, products, concatenation, pooling.

PyTorch computes most of these in floats, by vector and by scalar code that may round differently. So nothing
here is believed: when the scales of the inputs are known, at the first run, the operation is tried on *every*
code, or on every pair of codes, by PyTorch's vector code, by its scalar code, and by Octet. Only where all
agree does Octet take it; else it stays, and the report says how many differ.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor

from .. import _octet, operations
from ..operations import Array
from .report import Taken

_ALL = torch.arange(256, dtype=torch.uint8)
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}

# Without modes that see PyTorch's functions (torch.overrides), which cost microseconds per call.
unseen: Callable[[], ContextManager[None]] = getattr(torch.overrides, "_no_torch_function_mode",
                                                     torch._C.DisableTorchFunction)


def quantized(codes: Tensor, scale: float, zero_point: int) -> Tensor:
    """Codes with their meaning."""
    return torch._make_per_tensor_quantized_tensor(codes, scale, zero_point)


def is_taken(x: Any) -> bool:
    """A tensor of unsigned codes with one scale."""
    return (isinstance(x, Tensor) and x.is_quantized and x.dtype == torch.quint8 and x.qscheme()
            == torch.per_tensor_affine)


def codes_of(x: Tensor) -> Array:
    """The codes, in the tensor's own memory."""
    if x.dtype != torch.quint8:
        return x.int_repr().numpy()
    return _octet.codes_at(x.data_ptr(), x.shape, x.stride(), x)


def _strided(codes: Tensor, scale: float, zero_point: int) -> Tensor:
    """The same with a hole behind each element, for which PyTorch uses its scalar code."""
    holes = torch.zeros(codes.numel(), 2, dtype=torch.uint8)
    holes[:, 0] = codes
    return quantized(holes, scale, zero_point)[:, 0]


def order_of(x: Tensor) -> torch.memory_format:
    """The memory order, on which PyTorch's rounding may depend."""
    last = CHANNELS_LAST.get(x.dim())
    return last if last and x.shape[1] > 1 and x.is_contiguous(memory_format=last) else torch.contiguous_format


@contextmanager
def _as_engine(name: str) -> Iterator[None]:
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = name
    try:
        yield
    finally:
        torch.backends.quantized.engine = before


class Refused(Exception):
    """Octet cannot give the same codes; the text says why."""


class Function(torch.nn.Module):
    """A function of PyTorch which Octet takes where it gives the same codes as `engine` does."""

    def __init__(self, call: Callable[..., Any], entry: Taken, engine: str) -> None:
        super().__init__()
        self.call, self.entry, self.engine = call, entry, engine
        # How `call` runs on Octet, by the scales of its inputs; found once for each.
        self.plans: Dict[Any, Optional[Callable[..., Tensor]]] = {}

    def forward(self, *args: Any, **keywords: Any) -> Any:
        with unseen():
            return self._run(args, keywords)

    def _run(self, args: Tuple[Any, ...], keywords: Dict[str, Any]) -> Any:
        key = self.key(args, keywords)
        if key is None:
            self.entry.reason = self.entry.reason or "its inputs are no codes of torch.quint8 with one scale"
            return self.call(*args, **keywords)
        if key not in self.plans:
            try:
                with _as_engine(self.engine):
                    self.plans[key] = self._tried(self.plan(args, keywords), args, keywords)
            except (Refused, ValueError, RuntimeError) as e:
                self.plans[key] = None
                self.entry.reason = str(e).splitlines()[0]
        plan = self.plans[key]
        return self.call(*args, **keywords) if plan is None else plan(*args)

    def _tried(self, plan: Callable[..., Tensor], args: Sequence[Any],
               keywords: Dict[str, Any]) -> Callable[..., Tensor]:
        """A plan that gives what PyTorch gives for these arguments, in the same memory order, on which others
        may depend."""
        given = _copies(args)  # of functions that write into theirs
        y, expected = plan(*_copies(args)), self.call(*given, **keywords)
        order = order_of(expected)
        if y.shape != expected.shape or _meaning(y) != _meaning(expected):
            raise Refused(f"PyTorch's result has shape {tuple(expected.shape)}, scale and zero point "
                          f"{_meaning(expected)}, " f"Octet's {tuple(y.shape)}, {_meaning(y)}")
        differ = int((codes_of(y) != codes_of(expected)).sum())
        if differ:
            raise Refused(f"{differ} of {y.numel()} codes differ")
        if expected is given[0]:
            return plan
        return lambda *given: plan(*given).contiguous(memory_format=order)

    def key(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Any:
        """What a plan depends on, None where there is none."""
        raise NotImplementedError

    def plan(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Callable[..., Tensor]:
        """How these arguments run on Octet; throws Refused."""
        raise NotImplementedError


def _copies(args: Sequence[Any]) -> Sequence[Any]:
    """In the same memory order, which `clone` of codes does not keep."""
    return [quantized(a.int_repr(), *_meaning(a)) if is_taken(a) else a.clone() if isinstance(a, Tensor)
            else a for a in args]


def _meaning(x: Tensor) -> Tuple[float, int]:
    return x.q_scale(), x.q_zero_point()


def _frozen(values: Any) -> Any:
    """Numbers of arguments as a key."""
    if isinstance(values, (list, tuple)):
        return tuple(_frozen(v) for v in values)
    if isinstance(values, dict):
        return tuple((k, _frozen(v)) for k, v in sorted(values.items()))
    return ((values.item() if isinstance(values, Tensor) and values.numel() == 1 else values)
            if not is_taken(values) else _meaning(values))


def table_of(call: Callable[[Tensor], Tensor], scale: float, zero_point: int) -> Tuple[Array, float, int]:
    """A function's codes for all codes, with their meaning. Throws Refused where PyTorch's own scalar code
    gives others."""
    y = call(quantized(_ALL.clone(), scale, zero_point))
    if not is_taken(y):
        raise Refused("the result has no unsigned codes with one scale")
    alone = np.concatenate([codes_of(call(quantized(_ALL[i:i + 1].clone(), scale, zero_point))) for i in range(256)])
    holes = codes_of(call(_strided(_ALL, scale, zero_point)))
    differ = int(((codes_of(y) != alone) | (holes != alone)).sum())
    if differ:
        raise Refused(f"PyTorch's own codes depend on where an element lies: {differ} of 256 codes differ")
    return codes_of(y), y.q_scale(), y.q_zero_point()


def _mapped(x: Tensor, table: Array) -> Array:
    return operations.eltwise(codes_of(x), "linear", alpha=1, post_ops=[("table", table)])


class Elementwise(Function):
    """A function of single codes, as a table."""

    def key(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Any:
        if not args or not is_taken(args[0]) or any(isinstance(a, Tensor) and a.numel() > 1 for a in args[1:]):
            return None
        return _frozen(args), _frozen(keywords), order_of(args[0])

    def plan(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Callable[..., Tensor]:
        table, scale, zero_point = table_of(lambda t: self.call(t, *args[1:], **keywords), *_meaning(args[0]))
        one = quantized(_ALL[:1].clone(), *_meaning(args[0]))
        in_place = self.call(one, *args[1:], **keywords) is one
        is_misplaced = not in_place and self._is_misplaced(args, keywords, table)

        def run(x: Tensor, *rest: Any) -> Tensor:
            y = torch.from_numpy(_mapped(x, table))
            if is_misplaced:
                y = y.permute(0, 2, 3, 1).reshape(y.shape)
            return x.copy_(quantized(y, scale, zero_point)) if in_place else quantized(y, scale, zero_point)
        return run

    def _is_misplaced(self, args: Sequence[Any], keywords: Dict[str, Any], table: Array) -> bool:
        """Whether PyTorch writes codes of a channels-last image, as they lie, into an image that is not
        (1.13: hardtanh of QNNPACK)."""
        if order_of(args[0]) != torch.channels_last:
            return False
        image = _ALL.reshape(1, 16, 4, 4).contiguous(memory_format=torch.channels_last)
        y = self.call(quantized(image, *_meaning(args[0])), *args[1:], **keywords)
        right = table[image.numpy()]
        return (bool((codes_of(y) != right).any())
                and bool((codes_of(y) == right.transpose(0, 2, 3, 1).reshape(right.shape)).all()))


class Pairwise(Function):
    """Sums and products of two tensors: add, add_relu, mul, mul_relu."""

    def __init__(self, call: Callable[..., Any], entry: Taken, engine: str, function: str) -> None:
        super().__init__(call, entry, engine)
        self.function, self.relu = function.split("_")[0], function.endswith("_relu")

    def key(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Any:
        x, y = args[:2]
        if not is_taken(x) or not is_taken(y):
            return None
        return _frozen(args), _frozen(keywords), _broadcast(x, y), order_of(x), order_of(y)

    def plan(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Callable[..., Tensor]:
        x, y = args[:2]
        a, b = _ALL.repeat_interleave(256), _ALL.repeat(256)
        result = self.call(quantized(a, *_meaning(x)), quantized(b, *_meaning(y)), *args[2:], **keywords)
        expected, scale, zero_point = codes_of(result), result.q_scale(), result.q_zero_point()
        holes = codes_of(self.call(_strided(a, *_meaning(x)), _strided(b, *_meaning(y)), *args[2:], **keywords))
        differ = int((expected != holes).sum())
        if differ:
            raise Refused(f"PyTorch's own codes depend on where an element lies: {differ} of 65536 pairs of "
                          f"codes differ")
        least = 65536
        for how in self._candidates(_meaning(x), _meaning(y), scale, zero_point):
            differ = int((self._codes(a.numpy(), b.numpy(), how) != expected).sum())
            if differ == 0:
                return lambda s, t, *rest: quantized(torch.from_numpy(self._codes(codes_of(s), codes_of(t),
                                                                                  how)), scale, zero_point)
            least = min(least, differ)
        raise Refused(f"{least} of 65536 pairs of codes differ")

    def _codes(self, x: Array, y: Array, how: Dict[str, Any]) -> Array:
        codes = operations.binary(x, y, self.function, **how)
        if not self.relu:
            return codes
        return operations.eltwise(codes, "linear", alpha=1, post_ops=[("clip", how["zero_point"], 255)])

    def _candidates(self, x: Tuple[float, int], y: Tuple[float, int], scale: float,
                    zero_point: int) -> List[Dict[str, Any]]:
        """Arithmetic that may be the engine's: QNNPACK's integers, and scales in f32 in several orders."""
        inverse = np.float32(1) / np.float32(scale)
        m = float(np.float32(x[0] * y[0] / scale))
        rules = [("ort_f32", x[0], y[0], scale)]
        if self.function == "add":
            rules = ([("caffe2_2step", x[0], y[0], scale)] + rules
                     + [("ort_f32", float(x[0] * inverse), float(y[0] * inverse), 1.)])
        else:
            rules += [("ort_f32", 1., 1., 1 / m), ("ort_f32", m, 1., 1.), ("ort_f32", 1., m, 1.)]
        return [dict(rule=rule, x_scale=s0, x1_scale=s1, y_scale=s, x_zero_point=x[1], x1_zero_point=y[1],
                     zero_point=zero_point,
                     dtype="uint8") for rule, s0, s1, s in rules]


def _broadcast(x: Tensor, y: Tensor) -> Any:
    """How shapes differ: which dimensions are 1."""
    return None if x.shape == y.shape else tuple(tuple(n == 1 for n in t.shape) for t in (x, y))


class Concatenation(Function):
    """quantized.cat: each tensor by a table, then one behind the other."""

    def key(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Any:
        if not args or not isinstance(args[0], (list, tuple)) or not args[0] or not all(is_taken(x) for x in args[0]):
            return None
        return _frozen(args), _frozen(keywords), tuple(order_of(x) for x in args[0])

    def plan(self, args: Sequence[Any], keywords: Dict[str, Any]) -> Callable[..., Tensor]:
        xs, axis = args[0], args[1] if len(args) > 1 else keywords.get("dim", 0)
        rest, others = args[2:], {k: v for k, v in keywords.items() if k != "dim"}
        tables: List[Optional[Array]] = []
        meaning: List[Any] = []
        first = quantized(_ALL[:1].clone(), *_meaning(xs[0]))  # whose scale torch.cat gives to all
        for x in xs:
            table, *meaning = table_of(lambda t: self.call([first, t], 0, *rest, **others)[1:], *_meaning(x))
            # PyTorch has another function for these, with vectors along the channels.
            if all(order_of(t) == torch.channels_last for t in xs):
                for shape in ((1, 256, 1, 1), (1, 1, 16, 16)):
                    image = quantized(_ALL.reshape(shape).contiguous(memory_format=torch.channels_last), *_meaning(x))
                    head = quantized(torch.zeros_like(image.int_repr()), *_meaning(xs[0]))
                    y = codes_of(self.call([head, image], 1, *rest, **others)[:, head.shape[1]:]).ravel()
                    if (y != table).any():
                        raise Refused("PyTorch's own codes depend on the memory order")
            tables.append(None if (table == _ALL.numpy()).all() else table)

        def run(xs: Sequence[Tensor], *rest: Any) -> Tensor:
            parts = [codes_of(x) if t is None else _mapped(x, t) for x, t in zip(xs, tables)]
            return quantized(torch.from_numpy(operations.concat(parts, axis)), *meaning)
        return run
