# SPDX-License-Identifier: Apache-2.0
"""Datatypes that .onnx files declare and networks have not: metadata tells them, requests and answers have them."""

import json
import os
import struct
import sys
import unittest

import serving

COMMAND = sys.argv.pop(1)
FLOAT, INT64, BOOL = 1, 7, 9


def tensor(name, kind, *dims):
    shape = b"".join(serving.field(1, serving.field(1, d)) for d in dims)
    return serving.field(1, name) + serving.field(2, serving.field(1, serving.field(1, kind) + serving.field(2, shape)))


def model():
    """ids doubled, x where it is chosen and y elsewhere, and the place of the largest x."""
    axis = serving.field(1, "axis") + serving.field(3, 1) + serving.field(20, 2)
    nodes = (serving.node("Add", ["ids", "ids"], ["sums"]),
             serving.node("Where", ["chosen", "x", "y"], ["picked"]),
             serving.node("ArgMax", ["x"], ["place"], axis))
    inputs = (tensor("ids", INT64, 1, 3), tensor("chosen", BOOL, 1, 3), tensor("x", FLOAT, 1, 3),
              tensor("y", FLOAT, 1, 3))
    outputs = (tensor("sums", INT64, 1, 3), tensor("picked", FLOAT, 1, 3), tensor("place", INT64, 1, 1))
    return serving.model_file(b"".join(nodes) + serving.field(2, "g")
                              + b"".join(serving.field(11, i) for i in inputs)
                              + b"".join(serving.field(12, o) for o in outputs))


class TypesTest(unittest.TestCase):
    def infer(self, server, body, headers=None):
        status, data, headers = server.post("/v2/models/types/infer", body, headers)
        self.assertEqual(status, 200, data)
        return data, headers

    def test_declared_types(self):
        with serving.Folder("{}") as folder:
            serving.write(os.path.join(folder, "types", "1", "model.onnx"), model())
            serving.write(os.path.join(folder, "types", "config.json"),
                          '{"datatypes": {"y": "FP16", "picked": "FP16"}}')
            with serving.Server(COMMAND, "--models", folder) as server:
                told = json.loads(server.get("/v2/models/types")[1])
                self.assertEqual([t["datatype"] for t in told["inputs"] + told["outputs"]],
                                 ["INT64", "BOOL", "FP32", "FP16", "INT64", "FP16", "INT64"])
                config = json.loads(server.get("/v2/models/types/config")[1])
                self.assertEqual([t["data_type"] for t in config["input"]],
                                 ["TYPE_INT64", "TYPE_BOOL", "TYPE_FP32", "TYPE_FP16"])
                request = {"inputs": [{"name": "ids", "shape": [1, 3], "datatype": "INT64",
                                       "data": [1, -2, 1_000_000_000]},
                                      {"name": "chosen", "shape": [1, 3], "datatype": "BOOL",
                                       "data": [True, False, True]},
                                      {"name": "x", "shape": [1, 3], "datatype": "FP32",
                                       "data": [0.5, 1.5, -1]},
                                      {"name": "y", "shape": [1, 3], "datatype": "FP16",
                                       "data": [7, 0.1, 9]}]}
                answer = json.loads(self.infer(server, json.dumps(request).encode())[0])["outputs"]
                self.assertEqual([o["datatype"] for o in answer], ["INT64", "FP16", "INT64"])
                self.assertEqual([o["data"] for o in answer], [[2, -4, 2_000_000_000], [0.5, 0.099975586, -1], [1]])
                raw = (struct.pack("<3q", 1, -2, 1_000_000_000) + bytes([1, 0, 1])
                       + struct.pack("<3f", 0.5, 1.5, -1) + struct.pack("<3e", 7, 0.1, 9))
                for t, size in zip(request["inputs"], (24, 3, 12, 6)):
                    del t["data"]
                    t["parameters"] = {"binary_data_size": size}
                request["parameters"] = {"binary_data_output": True}
                head = json.dumps(request).encode()
                data, headers = self.infer(server, head + raw, {"Inference-Header-Content-Length": str(len(head))})
                self.assertEqual(data[int(headers["Inference-Header-Content-Length"]) :],
                                 struct.pack("<3q", 2, -4, 2_000_000_000) + struct.pack("<3e", 0.5, 0.1, -1)
                                 + struct.pack("<q", 1))
                request["outputs"] = [{"name": "sums", "parameters": {"datatype": "INT32"}}]
                request["inputs"][0]["datatype"] = "INT32"
                request["inputs"][0]["parameters"]["binary_data_size"] = 12
                head = json.dumps(request).encode()
                data, headers = self.infer(server, head + struct.pack("<3i", 1, 2, 3) + raw[24:],
                                           {"Inference-Header-Content-Length": str(len(head))})
                self.assertEqual(data[int(headers["Inference-Header-Content-Length"]) :], struct.pack("<3i", 2, 4, 6))

    def test_types_that_a_tensor_cannot_have(self):
        with serving.Folder('{"datatypes": {"image": "INT64"}}') as folder, serving.Server(
            COMMAND, "--models", folder) as server:
            self.assertIn("it can be INT8, FP16, BF16, FP32",
                          json.loads(server.post("/v2/repository/index", b"")[1])[0]["reason"])
        with serving.Folder('{"datatypes": {"nothing": "FP32"}}') as folder, serving.Server(
            COMMAND, "--models", folder) as server:
            self.assertIn("no input or output 'nothing'",
                          json.loads(server.post("/v2/repository/index", b"")[1])[0]["reason"])


if __name__ == "__main__":
    unittest.main()
