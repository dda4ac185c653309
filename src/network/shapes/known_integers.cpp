// Each operator here either picks elements of its inputs, by its map where it has one input (graph/element_map.hpp), or
// computes one number of one or two. Elements are s32 or f32, and a double holds either: one operation on
// doubles, rounded to f32, is the operation on f32.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/known_integers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "network/graph/element_map.hpp"

namespace octet::model {
namespace {

using values = std::vector<double>;

/// Masks of a long sequence are larger than shapes, but nothing useful is larger than this; floats are scales and sizes.
constexpr std::int64_t most_elements = std::int64_t{1} << 22, most_floats = std::int64_t{1} << 10;

bool is_followed(data_type type, std::int64_t count) {
    return type == data_type::f32
               ? count <= most_floats
               : (type == data_type::s32 || type == data_type::u8) && count <= most_elements;
}

std::int64_t integer_of(double value) { return static_cast<std::int64_t>(value); }

/// As INT32's sums and products wrap around.
double wrapped(std::int64_t value) {
    return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(value)));
}

/// The element that a number becomes: f32 is rounded, s32 saturates towards zero with 0 for NaN, u8 keeps the low bits.
double element_of(data_type type, double value) {
    if (type == data_type::f32)
        return static_cast<double>(static_cast<float>(value));
    const double s32 = std::isnan(value) ? 0. : std::clamp(std::trunc(value), -0x1p31, 0x1p31 - 1);
    return type == data_type::u8 ? static_cast<double>(static_cast<std::int64_t>(s32) & 255) : s32;
}

template <typename T> values numbers_of(const tensor &t) {
    const std::vector<T> elements = values_of<T>(t);
    return {elements.begin(), elements.end()};
}

/// Numbers of a tensor: a constant's, or those that `follow_integers` left in `tensor::data`.
std::optional<values> known_numbers(const tensor &t) {
    const std::int64_t count = element_count(t.dims);
    const bool is_here = t.is_constant || !t.data.empty() || (count == 0 && t.type != data_type::undef);
    if (!is_here || !is_followed(t.type, count))
        return {};
    return t.type == data_type::s32   ? numbers_of<std::int32_t>(t)
           : t.type == data_type::f32 ? numbers_of<float>(t)
                                      : numbers_of<std::uint8_t>(t);
}

template <typename T> std::vector<std::uint8_t> elements_of(const values &numbers) {
    return bytes_of(std::vector<T>(numbers.begin(), numbers.end()));
}

/// Calls f(flat index, coordinates) for every element, in order.
template <typename F> void for_each(const memory::dims &dims, const F &f) {
    memory::dims at(dims.size());
    const std::int64_t count = element_count(dims);
    for (std::int64_t i = 0; i < count; i++) {
        f(static_cast<std::size_t>(i), at);
        for (std::size_t d = dims.size(); d-- > 0 && ++at[d] == dims[d];)
            at[d] = 0;
    }
}

/// Flat index of an element of a tensor with these dimensions; sizes of 1 and missing leading ones are broadcast.
std::size_t flat_index(const memory::dims &dims, const memory::dims &at) {
    std::int64_t p = 0;
    for (std::size_t d = 0; d < dims.size(); d++)
        p = p * dims[d] + (dims[d] == 1 ? 0 : at[at.size() - dims.size() + d]);
    return static_cast<std::size_t>(p);
}

using function = double (*)(double, double);

