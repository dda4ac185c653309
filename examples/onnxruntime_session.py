#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A quantized .onnx model in ONNX Runtime, without and with Octet: onnxruntime_session.py MODEL. Needs the
packages onnxruntime (1.23 or later), numpy and octet; exits with 77 where one of the first two is missing."""

import sys
import time

try:
    import numpy as np
    import onnxruntime as ort
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import octet.onnxruntime


def inputs_of(session, seed=0):
    random = np.random.default_rng(seed)
    types = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8, "tensor(int64)": np.int64}
    return {i.name: random.uniform(0, 2, [d if isinstance(d, int) else 1 for d in i.shape]).astype(types[i.type])
            for i in session.get_inputs()}


def milliseconds(session, inputs, runs=50):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        session.run(None, inputs)
        times.append(time.perf_counter() - start)
    return 1e3 * sorted(times)[runs // 2]


options = ort.SessionOptions()
options.intra_op_num_threads = 1
plain = ort.InferenceSession(sys.argv[1], sess_options=options, providers=["CPUExecutionProvider"])
octets = ort.InferenceSession(sys.argv[1], sess_options=octet.onnxruntime.session_options(threads=1))
inputs = inputs_of(plain)
equal = all(np.array_equal(a, b) for a, b in zip(plain.run(None, inputs), octets.run(None, inputs)))
print(f"CPU provider {milliseconds(plain, inputs):.3f} ms, Octet {milliseconds(octets, inputs):.3f} ms, outputs",
      "equal" if equal else "DIFFERENT")
sys.exit(0 if equal else 1)
