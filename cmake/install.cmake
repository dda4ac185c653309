# What `cmake --install` puts where, in components that are also the Debian packages (cmake/package.cmake): library
# (the shared libraries), development (headers, static library, CMake and pkg-config files, documents), tools (the
# command), onnxruntime (the execution provider), python, documentation (the manual).
# SPDX-License-Identifier: Apache-2.0

include(CMakePackageConfigHelpers)

set(octet_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/octet)

# octet_install_library(TARGET COMPONENT): a library as `find_package(octet COMPONENTS …)` finds it.
function(octet_install_library target component)
    install(TARGETS ${target} EXPORT octet_${component}_targets
            LIBRARY COMPONENT library NAMELINK_COMPONENT development
            ARCHIVE COMPONENT development)
    install(EXPORT octet_${component}_targets NAMESPACE octet:: DESTINATION ${octet_cmake_dir} COMPONENT development)
endfunction()

# octet_install_pkgconfig(NAME LIBRARY DESCRIPTION REQUIRES REQUIRES_PRIVATE): the paths are relative to the file,
# because `cmake --install --prefix` and packages move it.
function(octet_install_pkgconfig name library description requires requires_private libs_private)
    file(RELATIVE_PATH OCTET_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" OCTET_PC_PREFIX "${OCTET_PC_PREFIX}")
    set(OCTET_PC_NAME ${name})
    set(OCTET_PC_LIBRARY ${library})
    set(OCTET_PC_DESCRIPTION "${description}")
    set(OCTET_PC_REQUIRES "${requires}")
    set(OCTET_PC_REQUIRES_PRIVATE "${requires_private}")
    set(OCTET_PC_LIBS_PRIVATE "${libs_private}")
    configure_file(${PROJECT_SOURCE_DIR}/cmake/octet.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()

foreach(kind ${octet_installed_kinds})
    octet_install_library(octet_${kind} ${kind})
endforeach()
if(OCTET_THREADS STREQUAL "tbb")
    octet_install_pkgconfig(octet octet "${PROJECT_DESCRIPTION}" "" tbb "")
else()
    octet_install_pkgconfig(octet octet "${PROJECT_DESCRIPTION}" "" "" ${OpenMP_CXX_FLAGS})
endif()

set(octet_absent_headers) # of what was not built
if(TARGET octet::network)
    if(TARGET octet_network_shared)
        octet_install_library(octet_network_shared network)
    endif()
    if("static" IN_LIST octet_installed_kinds)
        octet_install_library(octet_network network_static)
    endif()
    set(octet_formats_libraries)
    if(OCTET_HAVE_ONNX)
        set(octet_formats_libraries "-lonnx_proto -lprotobuf")
    endif()
    octet_install_pkgconfig(octet-network octet_network "Networks of int8 operators in .tflite and .onnx files" octet
        "" "${octet_formats_libraries}")
else()
    set(octet_absent_headers PATTERN network.hpp EXCLUDE PATTERN decoder.hpp EXCLUDE PATTERN graph.hpp EXCLUDE
        PATTERN onnx_graph.hpp EXCLUDE PATTERN contract.hpp EXCLUDE
        PATTERN quantize.hpp EXCLUDE PATTERN octet.h EXCLUDE)
endif()
install(DIRECTORY include/octet TYPE INCLUDE COMPONENT development FILES_MATCHING PATTERN "*.hpp"
        PATTERN "*.h" ${octet_absent_headers})
install(FILES ${PROJECT_BINARY_DIR}/include/octet/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/octet
        COMPONENT development)
configure_package_config_file(cmake/octet-config.cmake.in ${PROJECT_BINARY_DIR}/octet-config.cmake
                              INSTALL_DESTINATION ${octet_cmake_dir})
# Until 1.0 a minor version may break what the one before promised.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/octet-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/octet-config.cmake ${PROJECT_BINARY_DIR}/octet-config-version.cmake
        DESTINATION ${octet_cmake_dir} COMPONENT development)

install(FILES LICENSE NOTICE THIRD_PARTY.md SECURITY.md README.md CHANGELOG.md CITATION.cff
              CODE_OF_CONDUCT.md CONTRIBUTING.md MAINTAINERS.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(DIRECTORY doc/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/doc COMPONENT development
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")

# The manual describes the Python package, so it needs it.
if(OCTET_BUILD_MANUAL AND TARGET octet_python)
    file(GLOB_RECURSE octet_manual_sources CONFIGURE_DEPENDS doc/* include/octet/* interop/python/octet/*.py)
    list(FILTER octet_manual_sources EXCLUDE REGEX __pycache__)
    set(octet_manual_stamp ${PROJECT_BINARY_DIR}/manual.stamp)
    add_custom_command(OUTPUT ${octet_manual_stamp}
                       COMMAND ${PROJECT_SOURCE_DIR}/scripts/manual.sh --html ${PROJECT_BINARY_DIR}
                       COMMAND ${CMAKE_COMMAND} -E touch ${octet_manual_stamp}
                       DEPENDS octet_python ${octet_manual_sources} ${PROJECT_SOURCE_DIR}/scripts/manual.sh
                       COMMENT "Building the manual" VERBATIM)
    add_custom_target(manual ALL DEPENDS ${octet_manual_stamp})
    install(DIRECTORY build/doc/manual/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/octet/html COMPONENT documentation
            PATTERN ".buildinfo" EXCLUDE)
endif()
