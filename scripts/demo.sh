#!/usr/bin/env bash
# The main job: installs what is needed, builds the libraries and an example, and classifies handwritten digits under
# every numeric contract.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/packages.sh demo

cmake --preset demo >/dev/null
cmake --build --preset demo
build/demo/examples/digits/octet_digits
