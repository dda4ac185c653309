#!/usr/bin/env bash
# What a user gets: installs the build into a scratch prefix, looks at what was installed, builds users' projects
# against it (find_package, pkg-config, add_subdirectory), and does the same with the Debian packages, unpacked into a
# directory.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$(realpath "${1:?build directory}") source=$(realpath "${2:?source directory}")
scratch=$(mktemp -d)
embedded=$(mktemp -d "$build.embedded.XXXXXX") # as deep as the build, so that a compiler cache knows the objects
trap 'rm -rf "$scratch" "$embedded"' EXIT
fail() { echo "install test: $*" >&2; exit 1; }
needs() { readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'; }
has() { grep -q "$1" <<<"$2"; } # not a pipe: grep leaves at its first match, and who writes into it then fails

# linked PROGRAM PACKAGE COMPILER ARGUMENTS…: compiles and links as pkg-config says. The program knows where the
# libraries of its own lie, and names none that it does not call, so that each library has to find its neighbours by
# itself.
linked() {
    local program=$1 package=$2
    shift 2
    # shellcheck disable=SC2046 # the flags are separate words
    "$@" -o "$program" -Wl,--as-needed "-Wl,-rpath,$(pkg-config --variable=libdir octet)" \
        $(pkg-config --cflags --libs "$package")
}
# started PROGRAM ARGUMENTS…: runs it with an empty environment.
started() { env -i "$@"; }

# configure NAME PROJECT ARGUMENTS…: quietly, but with all the output if it fails.
configure() {
    local name=$1 project=$2
    shift 2
    cmake -S "$source/tests/install/$project" -B "$scratch/$name" -G Ninja "$@" >"$scratch/$name.log" 2>&1 ||
        { cat "$scratch/$name.log" >&2; fail "$name cannot be configured"; }
}

# refused NAME TEXT ARGUMENTS…: find_package must fail and say TEXT.
refused() {
    local name=$1 expected=$2
    shift 2
    if cmake -S "$source/tests/install/refused" -B "$scratch/$name" -G Ninja "$@" >"$scratch/$name.log" 2>&1; then
        fail "find_package accepts $*"
    fi
    has "$expected" "$(tr -s ' \n' ' ' <"$scratch/$name.log")" || {
        cat "$scratch/$name.log" >&2
        fail "$name: no '$expected'"
    }
}

# no_warnings: the public headers are quiet in programs that ask for more warnings than Octet's own build.
no_warnings() {
    local include
    include=$(pkg-config --variable=includedir octet)
    (cd "$include" && find octet -name '*.h*' -printf '#include <%p>\n') | sort >"$scratch/all_headers.cc"
    grep '^#include <octet/octet.hpp>$' "$scratch/all_headers.cc" >/dev/null || fail "no octet.hpp in $include"
    # shellcheck disable=SC2046 # the flags are separate words
    c++ -std=c++17 -fsyntax-only -Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
        $(pkg-config --cflags octet) "$scratch/all_headers.cc" || fail "the public headers warn"
}

# use PREFIX: everything under PREFIX works for users.
use() {
    local prefix=$1 name program
    name=user_$(basename "$prefix")
    configure "$name" find_package -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build "$scratch/$name" >/dev/null
    started "$scratch/$name/shared_user"
    started "$scratch/$name/static_user"

    local pc
    pc=$(find "$prefix" -name octet.pc -printf '%h')
    [ -n "$pc" ] || fail "no octet.pc under $prefix"
    export PKG_CONFIG_PATH=$pc
    no_warnings
    linked "$scratch/$name/pkgconfig_user" octet c++ -std=c++17 "$source/tests/install/main.cpp"
    started "$scratch/$name/pkgconfig_user"

    linked "$scratch/$name/onednn_client" octet c++ -std=c++17 \
        -I "$(pkg-config --variable=includedir octet)/octet/compat/onednn" "$source/tests/install/onednn_client.cpp"
    started "$scratch/$name/onednn_client"

    if pkg-config --exists octet-network; then
        started "$scratch/$name/network_user" "$source/examples/digits/digits_int8.tflite"
        started "$scratch/$name/static_network_user" "$source/examples/digits/digits_int8.tflite"
        ! ldd "$scratch/$name/static_network_user" | grep -q liboctet ||
            fail "octet::network_static links a shared library of Octet"
        for program in network five_lines; do
            linked "$scratch/$name/pkgconfig_$program" octet-network c++ -std=c++17 "$source/tests/install/$program.cpp"
            started "$scratch/$name/pkgconfig_$program" "$source/examples/digits/digits_int8.tflite"
        done
        linked "$scratch/$name/c_network_user" octet-network cc -std=c11 -pedantic -Wall -Wextra \
            -Werror "$source/network/tests/c_network.c"
        started "$scratch/$name/c_network_user" "$source/examples/digits/digits_int8.tflite" "$scratch/$name/plan.octet"
        echo '#include <octet/octet.h>' | c++ -std=c++17 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ - \
            "-I$(pkg-config --variable=includedir octet)"
    fi

    if [ -x "$prefix/bin/octet" ]; then
        started "$prefix/bin/octet" --version
        started "$prefix/bin/octet" run "$source/examples/digits/digits_int8.tflite" >/dev/null
    fi

    local package
    package=$(find "$prefix" -path '*dist-packages/octet')
    if [ -n "$package" ]; then
        has 'CONV_2D' "$(started PYTHONPATH="${package%/octet}" /usr/bin/python3 -c \
            'import octet, sys; print(octet.Network(sys.argv[1]).explain())' \
                "$source/examples/digits/digits_int8.tflite")" ||
            fail "the Python package"
        [ "$(started PYTHONPATH="${package%/octet}" /usr/bin/python3 \
            -c "import importlib.metadata as m; print(m.version('octet'))")" = "$version" ] ||
            fail "metadata of the Python package"
    fi

    local front
    front=$(find "$prefix" -name liboctet_dnnl.so)
    if [ -n "$front" ]; then
        has 'nothing called oneDNN' "$("$prefix/bin/octet" preload /bin/true 2>&1)" || fail "octet preload"
        has dnnl "$(needs "$front")" && fail "liboctet_dnnl links oneDNN"
        has ' [^T] dnnl_' "$(nm -D "$front")" && fail "liboctet_dnnl refers to oneDNN's symbols"
        [ -z "$(nm -DC --defined-only "$front" | grep -v ' T dnnl_')" ] || fail "more than dnnl_* leaves liboctet_dnnl"
    fi
}

echo "== cmake --install"
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
library=$(find "$scratch/prefix" -name 'liboctet.so.*.*.*')
version=${library##*.so.}
for library in "${library%/*}"/liboctet*.so."$version"; do
    soname=$(basename "${library%.*}")
    has "SONAME.*\[$soname\]" "$(readelf -d "$library")" || fail "SONAME of $library"
    foreign=$(nm -DC --defined-only "$library" |
        grep -v ' octet::v0::\| T octet_\| typeinfo \(name \)\?for octet::v0::\| vtable for octet::v0::\| OCTET_' ||
            true)
    [ -z "$foreign" ] || fail "more than octet::v0 and octet_* leaves $library: $foreign"
done
[ -f "$scratch/prefix/share/doc/octet/LICENSE" ] || fail "no licence"
python3 "$source/scripts/check_documents.py" --links "$scratch/prefix/share/doc/octet" ||
    fail "links of the installed pages"
if [ -x "$scratch/prefix/bin/octet" ]; then
    if ! grep -q 'OCTET_WITH_ONEDNN:[A-Z]*=ON' "$build/CMakeCache.txt" &&
        has 'dnnl\|OpenCL' "$(needs "$scratch/prefix/bin/octet")"; then
        fail "the command links oneDNN unasked"
    fi
    if command -v help2man >/dev/null; then
        for page in octet octet-info octet-inspect octet-run octet-save octet-serve octet-bench octet-check \
            octet-profiles octet-explain octet-match octet-match-network octet-compare-profiles octet-verify \
            octet-preload octet-onnxruntime octet-completion; do
            grep -q '^\.SH NAME' "$scratch/prefix/share/man/man1/$page.1" || fail "no manual page $page(1)"
        done
    fi
    for script in bash-completion/completions/octet zsh/vendor-completions/_octet \
        fish/vendor_completions.d/octet.fish; do
        grep -q octet "$scratch/prefix/share/$script" || fail "no completion script share/$script"
    done
fi
use "$scratch/prefix"
if pkg-config --exists octet-network; then # `use` has set the path
    echo "== the programs of README.md and doc/reference/c.md, which say what they print"
    # printed PAGE PROGRAM…: the last line of the program's output stands in the page.
    printed() {
        local page=$1 output
        shift
        output=$(cd "$source" && started "$@" | tail -n 1 | sed 's/ *$//')
        [ -n "$output" ] && grep -qF -- "$output" "$page" || fail "$page does not show what its program prints: $output"
    }
    # block PAGE LANGUAGE NUMBER: a program in a page.
    block() { awk -v fence="\`\`\`$2" -v number="$3" \
        '$0 == fence { n++; inside = 1; next } /^```/ { inside = 0 } inside && n == number' "$1"; }
    for number in 1 2; do
        block "$source/README.md" cpp $number >"$scratch/readme.cpp"
        linked "$scratch/readme" octet-network c++ -std=c++17 -Wall -Werror "$scratch/readme.cpp"
        printed "$source/README.md" "$scratch/readme"
    done
    { # an excerpt, whose comment says what it computes
        echo '#include <cstdio>'
        echo '#include "octet/octet.hpp"'
        echo 'int main() {'
        block "$source/doc/howto/requantize.md" cpp 1
        echo 'std::printf("y is"); for (int v : y) std::printf(" %d", v); std::printf("\n"); }'
    } >"$scratch/requantize.cpp"
    linked "$scratch/requantize" octet c++ -std=c++17 -Wall -Werror "$scratch/requantize.cpp"
    printed "$source/doc/howto/requantize.md" "$scratch/requantize"
    block "$source/doc/reference/c.md" c 1 >"$scratch/readme.c"
    linked "$scratch/readme_c" octet-network cc -std=c11 -pedantic -Wall -Wextra -Werror "$scratch/readme.c"
    printed "$source/doc/reference/c.md" "$scratch/readme_c"
    package=$(find "$scratch/prefix" -path '*dist-packages/octet')
    if [ -n "$package" ]; then
        block "$source/README.md" python 1 >"$scratch/readme.py"
        printed "$source/README.md" PYTHONPATH="${package%/octet}" /usr/bin/python3 "$scratch/readme.py"
    fi
fi
refused newer 'version: 0.1.0' -DCMAKE_PREFIX_PATH="$scratch/prefix" -DWANTED="0.2"
refused component "no component 'gpu', installed are" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
    -DWANTED="0.1;COMPONENTS;gpu"

echo "== C++14 is refused in a sentence"
if c++ -std=c++14 -fsyntax-only -I"$scratch/prefix/include" "$source/tests/install/main.cpp" \
    2>"$scratch/cxx14.log"; then
    fail "compiles as C++14"
fi
grep -q 'error: #error.*C++17' "$scratch/cxx14.log" || fail "no sentence about C++17"

echo "== add_subdirectory"
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
embed() {
    cmake -S "$source/tests/install/subdirectory" -B "$embedded" -G Ninja -DOCTET_SOURCE_DIR="$source" \
        -DCMAKE_BUILD_TYPE="$(cached CMAKE_BUILD_TYPE)" -DCMAKE_CXX_FLAGS_RELEASE="$(cached CMAKE_CXX_FLAGS_RELEASE)" \
        -DCMAKE_CXX_COMPILER_LAUNCHER="$(cached CMAKE_CXX_COMPILER_LAUNCHER)" \
        -DOCTET_WARNINGS_AS_ERRORS="$(cached OCTET_WARNINGS_AS_ERRORS)" "$@" >"$scratch/embedded.log" 2>&1 ||
        { cat "$scratch/embedded.log" >&2; fail "add_subdirectory"; }
    cmake --build "$embedded" >/dev/null
    "$embedded/user"
}
embed
has liboctet "$(needs "$embedded/user")" || fail "octet::octet is not the shared library"
embed -DBUILD_SHARED_LIBS=OFF
if has liboctet "$(needs "$embedded/user")"; then
    fail "BUILD_SHARED_LIBS=OFF links the shared library"
fi
if has octet "$(cmake --install "$embedded" --prefix "$scratch/embedded" 2>/dev/null)"; then
    fail "a project that embeds Octet installs it unasked"
fi

echo "== OCTET_THREADS=omp leaves oneTBB out"
cmake -S "$source" -B "$scratch/omp" -G Ninja -DOCTET_THREADS=omp -DOCTET_BUILD_TESTS=OFF >"$scratch/omp.log" 2>&1 ||
    { cat "$scratch/omp.log" >&2; fail "cannot be configured for OpenMP"; }
has workers_omp.cpp.o "$(cat "$scratch/omp/build.ninja")" || fail "no threads of OpenMP"
if has 'workers_tbb\|libtbb' "$(cat "$scratch/omp/build.ninja")"; then
    fail "needs oneTBB with OCTET_THREADS=omp"
fi

echo "== what is missing is said in a sentence"
if cmake -S "$source" -B "$scratch/without_xbyak" -G Ninja -DCMAKE_IGNORE_PATH=/usr/include \
    >"$scratch/without_xbyak.log" 2>&1; then
    fail "is configured without Xbyak"
fi
has 'needs the header library Xbyak .* Install it' "$(tr -s ' \n' ' ' <"$scratch/without_xbyak.log")" ||
    fail "no sentence about Xbyak: $(cat "$scratch/without_xbyak.log")"

if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
    echo "== Debian packages"
    (cd "$build" && cpack -G DEB -B "$scratch/packages" >"$scratch/cpack.log" 2>&1) || {
        cat "$scratch/cpack.log" >&2
        fail "cpack"
    }
    packages=("liboctet${version%.*}" liboctet-dev octet-tools)
    [ -d "$build/python" ] && packages+=(python3-octet)
    [ -f "$build/interop/onnxruntime/liboctet_onnxruntime.so" ] && packages+=(liboctet-onnxruntime)
    for package in "${packages[@]}"; do
        deb=$(find "$scratch/packages" -maxdepth 1 -name "${package}_*.deb")
        [ -n "$deb" ] || fail "no package $package"
        has 'libtbb\|python3-numpy' "$(dpkg-deb -f "$deb" Depends)" || fail "$package does not say what it needs"
        dpkg-deb -x "$deb" "$scratch/root"
        [ -f "$scratch/root/usr/share/doc/$package/copyright" ] || fail "no copyright in $package"
    done
    use "$scratch/root/usr"
fi
