#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many clients, for long, while models are replaced: every answer is compared with the goldens, and the
server's memory is watched.

    bench/serve/soak.py build/release/tools/octet [--requests 1000000 | --seconds 600] [--clients 200] [--reload 5]
"""

import argparse
import multiprocessing
import os
import random
import shutil
import socket
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("OCTET_SOURCE_DIR", ROOT)
sys.path.insert(0, os.path.join(ROOT, "serve", "tests"))
import serving  # noqa: E402


def ask(connection, buffer, wanted):
    """One reply from a connection; its body's last bytes."""
    while b"\r\n\r\n" not in buffer:
        more = connection.recv(65536)
        if not more:
            raise OSError("closed")
        buffer += more
    head, rest = buffer.split(b"\r\n\r\n", 1)
    length = int(head.lower().split(b"\r\ncontent-length: ")[1].split(b"\r\n")[0])
    while len(rest) < length:
        rest += connection.recv(65536)
    if not head.startswith(b"HTTP/1.1 200"):
        return f"{head[9:12].decode()} {rest[:length].decode()[:200]}", rest[length:]
    return ("good" if rest[:length].endswith(wanted) else "wrong"), rest[length:]


def worker(port, requests, until, clients, seed, results):
    """Requests over `clients` connections, all of them under way at once, with 1 to 8 rows each."""
    digits, rng = serving.digits(), random.Random(seed)
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(clients)]
    buffers, counts, done = [b""] * clients, {}, 0
    while time.time() < until if until else done < requests:
        wanted = []
        for c in connections:
            rows = [rng.choice(digits) for _ in range(rng.choice((1, 1, 1, 2, 3, 5, 8)))]
            body, headers = serving.binary_request(b"".join(codes for codes, _ in rows))
            c.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: "
                      b"%d\r\nInference-Header-Content-Length: %s\r\n\r\n%s"
                      % (len(body), headers["Inference-Header-Content-Length"].encode(), body))
            wanted.append(b"".join(answer for _, answer in rows))
        for i, c in enumerate(connections):
            what, buffers[i] = ask(c, buffers[i], wanted[i])
            counts[what] = counts.get(what, 0) + 1
        done += clients
        if rng.random() < 0.02:  # one leaves in the middle of a request, and another comes
            connections[0].sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nContent-Length: 99\r\n\r\n{")
            connections[0].close()
            connections[0], buffers[0] = socket.create_connection(("127.0.0.1", port)), b""
    results.put(counts)


def resident(process):
    with open(f"/proc/{process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("octet")
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, help="as long as that, instead of a number of requests")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--reload", type=float, default=5, help="seconds between new versions of the model")
    args = parser.parse_args()
    folder = tempfile.mkdtemp()
    model = os.path.join(ROOT, "examples", "digits", "digits_int8.tflite")

    def put(version):
        os.makedirs(os.path.join(folder, "digits", str(version)))
        shutil.copy(model, os.path.join(folder, "digits", str(version), "model.tflite"))

    put(1)
    results = multiprocessing.Queue()
    with serving.Server(args.octet, "--models", folder, "--poll-ms", "500") as server:
        until = time.time() + args.seconds if args.seconds else None
        each = (args.requests // args.processes, until, args.clients // args.processes)
        workers = [multiprocessing.Process(target=worker, args=(server.http, *each, i, results))
                   for i in range(args.processes)]
        begin, version, memory = time.time(), 1, []
        for w in workers:
            w.start()
        while any(w.is_alive() for w in workers):
            time.sleep(min(args.reload, 1))
            memory.append(resident(server.process))
            if time.time() - begin > version * args.reload:
                version += 1
                put(version)
                shutil.rmtree(os.path.join(folder, "digits", str(version - 1)), ignore_errors=True)
        total = {}
        for _ in workers:
            for what, n in results.get().items():
                total[what] = total.get(what, 0) + n
        seconds = time.time() - begin
        part = max(1, len(memory) // 10)
        print(f"{total} in {seconds:.0f} s, {sum(total.values()) / seconds:.0f} requests/s, {version} versions; "
              f"memory {memory[part]:.1f} MiB after a tenth, {max(memory[-part:]):.1f} MiB at the end")
    shutil.rmtree(folder)
    if set(total) != {"good"}:
        sys.exit("answers were wrong or refused")


main()
