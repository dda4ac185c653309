#!/usr/bin/env bash
# Installs every Debian 12 package that building, testing and the example need. Does nothing where all are there.
set -euo pipefail

packages=(
    g++ cmake ninja-build ccache     # toolchain (CMake >= 3.22); a second build compiles what differs
    libtbb-dev libxbyak-dev          # the library: threads, code generation
    libcli11-dev nlohmann-json3-dev libflatbuffers-dev flatbuffers-compiler zlib1g-dev # the octet command
    libzip-dev libpng-dev libturbojpeg0-dev # its files: .npz, PNG, JPEG
    libonnx-dev libprotobuf-dev      # .onnx files in the octet command
    libgrpc++-dev protobuf-compiler-grpc libboost-dev libssl-dev prometheus-cpp-dev libspdlog-dev # octet serve
    python3-grpcio python3-protobuf haproxy # its tests
    libgtest-dev                     # tests
    libbenchmark-dev                 # benchmarks
    libdnnl-dev libgemmlowp-dev      # oracles of the tests
    python3-torch python3-numpy      # tests: clients of oneDNN's, and of files of arrays
    python3-torchvision              # tests: its quantized networks
    pybind11-dev python3-dev python3-numpy # the Python package
    python3-build python3-wheel python3-pip python3-venv patchelf # its wheel, and the test of that
    python3-matplotlib python3-tqdm  # its plots and progress bars
    python3-distributed python3-mpi4py openmpi-bin # its work on several machines
    mypy                             # check of its types
    help2man                         # manual pages of the octet command
    zsh fish                         # tests of its completion
    pkg-config dpkg-dev file         # test of the installation and of the Debian packages
    python3-sphinx python3-myst-parser python3-breathe furo # the manual
    mmdebstrap busybox-static        # a clean system for the packages, a clean root for the bundle
    clang-format doxygen             # checks of the sources
    abigail-tools                    # check of the C interface
)

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
