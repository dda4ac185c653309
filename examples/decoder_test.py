#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of decoders and `octet verify`: decoder_test.py OCTET OCTET_DECODER MAKE_DECODER [FOLDER_OF_PACKAGE].

Small decoders generate the same tokens and the same logits however the prompt is cut and on any number of threads; one
pass over the whole confirms them, and names the first position of a transcript that was changed.
"""

import json
import os
import subprocess
import sys
import tempfile

OCTET, DECODER, MAKE, *PACKAGE = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
PROMPT, COUNT = list(range(3, 40)), 12
KINDS = {"llama": ["--bits", "4"], "qwen": ["--bits", "8", "--block", "16"],
         "gemma": ["--layers", "3", "--head", "32", "--zero-points"], "llama_float": ["--level", "0"]}


def generated(model, chunk, threads):
    environment = dict(os.environ, OCTET_NUM_THREADS=str(threads))
    subprocess.run([DECODER, model, ",".join(map(str, PROMPT)), str(COUNT), "t.json", str(chunk)], check=True,
                   env=environment, stdout=subprocess.DEVNULL)
    with open("t.json") as file:
        return json.load(file)


def generated_in_python(model):
    subprocess.run(["/usr/bin/python3", f"{HERE}/decoder.py", model, ",".join(map(str, PROMPT)), str(COUNT), "t.json"],
                   check=True, env=dict(os.environ, PYTHONPATH=PACKAGE[0]), stdout=subprocess.DEVNULL)
    with open("t.json") as file:
        return json.load(file)


def verified(model, transcript, *options):
    with open("t.json", "w") as file:
        json.dump(transcript, file)
    return subprocess.run([OCTET, "verify", model, "t.json", *options], capture_output=True, text=True)


def main():
    try:
        import onnx  # noqa: F401
    except ImportError:
        print("skipped: no python3-onnx (scripts/packages.sh)")
        sys.exit(77)
    for kind, options in KINDS.items():
        model = f"{kind}.onnx"
        subprocess.run(["/usr/bin/python3", MAKE, kind.split("_")[0], "--output", model, *options], check=True)
        whole = generated(model, len(PROMPT), 1)
        assert len(whole["tokens"]) == len(PROMPT) + COUNT and len(whole["logits_crc32"]) == len(whole["tokens"]) - 1
        for chunk in (1, 7, 30):
            for threads in (1, 3):
                assert generated(model, chunk, threads) == whole, f"{kind} in chunks of {chunk}, {threads} threads"
        assert not PACKAGE or generated_in_python(model) == whole, f"{kind} in Python"
        said = verified(model, whole)
        assert said.returncode == 0 and said.stdout == "all 48 positions have the same logits\n", said
        whole["tokens"][40] = (whole["tokens"][40] + 1) % 75
        said = verified(model, whole, "--json")
        assert said.returncode == 1 and json.loads(said.stdout)["first_different"] == 40, said
        assert verified(model, whole).stdout.startswith("position 40 of 48 differs, behind token "), said
    for wrong, sentence in (({}, 'is no JSON object with "format": "octet transcript 1"'),
                            ({**whole, "tokens": "a"}, '"tokens" is no list of integers'),
                            ({**whole, "tokens": [1 << 32]}, "a token is 4294967296, allowed: integers of 32 bits"),
                            ({**whole, "logits_crc32": []}, '"logits_crc32" has 0 checksums, allowed: 1 to 49')):
        said = verified(model, wrong)
        assert said.returncode == 2 and sentence in said.stderr, said


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
