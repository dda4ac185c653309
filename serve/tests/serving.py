# SPDX-License-Identifier: Apache-2.0
"""What the tests of `octet serve` in Python share: the server as a process, and the digits with their answers."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

ROOT = os.environ["OCTET_SOURCE_DIR"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """`octet serve` on free ports. As a context it is ended by SIGTERM, and has to end in good order. With
    `is_loading`, it is not waited for: ports are given, then."""

    def __init__(self, command, *arguments, http=0, grpc=0, metrics=0, env=None, is_loading=False):
        everywhere = ["--http", f"127.0.0.1:{http}", "--grpc", f"127.0.0.1:{grpc}", "--metrics", f"127.0.0.1:{metrics}"]
        self.process = subprocess.Popen([command, "serve", *everywhere, *arguments], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        self.lines = []
        self.http, self.grpc, self.metrics = http, grpc, metrics
        if is_loading:
            return
        for line in self.process.stderr:
            self.lines.append(line)
            ports = re.search(r"ready: HTTP \S*?:?(\d+), gRPC \S*?:?(\d+), metrics \S*?:?(\d+)$", line)
            if ports:
                self.http, self.grpc, self.metrics = (int(p) for p in ports.groups())
                break
        else:
            raise RuntimeError("the server did not start: " + "".join(self.lines))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.lines += self.process.stderr.readlines()
        self.process.stderr.close()
        if kind is None and code != 0:
            raise RuntimeError(f"exit code {code}: " + "".join(self.lines))

    def wait_for_line(self, part):
        """Until the server says so."""
        for line in self.process.stderr:
            self.lines.append(line)
            if part in line:
                return
        raise RuntimeError(f"the server never said '{part}': " + "".join(self.lines))

    def url(self, path, port=None):
        return f"http://127.0.0.1:{port or self.http}{path}"

    def get(self, path, port=None):
        try:
            with urllib.request.urlopen(self.url(path, port)) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read()

    def post(self, path, body, headers=None):
        request = urllib.request.Request(self.url(path), body, headers or {})
        try:
            with urllib.request.urlopen(request) as reply:
                return reply.status, reply.read(), reply.headers
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read(), refusal.headers


@contextlib.contextmanager
def limited(command, limit):
    """A program that becomes the command with that limit of the shell's `ulimit`."""
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "octet")
        with open(script, "w") as file:
            file.write(f'#!/bin/sh\nulimit {limit}\nexec "{command}" "$@"\n')
        os.chmod(script, 0o755)
        if subprocess.run([script, "--version"], capture_output=True).returncode != 0:
            raise unittest.SkipTest(f"{command} does not start with ulimit {limit}, as with a sanitizer")
        yield script


class Folder(tempfile.TemporaryDirectory):
    """A folder of models with the digits and this config.json."""

    def __init__(self, config):
        super().__init__()
        os.makedirs(os.path.join(self.name, "digits", "1"))
        shutil.copy(os.path.join(ROOT, "examples", "digits", "digits_int8.tflite"),
                    os.path.join(self.name, "digits", "1", "model.tflite"))
        write(os.path.join(self.name, "digits", "config.json"), config)


def varint(n):
    """As Protobuf's wire has it."""
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


def field(number, value):
    """A field of a message of Protobuf: .onnx files are such messages."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def float_tensor(name, *dims):
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def model_file(graph):
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


def node(kind, inputs, outputs, *attributes):
    return field(1, b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(
        4, kind) + b"".join(field(5, a) for a in attributes))


def one_tensor(nodes, *dims):
    """A network from x to y, which both have these dimensions."""
    return model_file(nodes + field(2, "g") + field(11, float_tensor("x", *dims)) + field(12, float_tensor("y", *dims)))


def giant_model():
    """A small file that wants 1.6 GB for each of its tensors."""
    return one_tensor(node("Relu", ["x"], ["a"]) + node("Sigmoid", ["a"], ["y"]), 1, 20000, 20000)


def slow_model(products=200, size=1500):
    """x times itself, again and again."""
    names = ["x"] + [f"t{i}" for i in range(1, products)] + ["y"]
    return one_tensor(b"".join(node("MatMul", [a, "x"], [b]) for a, b in zip(names, names[1:])), size, size)


def write(path, data):
    """A file, with the folders that it needs."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def digits():
    """Pairs of codes of an image and what TensorFlow Lite's kernels make of it, from the goldens of examples/digits."""
    folder = os.path.join(ROOT, "examples", "digits")
    with open(os.path.join(folder, "digits_test.bin"), "rb") as file:
        test = file.read()
    with open(os.path.join(folder, "digits_golden.json")) as file:
        golden = json.load(file)["test_set"]["tflite"]["probabilities"]
    with open(os.path.join(folder, "digits_golden.bin"), "rb") as file:
        file.seek(golden["offset"])
        answers = file.read(golden["nbytes"])
    (count,) = struct.unpack_from("<I", test, 12)
    codes = bytes((8 * pixel - 128) & 255 for pixel in test[32 : 32 + 64 * count])
    return [(codes[64 * i : 64 * i + 64], answers[10 * i : 10 * i + 10]) for i in range(count)]


def binary_request(codes):
    """Body and headers of a request whose tensors are bytes."""
    head = json.dumps({"inputs": [{"name": "image", "shape": [len(codes) // 64, 8, 8, 1], "datatype": "INT8",
                                   "parameters": {"binary_data_size": len(codes)}}],
                       "parameters": {"binary_data_output": True}}).encode()
    return head + codes, {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"}


def make_certificate(folder, kind="ec"):
    """A new key and a certificate of it, put in place of the old ones as one."""
    paths = [os.path.join(folder, name) for name in ("c.pem", "k.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", kind,
                    *(["-pkeyopt", "ec_paramgen_curve:prime256v1"] if kind == "ec" else []), "-nodes",
                    "-keyout", paths[1] + "~",
                    "-out", paths[0] + "~", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost"],
                   check=True, capture_output=True)
    for path in paths:
        os.replace(path + "~", path)
    return paths


def protocol_messages():
    """The module of messages that protoc makes of the protocol's schema."""
    import importlib.util

    folder = tempfile.mkdtemp()
    grpc_folder = os.path.join(ROOT, "serve", "grpc")
    subprocess.run(["protoc", "-I", grpc_folder, "--python_out", folder, "inference.proto"], check=True)
    spec = importlib.util.spec_from_file_location("inference_pb2", os.path.join(folder, "inference_pb2.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
