# SPDX-License-Identifier: Apache-2.0
"""A user's program with types; mypy --strict must accept it, and know that the last line is wrong."""

from typing import Dict, List, Tuple

import numpy as np
import octet
import octet.torch


def classify(path: str, image: "np.ndarray[Tuple[int, ...], np.dtype[np.int8]]") -> int:
    net = octet.Network(path, batch=1, threads=2, rule="tflite_2step")
    scale: float = net.inputs[0].scale or 1.0
    scores: Dict[str, octet.operations.Array] = net.run({net.inputs[0].name: image})
    found: octet.Comparison = octet.compare(net, list(scores.values()), image)
    if found.first:
        print(found.first.name, found.first.count, scale)
    y = octet.conv2d(image, np.ones((1, 1, 1, 1), np.int8), rule="none", padding=((0, 1), (1, 0)))
    return int(y.argmax())


def generate(path: str, prompt: List[int]) -> List[int]:
    decoder = octet.Decoder(path, capacity=64, threads=1)
    text: octet.Sequence = decoder.sequence()
    logits: octet.operations.Array = text.chunk(prompt)[-1]
    other = text.fork()
    both = decoder.batch([(text, [int(logits.argmax())]), (other, np.array([1]))])
    other.truncate(len(prompt))
    return [int(text.step(int(both[0].argmax())).argmax()), decoder.bytes_of(text.capacity)]


wrong: str = classify("model.tflite", np.zeros((1, 1, 8, 8), np.int8))
