// dst(i) = convert(src(i)); the arithmetic of each rule is listed in octet/reorder.hpp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/reorder_problem.hpp"
#include "common/requantize.hpp"
#include "cpu/machine/isa.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"
#include "cpu/weights/pack.hpp"

namespace octet::impl::ref {

namespace {

class converter {
public:
    converter(const reorder_problem &p, const arguments &args)
        : p_(p), out_(p.out_stage, args), src_(args.get<const void>(OCTET_ARG_SRC)),
          zero_points_(p.src_zero_points.bind(args)), src_scales_(bind(p.src_scales, args, OCTET_ARG_SRC)),
          dst_scales_(bind(p.dst_scales, args, OCTET_ARG_DST)) {}

    void operator()(const coordinates &at) const {
        const requantization_rule rule = p_.out_stage.rule;
        if (p_.concatenates)
            return out_.finish(number(rescaled(at)).as_s32(), at);
        if (is_snps_caffe(rule) && !p_.out_stage.real_scales.is_set())
            return out_.finish(round_half_away(scaled(at) / dst_scale(at)), at);
        const bool integer_rule = !is_float(rule);
        if (integer_rule && is_integer(p_.src.data_type))
            out_.apply(wrap(std::int64_t{load_s32(src_, p_.src.data_type, offset(at))} - zero_point(at)), at);
        else if (integer_rule) // TFLite QUANTIZE
            out_.finish(number(round_half_away(load_f32(src_, p_.src.data_type, offset(at)) / dst_scale(at)))
                            .as_s32(),
                        at);
        else
            out_.finish(scaled(at), at);
    }

private:
    static const float *bind(const masked_values<float> &scales, const arguments &args, int arg) {
        return scales.runtime          ? args.get<const float>(OCTET_ARG_ATTR_SCALES | arg)
               : scales.values.empty() ? nullptr
                                       : scales.values.data();
    }

    dim_t offset(const coordinates &at) const { return element_offset(p_.src, at); }
    std::int32_t zero_point(const coordinates &at) const {
        return zero_points_
                   ? zero_points_[masked_index(p_.src_zero_points.values.mask, p_.src.dims, p_.src.ndims, at)]
                   : 0;
    }
    float src_scale(const coordinates &at) const {
        return src_scales_ ? src_scales_[masked_index(p_.src_scales.mask, p_.src.dims, p_.src.ndims, at)]
                           : 1.f;
    }
    float dst_scale(const coordinates &at) const {
        return dst_scales_ ? dst_scales_[masked_index(p_.dst_scales.mask, p_.dst.dims, p_.dst.ndims, at)]
                           : 1.f;
    }

    /// TFLite's older CONCATENATION: the zero point is folded into a constant.
    float rescaled(const coordinates &at) const {
        const float scale = src_scale(at) * (1.f / dst_scale(at));
        const float offset = -static_cast<float>(zero_point(at)) * scale;
        return round_half_away(
            static_cast<float>(load_s32(src_, p_.src.data_type, this->offset(at))) * scale + offset);
    }

    /// Float rules: (src - zp) * scale, and for ort_f32 the true division by the destination scale.
    float scaled(const coordinates &at) const {
        // ONNX Runtime subtracts codes as integers, oneDNN as floats: they differ for s32 codes beyond 2^24.
        // Elements without zero point and scale move as they are: by 0 and 1, signalling NaNs would become quiet.
        const bool subtracts_codes = is_ort(p_.out_stage.rule) && is_integer(p_.src.data_type);
        float x = subtracts_codes
                      ? static_cast<float>(
                            wrap(std::int64_t{load_s32(src_, p_.src.data_type, offset(at))} - zero_point(at)))
                      : load_f32(src_, p_.src.data_type, offset(at));
        if (zero_points_ && !subtracts_codes)
            x -= static_cast<float>(zero_point(at));
        if (src_scales_)
            x *= src_scale(at);
        if (p_.out_stage.output_scales.is_set() || p_.out_stage.dst_scales.is_set())
            x *= out_.scale_at(at);
        return is_ort(p_.out_stage.rule) && dst_scales_ ? x / dst_scale(at) : x;
    }

    const reorder_problem &p_;
    const bound_epilogue out_;
    const void *src_;
    const std::int32_t *zero_points_;
    const float *src_scales_, *dst_scales_;
};

/// The dimension whose neighbours may share a byte of dst.
int neighbours_dim(const memory_desc &dst) {
    int d = dst.ndims - 1;
    while (d > 0 && (dst.strides[d] != 1 || dst.dims[d] == 1))
        d--;
    return d;
}

/// Elements that share a byte of dst are one item, so that two threads never write the same byte.
void run_plain(const reorder_problem &p, const arguments &args) {
    const converter convert(p, args);
    const int d = neighbours_dim(p.dst);
    const dim_t shared = p.dst.strides[d] == 1 ? elements_per_byte(p.dst.data_type) : 1;
    memory_desc items = p.dst;
    items.dims[d] = div_up(p.dst.dims[d], shared);
    parallel_for(element_count(items), 1024, [&](dim_t begin, dim_t end) {
        for (dim_t item = begin; item < end; item++) {
            coordinates at = coordinates_of(item, items);
            at[d] *= shared;
            for (const dim_t last = std::min(at[d] + shared, p.dst.dims[d]); at[d] < last; at[d]++)
                convert(at);
        }
    });
}

/// Packed layouts go through a row-major copy of the tensor.
void run(const reorder_problem &p, const arguments &args) {
    reorder_problem plain = p;
    std::vector<std::uint8_t> src, dst;
    if (p.src.format_kind == format_kind::packed) {
        set_row_major(plain.src);
        src.resize(size_in_bytes(plain.src));
        unpack_weights(p.src, args.get<const void>(OCTET_ARG_SRC), plain.src, src.data());
    }
    if (p.dst.format_kind == format_kind::packed) {
        set_row_major(plain.dst);
        plain.out_stage.dst = plain.dst;
        dst.resize(size_in_bytes(plain.dst));
    }
    const arguments from(args, OCTET_ARG_SRC, src.empty() ? args.get(OCTET_ARG_SRC) : src.data());
    const arguments to(from, OCTET_ARG_DST, dst.empty() ? args.get(OCTET_ARG_DST) : dst.data());
    run_plain(plain, to);
    if (p.dst.format_kind == format_kind::packed)
        pack_weights(plain.dst, dst.data(), p.dst, args.get(OCTET_ARG_DST), machine_in_use().isa);
}

} // namespace

std::shared_ptr<const kernel> create(const reorder_problem &p) {
    return std::make_shared<reference_kernel<reorder_problem>>(p, run);
}

} // namespace octet::impl::ref
