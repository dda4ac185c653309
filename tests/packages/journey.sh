#!/bin/sh
# Inside a clean Debian that has nothing but the packages in ./packages and the files beside this script: installs
# them as a user does, runs networks from Python and from the command, builds a program, and looks at the manual.
# scripts/try-packages.sh prepares the place.
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")"
fail() { echo "packages: $*" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive

for command in octet python3 c++; do
    if command -v $command >/dev/null; then fail "$command is already here: not a clean place"; fi
done

echo "== apt-get install ./*.deb"
apt-get update -qq
apt-get install -y -qq --no-install-recommends ./packages/*.deb >install.log 2>&1 || {
    tail -20 install.log >&2
    fail "apt-get install"
}
dpkg-query -W -f '${Package} ${Version} ${Status}\n' '*octet*' | grep 'ok installed'

echo "== five lines of Python"
for case in cases/*/; do
    python3 five_lines.py "$case/model.tflite" "$case/input.bin" "$case/expected.bin" || fail "$case"
    echo "$(cat "$case/name"): the framework's bytes"
done
python3 -c "import octet; help(octet.conv2d)" | grep 'Convolution of images' >/dev/null || fail "no help"

echo "== the command"
octet --version
octet run cases/0/model.tflite >/dev/null

echo "== a program"
apt-get install -y -qq --no-install-recommends g++ pkg-config >>install.log 2>&1 || fail "apt-get install g++"
c++ -std=c++17 five_lines.cpp $(pkg-config --cflags --libs octet-network) -o five_lines
./five_lines cases/0/model.tflite

if dpkg -s octet-doc >/dev/null 2>&1; then
    echo "== the manual"
    [ -f /usr/share/doc/octet/html/index.html ] || fail "no manual"
    grep -q 'Five minutes' /usr/share/doc/octet/html/start.html || fail "the manual lacks its first page"
fi

echo "== and away"
apt-get purge -y -qq '*octet*' >>install.log 2>&1
left=$(find / -xdev \( -name '*liboctet*' -o -path '*/octet/*' \) -not -path "$PWD/*" -not -path '/proc/*' \
    -not -path '/var/lib/*' | head)
[ -z "$left" ] || fail "left behind: $left"

for wheel in octet_int8-*.whl; do
    [ -e "$wheel" ] || continue
    echo "== the wheel, without Octet's and oneTBB's packages"
    apt-mark manual python3-numpy >/dev/null
    apt-get autoremove --purge -y -qq >>install.log 2>&1
    if dpkg -s libtbb12 >/dev/null 2>&1; then fail "oneTBB is still here"; fi
    python3 -m zipfile -e "$wheel" wheel
    for case in cases/*/; do
        PYTHONPATH=wheel python3 five_lines.py "$case/model.tflite" "$case/input.bin" "$case/expected.bin" ||
            fail "$wheel: $case"
    done
    echo "$wheel: the framework's bytes"
done
