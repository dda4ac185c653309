#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of the reference convolution and deconvolution: the places of weights and zero points.

#include "common/convolution_problem.hpp"

namespace octet::impl::ref {

/// Element offsets of weights(g, o, i, kd, kh, kw) for plain weights with or without groups and for packed
/// ones.
class weights_index {
public:
    explicit weights_index(const convolution_problem &p) : p_(p) {
        const memory_desc &w = p.weights;
        if (w.format_kind == format_kind::packed && has_parts(w.packed_kind))
            for (const kernel_part &part : kernel_parts(w))
                parts_.push_back({packed_geometry_of(part.weights),
                                  part.offset / static_cast<dim_t>(memory::data_type_size(w.data_type))});
        else if (w.format_kind == format_kind::packed)
            packed_ = packed_geometry_of(w);
        const int first = p.weights_have_groups ? 1 : 0;
        if (first)
            group_stride_ = w.strides[0];
        o_stride_ = w.strides[first];
        i_stride_ = w.strides[first + 1];
        for (int d = 0; d < p.spatial_ndims; d++)
            kernel_strides_[3 - p.spatial_ndims + d] = w.strides[first + 2 + d];
    }

    dim_t operator()(dim_t g, dim_t o, dim_t i, dim_t kd, dim_t kh, dim_t kw) const {
        if (!parts_.empty()) {
            const part_tap found = find_tap(p_.weights, {kd, kh, kw});
            const auto &[geometry, offset] = parts_[found.part];
            return offset + geometry.offset(g, o, i, found.tap);
        }
        if (p_.weights.format_kind == format_kind::packed)
            return packed_.offset(g, o, i, (kd * p_.kernel[1] + kh) * p_.kernel[2] + kw);
        return p_.weights.offset0 + g * group_stride_ + o * o_stride_ + i * i_stride_ +
               kd * kernel_strides_[0] + kh * kernel_strides_[1] + kw * kernel_strides_[2];
    }

    coordinates logical(dim_t g, dim_t o, dim_t i) const {
        return p_.weights_have_groups ? coordinates{g, o, i} : coordinates{o, i};
    }

private:
    const convolution_problem &p_;
    packed_geometry packed_{};
    /// Parts of a deconvolution's weights, with their first elements.
    std::vector<std::pair<packed_geometry, dim_t>> parts_;
    dim_t group_stride_ = 0, o_stride_ = 0, i_stride_ = 0;
    extent3 kernel_strides_{0, 0, 0};
};

inline std::int32_t zero_point_at(const zero_points &z, const std::int32_t *values, const memory_desc &md,
                                  const coordinates &at) {
    return values ? values[masked_index(z.values.mask, md.dims, md.ndims, at)] : 0;
}

} // namespace octet::impl::ref
