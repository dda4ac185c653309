#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of a decoder: PYTHONPATH=build/release/python decoder_speed.py MODEL [--threads 1] [--onnxruntime].

Prints milliseconds of the processor's time: the prompt, a token of one sequence behind it, a step of 16 sequences, a
plain read of the bytes of the weights, which is numpy.sum of floats; then memory against the file and the cache. With
--onnxruntime, decoder_speed.cjs runs the same prompt and tokens in ONNX Runtime (NODE_PATH has onnxruntime-node). The
least of some repetitions counts. The model is one of make_decoder.py. Needs Debian's python3-onnx.
"""

import argparse
import json
import os
import subprocess
import time

import numpy as np
import onnx

import octet


def least(work, times):
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return 1e3 * best


def memory_of_process():
    with open("/proc/self/status") as file:
        return 1024 * next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def size_of(model):
    return sum(os.path.getsize(path) for path in (model, model + ".data") if os.path.exists(path))


def weights_of(model):
    """Bytes of constants that a token reads: all but the table of embeddings."""
    def size(constant):
        outside = {entry.key: entry.value for entry in constant.external_data}
        return int(outside["length"]) if outside else len(constant.raw_data)
    return sum(size(c) for c in onnx.load(model, load_external_data=False).graph.initializer
               if c.name != "model.embed_tokens.weight")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("--tokens", type=int, default=16, help="tokens that are timed behind it")
    parser.add_argument("--nbits", choices=("onnxruntime", "ordered"), default="onnxruntime")
    parser.add_argument("--onnxruntime", action="store_true")
    options = parser.parse_args()
    octet.set_num_threads(options.threads)
    before = memory_of_process()
    begin = time.process_time()
    model = octet.Decoder(options.model, capacity=options.prompt + options.tokens + 16, nbits=options.nbits)
    text = model.sequence()
    text.step(1)
    print(f"load, plan and first token    {1e3 * (time.process_time() - begin):10.1f}")
    text.truncate(0)
    prompt = [1 + i % 30 for i in range(options.prompt)]
    model.batch([(text, prompt)])  # plans it
    text.truncate(0)
    print(f"prompt of {options.prompt:<6}              {least(lambda: model.batch([(text, prompt)]), 1):10.1f}")
    one = least(lambda: text.step(2), options.tokens)
    print(f"a token of one sequence       {one:10.1f}")
    took = memory_of_process() - before
    cache = text.nbytes
    several = [model.sequence() for _ in range(16)]
    together = [(s, [3]) for s in several]
    model.batch(together)
    batch = least(lambda: model.batch(together), 4)
    print(f"a token of each of 16         {batch:10.1f}   {16 * one / batch:.2f} x the tokens of one")
    numbers = np.ones(weights_of(options.model) // 4, np.float32)
    read = least(numbers.sum, 5)
    print(f"a plain read of the weights   {read:10.1f}   {read / one:.2f} of a token's time; one thread")
    file = size_of(options.model)
    print(f"memory                        {took / 1e6:8.0f} MB, file {file / 1e6:.0f} MB, cache {cache / 1e6:.0f} MB")
    if options.onnxruntime:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decoder_speed.cjs")
        del model, text, several, together, numbers
        said = json.loads(subprocess.run(["node", script, options.model, str(options.threads), str(options.prompt),
                                          str(options.tokens)], check=True, capture_output=True, text=True).stdout)
        print(f"ONNX Runtime: prompt          {said['prompt']:10.1f}")
        print(f"ONNX Runtime: a token         {said['token']:10.1f}")


if __name__ == "__main__":
    main()
