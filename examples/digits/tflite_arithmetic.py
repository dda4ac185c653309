# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow Lite's reference kernels compute for a .tflite file, in whole numbers.

An oracle for the C++ code: it shares nothing with it but the definition of the arithmetic. Slow and plain:
all values are int64 arrays of codes, every rounding is written out. Double rounding, as it is by default.
"""

import math

import numpy as np

import network


def div_half_away(x, e):
    """x / 2^e, rounded to nearest, ties away from zero."""
    e = np.asarray(e, np.int64)
    half = np.where(e > 0, np.int64(1) << np.maximum(e - 1, 0), 0)
    return np.sign(x) * ((np.abs(x) + half) >> e)


def srdhm(a, b):
    """Saturating rounding doubling high multiply; it saturates for a = b = -2^31 only: not here."""
    return (np.int64(a) * np.int64(b) + (1 << 30)) >> 31


def round_half_away(x):
    return int(math.floor(abs(x) + 0.5)) * (1 if x >= 0 else -1)


def q31(real):
    """(multiplier, shift) with real ~ multiplier * 2^(shift - 31)."""
    mantissa, shift = math.frexp(real)
    multiplier = round_half_away(mantissa * (1 << 31))
    if multiplier == 1 << 31:
        multiplier, shift = 1 << 30, shift + 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def multiply(x, multiplier, shift):
    """x * multiplier * 2^(shift - 31) with a rounding after the product and one after the shift."""
    multiplier, shift = np.asarray(multiplier, np.int64), np.asarray(shift, np.int64)
    return div_half_away(srdhm(np.int64(x) << np.maximum(shift, 0), multiplier), np.maximum(-shift, 0))


def finish(acc, multiplier, shift, y, activation):
    """An accumulator to the output's codes: rescale, zero point, fused activation."""
    assert np.abs(acc).max() < 1 << 31
    assert activation in (0, 1), "only NONE and RELU are written out"
    return np.clip(multiply(acc, multiplier, shift) + y.zero_point, y.zero_point if activation else -128, 127)


def scalar(t):
    return float(t.scale[0])


def per_channel(x, w, y, channels):
    """Multipliers and shifts of the output channels: the quotient is taken in double."""
    return np.array([q31(scalar(x) * float(s) / scalar(y)) for s in np.broadcast_to(w.scale, channels)]).T


def conv_2d(x, tensors, y, options, depthwise=False):
    t, w, bias = tensors
    strides = (options.StrideH(), options.StrideW())
    assert strides[0] == strides[1]
    sizes = list(zip(x.shape[1:3], w.data.shape[1:3]))
    is_same = options.Padding() == 0
    padding = [network.same_padding(*size, strides[0]) if is_same else (0, 0) for size in sizes]
    acc = network.convolve(x - t.zero_point, w.data.astype(np.int64), strides[0], padding, depthwise)
    acc = acc + bias.data
    return finish(acc, *per_channel(t, w, y, acc.shape[-1]), y, options.FusedActivationFunction())


def fully_connected(x, tensors, y, options):
    t, w, bias = tensors
    acc = (x.reshape(len(x), -1) - t.zero_point) @ w.data.astype(np.int64).T + bias.data
    product = np.float32(t.scale[0] * w.scale[0])  # rounded to f32, then the quotient in double
    return finish(acc, *q31(float(product) / scalar(y)), y, options.FusedActivationFunction())


def add(a, b, tensors, y, options):
    twice_max = 2 * max(scalar(t) for t in tensors)
    terms = [multiply((x - t.zero_point) << 20, *q31(scalar(t) / twice_max)) for x, t in zip((a, b), tensors)]
    to_output = q31(twice_max / ((1 << 20) * scalar(y)))
    return finish(terms[0] + terms[1], *to_output, y, options.FusedActivationFunction())


def pooled(x, options, combine):
    """Windows inside the picture only, no fused activation; that is all the network has."""
    kernel = (options.FilterHeight(), options.FilterWidth())
    assert options.Padding() == 1 and options.StrideH() == options.StrideW()
    assert options.FusedActivationFunction() == 0
    return combine(np.stack([tap for _, _, tap in network.windows(x, kernel, options.StrideH())]))


