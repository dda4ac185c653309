# SPDX-License-Identifier: Apache-2.0
"""Octet: quantized neural networks with the bytes of the framework that they were made in.

    >>> import octet
    >>> net = octet.Network("examples/digits/digits_int8.tflite")
    >>> net.inputs
    [Tensor('image', shape=(1, 8, 8, 1), dtype=int8, scale=0.0078125, zero_point=-128)]
    >>> probabilities = net(images)                       # doctest: +SKIP

A `Network` takes NumPy arrays and gives NumPy arrays: quantized values where it was given those, floats where
it was given floats.

- `octet.compare(net, session.run(…), x)`: the first operator whose values differ from another program's;
  `octet.compare_rules`: what another contract would change; `octet.match(description, device)`: which
  contract an unknown device has.
- `net.profile(x)`, `net.explain()`: what time goes to, and why each operator runs as it does.
- `octet.conv2d` and its like: the single operations under the arithmetic (`rule`) of any framework; help(octet.conv2d)
  says what their keyword arguments mean.
- `octet.Decoder`: language models with the pasts of any number of sequences.
- `octet.torch`: PyTorch's quantized modules with PyTorch's bytes; `octet.dask`, `octet.mpi`: many workers.
- `octet.onnxruntime`: ONNX Runtime's own sessions, with their quantized parts on Octet; `octet.onnx_backend`: Octet as
  a backend in ONNX's form.

Errors: ValueError and TypeError for wrong arguments, FileNotFoundError, `octet.UnsupportedError` for what
Octet lacks, each with a sentence that names the argument, what was given and what is allowed.
"""

from ._octet import UnsupportedError, __numerics_version__, __version__
from .arguments import Weights
from .comparison import Comparison, Difference, compare
from .contracts import RuleComparison, compare_rules, quantize_multiplier, rules
from .decoder import Decoder, Sequence
from .matching import Excluded, Match, match
from .network import Network, explain, profile, profiles, refused_nodes, supported_operators
from .nodes import Node, Tensor
from .operations import (avg_pool1d, avg_pool2d, avg_pool3d, batch_norm, binary, concat, conv1d, conv2d,
                         conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, dequantize, eltwise,
                         layer_norm, linear, log_softmax, lrn, matmul, max_pool1d, max_pool2d, max_pool3d, prelu,
                         quantize, reduce, requantize, resize, rnn, shuffle, softmax, sum)
from .profiling import Profile
from .settings import available_isas, effective_isa, get_num_threads, set_max_cpu_isa, set_num_threads, set_verbose

__all__ = [
    "Comparison", "Decoder", "Difference", "Excluded", "Match", "Network", "Node", "Profile", "RuleComparison",
    "Sequence", "Tensor", "UnsupportedError", "Weights",
    "available_isas", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "binary", "compare",
    "compare_rules", "concat",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "dequantize",
    "effective_isa",
    "eltwise", "explain", "get_num_threads", "layer_norm", "linear", "log_softmax", "lrn", "match",
    "matmul", "max_pool1d",
    "max_pool2d", "max_pool3d",
    "prelu", "profile", "profiles", "quantize", "quantize_multiplier", "reduce", "refused_nodes",
    "requantize", "resize", "rnn", "rules",
    "set_max_cpu_isa", "set_num_threads", "set_verbose", "shuffle", "softmax", "sum", "supported_operators",
]
