#pragma once // SPDX-License-Identifier: Apache-2.0

namespace CLI {
class App;
}

namespace octet::tools {

/// Parses the arguments and runs what they ask for; the exit code.
int run_program(CLI::App &app, int argc, char **argv);

} // namespace octet::tools
