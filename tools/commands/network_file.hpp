#pragma once // SPDX-License-Identifier: Apache-2.0

// Options of the commands that make a network, and the way from them to one in two steps: the graph, of which
// files and other options are checked, and what runs.

#include <string>
#include <vector>

#include "octet/network.hpp"

namespace CLI {
class App;
}

namespace octet::tools {

struct network_file_options {
    std::string model, rule = "automatic", profile;
    std::vector<std::string> shapes, dimensions; ///< "NAME=1x128", "NAME=128"
    dim_t batch = 0;                             ///< as in the file
    bool no_fusion = false, rows_alike = false;
};

/// MODEL, --rule, --profile, --batch, and the options for networks alone. Returns the names of all of them.
std::vector<std::string> add_network_options(CLI::App &command, network_file_options &options);
/// Adds the options for networks alone: --shape, --dimension, --no-fusion, --rows-alike. Returns their names.
std::vector<std::string> add_size_options(CLI::App &command, network_file_options &options);

/// The graph of the file with the sizes that were asked for. Errors name the file or the option.
model::graph read_graph(const network_file_options &options);
/// Gives a graph these sizes, unless the options tell some: they count alone then.
void set_open_sizes(model::graph &g, const network_sizes &sizes, const network_file_options &options);
/// Throws octet::error for a graph with an input whose size is left open.
void require_sizes(const model::graph &g, const network_file_options &options);
/// "rule automatic", or "profile litert-2026.08-x86" where there is one; of an .onnx network also how single
/// rows are summed up.
std::string arithmetic_of(const network &net);
/// Returns the network options that --rule, --profile, --no-fusion and --rows-alike set.
network_options arithmetic_of(const network_file_options &options);
/// As require_sizes, and makes a network. Errors name the file.
network make_network(model::graph g, const network_file_options &options);

} // namespace octet::tools
