# SPDX-License-Identifier: Apache-2.0
"""The protocol over gRPC, asked by Python's gRPC: an implementation of the wire that shares nothing with the
server's client code."""

import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest

import grpc

import serving

COMMAND = sys.argv.pop(1)


class GrpcTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = serving.Server(COMMAND, "--demo")
        cls.pb = serving.protocol_messages()
        cls.channel = grpc.insecure_channel(f"127.0.0.1:{cls.server.grpc}")
        cls.digits = serving.digits()

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.server.__exit__(None)

    def call(self, method, request, channel=None, **options):
        name = "/inference.GRPCInferenceService/" + method
        answer = getattr(self.pb, method + "Response")
        return (channel or self.channel).unary_unary(name, type(request).SerializeToString,
                                                     answer.FromString)(request, **options)

    def refusal(self, code, part, method, request, **options):
        with self.assertRaises(grpc.RpcError) as caught:
            self.call(method, request, **options)
        self.assertEqual(caught.exception.code(), code)
        self.assertIn(part, caught.exception.details())

    def request(self, codes, datatype="INT8"):
        r = self.pb.ModelInferRequest(model_name="digits", id="7")
        r.inputs.add(name="image", datatype=datatype, shape=[len(codes) // 64, 8, 8, 1])
        r.raw_input_contents.append(codes)
        return r

    def test_health_and_metadata(self):
        pb = self.pb
        self.assertTrue(self.call("ServerLive", pb.ServerLiveRequest()).live)
        self.assertTrue(self.call("ServerReady", pb.ServerReadyRequest()).ready)
        self.assertTrue(self.call("ModelReady", pb.ModelReadyRequest(name="digits")).ready)
        self.assertEqual(self.call("ServerMetadata", pb.ServerMetadataRequest()).name, "octet")
        model = self.call("ModelMetadata", pb.ModelMetadataRequest(name="digits"))
        self.assertEqual((model.inputs[0].name, model.inputs[0].datatype, list(model.inputs[0].shape)),
                         ("image", "INT8", [-1, 8, 8, 1]))
        self.assertEqual(self.call("RepositoryIndex", pb.RepositoryIndexRequest()).models[0].state, "READY")

    def test_configuration_statistics_and_classes(self):
        config = self.call("ModelConfig", self.pb.ModelConfigRequest(name="digits")).config
        self.assertEqual((config.name, config.max_batch_size, config.backend), ("digits", 32, "octet"))
        self.assertEqual((config.input[0].name, config.input[0].data_type, list(config.input[0].dims)),
                         ("image", 6, [8, 8, 1]))
        request = self.request(self.digits[0][0])
        request.outputs.add(name="probabilities").parameters["classification"].int64_param = 2
        answer = self.call("ModelInfer", request)
        self.assertEqual((answer.outputs[0].datatype, list(answer.outputs[0].shape)), ("BYTES", [1, 2]))
        codes = [c - 256 if c > 127 else c for c in self.digits[0][1]]
        first = f"{max(codes)}:{codes.index(max(codes))}".encode()
        self.assertEqual(answer.raw_output_contents[0][: 4 + len(first)], bytes([len(first), 0, 0, 0]) + first)
        stats = self.call("ModelStatistics", self.pb.ModelStatisticsRequest()).model_stats[0]
        self.assertGreaterEqual(stats.inference_stats.success.count, 1)
        self.assertEqual(sum(b.compute_infer.count for b in stats.batch_stats), stats.execution_count)

    def test_answers_are_those_of_the_goldens(self):
        calls = [self.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                          self.pb.ModelInferRequest.SerializeToString,
                                          self.pb.ModelInferResponse.FromString).future(self.request(codes))
                 for codes, _ in self.digits]
        for call, (_, expected) in zip(calls, self.digits):  # all of them at once: they share batches
            answer = call.result()
            self.assertEqual(answer.raw_output_contents[0], expected)
            self.assertEqual((answer.id, list(answer.outputs[0].shape)), ("7", [1, 10]))

    def test_traces_pass_through(self):
        trace = (("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),)
        _, call = self.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                           self.pb.ModelInferRequest.SerializeToString,
                                           self.pb.ModelInferResponse.FromString).with_call(
                                               self.request(self.digits[0][0]), metadata=trace)
        self.assertIn(trace[0], [tuple(m) for m in call.initial_metadata()])

    def test_contents_instead_of_bytes(self):
        codes, expected = self.digits[1]
        r = self.request(codes)
        del r.raw_input_contents[:]
        r.inputs[0].contents.int_contents.extend(c - 256 if c > 127 else c for c in codes)
        self.assertEqual(self.call("ModelInfer", r).raw_output_contents[0], expected)

    def test_refusals(self):
        code, pb = grpc.StatusCode, self.pb
        codes = self.digits[0][0]
        self.refusal(code.NOT_FOUND, "no model 'none'", "ModelInfer", pb.ModelInferRequest(model_name="none"))
        self.refusal(code.NOT_FOUND, "no version '9'", "ModelInfer",
                     pb.ModelInferRequest(model_name="digits", model_version="9"))
        self.refusal(code.INVALID_ARGUMENT, "datatype 'INT64', allowed: INT8, FP16, BF16, FP32", "ModelInfer",
                     self.request(codes, "INT64"))
        self.refusal(code.INVALID_ARGUMENT, "65 bytes", "ModelInfer", self.request(codes + b"x"))
        self.refusal(code.INVALID_ARGUMENT, "0 inputs", "ModelInfer", pb.ModelInferRequest(model_name="digits"))
        two = self.request(codes)
        two.raw_input_contents.append(b"")
        self.refusal(code.INVALID_ARGUMENT, "2 raw_input_contents for 1", "ModelInfer", two)
        text = self.request(codes)
        del text.raw_input_contents[:]
        text.inputs[0].contents.bytes_contents.append(b"x")
        self.refusal(code.INVALID_ARGUMENT, "strings", "ModelInfer", text)
        self.refusal(code.PERMISSION_DENIED, "--allow-repository-changes", "RepositoryModelUnload",
                     pb.RepositoryModelUnloadRequest(model_name="digits"))
        self.refusal(code.RESOURCE_EXHAUSTED, "larger than max", "ModelInfer", self.request(bytes(65 << 20)))
        both = self.request(codes)
        both.inputs[0].contents.int_contents.append(1)
        self.refusal(code.INVALID_ARGUMENT, "contents beside raw_input_contents", "ModelInfer", both)
        sequence = self.request(codes)
        sequence.parameters["sequence_id"].int64_param = 1
        self.refusal(code.INVALID_ARGUMENT, "the model has no past", "ModelInfer", sequence)
        self.refusal(code.UNIMPLEMENTED, "compressed", "ModelInfer", self.request(codes * 32),
                     compression=grpc.Compression.Gzip)
        with self.assertRaises(grpc.RpcError) as caught:
            self.channel.unary_unary("/inference.GRPCInferenceService/Other")(b"")
        self.assertEqual(caught.exception.code(), code.UNIMPLEMENTED)
        late = self.request(codes)
        late.parameters["timeout"].int64_param = -1
        self.refusal(code.INVALID_ARGUMENT, "timeout", "ModelInfer", late)
        self.refusal(code.DEADLINE_EXCEEDED, "", "ModelInfer", self.request(codes), timeout=-1)

    def test_cancelled_calls_leave_the_server_alone(self):
        for codes, _ in self.digits[:50]:
            self.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                     self.pb.ModelInferRequest.SerializeToString,
                                     self.pb.ModelInferResponse.FromString).future(
                                         self.request(codes)).cancel()
        codes, expected = self.digits[0]
        self.assertEqual(self.call("ModelInfer", self.request(codes)).raw_output_contents[0], expected)

    def test_what_waits_leaves_the_queue(self):
        """The server holds a request back for company that never comes, longer than its client waits."""
        infer = lambda channel: channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                                    self.pb.ModelInferRequest.SerializeToString,
                                                    self.pb.ModelInferResponse.FromString)

        def figure(what):
            text = server.get("/metrics", server.metrics)[1].decode()
            return sum(int(n) for n in re.findall(rf"^octet_{what} (\d+)$", text, re.M))

        def wait_for(what, count):
            while figure(what) != count:
                time.sleep(0.01)

        cancelled, expired = (rf'requests_total{{model="digits",result="{result}",.*}}'
                              for result in ("cancelled", "expired"))
        # A request is counted a moment after it left the queue.
        withdrawn = r'requests_total{model="digits",result="(?:cancelled|expired)",.*}'
        waiting, computed = "waiting_requests{.*}", "batch_rows_count{.*}"
        config = '{"preferred_batch_sizes": [8], "max_queue_delay_microseconds": 10000000}'
        with (serving.Folder(config) as folder, serving.Server(COMMAND, "--models", folder) as server,
              grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel):
            request = self.request(self.digits[0][0])
            call = infer(channel).future(request)
            wait_for(waiting, 1)
            call.cancel()
            wait_for(waiting, 0)
            wait_for(withdrawn, 1)
            self.assertEqual((figure(cancelled), figure(expired)), (1, 0))
            self.assertEqual(infer(channel).future(request, timeout=0.2).code(), grpc.StatusCode.DEADLINE_EXCEEDED)
            wait_for(waiting, 0)
            wait_for(withdrawn, 2)
            self.assertEqual(figure(cancelled) + figure(expired), 2)  # the client may be ahead of the server's clock
            body, headers = serving.binary_request(self.digits[0][0])
            with socket.create_connection(("127.0.0.1", server.http)) as client:
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                client.sendall(f"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: "
                               f"{len(body)}\r\n{lines}\r\n".encode() + body)
                wait_for(waiting, 1)
            wait_for(waiting, 0)
            wait_for(withdrawn, 3)
            self.assertEqual(figure(cancelled) + figure(expired), 3)
            self.assertEqual(figure(computed), 0)

    def test_connections_that_say_nothing_are_closed(self):
        with serving.Server(COMMAND, "--demo", "--receive-ms", "1000", "--idle-ms", "200") as server:
            with socket.create_connection(("127.0.0.1", server.grpc)) as silent:
                while silent.recv(4096):  # the server's greeting, then the end
                    pass
            codes, expected = self.digits[0]
            with grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
                def ask():
                    # Waits for a busy machine, too.
                    return self.call("ModelInfer", self.request(codes), channel=channel, wait_for_ready=True)
                for _ in range(2):  # a client that was idle connects again by itself
                    try:
                        answer = ask()
                    except grpc.RpcError as error:  # it asked in the moment in which its channel went idle
                        self.assertEqual((error.code(), error.details()), (grpc.StatusCode.UNAVAILABLE, "enter idle"))
                        answer = ask()
                    self.assertEqual(answer.raw_output_contents[0], expected)
                    time.sleep(0.4)

    def test_tls_and_a_token(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = serving.make_certificate(folder)
            token = os.path.join(folder, "token")
            with open(token, "w") as file:
                file.write("secret\n")
            with open(certificate, "rb") as file:
                credentials = grpc.ssl_channel_credentials(file.read())
            with (serving.Server(COMMAND, "--demo", "--tls-certificate", certificate, "--tls-key", key,
                                 "--token-file", token) as server,
                  grpc.secure_channel(f"localhost:{server.grpc}", credentials) as channel):
                request = self.request(self.digits[2][0])
                for metadata in (None, (("authorization", "Bearer wrong"),)):
                    self.refusal(grpc.StatusCode.UNAUTHENTICATED, "bearer token", "ModelInfer", request,
                                 channel=channel, metadata=metadata)
                answer = self.call("ModelInfer", request, channel=channel,
                                   metadata=(("authorization", "Bearer secret"),))
                self.assertEqual(answer.raw_output_contents[0], self.digits[2][1])
                self.assertTrue(self.call("ServerReady", self.pb.ServerReadyRequest(), channel=channel).ready)
                self.assertEqual(channel.unary_unary("/grpc.health.v1.Health/Check")(b""), b"\x08\x01")
                reflection = channel.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
                with self.assertRaises(grpc.RpcError) as caught:
                    next(reflection(iter([b"\x3a\x01*"])))
                self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
                self.assertIn(b"GRPCInferenceService", next(reflection(
                    iter([b"\x3a\x01*"]), metadata=(("authorization", "Bearer secret"),))))

    def test_overload_is_answered_at_once(self):
        with serving.Folder('{"max_batch_size": 360, "preferred_batch_sizes": [360], "instances": 1, '
                            '"max_queued_requests": 1}') as folder:
            request = self.request(b"".join(codes for codes, _ in self.digits))
            expected = b"".join(answer for _, answer in self.digits)
            good = refused = 0
            with (serving.Server(COMMAND, "--models", folder) as server,
                  grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel):
                infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                            self.pb.ModelInferRequest.SerializeToString,
                                            self.pb.ModelInferResponse.FromString)
                for call in [infer.future(request) for _ in range(200)]:
                    if call.exception() is None:
                        self.assertEqual(call.result().raw_output_contents[0], expected)
                        good += 1
                    else:
                        self.assertEqual(call.code(), grpc.StatusCode.RESOURCE_EXHAUSTED, call.details())
                        self.assertIn(("retry-after", "1"), [tuple(m) for m in call.trailing_metadata()])
                        refused += 1
                # Numbers of more than 64 KiB are read elsewhere than on the thread of the connection.
                del request.raw_input_contents[:]
                request.inputs[0].contents.int_contents.extend(c - 256 if c > 127 else c for codes,
                                                               _ in self.digits for c in codes)
                self.assertGreater(request.ByteSize(), 1 << 16)
                self.assertEqual(infer(request).raw_output_contents[0], expected)
                request.inputs[0].contents.int_contents[0] = 1000
                self.refusal(grpc.StatusCode.INVALID_ARGUMENT, "1000", "ModelInfer", request, channel=channel)
            self.assertGreater(good, 0)
            self.assertGreater(refused, 0)

    def test_who_waited_too_long_is_told_when_to_try_again(self):
        """Requests that are taken, and refused when they have waited for a millisecond."""
        with serving.Folder('{"max_batch_size": 360, "preferred_batch_sizes": [360], "instances": 1, '
                            '"max_wait_milliseconds": 1}') as folder:
            request = self.request(b"".join(codes for codes, _ in self.digits))
            waited = 0
            with (serving.Server(COMMAND, "--models", folder) as server,
                  grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel):
                infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                            self.pb.ModelInferRequest.SerializeToString,
                                            self.pb.ModelInferResponse.FromString)
                for call in [infer.future(request) for _ in range(200)]:
                    if call.exception() is not None:
                        self.assertEqual(call.code(), grpc.StatusCode.RESOURCE_EXHAUSTED, call.details())
                        self.assertIn(("retry-after", "1"), [tuple(m) for m in call.trailing_metadata()],
                                      call.details())
                        waited += "waited" in call.details()
            self.assertGreater(waited, 0)

    def test_messages_that_become_large(self):
        """Fields of two bytes are objects of a hundred or more. Without a token no message is read at all."""
        with tempfile.TemporaryDirectory() as folder:
            token = os.path.join(folder, "token")
            with open(token, "w") as file:
                file.write("secret\n")
            for options, expected in (([], "INVALID_ARGUMENT"), (["--token-file", token], "UNAUTHENTICATED")):
                with (serving.limited(COMMAND, f"-d {1 << 20}") as script,
                      serving.Server(script, "--demo", *options) as server,
                      grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel):
                    infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
                    empty_inputs, empty_bytes, groups, unknown = b"\x2a\x00", b"\x3a\x00", b"\x7b\x7c", b"\xf8\x7f\x00"
                    for piece in (empty_inputs, empty_bytes, groups, unknown):
                        with self.assertRaises(grpc.RpcError) as caught:
                            infer(piece * (60_000_000 // len(piece)), timeout=60)
                        self.assertEqual(caught.exception.code().name, expected, caught.exception.details())
                    packed = (b"\x0a\x06digits\x2a" + serving.varint(9_000_006) + b"\x2a"
                              + serving.varint(9_000_001) + b"\x1a" + serving.varint(8_999_996))
                    with self.assertRaises(grpc.RpcError):  # 9 million numbers of a byte each
                        infer(packed + bytes(8_999_996), timeout=60)
                    answer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                                 self.pb.ModelInferRequest.SerializeToString,
                                                 self.pb.ModelInferResponse.FromString)
                    codes, golden = self.digits[0]
                    self.assertEqual(answer(self.request(codes),
                                            metadata=(("authorization",
                                                       "Bearer secret"),)).raw_output_contents[0], golden)

    def test_clients_that_begin_and_do_not_go_on(self):
        """Calls whose messages never end hold the places of their client, and lose them in time."""
        def endless():
            yield b"\x0a\x06digits"
            over.wait(20)

        with serving.Server(COMMAND, "--demo", "--receive-ms",
                            "500") as server, grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
            over = threading.Event()
            calls = [channel.stream_unary("/inference.GRPCInferenceService/ModelInfer").future(
                endless(), timeout=20) for _ in range(20)]
            for call in calls:
                self.assertIsNotNone(call.exception())
            over.set()

    def test_health_tells_those_who_watch(self):
        with serving.Server(COMMAND, "--demo", "--leave-ms",
                            "300") as server, grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
            watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=20)
            self.assertEqual(next(watch), b"\x08\x01")  # SERVING
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(next(watch), b"\x08\x02")  # NOT_SERVING
            with self.assertRaises(grpc.RpcError):
                next(watch)

    def test_reflection_and_health_are_there(self):
        # ServerReflectionRequest{list_services = "*"} (field 7) and HealthCheckRequest{}, by hand: no package
        # has their classes here.
        listed = self.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")(iter([b"\x3a\x01*"]))
        self.assertIn(b"inference.GRPCInferenceService", next(iter(listed)))
        self.assertEqual(self.channel.unary_unary("/grpc.health.v1.Health/Check")(b""), b"\x08\x01")  # SERVING


if __name__ == "__main__":
    unittest.main()
