// Tables the taps of each position along each axis when a kernel is made; execution walks runs of positions
// with equal windows.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/pool/drive.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/element.hpp"
#include "common/rounding.hpp"
#include "common/taps.hpp"
#include "common/text.hpp"
#include "cpu/accumulating/epilogue_params.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"
#include "jit/kernels/pool.hpp"

namespace octet::impl::pool {

namespace {

constexpr int vectors_per_chunk = 4;
constexpr dim_t max_rounded_taps = 32767; // sums stay below 2^23 (32767 * 255), where f32 division is exact

/// Elements between neighbours along depth, height, width.
extent3 spatial_strides(const memory_desc &md, int spatial_ndims) {
    extent3 strides{0, 0, 0};
    for (int d = 0; d < spatial_ndims; d++)
        strides[static_cast<std::size_t>(3 - spatial_ndims + d)] = md.strides[2 + d];
    return strides;
}

/// An average of reals is as large as its scale makes it; all other forms have codes or sums of codes.
double largest_input(const pooling_problem &p) {
    if (p.form != pooling_form::dequantized)
        return jit::any_s32;
    const masked_values<std::int32_t> &zero_points = p.src_zero_points.values;
    if (zero_points.runtime)
        return jit::any_f32;
    double largest_code = 255;
    for (const std::int32_t zp : zero_points.values)
        largest_code = std::max(largest_code, 255 + std::fabs(static_cast<double>(zp)));
    const double twice = 2; // sums are rounded
    return twice * largest_code * std::fabs(p.src_scale) / std::fabs(p.dst_scale);
}

jit::epilogue_shape shape_of(const pooling_problem &p) { return {1, p.channels, largest_input(p)}; }

class pool_driver : public kernel {
public:
    pool_driver(const pooling_problem &p, instruction_set isa)
        : p_(p), src_strides_(spatial_strides(p.src, p.spatial_ndims)),
          dst_strides_(spatial_strides(p.dst, p.spatial_ndims)), epilogue_(p_.out_stage, shape_of(p), false),
          params_(epilogue_, has_epilogue() ? p.channels : 0),
          chunk_(vectors_per_chunk * jit::pool_lanes(isa, p.form)), chunks_(div_up(p.channels, chunk_)) {
        const auto lanes = static_cast<dim_t>(jit::pool_lanes(isa, p.form));
        const dim_t last = p.channels - (chunks_ - 1) * chunk_; // channels of the last chunk
        jit::pool_spec spec{isa, p.form, p.src.data_type == data_type::s8, vectors_per_chunk,
                            static_cast<int>(lanes)};
        const type_range range = range_of(p.dst.data_type);
        spec.low = range.low;
        spec.high = range.high;
        for (const post_op_entry &entry : p.out_stage.post_ops)
            if (const auto *clip = limits_of(entry)) {
                spec.low = std::clamp(clip->low, range.low, range.high);
                spec.high = std::clamp(clip->high, range.low, range.high);
            }
        whole_ = jit::pool_code(spec, has_epilogue() ? &epilogue_ : nullptr);
        spec.vectors = static_cast<int>(div_up(last, lanes));
        spec.tail = static_cast<int>(last - (spec.vectors - 1) * lanes);
        last_ = jit::pool_code(spec, has_epilogue() ? &epilogue_ : nullptr);
    }

    void execute(const arguments &args) const override {
        execution run{};
        run.src = args.get<const std::uint8_t>(OCTET_ARG_SRC) + p_.src.offset0;
        run.dst = args.get<std::uint8_t>(OCTET_ARG_DST) + p_.dst.offset0 * dst_size();
        if (const std::int32_t *zp = p_.src_zero_points.bind(args))
            run.src_zero_point = *zp;
        run.params = has_epilogue() ? params_.bind(epilogue_, args) : nullptr;
        parallel_for(p_.mb * p_.out[0] * p_.out[1], 1, [&](dim_t begin, dim_t end) {
            for (dim_t line = begin; line < end; line++)
                run_line(run, line / p_.out[1] / p_.out[0], line / p_.out[1] % p_.out[0], line % p_.out[1]);
        });
    }

    std::size_t size_bytes() const override {
        return sizeof *this + params_.size_bytes() + whole_->code_bytes() + last_->code_bytes();
    }
    std::string plan() const override { return text(std::min(chunk_, p_.channels), " channels at a time"); }

private:
    bool has_epilogue() const { return p_.form != pooling_form::maximum; }
    dim_t dst_size() const { return static_cast<dim_t>(memory::data_type_size(p_.dst.data_type)); }

    struct execution {
        const std::uint8_t *src;
        std::uint8_t *dst;
        std::int32_t src_zero_point;
        const std::uint32_t *params;
    };

    /// An output line in runs of positions whose windows have the same taps.
    void run_line(const execution &run, dim_t n, dim_t od, dim_t oh) const {
        const tap_range d = taps_inside(p_, 0, od), h = taps_inside(p_, 1, oh);
        for (dim_t ow = 0, end; ow < p_.out[2]; ow = end) {
            const tap_range w = taps_inside(p_, 2, ow);
            for (end = ow + 1; end < p_.out[2]; end++) {
                const tap_range next = taps_inside(p_, 2, end);
                if (next.first != w.first || next.count != w.count)
                    break;
            }
            run_positions(run, {n, od, oh, ow}, end - ow, d, h, w);
        }
    }

