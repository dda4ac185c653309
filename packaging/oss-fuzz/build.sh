#!/bin/bash -eu
# Builds the fuzz targets with the compilers, flags and engine of OSS-Fuzz (CC, CXX, CXXFLAGS, LIB_FUZZING_ENGINE), and
# leaves in $OUT each target, its corpus, and the shared libraries that it needs. Without OSS-Fuzz:
#
#   SRC=$(dirname "$PWD") WORK=/tmp/work OUT=/tmp/out CC=clang CXX=clang++ LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
#   CXXFLAGS="-O1 -g1 -fsanitize=address,fuzzer-no-link" packaging/oss-fuzz/build.sh
#
# where the sources lie in $SRC/octet or the present folder has them.
# SPDX-License-Identifier: Apache-2.0
source=$SRC/octet
[ -e "$source/CMakeLists.txt" ] || source=$PWD
targets=(fuzz_tflite fuzz_onnx fuzz_plan fuzz_request fuzz_files)

# The distribution's libraries, protobuf among them, are made with libstdc++. Generated kernels have no type for the
# check of calls through pointers.
CXXFLAGS=${CXXFLAGS:-}
export CXXFLAGS="${CXXFLAGS//-stdlib=libc++/} -fno-sanitize=function"
cmake -S "$source" -B "$WORK/octet" -G Ninja -DCMAKE_BUILD_TYPE=None -DOCTET_BUILD_FUZZERS=ON \
    -DOCTET_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" -DOCTET_JOIN_SOURCES=ON -DOCTET_BUILD_EXAMPLES=OFF \
    -DOCTET_BUILD_DNNL=OFF -DOCTET_PYTHON=OFF
cmake --build "$WORK/octet" --target "${targets[@]}" fuzz_corpus

mkdir -p "$OUT/lib" "$WORK/corpus"
find_program() { find "$WORK/octet" -name "$1" -type f -perm -u+x; }
digits=("$source"/examples/digits/*.tflite)
"$(find_program fuzz_corpus)" "$WORK/corpus" "${digits[@]}"
cp "${digits[@]}" "$WORK/corpus"
cp "$source"/examples/digits/*.npz "$WORK/corpus"
echo '{"inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","data":[1,2]}]}' >"$WORK/corpus/request.json"

for target in "${targets[@]}"; do
    cp "$(find_program "$target")" "$OUT/"
    ldd "$OUT/$target" | awk '$3 ~ /^\// && $3 !~ /\/(libc|libm|libpthread|libdl|librt)\.so/ {print $3}' |
        xargs -r cp -L -t "$OUT/lib"
    patchelf --force-rpath --set-rpath '$ORIGIN/lib' "$OUT/$target"
    case $target in
    fuzz_request) kinds=(json) ;;
    fuzz_plan) kinds=(octet) ;;
    fuzz_files) kinds=(npy npz png) ;;
    *) kinds=("${target#fuzz_}") ;;
    esac
    for kind in "${kinds[@]}"; do
        find "$WORK/corpus" -name "*.$kind" -exec zip -q -j "$OUT/${target}_seed_corpus.zip" {} +
    done
done