/// Numbers of two numbers; null for other operators. What divides integers truncates, as in ONNX: the quotient of two
/// s32 is no nearer to an integer than 2^-31, so its double is on the same side.
function function_of(const std::string &op, bool of_integers) {
    static const std::map<std::string, function> for_all = {
        {"Add", [](double a, double b) { return a + b; }},
        {"Sub", [](double a, double b) { return a - b; }},
        {"Mul", [](double a, double b) { return a * b; }},
        {"Div", [](double a, double b) { return a / b; }},
        {"Equal", [](double a, double b) -> double { return a == b; }},
        {"Less", [](double a, double b) -> double { return a < b; }},
        {"LessOrEqual", [](double a, double b) -> double { return a <= b; }},
        {"Greater", [](double a, double b) -> double { return a > b; }},
        {"GreaterOrEqual", [](double a, double b) -> double { return a >= b; }},
    };
    static const std::map<std::string, function> for_integers = {
        {"Div", [](double a, double b) { return b == 0 ? 0 : std::trunc(a / b); }},
        {"Mod", [](double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); }},
        {"Min", [](double a, double b) { return std::min(a, b); }},
        {"Max", [](double a, double b) { return std::max(a, b); }},
        {"And", [](double a, double b) -> double { return a != 0 && b != 0; }},
        {"Or", [](double a, double b) -> double { return a != 0 || b != 0; }},
    };
    if (const auto found = for_integers.find(op); of_integers && found != for_integers.end())
        return found->second;
    const auto found = for_all.find(op);
    return found == for_all.end() ? nullptr : found->second;
}

using unary_function = double (*)(double);

/// Numbers of one number; null for other operators.
unary_function unary_function_of(const std::string &op) {
    static const std::map<std::string, unary_function> functions = {
        {"Neg", [](double x) { return -x; }},
        {"Not", [](double x) -> double { return x == 0; }},
        {"Floor", [](double x) { return std::floor(x); }},
        {"Ceil", [](double x) { return std::ceil(x); }},
        {"Sqrt", [](double x) { return std::sqrt(x); }},
    };
    const auto found = functions.find(op);
    return found == functions.end() ? nullptr : found->second;
}

/// One node over known numbers.
class evaluation {
public:
    evaluation(const graph &g, const node &n) : g_(g), n_(n) {}

    std::optional<values> run() {
        const tensor &y = tensor_at(n_.outputs[0]);
        if (!is_followed(y.type, element_count(y.dims)))
            return {};
        if (n_.op == "Shape")
            return shape();
        if (n_.op == "Size")
            return values{static_cast<double>(element_count(dims(0)))};
        if (y.type == data_type::f32 && are_constants()) // another pass's
            return {};
        for (std::size_t i = 0; i < n_.inputs.size(); i++) {
            inputs_.emplace_back();
            if (n_.inputs[i] < 0)
                continue;
            auto v = known_numbers(tensor_at(n_.inputs[i]));
            if (!v)
                return {};
            inputs_.back() = std::move(*v);
        }
        auto result = computed(y.dims);
        if (result)
            for (double &v : *result)
                v = element_of(y.type, v);
        return result;
    }

private:
    bool are_constants() const {
        return std::all_of(n_.inputs.begin(), n_.inputs.end(),
                           [&](int t) { return t < 0 || tensor_at(t).is_constant; });
    }
    bool is_integer(std::size_t input) const { return tensor_at(n_.inputs.at(input)).type != data_type::f32; }

    const tensor &tensor_at(int t) const { return g_.tensors[static_cast<std::size_t>(t)]; }
    const memory::dims &dims(std::size_t i) const { return tensor_at(n_.inputs.at(i)).dims; }
    std::int64_t integer(const std::string &name, std::int64_t fallback) const {
        return attribute_or(n_, name, fallback);
    }

