#!/usr/bin/env bash
# The folder of scripts/bundle.sh in a root that has a static shell and nothing else: bundle_test.sh BUILD SOURCE.
# Exits with 77 where no root can be changed or there is no static shell.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
fail() { echo "bundle: $*" >&2; exit 1; }

mkdir -p "$root/bin"
busybox=$(command -v busybox) || { echo "bundle: busybox is missing (Debian: busybox-static), skipped"; exit 77; }
cp "$busybox" "$root/bin/sh"
enter=(chroot)
[ "$(id -u)" -eq 0 ] || enter=(unshare --map-root-user chroot)
"${enter[@]}" "$root" /bin/sh -c : || { echo "bundle: no root with a static shell can be entered, skipped"; exit 77; }

"$source/scripts/bundle.sh" --octet "$build/tools/octet" --shapes "$source/bench/shapes" --output "$root/bundle"
measure() { "${enter[@]}" "$root" /bin/sh /bundle/measure.sh "$@"; }
measure /measured.txt || { grep -B 20 FAILED "$root/measured.txt" >&2; fail "measure.sh failed"; }
for words in 'instruction sets ' '8 passed, 0 failed' one_row pointwise; do
    grep -q -- "$words" "$root/measured.txt" || fail "the file lacks '$words'"
done
levels=$(sed -n 's/^ *instruction sets  ref, \(.*\);.*/\1/p' "$root/measured.txt" | tr -d ,)
for level in $levels; do
    grep -q "^ok: /bundle/octet check .* --isa $level$" "$root/measured.txt" || fail "no check at $level"
done

# A golden of another arithmetic is seen.
sed -i 's/"crc32": "[0-9a-f]*"/"crc32": "00000000"/' "$root/bundle/check/digits_golden.json"
if measure /other.txt 1 >"$scratch/log"; then fail "measure.sh liked wrong goldens"; fi
grep -q '^FAILED: .* check ' "$root/other.txt" || fail "the file does not tell what failed"
