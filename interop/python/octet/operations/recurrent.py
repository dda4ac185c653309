# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks of floats and of 8-bit codes."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import _octet
from ..arguments import Array, Numbers, floats, need_rank, need_shape, real, text
from .parameters import described

_DIRECTIONS = ("left2right", "right2left", "concat", "sum")


def _scales(who: str, values: Any, shape: Tuple[int, ...]) -> Optional[Array]:
    """One factor, or one for each element of `shape`, as a vector."""
    if values is None:
        return None
    given = _octet.as_floats(values, who)
    if given.ndim > 0:
        need_shape(given, who, shape)
    return given.reshape(-1)


@described
def rnn(x: ArrayLike, w: ArrayLike, r: ArrayLike, bias: Optional[ArrayLike] = None, *, cell: str = "vanilla_lstm",
        direction: str = "left2right", activation: str = "tanh", alpha: float = 0, h: Optional[ArrayLike] = None,
        c: Optional[ArrayLike] = None, peephole: Optional[ArrayLike] = None, projection: Optional[ArrayLike] = None,
        dtype: DTypeLike = None, data_scale: float = 1, data_shift: float = 0, weights_scale: Numbers = None,
        projection_scale: Numbers = None) -> Tuple[Array, ...]:
    """A recurrent network in oneDNN's layouts: the outputs of all steps, the last states h and, for "vanilla_lstm", the
    last states c. With an x of codes states are codes, too: code(h) = round(h * data_scale + data_shift).

    - x: inputs (steps, batch, channels) of float32, or codes of int8 or uint8
    - w: weights of the inputs (layers, directions, channels, gates, units), int8 with an x of codes
    - r: weights of the states (layers, directions, outputs, gates, units); outputs are units but with a projection
    - bias: (layers, directions, gates, units) of float32; "lbr_gru" has one gate more
    - cell: "vanilla_rnn", "vanilla_lstm", "vanilla_gru" or "lbr_gru"
    - direction: "left2right", "right2left", "concat" or "sum" of both
    - activation: of "vanilla_rnn": "relu", "tanh" or "logistic"
    - alpha: the slope of "relu" below 0
    - h: the first states (layers, directions, batch, outputs), of x's type or float32, which the last ones have, too;
      zeros of x's type if there are none
    - c: the first cell states (layers, directions, batch, units) of float32, likewise
    - peephole: of "vanilla_lstm", weights (layers, directions, 3, units) of c in the gates i, f, o, of float32
    - projection: of "vanilla_lstm", weights (layers, directions, units, outputs) of w's type
    - dtype: of the outputs, x's or float32
    - data_scale: of codes of x and h
    - data_shift: of codes of x and h, 0 with int8
    - weights_scale: of int8 weights, one factor or (gates, units): code = round(weight * factor)
    - projection_scale: of an int8 projection, one factor or one per output

    >>> rnn(np.ones((2, 1, 1)), np.ones((1, 1, 1, 1, 1)), np.ones((1, 1, 1, 1, 1)), cell="vanilla_rnn",
    ...     activation="relu")[0].tolist()
    [[[1.0]], [[2.0]]]
    >>> w = np.full((1, 1, 1, 4, 1), 50, np.int8)
    >>> rnn(np.full((2, 1, 1), 200, np.uint8), w, w, data_scale=127, data_shift=64, weights_scale=50)[0].tolist()
    [[[114]], [[150]]]
    """
    x, w, r = np.asarray(x), np.asarray(w), np.asarray(r)
    if x.dtype not in (np.int8, np.uint8):
        x, w, r = _octet.as_floats(x, "x"), _octet.as_floats(w, "w"), _octet.as_floats(r, "r")
    need_rank(x, "x", 3, 3)
    need_rank(w, "w", 5, 5)
    need_rank(r, "r", 5, 5)
    steps, batch, _ = x.shape
    layers, directions, _, gates, units = w.shape
    biases = (layers, directions, gates + (text("cell", cell) == "lbr_gru"), units)
    given: Dict[str, Any] = {"x": x, "w": w, "r": r, "bias": floats(bias, "bias", biases),
                             "peephole": floats(peephole, "peephole", (layers, directions, 3, units))}
    outputs = units
    if projection is not None:
        given["projection"] = (_octet.as_floats(projection, "projection") if x.dtype == np.float32
                               else np.asarray(projection))
        need_rank(given["projection"], "projection", 4, 4)
        outputs = given["projection"].shape[3]
    if h is not None:
        given["h"] = np.asarray(h) if np.asarray(h).dtype == x.dtype else _octet.as_floats(h, "h")
        need_shape(given["h"], "h", (layers, directions, batch, outputs))
    last = {"h_last": np.empty((layers, directions, batch, outputs), given["h"].dtype if "h" in given else x.dtype)}
    if cell == "vanilla_lstm":
        last["c_last"] = np.empty((layers, directions, batch, units), np.float32)
    if c is not None:
        given["c"] = floats(c, "c", (layers, directions, batch, units))
    name = text("direction", direction)
    if name not in _DIRECTIONS:
        raise ValueError(f"direction is '{name}', allowed: {', '.join(_DIRECTIONS)}")
    both = "bidirectional_" if name in ("concat", "sum") else "unidirectional_"
    parameters: Dict[str, object] = {"cell": cell, "direction": both + name}
    if cell == "vanilla_rnn":
        parameters.update(activation="eltwise_" + text("activation", activation), alpha=real("alpha", alpha))
    elif text("activation", activation) != "tanh" or real("alpha", alpha) != 0:
        raise ValueError(f"activation is '{activation}' with alpha {alpha}, allowed with cell '{cell}': 'tanh' with 0")
    attributes: Dict[str, object] = {"weights_scale": _scales("weights_scale", weights_scale, (gates, units)),
                                     "projection_scale": _scales("projection_scale", projection_scale, (outputs,))}
    qparams = (real("data_scale", data_scale), real("data_shift", data_shift))
    if qparams != (1, 0):
        attributes["data_qparams"] = qparams
    y = _octet.run("rnn", {**given, **last}, parameters, attributes,
                   (steps, batch, outputs * (2 if name == "concat" else 1)), x.dtype if dtype is None else dtype,
                   keep_order=False)
    return (y, *last.values())
