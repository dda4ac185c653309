# SPDX-License-Identifier: Apache-2.0
"""What surrounds a server and goes wrong: descriptors, disks, ports, certificates; and TLS where it goes right."""

import http.client
import json
import os
import re
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


def certificate_at(port):
    """What the server shows in a handshake; None if there is none."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plain, context.wrap_socket(plain) as s:
            return s.getpeercert(binary_form=True)
    except OSError:
        return None


def of_file(path):
    with open(path) as file:
        return ssl.PEM_cert_to_DER_cert(file.read())


class FaultsTest(unittest.TestCase):
    digits = serving.digits()[:20]

    def check(self, server):
        for codes, expected in self.digits:
            status, data, headers = server.post("/v2/models/digits/infer", *serving.binary_request(codes))
            self.assertEqual((status, data[int(headers["Inference-Header-Content-Length"]) :]), (200, expected))

    def test_wrong_options_are_one_line(self):
        for arguments, part in (([], "serve needs a MODEL"),
                                (["--demo", "--http", "nonsense"], "ADDRESS:PORT"),
                                (["--demo", "--http", "127.0.0.1:70000"], "0 to 65535"),
                                (["--demo", "--grpc", "x:-1"], "0 to 65535"),
                                (["--models", "/nowhere"] + FILES, "is no folder"),
                                (["/nowhere/x.tflite"] + FILES, "cannot be read"),
                                (["--demo", "--tls-key", "x"], "belong together"),
                                (["--demo", "--token-file", "/dev/null"], "/dev/null: is no regular file"),
                                (["--demo", "--token-file", "/dev/zero"], "/dev/zero: is no regular file"),
                                (["--demo", "--token-file", "/"], "/: is no regular file"),
                                (["--demo", "--token-file", __file__, "--model-name", "x"],
                                 "--model-name requires --models"),
                                (["--demo", "--token-file", "/nowhere/token"],
                                 "/nowhere/token: cannot be read: No such file"),
                                (["--demo", "--grpc", "nonsense"], "address 'nonsense' given"),
                                (["--demo", "--access-log", "/dev/null/log"], "/dev/null/log"),
                                (["--demo", "--http", "127.0.0.1:0", "--tls-certificate", "/dev/null",
                                  "--tls-key", "/dev/null"], "TLS")):
            code, said = refusal(*arguments)
            self.assertEqual((code, said.count("\n")), (2, 1), said)
            self.assertIn(part, said)

    def test_help_names_options_as_they_are_typed(self):
        said = subprocess.run([COMMAND, "serve", "--help"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, r"--protect-metrics +Metrics")
        self.assertNotIn("{", said)
        for option, port in (("http", 8000), ("grpc", 8001), ("metrics", 8002)):
            self.assertIn(f"--{option} ADDRESS=127.0.0.1:{port}", said)  # who wants others to reach it says so

    def test_a_server_that_everybody_reaches_says_so(self):
        options = ["--demo", "--http", "0.0.0.0:0", "--grpc", "127.0.0.1:0", "--metrics", "off"]
        with subprocess.Popen([COMMAND, "serve", *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as process:
            lines = [process.stderr.readline() for _ in range(2)]
            process.send_signal(signal.SIGTERM)
        self.assertIn("HTTP on 0.0.0.0:0: whoever reaches this machine may ask", "".join(lines))
        self.assertNotIn("gRPC on", "".join(lines))

    def test_a_port_that_is_taken(self):
        with serving.Server(COMMAND, "--demo") as server:
            for option, port in (("--http", server.http), ("--grpc", server.grpc)):
                others = (["--grpc", "off", "--metrics", "off"] if option == "--http"
                          else ["--http", "off", "--metrics", "off"])
                code, said = refusal("--demo", option, f"127.0.0.1:{port}", *others)
                self.assertEqual(code, 2, said)
                self.assertIn("cannot listen", said)

    def test_no_descriptors_are_left(self):
        with serving.limited(COMMAND, "-n 60") as script, serving.Server(script, "--demo") as server:
            for port in (server.http, server.grpc):
                held = []
                for _ in range(100):
                    held.append(socket.create_connection(("127.0.0.1", port)))
                time.sleep(0.3)
                # The metrics have a port and a thread of their own.
                self.assertEqual(server.get("/v2/health/ready", server.metrics), (200, b'{"ready":true}'))
                for s in held:
                    s.close()
                self.check(server)
                # HTTP/2's preface and its SETTINGS.
                with socket.create_connection(("127.0.0.1", server.grpc), timeout=20) as s:
                    s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5))
                    self.assertEqual(s.recv(9)[3:4], b"\x04")

    def test_no_memory_is_left(self):
        """Numbers that there is no memory for are refused, the requests of the others are answered."""
        with serving.limited(COMMAND, f"-d {400 << 10}") as script:
            for more, sentence in (([], "fill the memory"),
                                   (["--max-receiving-mib", "4000"], "there is no memory for")):
                with serving.Server(script, "--demo", *more) as server:
                    many = (b'{"inputs":[{"name":"image","shape":[1,8,8,1],"datatype":"INT8","data":[' + b"1,"
                            * 30_000_000 + b"1]}]}")
                    status, data, _ = server.post("/v2/models/digits/infer", many)
                    self.assertEqual(status, 503)
                    self.assertIn(sentence, data.decode())
                    self.check(server)

    def test_without_requests_it_costs_nothing(self):
        def cpu_seconds():
            with open(f"/proc/{server.process.pid}/stat") as file:
                return sum(int(t) for t in file.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")

        with serving.Server(COMMAND, "--demo") as server:
            self.check(server)
            before = cpu_seconds()
            time.sleep(1)
            self.assertLess(cpu_seconds() - before, 0.1)  # a thread that spins takes 1

    def test_nobody_on_a_system_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            script = os.path.join(folder, "octet")
            with open(script, "w") as file:
                file.write("#!/bin/sh\nexec unshare --mount sh -c 'mount -o remount,bind,ro / && "
                           f'exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs "$@"\' '
                           f'sh "{COMMAND}" "$@"\n')
            os.chmod(script, 0o755)
            if subprocess.run([script, "--version"], capture_output=True).returncode != 0:
                self.skipTest("no mount namespaces here, or a folder that is not everybody's")
            with serving.Server(script, "--demo") as server:
                with open(f"/proc/{server.process.pid}/status") as file:
                    self.assertIn("Uid:\t65534\t65534\t65534\t65534", file.read())
                self.check(server)

    def test_generated_code_where_no_page_may_become_executable(self):
        """PR_SET_MDWE, which is kept by the program that it becomes; systemd's MemoryDenyWriteExecute forbids
        the same calls."""
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "octet")
            with open(script, "w") as file:
                file.write(f"#!{sys.executable}\nimport ctypes, os, sys\n"
                           f'sys.exit(7) if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) else '
                           f'os.execv("{COMMAND}", sys.argv)\n')
            os.chmod(script, 0o755)
            if subprocess.run([script, "--version"], capture_output=True).returncode != 0:
                self.skipTest("the kernel has no PR_SET_MDWE")
            level = re.compile(rb'octet_build_info{isa="(\w+)"')
            with serving.Server(COMMAND, "--demo") as usual, serving.Server(script, "--demo") as server:
                self.check(server)
                self.assertEqual(*(level.search(s.get("/metrics", s.metrics)[1])[1] for s in (usual, server)))

    def test_a_full_disk_stops_no_request(self):
        with serving.Server(COMMAND, "--demo", "--access-log", "/dev/full") as server:
            self.check(server)

    def test_it_ends_with_connections_open(self):
        with serving.Server(COMMAND, "--demo") as server:
            idle, half = (socket.create_connection(("127.0.0.1", server.http)) for _ in range(2))
            half.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
            self.check(server)
            half.close()
            server.process.send_signal(signal.SIGHUP)
            self.check(server)
        idle.close()

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_tls(self):
        folder = tempfile.mkdtemp()
        certificate, key = serving.make_certificate(folder)
        with serving.Server(COMMAND, "--demo", "--tls-certificate", certificate, "--tls-key", key) as server:
            connection = http.client.HTTPSConnection("localhost", server.http,
                                                     context=ssl.create_default_context(cafile=certificate))
            for codes, expected in self.digits:
                connection.request("POST", "/v2/models/digits/infer", *serving.binary_request(codes))
                reply = connection.getresponse()
                self.assertEqual(reply.read()[int(reply.headers["Inference-Header-Content-Length"]) :], expected)
            connection.close()
            with socket.create_connection(("127.0.0.1", server.http)) as plain:
                plain.sendall(b"GET /v2 HTTP/1.1\r\n\r\n")
                self.assertNotIn(b"200", plain.recv(100))
        shutil.rmtree(folder)

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_old_protocols_and_suites_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = serving.make_certificate(folder, "rsa:2048")
            with serving.Server(COMMAND, "--demo", "--tls-certificate", certificate, "--tls-key", key) as server:
                for port in (server.http, server.grpc):
                    def shakes_hands(*options):
                        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}",
                                               "-alpn", "h2,http/1.1", *options],
                                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                              errors="replace")
                        return "Cipher is (NONE)" not in done.stdout and done.returncode == 0
                    weak = "@SECLEVEL=0"
                    self.assertTrue(shakes_hands("-tls1_3"))
                    self.assertEqual(shakes_hands("-alpn", "http/1.1"), port == server.http)
                    self.assertTrue(shakes_hands("-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"))
                    for options in (["-tls1_2", "-cipher", "AES128-GCM-SHA256" + ":" + weak],
                                    ["-tls1_2", "-cipher", "AES256-SHA" + ":" + weak],
                                    ["-tls1_1", "-cipher", "ALL:" + weak],
                                    ["-tls1", "-cipher", "ALL:" + weak]):
                        self.assertFalse(shakes_hands(*options), options)

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_clients_need_a_certificate(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            certificate, key = serving.make_certificate(folder)
            client_certificate, client_key = serving.make_certificate(other)
            with serving.Server(COMMAND, "--demo", "--tls-certificate", certificate, "--tls-key", key,
                                "--tls-client-ca", client_certificate) as server:
                def ask(*own):
                    context = ssl.create_default_context(cafile=certificate)
                    if own:
                        context.load_cert_chain(*own)
                    connection = http.client.HTTPSConnection("localhost", server.http, context=context, timeout=20)
                    try:
                        connection.request("GET", "/v2/health/live")
                        return connection.getresponse().status
                    except (ssl.SSLError, OSError):
                        return None
                    finally:
                        connection.close()
                self.assertEqual(ask(client_certificate, client_key), 200)
                self.assertIsNone(ask())
                self.assertIsNone(ask(certificate, key))  # of another authority
                def grpc_shakes_hands(*own):
                    """A client of TLS 1.2 knows after the handshake whether it was let in."""
                    context = ssl.create_default_context(cafile=certificate)
                    context.maximum_version = ssl.TLSVersion.TLSv1_2
                    context.set_alpn_protocols(["h2"])
                    if own:
                        context.load_cert_chain(*own)
                    try:
                        with socket.create_connection(("localhost", server.grpc),
                                                      timeout=20) as s, context.wrap_socket(
                                                          s, server_hostname="localhost"):
                            return True
                    except OSError:
                        return False
                self.assertTrue(grpc_shakes_hands(client_certificate, client_key))
                self.assertFalse(grpc_shakes_hands())

    def test_lines_of_the_access_log(self):
        """They are there at once, one for each request, also of those that were never complete; what is lost
        is counted."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            with serving.Server(COMMAND, "--demo", "--access-log", path) as server:
                self.check(server)
                server.get("/v2/models/a%22b%0a")
                with socket.create_connection(("127.0.0.1", server.http)) as s:
                    s.sendall(b"nonsense\r\n\r\n")
                    s.recv(100)
                until = time.monotonic() + 20
                while time.monotonic() < until:
                    with open(path) as file:
                        rows = [json.loads(line) for line in file]
                    if len(rows) == len(self.digits) + 2:
                        break
                    time.sleep(0.02)
                self.assertEqual([row["status"] for row in rows], [200] * len(self.digits) + [404, 400])
                self.assertEqual({row["client"] for row in rows}, {"127.0.0.1"})
        with serving.Server(COMMAND, "--demo", "--access-log", "/dev/full") as server:
            self.check(server)
            server.wait_for_line("lines are lost: No space left")
            until = time.monotonic() + 20
            while f"octet_access_log_lost_lines_total {len(self.digits)}\n".encode() not in server.get(
                "/metrics", server.metrics)[1]:
                self.assertLess(time.monotonic(), until)

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_certificates_are_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = serving.make_certificate(folder)
            first = of_file(certificate)
            with serving.Server(COMMAND, "--demo", "--tls-certificate", certificate, "--tls-key", key) as server:
                self.assertEqual([certificate_at(server.http), certificate_at(server.grpc)], [first, first])
                serving.make_certificate(folder)
                second = of_file(certificate)
                server.process.send_signal(signal.SIGHUP)
                for port in (server.http, server.grpc):
                    while certificate_at(port) != second:
                        time.sleep(0.05)
                with open(certificate, "w") as file:
                    file.write("nonsense")
                server.process.send_signal(signal.SIGHUP)
                server.wait_for_line("reload: certificate: ")
                time.sleep(1.5)
                self.assertEqual([certificate_at(server.http), certificate_at(server.grpc)], [second, second])


if __name__ == "__main__":
    unittest.main()
