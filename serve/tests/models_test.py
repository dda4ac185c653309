# SPDX-License-Identifier: Apache-2.0
"""Models that cannot be loaded, take long, come, go and are replaced; what the server says of itself
meanwhile, and how it ends."""

import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import serving
from http2 import *

COMMAND = sys.argv.pop(1)
INFER = "/v2/models/digits/infer"
LIMIT = f"-d {1 << 20}"  # KiB of data
DIGITS = os.path.join(serving.ROOT, "examples", "digits", "digits_int8.tflite")


def digits_bytes():
    with open(DIGITS, "rb") as file:
        return file.read()


def path_in(folder, *names):
    return os.path.join(folder, *names)


def grpc_health(port):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        s.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1,
                                                          head("/grpc.health.v1.Health/Check"))
                  + frame(DATA, END_STREAM, 1, message(b"")))
        return b"".join(content for kind, _, stream, content in frames(receive(
            s, lambda data: ends(data, 1))) if (kind, stream) == (DATA, 1))[5:]


class ModelsTest(unittest.TestCase):
    digits = serving.digits()[:20]

    def check(self, server):
        for codes, expected in self.digits:
            status, data, headers = server.post(INFER, *serving.binary_request(codes))
            self.assertEqual((status, data[int(headers["Inference-Header-Content-Length"]) :]), (200, expected))

    def reasons(self, server):
        return {row["name"]: row["reason"] for row in json.loads(server.post("/v2/repository/index", b"")[1])}

    def wait_for(self, condition, seconds=30):
        until = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def test_a_model_that_does_not_fit_takes_nobody_along(self):
        with serving.Folder("{}") as folder, serving.limited(COMMAND, LIMIT) as script:
            serving.write(path_in(folder, "giant", "1", "model.onnx"), serving.giant_model())
            with serving.Server(script, "--models", folder) as server:
                self.check(server)
                self.assertIn("does not fit", self.reasons(server)["giant"])

    def test_a_model_that_takes_too_long_is_given_up(self):
        with serving.Folder("{}") as folder:
            serving.write(path_in(folder, "slow", "1", "model.onnx"), serving.slow_model())
            with serving.Server(COMMAND, "--models", folder, "--load-ms", "1500") as server:
                self.check(server)
                self.assertIn("longer than 1500 ms", self.reasons(server)["slow"])

    def test_a_trial_that_is_killed_kills_nobody_else(self):
        with serving.Folder("{}") as folder:
            with serving.Server(COMMAND, "--models", folder, "--poll-ms", "20") as server:
                serving.write(path_in(folder, "slow", "1", "model.onnx"), serving.slow_model())
                def children():
                    return subprocess.run(["ps", "--ppid", str(server.process.pid), "-o", "pid="],
                                          capture_output=True, text=True).stdout.split()
                self.wait_for(children)
                os.kill(int(children()[0]), signal.SIGKILL)
                self.wait_for(lambda: "killed" in self.reasons(server).get("slow", ""))
                self.check(server)

    def test_readiness_is_the_truth(self):
        ports = {name: serving.free_port() for name in ("http", "grpc", "metrics")}
        with serving.Folder("{}") as folder:
            serving.write(path_in(folder, "slow", "1", "model.onnx"), serving.slow_model())
            with serving.Server(COMMAND, "--models", folder, "--load-ms", "3000", is_loading=True, **ports) as server:
                def asks(path, port=None):
                    try:
                        return server.get(path, port)
                    except OSError:
                        return None
                self.wait_for(lambda: asks("/v2/health/live") and asks("/v2/health/live", server.metrics))
                self.assertEqual(server.get("/v2/health/ready"), (503, b'{"ready":false}'))
                self.assertEqual(server.get("/v2/health/live"), (200, b'{"live":true}'))
                self.assertEqual(server.get("/v2/health/ready", server.metrics)[0], 503)
                server.wait_for_line("ready: HTTP")
                self.assertEqual(server.get("/v2/health/ready")[0], 503)  # one of them could not be loaded
                self.assertEqual(server.get("/v2/models/slow/ready"), (503, b'{"name":"slow","ready":false}'))
                self.assertEqual(server.get("/v2/models/digits/ready"), (200, b'{"name":"digits","ready":true}'))
                self.check(server)
                shutil.rmtree(path_in(folder, "slow"))
                server.process.send_signal(signal.SIGHUP)
                self.wait_for(lambda: server.get("/v2/health/ready")[0] == 200)
            serving.write(path_in(folder, "broken", "1", "model.onnx"), b"nonsense")
            with serving.Server(COMMAND, "--models", folder, "--lax-readiness") as server:
                self.assertEqual(server.get("/v2/health/ready")[0], 200)

    def test_its_name_among_the_processes(self):
        with serving.Folder("{}") as folder, serving.Server(COMMAND, "--models", folder) as server:
            with open(f"/proc/{server.process.pid}/cmdline", "rb") as words:
                self.assertTrue(words.read().startswith(b"octet-serve\0--http\0"))

    def test_it_ends_while_it_loads(self):
        ports = {name: serving.free_port() for name in ("http", "grpc", "metrics")}
        with serving.Folder("{}") as folder:
            serving.write(path_in(folder, "slow", "1", "model.onnx"), serving.slow_model())
            with serving.Server(COMMAND, "--models", folder, is_loading=True, **ports) as server:
                server.wait_for_line("models are being loaded")
                self.assertEqual(grpc_health(server.grpc), b"\x08\x02")  # NOT_SERVING
                begin = time.monotonic()
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(server.process.wait(30), 0)
                self.assertLess(time.monotonic() - begin, 5)

    def test_loading_and_large_json_make_nobody_wait(self):
        with serving.Folder("{}") as folder:
            options = ["--allow-repository-changes", "--poll-ms", "0", "--io-threads", "1", "--load-ms", "3000"]
            with serving.Server(COMMAND, "--models", folder, *options) as server:
                serving.write(path_in(folder, "slow", "1", "model.onnx"), serving.slow_model())
                statuses = []
                load = threading.Thread(
                    target=lambda: statuses.append(server.post("/v2/repository/models/slow/load", b"")[0]))
                load.start()
                longest = 0
                while load.is_alive():
                    begin = time.monotonic()
                    self.assertEqual(server.get("/v2/health/live")[0], 200)
                    self.check(server)
                    longest = max(longest, time.monotonic() - begin)
                load.join()
                self.assertEqual(statuses, [503])
                self.assertLess(longest, 2.5)  # 21 requests, beside a trial that takes all CPUs
                large = json.dumps({"inputs": [{"name": "image", "shape": [3_000_000], "datatype": "INT8",
                                                "data": [0] * 3_000_000}]}).encode()
                readers = [threading.Thread(target=lambda: statuses.append(server.post(INFER, large)[0]))
                           for _ in range(4)]
                for r in readers:
                    r.start()
                while any(r.is_alive() for r in readers):
                    self.assertEqual(server.get("/v2/health/live")[0], 200)
                self.assertEqual(statuses[1:], [400] * 4)
                codes, expected = b"".join(c for c, _ in self.digits), b"".join(e for _, e in self.digits)
                large = json.dumps({"id": "x" * 500, "unknown": [0] * 40_000, "inputs": [
                    {"name": "image", "shape": [20, 8, 8, 1], "datatype": "INT8",
                     "data": [c - 256 if c > 127 else c for c in codes]}]}).encode()
                answer = json.loads(server.post(INFER, large)[1])
                self.assertEqual(bytes(v & 255 for v in answer["outputs"][0]["data"]), expected)

    def test_a_file_of_the_same_size_and_time(self):
        other = bytearray(digits_bytes())
        other[-1] ^= 1
        with serving.Folder("{}") as folder, serving.Server(COMMAND, "--models", folder, "--poll-ms", "0",
                                                            "--allow-repository-changes") as server:
            path = path_in(folder, "digits", "1", "model.tflite")
            before = os.stat(path)
            serving.write(path, bytes(len(other)))
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            server.post("/v2/repository/models/digits/load", b"")
            self.assertNotEqual(self.reasons(server)["digits"], "")
            self.check(server)
            serving.write(path + "~", digits_bytes())
            os.utime(path + "~", ns=(before.st_atime_ns, before.st_mtime_ns))
            os.replace(path + "~", path)
            self.assertEqual(server.post("/v2/repository/models/digits/load", b"")[0], 200)
            self.assertEqual(self.reasons(server)["digits"], "")

    def test_a_folder_that_is_empty_for_a_moment(self):
        for option, expected in (([], 200), (["--allow-empty"], 404)):
            with serving.Folder("{}") as folder, serving.Server(COMMAND, "--models", folder, "--poll-ms", "0",
                                                                *option) as server:
                os.rename(path_in(folder, "digits"), folder + ".digits")
                server.process.send_signal(signal.SIGHUP)
                server.wait_for_line("reloaded")
                self.assertEqual(server.get("/v2/models/digits/ready")[0], expected)
                self.assertEqual("is empty" in "".join(server.lines), expected == 200)
                os.rename(folder + ".digits", path_in(folder, "digits"))
                server.process.send_signal(signal.SIGHUP)
                server.wait_for_line("reloaded")
                self.check(server)

    def test_models_that_clients_load(self):
        with serving.Folder("{}") as folder, serving.Server(COMMAND, "--models", folder, "--model-control", "explicit",
                                                            "--allow-repository-changes") as server:
            self.assertEqual(server.get("/v2/health/ready")[0], 200)
            self.assertEqual(server.get("/v2/models/digits/ready")[0], 404)
            self.assertEqual(server.post("/v2/repository/models/digits/load", b"")[0], 200)
            self.check(server)
            self.assertEqual(server.post("/v2/repository/models/digits/unload", b"")[0], 200)
            self.assertEqual(server.get("/v2/models/digits/ready")[0], 404)

    def test_folders_with_a_single_file(self):
        """As KServe delivers a storageUri, and as people copy a file."""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(DIGITS, path_in(folder, "digits.tflite"))
            with serving.Server(COMMAND, "--models", folder) as server:
                self.check(server)
            os.rename(path_in(folder, "digits.tflite"), path_in(folder, "model.tflite"))
            with serving.Server(COMMAND, "--models", folder, "--model-name", "digits") as server:
                self.check(server)
            os.mkdir(path_in(folder, "1"))
            os.rename(path_in(folder, "model.tflite"), path_in(folder, "1", "model.tflite"))
            with serving.Server(COMMAND, "--models", folder, "--model-name", "digits") as server:
                self.check(server)

    def test_check_and_digests(self):
        def check(folder):
            done = subprocess.run([COMMAND, "serve", "--models", folder, "--check"], capture_output=True,
                                  text=True, timeout=120)
            return done.returncode, done.stdout

        digest = hashlib.sha256(digits_bytes()).hexdigest()
        with serving.Folder(json.dumps({"sha256": digest})) as folder:
            self.assertEqual(check(folder), (0, "digits version 1: good\n"))
            serving.write(path_in(folder, "digits", "config.json"), json.dumps({"sha256": "0" * 64}))
            code, said = check(folder)
            self.assertEqual(code, 1)
            self.assertIn(digest, said)
            serving.write(path_in(folder, "digits", "config.json"), '{"unknown": 1}')
            self.assertEqual(check(folder)[0], 1)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check(folder),
                             (1,
                              f"{folder}: has no model, allowed: NAME/VERSION/model.tflite, .onnx or .octet\n"))
            done = subprocess.run([COMMAND, "serve", "--demo", "--check", "--tls-certificate", folder,
                                   "--tls-key", folder],
                                  capture_output=True, text=True)
            self.assertIn(f"{folder}: cannot be read as a certificate (--tls-certificate) in PEM: ", done.stderr)
        done = subprocess.run([COMMAND, "serve", "--demo", "--check", "--http", "127.0.0.1:70000"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("0 to 65535", done.stderr)

    def test_digests_of_data_beside_the_model(self):
        weight = (serving.field(1, 1) + serving.field(2, 1) + serving.field(8, "w")
                  + serving.field(13, serving.field(1, "location") + serving.field(2, "weights.data"))
                  + serving.field(14, 1))
        graph = serving.node("Add", ["x", "w"], ["y"]) + serving.field(2, "g") + serving.field(5, weight)
        graph += serving.field(11, serving.float_tensor("x", 1)) + serving.field(12, serving.float_tensor("y", 1))
        data = struct.pack("<f", 3)
        digests = {"model": hashlib.sha256(serving.model_file(graph)).hexdigest(),
                   "weights.data": hashlib.sha256(data).hexdigest()}
        for pinned, content, expected in ((digests, data, "good"),
                                          (digests, struct.pack("<f", 4), "weights.data: its SHA-256 is"),
                                          (digests["model"], data, "names no digest of it")):
            with tempfile.TemporaryDirectory() as folder:
                serving.write(path_in(folder, "sum", "1", "model.onnx"), serving.model_file(graph))
                serving.write(path_in(folder, "sum", "1", "weights.data"), content)
                serving.write(path_in(folder, "sum", "config.json"), json.dumps({"sha256": pinned}))
                done = subprocess.run([COMMAND, "serve", "--models", folder, "--check"], capture_output=True,
                                      text=True, timeout=120)
                self.assertIn(expected, done.stdout)
                self.assertEqual(done.returncode, expected != "good")

    def test_findings_are_stored_once(self):
        """What measuring found is read again, for the same bytes, and a file that is no findings is as good as none."""
        with serving.Folder("{}") as folder:
            stored = path_in(folder, "digits", "1", "model.tflite.findings.json")
            with serving.Server(COMMAND, "--models", folder) as server:
                self.check(server)
            self.assertFalse(os.path.exists(stored))
            with serving.Server(COMMAND, "--models", folder, "--save-findings"):
                pass
            with open(stored) as file:
                found = json.load(file)
            self.assertEqual(found["conditions"]["sha256"], hashlib.sha256(digits_bytes()).hexdigest())
            for sizes, expected in (([1, 3, 5], "batches of 1, 3, 5"), ([5, 3], "batches of 1"),
                                    (["x"], "batches of 1")):
                found["findings"]["sizes"] = sizes
                serving.write(stored, json.dumps(found))
                with serving.Server(COMMAND, "--models", folder) as server:
                    self.check(server)
                self.assertIn(expected, "".join(server.lines))
                self.assertEqual("batches of 1, 3, 5" in "".join(server.lines), sizes == [1, 3, 5])
            # Findings of another version have other keys: the model is measured, and they are written anew.
            found["findings"]["why_alone"] = found["findings"].pop("unbatchable_because")
            serving.write(stored, json.dumps(found))
            with serving.Server(COMMAND, "--models", folder, "--save-findings") as server:
                self.check(server)
            self.assertNotIn("findings", "".join(server.lines))
            with open(stored) as file:
                written = json.load(file)["findings"]
            self.assertEqual((written["unbatchable_because"], "why_alone" in written), ("", False))
            found["findings"]["unbatchable_because"] = found["findings"].pop("why_alone")
            found["conditions"]["sha256"] = "0" * 64
            found["findings"]["sizes"] = [1, 3, 5]
            serving.write(stored, json.dumps(found))
            with serving.Server(COMMAND, "--models", folder) as server:
                self.assertNotIn("batches of 1, 3, 5", "".join(server.lines))

    def test_models_of_one_name(self):
        """They are refused before one of them is loaded."""
        with tempfile.TemporaryDirectory() as folder:
            slow = path_in(folder, "digits.onnx")
            serving.write(slow, serving.slow_model())
            begin = time.monotonic()
            for arguments, both in (((slow, slow), f"{slow} and {slow}"),
                                    (("--demo", slow), f"the one of --demo and {slow}")):
                done = subprocess.run([COMMAND, "serve", *arguments, "--check"], capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(f"two models are called 'digits': {both}", done.stderr)
            self.assertLess(time.monotonic() - begin, 10)

    def test_warming_up_has_a_bound(self):
        """A network that takes long is run a few times, not once for every size of batch on every instance."""
        with tempfile.TemporaryDirectory() as folder:
            serving.write(path_in(folder, "slow", "1", "model.onnx"), serving.slow_model(products=12, size=1200))
            with serving.Server(COMMAND, "--models", folder, "--workers", "8") as server:
                took = int(re.search(r"loaded in (\d+) ms", "".join(server.lines))[1])
                head = json.dumps({"inputs": [{"name": "x", "shape": [1200, 1200], "datatype": "FP32",
                                               "parameters": {"binary_data_size": 4 * 1200**2}}],
                                   "parameters": {"binary_data_output": True}}).encode()
                begin = time.monotonic()
                self.assertEqual(server.post("/v2/models/slow/infer", head + bytes(4 * 1200**2),
                                             {"Inference-Header-Content-Length": str(len(head))})[0], 200)
                self.assertLess(took / 1000, 6 + 20 * (time.monotonic() - begin))

    def test_models_with_open_sizes_share_their_memory(self):
        """Six models, each of which may take a quarter of the memory for one size: together they take no more."""
        def rows(n):
            perm = serving.field(1, "perm") + serving.field(8, 1) + serving.field(8, 0) + serving.field(20, 7)
            return serving.model_file(serving.node("Transpose", ["x"], ["t"], perm)
                                      + serving.node("MatMul", ["x", "t"], ["y"]) + serving.field(2, "g")
                                      + serving.field(11, serving.float_tensor("x", "n", 2))
                                      + serving.field(12, serving.float_tensor("y", "n", "n")))

        with tempfile.TemporaryDirectory() as folder, serving.limited(COMMAND, LIMIT) as script:
            for i in range(6):
                serving.write(path_in(folder, f"rows{i}", "1", "model.onnx"), rows(i))
                serving.write(path_in(folder, f"rows{i}", "config.json"), '{"shapes": {"x": [4, 2]}, "instances": 1}')
            with serving.Server(script, "--models", folder) as server:
                for i in range(18):
                    n = 5000 + i // 6
                    head = json.dumps({"inputs": [{"name": "x", "shape": [n, 2], "datatype": "FP32",
                                                   "parameters": {"binary_data_size": 8 * n}}],
                                       "outputs": [{"name": "y",
                                                    "parameters": {"classification": 1}}]}).encode()
                    status, data, _ = server.post(f"/v2/models/rows{i % 6}/infer", head + bytes(8 * n),
                                                  {"Inference-Header-Content-Length": str(len(head))})
                    self.assertIn(status, (200, 503), data)
                with open(f"/proc/{server.process.pid}/status") as file:
                    most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
                self.assertLess(most, 900 << 10)  # KiB
                self.assertEqual(server.get("/v2/health/ready")[0], 200)

    def test_no_request_is_lost_when_it_ends(self):
        """Clients that keep connections, and clients that make new ones: each request has an answer, until
        nobody listens."""
        for _ in range(3):
            server = serving.Server(COMMAND, "--demo")
            lost, answers, over = [], [], threading.Event()

            def client(keeps):
                connection = None
                while not over.is_set():
                    try:
                        if connection is None:
                            connection = http.client.HTTPConnection("127.0.0.1", server.http, timeout=30)
                            connection.connect()
                    except ConnectionRefusedError:
                        return  # nobody listens
                    try:
                        body, headers = serving.binary_request(self.digits[0][0])
                        connection.request("POST", INFER, body, headers)
                        reply = connection.getresponse()
                        reply.read()
                        answers.append(reply.status)
                        if reply.will_close or not keeps:
                            connection.close()
                            connection = None
                    except (http.client.HTTPException, OSError) as failure:
                        lost.append(repr(failure))
                        return

            clients = [threading.Thread(target=client, args=(i % 2 == 0,)) for i in range(8)]
            for c in clients:
                c.start()
            time.sleep(0.3)
            server.__exit__(None)  # SIGTERM, and an exit code of 0
            over.set()
            for c in clients:
                c.join()
            self.assertEqual(lost, [])
            self.assertLessEqual(set(answers), {200, 503})

    def test_clients_that_send_no_more_are_answered(self):
        with serving.Server(COMMAND, "--demo") as server, socket.create_connection(("127.0.0.1", server.http),
                                                                                   timeout=20) as s:
            body, headers = serving.binary_request(self.digits[0][0])
            head = "".join(f"{k}: {v}\r\n" for k, v in headers.items())
            s.sendall(f"POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body)
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(s.recv(1000)[9:12], b"200")


if __name__ == "__main__":
    unittest.main()
