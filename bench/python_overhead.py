#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs over the same call from C++, on the digits network: python_overhead.py [--rounds 200]

Both take turns in one process, on one thread; the median of the rounds is printed, so that other programs on
the machine matter little.
"""

import argparse
import os
import statistics
import time

import numpy as np
import octet

DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "digits", "digits_int8.tflite")


def main():
    """Measures and prints microseconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    net = octet.Network(DIGITS, threads=1)
    x = np.zeros(net.inputs[0].shape, net.inputs[0].dtype)
    repeat, native, python = 500, [], []
    for _ in range(rounds):
        native.append(net._seconds_per_run(repeat))
        begin = time.perf_counter()
        for _ in range(repeat):
            net(x)
        python.append((time.perf_counter() - begin) / repeat)
    over = statistics.median(p - n for p, n in zip(python, native))
    print(f"C++ {1e6 * statistics.median(native):.2f} us, Python {1e6 * statistics.median(python):.2f} us, "
          f"over C++ {1e6 * over:.2f} us")


if __name__ == "__main__":
    main()
