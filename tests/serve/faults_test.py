"""What surrounds a server and goes wrong: descriptors, disks, ports, certificates; and TLS where it goes right."""

import http.client
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

import serving

COMMAND = sys.argv.pop(1)
FILES = ["--http", "127.0.0.1:0", "--grpc", "off", "--metrics", "off"]


def refusal(*arguments):
    done = subprocess.run([COMMAND, "serve", *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


class FaultsTest(unittest.TestCase):
    digits = serving.digits()[:20]

    def check(self, server):
        for codes, expected in self.digits:
            status, data, headers = server.post("/v2/models/digits/infer", *serving.binary_request(codes))
            self.assertEqual((status, data[int(headers["Inference-Header-Content-Length"]) :]), (200, expected))

    def test_wrong_options_are_one_line(self):
        for arguments, part in (([], "serve needs a MODEL"), (["--demo", "--http", "nonsense"], "ADDRESS:PORT"),
                                (["--models", "/nowhere"] + FILES, "is no folder"), (["/nowhere/x.tflite"] + FILES, "cannot be read"),
                                (["--demo", "--tls-key", "x"], "belong together"), (["--demo", "--token-file", "/dev/null"], "no token"),
                                (["--demo", "--access-log", "/dev/null/log"], "/dev/null/log"),
                                (["--demo", "--http", "127.0.0.1:0", "--tls-certificate", "/dev/null", "--tls-key", "/dev/null"], "TLS")):
            code, said = refusal(*arguments)
            self.assertEqual((code, said.count("\n")), (2, 1), said)
            self.assertIn(part, said)

    def test_a_port_that_is_taken(self):
        with serving.Server(COMMAND, "--demo") as server:
            for option, port in (("--http", server.http), ("--grpc", server.grpc)):
                others = ["--grpc", "off", "--metrics", "off"] if option == "--http" else ["--http", "off", "--metrics", "off"]
                code, said = refusal("--demo", option, f"127.0.0.1:{port}", *others)
                self.assertEqual(code, 2, said)
                self.assertIn("cannot listen", said)

    def test_no_descriptors_are_left(self):
        limited = f'ulimit -n 60; exec "{COMMAND}" "$@"'
        script = os.path.join(tempfile.mkdtemp(), "octet")
        with open(script, "w") as file:
            file.write("#!/bin/sh\n" + limited + "\n")
        os.chmod(script, 0o755)
        with serving.Server(script, "--demo") as server:
            held = [socket.create_connection(("127.0.0.1", server.http)) for _ in range(100)]
            time.sleep(0.3)
            for s in held:
                s.close()
            self.check(server)
        shutil.rmtree(os.path.dirname(script))

    def test_a_full_disk_stops_no_request(self):
        with serving.Server(COMMAND, "--demo", "--access-log", "/dev/full") as server:
            self.check(server)

    def test_it_ends_with_connections_open(self):
        with serving.Server(COMMAND, "--demo") as server:
            idle, half = (socket.create_connection(("127.0.0.1", server.http)) for _ in range(2))
            half.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nContent-Length: 10\r\n\r\n{")
            self.check(server)
            half.close()
            server.process.send_signal(signal.SIGHUP)
            self.check(server)
        idle.close()

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_tls(self):
        folder = tempfile.mkdtemp()
        certificate, key = os.path.join(folder, "c.pem"), os.path.join(folder, "k.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                        "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                       check=True, capture_output=True)
        with serving.Server(COMMAND, "--demo", "--tls-certificate", certificate, "--tls-key", key) as server:
            connection = http.client.HTTPSConnection("localhost", server.http, context=ssl.create_default_context(cafile=certificate))
            for codes, expected in self.digits:
                connection.request("POST", "/v2/models/digits/infer", *serving.binary_request(codes))
                reply = connection.getresponse()
                self.assertEqual(reply.read()[int(reply.headers["Inference-Header-Content-Length"]) :], expected)
            connection.close()
            with socket.create_connection(("127.0.0.1", server.http)) as plain:
                plain.sendall(b"GET /v2 HTTP/1.1\r\n\r\n")
                self.assertNotIn(b"200", plain.recv(100))
        shutil.rmtree(folder)


if __name__ == "__main__":
    unittest.main()
