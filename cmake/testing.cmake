# What the tests of all packages share: a function that makes one, oracles, test support. Each folder of tests begins
# with octet_tests_here(), and its package adds it where OCTET_BUILD_TESTS is on.
# SPDX-License-Identifier: Apache-2.0

find_package(GTest REQUIRED)
enable_language(C) # of clients of the C interfaces

# octet_tests_here(): programs of this folder lie together with all others, in tests/ of the build, and have what
# tests are started with.
macro(octet_tests_here)
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    cmake_language(DEFER CALL octet_cap_onednn)
endmacro()

# oneDNN is the oracle as it computes with AVX512-VNNI, here and inside PyTorch: doc/onednn.md says what it does with
# AMX.
function(octet_cap_onednn)
    get_property(all_tests DIRECTORY PROPERTY TESTS)
    set_property(TEST ${all_tests} APPEND PROPERTY ENVIRONMENT ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI)
endfunction()

# octet_test(name sources… LIBS libraries… DEFINES definitions… SHARDS how many parts that can run side by side
#            PERCENT of the usual random problems (tests/support/effort.hpp) COST its seconds: long ones start first)
function(octet_test name)
    cmake_parse_arguments(ARG "" "SHARDS;PERCENT;COST" "LIBS;DEFINES" ${ARGN})
    add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
    target_link_libraries(${name} PRIVATE octet_testing GTest::gtest GTest::gtest_main octet_test_paths ${ARG_LIBS})
    target_compile_definitions(${name} PRIVATE ${ARG_DEFINES})
    # Tests are compiled more often than they run.
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    set(environment TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp)
    if(ARG_PERCENT)
        list(APPEND environment OCTET_TEST_PERCENT=${ARG_PERCENT})
    endif()
    if(NOT ARG_SHARDS)
        add_test(NAME ${name} COMMAND ${name})
        set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" COST "${ARG_COST}")
        return()
    endif()
    math(EXPR last "${ARG_SHARDS} - 1")
    foreach(shard RANGE ${last})
        add_test(NAME ${name}_${shard} COMMAND ${name})
        set(part GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${shard})
        set_tests_properties(${name}_${shard} PROPERTIES ENVIRONMENT "${environment};${part}" COST "${ARG_COST}")
    endforeach()
endfunction()

# Test support, and the inside of the library with it.
add_library(octet_testing INTERFACE)
target_include_directories(octet_testing INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(octet_testing INTERFACE octet_arithmetic octet_static octet_flags)

# The one file that is compiled with paths of this machine.
add_library(octet_test_paths STATIC tests/support/paths.cpp)
target_compile_definitions(octet_test_paths PRIVATE OCTET_SHARED_DIR="${OCTET_SHARED_DIR}"
    OCTET_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# Programs with these have the level avx512_amx on machines without tile registers.
add_library(amx_emulator OBJECT EXCLUDE_FROM_ALL tests/amx/emulator.cpp tests/amx/instructions.cpp)
target_link_libraries(amx_emulator PRIVATE octet_testing)
set_source_files_properties(tests/amx/instructions.cpp PROPERTIES COMPILE_OPTIONS -O3)

# Programs with this see a machine that has every level.
add_library(every_level OBJECT EXCLUDE_FROM_ALL tests/support/every_level.cpp)
target_link_libraries(every_level PRIVATE octet_testing)

# Programs with this generate the code of every level, and must run none of it.
add_library(every_feature OBJECT EXCLUDE_FROM_ALL tests/support/every_feature.cpp)
target_link_libraries(every_feature PRIVATE octet_testing)

# Tests with packages of npm, which scripts/packages.sh puts into a folder of its own, are skipped without them.
find_program(NODE node)
mark_as_advanced(NODE)
set(npm_folder $ENV{HOME}/.cache)
if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(npm_folder $ENV{XDG_CACHE_HOME})
endif()
set(npm_modules ${npm_folder}/octet/npm/node_modules)
set(node_test SKIP_RETURN_CODE 77 ENVIRONMENT NODE_PATH=${npm_modules}:$ENV{NODE_PATH})
set(npm_onnxruntime ${npm_modules}/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1)

# oneDNN is the oracle of the f32 rule (cmake/dependencies.cmake), gemmlowp that of the fixed-point rules and functions.
if(OCTET_HAVE_ONEDNN)
    set(dnnl_libs ${DNNL_LIBRARY})
    set(dnnl_defines OCTET_HAVE_DNNL=1)
endif()
find_path(GEMMLOWP_INCLUDE_DIR gemmlowp/public/gemmlowp.h)
if(NOT GEMMLOWP_INCLUDE_DIR)
    message(STATUS "gemmlowp not found (libgemmlowp-dev): comparisons with it are skipped")
endif()