    std::optional<values> computed(const memory::dims &y) const {
        static const char *const moves[] = {"Reshape", "Squeeze",  "Unsqueeze",
                                            "Flatten", "Identity", "Dropout"};
        if (inputs_.empty())
            return {};
        if (n_.op == "ConstantOfShape")
            return values(static_cast<std::size_t>(element_count(y)), constant_of_shape());
        if (std::any_of(std::begin(moves), std::end(moves), [&](const char *m) { return n_.op == m; }))
            return inputs_[0];
        if (n_.op == "Cast")
            return cast();
        if (const function f = function_of(n_.op, is_integer(0)); f && inputs_.size() == 2)
            return filled(y, [&](std::size_t, const memory::dims &at) {
                const double a = inputs_[0][flat_index(dims(0), at)], b = inputs_[1][flat_index(dims(1), at)];
                return is_integer(0) ? in_s32(a, b, f(a, b)) : f(a, b);
            });
        if (const unary_function f = unary_function_of(n_.op))
            return filled(y, [&](std::size_t i, const memory::dims &) { return f(inputs_[0][i]); });
        if (n_.op == "Where" && inputs_.size() == 3)
            return filled(y, [&](std::size_t, const memory::dims &at) {
                const std::size_t chosen = inputs_[0][flat_index(dims(0), at)] != 0 ? 1 : 2;
                return inputs_[chosen][flat_index(dims(chosen), at)];
            });
        if (n_.op == "Expand")
            return moved(y, [&] { return expanded(dims(0), y); });
        if (n_.op == "Range" && inputs_.size() == 3 && is_integer(0)) // of floats, lower/onnx_values.cpp's
            return filled(y, [&](std::size_t i, const memory::dims &) {
                return inputs_[0][0] + static_cast<double>(i) * inputs_[2][0];
            });
        if (n_.op == "ReduceProd" && element_count(y) == 1 && is_integer(0))
            return values{std::accumulate(inputs_[0].begin(), inputs_[0].end(), 1., std::multiplies<>())};
        if (n_.op == "Concat")
            return concat(y);
        if (n_.op == "Gather")
            return gather(y);
        const std::vector<std::int64_t> none;
        if (n_.op == "Slice") // with what the shape function made of its inputs
            return moved(y, [&] {
                return sliced(placed_dims(dims(0)), attribute_or(n_, "begin", none),
                              attribute_or(n_, "stride", none), y);
            });
        if (n_.op == "Transpose")
            return moved(y, [&] { return transposed(placed_dims(dims(0)), attribute_or(n_, "perm", none)); });
        return {};
    }

    /// What an integer function makes of two numbers. A limit of s32 stands for those of INT64, which mean "to the end", and stays.
    double in_s32(double a, double b, double result) const {
        constexpr double lowest = -0x1p31, highest = 0x1p31 - 1;
        const auto is_limit = [](double x) { return x == lowest || x == highest; };
        if (result >= lowest && result <= highest)
            return result;
        if (n_.attributes.count(of_wide_integers) == 0)
            return wrapped(n_.op == "Mul" ? integer_of(a) * integer_of(b) : integer_of(result));
        if (!is_limit(a) && !is_limit(b))
            refuse_as_unimplemented("its result for " + std::to_string(integer_of(a)) + " and " +
                                    std::to_string(integer_of(b)) + " leaves 32 bits, which INT64 has here");
        return std::clamp(result, lowest, highest);
    }

    template <typename F> values filled(const memory::dims &y, const F &f) const {
        values result(static_cast<std::size_t>(element_count(y)));
        for_each(y, [&](std::size_t i, const memory::dims &at) { result[i] = f(i, at); });
        return result;
    }

    /// Elements of input 0, by the map of its operator, which is not made where there are none.
    template <typename Map> values moved(const memory::dims &y, const Map &map) const {
        if (element_count(y) == 0)
            return {};
        const element_map from = map();
        return filled(y, [&](std::size_t, const memory::dims &at) {
            dim_t offset = 0;
            for (std::size_t d = 0; d < at.size(); d++)
                offset += from[d][static_cast<std::size_t>(at[d])];
            return inputs_[0][static_cast<std::size_t>(offset)];
        });
    }

    values shape() const {
        const auto rank = static_cast<std::int64_t>(dims(0).size());
        const auto index = [&](const char *name, std::int64_t fallback) {
            const std::int64_t given = integer(name, fallback);
            return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
        };
        const std::int64_t start = index("start", 0), end = std::max(start, index("end", rank));
        return {dims(0).begin() + start, dims(0).begin() + end};
    }

