#pragma once // SPDX-License-Identifier: Apache-2.0

// Padding is data: bytes that hold the source's zero point. That has to be one of its codes; frameworks give
// no other, but the API does not forbid it.

#include "cpu/implementation.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl {

constexpr bool is_code(std::int32_t value, data_type type) {
    return type == data_type::s8 ? value >= -128 && value <= 127 : value >= 0 && value <= 255;
}

/// A kernel whose source zero point comes with each execution; the reference computes if it is no code.
template <typename Problem> class padded_kernel : public kernel {
public:
    padded_kernel(std::shared_ptr<const kernel> generated, const Problem &p)
        : generated_(std::move(generated)), reference_(ref::create(p)), zero_points_(p.src_zero_points),
          type_(p.src.data_type) {}

    void execute(const arguments &args) const override {
        (is_code(*zero_points_.bind(args), type_) ? generated_ : reference_)->execute(args);
    }
    std::size_t size_bytes() const override {
        return sizeof *this + generated_->size_bytes() + reference_->size_bytes();
    }
    std::string plan() const override {
        return generated_->plan() + "; ref for source zero points that are no codes";
    }

private:
    const std::shared_ptr<const kernel> generated_, reference_;
    const zero_points zero_points_;
    const data_type type_;
};

/// `generated` pads the source of `p`, whose zero point is one for all of it.
template <typename Problem> candidate with_padding(const Problem &p, const candidate &generated) {
    const masked_values<std::int32_t> &zps = p.src_zero_points.values;
    if (generated.is_refused() || !zps.is_set())
        return generated;
    if (zps.runtime)
        return candidate([=] { return std::make_shared<padded_kernel<Problem>>(generated.make(), p); });
    if (!is_code(zps.values[0], p.src.data_type))
        return candidate::refused(
            text("padding with the source zero point ", zps.values[0], ", which is no code of the source"));
    return generated;
}

} // namespace octet::impl
