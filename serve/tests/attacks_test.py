# SPDX-License-Identifier: Apache-2.0
"""Requests and models that want more than there is. After each of them the same server answers others, within
a limit of memory."""

import os
import socket
import struct
import sys
import threading
import unittest

import serving

COMMAND = sys.argv.pop(1)
INFER = "/v2/models/digits/infer"
LIMIT = f"-d {1 << 20}"  # KiB of data: half of what the manifests in serve/deploy give


def post_head(path, *headers):
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: x") + headers + ("", "")).encode()


def products_of_all_rows():
    """x [n, 2] times itself: n * n products."""
    perm = serving.field(1, "perm") + serving.field(8, 1) + serving.field(8, 0) + serving.field(20, 7)
    return serving.model_file(serving.field(1, serving.field(1, "x") + serving.field(
        2, "t") + serving.field(4, "Transpose") + serving.field(5, perm))
                      + serving.field(1, serving.field(1, "x") + serving.field(1, "t") + serving.field(
                          2, "y") + serving.field(4, "MatMul")) + serving.field(2, "g")
                      + serving.field(11, serving.float_tensor("x", "n", 2))
                              + serving.field(12, serving.float_tensor("y", "n", "n")))


class AttacksTest(unittest.TestCase):
    digits = serving.digits()[:20]

    def check(self, server):
        for codes, expected in self.digits:
            body, headers = serving.binary_request(codes)
            status, data, headers = server.post(INFER, body, {**headers, "Authorization": "Bearer secret"})
            self.assertEqual((status, data[int(headers["Inference-Header-Content-Length"]) :]), (200, expected))
        self.assertEqual(server.get("/v2/health/ready")[0], 200)

    def test_bodies_that_are_announced_take_nothing(self):
        with serving.limited(COMMAND, LIMIT) as script, serving.Server(script, "--demo") as server:
            held = []
            for header in ("Content-Length: 67108864", "Transfer-Encoding: chunked"):
                for _ in range(40):
                    held.append(socket.create_connection(("127.0.0.1", server.http)))
                    held[-1].sendall(post_head(INFER, header) + b"{")
            self.check(server)
            for s in held:
                s.close()

    def test_a_client_that_sends_much_is_refused(self):
        """Half of the memory for requests is one client's, 127.0.0.2, in 64 bodies that have no end."""
        def send():
            with socket.create_connection(("127.0.0.1", server.http), source_address=("127.0.0.2", 0)) as s:
                try:
                    s.sendall(post_head(INFER, "Content-Length: 8000000") + b" " * 7_900_000)
                    s.settimeout(20)
                    over.wait(0.5)
                    with lock:
                        statuses.append(s.recv(20)[9:12])
                except OSError:  # refused before it could send all
                    statuses.append(b"503")

        with serving.limited(COMMAND, LIMIT) as script, serving.Server(script, "--demo", "--receive-ms",
                                                                       "4000") as server:
            statuses, lock, over = [], threading.Lock(), threading.Event()
            threads = [threading.Thread(target=send) for _ in range(32)]
            for t in threads:
                t.start()
            self.check(server)
            for t in threads:
                t.join()
            self.assertIn(b"503", statuses)
            self.check(server)

    def test_no_token_no_memory(self):
        with serving.limited(COMMAND, LIMIT) as script:
            token = os.path.join(os.path.dirname(script), "token")
            serving.write(token, "secret\n")
            with serving.Server(script, "--demo", "--token-file", token) as server:
                for header in ("Content-Length: 60000000", "Transfer-Encoding: chunked"):
                    with socket.create_connection(("127.0.0.1", server.http), timeout=20) as s:
                        s.sendall(post_head(INFER, header))
                        self.assertEqual(s.recv(1000)[9:12], b"401")
                self.check(server)

    def test_json_without_end(self):
        with serving.limited(COMMAND, LIMIT) as script, serving.Server(script, "--demo") as server:
            for path in (INFER, "/v2/repository/index", "/v2/repository/models/digits/load"):
                for text in (b"[", b'{"":', b'{"inputs":', b'{"inputs":[{"data":['):
                    with socket.create_connection(("127.0.0.1", server.http), timeout=20) as s:
                        body = text * (8_000_000 // len(text))
                        try:
                            s.sendall(post_head(path, f"Content-Length: {len(body)}") + body)
                        except OSError:  # it does not read on
                            pass
                        try:
                            self.assertIn(s.recv(1000)[9:12], (b"400", b"413", b"403"))
                        except ConnectionResetError:
                            pass
                self.check(server)

    def test_chunks_whose_header_or_trailer_has_no_end(self):
        with serving.limited(COMMAND, LIMIT) as script, serving.Server(script, "--demo") as server:
            for begin in (b"1;", b"0\r\nx: "):
                with socket.create_connection(("127.0.0.1", server.http), timeout=20) as s:
                    try:
                        s.sendall(post_head(INFER, "Transfer-Encoding: chunked") + begin + b"a" * 8_000_000)
                        self.assertEqual(s.recv(1000)[9:12], b"400")
                    except (ConnectionResetError, BrokenPipeError):  # it does not read on
                        pass
            self.check(server)

    def test_sizes_that_a_request_chooses(self):
        with serving.Folder("{}") as folder, serving.limited(COMMAND, LIMIT) as script:
            serving.write(os.path.join(folder, "rows", "1", "model.onnx"), products_of_all_rows())
            serving.write(os.path.join(folder, "rows", "config.json"), '{"shapes": {"x": [4, 2]}}')
            with serving.Server(script, "--models", folder) as server:
                for rows, expected in ((3, 200), (20000, 413), (2, 200)):
                    head = (
                        '{"inputs":[{"name":"x","shape":[%d,2],"datatype":"FP32",'
                        '"parameters":{"binary_data_size":%d}}],'
                        '"parameters":{"binary_data_output":true}}' % (rows, 8 * rows)).encode()
                    status, data, _ = server.post("/v2/models/rows/infer", head + struct.pack("<f", 2) * (2 * rows),
                                                  {"Inference-Header-Content-Length": str(len(head))})
                    self.assertEqual(status, expected, data[:300])
                    if status == 413:
                        self.assertIn(b"allowed by memory_limit", data)
                self.check(server)

    def test_replies_that_nobody_reads(self):
        """100 of 16 MB: more than there is. One client may hold a part of it, as of requests."""
        rows = 2000
        head = ('{"inputs":[{"name":"x","shape":[%d,2],"datatype":"FP32","parameters":{"binary_data_size":%d}}],'
                '"parameters":{"binary_data_output":true}}' % (rows, 8 * rows)).encode()
        request = post_head("/v2/models/rows/infer", f"Inference-Header-Content-Length: {len(head)}",
                            f"Content-Length: {len(head) + 8 * rows}") + head + struct.pack("<f", 2) * (2 * rows)
        with serving.Folder("{}") as folder, serving.limited(COMMAND, LIMIT) as script:
            serving.write(os.path.join(folder, "rows", "1", "model.onnx"), products_of_all_rows())
            serving.write(os.path.join(folder, "rows", "config.json"), '{"shapes": {"x": [4, 2]}}')
            with serving.Server(script, "--models", folder) as server:
                held, statuses = [], []
                for _ in range(100):
                    held.append(socket.create_connection(("127.0.0.1", server.http), timeout=60,
                                                         source_address=("127.0.0.2", 0)))
                    held[-1].sendall(request)
                    statuses.append(held[-1].recv(12)[9:])
                    if len(statuses) % 25 == 0:
                        self.check(server)
                self.assertIn(b"200", statuses)
                self.assertIn(b"503", statuses)
                with open(f"/proc/{server.process.pid}/status") as file:
                    most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
                self.assertLess(most, 512 << 10)  # KiB
                for s in held:
                    s.close()
                self.check(server)

    def test_configurations_that_are_no_small_files(self):
        deep = '{"a":' * 500_000
        with serving.Folder("{}") as folder:
            for name, make in (("deep", lambda p: serving.write(p, deep)),
                               ("short", lambda p: serving.write(p, deep[:60_000])),
                               ("fifo", os.mkfifo), ("zero", lambda p: os.symlink("/dev/zero", p)),
                               ("folder", os.mkdir)):
                os.makedirs(os.path.join(folder, name, "1"))
                os.link(os.path.join(folder, "digits", "1", "model.tflite"),
                        os.path.join(folder, name, "1", "model.tflite"))
                make(os.path.join(folder, name, "config.json"))
            with serving.limited(COMMAND, LIMIT) as script, serving.Server(script, "--models", folder) as server:
                self.assertEqual(server.post(INFER, *serving.binary_request(self.digits[0][0]))[0], 200)
                said = server.post("/v2/repository/index", b"")[1].decode()
                for part in ("allowed are 65536", "nested deeper than 32", "is no regular file"):
                    self.assertIn(part, said)


if __name__ == "__main__":
    unittest.main()
