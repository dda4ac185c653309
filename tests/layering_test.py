#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: layering_test.py SOURCE

ROOMS has a row for each room with the rooms that its files may include, besides themselves and the public headers;
LIBRARIES has the rooms (or single files) that may include the headers of others. A file belongs to the room with the
longest name that its path begins with. Rings of files and of folders are scripts/include_graph.py's, which reads the
modules of Python, too.
"""

import os
import re
import subprocess
import sys

ROOMS = {
    # The core: api -> cpu -> jit -> common -> include.
    "include": "",
    "src/common": "",
    "jit": "src/common",
    "cpu": "jit src/common",
    "src/api": "cpu src/common",
    "src/storage": "",
    "loops": "src/common",
    # The runtime of graphs. It names no framework, and asks network/dialect.hpp.
    "network/graph": "",
    "network/lower": "network/graph",
    "network": "network/graph network/lower",
    "network/shapes": "network network/graph",
    "network/passes": "network network/graph network/shapes",
    "network/ops": "loops network/graph network/lower network/shapes",
    "network/saved": "network network/graph network/lower",
    "network/dialects": "network network/graph network/saved",
    "network/run": "network network/graph network/lower network/passes network/saved network/shapes src/storage",
    "network/c": "",
    # The frameworks, which know nothing of each other.
    "network/onnx": "network/dialects network/graph network/passes network/onnx/layouts network/onnx/ops "
                    "network/onnx/rewrites",
    "network/onnx/reader": "network/graph",
    "network/onnx/parts": "network/graph",
    "network/onnx/completion": "network network/graph network/onnx/parts",
    "network/onnx/shapes": "network/graph network/shapes",
    "network/onnx/rewrites": "network network/graph network/passes network/shapes network/onnx/parts",
    "network/onnx/layouts": "network network/graph network/shapes network/onnx/parts network/onnx/rewrites "
                            "network/onnx/shapes",
    "network/onnx/ops": "loops network network/graph network/lower network/ops network/shapes network/onnx/parts "
                        "network/onnx/shapes",
    "network/tflite": "network/dialects network/graph network/passes network/tflite/ops network/tflite/profiles",
    "network/tflite/reader": "network/graph network/shapes",
    "network/tflite/shapes": "network/graph network/shapes",
    "network/tflite/ops": "loops network/graph network/lower network/ops network/shapes network/tflite/shapes",
    "network/tflite/profiles": "network network/lower network/tflite/ops",
    # Doors for programs of others, which use the public headers.
    "interop/onednn": "",
    "interop/onednn/interface": "interop/onednn",
    "interop/onednn/library": "interop/onednn interop/onednn/interface",
    "interop/onednn/preload": "interop/onednn interop/onednn/interface",
    "interop/onnxruntime": "",
    "interop/onnxruntime/preload": "interop/onnxruntime",
    "interop/python/src": "tools/match",
    "interop/python/octet": "interop/python/octet/operations",
    "interop/python/octet/operations": "interop/python/octet",
    "interop/python/octet/torch": "interop/python/octet interop/python/octet/operations",
    # The server; its core knows no protocol.
    "serve/core": "",
    "serve/net": "serve/core",
    "serve/http": "serve/core serve/net",
    "serve/grpc": "serve/core serve/net",
    "serve": "serve/core serve/net serve/http serve/grpc",
    # The command. Of its rooms only check and match, which evaluate the arithmetic itself, see src/common.
    "tools/base": "",
    "tools/files": "tools/base",
    "tools/match": "src/common",
    "tools/check": "src/common tools/base tools/files",
    "tools/bench": "tools/base src/storage",
    "tools/commands": "tools/base tools/bench tools/check tools/files tools/match src/storage serve serve/core",
    "bench": "",
    "examples": "",
}

LIBRARIES = {
    r"xbyak/": "jit",
    r"(oneapi/)?tbb/": "cpu/machine/workers_tbb.cpp",
    r"omp\.h": "cpu/machine/workers_omp.cpp tools/bench/workload_onednn.cpp",
    r"oneapi/dnnl/": "tools/bench/workload_onednn.cpp",  # interop asks for oneDNN's names at run time
    r"(onnx|google/protobuf)/": "network/onnx/reader",
    r"google/protobuf/|inference\.pb\.h": "serve/grpc",
    r"flatbuffers/|plan_generated\.h": "network/saved",
    r"flatbuffers/|tflite_generated\.h": "network/tflite/reader",
    r"pybind11/": "interop/python/src",
    r"boost/": "serve/net serve/http serve/grpc",
    r"nghttp2/": "serve/grpc",
    r"openssl/|prometheus/": "serve/core",
    r"nlohmann/": "serve serve/core serve/http tools/base tools/check tools/commands tools/match examples",
    r"CLI/": "tools/base tools/commands",
    r"(png|turbojpeg|zip)\.h": "tools/files",
    r"zlib\.h": "tools/check tools/commands examples",
    r"benchmark/": "bench",
    r"onnxruntime_cxx_api\.h": "examples",
    r"bench/onnxruntime_baseline\.hpp": "tools/bench",  # made by CMake
    r"demo_model\.inl|page\.inl": "serve serve/http",
    # Python's.
    r"torch(\.|$)": "interop/python/octet/torch",
    r"(dask|distributed)(\.|$)": "interop/python/octet/dask.py",
    r"mpi4py(\.|$)": "interop/python/octet/mpi.py",
    r"matplotlib(\.|$)": "interop/python/octet/drawing.py",
    r"tqdm(\.|$)": "interop/python/octet/progress.py",
    r"onnx(\.|$)": "interop/python/octet/onnx_backend.py",
    r"onnxruntime(\.|$)": "interop/python/octet/onnxruntime.py",
    r"numpy(\.|$)": "interop/python/octet interop/python/octet/operations interop/python/octet/torch",
}
# The standard libraries', the system's, and what CMake makes of include/octet.
STANDARD = sys.stdlib_module_names
SYSTEM = re.compile(r"[a-z_0-9]+(\.h)?$|(sys|linux|sanitizer)/|octet/version\.hpp$")


def room_of(path):
    """The longest row that a path begins with."""
    rows = [room for room in ROOMS if path.startswith(room + "/")]
    return max(rows, key=len, default=None)


def complaints(root):
    """Sentences: what includes what it may not."""
    tree = include_graph.Tree(root, (*include_graph.PRODUCT, "bench", "examples"))
    python = include_graph.Modules(root)
    for room in ROOMS:
        if not os.path.isdir(os.path.join(root, room)):
            yield f"the row of {room} is about no folder"
    for path, names in sorted({**tree.includes, **python.includes}.items()):
        here = room_of(path)
        if not here:
            yield f"{path} is in no room of the table"
            continue
        for name in names:
            there = room_of(name)
            if there not in (here, *ROOMS[here].split(), *(() if path.endswith(".py") else ("include",))):
                yield f"{path} includes {name}, but {here} may include only {ROOMS[here] or 'the public headers'}"
    for path, names in sorted({**tree.foreign, **python.foreign}.items()):
        for name in names:
            allowed = [rooms.split() for header, rooms in LIBRARIES.items() if re.match(header, name)]
            if not allowed and (name.split(".")[0] in STANDARD if path.endswith(".py") else SYSTEM.match(name)):
                continue
            if not any(place in (path, room_of(path)) for rooms in allowed for place in rooms):
                yield f"{path} includes {name}, which is for {' '.join(sum(allowed, [])) or 'no row of LIBRARIES'}"
    # In the child of a fork a mutex may be locked for ever.
    for path, text in sorted(tree.text.items()):
        if re.search(r"^ *(static |mutable )*std::mutex [a-z_]+;", text, re.M) and "fork_guard" not in text:
            if path.startswith(("src/", "network/", "cpu/", "jit/", "interop/")):
                yield f"{path}: a mutex that outlives a call stands beside a fork_guard (octet/fork_guard.hpp)"


if __name__ == "__main__":
    source = sys.argv[1]
    sys.path.insert(0, os.path.join(source, "scripts"))
    import include_graph

    found = list(complaints(source))
    print("\n".join(found), end="\n" if found else "")
    rings = subprocess.run([sys.executable, os.path.join(source, "scripts/include_graph.py"), "--source", source])
    sys.exit(1 if found or rings.returncode else 0)
