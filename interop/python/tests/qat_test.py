# SPDX-License-Identifier: Apache-2.0
"""The example of quantization-aware training in doc/howto/quantize.md: its export runs on products of codes, with
PyTorch's results."""

import os
import re
import tempfile

import numpy as np
import torch

import octet

with open(os.path.join(os.environ["OCTET_SOURCE_DIR"], "doc", "howto", "quantize.md")) as file:
    example = re.search(r"## Quantization-aware training.*?```python\n(.*?)```", file.read(), re.S)[1]
torch.manual_seed(1)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    names = {"__name__": "example"}
    exec(example, names)
    net = octet.Network("model_qat.onnx")
    os.chdir("/")
assert [node.op for node in net.nodes].count("QLinearConv") == 2, [node.op for node in net.nodes]
image = torch.rand(1, 3, 8, 8)
theirs = names["model"](image).detach().numpy()
assert np.ptp(theirs) > 0.1 and np.abs(net(image.numpy()) - theirs).max() < 0.02, (net(image.numpy()), theirs)
print("quantization-aware training: the export runs on codes")
