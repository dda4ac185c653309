# The library: objects once, linked as a shared and as a static library. oneDNN's interface in it is interop/onednn's.
#
# octet::octet is the shared library unless BUILD_SHARED_LIBS says otherwise. Undefined, both are built and installed;
# ON installs the shared one alone (the static one is still there for tests and tools, which see inside the library),
# OFF builds the static one alone.
# SPDX-License-Identifier: Apache-2.0

include(GNUInstallDirs)
include(cmake/older_systems.cmake)

configure_file(include/octet/version.hpp.in ${CMAKE_CURRENT_BINARY_DIR}/include/octet/version.hpp @ONLY)

# Without generated code the definitions of operations (cpu/ref) are all that runs.
if(OCTET_JIT)
    set(octet_folders cpu jit)
else()
    set(octet_folders cpu/choice cpu/group_products cpu/machine cpu/ref)
    set(octet_plain_files cpu/compose/concat.cpp cpu/compose/depthwise_behind.cpp cpu/stream/nest.cpp
        cpu/weights/pack.cpp)
endif()
list(TRANSFORM octet_folders APPEND /*.cpp)
file(GLOB_RECURSE octet_sources CONFIGURE_DEPENDS src/common/*.cpp src/api/*.cpp ${octet_folders})
list(FILTER octet_sources EXCLUDE REGEX "cpu/machine/workers_")
if(OCTET_JIT)
    list(FILTER octet_sources EXCLUDE REGEX "cpu/choice/plain")
else()
    list(FILTER octet_sources EXCLUDE REGEX "cpu/group_products/quantize_vectors")
endif()
list(APPEND octet_sources ${octet_plain_files})
list(APPEND octet_sources ${PROJECT_SOURCE_DIR}/cpu/machine/workers_${OCTET_THREADS}.cpp)
add_library(octet_objects OBJECT ${octet_sources})
set_target_properties(octet_objects PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                               VISIBILITY_INLINES_HIDDEN ON)
target_include_directories(octet_objects PUBLIC include ${CMAKE_CURRENT_BINARY_DIR}/include PRIVATE src .)
if(OCTET_JIT)
    target_include_directories(octet_objects SYSTEM PRIVATE ${XBYAK_INCLUDE_DIR})
endif()
target_compile_definitions(octet_objects PRIVATE OCTET_JIT=$<BOOL:${OCTET_JIT}>)
target_link_libraries(octet_objects PRIVATE octet_flags)
# They set the environment of floats around their own arithmetic, which Clang would move out of it otherwise.
set_source_files_properties(src/common/derivation.cpp src/common/derivation_of_sums.cpp PROPERTIES COMPILE_OPTIONS
    $<$<CXX_COMPILER_ID:Clang>:-frounding-math>)
# Two files by themselves: loops and tools/match have them, too, and a program takes them from one archive alone.
set(octet_apart "/src/api/|/cpu/ref/|/cpu/lanes/|/pack_rows.cpp|/workers_|/eltwise_(ort|pow).cpp")
octet_join(octet_objects EXCEPT "${octet_apart}|/(source_quantizer|combination).cpp")
if(OCTET_THREADS STREQUAL "omp") # one file has pragmas
    set_source_files_properties(cpu/machine/workers_omp.cpp PROPERTIES COMPILE_OPTIONS "${OpenMP_CXX_FLAGS}")
else()
    target_link_libraries(octet_objects PRIVATE ${octet_threads_target})
endif()

if(DEFINED BUILD_SHARED_LIBS AND NOT BUILD_SHARED_LIBS)
    set(octet_kinds static)
    set(octet_installed_kinds static)
elseif(DEFINED BUILD_SHARED_LIBS)
    set(octet_kinds shared static)
    set(octet_installed_kinds shared)
else()
    set(octet_kinds shared static)
    set(octet_installed_kinds shared static)
endif()

# While the major version is 0, every minor version may change the ABI.
set(octet_soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(octet_soversion 0.${PROJECT_VERSION_MINOR})
endif()

# octet_shared_library(TARGET NAME): what every shared library of this project has, lib<NAME>.so.
function(octet_shared_library target OCTET_MAP_LIBRARY)
    string(TOUPPER ${OCTET_MAP_LIBRARY}_${octet_soversion} OCTET_MAP_VERSION)
    set(map ${PROJECT_BINARY_DIR}/${OCTET_MAP_LIBRARY}.map)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/octet.map.in ${map} @ONLY)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${OCTET_MAP_LIBRARY} VERSION ${PROJECT_VERSION}
                                               SOVERSION ${octet_soversion} LINK_DEPENDS ${map}
                                               # RUNPATH is not transitive: each library finds its neighbours
                                               INSTALL_RPATH "$ORIGIN")
    target_link_options(${target} PRIVATE LINKER:--version-script=${map})
    octet_for_older_systems(${target})
endfunction()

foreach(kind ${octet_kinds})
    string(TOUPPER ${kind} upper)
    add_library(octet_${kind} ${upper} $<TARGET_OBJECTS:octet_objects> $<TARGET_OBJECTS:octet_onednn_library>)
    set_target_properties(octet_${kind} PROPERTIES OUTPUT_NAME octet EXPORT_NAME ${kind})
    target_include_directories(
        octet_${kind} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                             $<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(octet_${kind} PUBLIC cxx_std_17)
    target_link_libraries(octet_${kind} PRIVATE ${octet_threads_target})
    if(OCTET_SANITIZE)
        target_link_options(octet_${kind} PUBLIC -fsanitize=${OCTET_SANITIZE})
    endif()
    if(NOT kind IN_LIST octet_installed_kinds)
        set_target_properties(octet_${kind} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    endif()
    add_library(octet::${kind} ALIAS octet_${kind})
endforeach()
if(TARGET octet_shared)
    octet_shared_library(octet_shared octet)
endif()
list(GET octet_installed_kinds 0 octet_default_kind)
add_library(octet::octet ALIAS octet_${octet_default_kind})

# The one door to src/common for those that evaluate or replay the arithmetic itself: tools/match, tools/check, and
# all tests by octet_testing. Its headers are enough; what they declare besides is in octet::static.
add_library(octet_arithmetic INTERFACE)
target_include_directories(octet_arithmetic INTERFACE ${PROJECT_SOURCE_DIR}/src
                                                      $<TARGET_PROPERTY:octet_static,INTERFACE_INCLUDE_DIRECTORIES>)
