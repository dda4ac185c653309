# Shared libraries that are built with GCC 12 ask for its version of std::condition_variable::wait, and for nothing
# else that GCC 11 lacks. With a function of their own they load where libstdc++ is GCC 11's, such as in Red Hat
# Enterprise Linux 9. Python's wheels are tagged accordingly (interop/python/wheel_backend.py).
# SPDX-License-Identifier: Apache-2.0

configure_file(cmake/older_systems.cpp.in ${PROJECT_BINARY_DIR}/older_systems.cpp COPYONLY)

# octet_for_older_systems(TARGET): a shared library or module.
function(octet_for_older_systems target)
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
        target_sources(${target} PRIVATE ${PROJECT_BINARY_DIR}/older_systems.cpp)
        target_link_options(${target} PRIVATE
            LINKER:--wrap=_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE)
    endif()
endfunction()
