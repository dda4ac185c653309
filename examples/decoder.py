#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates text of a decoder, token by token, and writes a transcript, as decoder.cpp does:

    decoder.py model.onnx 1,2,3 20 transcript.json        # 20 tokens behind the prompt 1, 2, 3
    octet verify model.onnx transcript.json
"""

import json
import sys
import zlib

import numpy as np

import octet


def generate(path, tokens, count):
    net = octet.Network(path, rows_alike=True)
    pasts = [(x.name, x.shape) for x in net.inputs if x.name.startswith("past_key_values.")]
    names = {x.name for x in net.inputs}
    feeds = {name: np.zeros((1, shape[1], 0, shape[3]), np.float32) for name, shape in pasts}
    tokens, sums = list(tokens), []
    for _ in range(count):
        new = tokens[len(sums):]
        given = {"input_ids": np.array([new]), "attention_mask": np.ones((1, len(tokens)), np.int64),
                 "position_ids": np.arange(len(sums), len(tokens))[None]}
        outputs = net.run({**feeds, **{name: x for name, x in given.items() if name in names}})
        logits = outputs["logits"][0]
        sums += [f"{zlib.crc32(row.tobytes()):08x}" for row in logits]
        tokens.append(int(logits[-1].argmax()))
        feeds = {name: outputs[name.replace("past_key_values", "present")] for name, _ in pasts}
    return tokens, sums


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    given = [int(token) for token in sys.argv[2].split(",")]
    every, checksums = generate(sys.argv[1], given, int(sys.argv[3]))
    with open(sys.argv[4], "w") as out:
        json.dump({"format": "octet transcript 1", "prompt": len(given), "tokens": every,
                   "logits_crc32": checksums}, out)
    print(every[len(given):])
