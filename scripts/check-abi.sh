#!/usr/bin/env bash
# Compares the C interface (include/octet/octet.h) with its committed description, network/c/octet.abi, and with what
# a library exports: check-abi.sh [LIBRARY]. After a deliberate change, check-abi.sh --update writes the description
# anew.
#
# The description is of a library that has an empty definition of each function in the header, compiled as C: it
# depends on the header alone, and neither on the compiler of the library nor on what its handles point to. That the
# library's own definitions agree is up to its compiler, which sees both.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
header=include/octet/octet.h committed=network/c/octet.abi update=false
if [ "${1-}" = --update ]; then
    update=true
    shift
fi
command -v abidw >/dev/null || { echo "abidw is missing (Debian: abigail-tools)"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

sed "/^typedef/!s/);\$/) { __builtin_trap(); }/" "$header" >"$scratch/octet.c"
(cd "$scratch" && cc -std=c11 -g -O0 -w -fPIC -shared octet.c -o octet.so)
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed "$scratch/octet.so" \
    --out-file "$scratch/octet.abi"
if $update; then
    cp "$scratch/octet.abi" "$committed"
fi

abidiff "$committed" "$scratch/octet.abi" || {
    echo "The C interface differs from $committed: CONTRIBUTING.md, \"The C interface\", says what may change and how."
    exit 1
}
functions=$(sed -n "s/.*<elf-symbol name='\([a-z_]*\)'.*/\1/p" "$committed" | sort)
[ "$(grep -c . <<<"$functions")" -eq "$(grep -c '^OCTET_C_API' "$header")" ] || {
    echo "$header declares functions that were not found"
    exit 1
}
if [ $# -gt 0 ]; then
    exported=$(nm -D --defined-only "$1" | sed -n 's/.* T \(octet_[a-z_]*\).*/\1/p' | grep -v '^octet_dnnl_' | sort)
    diff <(echo "$functions") <(echo "$exported") || {
        echo "$1 exports other functions (>) than $header declares (<)"
        exit 1
    }
fi
