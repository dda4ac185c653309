// Conversion of numbers between types: only conversions that change no value, or that a user of float64
// expects.
// SPDX-License-Identifier: Apache-2.0
#include "files/array.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "octet/error.hpp"

namespace octet::tools {

void refuse(const std::string &source, const std::string &complaint) {
    throw error(status::invalid_arguments, source + ": " + complaint);
}

namespace {

template <typename T> T element(const array &a, std::size_t index) {
    T value;
    std::memcpy(&value, a.bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

/// An integer of the array; what a uint64 holds beyond int64 is as large as can be, so it fits no tensor.
std::int64_t integer(const array &a, std::size_t index) {
    const bool is_signed = a.type.kind == 'i';
    switch (a.type.size) {
    case 1:
        return is_signed ? element<std::int8_t>(a, index) : element<std::uint8_t>(a, index);
    case 2:
        return is_signed ? element<std::int16_t>(a, index) : element<std::uint16_t>(a, index);
    case 4:
        return is_signed ? std::int64_t{element<std::int32_t>(a, index)} : element<std::uint32_t>(a, index);
    default:
        const auto value = element<std::int64_t>(a, index);
        return is_signed || value >= 0 ? value : std::numeric_limits<std::int64_t>::max();
    }
}

float real(const array &a, std::size_t index) {
    return a.type.size == sizeof(float) ? element<float>(a, index)
                                        : static_cast<float>(element<double>(a, index));
}

template <typename T>
std::vector<std::uint8_t> integers_as(const array &a, const std::string &source,
                                      const std::string &tensor_text) {
    const std::size_t count = a.bytes.size() / a.type.size;
    std::vector<std::uint8_t> bytes(count * sizeof(T));
    for (std::size_t i = 0; i < count; i++) {
        const std::int64_t value = integer(a, i);
        if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max())
            refuse(source, "element " + std::to_string(i) + " is " + std::to_string(value) +
                               ", which does not fit " + tensor_text);
        const T converted = static_cast<T>(value);
        std::memcpy(bytes.data() + i * sizeof(T), &converted, sizeof(T));
    }
    return bytes;
}

std::vector<float> reals_of(const array &a) {
    std::vector<float> values(a.bytes.size() / a.type.size);
    for (std::size_t i = 0; i < values.size(); i++)
        values[i] = real(a, i);
    return values;
}

std::vector<std::uint8_t> bytes_of(const std::vector<float> &values) {
    const auto *first = reinterpret_cast<const std::uint8_t *>(values.data());
    return {first, first + values.size() * sizeof(float)};
}

} // namespace

std::string element_type::text() const {
    if (kind == 'b')
        return "bool";
    return (kind == 'i' ? "int" : kind == 'u' ? "uint" : "float") + std::to_string(size * 8);
}

element_type element_type_of(data_type type) {
    switch (type) {
    case data_type::u8:
        return {'u', 1};
    case data_type::s8:
        return {'i', 1};
    case data_type::s16:
        return {'i', 2};
    case data_type::s32:
        return {'i', 4};
    case data_type::f32:
        return {'f', 4};
    default:
        throw error(status::unimplemented, "files of arrays have no type " + model::to_text(type));
    }
}

std::string array::text() const { return type.text() + ' ' + model::to_text(dims); }

void check_fits(const array &a, const target &to, const std::string &source) {
    const auto does_not_fit = [&](const std::string &why) {
        refuse(source, "holds " + a.text() + ", but " + to.text + " takes " + why);
    };
    const memory::dims &allowed = to.tensor.dims;
    const bool is_other_batch = a.dims.size() == allowed.size() && !allowed.empty() && a.dims[0] > 0 &&
                                std::equal(allowed.begin() + 1, allowed.end(), a.dims.begin() + 1);
    if (a.dims != allowed)
        does_not_fit(
            model::to_text(allowed) +
            (is_other_batch ? " (--batch " + std::to_string(a.dims[0]) + " takes the whole file)" : ""));
    const bool takes_floats = to.tensor.type == data_type::f32;
    if (a.type.is_integer() && takes_floats)
        does_not_fit("floats");
    if (!a.type.is_integer() && !takes_floats && !to.may_have_scale())
        does_not_fit("codes, and has no scale by which floats become codes");
}

tensor_values values_for(const array &a, const target &to, const std::string &source) {
    check_fits(a, to, source);
    if (!a.type.is_integer()) {
        const std::vector<float> reals = reals_of(a);
        return to.tensor.type == data_type::f32 ? tensor_values{bytes_of(reals), {}}
                                                : tensor_values{{}, reals};
    }
    switch (to.tensor.type) {
    case data_type::u8:
        return {integers_as<std::uint8_t>(a, source, to.text), {}};
    case data_type::s8:
        return {integers_as<std::int8_t>(a, source, to.text), {}};
    case data_type::s16:
        return {integers_as<std::int16_t>(a, source, to.text), {}};
    case data_type::s32:
        return {integers_as<std::int32_t>(a, source, to.text), {}};
    default:
        refuse(source, "holds " + a.text() + ", but " + to.text + " takes floats");
    }
}

} // namespace octet::tools
