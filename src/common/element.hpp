#pragma once // SPDX-License-Identifier: Apache-2.0

// One element of a typed buffer. Loads widen without loss (s32 to f32 rounds to nearest even); stores
// saturate. Of elements that share a byte the one with the lowest index lies in its lowest bits.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "common/rounding.hpp"
#include "common/small_floats.hpp"
#include "octet/types.hpp"

namespace octet::impl {

struct type_range {
    std::int32_t low, high;
};
constexpr type_range range_of(data_type type) {
    switch (type) {
    case data_type::u8:
        return {0, 255};
    case data_type::s8:
        return {-128, 127};
    case data_type::s4:
        return {-8, 7};
    case data_type::u4:
        return {0, 15};
    case data_type::s2:
        return {-2, 1};
    case data_type::u2:
        return {0, 3};
    case data_type::s16:
        return {-32768, 32767};
    default:
        return {int32_min, int32_max};
    }
}
/// f32, or a type that is f32 but for its last rounding.
constexpr bool is_real(data_type type) { return type == data_type::f32 || is_small_float(type); }
constexpr bool is_integer(data_type type) { return !is_real(type) && type != data_type::undef; }
constexpr bool is_code(data_type type) { return type == data_type::u8 || type == data_type::s8; }

/// True for codes of which several share a byte.
constexpr bool shares_bytes(data_type type) { return elements_per_byte(type) > 1; }

/// Place of an element that shares its byte: the byte, and the element's bits within it.
struct bit_field {
    dim_t byte;
    int shift, mask;
};
constexpr bit_field bit_field_of(data_type type, dim_t offset) {
    const int shared = elements_per_byte(type), bits = 8 / shared;
    return {offset / shared, static_cast<int>(offset % shared) * bits, (1 << bits) - 1};
}

inline std::int32_t load_shared(const void *base, data_type type, dim_t offset) {
    const bit_field f = bit_field_of(type, offset);
    const int code = static_cast<const std::uint8_t *>(base)[f.byte] >> f.shift & f.mask;
    return code > range_of(type).high ? code - f.mask - 1 : code; // two's complement
}
inline void store_shared(void *base, data_type type, dim_t offset, std::int32_t value) {
    const bit_field f = bit_field_of(type, offset);
    std::uint8_t &byte = static_cast<std::uint8_t *>(base)[f.byte];
    byte = static_cast<std::uint8_t>((byte & ~(f.mask << f.shift)) | (value & f.mask) << f.shift);
}

inline std::int32_t load_s32(const void *base, data_type type, dim_t offset) {
    switch (type) {
    case data_type::u8:
        return static_cast<const std::uint8_t *>(base)[offset];
    case data_type::s8:
        return static_cast<const std::int8_t *>(base)[offset];
    case data_type::s16:
        return static_cast<const std::int16_t *>(base)[offset];
    case data_type::s4:
    case data_type::u4:
    case data_type::s2:
    case data_type::u2:
        return load_shared(base, type, offset);
    default:
        return static_cast<const std::int32_t *>(base)[offset];
    }
}

inline float load_f32(const void *base, data_type type, dim_t offset) {
    switch (type) {
    case data_type::f32:
        return static_cast<const float *>(base)[offset];
    case data_type::f16:
        return from_f16(static_cast<const std::uint16_t *>(base)[offset]);
    case data_type::bf16:
        return from_bf16(static_cast<const std::uint16_t *>(base)[offset]);
    default:
        return static_cast<float>(load_s32(base, type, offset));
    }
}

/// Stores a float as a type that is_real.
inline void store_f32(void *base, data_type type, dim_t offset, float x) {
    if (type == data_type::f32)
        static_cast<float *>(base)[offset] = x;
    else
        static_cast<std::uint16_t *>(base)[offset] = type == data_type::f16 ? to_f16(x) : to_bf16(x);
}

/// Stores a value that already lies in the range of the type.
inline void store_s32(void *base, data_type type, dim_t offset, std::int32_t value) {
    switch (type) {
    case data_type::u8:
        static_cast<std::uint8_t *>(base)[offset] = static_cast<std::uint8_t>(value);
        break;
    case data_type::s8:
        static_cast<std::int8_t *>(base)[offset] = static_cast<std::int8_t>(value);
        break;
    case data_type::s16:
        static_cast<std::int16_t *>(base)[offset] = static_cast<std::int16_t>(value);
        break;
    case data_type::s4:
    case data_type::u4:
    case data_type::s2:
    case data_type::u2:
        store_shared(base, type, offset, value);
        break;
    default:
        static_cast<std::int32_t *>(base)[offset] = value;
        break;
    }
}

/// oneDNN's saturating down-conversion: clamp in f32, then round to nearest even. s32 saturates at
/// 2147483520, the largest float below 2^31. NaN gives what x86's min and max give: unsigned types 0, others
/// the upper bound.
inline std::int32_t down_convert(float x, data_type type) {
    const type_range range = range_of(type);
    const float low = static_cast<float>(range.low);
    const float high = type == data_type::s32 ? 2147483520.f : static_cast<float>(range.high);
    const bool is_unsigned = range.low == 0;
    if (is_unsigned)
        x = x > low ? x : low;
    x = x < high ? x : high;
    if (!is_unsigned)
        x = x > low ? x : low;
    return static_cast<std::int32_t>(round_to_even(x));
}

} // namespace octet::impl
