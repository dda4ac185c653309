// Paths of the tests' files: below the project's folder, and in the optional folder of vectors and models.
// Functions with one definition (paths.cpp), so that no other file of the tests is compiled with a path of
// this machine and a compiler cache can serve every checkout.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace octet::tests {

/// The file or folder `relative` ("examples/digits") of the project.
std::string source_path(const std::string &relative);
/// The optional folder with operator vectors and models (CMake's OCTET_SHARED_DIR); it may not exist.
std::string shared_path();
/// A program that is built with the tests, from the folder of the running one: "settings_probe", "../tools/octet".
std::string program_path(const std::string &relative);

} // namespace octet::tests
