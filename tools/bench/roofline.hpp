#pragma once // SPDX-License-Identifier: Apache-2.0

// The least time of a layer: the longest of the times that its products, its reads and its writes take alone,
// as this machine does each of them in a plain loop, from the caches that hold so many bytes. A kernel's
// share of it is a fairer figure than its share of the peak, which no layer of few products per byte can
// reach.

#include <cstdint>

namespace octet::tools {

/// Seconds of each; 0 where there is nothing to do, or it is not known.
struct roofline {
    double compute = 0, read = 0, write = 0;
    double of_several = 0; ///< the sum of the bounds of several layers, in place of the others

    /// The longest, or the sum.
    double bound() const;
    /// "compute", "read", "write" or "layers"; empty if nothing is known.
    const char *binding() const;
};

/// Bytes of the tensors that have to be moved once: read are source and weights, written is the destination.
struct traffic {
    std::int64_t read = 0, written = 0;
};

/// Elements of a convolution's source that some output needs: with taps fewer than the stride, not all of them.
/// `size` is one of height and width, and `taps` counts the kernel's.
constexpr std::int64_t needed_positions(std::int64_t size, std::int64_t outputs, std::int64_t taps) {
    return size < outputs * taps ? size : outputs * taps;
}

} // namespace octet::tools
