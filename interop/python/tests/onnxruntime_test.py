# SPDX-License-Identifier: Apache-2.0
"""octet.onnxruntime with a stand-in for the package onnxruntime: what it is asked for, and with which options."""

import inspect
import os
import re
import sys
import types

asked = []


class Device:
    ep_name = "OctetExecutionProvider"


class SessionOptions:
    def add_provider_for_devices(self, devices, options):
        asked.append(("devices", [type(d) for d in devices], options))


def register(name, path):
    asked.append(("register", name, path))
    stand_in.devices.append(Device())


stand_in = types.ModuleType("onnxruntime")
stand_in.devices = []
stand_in.get_ep_devices = lambda: list(stand_in.devices)
stand_in.register_execution_provider_library = register
stand_in.SessionOptions = SessionOptions
sys.modules["onnxruntime"] = stand_in

import octet.onnxruntime as door  # noqa: E402

path = door.library_path()
assert os.path.isabs(path) and os.path.basename(path) == "liboctet_onnxruntime.so" and os.path.exists(path), path
assert door.ep_name() == "OctetExecutionProvider"
own = SessionOptions()
assert door.session_options(own, threads=2, claim="all", log=True) is own
assert isinstance(door.session_options(), SessionOptions)
given = {"threads": "2", "claim": "all", "log": "1"}
assert asked == [("register", "octet", path), ("devices", [Device], given), ("devices", [Device], {})], asked

source = os.environ.get("OCTET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
with open(os.path.join(source, "interop", "onnxruntime", "options.cpp")) as file:
    known = set(re.findall(r'^    \{"(\w+)",', file.read(), re.M))
named = set(inspect.signature(door.session_options).parameters) - {"options"}
assert known and known == named, (known, named)
print("octet.onnxruntime: registers once, hands over the options as texts")
