# SPDX-License-Identifier: Apache-2.0
"""Dynamic LSTM and GRU layers and cells: their products on Octet, the functions of their gates, which work on
floats, PyTorch's.

The order of the operations on gates is that of PyTorch's own cells in C++, with the same functions on tensors of the
same shape and strides, so that they give the same floats.
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple, cast

import torch
from torch import Tensor

from .elements import unseen
from .products import DynamicLinear, weights_reason

_State = Sequence[Tensor]  # hidden, and of LSTM the cell's


class _Packed:
    """Weights and bias that PyTorch has packed, as a module has them."""

    def __init__(self, packed: Any) -> None:
        self._weight, self._bias = torch.ops.quantized.linear_unpack(packed)

    def weight(self) -> Tensor:
        return cast(Tensor, self._weight)

    def bias(self) -> Optional[Tensor]:
        return cast(Optional[Tensor], self._bias)


class Cell(torch.nn.Module):
    """The products of a step and what follows them."""

    def __init__(self, kind: str, packed_input: Any, packed_hidden: Any, rule: str, nonlinearity: str = "tanh") -> None:
        super().__init__()
        self.kind, self.nonlinearity = kind, nonlinearity
        self.of_input, self.of_hidden = (DynamicLinear(cast(Any, _Packed(p)), rule)
                                         for p in (packed_input, packed_hidden))

    def forward(self, x: Tensor, state: _State) -> _State:
        """x: the product with the input already."""
        hidden = self.of_hidden(state[0])
        if self.kind == "LSTM":
            i, f, g, o = hidden.add_(x).chunk(4, 1)
            i, f, g, o = i.sigmoid_(), f.sigmoid_(), g.tanh_(), o.sigmoid_()
            cell = (f * state[1]).add_(i * g)
            return o * cell.tanh(), cell
        if self.kind == "GRU":
            (xr, xi, xn), (hr, hi, hn) = x.chunk(3, 1), hidden.chunk(3, 1)
            reset, update = hr.add_(xr).sigmoid_(), hi.add_(xi).sigmoid_()
            new = xn.add(hn.mul_(reset)).tanh_()
            return ((state[0] - new).mul_(update).add_(new),)
        hidden = hidden.add_(x)
        return (hidden.tanh() if self.nonlinearity == "tanh" else hidden.relu(),)


class RecurrentCell(torch.nn.Module):
    """torch.ao.nn.quantized.dynamic.LSTMCell, GRUCell, RNNCell."""

    def __init__(self, source: Any, rule: str) -> None:
        super().__init__()
        self.source = source
        self.cell = Cell(type(source).__name__[:-4], source._packed_weight_ih, source._packed_weight_hh, rule,
                         getattr(source, "nonlinearity", "tanh"))

    def forward(self, x: Tensor, hx: Any = None) -> Any:
        with unseen():
            self.source.check_forward_input(x)
            is_lstm = self.cell.kind == "LSTM"
            if hx is None:
                hx = torch.zeros(x.size(0), self.source.hidden_size, dtype=x.dtype)
                hx = (hx, hx) if is_lstm else hx
            state = tuple(hx) if is_lstm else (hx,)
            for h in state:
                self.source.check_forward_hidden(x, h)
            y = self.cell(self.cell.of_input(x), state)
            return tuple(y) if is_lstm else y[0]


class Recurrent(torch.nn.Module):
    """torch.ao.nn.quantized.dynamic.LSTM and GRU; packed sequences stay in PyTorch."""

    def __init__(self, source: Any, rule: str) -> None:
        super().__init__()
        self.source, self.both = source, 2 if source.bidirectional else 1
        self.cells = torch.nn.ModuleList(Cell(source.mode, *_packed(part.param), rule)
                                         for part in source._all_weight_values)
        self.in_torch = source.forward_impl
        source.forward_impl = self._run

    def forward(self, x: Any, hx: Any = None) -> Any:
        with unseen():
            return self.source.forward(x, hx)

    def _run(self, x: Tensor, hx: Any, batch_sizes: Optional[Tensor], max_batch_size: int,
             sorted_indices: Optional[Tensor]) -> Any:
        if batch_sizes is not None:
            return self.in_torch(x, hx, batch_sizes, max_batch_size, sorted_indices)
        source, is_lstm = self.source, self.source.mode == "LSTM"
        if hx is None:
            hx = torch.zeros(len(self.cells), max_batch_size, source.hidden_size, dtype=x.dtype)
            hx = (hx, hx) if is_lstm else hx
        source.check_forward_args(x, hx, None)
        states = [tuple(parts) for parts in zip(*(h.unbind(0) for h in (hx if is_lstm else (hx,))))]
        y, last = x.transpose(0, 1) if source.batch_first else x, []
        for layer in range(source.num_layers):
            outputs = []
            for direction in range(self.both):
                number = layer * self.both + direction
                steps, state = self._direction(self.cells[number], y, states[number], direction == 1)
                outputs.append(torch.stack(steps, 0))
                last.append(state)
            y = outputs[0] if self.both == 1 else torch.cat(outputs, 2)
        y = y.transpose(0, 1) if source.batch_first else y
        ends = tuple(torch.stack(parts, 0) for parts in zip(*last))
        return y, ends if is_lstm else ends[0]

    def _direction(self, cell: Any, x: Tensor, state: _State, backwards: bool) -> Tuple[List[Tensor], _State]:
        steps: List[Tensor] = []
        inputs = cell.of_input(x).unbind(0)
        for part in reversed(inputs) if backwards else inputs:
            state = cell(part, state)
            steps.append(state[0])
        return steps[::-1] if backwards else steps, state


def _packed(parameters: Any) -> Tuple[Any, Any]:
    """Packed weights of input and hidden state of a layer."""
    packed = parameters.__getstate__()[0][4]
    return packed[0], packed[1]


def reason(source: Any) -> Optional[str]:
    """Why a dynamic recurrent layer or cell stays in PyTorch."""
    try:
        pairs = ([_packed(part.param) for part in source._all_weight_values]
                 if hasattr(source, "_all_weight_values")
                 else [(source._packed_weight_ih, source._packed_weight_hh)])
        return next((text for pair in pairs for p in pair if (text := weights_reason(_Packed(p).weight()))), None)
    except (RuntimeError, IndexError) as e:
        return f"PyTorch does not show its weights: {e}".splitlines()[0]
