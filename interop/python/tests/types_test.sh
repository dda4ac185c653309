#!/usr/bin/env bash
# Types of the Python package: its sources under mypy --strict (pyproject.toml), the compiled module against its stub,
# a user's program. types_test.sh BUILD SOURCE
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$(realpath "${1:?build directory}")
cd "${2:?source directory}"
command -v mypy >/dev/null || { echo "types test: mypy is missing (Debian: mypy), skipped"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MYPY_CACHE_DIR=$build/mypy_cache

mypy -p octet
# pybind11's metaclass
printf '%s\n' 'octet\._octet\.(Decoder|Network|Sequence|Weights|_MatchSubject)' >"$scratch/allowed"
PYTHONPATH=$build/python /usr/bin/python3 -m mypy.stubtest octet._octet --concise --allowlist "$scratch/allowed" \
    --ignore-unused-allowlist
errors=$(MYPYPATH=interop/python mypy interop/python/tests/typed_user.py || true)
[ "$(grep -c error: <<<"$errors")" = 1 ] && grep -q 'expression has type "int", variable has type "str"' <<<"$errors" ||
    { echo "$errors" >&2; echo "types test: a user's program" >&2; exit 1; }
echo "types: accepted"