    double constant_of_shape() const {
        const auto value = n_.attributes.find("value");
        if (value == n_.attributes.end())
            return 0;
        const auto *integer = std::get_if<std::int64_t>(&value->second);
        const auto *real = std::get_if<float>(&value->second);
        return integer ? static_cast<double>(*integer) : real ? static_cast<double>(*real) : 0;
    }

    /// The output's type does what is left; to BOOL, code 9, whether it is not 0. Floats have no low bits, and what does not fit
    /// into the integer is its lowest number.
    std::optional<values> cast() const {
        constexpr std::int64_t f32 = 1, u8 = 2, int64 = 7, boolean = 9;
        const std::int64_t to = integer("to", 0);
        if (to == u8 && !is_integer(0))
            return {};
        const double limit = to == int64 ? 0x1p63 : 0x1p31;
        values result = inputs_[0];
        for (double &v : result)
            v = to == boolean                                              ? v != 0
                : to == f32 || is_integer(0) || (v >= -limit && v < limit) ? v
                                                                           : -limit;
        return result;
    }

    std::size_t axis(std::size_t rank) const {
        const std::int64_t given = integer("axis", 0);
        return static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(rank) : given);
    }

    values concat(const memory::dims &y) const {
        const std::size_t a = axis(y.size());
        return filled(y, [&](std::size_t, memory::dims at) {
            std::size_t k = 0;
            while (at[a] >= dims(k)[a])
                at[a] -= dims(k++)[a];
            std::int64_t p = 0;
            for (std::size_t d = 0; d < y.size(); d++)
                p = p * dims(k)[d] + at[d];
            return inputs_[k][static_cast<std::size_t>(p)];
        });
    }

    /// Nothing if an index is outside: the node itself says so when it is lowered.
    std::optional<values> gather(const memory::dims &y) const {
        const std::size_t a = axis(dims(0).size()), indices = dims(1).size();
        const std::int64_t size = dims(0)[a];
        if (std::any_of(inputs_[1].begin(), inputs_[1].end(), [&](double i) {
                return i < static_cast<double>(-size) || i >= static_cast<double>(size);
            }))
            return {};
        const auto begin = static_cast<std::ptrdiff_t>(a), end = static_cast<std::ptrdiff_t>(a + indices);
        return filled(y, [&](std::size_t, const memory::dims &at) {
            const auto i = static_cast<std::int64_t>(
                inputs_[1][flat_index(dims(1), {at.begin() + begin, at.begin() + end})]);
            std::int64_t p = 0;
            for (std::size_t d = 0; d < dims(0).size(); d++)
                p = p * dims(0)[d] + (d < a ? at[d] : d > a ? at[d + indices - 1] : i < 0 ? i + size : i);
            return inputs_[0][static_cast<std::size_t>(p)];
        });
    }

    const graph &g_;
    const node &n_;
    std::vector<values> inputs_;
};

} // namespace

std::optional<std::vector<std::int64_t>> known_integers(const tensor &t) {
    const auto numbers = t.type == data_type::f32 ? std::nullopt : known_numbers(t);
    return numbers ? std::optional<std::vector<std::int64_t>>({numbers->begin(), numbers->end()})
                   : std::nullopt;
}

void follow_integers(graph &g, const node &n) {
    if (n.outputs.size() != 1)
        return;
    const auto result = evaluation(g, n).run();
    if (!result)
        return;
    tensor &y = g.tensors[static_cast<std::size_t>(n.outputs[0])];
    y.data = y.type == data_type::u8    ? elements_of<std::uint8_t>(*result)
             : y.type == data_type::f32 ? elements_of<float>(*result)
                                        : elements_of<std::int32_t>(*result);
}

} // namespace octet::model
