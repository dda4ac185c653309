#pragma once // SPDX-License-Identifier: Apache-2.0

// The subcommands of `octet`, one per file. Each adds itself with its options and a callback that does the
// work.
//
// A callback reports a failure by throwing: octet::error (or any std::exception) gives one line on stderr and
// exit code 2; CLI::RuntimeError(n) exits with n and prints nothing more (`octet check` with failed cases:
// 1).

#include <functional>

namespace CLI {
class App;
}

namespace octet::tools {

struct serve_options;

void add_info_command(CLI::App &app);
void add_inspect_command(CLI::App &app);
void add_run_command(CLI::App &app);
void add_save_command(CLI::App &app);
/// Another program does the work (octet_serve.cpp); here it is given what to do with the options.
void add_serve_command(CLI::App &app, const std::function<void(const serve_options &)> &serve);
void add_bench_command(CLI::App &app);
void add_check_command(CLI::App &app);
void add_profiles_command(CLI::App &app);
void add_explain_command(CLI::App &app);
void add_match_command(CLI::App &app);
void add_match_network_command(CLI::App &app);
void add_verify_command(CLI::App &app);
void add_compare_profiles_command(CLI::App &app);
void add_preload_command(CLI::App &app);
void add_onnxruntime_command(CLI::App &app);
void add_completion_command(CLI::App &app);

} // namespace octet::tools
