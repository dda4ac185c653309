#pragma once // SPDX-License-Identifier: Apache-2.0

// Weights as a kernel reads them, and what of them the algebra of zero points needs.

#include <cstdint>

#include "common/arguments.hpp"
#include "common/layout/layout.hpp"
#include "common/machine.hpp"
#include "common/problem.hpp"

namespace octet::impl {

/// True if sums of source codes are subtracted: stored weights have a zero point, if only that of u8, which is
/// stored with 128 subtracted.
inline bool sums_source(const memory_desc &weights, const zero_points &zps) {
    return zps.values.is_set() || weights.data_type == data_type::u8;
}

class stored_weights {
public:
    stored_weights() = default;
    /// `given` by the user, read as `packed`.
    stored_weights(const memory_desc &given, const memory_desc &packed, const zero_points &zps)
        : given_(given), packed_(packed), is_packed_(memory::desc(given) == memory::desc(packed)),
          geometry_(packed_geometry_of(packed)), zero_points_(zps) {}

    const packed_geometry &geometry() const { return geometry_; }
    std::size_t size_bytes() const { return size_in_bytes(packed_); }
    /// Products per result.
    dim_t reduction() const { return geometry_.i_per_member * geometry_.taps * geometry_.fused_width; }

    bool sums_source() const { return impl::sums_source(given_, zero_points_); }
    /// Bound of |Σ (s - zs) w|; infinite for floats, and where zero points of weights or of an execution take part.
    double largest_products(const memory_desc &src, const zero_points &src_zero_points) const;

    /// The zero point of each output channel's stored weights, in one execution.
    class bound_zero_points {
    public:
        bound_zero_points(const stored_weights &w, const arguments &args)
            : values_(w.zero_points_.bind(args)), is_common_(w.zero_points_.values.mask == 0),
              stored_offset_(w.given_.data_type == data_type::u8 ? 128 : 0) {}
        std::int32_t operator[](dim_t channel) const {
            return (values_ ? values_[is_common_ ? 0 : channel] : 0) - stored_offset_;
        }

    private:
        const std::int32_t *values_;
        bool is_common_;
        std::int32_t stored_offset_;
    };

    /// The user's weights if they are stored so, else a packed copy, valid until this thread packs again.
    const std::int8_t *bind(const arguments &args, instruction_set isa) const;

private:
    memory_desc given_, packed_;
    bool is_packed_ = false; ///< by the user
    packed_geometry geometry_{};
    zero_points zero_points_{{}, OCTET_ARG_WEIGHTS};
};

} // namespace octet::impl
