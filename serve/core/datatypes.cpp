// A table of the types. Elements go from one to another as numbers of type double, in which all of these fit;
// codes of real numbers are made by the network's own arithmetic.
// SPDX-License-Identifier: Apache-2.0
#include "core/datatypes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "octet/quantize.hpp"
#include "octet/settings.hpp"

namespace octet::serve {
namespace {

constexpr datatype datatypes[] = {
    {"BOOL", 1, element::boolean, data_type::undef}, {"UINT8", 1, element::u8, data_type::u8},
    {"INT8", 1, element::s8, data_type::s8},         {"INT16", 2, element::s16, data_type::s16},
    {"INT32", 4, element::s32, data_type::s32},      {"INT64", 8, element::s64, data_type::undef},
    {"FP16", 2, element::f16, data_type::f16},       {"BF16", 2, element::bf16, data_type::bf16},
    {"FP32", 4, element::f32, data_type::f32}};

/// A float of 16 bits: its value as a double, and the nearest one to a double, ties to even.
template <int exponent_bits, int fraction_bits> struct small_float {
    std::uint16_t bits = 0;
    static constexpr int greatest = (1 << exponent_bits) - 1, bias = greatest / 2;

    explicit operator double() const {
        const int fraction = bits & ((1 << fraction_bits) - 1), exponent = bits >> fraction_bits & greatest;
        const double sign = bits >> 15 ? -1 : 1;
        if (exponent == greatest)
            return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
        const int whole = exponent > 0 ? fraction | 1 << fraction_bits : fraction;
        return sign * std::ldexp(whole, std::max(exponent, 1) - bias - fraction_bits);
    }
    explicit small_float(double v) {
        int magnitude = greatest << fraction_bits; // infinite
        if (std::isnan(v)) {
            magnitude |= 1 << (fraction_bits - 1);
        } else if (v == 0) {
            magnitude = 0;
        } else if (std::isfinite(v)) {
            const int exponent = std::max(std::ilogb(v), 1 - bias);
            const double fraction = std::nearbyint(std::ldexp(std::abs(v), fraction_bits - exponent));
            if (exponent <= bias) // numbers that are rounded up to infinity are infinity
                magnitude = std::min(magnitude,
                                     ((exponent + bias - 1) << fraction_bits) + static_cast<int>(fraction));
        }
        bits = static_cast<std::uint16_t>(magnitude | (std::signbit(v) ? 1 << 15 : 0));
    }
    small_float() = default;
};

struct truth {
    std::uint8_t is_true = 0;
    truth() = default;
    explicit truth(double v) : is_true(v != 0) {}
    explicit operator double() const { return is_true; }
};

/// Calls `f` with an element of the type.
template <typename Function> auto with(element kind, const Function &f) {
    switch (kind) {
    case element::boolean:
        return f(truth());
    case element::u8:
        return f(std::uint8_t());
    case element::s8:
        return f(std::int8_t());
    case element::s16:
        return f(std::int16_t());
    case element::s32:
        return f(std::int32_t());
    case element::s64:
        return f(std::int64_t());
    case element::f16:
        return f(small_float<5, 10>());
    case element::bf16:
        return f(small_float<8, 7>());
    case element::f32:
        break;
    }
    return f(float());
}

/// Whether an element can hold a number that somebody has written: none becomes infinite.
template <typename Element> bool holds(double v) {
    if constexpr (std::is_integral_v<Element>)
        return v >= static_cast<double>(std::numeric_limits<Element>::min()) &&
               v < std::ldexp(1, std::numeric_limits<Element>::digits) && v == std::trunc(v);
    else if constexpr (std::is_same_v<Element, truth>)
        return v == 0 || v == 1;
    else if constexpr (std::is_same_v<Element, float>)
        return !std::isfinite(v) || std::abs(v) <= static_cast<double>(std::numeric_limits<float>::max());
    else
        return !std::isfinite(v) || std::isfinite(static_cast<double>(Element(v)));
}

std::string text_of(double v) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, v).ptr};
}

[[noreturn]] void refuse_element(const std::string &name, std::size_t i, double v, const datatype &d) {
    throw refusal(outcome::invalid, "input '" + shown(name) + "': element " + std::to_string(i) + " is " +
                                        text_of(v) + ", which " + d.name + " cannot hold");
}

template <typename Element> Element element_at(const byte_range &bytes, std::size_t i) {
    Element e;
    std::memcpy(&e, bytes.data + i * sizeof e, sizeof e);
    return e;
}

/// Elements of numbers. `check` is asked whether one fits.
template <typename Check>
std::vector<std::byte> elements_of(const datatype &d, const std::vector<double> &numbers,
                                   const Check &check) {
    std::vector<std::byte> bytes(numbers.size() * d.size);
    with(d.kind, [&](auto zero) {
        using type = decltype(zero);
        static_assert(sizeof(type) <= 8, "an element");
        for (std::size_t i = 0; i < numbers.size(); i++) {
            check(i, numbers[i], holds<type>(numbers[i]));
            const type value = static_cast<type>(numbers[i]);
            std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
        }
    });
    return bytes;
}

