// The mask of ONNX Runtime's Attention as numbers that are added to scores: 0 where a position counts, else a large
// negative one.
// SPDX-License-Identifier: Apache-2.0
#include "network/ops/onnx/onnx.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/onnx.hpp"

namespace octet::model {
namespace {

class attention_mask_step final : public loop_step {
public:
    attention_mask_step(buffer mask, buffer dst, dim_t length, bool is_length, float penalty)
        : mask_(std::move(mask)), dst_(std::move(dst)), length_(length), is_length_(is_length),
          penalty_(penalty) {}

    void run(const stream &, const run_memory &m) const override {
        const auto *mask = m.at<std::int32_t>(mask_);
        auto *y = m.at<float>(dst_);
        const dim_t count = element_count(dst_.get_desc().dims());
        for (dim_t i = 0; i < count; i++) {
            const bool counts = is_length_ ? i % length_ < mask[i / length_] : mask[i] > 0;
            y[i] = counts ? 0.f : penalty_;
        }
    }
    std::string explain() const override { return "a plain loop over the elements"; }

private:
    buffer mask_, dst_;
    dim_t length_;
    bool is_length_; ///< one number for each image: how many positions count
    float penalty_;
};

std::unique_ptr<step> lower_attention_mask(const lowering &l) {
    const tensor &mask = l.input(0, {data_type::s32}), &y = l.output({data_type::f32});
    const dim_t length = y.dims.empty() ? 1 : std::max<dim_t>(y.dims.back(), 1);
    const bool is_length = mask.dims.size() == 1;
    if (element_count(mask.dims) * (is_length ? length : 1) != element_count(y.dims))
        refuse("mask " + to_text(mask.dims) + " does not give " + to_text(y.dims));
    return std::make_unique<attention_mask_step>(l.input_buffer(0), l.output_buffer(), length, is_length,
                                                 l.real("mask_filter_value"));
}

using namespace row_words;

constexpr row onnx_attention_mask_rows[] = {
    row("AttentionMask", 2, lower_attention_mask, shape::attention_mask, rows::never).internal(),
};

} // namespace

operator_rows onnx_attention_mask_operators() { return onnx_attention_mask_rows; }

} // namespace octet::model
