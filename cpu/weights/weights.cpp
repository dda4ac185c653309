// Weights that are given packed are read where they are, others are packed into scratch memory in each execution.
//
// Why packed weights end with sums. Codes stand for real numbers with the zero point subtracted, but kernels
// multiply codes:
//
//   Σ (s - zs)(w - zw)  =  Σ s w  -  zs Σ w  -  zw Σ s  +  K zs zw          K products, all modulo 2^32
//
//   Σ s w        what the dot-product instructions sum up
//   zs Σ w       a constant of the column: Σ w is stored with the weights, and the product is subtracted
//                from the initial accumulator together with the bias (columns.cpp), once per execution
//   zw Σ s       differs from row to row: the kernel's, only where weights have a zero point
//   K zs zw      a constant of the column, too
//
// A signed source is read as unsigned, s + 128 with the zero point zs + 128: the same algebra. Pixels beside
// the image hold zs, so that s - zs is 0 there. Sums are stored for each line of the kernel by itself: where
// all pixels of a line lie beside the image, its products are not computed, and its Σ w is left out as well.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/weights/weights.hpp"

#include <algorithm>
#include <cmath>

#include "common/element.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/weights/pack.hpp"

namespace octet::impl {

double stored_weights::largest_products(const memory_desc &src, const zero_points &src_zero_points) const {
    const masked_values<std::int32_t> &zps = src_zero_points.values;
    if (is_real(src.data_type) || zps.runtime || sums_source())
        return HUGE_VAL;
    constexpr double largest_weight = 128;
    const type_range codes = range_of(src.data_type);
    const double zero_point = zps.is_set() ? zps.values[0] : 0;
    const double largest_source = std::max(zero_point - codes.low, codes.high - zero_point);
    return static_cast<double>(reduction()) * largest_source * largest_weight;
}

const std::int8_t *stored_weights::bind(const arguments &args, instruction_set isa) const {
    const void *weights = args.get<const void>(OCTET_ARG_WEIGHTS);
    if (is_packed_)
        return static_cast<const std::int8_t *>(weights);
    memory_desc plain = given_;
    if (plain.format_kind == format_kind::packed) { // in another order: depthwise weights for another stride
        set_row_major(plain);
        void *unpacked = thread_scratch(scratch_slot::source_rows, size_in_bytes(plain));
        unpack_weights(given_, weights, plain, unpacked);
        weights = unpacked;
    }
    void *packed = thread_scratch(scratch_slot::packed_weights, size_bytes());
    pack_weights(plain, weights, packed_, packed, isa);
    return static_cast<const std::int8_t *>(packed);
}

} // namespace octet::impl
