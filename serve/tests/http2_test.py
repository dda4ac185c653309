# SPDX-License-Identifier: Apache-2.0
"""Attacks on gRPC by frames of HTTP/2 that no library sends. Meanwhile and afterwards the server answers
others, within a limit of memory."""

import contextlib
import os
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
import unittest
import zlib

import serving
from http2 import *

COMMAND = sys.argv.pop(1)
LIMIT = f"-d {1 << 20}"  # KiB of data
MOST = 150  # MiB that the server may take, which has 1 GiB
SECONDS = 2


class Attacker:
    """A connection that never reads what it is told, or throws it away."""

    def __init__(self, server, settings=b"", reads=True):
        self.socket = socket.create_connection(("127.0.0.1", server.grpc), timeout=5, source_address=("127.0.0.2", 0))
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
        self.next = 1
        self.drains = threading.Thread(target=self.drain)
        if reads:
            self.drains.start()

    def drain(self):
        with contextlib.suppress(OSError):
            while self.socket.recv(1 << 16):
                pass

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        if self.drains.ident:
            self.drains.join()
        self.socket.close()

    def stream(self):
        self.next += 2
        return self.next - 2

    def send(self, data):
        self.socket.sendall(data)


class Http2Test(unittest.TestCase):
    digits = serving.digits()

    def answers(self, server, n):
        codes, expected = self.digits[n % len(self.digits)]
        status, data, headers = server.post("/v2/models/digits/infer", *serving.binary_request(codes))
        self.assertEqual((status, data[int(headers["Inference-Header-Content-Length"]) :]), (200, expected))

    def grpc_answers(self, server):
        """A request to gRPC by hand, whose answer has a status in the trailer."""
        until = time.monotonic() + 20  # connections of attackers may be open for a moment
        while True:
            got = b""
            with (contextlib.suppress(ConnectionResetError),
                  socket.create_connection(("127.0.0.1", server.grpc), timeout=20) as s):
                s.sendall(PREFACE + frame(SETTINGS, 0, 0)
                          + frame(HEADERS, END_HEADERS, 1, head("/inference.GRPCInferenceService/ServerLive"))
                          + frame(DATA, END_STREAM, 1, message(b"")))
                got = receive(s, lambda data: ends(data, 1))
            if DATA in [kind for kind, _, stream, _ in frames(got) if stream == 1] and ends(got, 1):
                return
            self.assertLess(time.monotonic(), until, "gRPC gives no answer")
            time.sleep(0.1)

    def most_memory(self, server):
        """That it ever took, in MiB."""
        with open(f"/proc/{server.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) >> 10

    def attack(self, begin, connections=4, **options):
        """`begin` makes what is sent again and again by some attackers; returns the most memory that the
        server took, in MiB."""
        over = threading.Event()

        def run(server):
            while not over.is_set():
                with contextlib.suppress(OSError), contextlib.closing(Attacker(server, **options)) as attacker:
                    for data in begin(attacker):
                        attacker.send(data)
                        if over.is_set():
                            break

        with serving.limited(COMMAND, LIMIT) as script, serving.Server(script, "--demo", "--receive-ms",
                                                                       "3000") as server:
            threads = [threading.Thread(target=run, args=(server,)) for _ in range(connections)]
            for t in threads:
                t.start()
            until, n = time.monotonic() + SECONDS, 0
            while time.monotonic() < until:
                self.answers(server, n)
                self.assertEqual(server.get("/v2/health/ready", server.metrics)[0], 200)
                n += 1
            over.set()
            for t in threads:
                t.join()
            self.grpc_answers(server)
            most = self.most_memory(server)
            print(f"{self.id().split('.')[-1]}: {n} answers, at most {most} MiB", file=sys.stderr)
            return most

    def test_streams_that_are_reset_at_once(self):
        for body in (b"", message(b"\x0a\x06digits")):
            def begin(a):
                while True:
                    streams = [a.stream() for _ in range(100)]
                    yield b"".join(frame(HEADERS, END_HEADERS, s, head())
                                   + (frame(DATA, END_STREAM, s, body) if body else b"")
                                   + frame(RST_STREAM, 0, s, struct.pack(">I", 8)) for s in streams)
            self.assertLess(self.attack(begin, connections=8), MOST)

    def test_many_streams(self):
        def begin(a):
            yield b"".join(frame(HEADERS, END_HEADERS, a.stream(), head()) for _ in range(1000))
            time.sleep(0.2)
        self.assertLess(self.attack(begin), MOST)

    def test_messages_that_are_announced_take_little(self):
        def begin(a):
            yield b"".join(frame(HEADERS, END_HEADERS, s, head()) + frame(DATA, 0, s, b"\0\4\0\0\0x")
                           for s in (a.stream() for _ in range(250)))
            time.sleep(0.5)
        self.assertLess(self.attack(begin, connections=8), MOST)

    def test_headers_without_end(self):
        def endless(*blocks):
            def begin(a):
                yield frame(HEADERS, 0, 1, head())
                while True:
                    for block in blocks:
                        yield frame(CONTINUATION, 0, 1, block) * 4
            return begin
        one = b"\0\1x\x7f" + serving.varint((1 << 30) - 127)  # a value of 1 GiB
        small, indexed = header("x", "y") * 2600, b"\x40\1x\1y" * 3200  # the latter fill HPACK's table again and again
        for blocks in ((b"",), (one + b"a" * 10000, b"a" * 16000), (small,), (indexed,)):
            self.assertLess(self.attack(endless(*blocks)), MOST)

    def test_headers_that_unpack(self):
        """A header of 3900 bytes stands once in HPACK's table and is named 16,000 times."""
        def begin(a):
            value = b"\x40\x01x\x7f" + serving.varint(3900 - 127) + b"a" * 3900
            yield frame(HEADERS, 0, 1, value) + frame(CONTINUATION, 0, 1,
                                                      bytes([0x80 | 62]) * 16000) + frame(
                                                          CONTINUATION, END_HEADERS, 1, head())
            time.sleep(0.05)
        self.assertLess(self.attack(begin), MOST)

    def test_messages_that_unpack(self):
        """64 KB of gzip that hold 60 MB, and 2 MB that hold 2 GB."""
        for mib, connections in ((60, 4), (2000, 2)):
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)
            data = message(b"".join(packer.compress(bytes(1 << 20)) for _ in range(mib)) + packer.flush(), True)
            def begin(a):
                for _ in range(20):
                    stream = a.stream()
                    yield frame(HEADERS, END_HEADERS, stream, head(INFER, ("grpc-encoding", "gzip")))
                    for at in range(0, len(data), 16000):
                        yield frame(DATA, END_STREAM if at + 16000 >= len(data) else 0, stream, data[at : at + 16000])
                    time.sleep(0.05)
            self.assertLess(self.attack(begin, connections), MOST)

    def test_frames_of_control(self):
        ping = frame(PING, 0, 0, bytes(8))
        for one, reads in ((frame(SETTINGS, 0, 0), False), (ping, True), (ping, False),
                           (frame(PRIORITY, 0, 7, bytes(4) + b"\1"), True),
                           (frame(WINDOW_UPDATE, 0, 0, bytes(3) + b"\1"), True),
                           (frame(SETTINGS, 0, 0, struct.pack(">HI", 1, 0) * 500), False)):
            def begin(a):
                while True:
                    yield one * 2000
            self.assertLess(self.attack(begin, reads=reads), MOST)

    def test_frames_without_data(self):
        def begin(a):
            stream = a.stream()
            yield frame(HEADERS, END_HEADERS, stream, head())
            while True:
                yield frame(DATA, 0, stream) * 2000
        self.assertLess(self.attack(begin), MOST)

    def test_streams_that_the_server_resets(self):
        """By a frame that breaks the rules of a stream: what the client cancels in this way counts as if it
        did so itself."""
        def begin(a):
            while True:
                yield b"".join(frame(HEADERS, END_HEADERS, s, head()) + frame(WINDOW_UPDATE, 0, s, bytes(4))
                               for s in (a.stream() for _ in range(100)))
        self.assertLess(self.attack(begin), MOST)

    def test_prefaces_that_end_early(self):
        def begin(a):
            yield b""
            time.sleep(0.1)
        self.assertLess(self.attack(begin, connections=8), MOST)
        with serving.Server(COMMAND, "--demo", "--receive-ms", "500", "--idle-ms", "1000") as server:
            for said in (PREFACE[:10], PREFACE, PREFACE + frame(SETTINGS, 0, 0),
                         PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, head()),
                         PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, head())[:20]):
                with socket.create_connection(("127.0.0.1", server.grpc), timeout=20) as s:
                    s.sendall(said)
                    while s.recv(1 << 16):  # until the server closes it
                        pass

    def test_replies_that_nobody_takes(self):
        image = (b"\x0a\x06digits\x2a\x1a\x0a\x05image\x12\x04INT8\x1a\x04\x20\x08\x08\x01" + b"\x3a"
                 + serving.varint(2048) + bytes(2048))
        def begin(a):
            yield b"".join(frame(HEADERS, END_HEADERS, s, head()) + frame(DATA, END_STREAM, s, message(image))
                           for s in (a.stream() for _ in range(25)))
            time.sleep(0.2)
        self.assertLess(self.attack(begin, settings=struct.pack(">HI", 4, 0), reads=False), MOST)  # a window of 0

    def test_a_window_of_a_byte(self):
        """An answer that is taken a byte at a time is whole; one whose window never opens again ends in time."""
        request = (frame(HEADERS, END_HEADERS, 1, head("/inference.GRPCInferenceService/ServerMetadata"))
                   + frame(DATA, END_STREAM, 1, message(b"")))
        with serving.Server(COMMAND, "--demo", "--receive-ms", "1000") as server:
            def connect(window):
                s = socket.create_connection(("127.0.0.1", server.grpc), timeout=20)
                s.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, window)) + request)
                return s
            content = lambda data: b"".join(c for kind, _, stream, c in frames(data) if (kind, stream) == (DATA, 1))
            with connect(65535) as s:
                whole = content(receive(s, lambda data: ends(data, 1)))
            self.assertIn(b"octet", whole)
            with connect(1) as s:
                got = b""
                while not ends(got, 1):
                    got += s.recv(1 << 16)
                    if not ends(got, 1) and len(content(got)) < len(whole):
                        s.sendall(frame(WINDOW_UPDATE, 0, 1, bytes(3) + b"\1"))
                self.assertEqual(content(got), whole)
            with connect(0) as s:
                got = receive(s, lambda data: any(kind == RST_STREAM for kind, *_ in frames(data)))
                self.assertEqual(content(got), b"")

    def test_stops_with_clients_that_are_stuck(self):
        """Some have sent a part of a message, others take no answer: the server waits a moment for them, not
        for the whole drain."""
        with serving.Server(COMMAND, "--demo", "--drain-ms", "60000") as server:
            held = []
            for said in (frame(HEADERS, END_HEADERS, 1, head()) + frame(DATA, 0, 1, bytes(3)),
                         frame(HEADERS, END_HEADERS, 1, head()),
                         frame(HEADERS, END_HEADERS, 1,
                               head("/inference.GRPCInferenceService/ServerMetadata"))
                         + frame(DATA, END_STREAM, 1, message(b"")),
                         frame(HEADERS, END_HEADERS, 1, head(REFLECTION)), frame(HEADERS, 0, 1, head())):
                held.append(socket.create_connection(("127.0.0.1", server.grpc), timeout=20))
                held[-1].sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0)) + said)
            for said in (b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{", b"GET /"):
                held.append(socket.create_connection(("127.0.0.1", server.http), timeout=20))
                held[-1].sendall(said)
            self.grpc_answers(server)
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(60), 0)
            self.assertLess(time.monotonic() - began, 15)
            for s in held:
                s.close()

    def test_deadlines_and_clients_that_are_gone(self):
        """The server keeps a client's deadline by itself, and ends the calls of one that does not even answer a PING.
        """
        with serving.Server(COMMAND, "--demo", "--receive-ms", "1000", "--idle-ms", "500") as server:
            def connect(headers):
                s = socket.create_connection(("127.0.0.1", server.grpc), timeout=20)
                s.sendall(PREFACE + frame(SETTINGS, 0, 0) + headers)
                return s
            began = time.monotonic()
            with connect(frame(HEADERS, END_HEADERS, 1, head(INFER, ("grpc-timeout", "100m")))) as s:
                self.assertTrue(ends(receive(s, lambda data: ends(data, 1)), 1))
                self.assertLess(time.monotonic() - began, 0.9)
            with connect(frame(HEADERS, END_HEADERS | END_STREAM, 1, head("/grpc.health.v1.Health/Watch"))) as s:
                got = receive(s, lambda data: False)  # until the server closes it
                self.assertIn(PING, [kind for kind, *_ in frames(got)])
            with connect(frame(HEADERS, END_HEADERS | END_STREAM, 1, head("/grpc.health.v1.Health/Watch"))) as s:
                until = time.monotonic() + 3
                while time.monotonic() < until:
                    got = s.recv(1 << 16)
                    self.assertTrue(got)
                    for kind, flags, _, content in frames(got):
                        if kind == PING and not flags & 1:
                            s.sendall(frame(PING, 1, 0, content))

    def test_goodbye(self):
        """A client is told before the end, and what it asks until then is answered."""
        with serving.Server(COMMAND, "--demo") as server, socket.create_connection(("127.0.0.1", server.grpc),
                                                                                   timeout=20) as s:
            said = lambda kind: lambda data: any(k == kind for k, *_ in frames(data))
            s.sendall(PREFACE + frame(SETTINGS, 0, 0))
            receive(s, said(SETTINGS))
            server.process.send_signal(signal.SIGTERM)
            receive(s, said(GOAWAY))
            s.sendall(frame(HEADERS, END_HEADERS, 1, head("/inference.GRPCInferenceService/ServerLive"))
                      + frame(DATA, END_STREAM, 1, message(b"")))
            got = receive(s, lambda data: False)
            self.assertTrue(ends(got, 1))
            self.assertIn(GOAWAY, [kind for kind, *_ in frames(got)])

    def test_reflection_again_and_again(self):
        def begin(a):
            stream = a.stream()
            yield frame(HEADERS, END_HEADERS, stream, head(REFLECTION))
            while True:
                yield frame(DATA, 0, stream, message(b"\x22\x1einference.GRPCInferenceService")) * 200
        self.assertLess(self.attack(begin), MOST)

    def test_noise(self):
        def begin(a):
            yield os.urandom(100_000)
        self.assertLess(self.attack(begin, connections=8), MOST)

    def test_connections_count_in_the_memory_for_requests(self):
        """Of 8 MiB one client may take 4: not many connections of gRPC or HTTP, and others are answered."""
        with serving.Server(COMMAND, "--demo", "--max-receiving-mib", "8") as server:
            for port, greeting, bytes_of_one in ((server.grpc, PREFACE + frame(SETTINGS, 0, 0), 48 << 10),
                                                 (server.http,
                                                  b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n",
                                                  24 << 10)):
                with contextlib.ExitStack() as all_of_them:
                    served = 0
                    for _ in range(300):
                        s = all_of_them.enter_context(socket.create_connection(
                            ("127.0.0.1", port), timeout=20, source_address=("127.0.0.2", 0)))
                        with contextlib.suppress(OSError):
                            s.sendall(greeting)
                            said = s.recv(1 << 16)
                            served += bool(said) and b" 503 " not in said
                    self.assertEqual(served, (4 << 20) // bytes_of_one)
                    self.answers(server, 1)
                    self.assertEqual(server.get("/v2/health/ready", server.metrics)[0], 200)

    def test_buffers_count_in_the_memory_for_requests(self):
        """Connections with a call each that send much at once: their buffers grow only where there is room."""
        with serving.Server(COMMAND, "--demo", "--max-receiving-mib",
                            "48") as server, contextlib.ExitStack() as all_of_them:
            ignored = frame(0x20, 0, 0, bytes(16000)) * 64
            for _ in range(400):
                s = all_of_them.enter_context(socket.create_connection(("127.0.0.1", server.grpc), timeout=20,
                                                                       source_address=("127.0.0.2", 0)))
                with contextlib.suppress(OSError):  # one that is turned away
                    s.sendall(PREFACE + frame(SETTINGS, 0, 0)
                              + frame(HEADERS, END_HEADERS, 1, head("/grpc.health.v1.Health/Watch")))
                    for _ in range(3):
                        s.sendall(ignored)
            self.answers(server, 1)
            self.assertLess(self.most_memory(server), 60)

    def test_handshakes_of_tls_that_end_early(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = serving.make_certificate(folder)
            hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200)
            with serving.limited(COMMAND, LIMIT) as script, serving.Server(
                script, "--demo", "--tls-certificate", certificate, "--tls-key", key,
                                                                          "--receive-ms", "1000") as server:
                held = []
                for n in range(600):
                    s = socket.create_connection(("127.0.0.1", server.http if n % 2 else server.grpc),
                                                 source_address=("127.0.0.2", 0))
                    s.sendall(hello[: n % len(hello)])
                    held.append(s)
                    if n % 3 == 0:
                        held.pop(0).close()
                self.assertEqual(server.get("/v2/health/ready", server.metrics)[0], 200)
                time.sleep(1.5)  # what says no more is closed
                self.assertEqual(server.get("/v2/health/ready", server.metrics)[0], 200)
                for s in held:
                    s.close()
                server.process.send_signal(signal.SIGHUP)


if __name__ == "__main__":
    unittest.main()
