# SPDX-License-Identifier: Apache-2.0
"""Sequences of decoders: logits that depend neither on what runs beside them nor on how tokens are cut, limits, and
what is freed when. The decoders are bench/networks/make_decoder.py's."""

import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import serving

COMMAND = sys.argv.pop(1)
MAKE = os.path.join(serving.ROOT, "bench", "networks", "make_decoder.py")
PATH, WORDS = "/v2/models/decoder/infer", 75


def made(folder, config, *options):
    os.makedirs(f"{folder}/decoder/1")
    model = f"{folder}/decoder/1/model.onnx"
    subprocess.run(["/usr/bin/python3", MAKE, "llama", "--output", model, *options], check=True)
    serving.write(f"{folder}/decoder/config.json", json.dumps(config))
    return model


def request(sequence, tokens, **more):
    head = json.dumps({"inputs": [{"name": "input_ids", "shape": [1, len(tokens)], "datatype": "INT64",
                                   "data": tokens}],
                       "parameters": {"sequence_id": sequence, "binary_data_output": True, **more}})
    return head.encode()


def logits(reply):
    status, data, headers = reply
    assert status == 200, data
    size = int(headers["Inference-Header-Content-Length"])
    return json.loads(data[:size]), data[size:]


def sentence(reply):
    return reply[0], json.loads(reply[1])["error"]


def expected(model, tokens):
    """Rows of logits of a network that gets all tokens at once."""
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        past = {f"past_key_values.{i}.{kind}": np.zeros((1, 2, 0, 16), np.float32) for i in range(2)
                for kind in ("key", "value")}
        np.savez(f"{folder}/in.npz", input_ids=np.array([tokens]), attention_mask=np.ones((1, len(tokens)), np.int64),
                 **past)
        subprocess.run([COMMAND, "run", model, "--rows-alike", "--input", f"{folder}/in.npz", "--repeat", "1",
                        "--format", "npz", "--output-dir", folder], check=True, stdout=subprocess.DEVNULL)
        return [row.tobytes() for row in np.load(f"{folder}/outputs.npz")["logits"][0]]


