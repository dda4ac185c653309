// Fills one image with the zero points, runs the products on it and on the source, and subtracts with a task
// of the stream kernel.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/source_zero_points.hpp"

#include <algorithm>

#include "common/element.hpp"
#include "common/text.hpp"
#include "cpu/machine/scratch.hpp"

namespace octet::impl::source_zero_points {

namespace {

bool are_codes(const std::int32_t *values, dim_t count, data_type type) {
    const type_range range = range_of(type);
    return std::all_of(values, values + count,
                       [&](std::int32_t v) { return v >= range.low && v <= range.high; });
}

dim_t channels_of(const convolution_problem &p) { return p.src.dims[1]; }

} // namespace

std::string refuses(const convolution_problem &p) {
    const masked_values<std::int32_t> &values = p.src_zero_points.values;
    if (p.sums_f32() || !values.is_set() || values.mask != 1 << 1)
        return "no src zero points per channel";
    if (!values.runtime && !are_codes(values.values.data(), channels_of(p), p.src.data_type))
        return text("src zero points that no ", to_string(p.src.data_type), " code is");
    return {};
}

void set_image(convolution_problem &plain) {
    convolution_problem &p = plain;
    p.mb = 1;
    for (memory_desc *md : {&p.src, &p.dst}) {
        md->dims[0] = 1;
        md->offset0 = 0;
        *md = channels_last::channels_last_of(stream::dense_in_order_of(*md, *md), 1);
    }
    p.out_stage.dst = p.dst;
    p.out_stage.bias = {};
}

namespace {

class source_zero_points_kernel : public kernel {
public:
    source_zero_points_kernel(const convolution_problem &p, const steps &s,
                              std::shared_ptr<const kernel> rest)
        : zero_points_(p.src_zero_points), image_(s.image.src), sum_bytes_(whole_lines(s.sums.dst)),
          image_sum_bytes_(whole_lines(s.image.dst)), of_source_(s.of_source.make()),
          of_image_(s.of_image.make()), rest_(std::move(rest)), reference_(s.make_reference()) {}

    void execute(const arguments &args) const override {
        const std::int32_t *values = zero_points_.bind(args);
        if (!are_codes(values, image_.dims[1], image_.data_type))
            return reference_->execute(args);
        auto *sums = static_cast<std::uint8_t *>(thread_scratch(
            scratch_slot::between_outer_steps, sum_bytes_ + image_sum_bytes_ + size_in_bytes(image_)));
        std::uint8_t *image_sums = sums + sum_bytes_, *image = image_sums + image_sum_bytes_;
        fill(values, image);
        of_source_->execute(arguments(args, OCTET_ARG_DST, sums));
        const arguments of_image(args, OCTET_ARG_SRC, image);
        of_image_->execute(arguments(of_image, OCTET_ARG_DST, image_sums));
        const arguments with_sums(args, OCTET_ARG_SRC, sums);
        rest_->execute(arguments(with_sums, OCTET_ARG_SRC_1, image_sums));
    }

    std::size_t size_bytes() const override {
        return sizeof *this + of_source_->size_bytes() + of_image_->size_bytes() + rest_->size_bytes() +
               reference_->size_bytes();
    }

    std::string plan() const override {
        return text(of_source_->plan(), "; an image of the zero points: ", of_image_->plan(), "; then ",
                    rest_->plan(), "; ref for source zero points that are no codes");
    }

private:
    static std::size_t whole_lines(const memory_desc &md) {
        return static_cast<std::size_t>(div_up(static_cast<dim_t>(size_in_bytes(md)), 64) * 64);
    }

    void fill(const std::int32_t *values, std::uint8_t *image) const {
        const dim_t channels = image_.dims[1], bytes = element_count(image_);
        for (dim_t c = 0; c < channels; c++)
            image[c] = static_cast<std::uint8_t>(values[c]);
        for (dim_t at = channels; at < bytes; at += channels)
            std::copy_n(image, channels, image + at);
    }

    const zero_points zero_points_;
    const memory_desc image_;
    const std::size_t sum_bytes_, image_sum_bytes_;
    const std::shared_ptr<const kernel> of_source_, of_image_, rest_, reference_;
};

} // namespace

candidate in_steps(const convolution_problem &p, const steps &s, const machine &m) {
    const memory_desc image_sums = s.image.dst;
    const candidate rest =
        separate_epilogue::plan_rest(p.out_stage, s.sums.dst, 1, m, [&](stream::task_builder &b) {
            b.load(image_sums, OCTET_ARG_SRC_1);
            b.step(jit::stream_op::subtract_pair);
        });
    for (const candidate &step : {s.of_source, s.of_image, rest})
        if (step.is_refused())
            return step;
    return candidate([=] { return std::make_shared<source_zero_points_kernel>(p, s, rest.make()); });
}

} // namespace octet::impl::source_zero_points
