#!/usr/bin/env bash
# All tests: release build with warnings as errors (the API's tests on oneTBB and on OpenMP), then address+undefined
# and thread sanitizers. scripts/test.sh release runs only the first; any list of presets works.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/packages.sh test

presets=("$@")
[ ${#presets[@]} -gt 0 ] || presets=(release asan-ubsan tsan)
for preset in "${presets[@]}"; do
    echo "== $preset"
    cmake --preset "$preset" -DOCTET_WARNINGS_AS_ERRORS=ON >/dev/null
    cmake --build --preset "$preset" -- --quiet
    ctest --preset "$preset" -j "$(nproc)"
done
