// Arrays of a device: elements, rows, and their texts.
// SPDX-License-Identifier: Apache-2.0
#include "match/values.hpp"

#include <algorithm>
#include <cstring>

#include "common/element.hpp"
#include "common/text.hpp"

namespace octet::match {

std::size_t values::element_size() const {
    switch (type) {
    case data_type::s8:
    case data_type::u8:
        return 1;
    case data_type::s16:
        return 2;
    default:
        return 4;
    }
}

std::int32_t values::integer(std::size_t i) const {
    return impl::load_s32(bytes.data(), type, static_cast<dim_t>(i));
}

float values::real(std::size_t i) const { return impl::load_f32(bytes.data(), type, static_cast<dim_t>(i)); }

std::int32_t values::code(std::size_t i) const {
    return type == data_type::f32 ? bits_of(real(i)) : integer(i);
}

std::int32_t bits_of(float x) {
    std::int32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

float float_of(std::int32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

std::string code_text(data_type type, std::int32_t code) {
    return type == data_type::f32 ? impl::text(float_of(code)) : impl::text(code);
}

std::string values::text(std::size_t i) const {
    return type == data_type::f32 ? impl::text(real(i)) : impl::text(integer(i));
}

values values_of(const std::string &name, data_type type, const memory::dims &dims,
                 const std::vector<std::int32_t> &integers) {
    values v{name, type, dims, {}, false};
    v.bytes.resize(integers.size() * v.element_size());
    for (std::size_t i = 0; i < integers.size(); i++)
        impl::store_s32(v.bytes.data(), type, static_cast<dim_t>(i), integers[i]);
    return v;
}

values values_of(const std::string &name, const memory::dims &dims, const std::vector<float> &reals) {
    values v{name, data_type::f32, dims, {}, false};
    v.bytes.resize(reals.size() * sizeof(float));
    if (!reals.empty())
        std::memcpy(v.bytes.data(), reals.data(), v.bytes.size());
    return v;
}

std::size_t row_count(const inputs &all) {
    for (const values &v : all)
        if (!v.is_shared)
            return static_cast<std::size_t>(v.dims.at(0));
    return 0;
}

inputs rows_of(const inputs &all, const std::vector<std::size_t> &rows) {
    inputs result = all;
    const std::size_t before = row_count(all);
    for (values &v : result) {
        if (v.is_shared)
            continue;
        const std::size_t size = v.bytes.size() / before;
        std::vector<std::uint8_t> bytes;
        bytes.reserve(rows.size() * size);
        for (const std::size_t row : rows)
            bytes.insert(bytes.end(), v.bytes.begin() + static_cast<std::ptrdiff_t>(row * size),
                         v.bytes.begin() + static_cast<std::ptrdiff_t>((row + 1) * size));
        v.bytes = std::move(bytes);
        v.dims[0] = static_cast<dim_t>(rows.size());
    }
    return result;
}

std::string row_text(const inputs &all, std::size_t row) {
    constexpr std::size_t longest = 8;
    std::string text;
    for (const values &v : all) {
        if (v.is_shared)
            continue;
        const std::size_t size = v.count() / row_count(all);
        text += (text.empty() ? "" : ", ") + v.name + " = ";
        for (std::size_t i = 0; i < std::min(size, longest); i++)
            text += (i ? " " : "") + v.text(row * size + i);
        if (size > longest)
            text += " …";
    }
    return text;
}

/// splitmix64
std::uint64_t generator::next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

std::int64_t generator::between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % (static_cast<std::uint64_t>(high - low) + 1));
}

} // namespace octet::match
