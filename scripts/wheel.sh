#!/usr/bin/env bash
# Makes the wheels of the Python package and of ONNX Runtime's provider, build/octet_int8-*.whl and
# build/onnxruntime_ep_octet-*.whl: wheel.sh [BUILD]. BUILD: a compiled build to take, else build/wheel is compiled.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/packages.sh build

if [ $# -gt 0 ]; then
    OCTET_WHEEL_BUILD=$(realpath "$1")
    export OCTET_WHEEL_BUILD
fi
mkdir -p build
/usr/bin/python3 -c "
import sys
sys.path.insert(0, 'interop/python')
import wheel_backend
for make in wheel_backend.build_wheel, wheel_backend.provider_wheel:
    print('build/' + make('build'))"
