// Tables neighbours and weights of each axis when a kernel is made; execution walks lines of the destination,
// in chunks of channels.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/resampling/drive.hpp"

#include <algorithm>
#include <vector>

#include "common/bits.hpp"
#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/resampling.hpp"
#include "common/text.hpp"
#include "cpu/accumulating/epilogue_params.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/resampling/codes.hpp"
#include "cpu/resampling/streaming.hpp"
#include "jit/kernels/resampling/positions.hpp"

namespace octet::impl::resampling {

namespace {

using form = jit::resampling_form;

form form_of(const resampling_problem &p) {
    const requantization_rule rule = p.out_stage.rule;
    if (p.alg == algorithm::resampling_nearest)
        return p.src.data_type == p.dst.data_type && p.out_stage.post_ops.empty() ? form::copy
                                                                                  : form::nearest;
    if (is_tflite(rule))
        return weighs_half_up(rule) ? form::fixed_half_up : form::fixed_half_away;
    if (is_ort(rule))
        return form::truncated;
    return is_snps_caffe(rule) ? form::half_away : form::fused;
}

/// The epilogue behind the form: the rule is done but for what a float rule does behind the post-ops.
epilogue out_of(const resampling_problem &p) {
    epilogue out = p.out_stage;
    const bool is_f32 = jit::resampled_stage(form_of(p), p.src.data_type) == jit::epilogue_stage::f32_value;
    if (!is_ort(out.rule))
        out.rule = unchanged(is_f32);
    return out;
}

/// Codes of 8 bits and what lies between them have a bound, without which conversions are slower.
jit::epilogue_shape shape_of(const resampling_problem &p) {
    const bool has_codes = is_code(p.src.data_type);
    const double any = is_integer(p.src.data_type) ? jit::any_s32 : jit::any_f32;
    return {1, p.channels, has_codes ? 512 : any};
}

/// Neighbours along an axis and their weights, of the form that the rule has: integers or the bits of floats.
struct weighted_pair {
    dim_t low, high;
    std::uint32_t low_weight, high_weight;
};

weighted_pair weighted_pair_of(const resampling_problem &p, int axis, dim_t i) {
    if (p.alg == algorithm::resampling_nearest) {
        const dim_t nearest = nearest_index(p, axis, i);
        return {nearest, nearest, 0, 0};
    }
    if (is_tflite(p.out_stage.rule)) {
        const fixed_interpolation f = interpolate_fixed(p, axis, i);
        return {f.low, f.high, static_cast<std::uint32_t>(f.low_weight),
                static_cast<std::uint32_t>(f.high_weight)};
    }
    const interpolation f = interpolate(p, axis, i);
    return {f.low, f.high, bits(f.low_weight), bits(f.high_weight)};
}

/// Bytes between neighbours along depth, height, width.
extent3 spatial_steps(const memory_desc &md, int spatial_ndims) {
    extent3 steps{0, 0, 0};
    for (int d = 0; d < spatial_ndims; d++)
        steps[static_cast<std::size_t>(3 - spatial_ndims + d)] =
            md.strides[2 + d] * static_cast<dim_t>(memory::data_type_size(md.data_type));
    return steps;
}

class resampling_driver : public kernel {
public:
    resampling_driver(const resampling_problem &p, instruction_set isa)
        : p_(p), form_(form_of(p)), src_size_(static_cast<dim_t>(memory::data_type_size(p.src.data_type))),
          dst_size_(static_cast<dim_t>(memory::data_type_size(p.dst.data_type))),
          src_steps_(spatial_steps(p.src, p.spatial_ndims)),
          dst_steps_(spatial_steps(p.dst, p.spatial_ndims)), epilogue_(out_of(p), shape_of(p), false),
          params_(epilogue_, p.channels), units_(form_ == form::copy ? p.channels * src_size_ : p.channels),
          prefetches_(is_large(p)) {
        jit::resampling_spec spec{isa, form_, p.src.data_type, p.spatial_ndims > 1};
        spec.is_final = is_final();
        spec.vectors =
            spec.is_final ? jit::final_resampling_vectors : jit::resampling_vectors(spec, epilogue_);
        chunk_ = spec.vectors * jit::resampling_lanes(isa, form_);
        chunks_ = div_up(units_, chunk_);
        spec.prefetches = prefetches_;
        kernels_ = kernels_of(spec);
        spec.streams = (form_ == form::copy || spec.is_final) && can_stream(p);
        if (spec.streams)
            streaming_ = kernels_of(spec);

        for (dim_t ow = 0; ow < p.out[2]; ow++) {
            const weighted_pair w = weighted_pair_of(p, 2, ow);
            columns_.push_back({w.low * src_steps_[2], w.high * src_steps_[2], w.low_weight, w.high_weight});
        }
        for (dim_t oh = 0; oh < p.out[1]; oh++)
            lines_.push_back(p.spatial_ndims > 1 ? weighted_pair_of(p, 1, oh) : weighted_pair{0, 0, 0, 0});
        for (dim_t od = 0; od < p.out[0]; od++)
            slices_.push_back(p.spatial_ndims > 2 ? nearest_index(p, 0, od) : 0);
    }

