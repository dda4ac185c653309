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
    [ -d "$1" ] || { echo "the rule for $1 is about no folder"; status=1; return; }
    hits=$(grep -rnE "^ *# *include *[<\"]($2)" "$1" --include='*.hpp' --include='*.cpp' --exclude-dir=tests 2>/dev/null)
    [ -z "$hits" ] && return
    printf '%s\n%s\n' "$3:" "$hits"
    status=1
}

forbid src/common '(cpu|jit|api|network)/' 'src/common may include only itself and the public headers'
forbid jit '(cpu|api|network)/' 'jit may include only src/common and the public headers'
forbid cpu '(api|network)/' 'cpu may not include the front'
forbid src/api 'network/' 'the primitives know nothing of networks'
forbid include '(common|cpu|jit|api|network|xbyak|tbb|oneapi|nlohmann|CLI|flatbuffers)/' 'public headers include only std and octet/'
for room in src network cpu; do
    forbid $room 'xbyak/' 'Xbyak belongs to jit/'
done
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
forbid network '(common|cpu|jit|api)/' 'networks use the public API'
forbid loops '(common|cpu|jit|api|network|storage|nlohmann|flatbuffers|onnx)/' 'loops see pointers and the public headers, no network'
for room in include src cpu jit interop serve tools examples; do
    forbid $room 'loops/' 'only operators of networks run loops'
done
for room in graph shapes passes run saved c onnx/reader onnx/completion onnx/shapes onnx/rewrites onnx/layouts onnx/parts; do
    forbid network/$room 'loops/' 'only operators of networks run loops'
done
forbid src/storage '(common|cpu|jit|api|network)/' 'files are written by whoever wants to, without knowing them'
# The runtime of graphs knows no framework; its rooms from below are graph, shapes, passes and lower, ops, run.
for room in graph shapes passes lower ops run saved c; do
    forbid network/$room 'network/(onnx|tflite|dialects)/' 'the runtime knows no framework: it asks network/dialect.hpp'
done
forbid network/onnx 'network/tflite/' 'frameworks know nothing of each other'
forbid network/tflite 'network/onnx/' 'frameworks know nothing of each other'
for room in graph shapes passes lower ops onnx tflite; do
    forbid network/$room 'network/run/' 'only network/run knows what runs'
done
forbid network/graph 'network/(passes|lower|ops)/' 'network/graph knows graphs as values only'
forbid network/c 'network/(graph|passes|lower|ops|run)/' 'the C interface is made of the public one'
forbid network/lower 'network/(passes|ops)/' 'lower has what operators are made with, and knows none'
forbid network/ops 'network/passes/' 'lowering sees one node, not passes'
forbid network/passes 'network/ops/' 'passes know rows of operators, not how they are lowered'
for dialect in onnx tflite; do
    here=network/$dialect
    forbid $here/reader "network/(passes|lower|ops|$dialect/(ops|rewrites|layouts|parts))/" 'a reader makes a graph and knows nothing of what becomes of it'
    forbid $here/shapes "network/(passes|lower|ops|$dialect/(reader|ops|rewrites|layouts))/" 'shape functions see a node, not files'
    forbid $here/ops "network/(passes|$dialect/(reader|rewrites|layouts))/" 'lowering sees one node, not files or passes'
done
forbid network/onnx/completion 'network/(passes|lower|ops|onnx/(ops|rewrites|layouts))/' 'completion makes nodes of the table, and knows nothing of what becomes of them'
forbid network/onnx/rewrites 'network/(ops|onnx/(reader|completion|ops))/' 'rewrites know rows of operators, not how they are lowered'
forbid network/onnx/layouts 'network/(ops|onnx/(reader|completion|ops))/' 'passes know rows of operators, not how they are lowered'
forbid network/onnx/parts 'network/(passes|lower|ops|onnx/(reader|completion|ops|rewrites|layouts))/' 'parts of nodes are nodes, whoever writes them'

# In the child of a fork a mutex may be locked for ever.
unguarded=$(grep -rlE '^ *(static |mutable )*std::mutex [a-z_]+;' src network cpu jit interop --include='*.?pp' --exclude-dir=tests | xargs grep -L fork_guard)
[ -z "$unguarded" ] || { echo "a mutex that outlives a call stands beside a fork_guard (octet/fork_guard.hpp): $unguarded"; status=1; }

# Rings of units and of folders, and who is compiled with the assembler.
python3 scripts/include_graph.py --source . || status=1

threads=$(grep -rlE '^ *# *include *<(tbb/|oneapi/tbb/|omp\.h)' src network cpu jit include tools examples interop --exclude-dir=tests |
    grep -vE '^(cpu/machine/workers_(tbb|omp)|tools/bench/workload_onednn)\.cpp$')
[ -z "$threads" ] || { echo "only cpu/machine/workers_*.cpp include oneTBB or OpenMP: $threads"; status=1; }

# oneDNN's names are the real library's: interop asks for them at run time (interop/onednn/preload/real_library.hpp).
for room in src network cpu jit include interop examples; do
    forbid $room 'oneapi/dnnl' 'only the bench and tests know oneDNN'
done
exit $status
