#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates text of a decoder, token by token, and writes a transcript, as decoder.cpp does:

    decoder.py model.onnx 1,2,3 20 transcript.json        # 20 tokens behind the prompt 1, 2, 3
    octet verify model.onnx transcript.json
"""

import json
import sys
import zlib

import octet


def generate(path, tokens, count):
    text = octet.Decoder(path).sequence()
    tokens, sums = list(tokens), []
    for _ in range(count):
        logits = text.chunk(tokens[len(text):])
        sums += [f"{zlib.crc32(row.tobytes()):08x}" for row in logits]
        tokens.append(int(logits[-1].argmax()))
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