def mean_of_codes(taps):
    """The sum of raw codes divided by their number, ties away from code 0."""
    total, count = taps.sum(axis=0), len(taps)
    return np.sign(total) * ((np.abs(total) + count // 2) // count)


def exp_on_negative(a):
    """exp(a), a <= 0 in Q5.26, as Q0.31: a polynomial on [-1/4, 0), times a constant per bit of the rest."""
    quarter = np.int64(1) << 24
    remainder = (a & (quarter - 1)) - quarter
    x = (remainder << 5) + (1 << 28)
    x2 = srdhm(x, x)
    x3, x4 = srdhm(x2, x), srdhm(x2, x2)
    series = div_half_away(srdhm(div_half_away(x4, 2) + x3, 715827883) + x2, 1)
    result = 1895147668 + srdhm(1895147668, x + series)
    # exp(-1/4), exp(-1/2), exp(-1), ... exp(-16)
    factors = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
    for bit, factor in enumerate(factors, start=24):
        result = np.where((remainder - a) & (np.int64(1) << bit), srdhm(result, factor), result)
    return np.where(a == 0, (1 << 31) - 1, result)


def one_over_one_plus(a):
    """1 / (1 + a), a in [0, 1] as Q0.31, by three Newton steps in Q2.29."""
    half_denominator = (a + (1 << 31)) // 2  # (a + INT32_MAX) / 2, its tie rounded up
    x = 1515870810 + srdhm(half_denominator, -1010580540)
    for _ in range(3):
        x = x + (srdhm(x, (1 << 29) - srdhm(half_denominator, x)) << 2)
    return np.minimum(x << 1, (1 << 31) - 1)


def softmax(x, t, options):
    multiplier, shift = q31(min(options.Beta() * scalar(t) * (1 << 26), (1 << 31) - 1))
    least = -math.floor(31 * (1 << 26) / 2**shift)
    difference = x - x.max(axis=-1, keepdims=True)
    used = difference >= least
    e = exp_on_negative(srdhm(np.where(used, difference, 0) << shift, multiplier))
    total = np.sum(np.where(used, div_half_away(e, 12), 0), axis=-1, keepdims=True)  # Q12.19
    leading_zeros = 32 - np.frompyfunc(lambda v: int(v).bit_length(), 1, 1)(total).astype(np.int64)
    reciprocal = one_over_one_plus((total << leading_zeros) - (1 << 31))
    y = div_half_away(srdhm(reciprocal, e), 12 - leading_zeros + 31 - 8) - 128
    return np.where(used, np.clip(y, -128, 127), -128)


def run_operator(o, tensors, codes):
    x = [codes.get(i) for i in o.inputs]
    inputs, y = [tensors[i] for i in o.inputs], tensors[o.outputs[0]]
    return {
        "CONV_2D": lambda: conv_2d(x[0], inputs, y, o.options),
        "DEPTHWISE_CONV_2D": lambda: conv_2d(x[0], inputs, y, o.options, depthwise=True),
        "FULLY_CONNECTED": lambda: fully_connected(x[0], inputs, y, o.options),
        "ADD": lambda: add(x[0], x[1], inputs, y, o.options),
        "MAX_POOL_2D": lambda: pooled(x[0], o.options, lambda taps: taps.max(axis=0)),
        "AVERAGE_POOL_2D": lambda: pooled(x[0], o.options, mean_of_codes),
        "RESHAPE": lambda: x[0].reshape(len(x[0]), -1),
        "SOFTMAX": lambda: softmax(x[0], inputs[0], o.options),
    }[o.op]()


def run(model, input_codes):
    """The codes of every computed tensor, by index, for a batch of inputs."""
    codes = {model.inputs[0]: input_codes.astype(np.int64)}
    for o in model.operators:
        codes[o.outputs[0]] = run_operator(o, model.tensors, codes)
    return {index: values.astype(np.int8) for index, values in codes.items()}
