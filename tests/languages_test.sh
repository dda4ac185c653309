#!/usr/bin/env bash
# The programs of doc/howto/languages.md, in those languages that are installed: each prints the digit that a program
# of C finds, and for a file that is not there Octet's sentence. languages_test.sh BUILD SOURCE
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$build/network:$build
cd "$scratch"
fail() { echo "languages test: $*" >&2; exit 1; }

# block LANGUAGE: the first block of the page in it.
block() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$source/doc/howto/languages.md" | sed '/^```/d'
}
cat >expected.c <<'C'
#include <octet/octet.h>
#include <stdio.h>
int main(int argc, char **argv) {
    octet_network *net = NULL;
    octet_tensor *tensor = NULL;
    float pixels[64] = {0}, scores[10] = {0};
    int best = 0, i, wrong = argc != 2 || octet_network_create(&net, argv[1], NULL) ||
        octet_network_input(net, 0, &tensor) || octet_tensor_copy_from_float(tensor, pixels, 64) ||
        octet_network_run(net) || octet_network_output(net, 0, &tensor) ||
        octet_tensor_copy_to_float(tensor, scores, 10);
    for (i = 1; i < 10; i++)
        if (scores[i] > scores[best])
            best = i;
    printf("it is a %d\n", best);
    return wrong;
}
C
flags=("-I$source/include" "-I$build/include" "-L$build/network" "-L$build")
cc expected.c "${flags[@]}" -loctet_network -loctet -o expected
model=$source/examples/digits/digits_int8.tflite
expected=$(./expected "$model")

tried=()
# try NAME COMMAND…: the program, with its model behind.
try() {
    local name=$1 said
    shift
    said=$("$@" "$model")
    [ "$said" = "$expected" ] || fail "$name says '$said', expected is '$expected'"
    ! "$@" missing.tflite >said 2>&1 || fail "$name does not fail without a model"
    grep -q "missing.tflite" said || { cat said >&2; fail "$name does not say what is missing"; }
    tried+=("$name")
}
if command -v go >/dev/null; then
    block go | sed '/#cgo pkg-config/d' >digit.go
    export GOCACHE=$scratch/cache GOFLAGS=-mod=mod GO111MODULE=off
    CGO_CFLAGS="${flags[*]:0:2}" CGO_LDFLAGS="${flags[*]:2} -loctet_network -loctet" go build -o digit_go digit.go
    try Go ./digit_go
fi
if command -v rustc >/dev/null; then
    block rust >digit.rs
    rustc digit.rs -L "$build/network" -L "$build" -l octet_network -C link-arg=-loctet -o digit_rust
    try Rust ./digit_rust
fi
if command -v javac >/dev/null && [ -e /usr/share/java/jna.jar ]; then
    block java >Digit.java
    try Java java -cp /usr/share/java/jna.jar -Djna.library.path="$build/network:$build" Digit.java
fi
[ ${#tried[@]} -gt 0 ] || { echo "languages test: no Go, Rust or Java with JNA, skipped"; exit 77; }
echo "languages: ${tried[*]} print what C does"
