# A vcpkg port of Octet, to be used as an overlay: `vcpkg install octet --overlay-ports=packaging/vcpkg`. It builds
# the sources that it lies in; a port of a registry would fetch the archive that scripts/release.sh makes instead, by
# vcpkg_download_distfile and its SHA512.
# SPDX-License-Identifier: Apache-2.0

get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES
    network OCTET_BUILD_NETWORK
    onnx    OCTET_WITH_ONNX)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS ${FEATURE_OPTIONS} -DOCTET_BUILD_TESTS=OFF -DOCTET_BUILD_TOOLS=OFF -DOCTET_BUILD_EXAMPLES=OFF
    -DOCTET_BUILD_DNNL=OFF
            -DOCTET_PYTHON=OFF -DOCTET_WITH_SERVE=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME octet CONFIG_PATH lib/cmake/octet)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE" "${SOURCE_PATH}/THIRD_PARTY.md")
