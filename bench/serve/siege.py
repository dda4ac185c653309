#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that work and clients that attack, of one server within a limit of memory: those that work lose
nothing, readiness agrees with what they see, and memory stays below the limit.

    bench/serve/siege.py OCTET [SECONDS]

Working clients are on 127.0.0.1, attackers on 127.0.0.2, as an account of memory is of an address. Models
that do not fit, take too long or are damaged come to the folder and go. Where a memory control group can be
made (root), the limit is one; else it is `ulimit -d`."""

import contextlib
import http.client
import os
import random
import socket
import sys
import threading
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
os.environ.setdefault("OCTET_SOURCE_DIR", ROOT)
sys.path.insert(0, os.path.join(ROOT, "serve", "tests"))
import serving
from http2 import *

COMMAND, SECONDS = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 600
LIMIT = 2 << 30
DIGITS = serving.digits()
PATH = "/v2/models/digits/infer"
over = threading.Event()


@contextlib.contextmanager
def confined(command):
    """The command within the limit, and a function that tells the most that it took."""
    for folder, limit, peak in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
                                ("/sys/fs/cgroup", "memory.max", "memory.peak")):
        group = os.path.join(folder, f"octet_siege_{os.getpid()}")
        try:
            os.mkdir(group)
            serving.write(os.path.join(group, limit), str(LIMIT))
        except OSError:
            continue
        with serving.limited(command, f"-n 4096; echo $$ > {group}/cgroup.procs; true") as script:
            yield script, lambda: int(open(os.path.join(group, peak)).read())
        time.sleep(0.5)
        os.rmdir(group)
        return
    with serving.limited(command, f"-d {LIMIT >> 10}") as script:
        yield script, lambda: 0


def works(port, seed, counts):
    connection, n = http.client.HTTPConnection("127.0.0.1", port, timeout=60), seed
    while not over.is_set():
        codes, expected = DIGITS[n % len(DIGITS)]
        n += 7
        try:
            body, headers = serving.binary_request(codes)
            connection.request("POST", PATH, body, headers)
            reply = connection.getresponse()
            data = reply.read()
            good = reply.status == 200 and data[int(reply.headers["Inference-Header-Content-Length"]) :] == expected
            what = "good" if good else reply.status
        except (OSError, http.client.HTTPException) as failure:
            connection.close()
            what = repr(failure)
        counts[what] = counts.get(what, 0) + 1
        time.sleep(0.005)


def works_by_grpc(port, seed, counts):
    """A call after the other, on connections that hold a hundred."""
    n = seed
    while not over.is_set():
        what = "good"
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
                s.sendall(PREFACE + frame(SETTINGS, 0, 0))
                for stream in range(1, 200, 2):
                    codes, expected = DIGITS[n % len(DIGITS)]
                    n += 7
                    asked = (serving.field(1, "digits") + serving.field(5, serving.field(
                        1, "image") + serving.field(2, "INT8") + serving.field(3, b"\1\x08\x08\1")))
                    s.sendall(frame(HEADERS, END_HEADERS, stream, head())
                              + frame(DATA, END_STREAM, stream, message(asked + serving.field(7, codes))))
                    got = receive(s, lambda data: ends(data, stream))
                    content = b"".join(c for kind, _, of, c in frames(got) if (kind, of) == (DATA, stream))
                    what = "good" if content.endswith(serving.field(6, expected)) else "no answer"
                    counts[what] = counts.get(what, 0) + 1
                    if over.wait(0.005) or what != "good":
                        break
        except OSError as failure:
            counts[repr(failure)] = counts.get(repr(failure), 0) + 1


def asks(path, *more):
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: x") + more + ("", "")).encode()


GREETING = PREFACE + frame(SETTINGS, 0, 0)
ATTACKS = {
    "bodies that never come": lambda: (asks(PATH, "Content-Length: 67108864"), 5),
    "chunks that never come": lambda: (asks(PATH, "Transfer-Encoding: chunked") + b"4000000\r\n{", 5),
    "nested JSON": lambda: (asks(PATH, "Content-Length: 8000000") + b'{"a":' * 1_600_000, 1),
    "numbers": lambda: (asks(PATH, "Content-Length: 60000013") + b'{"inputs":[{"data":[' + b"1," * 30_000_000,
                        1),
    "large index request": lambda: (asks("/v2/repository/index", "Content-Length: 60000000") + b"[" * 100_000,
                                    1),
    "endless header": lambda: (b"GET / HTTP/1.1\r\nX: " + b"x" * 1_000_000, 1),
    "endless trailer": lambda: (asks(PATH, "Transfer-Encoding: chunked") + b"0\r\nx: " + b"a" * 4_000_000, 1),
    "noise": lambda: (random.randbytes(20_000), 1),
    "noise for gRPC": lambda: (GREETING + random.randbytes(100_000), 1),
    "small fields for gRPC": lambda: (GREETING + frame(HEADERS, 0, 1, head())
                                      + frame(CONTINUATION, 0, 1, header("x", "y") * 2600) * 200, 1),
    "resets for gRPC": lambda: (GREETING + b"".join(frame(HEADERS, END_HEADERS, i, head()) + frame(
        RST_STREAM, 0, i, bytes(3) + b"\x08") for i in range(1, 9999, 2)), 1),
    "messages for gRPC that never come": lambda: (GREETING
                                                  + b"".join(frame(HEADERS, END_HEADERS, i, head())
                                                             + frame(DATA, 0, i, b"\0\3\0\0\0" + bytes(9000))
                                                             for i in range(1, 500, 2)), 5),
    "pings for gRPC": lambda: (GREETING + frame(PING, 0, 0, bytes(8)) * 50_000, 1),
}


def attacks(http_port, grpc_port, seed, counts):
    while not over.is_set():
        name = random.choice(list(ATTACKS))
        data, patience = ATTACKS[name]()
        port = grpc_port if "gRPC" in name else http_port
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=patience, source_address=("127.0.0.2", 0)) as s:
                s.sendall(data)
                while s.recv(4096):
                    pass
        except OSError:
            pass
        counts[name] = counts.get(name, 0) + 1


def brings_models(folder, counts):
    kinds = {"giant": serving.giant_model(), "slow": serving.slow_model(), "noise": os.urandom(5000), "empty": b""}
    for n in range(1_000_000):
        name = list(kinds)[n % len(kinds)]
        path = os.path.join(folder, "digits", str(2 + n), "model.onnx")
        serving.write(path, kinds[name])
        if over.wait(5):
            return
        os.remove(path)
        os.rmdir(os.path.dirname(path))
        counts["model " + name] = counts.get("model " + name, 0) + 1


def main():
    with serving.Folder("{}") as folder, confined(COMMAND) as (script, peak):
        with serving.Server(script, "--models", folder, "--poll-ms", "500", "--load-ms", "3000",
                            "--receive-ms", "5000") as server:
            working, attacking, samples = [{} for _ in range(8)], [{} for _ in range(9)], {}
            threads = [threading.Thread(target=works_by_grpc if i % 2 else works,
                                        args=(server.grpc if i % 2 else server.http, 31 * i, c))
                       for i, c in enumerate(working)]
            threads += [threading.Thread(target=attacks, args=(server.http, server.grpc, i, c)) for i,
                        c in enumerate(attacking[:8])]
            threads.append(threading.Thread(target=brings_models, args=(folder, attacking[8])))
            for t in threads:
                t.start()
            end = time.monotonic() + SECONDS
            while time.monotonic() < end and server.process.poll() is None:
                ready = server.get("/v2/health/ready")[0], server.get("/v2/health/ready", server.metrics)[0]
                samples[ready] = samples.get(ready, 0) + 1
                time.sleep(0.1)
            over.set()
            for t in threads:
                t.join()
            took = peak()
    total = lambda counts: {k: sum(c.get(k, 0) for c in counts)
                            for k in sorted({k for c in counts for k in c}, key=str)}
    print(f"answers {total(working)}\nattacks {total(attacking)}\nreadiness on both ports {samples}\nmost "
          f"memory {took >> 20} MiB of {LIMIT >> 20}")
    lost = {k: n for k, n in total(working).items() if k != "good"}
    if lost or set(samples) != {(200, 200)}:
        sys.exit("a client that works lost an answer, or was told that the server is not ready")


main()
