#pragma once // SPDX-License-Identifier: Apache-2.0

// Generated code takes zero points of 8-bit destinations to be small (`jit::largest_small_zero_point`), as those of
// any framework are, and adds them to 16-bit words. What is known at creation it looks at. What comes with an execution
// is looked at here, and zero points far from all codes are the definition's.

#include <algorithm>
#include <memory>

#include "common/concat_problem.hpp"
#include "common/dynamic_matmul_problem.hpp"
#include "common/layout/plain.hpp"
#include "common/rnn_problem.hpp"
#include "common/text.hpp"
#include "cpu/implementation.hpp"
#include "cpu/ref/ref.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl {

template <typename Problem> class out_of_range_zero_points_kernel : public kernel {
public:
    out_of_range_zero_points_kernel(const Problem &p, std::shared_ptr<const kernel> generated)
        : count_(masked_count(p.out_stage.dst_zero_points.mask, p.out_stage.dst)),
          generated_(std::move(generated)), definition_(ref::create(p)) {}

    void execute(const arguments &args) const override {
        const auto *zp = args.get<const std::int32_t>(OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST);
        (std::all_of(zp, zp + count_, jit::is_small_zero_point) ? generated_ : definition_)->execute(args);
    }
    std::size_t size_bytes() const override {
        return sizeof *this + generated_->size_bytes() + definition_->size_bytes();
    }
    std::string plan() const override {
        return text(generated_->plan(), "; ref for destination zero points beyond ±",
                    jit::largest_small_zero_point);
    }

private:
    const dim_t count_;
    const std::shared_ptr<const kernel> generated_, definition_;
};

struct lrn_problem;
inline candidate with_out_of_range_zero_points(const lrn_problem &, const candidate &generated) {
    return generated; // it has no epilogue
}

template <typename Problem>
candidate with_out_of_range_zero_points(const Problem &p, const candidate &generated) {
    const epilogue &out = p.out_stage;
    if (!out.dst_zero_points.runtime || memory::data_type_size(out.dst.data_type) != 1)
        return generated;
    return candidate(
        [=] { return std::make_shared<out_of_range_zero_points_kernel<Problem>>(p, generated.make()); });
}
/// Have none.
///@{
inline candidate with_out_of_range_zero_points(const concat_problem &, const candidate &generated) {
    return generated;
}
inline candidate with_out_of_range_zero_points(const packing_problem &, const candidate &generated) {
    return generated;
}
inline candidate with_out_of_range_zero_points(const rnn_problem &, const candidate &generated) {
    return generated;
}
///@}

} // namespace octet::impl
