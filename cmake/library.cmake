# The library: objects once, linked as a shared and as a static library, and its installation.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(TBB REQUIRED)

configure_file(include/octet/version.hpp.in ${CMAKE_CURRENT_BINARY_DIR}/include/octet/version.hpp @ONLY)

file(GLOB_RECURSE octet_sources CONFIGURE_DEPENDS src/common/*.cpp src/api/*.cpp cpu/*.cpp jit/*.cpp)
add_library(octet_objects OBJECT ${octet_sources})
set_target_properties(octet_objects PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                               VISIBILITY_INLINES_HIDDEN ON)
target_include_directories(octet_objects PUBLIC include ${CMAKE_CURRENT_BINARY_DIR}/include PRIVATE src .)
target_link_libraries(octet_objects PRIVATE octet_flags TBB::tbb)

foreach(kind shared static)
    string(TOUPPER ${kind} upper)
    add_library(octet_${kind} ${upper} $<TARGET_OBJECTS:octet_objects>)
    set_target_properties(octet_${kind} PROPERTIES OUTPUT_NAME octet EXPORT_NAME ${kind} VERSION ${PROJECT_VERSION}
                                                   SOVERSION ${PROJECT_VERSION_MAJOR})
    target_include_directories(
        octet_${kind} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                             $<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(octet_${kind} PUBLIC cxx_std_17)
    target_link_libraries(octet_${kind} PRIVATE TBB::tbb)
    if(OCTET_SANITIZE)
        target_link_options(octet_${kind} PUBLIC -fsanitize=${OCTET_SANITIZE})
    endif()
    add_library(octet::${kind} ALIAS octet_${kind})
endforeach()
add_library(octet::octet ALIAS octet_shared)

install(TARGETS octet_shared octet_static EXPORT octet_targets)
install(DIRECTORY include/octet TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/include/octet/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/octet)
install(EXPORT octet_targets NAMESPACE octet:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/octet)
configure_package_config_file(cmake/octet-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/octet-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/octet)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/octet-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/octet-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/octet-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/octet)
