# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks of floats."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _octet
from ..arguments import Array, floats, need_rank, real, text
from .parameters import described


@described
def rnn(x: ArrayLike, w: ArrayLike, r: ArrayLike, bias: Optional[ArrayLike] = None, *, cell: str = "vanilla_lstm",
        direction: str = "left2right", activation: str = "tanh", alpha: float = 0, h: Optional[ArrayLike] = None,
        c: Optional[ArrayLike] = None) -> Tuple[Array, ...]:
    """A recurrent network in oneDNN's layouts: the outputs of all steps, the last states h and, for "vanilla_lstm", the
    last states c. Quantized ones are in the C++ interface (octet/rnn.hpp).

    - x: inputs (steps, batch, channels) of float32
    - w: weights of the inputs (layers, directions, channels, gates, units)
    - r: weights of the states (layers, directions, units, gates, units)
    - bias: (layers, directions, gates, units); "lbr_gru" has one gate more
    - cell: "vanilla_rnn", "vanilla_lstm", "vanilla_gru" or "lbr_gru"
    - direction: "left2right", "right2left", "concat" or "sum" of both
    - activation: of "vanilla_rnn": "relu", "tanh" or "logistic"
    - alpha: the slope of "relu" below 0
    - h: the first states (layers, directions, batch, units); zeros if there are none
    - c: the first cell states, likewise

    >>> rnn(np.ones((2, 1, 1)), np.ones((1, 1, 1, 1, 1)), np.ones((1, 1, 1, 1, 1)), cell="vanilla_rnn",
    ...     activation="relu")[0].tolist()
    [[[1.0]], [[2.0]]]
    """
    x, w, r = (np.asarray(a, np.float32) for a in (x, w, r))
    need_rank(x, "x", 3, 3)
    need_rank(w, "w", 5, 5)
    need_rank(r, "r", 5, 5)
    steps, batch, _ = x.shape
    layers, directions, _, gates, units = w.shape
    states = (layers, directions, batch, units)
    biases = (layers, directions, gates + (text("cell", cell) == "lbr_gru"), units)
    name = text("direction", direction)
    last = {"h_last": np.empty(states, np.float32)}
    if cell == "vanilla_lstm":
        last["c_last"] = np.empty(states, np.float32)
    given = {"x": x, "w": w, "r": r, "bias": floats(bias, "bias", biases)}
    first = {"h": floats(h, "h", states), "c": floats(c, "c", states)}
    given.update({name: state for name, state in first.items() if state is not None})
    both = "bidirectional_" if name in ("concat", "sum") else "unidirectional_"
    parameters: Dict[str, object] = {"cell": cell, "direction": both + name}
    if cell == "vanilla_rnn":
        parameters.update(activation="eltwise_" + text("activation", activation), alpha=real("alpha", alpha))
    y = _octet.run("rnn", {**given, **last}, parameters, {}, (steps, batch, units * (2 if name == "concat" else 1)),
                   np.float32, keep_order=False)
    return (y, *last.values())
