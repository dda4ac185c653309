"""What the tests of `octet serve` in Python share: the server as a process, and the digits with their answers."""

import contextlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import urllib.error
import urllib.request

ROOT = os.environ["OCTET_SOURCE_DIR"]


class Server:
    """`octet serve` on free ports. As a context it is ended by SIGTERM, and has to end in good order."""

    def __init__(self, command, *arguments, http=0, grpc=0, env=None):
        everywhere = ["--http", f"127.0.0.1:{http}", "--grpc", f"127.0.0.1:{grpc}", "--metrics", "127.0.0.1:0"]
        self.process = subprocess.Popen([command, "serve", *everywhere, *arguments], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        self.lines = []
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
        yield script


class Folder(tempfile.TemporaryDirectory):
    """A folder of models with the digits and this config.json."""

    def __init__(self, config):
        super().__init__()
        os.makedirs(os.path.join(self.name, "digits", "1"))
        shutil.copy(os.path.join(ROOT, "examples", "digits", "digits_int8.tflite"), os.path.join(self.name, "digits", "1", "model.tflite"))
        with open(os.path.join(self.name, "digits", "config.json"), "w") as file:
            file.write(config)


def varint(n):
    """As Protobuf's wire has it."""
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


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


def make_certificate(folder):
    """A new key and a certificate of it, put in place of the old ones as one."""
    paths = [os.path.join(folder, name) for name in ("c.pem", "k.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", paths[1] + "~",
                    "-out", paths[0] + "~", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
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
