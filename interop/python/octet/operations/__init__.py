# SPDX-License-Identifier: Apache-2.0
"""Single operations on arrays, under any framework's arithmetic.

Each function takes and returns NumPy arrays. help(octet.conv2d) says what its keyword arguments mean; an
argument of one name means the same in all functions that have it.

- Products of integers (convolutions, linear, matmul) to which neither a rule nor a scale nor a post-op is
  given are exact int32 sums.
- Arrays may have any strides and any numeric type that the operation takes. float64, NumPy's default, is
  rounded to float32; other types than the operation's are TypeErrors or `octet.UnsupportedError`.
- Wrong arguments are ValueErrors and TypeErrors, which name the argument, what was given and what is allowed.
"""

from ..arguments import Array as Array, Weights as Weights
from .conversions import dequantize as dequantize, quantize as quantize, requantize as requantize
from .elements import (binary as binary, concat as concat, eltwise as eltwise, log_softmax as log_softmax,
                       prelu as prelu, reduce as reduce, shuffle as shuffle, softmax as softmax, sum as sum)
from .normalizations import batch_norm as batch_norm, layer_norm as layer_norm, lrn as lrn
from .products import (conv1d as conv1d, conv2d as conv2d, conv3d as conv3d,
                       conv_transpose1d as conv_transpose1d, conv_transpose2d as conv_transpose2d,
                       conv_transpose3d as conv_transpose3d, linear as linear, matmul as matmul)
from .recurrent import rnn as rnn
from .windows import (avg_pool1d as avg_pool1d, avg_pool2d as avg_pool2d, avg_pool3d as avg_pool3d,
                      max_pool1d as max_pool1d, max_pool2d as max_pool2d, max_pool3d as max_pool3d,
                      resize as resize)

__all__ = ["avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "binary", "concat", "conv1d", "conv2d",
           "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "dequantize", "eltwise",
           "layer_norm", "linear", "log_softmax", "lrn", "matmul", "max_pool1d", "max_pool2d", "max_pool3d", "prelu",
           "quantize", "reduce", "requantize", "resize", "rnn", "shuffle", "softmax", "sum"]
