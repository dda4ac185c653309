#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Throughput and latency of `octet serve` on this machine, by generators that others wrote: wrk for the most
that can be had, h2load for fixed rates. doc/serving.md has the last figures.

    OCTET_SOURCE_DIR=. bench/serve/load.py build/release/tools/octet [MODEL] [--seconds 5] [--pin]
        [--baseline NODE_MODULES]

Without MODEL it is the digits network. --baseline compares with ONNX Runtime behind node's HTTP server, which
needs an .onnx model."""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
os.environ.setdefault("OCTET_SOURCE_DIR", ROOT)
sys.path.insert(0, os.path.join(ROOT, "serve", "tests"))
import serving  # noqa: E402
from http2 import INFER, message  # noqa: E402

SIZES = {"FP32": 4, "INT32": 4, "INT16": 2}


def request_of(server, model):
    """A request of zeros, in the binary form: JSON, tensors."""
    told = json.loads(server.get(f"/v2/models/{model}")[1])
    inputs, tensors = [], b""
    for t in told["inputs"]:
        shape = [1 if d < 0 else d for d in t["shape"]]
        count = 1
        for d in shape:
            count *= d
        size = count * SIZES.get(t["datatype"], 1)
        inputs.append({"name": t["name"], "shape": shape, "datatype": t["datatype"],
                       "parameters": {"binary_data_size": size}})
        tensors += bytes(size)
    return json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode(), tensors


class Cpu:
    """CPU time of processes and of the children that have ended since."""

    def __init__(self, server):
        self.server, self.before = server, self.now(server)

    @staticmethod
    def now(pids):
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        ticks = 0
        for pid in pids:
            with open(f"/proc/{pid}/stat") as file:
                ticks += sum(int(t) for t in file.read().rsplit(")", 1)[1].split()[11:13])
        return ticks / os.sysconf("SC_CLK_TCK"), ended.ru_utime + ended.ru_stime

    def text(self, requests):
        """Microseconds per request."""
        server, generator = (1e6 * (b - a) / max(requests, 1) for a, b in zip(self.before, self.now(self.server)))
        return f"CPU time per request {server:.0f} us + generator {generator:.0f} us"


def wrk(url, head, body_file, connections, seconds, pause_ms=0):
    """Requests per second, part that was good, and percentiles of all in ms: every connection asks again at
    once, or after a random pause of that mean, which spreads the requests."""
    script = tempfile.NamedTemporaryFile("w", suffix=".lua", delete=False)
    script.write(f'''local f = io.open("{body_file}", "rb")
wrk.method = "POST"
wrk.body = f:read("*a")
wrk.headers["Inference-Header-Content-Length"] = "{len(head)}"
function done(summary, latency, requests)
    io.write(string.format("summary %d %d %d %f %f %f\\n", summary.requests, summary.errors.status, summary.duration,
                           latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
''')
    if pause_ms:
        script.write(f"function delay() return math.random(0, {round(2 * pause_ms)}) end\n")
    script.close()
    out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script.name, url],
                         capture_output=True, text=True, check=True).stdout
    os.unlink(script.name)
    count, refused, duration, *times = (float(n) for n in re.search(r"^summary (.*)$", out, re.M).group(1).split())
    return 1e6 * count / duration, 1 - refused / max(count, 1), [t / 1000 for t in times]


def beyond(url, head, body_file, rate, clients, seconds):
    """Good, refused and failed requests per second, and percentiles in ms of accepted ones, when they come at
    a rate, whatever becomes of them. h2load starts its clients at one time, so they come in bursts of all
    clients."""
    log = tempfile.mktemp()
    subprocess.run(["h2load", "--h1", "-t1", f"-c{clients}", f"--rps={rate / clients:g}", f"-D{seconds}",
                    f"--log-file={log}",
                    "-d", body_file, "-H", f"Inference-Header-Content-Length: {len(head)}", url],
                   capture_output=True, check=True)
    good, refused, failed, times = 0, 0, 0, []
    with open(log) as rows:
        for row in rows:
            _, status, microseconds = row.split()[:3]
            if status == "200":
                good += 1
                times.append(int(microseconds))
            elif status == "503":
                refused += 1
            else:
                failed += 1
    os.unlink(log)
    times.sort()
    at = lambda q: times[min(len(times) - 1, int(q * len(times)))] / 1000 if times else float("nan")
    return good / seconds, refused / seconds, failed, [at(0.5), at(0.99), at(0.999)]


def grpc_message(server, model):
    """The same request for gRPC, with its prefix."""
    inputs, raw = b"", b""
    for t in json.loads(server.get(f"/v2/models/{model}")[1])["inputs"]:
        shape = [1 if d < 0 else d for d in t["shape"]]
        size = SIZES.get(t["datatype"], 1)
        for d in shape:
            size *= d
        inputs += serving.field(5, serving.field(1, t["name"]) + serving.field(
            2, t["datatype"]) + serving.field(3, b"".join(serving.varint(d) for d in shape)))
        raw += serving.field(7, bytes(size))
    return message(serving.field(1, model) + inputs + raw)


def measure_grpc(server, model, connections, seconds):
    """Prints the same for gRPC, with h2load alone: how many were good stands in the server's figures, as
    every answer has status 200."""
    asked, log = tempfile.mktemp(), tempfile.mktemp()
    with open(asked, "wb") as file:
        file.write(grpc_message(server, model))

    def good_so_far():
        text = server.get("/metrics", server.metrics)[1].decode()
        return sum(float(n) for n in re.findall(r'^octet_requests_total\{.*result="ok".*\} (\S+)$', text, re.M))

    def ask(clients, *rate):
        before = good_so_far()
        subprocess.run(["h2load", "-t1", f"-c{clients}", f"-D{seconds}", f"--log-file={log}", *rate, "-d",
                        asked, "-H", "content-type: application/grpc",
                        "-H", "te: trailers", f"http://127.0.0.1:{server.grpc}{INFER}"], capture_output=True,
                       check=True)
        with open(log) as rows:
            times = sorted(int(row.split()[2]) / 1000 for row in rows)
        os.unlink(log)
        good = good_so_far() - before
        return (good / seconds, max(0, len(times) - good),
                [times[min(len(times) - 1, int(q * len(times)))] for q in (0.5, 0.99, 0.999)])

    capacity, tell = 0, "p50 {:.2f} ms, p99 {:.2f} ms, p99.9 {:.2f} ms"
    for c in connections:
        good, _, times = ask(c)
        print(f"  gRPC, {c:4} connections: {good:9.1f} good/s, {tell.format(*times)}", flush=True)
        capacity = max(capacity, good)
    for share in (0.5, 1.0, 2.0):
        good, others, times = ask(64, f"--rps={capacity * share / 64:g}")
        print(f"  gRPC, {100 * share:3.0f} % of that: {good:9.1f} good/s, {others:.0f} others; "
              f"{tell.format(*times)}", flush=True)
    os.unlink(asked)


def in_process(octet, path, threads, seconds):
    """Runs per second of that many threads without a server (in_process.cpp), counted as answers are: over
    the whole time."""
    program = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(octet))), "bench", "serve_in_process")
    return float(subprocess.run([program, path, str(threads), str(seconds)], capture_output=True, text=True,
                                check=True).stdout)


def measure(pids, url, head, body_file, connections, seconds):
    """Prints what the server at `url` does, the processes `pids`, and returns the most answers per second."""
    capacity, tell = 0, lambda times: "p50 {:.2f} ms, p99 {:.2f} ms, p99.9 {:.2f} ms".format(*times)
    for c in connections:
        cpu = Cpu(pids)
        rate, good, times = wrk(url, head, body_file, c, seconds)
        print(f"  {c:4} connections: {rate * good:9.1f} good/s, {tell(times)}; {cpu.text(rate * seconds)}", flush=True)
        capacity = max(capacity, rate * good)
    for share in (0.5, 0.8, 1.0):
        clients = 256
        rate, good, times = wrk(url, head, body_file, clients, seconds, 1000 * clients / (capacity * share))
        print(f"  {100 * share:3.0f} % of that: {rate * good:9.1f} good/s, {rate * (1 - good):.1f} "
              f"refused/s; {tell(times)}", flush=True)
    good, refused, failed, times = beyond(url, head, body_file, 2 * capacity, 256, seconds)
    print(f"  200 % of that: {good:9.1f} good/s, {refused:.1f} refused/s, {failed} failed; accepted "
          f"{tell(times)}", flush=True)
    return capacity


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("octet")
    parser.add_argument("model", nargs="?")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pin", action="store_true", help="a CPU of its own for each worker, as --pin of the server")
    parser.add_argument("--baseline", help="folder node_modules with onnxruntime-node")
    args = parser.parse_args()
    path = args.model or os.path.join(ROOT, "examples", "digits", "digits_int8.tflite")
    name = os.path.splitext(os.path.basename(path))[0]
    print(f"{name}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} before")
    alone = in_process(args.octet, path, args.workers, args.seconds)
    print(f"  in process: {alone:.1f} runs/s of {args.workers} threads")
    body = tempfile.NamedTemporaryFile(delete=False)
    with serving.Server(args.octet, path, "--workers", str(args.workers), *(["--pin"] if args.pin else [])) as server:
        head, tensors = request_of(server, name)
        body.write(head + tensors)
        body.close()
        capacity = measure([server.process.pid], server.url(f"/v2/models/{name}/infer"), head, body.name,
                           (2, 4, 8, 16, 64), args.seconds)
        measure_grpc(server, name, (2, 4, 8, 16, 64), args.seconds)
    again = in_process(args.octet, path, args.workers, args.seconds)
    print(f"  in process, again: {again:.1f} runs/s; served {200 * capacity / (alone + again):.0f} % of that")
    if args.baseline:
        with open(body.name, "wb") as bare:
            bare.write(tensors)
        baseline = subprocess.Popen([shutil.which("node"), os.path.join(HERE, "onnxruntime_server.cjs"), path,
                                     "18080", str(args.workers)],
                                env=dict(os.environ, NODE_PATH=args.baseline), stdout=subprocess.PIPE,
                                    text=True)
        try:
            for _ in range(args.workers):
                baseline.stdout.readline()
            print(f"{name}, ONNX Runtime behind node's HTTP server, {args.workers} processes of one thread")
            workers = subprocess.run(["ps", "-o", "pid=", "--ppid", str(baseline.pid)], capture_output=True,
                                     text=True).stdout.split()
            measure([baseline.pid, *workers], "http://127.0.0.1:18080/", b"", body.name, (2, 4, 8, 16, 64),
                    args.seconds)
        finally:
            baseline.terminate()
            baseline.wait()
    os.unlink(body.name)
    print(f"load {os.getloadavg()[0]:.1f} after")


main()
