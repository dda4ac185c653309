#!/usr/bin/env bash
# Dependencies point one way: src/api -> cpu -> jit -> src/common -> include. Xbyak only in jit/, runtimes of threads
# only in cpu/machine/workers_*.cpp (and where oneDNN is the bench's baseline), and the public headers include nothing but the
# standard library and each other.
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
cd "${1:?source directory}"
status=0

# forbid DIRECTORY PATTERN WHY: no #include in DIRECTORY may match PATTERN.
forbid() {
    local hits
    hits=$(grep -rnE "^ *# *include *[<\"]($2)" "$1" --include='*.hpp' --include='*.cpp' 2>/dev/null)
    [ -z "$hits" ] && return
    printf '%s\n%s\n' "$3:" "$hits"
    status=1
}

forbid src/common '(cpu|jit|api)/' 'src/common may include only itself and the public headers'
forbid jit '(cpu|api)/' 'jit may include only src/common and the public headers'
forbid cpu 'api/' 'cpu may not include the front'
forbid include '(common|cpu|jit|api|xbyak|tbb|oneapi|nlohmann|CLI|flatbuffers)/' 'public headers include only std and octet/'
forbid src 'xbyak/' 'Xbyak belongs to jit/'
forbid cpu 'xbyak/' 'Xbyak belongs to jit/'
forbid tools '(cpu|jit|api|network)/' 'the command uses the public API'
for room in commands bench files; do
    forbid tools/$room 'common/' 'of tools only check and match, which evaluate the arithmetic itself, see src/common'
done
forbid tools/match '(commands|check|bench|files)/|CLI/' 'tools/match is also part of the Python package'
forbid interop '(common|cpu|jit|api|network)/' 'interop uses the public API'
forbid interop/onednn/library 'onednn/preload/' 'liboctet has no oneDNN behind it'
forbid interop/onednn/preload 'onednn/library/' 'handles of the preloaded library are oneDNN'
for file in interop/onednn/*.?pp interop/onednn/interface/*.?pp; do
    grep -HnE '^ *# *include *"onednn/(library|preload)/' "$file" && { echo 'what both modes of interop/onednn share knows neither'; status=1; }
done
forbid examples '(common|cpu|jit|api|network)/' 'examples use the public API'
forbid serve '(common|cpu|jit|api|network|commands)/' 'the server uses the public API'
forbid serve/core '(http|grpc|net)/|boost/|nghttp2/' 'serve/core knows no protocol'
forbid serve/net '(http|grpc)/|nghttp2/' 'serve/net knows connections, and not what they speak'
forbid src/network '(common|cpu|jit|api)/' 'networks use the public API'
forbid src/storage '(common|cpu|jit|api|network)/' 'files are written by whoever wants to, without knowing them'
for room in graph tflite onnx passes lower ops; do
    forbid src/network/$room 'network/run/' 'only src/network/run knows what runs'
done
forbid src/network/graph 'network/(tflite|onnx|passes|lower|ops)/' 'src/network/graph knows graphs as values only'
forbid src/network/c 'network/(graph|tflite|onnx|passes|lower|ops|run)/' 'the C interface is made of the public one'
forbid src/network/lower 'network/(tflite|onnx|passes|ops)/' 'lower has what operators are made with, and knows none'
forbid src/network/ops 'network/(tflite|onnx|passes)/' 'lowering sees one node, not files or passes'
forbid src/network/ops/onnx 'network/ops/tflite/' 'operators of one framework know nothing of those of another'
forbid src/network/ops/tflite 'network/ops/onnx/' 'operators of one framework know nothing of those of another'
forbid src/network/tflite 'network/(onnx|passes|lower|ops)/' 'a reader makes a graph and knows nothing of what becomes of it'
forbid src/network/shapes 'network/(tflite|onnx|passes|lower|ops|run)/' 'shape functions see a node, not files'
forbid src/network/onnx 'network/(tflite|passes|lower|ops)/' 'a reader makes a graph and knows nothing of what becomes of it'
forbid src/network/passes 'network/(tflite|onnx)/' 'passes know graphs, not files'
forbid src/network/passes 'network/ops/' 'passes know rows of operators, not how they are lowered'
forbid src/network/parts 'network/(tflite|onnx|passes|lower|ops|run)/' 'parts of nodes are nodes, whoever writes them'
for room in graph shapes parts tflite onnx passes lower ops run saved c; do
    forbid src/network/$room 'network/dialects/' 'dialects know all that is of a framework; others ask them by network/dialect.hpp'
done

# In the child of a fork a mutex may be locked for ever.
unguarded=$(grep -rlE '^ *(static |mutable )*std::mutex [a-z_]+;' src cpu jit interop --include='*.?pp' | xargs grep -L fork_guard)
[ -z "$unguarded" ] || { echo "a mutex that outlives a call stands beside a fork_guard (octet/fork_guard.hpp): $unguarded"; status=1; }

# Rings of units and of folders, and who is compiled with the assembler.
python3 scripts/include_graph.py --source . || status=1

threads=$(grep -rlE '^ *# *include *<(tbb/|oneapi/tbb/|omp\.h)' src cpu jit include tools examples interop |
    grep -vE '^(cpu/machine/workers_(tbb|omp)|tools/bench/workload_onednn)\.cpp$')
[ -z "$threads" ] || { echo "only cpu/machine/workers_*.cpp include oneTBB or OpenMP: $threads"; status=1; }

# oneDNN's names are the real library's: interop asks for them at run time (interop/onednn/preload/real_library.hpp).
for room in src cpu jit include interop examples; do
    forbid $room 'oneapi/dnnl' 'only the bench and tests know oneDNN'
done
exit $status
