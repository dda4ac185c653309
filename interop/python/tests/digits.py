# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: random codes, and the example network with images and their answers."""

import os
import unittest

import numpy as np

import octet

DIGITS = os.path.join(os.environ.get("OCTET_SOURCE_DIR", "."), "examples", "digits")
random = np.random.default_rng(1)


def codes(*shape, dtype=np.int8):
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype, endpoint=True)


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.net = octet.Network(os.path.join(DIGITS, "digits_int8.tflite"))
        cls.images = codes(20, 1, 8, 8, 1)
        cls.expected = [cls.net(image) for image in cls.images]
