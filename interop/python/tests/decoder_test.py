# SPDX-License-Identifier: Apache-2.0
"""octet.Decoder against a network that gets all tokens at once: decoder_test.py MAKE_DECODER. The decoder is
bench/networks/make_decoder.py's."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import octet

MAKE = sys.argv.pop(1)
WORDS = 75


def at_once(model, tokens):
    """A row of logits behind each token."""
    net = octet.Network(model, rows_alike=True)
    pasts = {x.name: np.zeros((1, x.shape[1], 0, x.shape[3]), np.float32) for x in net.inputs if len(x.shape) == 4}
    return net.run({"input_ids": np.array([tokens]), "attention_mask": np.ones((1, len(tokens)), np.int64),
                    **pasts})["logits"][0]


class DecoderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = os.path.join(cls.folder.name, "model.onnx")
        subprocess.run(["/usr/bin/python3", MAKE, "llama", "--output", cls.model], check=True)
        cls.tokens = [int(t) for t in np.random.default_rng(1).integers(0, WORDS, 40)]
        cls.rows = at_once(cls.model, cls.tokens)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_steps_and_chunks_have_the_same_logits(self):
        text = octet.Decoder(self.model, capacity=64).sequence()
        first = text.chunk(self.tokens[:30])
        self.assertEqual((first.dtype, first.shape), (np.float32, (30, WORDS)))
        self.assertEqual(first.tobytes(), self.rows[:30].tobytes())
        for i in range(30, 40):
            row = text.step(self.tokens[i])
            self.assertEqual((row.shape, row.tobytes()), ((WORDS,), self.rows[i].tobytes()))
        self.assertEqual((len(text), text.capacity, repr(text)), (40, 64, "<octet.Sequence of 40 tokens>"))

    def test_forks_batches_and_truncation(self):
        with open(self.model, "rb") as file:
            decoder = octet.Decoder(file.read(), capacity=64, threads=2, nbits="onnxruntime")
        first = decoder.sequence()
        first.chunk(np.array(self.tokens[:20], np.uint8))
        second, other = first.fork(), decoder.sequence()
        y = decoder.batch([(first, [self.tokens[20]]), (other, self.tokens[:3]), (second, self.tokens[20:22])])
        self.assertEqual([row.tobytes() for row in y], [self.rows[i].tobytes() for i in (20, 2, 21)])
        first.truncate(7)
        self.assertEqual(first.step(self.tokens[7]).tobytes(), self.rows[7].tobytes())
        self.assertEqual([len(x) for x in (first, second, other)], [8, 22, 3])
        self.assertEqual(other.nbytes, decoder.bytes_of(3))
        self.assertGreater(decoder.weight_bytes, 10_000)
        self.assertEqual(decoder.batch([]), [])

    def test_a_sequence_keeps_its_decoder(self):
        text = octet.Decoder(self.model, capacity=16).sequence()
        self.assertEqual(text.step(self.tokens[0]).tobytes(), self.rows[0].tobytes())

    def test_threads_take_turns(self):
        decoder, failures = octet.Decoder(self.model, capacity=64), []

        def generate():
            text = decoder.sequence()
            for i in range(20):
                if text.step(self.tokens[i]).tobytes() != self.rows[i].tobytes():
                    failures.append(i)
        threads = [threading.Thread(target=generate) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_refusals(self):
        decoder = octet.Decoder(self.model, capacity=64)
        text = decoder.sequence()
        for kind, sentence, call in [
                (ValueError, "capacity is 0", lambda: octet.Decoder(self.model, capacity=0)),
                (TypeError, "capacity is 1.5", lambda: octet.Decoder(self.model, capacity=1.5)),
                (TypeError, "nbits is 3", lambda: octet.Decoder(self.model, nbits=3)),
                (ValueError, "memory_limit is -1", lambda: octet.Decoder(self.model, memory_limit=-1)),
                (FileNotFoundError, "none.onnx", lambda: octet.Decoder("none.onnx")),
                (TypeError, "model is int", lambda: octet.Decoder(5)),
                (ValueError, "0 tokens are given", lambda: text.chunk([])),
                (ValueError, "65 tokens are given", lambda: text.chunk([1] * 65)),
                (ValueError, "have 2 dimensions", lambda: text.chunk([[1, 2]])),
                (TypeError, "tokens of turn 0", lambda: text.chunk([1.5])),
                (TypeError, "token is '1'", lambda: text.step("1")),
                (ValueError, "Gather", lambda: text.step(WORDS)),
                (ValueError, "size is 1, allowed: 0 to 0", lambda: text.truncate(1)),
                (TypeError, "turn 0 is 5", lambda: decoder.batch([5])),
                (ValueError, "turn 1: its sequence has another turn",
                 lambda: decoder.batch([(text, [1]), (text, [2])])),
                (ValueError, "none of this decoder's",
                 lambda: decoder.batch([(octet.Decoder(self.model).sequence(), [1])]))]:
            with self.subTest(sentence), self.assertRaisesRegex(kind, sentence):
                call()
        self.assertEqual(len(text), 0)


if __name__ == "__main__":
    if not importlib.util.find_spec("onnx"):
        print("skipped: no python3-onnx (scripts/packages.sh)")
        sys.exit(77)
    unittest.main()
