# SPDX-License-Identifier: Apache-2.0
"""What the parameters of the operations mean.

A signature says which parameters a function has, with types and defaults. `DESCRIPTIONS` says what a name
means, once for all functions, and `described` puts its lines into their docstrings. A docstring has a line of
its own where the name means something else in that function.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, Callable, Dict, TypeVar

DESCRIPTIONS: Dict[str, str] = {
    "x": "the input",
    "y": "the second input, broadcast with the first as NumPy does it",
    "w": "the weights; `octet.Weights(w)` packs them once for many calls",
    "xs": "the inputs, 1 to 1024 arrays",
    "bias": "one number per output channel: int32, which is added to the sums, or float32 with the rules "
            "\"automatic\", \"f32\" and \"f32_v3\"",
    "kernel": "size of the window, one number or one per side",
    "stride": "step of the window, one number or one per side",
    "padding": "elements around the input, which count as its zero point: one number, one per side, ((top, "
               "bottom), (left, right)), \"valid\" for none, or \"same\" for results of ceil(size / stride)",
    "output_padding": "elements that are added behind the result, one number or one per side",
    "dilation": "distance between the taps of the window, one number or one per side; 1: adjacent",
    "groups": "parts into which input and output channels are divided; a group's outputs see its inputs alone",
    "layout": "where the channels are: \"nchw\" (also \"ncw\", \"ncdhw\") for (n, channels, …), \"nhwc\" "
              "(\"nwc\", \"ndhwc\") for (n, …, channels)",
    "weights_layout": "order of the weights' dimensions: \"oihw\", \"ohwi\" (TFLite) or \"hwio\" "
                      "(TensorFlow), likewise for sequences and volumes",
    "dtype": "of the result; by default the input's, or int32 with rule \"none\"; a narrower integer "
             "saturates",
    "axis": "the dimension, from 0, or from the last as -1",
    "rule": "how accumulators become quantized values, a name of `octet.rules()`; \"automatic\": float32 "
            "scales",
    "multiplier": "fixed-point factors of the rule, one or one per output channel, as "
                  "`octet.quantize_multiplier` derives them; with `shift`",
    "shift": "powers of two of the multipliers",
    "scale": "the factors as real numbers; a fixed-point rule derives its multipliers from them as its "
             "framework does",
    "x_scale": "scale of the input; with w_scale and y_scale the factor x_scale * w_scale / y_scale is "
               "derived as the rule's framework does it",
    "x1_scale": "scale of `y`",
    "w_scale": "scale of the weights, one or one per output channel; with `group` several per output channel, in the "
               "order of w's dimensions",
    "y_scale": "scale of the result",
    "quantize": "a float32 input becomes codes in the product: with parameters for each \"row\", each \"group\" of a "
                "row, or the \"tensor\"; doc/dynamic.md has the formulas",
    "quantizer": "who computes the codes so, \"dynamic\" (Octet's own, by default) or a library",
    "symmetric": "the zero point is fixed; by default if the quantizer can do so",
    "codes": "type of the input's codes, int8 or uint8; by default what the quantizer has",
    "combination": "order of the operations on sums and scales; by default Octet's own",
    "group": "how many neighbours along k share a value of w_scale",
    "w_type": "\"int4\" or \"uint4\": w has such codes, a byte each, and they are packed two per byte",
    "x_zero_point": "zero point of the input",
    "x1_zero_point": "zero point of `y`",
    "w_zero_point": "zero point of the weights",
    "zero_point": "zero point of the result",
    "x_multiplier": "fixed-point factor of the input, for rules that scale inputs (TFLite's ADD, SOFTMAX, "
                    "…); with x_shift",
    "x_shift": "power of two of x_multiplier",
    "x1_multiplier": "fixed-point factor of `y`, for the same rules; with x1_shift",
    "x1_shift": "power of two of x1_multiplier",
    "w_multiplier": "fixed-point factor of the weights' product, for the same rules; with w_shift",
    "w_shift": "power of two of w_multiplier",
    "scales": "factors of the inputs, one per array",
    "zero_points": "zero points of the inputs, one per array",
    "post_ops": "what follows before the result is stored, a name or a list: \"relu\", (\"clip\", low, "
                "high), (\"tanh\", alpha, beta, scale), (\"add\", array) or another function of "
                "`octet.binary`, (\"add\", number), (\"prelu\", weights), (\"table\", 256 values), (\"sum\", "
                "array, scale, zero_point), (\"leaky_relu\", multiplier, shift, multiplier below 0, shift "
                "below 0)",
    "epsilon": "added to the variance",
    "mean": "means that are used instead of the input's own",
    "variance": "variances that are used instead of the input's own",
}

F = TypeVar("F", bound=Callable[..., Any])


def described(function: F) -> F:
    """Gives a function's docstring a line for each of its parameters, in the order of the signature, before
    the examples."""
    text = inspect.cleandoc(function.__doc__ or "")
    body, mark, examples = text.partition("\n\n>>> ")
    own = dict(re.findall(r"^- (\w+): (.*(?:\n  .*)*)", body, re.M))
    head = re.sub(r"\n+^- \w+: .*(?:\n(?:  |- ).*)*", "", body, flags=re.M)
    names = list(inspect.signature(function).parameters)
    if set(own) - set(names):
        raise AssertionError(f"{function.__name__} has no parameter {', '.join(set(own) - set(names))}")
    lines = [f"- {name}: {own[name] if name in own else DESCRIPTIONS[name]}" for name in names]
    function.__doc__ = head + "\n\n" + "\n".join(lines) + mark + examples
    return function
