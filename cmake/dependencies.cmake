# What the build needs, looked for in one place, so that what is missing is said in a sentence before anything is compiled.
# Optional libraries are never linked silently: a summary says which were taken.

find_package(TBB QUIET)
if(NOT TBB_FOUND)
    message(FATAL_ERROR "Octet needs oneTBB for its threads and did not find it. Install it (Debian: libtbb-dev) or set TBB_DIR "
                        "to the folder of its TBBConfig.cmake.")
endif()
find_path(XBYAK_INCLUDE_DIR xbyak/xbyak.h DOC "Folder that contains xbyak/xbyak.h")
mark_as_advanced(XBYAK_INCLUDE_DIR)
if(NOT XBYAK_INCLUDE_DIR)
    message(FATAL_ERROR "Octet needs the header library Xbyak to generate its kernels and did not find xbyak/xbyak.h. Install it "
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

set(OCTET_WITH_ONNX AUTO CACHE STRING "octet::network reads .onnx files: AUTO (where ONNX's protobuf classes are found), ON, OFF")
set(OCTET_WITH_ONEDNN AUTO CACHE STRING
    "oneDNN: AUTO (an oracle of the tests where found), ON (also the peer of `octet bench`, which then links it), OFF")
set_property(CACHE OCTET_WITH_ONNX OCTET_WITH_ONEDNN PROPERTY STRINGS AUTO ON OFF)

set(OCTET_HAVE_ONNX FALSE)
if(OCTET_WITH_ONNX AND (OCTET_BUILD_NETWORK OR OCTET_BUILD_TOOLS OR OCTET_BUILD_EXAMPLES))
    find_package(Protobuf QUIET)
    find_path(ONNX_INCLUDE_DIR onnx/onnx_pb.h)
    find_library(ONNX_PROTO_LIBRARY onnx_proto)
    mark_as_advanced(ONNX_INCLUDE_DIR ONNX_PROTO_LIBRARY)
    octet_with(ONNX "libonnx-dev libprotobuf-dev" ".onnx files" Protobuf_FOUND ONNX_INCLUDE_DIR ONNX_PROTO_LIBRARY)
endif()

set(OCTET_HAVE_ONEDNN FALSE)
if(OCTET_WITH_ONEDNN AND (OCTET_BUILD_TESTS OR OCTET_BUILD_TOOLS))
    find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
    find_library(DNNL_LIBRARY dnnl)
    mark_as_advanced(DNNL_INCLUDE_DIR DNNL_LIBRARY)
    octet_with(ONEDNN libdnnl-dev "comparisons with oneDNN in the tests" DNNL_INCLUDE_DIR DNNL_LIBRARY)
endif()
# The command links oneDNN only on request: an oracle that happens to be installed is no dependency of a user's program.
set(OCTET_BENCH_ONEDNN FALSE)
if(OCTET_HAVE_ONEDNN AND NOT OCTET_WITH_ONEDNN STREQUAL "AUTO" AND NOT OCTET_SANITIZE)
    set(OCTET_BENCH_ONEDNN TRUE)
endif()