/// Calls `f` with elements from `i` on, few at once: numbers of type double take more memory than what they
/// are made of.
template <typename Function> void in_pieces(const datatype &d, const byte_range &bytes, const Function &f) {
    constexpr std::size_t piece = 4096;
    for (std::size_t i = 0; i * d.size < bytes.size; i += piece)
        f(i, byte_range{bytes.data + i * d.size, std::min(piece * d.size, bytes.size - i * d.size)});
}

} // namespace

bool is_real(const datatype &d) {
    return d.kind == element::f16 || d.kind == element::bf16 || d.kind == element::f32;
}

const datatype *find_datatype(const std::string &name) {
    const auto *found = std::find_if(std::begin(datatypes), std::end(datatypes),
                                     [&](const datatype &d) { return d.name == name; });
    return found == std::end(datatypes) ? nullptr : found;
}

const datatype *find_datatype(data_type type) {
    const auto *found = std::find_if(std::begin(datatypes), std::end(datatypes),
                                     [&](const datatype &d) { return d.type == type; });
    return type == data_type::undef || found == std::end(datatypes) ? nullptr : found;
}

memory::dims tensor_info::shown() const {
    memory::dims d = dims;
    for (std::size_t i = 0; i < d.size(); i++)
        if (is_open[i])
            d[i] = -1;
    return d;
}

bool tensor_info::can_be(const datatype &d) const {
    const bool is_wider = (own->kind == element::s32 && d.kind == element::s64) ||
                          (own->kind == element::u8 && d.kind == element::boolean);
    return d.kind == own->kind || is_wider || (is_real(d) && (is_real(*own) || stands_for_reals()));
}

std::string tensor_info::choices() const {
    std::string names;
    for (const datatype &d : datatypes)
        if (can_be(d))
            names += (names.empty() ? "" : ", ") + std::string(d.name);
    return names;
}

std::vector<std::byte> to_elements(const std::string &name, const datatype &d,
                                   const std::vector<double> &numbers) {
    return elements_of(d, numbers, [&](std::size_t i, double v, bool fits) {
        if (!fits)
            refuse_element(name, i, v, d);
    });
}

std::vector<double> to_numbers(const datatype &d, const byte_range &bytes) {
    std::vector<double> numbers(bytes.size / d.size);
    with(d.kind, [&](auto zero) {
        for (std::size_t i = 0; i < numbers.size(); i++)
            numbers[i] = static_cast<double>(element_at<decltype(zero)>(bytes, i));
    });
    return numbers;
}

std::vector<std::byte> to_network(const tensor_info &t, const datatype &from, const byte_range &bytes) {
    std::vector<std::byte> all;
    all.reserve(bytes.size / from.size * t.own->size);
    const bool makes_codes = is_real(from) && !is_real(*t.own);
    const num_threads_scope one(1);
    in_pieces(from, bytes, [&](std::size_t first, const byte_range &piece) {
        const std::vector<double> numbers = to_numbers(from, piece);
        const auto check = [&](std::size_t i, double v, bool fits) {
            const bool is_lie = from.kind == element::boolean && v > 1;
            if (is_lie || (makes_codes ? std::isnan(v) : !fits && !is_real(from)))
                refuse_element(t.name, first + i, v, is_lie ? from : *t.own);
        };
        const datatype &next = makes_codes ? *find_datatype(data_type::f32) : *t.own;
        std::vector<std::byte> elements = elements_of(next, numbers, check);
        if (makes_codes) {
            std::vector<std::byte> codes(numbers.size() * t.own->size);
            model::quantize(t.framework, t.own->type, t.quantization,
                            reinterpret_cast<const float *>(elements.data()), numbers.size(), codes.data());
            elements = std::move(codes);
        }
        all.insert(all.end(), elements.begin(), elements.end());
    });
    return all;
}

std::vector<std::byte> from_network(const tensor_info &t, const datatype &to, const byte_range &bytes) {
    std::vector<std::byte> all;
    all.reserve(bytes.size / t.own->size * to.size);
    const bool reads_codes = is_real(to) && !is_real(*t.own);
    in_pieces(*t.own, bytes, [&](std::size_t, const byte_range &piece) {
        std::vector<double> numbers = to_numbers(*t.own, piece);
        if (reads_codes) {
            std::vector<float> reals(numbers.size());
            model::dequantize(t.own->type, t.quantization, piece.data, reals.size(), reals.data());
            numbers.assign(reals.begin(), reals.end());
        }
        const auto elements = elements_of(to, numbers, [](std::size_t, double, bool) {});
        all.insert(all.end(), elements.begin(), elements.end());
    });
    return all;
}

void append_json(std::string &text, const std::string &name, const datatype &d, const byte_range &bytes) {
    with(d.kind, [&](auto zero) {
        using type = decltype(zero);
        char digits[32];
        for (std::size_t i = 0; i < bytes.size / sizeof(type); i++) {
            const type value = element_at<type>(bytes, i);
            if (i > 0)
                text += ',';
            if constexpr (std::is_same_v<type, truth>) {
                text += value.is_true ? "true" : "false";
            } else if constexpr (std::is_integral_v<type>) {
                const auto number = static_cast<std::int64_t>(value);
                text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
            } else {
                const auto number = static_cast<float>(static_cast<double>(value));
                if (!std::isfinite(number))
                    throw refusal(outcome::invalid,
                                  "output '" + shown(name) +
                                      "' has a value that is no number, which JSON cannot say: "
                                      "ask for binary data");
                text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
            }
        }
    });
}

} // namespace octet::serve
