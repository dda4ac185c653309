// A number of one or two numbers for each operator. What computes integers has 32 bits, as in a network.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/known_values.hpp"

#include <algorithm>
#include <cmath>

namespace octet::model {

double known_node::broadcast_element(std::size_t i, const memory::dims &at) const {
    const memory::dims &x = dims(i);
    std::int64_t p = 0;
    for (std::size_t d = 0; d < x.size(); d++)
        p = p * x[d] + (x[d] == 1 ? 0 : at[at.size() - x.size() + d]);
    return inputs_[i][static_cast<std::size_t>(p)];
}

const attribute *known_node::find(const std::string &name) const {
    const auto found = n_.attributes.find(name);
    return found == n_.attributes.end() ? nullptr : &found->second;
}

std::size_t flat_index(const memory::dims &dims, const memory::dims &at) {
    std::int64_t p = 0;
    for (std::size_t d = 0; d < dims.size(); d++)
        p = p * dims[d] + at[d];
    return static_cast<std::size_t>(p);
}

namespace numbers {
namespace {

using result = std::optional<known_values>;
using number = double (*)(double);
using number_of_two = double (*)(double, double);

/// How integers of a result that leaves 32 bits are brought back.
enum class overflow { of_result, of_product };

std::int64_t integer_of(double value) { return static_cast<std::int64_t>(value); }

/// As INT32's sums and products wrap around.
double wrapped(std::int64_t value) {
    return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(value)));
}

/// Returns the integer result `value` of two numbers a and b in s32. A limit of s32 stands for the limit of
/// INT64, which means "to the end", and stays a limit.
double in_s32(const known_node &n, double a, double b, double value, overflow how) {
    constexpr double lowest = -0x1p31, highest = 0x1p31 - 1;
    const auto is_limit = [](double x) { return x == lowest || x == highest; };
    if (value >= lowest && value <= highest)
        return value;
    if (!n.marks().is_wide) // a double does not hold a product of 64 bits
        return wrapped(how == overflow::of_product ? integer_of(a) * integer_of(b) : integer_of(value));
    if (!is_limit(a) && !is_limit(b))
        refuse_as_unimplemented("its result for " + std::to_string(integer_of(a)) + " and " +
                                std::to_string(integer_of(b)) + " leaves 32 bits, which INT64 has here");
    return std::clamp(value, lowest, highest);
}

result of_integers(const known_node &n, number_of_two f, overflow how = overflow::of_result) {
    if (n.input_count() != 2 || !n.has_integers(0))
        return {};
    return n.filled([&](std::size_t, const memory::dims &at) {
        const double a = n.broadcast_element(0, at), b = n.broadcast_element(1, at);
        return in_s32(n, a, b, f(a, b), how);
    });
}

result of_floats(const known_node &n, number_of_two f) {
    if (n.input_count() != 2 || n.has_integers(0))
        return {};
    return n.filled([&](std::size_t, const memory::dims &at) {
        return f(n.broadcast_element(0, at), n.broadcast_element(1, at));
    });
}

result of_either(const known_node &n, number_of_two f, overflow how = overflow::of_result) {
    return n.has_integers(0) ? of_integers(n, f, how) : of_floats(n, f);
}

result of_one(const known_node &n, number f) {
    return n.filled([&](std::size_t i, const memory::dims &) { return f(n.input(0)[i]); });
}

} // namespace

