#pragma once // SPDX-License-Identifier: Apache-2.0

// DynamicQuantizeLinear as a step, which operators that quantize floats within have, too.

#include "loops/extremes.hpp"
#include "network/lower/lowering.hpp"

namespace octet::model {

/// Finds scale and zero point of what it is given, then quantizes with them.
class dynamic_quantize_step final : public step {
public:
    /// f32 `src` to u8 `dst`, an f32 and a u8 of one element.
    dynamic_quantize_step(const lowering &l, const buffer &src, const buffer &dst, const buffer &scale,
                          const buffer &zero_point);

    void make_primitives() override { quantize_.make_primitives(); }
    void run(const stream &s, const run_memory &m) const override;
    std::string implementation() const override { return "loop + " + quantize_.implementation(); }
    std::string explain() const override;

    /// The zero point as the s32 that primitives take.
    const buffer &zero_point() const { return zero_point_s32_; }

private:
    std::int64_t count_;
    loops::extremes_loop loop_;
    buffer src_, scale_, zero_point_u8_, zero_point_s32_, found_;
    primitive_step quantize_;
};

} // namespace octet::model