    struct position {
        dim_t n, od, oh, ow;
    };

    void run_positions(const execution &run, const position &at, dim_t count, const tap_range &d,
                       const tap_range &h, const tap_range &w) const {
        const dim_t taps = d.count * h.count * w.count;
        auto *offsets = static_cast<std::int64_t *>(
            thread_scratch(scratch_slot::tap_offsets, static_cast<std::size_t>(taps) * sizeof(std::int64_t)));
        std::int64_t *offset = offsets;
        for (dim_t kd = d.first; kd < d.first + d.count; kd++)
            for (dim_t kh = h.first; kh < h.first + h.count; kh++)
                for (dim_t kw = w.first; kw < w.first + w.count; kw++)
                    *offset++ = kd * p_.dilation[0] * src_strides_[0] +
                                kh * p_.dilation[1] * src_strides_[1] + kw * p_.dilation[2] * src_strides_[2];

        const bool counts_padding = p_.alg == algorithm::pooling_avg_include_padding;
        const dim_t n = counts_padding ? p_.kernel[0] * p_.kernel[1] * p_.kernel[2] : taps;
        jit::pool_args args{};
        args.tap_offsets = offsets;
        args.taps = taps;
        args.positions = count;
        args.src_step = p_.stride[2] * src_strides_[2];
        args.dst_step = dst_strides_[2];
        args.initial = wrap(-std::int64_t{run.src_zero_point} * taps);
        args.half_count = static_cast<std::int32_t>(n / 2);
        args.count = static_cast<float>(n);
        args.src_zero_point = run.src_zero_point;
        args.src_scale = p_.src_scale;
        args.dst_scale = p_.dst_scale;
        const std::uint8_t *src = run.src + at.n * p_.src.strides[0] +
                                  (at.od * p_.stride[0] - p_.pad[0]) * src_strides_[0] +
                                  (at.oh * p_.stride[1] - p_.pad[1]) * src_strides_[1] +
                                  (at.ow * p_.stride[2] - p_.pad[2]) * src_strides_[2];
        std::uint8_t *dst = run.dst + (at.n * p_.dst.strides[0] + at.od * dst_strides_[0] +
                                       at.oh * dst_strides_[1] + at.ow * dst_strides_[2]) *
                                          dst_size();
        for (dim_t c = 0; c < chunks_; c++) {
            args.src = src + c * chunk_;
            args.dst = dst + c * chunk_ * dst_size();
            args.params = has_epilogue() ? run.params + params_.offset_of(c * chunk_) : nullptr;
            (c == chunks_ - 1 ? last_ : whole_)->function()(&args);
        }
    }

    const pooling_problem p_;
    const extent3 src_strides_, dst_strides_;
    const jit::epilogue_plan epilogue_;
    const epilogue_params params_;
    const dim_t chunk_, chunks_; ///< channels of a chunk, their number
    jit::shared_code<const jit::pool_args> whole_, last_;
};

/// A maximum stays a code; only a clip can change it.
bool only_clips(const epilogue &e) {
    return !e.dst_zero_points.is_set() &&
           (e.post_ops.empty() || (e.post_ops.size() == 1 && limits_of(e.post_ops[0])));
}

std::string refuses_form(const pooling_problem &p) {
    const dim_t window = p.kernel[0] * p.kernel[1] * p.kernel[2];
    switch (p.form) {
    case pooling_form::maximum:
        return only_clips(p.out_stage) ? ""
                                       : "a maximum with post-ops other than a clip, or with a zero point";
    case pooling_form::rounded_average:
        return window <= max_rounded_taps ? "" : text("an average of ", window, " taps");
    case pooling_form::rescaled_average:
    case pooling_form::scaled_sum:
        return "TFLite's older MEAN and SNPS-Caffe's averages";
    default:
        return {};
    }
}

std::string refuses(const pooling_problem &p) {
    if (element_count(p.dst) == 0 || element_count(p.src) == 0)
        return "an empty tensor";
    if (!is_integer(p.src.data_type))
        return text(to_string(p.src.data_type), ", which has no codes");
    if ((p.src.strides[1] != 1 || p.dst.strides[1] != 1) && p.channels > 1)
        return "channels that are not innermost in memory";
    if (p.src_zero_points.values.is_set() && p.src_zero_points.values.mask != 0)
        return text("src zero points with mask ", p.src_zero_points.values.mask);
    std::string reason = refuses_form(p);
    if (reason.empty() && p.form != pooling_form::maximum)
        reason = jit::epilogue_plan::refuses(p.out_stage, shape_of(p));
    if (reason.empty())
        for (const post_op_entry &entry : p.out_stage.post_ops)
            if (src1_of(entry))
                reason = "a binary post-op";
    return reason;
}

} // namespace

candidate plan(const pooling_problem &p, const machine &m) {
    const std::string reason = refuses(p);
    if (!reason.empty())
        return candidate::refused(reason);
    return candidate([p, isa = m.isa] { return std::make_shared<pool_driver>(p, isa); });
}

} // namespace octet::impl::pool
