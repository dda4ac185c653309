#!/usr/bin/env bash
# Makes a release: release.sh [--source] VERSION [FOLDER]. Everything lies in FOLDER, by default build/octet-VERSION:
# the source archive, Debian packages, the wheels, the container image, the bill of materials (SPDX) and checksums.
# --source stops behind the source archive.
#
# It refuses before it builds: a tree with changes, a version that is not VERSION everywhere, a changelog without a
# dated section, a contact that nobody reads, a C interface that differs from its description. The archive's bytes
# follow from the commit alone. Packages and wheel are installed and used in a clean system by
# scripts/try-packages.sh, where one can be made; the tests of every build install the library and the wheel
# (tests/install, interop/python/tests/wheel_test.sh).
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
only_source=false
[ "${1-}" != --source ] || { only_source=true; shift; }
version=${1-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || {
    echo "release.sh: VERSION is '$version', the form is 1.2.3" >&2
    exit 2
}
folder=${2:-build/octet-$version}

wrong=0
refuse() { echo "release.sh: $*" >&2; wrong=1; }
# has FILE EXTENDED_REGULAR_EXPRESSION
has() { grep -qE "$2" "$1"; }

dotted=${version//./\\.}
[ -z "$(git status --porcelain)" ] || refuse "the tree has changes: $(git status --porcelain | head -3 | tr '\n' ' ')"
has CMakeLists.txt "^project\(octet VERSION $dotted " || refuse "CMakeLists.txt has another version than $version"
has packaging/vcpkg/vcpkg.json "\"version\": \"$dotted\"" ||
    refuse "packaging/vcpkg/vcpkg.json has another version than $version"
has packaging/conan/conanfile.py "^    version = \"$dotted\"" ||
    refuse "packaging/conan/conanfile.py has another version than $version"
has CITATION.cff "^version: $dotted\$" || refuse "CITATION.cff has another version than $version"
has CHANGELOG.md "^## \[$dotted\] - [0-9]{4}-[0-9]{2}-[0-9]{2}" ||
    refuse "CHANGELOG.md has no section '## [$version] - YYYY-MM-DD'"
! has CHANGELOG.md '^## \[Unreleased\].*[0-9]' || refuse "CHANGELOG.md calls a version unreleased"
contact=$(sed -n 's/^set(CPACK_PACKAGE_CONTACT "\(.*\)")/\1/p' cmake/package.cmake)
[[ $contact == *@* && ! $contact =~ (\.invalid|\.example|example\.(com|org|net)|\.test|localhost) ]] ||
    refuse "the contact in cmake/package.cmake is '$contact', which nobody reads"
abi=0
scripts/check-abi.sh >/dev/null || abi=$?
[ $abi -eq 0 ] || [ $abi -eq 77 ] || refuse "the C interface differs from network/c/octet.abi"
[ $abi -ne 77 ] || echo "release.sh: abidw is missing, the C interface is not compared"
[ $wrong -eq 0 ] || exit 1

mkdir -p "$folder"
folder=$(realpath "$folder")
[ -z "$(ls -A "$folder")" ] || { echo "release.sh: $folder is not empty" >&2; exit 1; }

echo "== source archive"
git archive --format=tar --prefix="octet-$version/" HEAD | gzip -n -9 >"$folder/octet-$version.tar.gz"
if $only_source; then exit 0; fi

echo "== Debian packages, wheels"
scripts/packages.sh build docs
cmake --preset package >/dev/null
cmake --build --preset package -- --quiet
(cd build/package && cpack -G DEB -B "$folder" >/dev/null)
rm -rf "$folder/_CPack_Packages"
scripts/wheel.sh build/package
cp build/{octet_int8,onnxruntime_ep_octet}-"$version"-*.whl "$folder/"

echo "== container image"
cp serve/deploy/Containerfile "$folder/"
image=none
for engine in podman docker; do
    $engine info >/dev/null 2>&1 || continue # a client may lack its daemon
    $engine build -t "octet-serve:$version" -f serve/deploy/Containerfile .
    $engine save "octet-serve:$version" | gzip -n >"$folder/octet-serve-$version.tar.gz"
    image=$engine
    break
done
[ $image != none ] ||
    echo "release.sh: neither podman nor docker runs here: the folder has the Containerfile, not the image"

echo "== bill of materials, checksums"
scripts/sbom.py "$version" "$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" "$folder"/* \
    >"$folder.spdx.json"
mv "$folder.spdx.json" "$folder/octet-$version.spdx.json"
(cd "$folder" && sha256sum -- * >SHA256SUMS)

echo "== installed and used"
scripts/try-packages.sh build/package || {
    [ $? -eq 77 ] && echo "release.sh: no clean system can be made here, so nothing was tried"
}
(cd "$folder" && sha256sum --quiet -c SHA256SUMS)
ls -l "$folder"
