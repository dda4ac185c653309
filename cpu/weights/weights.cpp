// Weights that are given packed are read where they are, others are packed into scratch memory in each execution.

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
