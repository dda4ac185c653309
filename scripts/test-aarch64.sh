#!/usr/bin/env bash
# Builds the library, the networks and the portable tests for AArch64 and runs them in QEMU's emulation:
# test-aarch64.sh [CTEST'S ARGUMENTS…]. Two networks, which take QEMU minutes, are left out, unless GTEST_FILTER says
# otherwise: GTEST_FILTER='*' runs everything.
#
# Everything is made in build/aarch64, also the folder with Debian's libraries for arm64. Exits with 77, which means
# skipped, where a package is missing or that folder cannot be made, which takes Debian's packages from the network.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "test-aarch64.sh: skipped: $1"; exit 77; }
for needed in aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static mmdebstrap:mmdebstrap \
    ninja:ninja-build flatc:flatbuffers-compiler; do
    command -v "${needed%%:*}" >/dev/null || skip "${needed#*:} is missing"
done

build=$PWD/build/aarch64
sysroot=$build/sysroot
libraries=(libc6-dev libgcc-12-dev libstdc++-12-dev libtbb-dev zlib1g-dev libflatbuffers-dev libprotobuf-dev
    libonnx-dev libzip-dev libpng-dev libturbojpeg0-dev libcli11-dev nlohmann-json3-dev libgtest-dev)
if [ "$(cat "$sysroot/made" 2>/dev/null)" != "${libraries[*]}" ]; then
    rm -rf "$sysroot"
    mkdir -p "$build"
    mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$(IFS=,; echo "${libraries[*]}")" bookworm \
        "$sysroot" 2>"$build/sysroot.log" || skip "Debian's packages for arm64 cannot be had ($build/sysroot.log)"
    echo "${libraries[*]}" >"$sysroot/made"
fi

cmake --preset aarch64 -DCMAKE_SYSROOT="$sysroot" -DOCTET_WARNINGS_AS_ERRORS=ON >/dev/null
cmake --build --preset aarch64 -- --quiet
export GTEST_FILTER="${GTEST_FILTER--*mobilenet*:*Resnet_large*}"
ctest --preset aarch64 -j "$(nproc)" "$@"
