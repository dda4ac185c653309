#pragma once // SPDX-License-Identifier: Apache-2.0

// Source zero points that differ from channel to channel, for which the products' kernels have no place:
//
//   Σ (s - zs)(w - zw)  =  Σ s (w - zw) - Σ zs (w - zw)
//
// over the taps inside the image. The second sum is that of one image, whose every position holds the zero points; the
// stream kernel subtracts it, the same one from each image of the batch, before the epilogue.

#include "common/convolution_problem.hpp"
#include "cpu/compose/separate_epilogue.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::source_zero_points {

/// The reason why the two steps cannot compute the problem; empty if they can.
std::string refuses(const convolution_problem &p);

/// One image of zero points instead of the source, and its sums. `plain` has none of them.
void set_image(convolution_problem &plain);

struct steps {
    convolution_problem sums, image; ///< the problems of the two products
    candidate of_source, of_image;
    std::function<std::shared_ptr<const kernel>()> make_reference; ///< for zero points that are no codes
};
candidate in_steps(const convolution_problem &p, const steps &s, const machine &m);

template <typename Problem, plan_function<Problem> family>
candidate plan(const Problem &p, const machine &m) {
    const std::string reason = refuses(p);
    if (!reason.empty())
        return candidate::refused(reason);
    Problem sums = separate_epilogue::sums_of(p);
    sums.src_zero_points.values = {};
    Problem image = sums;
    set_image(image);
    return in_steps(p, {sums, image, family(sums, m), family(image, m), [p] { return ref::create(p); }}, m);
}

} // namespace octet::impl::source_zero_points