class SequencesTest(unittest.TestCase):
    def cache_bytes(self, server):
        return float(re.search(rb'octet_model_buffer_bytes{model="decoder",version="1"} (\S+)',
                               server.get("/metrics", server.metrics)[1])[1])

    def wait_for_bytes(self, server, wanted):
        for _ in range(1200):  # a step that runs ends first, on a busy machine late
            if self.cache_bytes(server) == wanted:
                return
            time.sleep(0.05)
        self.fail(f"keys and values take {self.cache_bytes(server)} bytes, expected are {wanted}")

    def test_answers_do_not_depend_on_other_sequences(self):
        with tempfile.TemporaryDirectory() as folder:
            model = made(folder, {"max_sequences": 8, "max_sequence_tokens": 128})
            texts = [[random.Random(i).randrange(WORDS) for _ in range(20 + 9 * i)] for i in range(6)]
            rows = [expected(model, text) for text in texts]
            wrong = []

            def ask(server, i):
                draw, done = random.Random(100 + i), 0
                while done < len(texts[i]):
                    count = min(len(texts[i]) - done, draw.choice([1, 1, 1, 1, 3, 17]))
                    is_last = done + count == len(texts[i])
                    head, data = logits(server.post(PATH, request(
                        i + 1, texts[i][done:done + count], sequence_start=done == 0, sequence_end=is_last)))
                    done += count
                    if data != rows[i][done - 1] or head["outputs"][0]["shape"] != [1, 1, WORDS]:
                        wrong.append((i, done))

            with serving.Server(COMMAND, "--models", folder) as server:
                threads = [threading.Thread(target=ask, args=(server, i)) for i in range(len(texts))]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual(wrong, [])
                self.wait_for_bytes(server, 0)
                metadata = json.loads(server.get("/v2/models/decoder")[1])
                self.assertEqual([metadata["inputs"][0]["shape"], metadata["outputs"][0]["shape"]],
                                 [[1, -1], [1, -1, WORDS]])
                self.assertIn("sequence", json.loads(server.get("/v2")[1])["extensions"])

    def test_limits_and_refusals(self):
        page_bytes = 2 * 2 * 2 * 4096  # of layers, keys and values, heads
        with tempfile.TemporaryDirectory() as folder:
            made(folder, {"max_sequences": 2, "max_sequence_tokens": 80, "max_cache_bytes": page_bytes * 5 // 2})
            with serving.Server(COMMAND, "--models", folder) as server:
                def post(*arguments, **more):
                    return server.post(PATH, request(*arguments, **more))
                self.assertEqual(sentence(post(0, [1]))[0], 400)
                self.assertIn("'sequence_id' is 0", sentence(post(0, [1]))[1])
                self.assertIn("sequence 5 is not open", sentence(post(5, [1]))[1])
                self.assertIn("shape 1x0", sentence(post(1, [], sequence_start=True))[1])
                self.assertIn("shape 1x81", sentence(post(1, [1] * 81, sequence_start=True))[1])
                self.assertEqual(self.cache_bytes(server), 0)
                first = logits(post(1, [1, 2], sequence_start=True))[1]
                logits(post(2, [3], sequence_start=True))
                self.assertEqual(sentence(post(3, [4], sequence_start=True)), (503, "2 sequences are open already"))
                self.assertEqual(sentence(post(1, [WORDS]))[0], 400)  # no such token
                logits(post(1, [7] * 60))
                status, text = sentence(post(2, [7] * 70))  # another page of rows
                self.assertEqual(status, 503)
                self.assertIn(f"allowed are {page_bytes * 5 // 2}", text)
                self.assertIn("would have 82 tokens, allowed are 80", sentence(post(1, [7] * 20))[1])
                head, data = logits(post(2, [], sequence_end=True))
                self.assertEqual((head["outputs"][0]["shape"], data), ([1, 0, WORDS], b""))
                self.assertIn("sequence 2 is not open", sentence(post(2, [1]))[1])
                again = logits(post(1, [1, 2], sequence_start=True, sequence_end=True))[1]
                self.assertEqual(again, first)
                self.assertEqual(self.cache_bytes(server), 0)

    def test_a_client_that_leaves_frees_its_sequence(self):
        with tempfile.TemporaryDirectory() as folder:
            made(folder, {"max_sequences": 1, "max_sequence_tokens": 4000}, "--hidden=256", "--inner=768", "--layers=6",
                 "--heads=8")
            with serving.Server(COMMAND, "--models", folder, "--workers", "1") as server:
                logits(server.post(PATH, request(1, [1, 2, 3], sequence_start=True)))
                self.assertGreater(self.cache_bytes(server), 0)
                client = http.client.HTTPConnection("127.0.0.1", server.http)
                client.request("POST", PATH, request(1, [5] * 3500))
                time.sleep(0.1)
                client.close()
                self.wait_for_bytes(server, 0)
                logits(server.post(PATH, request(2, [1], sequence_start=True)))

    def test_a_decoder_is_served_like_other_models(self):
        with tempfile.TemporaryDirectory() as folder:
            made(folder, {"rows_alike": False})
            with serving.Server(COMMAND, "--models", folder) as server:
                names = [x["name"] for x in json.loads(server.get("/v2/models/decoder")[1])["inputs"]]
                self.assertIn("past_key_values.1.value", names)
                pasts = [{"name": name, "shape": [1, 2, 2, 16], "datatype": "FP32", "data": [0.5] * 64}
                         for name in names[2:]]
                tokens = [{"name": name, "shape": [1, len(data)], "datatype": "INT64", "data": data}
                          for name, data in (("input_ids", [5, 6, 7]), ("attention_mask", [1, 1, 1, 1, 1]))]
                status, text = server.post(PATH, json.dumps({"inputs": tokens + pasts}).encode())[:2]
                self.assertEqual(status, 200, text)
                head = json.loads(text)
                shapes = {x["name"]: x["shape"] for x in head["outputs"]}
                self.assertEqual(shapes["logits"], [1, 3, WORDS])
                self.assertEqual(shapes["present.0.key"], [1, 2, 5, 16])

    def test_no_configuration_is_needed(self):
        with tempfile.TemporaryDirectory() as folder:
            made(folder, {})
            with serving.Server(COMMAND, "--models", folder) as server:
                rows = {logits(server.post(PATH, request(i, [1, 2], sequence_start=True)))[1] for i in range(1, 18)}
                self.assertEqual(len(rows), 1)

    def test_an_idle_sequence_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            made(folder, {"max_sequences": 1, "max_sequence_idle_milliseconds": 100})
            with serving.Server(COMMAND, "--models", folder) as server:
                logits(server.post(PATH, request(1, [1], sequence_start=True)))
                time.sleep(0.3)
                logits(server.post(PATH, request(2, [1], sequence_start=True)))
                self.assertIn("sequence 1 is not open", sentence(server.post(PATH, request(1, [1])))[1])


if __name__ == "__main__":
    try:
        import numpy  # noqa: F401
        import onnx  # noqa: F401
    except ImportError:
        print("skipped: no python3-onnx or python3-numpy (scripts/packages.sh)")
        sys.exit(77)
    unittest.main()
