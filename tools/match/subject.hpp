#pragma once // SPDX-License-Identifier: Apache-2.0

// The operator that is asked about, with the contracts that it may have, and inputs to choose probes from. A
// contract is a name and a function; nothing here knows which there are.

#include <functional>
#include <string>
#include <vector>

#include "match/description.hpp"
#include "match/values.hpp"

namespace octet::match {

/// One output after the other: integers, or the bits of floats.
using codes = std::vector<std::int32_t>;

struct contract {
    std::string name;   ///< "tflite_2step", or a runtime's
    std::string detail; ///< how its parameters are derived from scales; may be empty
    std::function<codes(const inputs &)> compute; ///< takes the result of `subject::reduce`

    std::string text() const { return detail.empty() ? name : name + " (" + detail + ")"; }
};

/// A contract that this operator cannot have.
struct refused_contract {
    std::string name, why;
};

struct subject {
    data_type dst = data_type::undef;
    memory::dims dst_row; ///< dimensions of the output without the first, the rows
    std::vector<contract> contracts;
    std::vector<refused_contract> refused;
    inputs pool; ///< to choose probes from
    /// Computes the sums of products, which all contracts compute first; may be empty.
    std::function<inputs(const inputs &)> reduce;

    std::size_t outputs_per_row() const;
};

subject make_subject(const description &d);
/// The subject of a .tflite or .onnx file with one operator. Errors begin with its path.
subject make_subject(const std::string &path);

} // namespace octet::match