    void execute(const arguments &args) const override {
        execution run{};
        run.src = args.get<const std::uint8_t>(OCTET_ARG_SRC) + p_.src.offset0 * src_size_;
        run.dst = args.get<std::uint8_t>(OCTET_ARG_DST);
        run.params = form_ == form::copy ? nullptr : params_.bind(epilogue_, args);
        for (std::size_t i = 0; i < p_.out_stage.post_ops.size(); i++)
            if (epilogue_.reads_full_tensor(static_cast<int>(i)))
                run.full[i] = args.get<const std::uint8_t>(
                    OCTET_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | OCTET_ARG_SRC_1);
        run.streams = streaming_.last && begins_line(run.dst + p_.dst.offset0 * dst_size_);
        parallel_for(p_.mb * p_.out[0] * p_.out[1], 1, [&](dim_t begin, dim_t end) {
            for (dim_t line = begin; line < end; line++)
                run_line(run, line, std::min(line + 1, end - 1));
            if (run.streams)
                finish_stores();
        });
    }

    std::string plan() const override {
        return text(chunk_, form_ == form::copy ? " bytes" : " channels", " at a time",
                    streaming_.last ? ", stores past the caches" : "");
    }

    std::size_t size_bytes() const override {
        return sizeof *this + params_.size_bytes() + columns_.size() * sizeof columns_[0] +
               lines_.size() * sizeof lines_[0] + kernels_.size_bytes() + streaming_.size_bytes();
    }

private:
    struct execution {
        const std::uint8_t *src;
        std::uint8_t *dst;
        const std::uint8_t *full[max_post_ops]; ///< tensors of dst's layout that post-ops read
        const std::uint32_t *params;
        bool streams;
    };

    /// Kernels of the last chunk of channels and of the others; null where there are none.
    struct chunk_kernels {
        jit::shared_code<const jit::resampling_args> whole, last;

        std::size_t size_bytes() const {
            return (whole ? whole->code_bytes() : 0) + (last ? last->code_bytes() : 0);
        }
    };

    chunk_kernels kernels_of(jit::resampling_spec spec) const {
        const auto kernel_of = [this](const jit::resampling_spec &s) {
            return jit::resampling_code(s, form_ == form::copy ? nullptr : &epilogue_);
        };
        chunk_kernels kernels;
        const dim_t lanes = chunk_ / spec.vectors, last = units_ - (chunks_ - 1) * chunk_;
        spec.tail = static_cast<int>(lanes);
        if (chunks_ > 1)
            kernels.whole = kernel_of(spec);
        spec.vectors = static_cast<int>(div_up(last, lanes));
        spec.tail = static_cast<int>(last - (spec.vectors - 1) * lanes);
        kernels.last = kernel_of(spec);
        return kernels;
    }

    bool is_final() const {
        return form_ == form::fused && p_.dst.data_type == data_type::f32 && p_.out_stage.post_ops.empty();
    }

    /// The last source line that a line of dst reads, in bytes.
    dim_t high_line(dim_t line) const {
        const dim_t n = line / p_.out[1] / p_.out[0], od = line / p_.out[1] % p_.out[0];
        return n * p_.src.strides[0] * src_size_ + slices_[static_cast<std::size_t>(od)] * src_steps_[0] +
               lines_[static_cast<std::size_t>(line % p_.out[1])].high * src_steps_[1];
    }

