#!/usr/bin/env bash
# The main job: installs what is needed, builds, and classifies handwritten digits under every numeric contract.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/packages.sh

cmake --preset release >/dev/null
cmake --build --preset release --target octet_digits octet_command
build/release/examples/digits/octet_digits
