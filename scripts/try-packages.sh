#!/usr/bin/env bash
# Installs the Debian packages, then the wheel, in a clean Debian 12 and uses them as a stranger would:
# try-packages.sh [BUILD].
#
# Without a directory build/package is compiled and taken. A clean system has nothing of this machine: what a package
# forgot to depend on is missing there. Exits with 77 where none can be made, which takes root, mmdebstrap and
# Debian's packages from the network.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "try-packages.sh: not root, skipped"; exit 77; }
command -v mmdebstrap >/dev/null || {
    echo "try-packages.sh: mmdebstrap is missing (Debian: mmdebstrap), skipped"
    exit 77
}

build=${1-}
if [ -z "$build" ]; then
    build=build/package
    cmake --preset package >/dev/null
    cmake --build --preset package -- --quiet
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
place=$scratch/octet-journey
mkdir -p "$place/packages"
(cd "$build" && cpack -G DEB -B "$place/packages" >"$scratch/cpack.log" 2>&1) || {
    cat "$scratch/cpack.log" >&2
    exit 1
}
rm -rf "$place/packages/_CPack_Packages"
if [ -d "$build/python" ] && command -v patchelf >/dev/null; then
    OCTET_WHEEL_BUILD=$(realpath "$build") /usr/bin/python3 -c "
import sys
sys.path.insert(0, 'interop/python')
import wheel_backend
wheel_backend.build_wheel(sys.argv[1])" "$place"
fi
cp tests/packages/journey.sh tests/packages/five_lines.py tests/install/five_lines.cpp "$place/"

# Networks with the bytes that their framework gives, as plain files.
python3 - "$place/cases" examples/digits/digits_golden.json "${OCTET_SHARED_DIR:-../shared}/models/models.json" \
    <<'PYTHON'
import json, os, shutil, sys

cases, *manifests = sys.argv[1:]
for path in filter(os.path.exists, manifests):
    with open(path) as file:
        manifest = json.load(file)
    with open(os.path.join(os.path.dirname(path), manifest["blob"]), "rb") as file:
        blob = file.read()
    for model in manifest["models"]:
        run = model["runs"][0]
        if model["file"].endswith(".tflite") and ("digits" in model["file"] or "mobilenet" in model["file"]):
            place = os.path.join(cases, str(len(os.listdir(cases)) if os.path.exists(cases) else 0))
            os.makedirs(place)
            shutil.copy(os.path.join(os.path.dirname(path), model["file"]), os.path.join(place, "model.tflite"))
            for name, tensor in ("input.bin", run["inputs"][0]), ("expected.bin", run["outputs"][0]):
                with open(os.path.join(place, name), "wb") as file:
                    file.write(blob[tensor["offset"]:tensor["offset"] + tensor["nbytes"]])
            with open(os.path.join(place, "name"), "w") as file:
                file.write(model["file"])
PYTHON

mmdebstrap --quiet --variant=minbase --format=null \
    --customize-hook="touch $scratch/made" --customize-hook="copy-in $place /root" \
    --chrooted-customize-hook="sh /root/octet-journey/journey.sh" bookworm /dev/null ||
    { [ -e "$scratch/made" ] && exit 1; echo "try-packages.sh: no clean Debian 12 can be made here, skipped"; exit 77; }
echo "packages: installed and used in a clean Debian 12"
