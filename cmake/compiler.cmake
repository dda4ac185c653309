# Flags of every target of this project, as an interface target.
# SPDX-License-Identifier: Apache-2.0

# ccache, where it is found, compiles no file twice, in whatever folder, unless CMAKE_CXX_COMPILER_LAUNCHER says
# otherwise (or nothing).
find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE}
        CACHE STRING "Before the compiler")
endif()

add_library(octet_flags INTERFACE)
target_compile_features(octet_flags INTERFACE cxx_std_17)
# Contraction would merge a product and a sum into one rounding: every float rule depends on it being off.
target_compile_options(octet_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wpedantic
                       $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                       $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> # constructors name parameters after members
                       # libstdc++ 12's own std::stable_sort calls what C++17 deprecates
                       $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(OCTET_WARNINGS_AS_ERRORS)
    target_compile_options(octet_flags INTERFACE -Werror)
endif()
if(OCTET_SANITIZE)
    target_compile_options(octet_flags INTERFACE -fsanitize=${OCTET_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    target_link_options(octet_flags INTERFACE -fsanitize=${OCTET_SANITIZE})
endif()

# For what is built around the library and computes little: optimized, the instrumented templates of other libraries'
# headers take three times as long to compile. What is used without a value is the release build's to find: GCC 12
# warns of libstdc++'s own <regex> here.
add_library(octet_outer_flags INTERFACE)
target_link_libraries(octet_outer_flags INTERFACE octet_flags)
if(OCTET_SANITIZE)
    target_compile_options(octet_outer_flags INTERFACE -O0 $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# octet_join(TARGET [EXCEPT REGEX]): with OCTET_JOIN_SOURCES up to 12 files of a folder are compiled as one, which
# saves half of a build from nothing: most of a file's time goes into the headers that all of them include. What files
# keep to themselves in unnamed namespaces has therefore different names within a folder; EXCEPT names the folders
# where it has the same name on purpose. Off in the release preset, which shows that each file includes what it needs
# and compiles one file where one has changed.
option(OCTET_JOIN_SOURCES "Compile the files of a folder together" OFF)
function(octet_join target)
    if(NOT OCTET_JOIN_SOURCES)
        return()
    endif()
    cmake_parse_arguments(ARG "" "EXCEPT" "" ${ARGN})
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    if(ARG_EXCEPT)
        list(FILTER sources EXCLUDE REGEX "${ARG_EXCEPT}")
    endif()
    foreach(source IN LISTS sources)
        get_filename_component(path ${source} ABSOLUTE)
        get_filename_component(folder ${path} DIRECTORY)
        file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
        string(MAKE_C_IDENTIFIER "${folder}" folder)
        math(EXPR files_${folder} "0${files_${folder}} + 1")
        math(EXPR part "(${files_${folder}} - 1) / 12")
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${part})
    endforeach()
endfunction()