result add(const known_node &n) {
    return of_either(n, [](double a, double b) { return a + b; });
}
result sub(const known_node &n) {
    return of_either(n, [](double a, double b) { return a - b; });
}
result mul(const known_node &n) {
    return of_either(
        n, [](double a, double b) { return a * b; }, overflow::of_product);
}
/// Integers truncate, as in ONNX: the quotient of two s32 is no nearer to an integer than 2^-31, so its
/// double is on the same side.
result div(const known_node &n) {
    if (n.has_integers(0))
        return of_integers(n, [](double a, double b) { return b == 0 ? 0 : std::trunc(a / b); });
    return of_floats(n, [](double a, double b) { return a / b; });
}
result mod(const known_node &n) {
    if (n.integer("fmod", 0) != 0)
        return of_integers(n, [](double a, double b) { return b == 0 ? 0 : std::fmod(a, b); });
    return of_integers(n, [](double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); });
}
result min(const known_node &n) {
    return of_integers(n, [](double a, double b) { return std::min(a, b); });
}
result max(const known_node &n) {
    return of_integers(n, [](double a, double b) { return std::max(a, b); });
}
result both(const known_node &n) {
    return of_integers(n, [](double a, double b) -> double { return a != 0 && b != 0; });
}
result either(const known_node &n) {
    return of_integers(n, [](double a, double b) -> double { return a != 0 || b != 0; });
}
result equal(const known_node &n) {
    return of_either(n, [](double a, double b) -> double { return a == b; });
}
result less(const known_node &n) {
    return of_either(n, [](double a, double b) -> double { return a < b; });
}
result less_or_equal(const known_node &n) {
    return of_either(n, [](double a, double b) -> double { return a <= b; });
}
result greater(const known_node &n) {
    return of_either(n, [](double a, double b) -> double { return a > b; });
}
result greater_or_equal(const known_node &n) {
    return of_either(n, [](double a, double b) -> double { return a >= b; });
}

result neg(const known_node &n) {
    return of_one(n, [](double x) { return -x; });
}
result inverse(const known_node &n) {
    return of_one(n, [](double x) -> double { return x == 0; });
}
result floor(const known_node &n) {
    return of_one(n, [](double x) { return std::floor(x); });
}
result ceil(const known_node &n) {
    return of_one(n, [](double x) { return std::ceil(x); });
}
result sqrt(const known_node &n) {
    return of_one(n, [](double x) { return std::sqrt(x); });
}

/// The output's type does what is left; to BOOL, code 9, whether it is not 0. Floats have no low bits, and
/// what does not fit into the integer is its lowest number.
result cast(const known_node &n) {
    constexpr std::int64_t f32 = 1, u8 = 2, int64 = 7, boolean = 9;
    const std::int64_t to = n.integer("to", 0);
    if (to == u8 && !n.has_integers(0))
        return {};
    const double limit = to == int64 ? 0x1p63 : 0x1p31;
    known_values values = n.input(0);
    for (double &v : values)
        v = to == boolean                                                  ? v != 0
            : to == f32 || n.has_integers(0) || (v >= -limit && v < limit) ? v
                                                                           : -limit;
    return values;
}

result where(const known_node &n) {
    if (n.input_count() != 3)
        return {};
    return n.filled([&](std::size_t, const memory::dims &at) {
        return n.broadcast_element(n.broadcast_element(0, at) != 0 ? 1 : 2, at);
    });
}

result view(const known_node &n) { return n.input(0); }

/// Ranges of floats are onnx/ops/fill_range.cpp's.
result range(const known_node &n) {
    if (n.input_count() != 3 || !n.has_integers(0))
        return {};
    return n.filled([&](std::size_t i, const memory::dims &) {
        return n.input(0)[0] + static_cast<double>(i) * n.input(2)[0];
    });
}

result constant_of_shape(const known_node &n) {
    const attribute *value = n.find("value");
    const auto *integer = value ? std::get_if<std::int64_t>(value) : nullptr;
    const auto *real = value ? std::get_if<float>(value) : nullptr;
    return known_values(static_cast<std::size_t>(element_count(n.output_dims())),
                        integer ? static_cast<double>(*integer)
                        : real  ? static_cast<double>(*real)
                                : 0);
}

result non_zero(const known_node &n) {
    const memory::dims &x = n.dims(0);
    std::vector<known_values> places(x.size());
    memory::dims at(x.size());
    for (const double v : n.input(0)) {
        for (std::size_t d = 0; v != 0 && d < x.size(); d++)
            places[d].push_back(static_cast<double>(at[d]));
        next_index(at, x);
    }
    known_values all;
    for (const known_values &of_one : places)
        all.insert(all.end(), of_one.begin(), of_one.end());
    return all;
}

result shape(const known_node &n) {
    const auto rank = static_cast<std::int64_t>(n.dims(0).size());
    const auto index = [&](const char *name, std::int64_t absent) {
        const std::int64_t given = n.integer(name, absent);
        return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
    };
    const std::int64_t start = index("start", 0), end = std::max(start, index("end", rank));
    return known_values(n.dims(0).begin() + start, n.dims(0).begin() + end);
}

result size(const known_node &n) { return known_values{static_cast<double>(element_count(n.dims(0)))}; }

} // namespace numbers
} // namespace octet::model