    void run_line(const execution &run, dim_t line, dim_t next) const {
        const dim_t n = line / p_.out[1] / p_.out[0], od = line / p_.out[1] % p_.out[0],
                    oh = line % p_.out[1];
        const weighted_pair &h = lines_[static_cast<std::size_t>(oh)];
        const std::uint8_t *high = run.src + high_line(line);
        const std::uint8_t *low = high + (h.low - h.high) * src_steps_[1];
        const dim_t dst_element =
            p_.dst.offset0 + n * p_.dst.strides[0] + (od * dst_steps_[0] + oh * dst_steps_[1]) / dst_size_;
        const dim_t unit = form_ == form::copy ? 1 : src_size_;
        const dim_t dst_unit = form_ == form::copy ? 1 : dst_size_;

        const void *full[max_post_ops] = {};
        jit::resampling_args a{};
        a.low_weight = h.low_weight;
        a.high_weight = h.high_weight;
        a.columns = columns_.data();
        a.count = p_.out[2];
        a.dst_step = dst_steps_[2] / (form_ == form::copy ? 1 : dst_size_);
        a.full = full;
        a.to_next_line = prefetches_ ? high_line(next) - high_line(line) : 0;
        const chunk_kernels &kernels = run.streams ? streaming_ : kernels_;
        for (dim_t c = 0; c < chunks_; c++) {
            const dim_t first = c * chunk_;
            a.low_line = low + first * unit;
            a.high_line = high + first * unit;
            a.dst = run.dst + dst_element * dst_size_ + first * dst_unit;
            a.params = form_ == form::copy ? nullptr : run.params + params_.offset_of(first);
            for (std::size_t i = 0; i < p_.out_stage.post_ops.size(); i++)
                if (run.full[i])
                    full[i] = run.full[i] + (dst_element + first) * size_of_operand(i);
            (c == chunks_ - 1 ? kernels.last : kernels.whole)->function()(&a);
        }
    }

    dim_t size_of_operand(std::size_t post_op) const {
        return static_cast<dim_t>(memory::data_type_size(src1_of(p_.out_stage.post_ops[post_op])->data_type));
    }

    const resampling_problem p_;
    const form form_;
    const dim_t src_size_, dst_size_; ///< bytes per element
    const extent3 src_steps_, dst_steps_;
    const jit::epilogue_plan epilogue_;
    const epilogue_params params_;
    const dim_t units_; ///< units of a position: channels, or bytes that are copied
    const bool prefetches_;
    dim_t chunk_, chunks_; ///< units of a chunk, their number
    chunk_kernels kernels_, streaming_;
    std::vector<jit::resampling_column> columns_;
    std::vector<weighted_pair> lines_;
    std::vector<dim_t> slices_; ///< nearest depth slice of the source
};

std::string refuses(const resampling_problem &p, const machine &m) {
    if (is_xnnpack(p.out_stage.rule) && !p.out_stage.post_ops.empty())
        return "post-ops behind weights of 11 bits";
    if (element_count(p.dst) == 0 || element_count(p.src) == 0)
        return "an empty tensor";
    if ((p.src.strides[1] != 1 || p.dst.strides[1] != 1) && p.channels > 1)
        return "channels that are not innermost in memory";
    const form f = form_of(p);
    if (f == form::copy)
        return {};
    if (p.alg == algorithm::resampling_linear && p.spatial_ndims > 2)
        return "linear interpolation along three dimensions";
    const epilogue out = out_of(p);
    const std::string reason = jit::epilogue_plan::refuses(out, shape_of(p));
    if (!reason.empty())
        return reason;
    const jit::epilogue_plan plan(out, shape_of(p), false);
    return jit::resampling_vectors({m.isa, f, p.src.data_type}, plan) == 0
               ? "functions that need more vector registers"
               : "";
}

} // namespace

candidate plan(const resampling_problem &p, const machine &m) {
    const std::string reason = refuses(p, m);
    if (!reason.empty())
        return candidate::refused(reason);
    return candidate([p, isa = m.isa]() -> std::shared_ptr<const kernel> {
        if (auto of_codes = create_for_codes(p, isa))
            return of_codes;
        return std::make_shared<resampling_driver>(p, isa);
    });
}

} // namespace octet::impl::resampling
