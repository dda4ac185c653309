# SPDX-License-Identifier: Apache-2.0
"""Random quantized layers of PyTorch with random inputs: for tests of octet.torch, and of PyTorch without Octet."""

import torch


def quantized_weight(random, weight, per_channel, axis=0):
    if not per_channel:
        return torch.quantize_per_tensor(weight, float(weight.abs().max() / 127) or 1., 0, torch.qint8)
    rest = [d for d in range(weight.dim()) if d != axis]
    return torch.quantize_per_channel(weight, weight.abs().amax(rest) / 127 + 1e-6,
                                      torch.zeros(weight.shape[axis], dtype=torch.long), axis, torch.qint8)


def random_module(random):
    """A quantized module with random sizes and its input of codes."""
    import torch.ao.nn.quantized as q
    import torch.nn.intrinsic.quantized as qi
    import torch.ao.nn.quantized.dynamic as dynamic
    kind = str(random.choice(["conv1d", "conv2d", "conv2d", "conv3d", "transpose1d", "transpose2d",
                              "transpose3d", "linear", "linear"]))
    relu, per_channel, has_bias = (bool(random.integers(2)) for _ in range(3))
    is_dynamic = random.integers(6) == 0
    groups = int(random.choice([1, 1, 2, 4]))
    i, o = groups * int(random.integers(1, 20)), groups * int(random.integers(1, 35))
    if kind == "conv2d" and random.integers(4) == 0:
        groups = o = i  # depthwise
    kernel, stride = int(random.integers(1, 5)), int(random.integers(1, 3))
    padding, dilation = int(random.integers(0, kernel)), int(random.integers(1, 3))
    bias = torch.randn(o) if has_bias else None
    if kind == "linear":
        module = (dynamic.Linear(i, o, has_bias) if is_dynamic else qi.LinearReLU(i, o, has_bias) if relu
                  else q.Linear(i, o, has_bias))
        x = torch.randn(*([int(random.integers(1, 9))] * int(random.integers(1, 3))), i)
        weight = torch.randn(o, i)
    else:
        dims = int(kind[-2])
        size = [kernel * dilation + int(random.integers(1, 9 if dims < 3 else 4)) for _ in range(dims)]
        x = torch.randn(int(random.integers(1, 4)), i, *size)
        if kind.startswith("transpose"):
            per_channel = False
            made = getattr(dynamic if is_dynamic else q, f"ConvTranspose{dims}d")
            module = made(i, o, kernel, stride, min(padding, kernel - 1), int(random.integers(stride)),
                          groups, has_bias, 1)
            weight = torch.randn(i, o // groups, *[kernel] * dims)
        else:
            plain = getattr(dynamic, f"Conv{dims}d") if is_dynamic else {1: (q.Conv1d, qi.ConvReLU1d),
                                                                         2: (q.Conv2d, qi.ConvReLU2d),
                                                                         3: (q.Conv3d,
                                                                             qi.ConvReLU3d)}[dims][relu]
            module = plain(i, o, kernel, stride, padding, dilation, groups, has_bias)
            weight = torch.randn(o, i // groups, *[kernel] * dims)
    module.set_weight_bias(quantized_weight(random, weight, per_channel), bias)
    if is_dynamic:
        return module, x
    module.scale, module.zero_point = float(random.uniform(0.01, 0.2)), int(random.integers(0, 256))
    return module, torch.quantize_per_tensor(x, float(random.uniform(0.005, 0.05)),
                                             int(random.integers(0, 256)), torch.quint8)
