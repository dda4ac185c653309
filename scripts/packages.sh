#!/usr/bin/env bash
# Installs Debian 12 packages: packages.sh [GROUP…], groups demo, build, test, aarch64 and docs, by default all of them.
# build is what the library, the command, the server and the Python package need; test and docs are what their tests
# and the manual need besides, aarch64 what scripts/test-aarch64.sh needs. Does nothing where all are there. Where npm
# is found, test and all also install the packages of npm that tests compare with.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

demo=(
    g++ cmake ninja-build            # toolchain (CMake >= 3.22)
    libtbb-dev libxbyak-dev          # the library: threads, code generation
    libflatbuffers-dev flatbuffers-compiler # .tflite files, saved plans
    nlohmann-json3-dev               # the demo's golden outputs
)
build=(
    "${demo[@]}"
    ccache                           # a second build compiles what differs
    libonnx-dev libprotobuf-dev      # .onnx files
    libcli11-dev zlib1g-dev libzip-dev libpng-dev libturbojpeg0-dev # the octet command; its files: .npz, PNG, JPEG
    help2man                         # its manual pages
    libnghttp2-dev protobuf-compiler libboost-dev libssl-dev prometheus-cpp-dev # octet serve
    pybind11-dev python3-dev python3-numpy # the Python package
    python3-build python3-wheel python3-pip python3-venv patchelf # its wheel, and the test of that
    dpkg-dev file                    # Debian packages
)
test=(
    "${build[@]}"
    libgtest-dev libbenchmark-dev    # tests, benchmarks
    libdnnl-dev libgemmlowp-dev      # oracles
    python3-torch python3-torchvision # clients of oneDNN, and their quantized networks
    python3-matplotlib python3-tqdm  # plots and progress bars of the Python package
    python3-distributed python3-mpi4py openmpi-bin # its work on several machines
    python3-onnx libonnx-testdata    # ONNX's own suite for backends
    mypy                             # check of its types
    python3-grpcio python3-protobuf haproxy # octet serve
    zsh fish                         # completion of the command
    pkg-config                       # the installation
    mmdebstrap busybox-static        # a clean system for the packages, a clean root for the bundle
    clang-format clang-tidy          # checks of the sources
    abigail-tools                    # check of the C interface
)
aarch64=(
    cmake ninja-build flatbuffers-compiler
    g++-aarch64-linux-gnu qemu-user-static mmdebstrap # cross compiler, emulation, libraries for arm64
)
docs=(
    doxygen python3-sphinx python3-myst-parser python3-breathe furo # the manual
    python3-matplotlib               # its plots
    hunspell hunspell-en-us hunspell-en-gb # spelling of the pages
)

# They lie in a folder of their own, where the tests look (cmake/testing.cmake); without them those tests are skipped.
install_npm_packages() {
    local folder=${XDG_CACHE_HOME:-$HOME/.cache}/octet/npm packages=(
        onnxruntime-node@1.30.0      # ONNX Runtime
        @litertjs/core@2.5.3         # LiteRT with XNNPACK
        @grpc/grpc-js@1.14 grpc-js-reflection-client@1.4 # another client of octet serve
        kubernetes-models@4.5 js-yaml@5.5 # schemas of Kubernetes
    )
    [ "$(cat "$folder/installed" 2>/dev/null)" != "${packages[*]}" ] || return 0
    mkdir -p "$folder"
    if ! command -v npm >/dev/null; then
        echo "npm is missing: comparisons with ONNX Runtime, LiteRT and other clients of octet serve are skipped"
    elif timeout 300 npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --silent \
        "${packages[@]}"; then
        echo "${packages[*]}" >"$folder/installed"
    else
        echo "npm cannot install ${packages[*]}: comparisons with them are skipped"
    fi
}

packages=()
[ $# -gt 0 ] || set -- all
for name in "$@"; do
    case $name in
        demo | build | test | aarch64 | docs) declare -n group=$name; packages+=("${group[@]}") ;;
        all) packages+=("${test[@]}" "${aarch64[@]}" "${docs[@]}") ;;
        *) echo "packages.sh: '$name' is no group, allowed: demo, build, test, aarch64, docs, all" >&2; exit 2 ;;
    esac
done

case " $* " in *' test '* | *' all '*) install_npm_packages ;; esac

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "Installing: ${missing[*]}"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
