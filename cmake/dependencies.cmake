# What the build needs, looked for in one place, so that what is missing is said in a sentence before anything is
# compiled. Optional libraries are never linked silently: a summary says which were taken.
# SPDX-License-Identifier: Apache-2.0

# The runtime of the library's threads: its CMake package, target, and pkg-config module.
set(OCTET_THREADS tbb CACHE STRING "Threads of the library: tbb (oneTBB) or omp (OpenMP)")
set_property(CACHE OCTET_THREADS PROPERTY STRINGS tbb omp)
if(OCTET_THREADS STREQUAL "tbb")
    find_package(TBB QUIET)
    if(NOT TBB_FOUND)
        message(FATAL_ERROR
            "Octet needs oneTBB for its threads and did not find it. Install it (Debian: libtbb-dev), set TBB_DIR "
                            "to the folder of its TBBConfig.cmake, or take OpenMP: -DOCTET_THREADS=omp.")
    endif()
    set(octet_threads_package TBB)
    set(octet_threads_target TBB::tbb)
elseif(OCTET_THREADS STREQUAL "omp")
    find_package(OpenMP COMPONENTS CXX QUIET)
    if(NOT OpenMP_CXX_FOUND)
        message(FATAL_ERROR
            "OCTET_THREADS is omp, but this compiler has no OpenMP (Debian: libgomp1, or libomp-dev for clang).")
    endif()
    set(octet_threads_package OpenMP)
    set(octet_threads_target OpenMP::OpenMP_CXX)
else()
    message(FATAL_ERROR "OCTET_THREADS is ${OCTET_THREADS}, allowed: tbb, omp")
endif()
find_path(XBYAK_INCLUDE_DIR xbyak/xbyak.h DOC "Folder that contains xbyak/xbyak.h")
mark_as_advanced(XBYAK_INCLUDE_DIR)
if(OCTET_JIT AND NOT XBYAK_INCLUDE_DIR)
    message(FATAL_ERROR
        "Octet needs the header library Xbyak to generate its kernels and did not find xbyak/xbyak.h. Install it "
                        "(Debian: libxbyak-dev) or set XBYAK_INCLUDE_DIR.")
endif()

# octet_with(NAME PACKAGES WHAT VARIABLES…): the option OCTET_WITH_NAME, and OCTET_HAVE_NAME if it is not OFF and all
# variables hold something found. ON makes a missing library an error.
function(octet_with name packages what)
    set(OCTET_HAVE_${name} TRUE)
    foreach(variable ${ARGN})
        if(NOT ${variable})
            set(OCTET_HAVE_${name} FALSE)
        endif()
    endforeach()
    if(OCTET_HAVE_${name})
        message(STATUS "Octet: ${what}: yes")
    elseif(OCTET_WITH_${name} AND NOT OCTET_WITH_${name} STREQUAL "AUTO")
        message(FATAL_ERROR "OCTET_WITH_${name} is ${OCTET_WITH_${name}}, but it was not found (Debian: ${packages}).")
    else()
        message(STATUS "Octet: ${what}: no (Debian: ${packages})")
    endif()
    set(OCTET_HAVE_${name} ${OCTET_HAVE_${name}} PARENT_SCOPE)
endfunction()

set(OCTET_WITH_ONNX
    AUTO CACHE STRING "octet::network reads .onnx files: AUTO (where ONNX's protobuf classes are found), ON, OFF")
set(OCTET_WITH_ONEDNN AUTO CACHE STRING
    "oneDNN: AUTO (an oracle of the tests where found), ON (also the baseline of `octet bench`, which links it), OFF")
set_property(CACHE OCTET_WITH_ONNX OCTET_WITH_ONEDNN PROPERTY STRINGS AUTO ON OFF)

set(OCTET_PYTHON AUTO CACHE STRING "Python package octet: AUTO (where pybind11 is found), ON, OFF")
set(OCTET_PYTHON_INSTALL_DIR lib/python3/dist-packages CACHE STRING "Where the Python package goes, below the prefix")
set_property(CACHE OCTET_PYTHON PROPERTY STRINGS AUTO ON OFF)

