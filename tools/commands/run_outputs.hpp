#pragma once // SPDX-License-Identifier: Apache-2.0

// The outputs of a run: written to files, and compared with those of somebody else.

#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/json.hpp"
#include "files/array.hpp"
#include "octet/network.hpp"

namespace octet::tools {

/// An output of a network as an array, and back in the types of the graph.
array array_of(const tensor_view &output);

/// Names of the outputs as an archive can have them: each once. What has no name of its own is "output_0", ….
std::vector<std::string> output_names(const model::graph &g);

/// Files for the outputs, whose places are checked before the run.
class output_files {
public:
    /// `format`: raw (output_0.bin, …), npy (output_0.npy, …) or npz (outputs.npz).
    output_files(const model::graph &g, const std::string &directory, const std::string &format);
    void write(const network &net);
    const std::vector<std::string> &paths() const { return paths_; }

private:
    std::string format_;
    std::vector<std::string> names_, paths_;
};

/// How an output differs from what another framework computed.
struct difference {
    std::size_t elements = 0, different = 0;
    std::size_t first = 0;       ///< index of the first that differs
    double ours = 0, theirs = 0; ///< there
    double absolute = 0,
           relative = 0;  ///< largest |ours - theirs|, and of that / |theirs| where theirs is not 0
    bool is_exact = true; ///< compares codes, whose differences are whole numbers
};

/// The outputs that another framework computed, read and checked before the network is made: an .npz file
/// with an array of each output's name, a directory as `output_files` makes it, or the file of an only
/// output.
class expected_outputs {
public:
    expected_outputs(const model::graph &g, const std::string &path);
    /// Floats are equal where |ours - theirs| <= tolerance * max(1, |theirs|); at 0 their bits must be.
    difference compare(const network &net, std::size_t output, float tolerance) const;

private:
    std::vector<std::vector<std::uint8_t>> bytes_;
};

/// "equal (10 elements)", "3 of 504 elements differ, the first at [17] (0,2,5): -11 instead of -12; …"
std::string to_text(const difference &d, const memory::dims &dims);
/// {"elements", "different", "first": {"index", "ours", "theirs"} or null, "largest_absolute", "largest_relative"}
json to_json(const difference &d);

} // namespace octet::tools
