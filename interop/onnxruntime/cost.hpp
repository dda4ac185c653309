#pragma once // SPDX-License-Identifier: Apache-2.0

// Whether a part is worth a call of its own: what its run saves of ONNX Runtime's, and what it costs besides.

#include <cstdint>
#include <string>
#include <vector>

#include "octet/graph.hpp"
#include "onnxruntime/graph.hpp"

namespace octet::onnxruntime {

/// A run of a part, counted as plans count: coefficients rank, and no byte depends on them. They are
/// nanoseconds of models of one group between two operators that Octet lacks (doc/onnxruntime.md), on a core
/// of 4 GHz.
struct run_cost {
    /// Cost of the call: a context is found, tensors are bound. Copies into another order of dimensions do
    /// not count, since ONNX Runtime makes them, too, and around each convolution.
    static constexpr double border = 680;

    /// Kernels that ONNX Runtime would run: an operator and the pairs beside it are one.
    std::int64_t kernels = 0;
    std::int64_t products = 0; ///< those among them that multiply codes
    std::int64_t elements = 0; ///< elements that all of them write

    double saved() const {
        constexpr double per_kernel = 110, per_product = 520, per_element = 0.03;
        return per_kernel * static_cast<double>(kernels) + per_product * static_cast<double>(products) +
               per_element * static_cast<double>(elements);
    }
};

/// Nodes of a graph, whose network runs as `runs`.
run_cost cost_of(const graph &g, const std::vector<int> &nodes, const model::graph &runs);
/// "a run would save 450 ns …"
std::string text_of(const run_cost &cost);

} // namespace octet::onnxruntime
