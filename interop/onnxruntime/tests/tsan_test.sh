#!/usr/bin/env bash
# The provider's own code under the thread sanitizer, on libraries without it: tsan_test.sh BUILD_DIR NETWORK_LIBRARY
# LIBRARY PATHS. ONNX Runtime is not instrumented in any build, so what is told of it and of what lies below the
# provider is left out.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$1
source=$(cd "$(dirname "$0")/../../.." && pwd)
[ -e "${OCTET_ONNXRUNTIME-}" ] || { echo "skipped: no ONNX Runtime (scripts/packages.sh)"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compiler=${CXX:-c++}
echo 'int main() {}' | $compiler -fsanitize=thread -x c++ - -o "$scratch/none" 2>/dev/null ||
    { echo "skipped: $compiler has no thread sanitizer"; exit 77; }

flags=(-std=c++17 -O1 -g1 -fPIC -fsanitize=thread -DONNX_ML=1 -DONNX_NAMESPACE=onnx
    -I"$source"/{include,interop,src,tests,.} -I"$build/include")
compile() { # NAME SOURCE...
    for file in "${@:2}"; do
        echo "$file" "$scratch/$1_$(basename "$file" .cpp).o"
    done
}
{
    compile provider "$source"/interop/onnxruntime/*.cpp
    compile test "$source"/interop/onnxruntime/tests/{host,provider_test}.cpp
} | xargs -P 2 -L 1 sh -c "$compiler ${flags[*]@Q} -c \"\$0\" -o \"\$1\""
below=("$2" "$3" -ltbb -ldl -lpthread)
$compiler -fsanitize=thread -shared -Wl,-Bsymbolic -Wl,-z,nodelete \
    -Wl,--version-script="$source/interop/onnxruntime/onnxruntime.map" -o "$scratch/provider.so" \
        "$scratch"/provider_*.o "${below[@]}"
$compiler -fsanitize=thread -o "$scratch/tests" "$scratch"/test_*.o "$scratch/provider_runtime.o" "$4" \
    "${below[@]}" -lgtest -lgtest_main -lonnx_proto -lprotobuf

cat >"$scratch/suppressions" <<'END'
called_from_lib:libonnxruntime.so
called_from_lib:libtbb.so
called_from_lib:libstdc++.so
race:std::basic_streambuf
race:tbb::detail
race:octet::impl
race:_dl_deallocate_tls
END
export OCTET_PROVIDER=$scratch/provider.so TSAN_OPTIONS=suppressions=$scratch/suppressions:report_mutex_bugs=0
"$scratch/tests" --gtest_filter='OnnxRuntimeProvider.*Thread*:OnnxRuntimeProvider.TakesAnyBatch'
