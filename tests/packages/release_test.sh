#!/usr/bin/env bash
# scripts/release.sh in a clone: what it refuses, with its sentence; that two archives are equal and complete; that
# the bill of materials has every library. release_test.sh SOURCE
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source=$(realpath "${1:?source directory}")
git -C "$source" rev-parse HEAD >/dev/null 2>&1 || { echo "release test: no git repository, skipped"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "release test: $*" >&2; exit 1; }

git clone -q "$source" "$scratch/clone"
cd "$scratch/clone"
git config user.name test
git config user.email test@example.org
version=$(sed -n 's/^project(octet VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
# The state of the checkout counts, also where it is not committed.
(cd "$source" && git ls-files -zco --exclude-standard -- scripts packaging cmake CMakeLists.txt CHANGELOG.md \
    CITATION.cff THIRD_PARTY.md include network/c |
    xargs -0 -I{} sh -c '[ ! -e "$1" ] || cp --parents "$1" "$2"' _ {} "$scratch/clone")

# refused TEXT VERSION: the release must fail and say TEXT.
refused() {
    if scripts/release.sh --source "$2" "$scratch/no" >"$scratch/log" 2>&1; then fail "a release although $1"; fi
    grep -qF "$1" "$scratch/log" || { cat "$scratch/log" >&2; fail "no '$1'"; }
    [ ! -e "$scratch/no" ] || fail "a release was begun although $1"
}
refused "the form is 1.2.3" one
echo >untracked
refused "the tree has changes" "$version"
rm untracked
refused "CMakeLists.txt has another version" 99.0.0
refused "CITATION.cff has another version" 99.0.0
refused "has no section '## [$version] - YYYY-MM-DD'" "$version"
refused "which nobody reads" "$version"

sed -i "s/^## \[Unreleased\].*/## [$version] - 2026-12-01/" CHANGELOG.md
sed -i 's/^set(CPACK_PACKAGE_CONTACT .*/set(CPACK_PACKAGE_CONTACT "A Maintainer <maintainer@octet.dev>")/' \
    cmake/package.cmake
git add -A
git commit -qm "Release $version"
sed -i 's/"version": "[0-9.]*"/"version": "98.0.0"/' packaging/vcpkg/vcpkg.json
git commit -qam "Another version"
refused "packaging/vcpkg/vcpkg.json has another version" "$version"
git reset -q --hard HEAD~1
if command -v abidw >/dev/null; then
    sed -i 's/octet_network_run(octet_network \*network);/octet_network_run(octet_network *network, int how);/' \
        include/octet/octet.h
    git commit -qam "Another interface"
    refused "the C interface differs" "$version"
    git reset -q --hard HEAD~1
fi

for run in one two; do
    scripts/release.sh --source "$version" "$scratch/$run" >"$scratch/log" 2>&1 || {
        cat "$scratch/log" >&2
        fail "the archive"
    }
    sleep 1.1
    touch README.md
done
cmp "$scratch/one/octet-$version.tar.gz" "$scratch/two/octet-$version.tar.gz" || fail "two archives differ"
[ "$(tar -tzf "$scratch/one/octet-$version.tar.gz" | grep -cvE '/$')" = "$(git ls-files | wc -l)" ] ||
    fail "files are missing in the archive"

scripts/sbom.py "$version" 2026-12-01T00:00:00Z "$scratch/one/octet-$version.tar.gz" >"$scratch/sbom.json"
python3 - "$scratch/sbom.json" <<'PYTHON'
import json, sys
with open(sys.argv[1]) as file:
    sbom = json.load(file)
names = {package["name"]: package for package in sbom["packages"]}
wanted = {"octet", "Xbyak", "oneTBB", "FlatBuffers", "Protocol Buffers", "oneDNN", "gemmlowp", "PyTorch"}
assert wanted <= set(names), sorted(names)
assert names["gemmlowp"]["versionInfo"] == "e844ffd"
assert names["libjpeg-turbo"]["licenseDeclared"] == "IJG AND BSD-3-Clause AND Zlib"
assert len({package["SPDXID"] for package in sbom["packages"]}) == len(sbom["packages"])
known = {"SPDXRef-DOCUMENT", *(element["SPDXID"] for element in sbom["packages"] + sbom["files"])}
for relation in sbom["relationships"]:
    assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known
assert len(sbom["files"][0]["checksums"]) == 2
PYTHON
echo "release: refusals, archive and bill of materials"
