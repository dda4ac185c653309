#pragma once // SPDX-License-Identifier: Apache-2.0

// The lowest and the highest of many floats, as MLAS finds them, on the threads of primitives.

#include <limits>

#include "octet/types.hpp"

namespace octet::loops {

struct extremes {
    float low = std::numeric_limits<float>::infinity(), high = -std::numeric_limits<float>::infinity();
};

class extremes_loop {
public:
    explicit extremes_loop(dim_t count); ///< for the level in use

    /// Floats of scratch that `run` needs.
    dim_t scratch_size() const { return 3 * parts_; }
    extremes run(const float *x, float *scratch) const;

private:
    void (*scan_)(const float *x, dim_t count, float *found);
    dim_t count_, parts_, part_;
};

} // namespace octet::loops
