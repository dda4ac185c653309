#!/usr/bin/env bash
# The wheels of a build in a new virtual environment: wheel_test.sh BUILD SOURCE. Installed with pip, which gets
# nothing from anywhere, octet-int8 gives the framework's bytes with the libraries that it brought itself, and
# onnxruntime-ep-octet a library that ONNX Runtime can load, for every version of Python.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$(realpath "${1:?build directory}") source=$(realpath "${2:?source directory}")
for command in patchelf pip3; do
    command -v $command >/dev/null || {
        echo "wheel test: $command is missing (Debian: patchelf, python3-pip), skipped"
        exit 77
    }
done
python=/usr/bin/python3
$python -c "import venv, ensurepip, wheel, build" || {
    echo "wheel test: python3-venv, python3-wheel or python3-build is missing, skipped"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

(cd "$source" && OCTET_WHEEL_BUILD=$build $python -m build --wheel --no-isolation --skip-dependency-check \
    --outdir "$scratch" . >"$scratch/log" 2>&1) ||
    { cat "$scratch/log" >&2; exit 1; }
(cd "$source/interop/python" && OCTET_WHEEL_BUILD=$build $python -c "
import sys, wheel_backend
wheel_backend.provider_wheel(sys.argv[1])" "$scratch")
$python -m venv --system-site-packages "$scratch/venv" # NumPy is Debian's
PIP_DISABLE_PIP_VERSION_CHECK=1 "$scratch/venv/bin/pip" install -q --no-index --no-deps "$scratch"/*.whl
# The tag says which systems can load it: the newest glibc that a file inside asks for is no newer.
for wheel in "$scratch"/*.whl; do
    wheel=$(basename "$wheel")
    [[ $wheel =~ manylinux_2_([0-9]+)_x86_64 ]] || { echo "wheel test: no manylinux tag in $wheel" >&2; exit 1; }
    $python -m zipfile -e "$scratch/$wheel" "$scratch/${wheel%%-*}"
    newest=$(find "$scratch/${wheel%%-*}" -name '*.so*' -exec objdump -T {} + | grep -o 'GLIBC_2\.[0-9]*' |
        cut -d. -f2 | sort -n | tail -1)
    [ "$newest" -le "${BASH_REMATCH[1]}" ] || { echo "wheel test: $wheel needs glibc 2.$newest" >&2; exit 1; }
    ! find "$scratch/${wheel%%-*}" -name '*octet*.so*' -exec objdump -T {} + | grep -q condition_variable4wait ||
        { echo "wheel test: $wheel needs GCC 12's libstdc++ (cmake/older_systems.cmake)" >&2; exit 1; }
done
[[ $(echo "$scratch"/onnxruntime_ep_octet-*.whl) == *-py3-none-* ]]
cd "$scratch"
env -u PYTHONPATH -u LD_LIBRARY_PATH venv/bin/python - "$source/examples/digits" <<'PYTHON'
import json, os, sys
import numpy as np, octet

digits = sys.argv[1]
with open(os.path.join(digits, "digits_golden.json")) as file:
    golden = json.load(file)
with open(os.path.join(digits, golden["blob"]), "rb") as file:
    blob = file.read()
model = golden["models"][0]
net = octet.Network(os.path.join(digits, model["file"]))
given, expected = model["runs"][0]["inputs"][0], model["runs"][0]["outputs"][0]
dtype = net.inputs[0].dtype
x = np.frombuffer(blob, dtype, given["nbytes"] // dtype.itemsize, given["offset"]).reshape(net.inputs[0].shape)
assert net(x).tobytes() == blob[expected["offset"]:expected["offset"] + expected["nbytes"]]

assert octet.__file__.startswith(sys.prefix), octet.__file__
with open("/proc/self/maps") as file:
    loaded = {line.split()[-1] for line in file if "/" in line}
brought = [path for path in loaded if "liboctet" in path or "libtbb" in path]
assert brought and all(path.startswith(sys.prefix) for path in brought), brought
import octet.onnxruntime, ctypes
provider = octet.onnxruntime.library_path()
assert provider.startswith(sys.prefix) and ctypes.CDLL(provider).CreateEpFactories, provider
from importlib.metadata import files, metadata, version
assert version("octet-int8") == octet.__version__
assert metadata("octet-int8")["License"] == "Apache-2.0"
assert "Operating System :: POSIX :: Linux" in metadata("octet-int8").get_all("Classifier")
licences = {path.name for path in files("octet-int8") if "licenses" in path.parts}
assert {"LICENSE", "NOTICE", "THIRD_PARTY.md"} <= licences and any("tbb" in name for name in licences), licences

import onnxruntime_ep_octet as provider
assert provider.get_library_path().startswith(sys.prefix)
assert provider.get_ep_names() == [octet.onnxruntime.ep_name()] == [provider.get_ep_name()]
loaded = ctypes.CDLL(provider.get_library_path())
assert loaded.CreateEpFactories and loaded.ReleaseEpFactory
assert version("onnxruntime-ep-octet") == octet.__version__
assert metadata("onnxruntime-ep-octet").get_all("Requires-Dist") is None
print(f"wheel: octet {octet.__version__} in a virtual environment, {len(brought)} libraries of its own")
PYTHON