set(OCTET_HAVE_ONNX FALSE)
if(OCTET_WITH_ONNX AND (OCTET_BUILD_NETWORK OR OCTET_BUILD_TOOLS OR OCTET_BUILD_EXAMPLES))
    find_package(Protobuf QUIET)
    find_path(ONNX_INCLUDE_DIR onnx/onnx_pb.h)
    find_library(ONNX_PROTO_LIBRARY onnx_proto)
    mark_as_advanced(ONNX_INCLUDE_DIR ONNX_PROTO_LIBRARY)
    octet_with(ONNX "libonnx-dev libprotobuf-dev" ".onnx files" Protobuf_FOUND ONNX_INCLUDE_DIR ONNX_PROTO_LIBRARY)
endif()

# `octet serve`; ON makes its libraries, which tests are linked to, also without the command. prometheus-cpp also
# looks for what its listener would need; ours is the server's own.
set(OCTET_WITH_SERVE
    AUTO CACHE STRING "`octet serve`: AUTO (where nghttp2, Boost, OpenSSL and prometheus-cpp are found), ON, OFF")
set_property(CACHE OCTET_WITH_SERVE PROPERTY STRINGS AUTO ON OFF)
set(OCTET_HAVE_SERVE FALSE)
if(OCTET_WITH_SERVE AND OCTET_JIT AND (OCTET_BUILD_TOOLS OR NOT OCTET_WITH_SERVE STREQUAL "AUTO"))
    find_package(Boost 1.74 QUIET)
    find_package(OpenSSL QUIET)
    find_path(PROMETHEUS_INCLUDE_DIR prometheus/registry.h)
    find_library(PROMETHEUS_CORE_LIBRARY prometheus-cpp-core)
    find_package(Protobuf QUIET)
    find_path(NGHTTP2_INCLUDE_DIR nghttp2/nghttp2.h)
    find_library(NGHTTP2_LIBRARY nghttp2)
    find_program(PROTOC protoc)
    mark_as_advanced(PROMETHEUS_INCLUDE_DIR PROMETHEUS_CORE_LIBRARY NGHTTP2_INCLUDE_DIR NGHTTP2_LIBRARY PROTOC)
    # One that bounds header blocks and resets: 1.61, or Debian's 1.52 since its security update.
    if(NGHTTP2_LIBRARY)
        include(CheckLibraryExists)
        check_library_exists(${NGHTTP2_LIBRARY} nghttp2_option_set_max_continuations "" OCTET_NGHTTP2_IS_BOUNDED)
    endif()
    octet_with(SERVE "libnghttp2-dev protobuf-compiler libprotobuf-dev libboost-dev libssl-dev prometheus-cpp-dev"
        "octet serve" Boost_FOUND OpenSSL_FOUND PROMETHEUS_INCLUDE_DIR PROMETHEUS_CORE_LIBRARY Protobuf_FOUND
        NGHTTP2_INCLUDE_DIR
               NGHTTP2_LIBRARY OCTET_NGHTTP2_IS_BOUNDED PROTOC)
endif()

set(OCTET_HAVE_ONEDNN FALSE)
if(OCTET_WITH_ONEDNN AND (OCTET_BUILD_TESTS OR OCTET_BUILD_TOOLS))
    find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
    find_library(DNNL_LIBRARY dnnl)
    mark_as_advanced(DNNL_INCLUDE_DIR DNNL_LIBRARY)
    octet_with(ONEDNN libdnnl-dev "comparisons with oneDNN in the tests" DNNL_INCLUDE_DIR DNNL_LIBRARY)
endif()
# The Python package is for the system's Python unless a virtual environment or Python_EXECUTABLE names another.
set(OCTET_HAVE_PYTHON FALSE)
if(OCTET_PYTHON AND OCTET_BUILD_NETWORK AND NOT OCTET_SANITIZE AND NOT OCTET_BUILD_FUZZERS)
    if(NOT Python_EXECUTABLE AND NOT DEFINED ENV{VIRTUAL_ENV} AND EXISTS /usr/bin/python3)
        set(Python_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "Python of the package octet")
    endif()
    find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
    find_package(pybind11 2.9 CONFIG QUIET)
    set(OCTET_WITH_PYTHON ${OCTET_PYTHON})
    octet_with(PYTHON "python3-dev pybind11-dev" "Python package" Python_FOUND pybind11_FOUND)
endif()
# The command links oneDNN only on request: an oracle that happens to be installed is no dependency of a user's program.
set(OCTET_BENCH_ONEDNN FALSE)
if(OCTET_HAVE_ONEDNN AND NOT OCTET_WITH_ONEDNN STREQUAL "AUTO" AND NOT OCTET_SANITIZE)
    set(OCTET_BENCH_ONEDNN TRUE)
endif()
