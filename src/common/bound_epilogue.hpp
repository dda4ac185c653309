#pragma once // SPDX-License-Identifier: Apache-2.0

// The meaning of an epilogue for one element, with the buffers of one execution. The reference computes with
// it; doc/arithmetic.md has the formulas.

#include "common/arguments.hpp"
#include "common/epilogue.hpp"

namespace octet::impl {

/// A value on its way to the destination: s32 after an integer rule, f32 after a float one. Post-ops convert
/// it to the kind they work on.
class number {
public:
    number(std::int32_t x) : is_f32_(false), s32_(x), f32_(0) {}
    number(float x) : is_f32_(true), s32_(0), f32_(x) {}

    bool is_f32() const { return is_f32_; }
    float as_f32() const { return is_f32_ ? f32_ : static_cast<float>(s32_); }
    std::int32_t as_s32() const; ///< f32: rounds to nearest even and saturates

private:
    bool is_f32_;
    std::int32_t s32_;
    float f32_;
};

/// a op b in f32; comparisons give 1 or 0. Of two NaNs the first goes on. With NaN, min and max return b, as
/// vminps and vmaxps do, and ge, gt and ne give 1: oneDNN compares for "not less" and "not less or equal".
float binary_op(algorithm alg, float a, float b);

/// An epilogue with the buffers of one execution.
class bound_epilogue {
public:
    bound_epilogue(const epilogue &e, const arguments &args);

    /// Requantizes the accumulator, applies the post-ops and stores dst(at). Sums of floats take float rules.
    ///@{
    void apply(std::int32_t acc, const coordinates &at) const { finish(requantize(acc, at), at); }
    void apply(float acc, const coordinates &at) const { finish(scale(acc, at), at); }
    ///@}
    /// The first step alone: bias and rule.
    number requantize(std::int32_t acc, const coordinates &at) const;
    /// The rest: post-ops, destination zero point, store.
    void finish(number x, const coordinates &at) const;

    /// The factor of a float rule at this element.
    float scale_at(const coordinates &at) const;

private:
    /// The element that a value belongs to, and the post-op that it is at.
    struct context {
        const coordinates &at;
        int index;
    };
    float scale(float acc, const coordinates &at) const;
    /// Specialized for each post-op, in bound_epilogue.cpp.
    template <typename PostOp> number apply(const PostOp &op, number x, const context &p) const;
    void store(number x, const coordinates &at) const;
    std::int32_t f32_as_code(float x, const coordinates &at) const;

    std::int32_t code_before(data_type type, const coordinates &at) const;
    float f32_before(data_type type, const coordinates &at) const;
    std::int32_t to_code(number x, std::int32_t zero_point) const;
    std::int32_t zero_point_at(const coordinates &at) const;

    template <typename T>
    T value_at(const masked_values<T> &values, const T *runtime, const coordinates &at, T otherwise) const;

    const epilogue &e_;
    const void *bias_;
    void *dst_;
    const float *output_scales_, *src_scales_, *weights_scales_, *dst_scales_;
    const std::int32_t *dst_zero_points_;
    const void *post_op_inputs_[max_post_ops] = {};
};

} // namespace octet::impl
