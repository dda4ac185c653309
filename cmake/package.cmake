# `cpack` makes up to six Debian packages: liboctet0.1 (shared libraries), liboctet-dev, octet-tools,
# liboctet-onnxruntime, python3-octet, octet-doc. The name of the first changes with the ABI, so that programs of two
# versions can be installed side by side. The preset "package" is configured for /usr, where libraries lie in the
# directory of their architecture. scripts/try-packages.sh uses them in a clean system.
# SPDX-License-Identifier: Apache-2.0

set(octet_debian_library liboctet${octet_soversion})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME octet)
# A placeholder, which scripts/release.sh refuses: whoever releases writes an address here that is read.
set(CPACK_PACKAGE_CONTACT "The Octet developers <octet@octet.invalid>")
set(CPACK_PACKAGE_VENDOR Octet)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL development)
if(TARGET octet_shared)
    list(APPEND CPACK_COMPONENTS_ALL library)
endif()
if(TARGET octet_command)
    list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
if(TARGET octet_onnxruntime)
    list(APPEND CPACK_COMPONENTS_ALL onnxruntime)
endif()
if(TARGET octet_python AND TARGET octet_shared)
    list(APPEND CPACK_COMPONENTS_ALL python)
endif()
if(TARGET manual)
    list(APPEND CPACK_COMPONENTS_ALL documentation)
endif()

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${octet_debian_library})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
# liboctet_network links liboctet, and the Python module both.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/network)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Shared libraries: quantized neural-network operators with the numeric contract
as an argument, and networks made of them. The bytes of TFLite, ONNX Runtime,
oneDNN, gemmlowp and others, equal on every instruction set, thread count and
memory layout.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME liboctet-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(octet_debian_needs)
if(TARGET octet_shared)
    list(APPEND octet_debian_needs "${octet_debian_library} (= ${PROJECT_VERSION})")
endif()
if(OCTET_THREADS STREQUAL "tbb")
    list(APPEND octet_debian_needs libtbb-dev)
endif()
list(JOIN octet_debian_needs ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Development files: headers, static library, files for CMake and pkg-config,
documentation.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME octet-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "The octet command: runs int8 .tflite and .onnx networks under any numeric
contract, explains, measures and checks them.")

set(CPACK_DEBIAN_ONNXRUNTIME_PACKAGE_NAME liboctet-onnxruntime)
set(CPACK_DEBIAN_ONNXRUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_ONNXRUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_ONNXRUNTIME_DESCRIPTION "Execution provider for ONNX Runtime: programs of ONNX Runtime 1.23
and later run the quantized parts of their models on Octet.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-octet)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
string(CONCAT CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${octet_debian_library} (= ${PROJECT_VERSION}), "
    "python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}), python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Python package octet: int8 networks and their operators on NumPy arrays,
with the bytes of the framework that they were made in.")

set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_NAME octet-doc)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_DOCUMENTATION_DESCRIPTION
    "Manual of Octet: tutorials, references of C++, C, Python and the octet command,
the arithmetic of each framework.")

# Each package carries its licences where Debian looks for them. An installation without packages has Octet's among
# the documents.
foreach(component ${CPACK_COMPONENTS_ALL})
    string(TOUPPER ${component} upper)
    install(FILES packaging/copyright DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}
            COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

include(CPack)
