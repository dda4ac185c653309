# SPDX-License-Identifier: Apache-2.0
"""Three servers behind HAProxy, with the committed configuration: one has another instruction set, one is killed, one is
replaced in good order, all under load. No answer may be wrong, and no request may be lost."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import serving

COMMAND, CLIENTS, SECONDS = sys.argv[1], 8, float(sys.argv[2]) if len(sys.argv) > 2 else 3
DIGITS = serving.digits()
BOUND = 2.0  # seconds, of p99: what connecting to a server that is gone may take by the configuration


def start(ports, level=None):
    """A server on these ports, which later ones may take over."""
    return serving.Server(COMMAND, "--demo", "--leave-ms", "1500", http=ports[0], grpc=ports[1],
                          env={"OCTET_MAX_CPU_ISA": level} if level else None)


def client(port, seed, over, counts, times):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    n = seed
    while not over.is_set():
        codes, expected = DIGITS[n % len(DIGITS)]
        n += 7
        body, headers = serving.binary_request(codes)
        begin = time.monotonic()
        try:
            connection.request("POST", "/v2/models/digits/infer", body, headers)
            reply = connection.getresponse()
            data = reply.read()
            head = int(reply.headers.get("Inference-Header-Content-Length", 0))
            what = "good" if reply.status == 200 and data[head:] == expected else "wrong" if reply.status == 200 else reply.status
        except OSError as failure:
            what = repr(failure)
            connection.close()
        counts[what] = counts.get(what, 0) + 1
        times.append(time.monotonic() - begin)


def main():
    ports = [(serving.free_port(), serving.free_port()) for _ in range(3)]
    front, front_grpc = serving.free_port(), serving.free_port()
    env = dict(os.environ, OCTET_HTTP=f"127.0.0.1:{front}", OCTET_GRPC=f"127.0.0.1:{front_grpc}")
    for i, (http_port, grpc_port) in enumerate(ports, 1):
        env.update({f"S{i}_HTTP": f"127.0.0.1:{http_port}", f"S{i}_GRPC": f"127.0.0.1:{grpc_port}", f"S{i}_PORT": str(http_port)})
    servers = [start(ports[0]), start(ports[1], "avx2"), start(ports[2])]
    config = os.path.join(serving.ROOT, "serve", "deploy", "haproxy.cfg")
    proxy = subprocess.Popen(["haproxy", "-q", "-f", config], env=env)
    try:
        while True:  # until HAProxy listens
            if proxy.poll() is not None:
                sys.exit("HAProxy did not start")
            try:
                with socket.create_connection(("127.0.0.1", front)):
                    break
            except OSError:
                time.sleep(0.05)
        over, counts, times = threading.Event(), [{} for _ in range(CLIENTS)], [[] for _ in range(CLIENTS)]
        threads = [threading.Thread(target=client, args=(front, 11 * i, over, counts[i], times[i])) for i in range(CLIENTS)]
        for t in threads:
            t.start()
        time.sleep(SECONDS / 3)
        servers[0].process.send_signal(signal.SIGKILL)
        servers[0].process.wait()
        time.sleep(SECONDS / 3)
        servers[2].__exit__(None)  # SIGTERM, and an exit code of 0
        servers[2] = start(ports[2])
        time.sleep(SECONDS / 3)
        over.set()
        for t in threads:
            t.join()
        grpc_answer = ask_grpc(front_grpc)
    finally:
        proxy.kill()
        proxy.wait()
    for server in servers[1:]:
        server.__exit__(None)
    total = {}
    for one in counts:
        for what, n in one.items():
            total[what] = total.get(what, 0) + n
    ordered = sorted(t for one in times for t in one)
    print(f"{total}, median {1000 * ordered[len(ordered) // 2]:.1f} ms, p99 {1000 * ordered[len(ordered) * 99 // 100]:.1f} ms, "
          f"longest {1000 * ordered[-1]:.0f} ms")
    if set(total) != {"good"} or not grpc_answer:
        sys.exit("answers were lost or wrong")
    if ordered[len(ordered) * 99 // 100] > BOUND:
        sys.exit(f"p99 is beyond {BOUND} s")


def ask_grpc(port):
    """Through HAProxy's HTTP/2."""
    try:
        import grpc
    except ImportError:
        return True
    pb = serving.protocol_messages()
    codes, expected = DIGITS[3]
    request = pb.ModelInferRequest(model_name="digits")
    request.inputs.add(name="image", datatype="INT8", shape=[1, 8, 8, 1])
    request.raw_input_contents.append(codes)
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", pb.ModelInferRequest.SerializeToString,
                                   pb.ModelInferResponse.FromString)
        return all(call(request, wait_for_ready=True, timeout=20).raw_output_contents[0] == expected for _ in range(6))


main()
