#pragma once // SPDX-License-Identifier: Apache-2.0

// Programs as a user starts them: a command line, then an exit code and two texts. What a test in the same
// process cannot show (exit codes, a standard output that is full or closed, one line on stderr) is shown
// here.

#include <string>
#include <vector>

namespace octet::tests {

struct outcome {
    int exit_code = -1; ///< -1 if a signal ended the program
    std::string out, err;
};

/// The destination of standard output: a text, a file, or none because it is closed.
struct output_target {
    std::string file;
    bool is_closed = false;
};

/// Runs a program to its end with an empty standard input.
outcome run_program(const std::string &program, const std::vector<std::string> &arguments,
                    const output_target &standard_output = {});

} // namespace octet::tests
