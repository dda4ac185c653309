#pragma once // SPDX-License-Identifier: Apache-2.0

// A network under two runtimes, operator by operator: how many codes differ, by how much, and where in the image.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "match/contenders.hpp"
#include "match/values.hpp"
#include "octet/graph.hpp"

namespace octet::match {

struct operator_difference {
    std::string op, tensor; ///< "node 3 (CONV_2D)", the tensor's name
    memory::dims dims;
    std::size_t elements = 0, different = 0;
    double largest = 0;                   ///< |a - b|
    std::map<int, std::size_t> histogram; ///< b - a of codes, beyond 4 in the last entry: how often
    std::size_t rows = 0, columns = 0;    ///< size of the map
    /// Share of the elements that differ: by place for images, along the last dimension for others.
    std::vector<float> map;
};

struct comparison {
    std::string a, b;
    /// In the order of execution. Differences that earlier operators passed on count.
    std::vector<operator_difference> operators;
    /// Rows of the first output, and those whose largest element is the same.
    std::size_t rows = 0, agreeing = 0;
    std::optional<std::size_t> right_a, right_b; ///< rows whose largest element is the label's
};

/// `labels`: the right class of each row; none: not counted. Throws octet::error where one of the networks
/// cannot be made.
comparison compare_networks(const model::graph &g, const contender &a, const contender &b,
                            const inputs &given, const std::vector<std::int64_t> &labels);

/// One page of HTML that loads nothing.
std::string to_html(const comparison &c, const std::string &model);

} // namespace octet::match
