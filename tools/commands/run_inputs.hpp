#pragma once // SPDX-License-Identifier: Apache-2.0

// The inputs of a run: which file belongs to which tensor, and what it holds for it. All of it is read and
// checked before the network is made, which takes longer.

#include <string>
#include <vector>

#include "files/image.hpp"
#include "octet/network.hpp"

namespace CLI {
class App;
}

namespace octet::tools {

struct input_options {
    std::vector<std::string> files; ///< "FILE" or "NAME=FILE"
    pixel_options pixels;
};

void add_input_options(CLI::App &command, input_options &options);

/// Shapes of the .npy and .npz arrays for inputs whose sizes the file of the network leaves open.
network_sizes sizes_of_arrays(const model::graph &g, const input_options &options);

class run_inputs {
public:
    /// `path` names the network in messages. Throws octet::error for files that do not fit, and unless there is
    /// exactly one value for each input, or none at all: then numbers are made up.
    run_inputs(const model::graph &g, const std::string &path, const input_options &options);

    void write_to(const network &net) const;
    /// The file of one input ("a.npz: image"), empty where numbers are made up.
    const std::string &source(std::size_t input) const { return sources_[input]; }
    bool is_made_up() const { return is_made_up_; }

private:
    void read(const model::graph &g, const std::string &path, const input_options &options);
    void set(const model::graph &g, std::size_t input, const std::string &source, tensor_values values);

    bool is_made_up_;
    std::vector<tensor_values> values_;
    std::vector<std::string> sources_;
};

} // namespace octet::tools
