#pragma once // SPDX-License-Identifier: Apache-2.0

// Constants whose elements are gone but lie packed in some plan: for a plan of other sizes they are unpacked,
// and dropped again. So a network of open sizes holds its weights once.

#include <memory>
#include <vector>

#include "network/lower/packed_weights.hpp"

namespace octet::model {

struct plan;

class recovered_constants {
public:
    /// Takes the place of the borrowed constants of `source`, which are still there and of which the plans
    /// were made, one at least: what they have packed gets an address that stands for it, also in `weights`;
    /// the others are a plan's own bytes, or copied.
    recovered_constants(graph &source, const std::vector<std::shared_ptr<const plan>> &plans,
                        packed_weights &weights);
    ~recovered_constants();
    recovered_constants(const recovered_constants &) = delete;
    recovered_constants &operator=(const recovered_constants &) = delete;

    /// The elements are at their addresses until `drop`.
    ///@{
    void unpack();
    void drop();
    ///@}

private:
    struct constant {
        std::shared_ptr<const packed_constant> packed;
        std::uint8_t *elements;
    };
    std::vector<constant> constants_;
    void *region_ = nullptr; ///< of all elements
    std::size_t bytes_ = 0;
};

} // namespace octet::model
