# SPDX-License-Identifier: Apache-2.0
"""Frames of HTTP/2 by hand: what no library sends, and as much of a client of gRPC as needs no HPACK."""

import struct

INFER = "/inference.GRPCInferenceService/ModelInfer"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def frames(data):
    """Of what was received: kind, flags, stream and content; the last one may be a part."""
    at = 0
    while at + 9 <= len(data):
        size = int.from_bytes(data[at : at + 3], "big")
        yield data[at + 3], data[at + 4], int.from_bytes(data[at + 5 : at + 9], "big"), data[at + 9 : at + 9 + size]
        at += 9 + size


def ends(data, of):
    """Whether the stream has its trailers: with them the server has said all."""
    return any(kind == HEADERS and flags & END_STREAM and stream == of for kind, flags, stream, _ in frames(data))


def header(name, value):
    """A literal of HPACK that is not indexed."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def head(path=INFER, *more):
    pairs = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x"),
             ("content-type", "application/grpc"), ("te", "trailers"), *more]
    return b"".join(header(*p) for p in pairs)


def message(data, is_packed=False):
    return bytes([is_packed]) + struct.pack(">I", len(data)) + data


def receive(s, is_enough):
    """What comes until that is enough, or nothing comes any more."""
    got = b""
    while not is_enough(got):
        more = s.recv(1 << 16)
        if not more:
            break
        got += more
    return got
