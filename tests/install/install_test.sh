#!/usr/bin/env bash
# Installs the built library into a scratch prefix and builds a user's project against it with find_package; then builds
# the same project with add_subdirectory.
set -euo pipefail
build=$(realpath "${1:?build directory}") source=$(realpath "${2:?source directory}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
cmake -S "$source/tests/install/find_package" -B "$scratch/user" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build "$scratch/user"
"$scratch/user/shared_user"
"$scratch/user/static_user"

cmake -S "$source/tests/install/subdirectory" -B "$scratch/embedded" -G Ninja -DOCTET_SOURCE_DIR="$source" >/dev/null
cmake --build "$scratch/embedded"
"$scratch/embedded/user"
