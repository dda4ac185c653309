// Each operator here either picks elements of its inputs, which is a map from the places of the output to places of an
// input, or computes one integer of two. Values are kept inside 32 bits, as the tensors that they end up in are.

#include "network/onnx/known_integers.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

namespace octet::model {
namespace {

using values = std::vector<std::int64_t>;

/// Masks of a long sequence are larger than shapes, but nothing useful is larger than this.
constexpr std::int64_t most_elements = std::int64_t{1} << 22;

std::int64_t limited(std::int64_t value) {
    return std::clamp<std::int64_t>(value, std::numeric_limits<std::int32_t>::min(),
                                    std::numeric_limits<std::int32_t>::max());
}

/// Calls f(place, coordinates) for every element, in order.
template <typename F> void for_each(const memory::dims &dims, const F &f) {
    memory::dims at(dims.size());
    const std::int64_t count = element_count(dims);
    for (std::int64_t i = 0; i < count; i++) {
        f(static_cast<std::size_t>(i), at);
        for (std::size_t d = dims.size(); d-- > 0 && ++at[d] == dims[d];)
            at[d] = 0;
    }
}

/// Place of an element of a tensor with these dimensions; sizes of 1 and missing leading ones are broadcast.
std::size_t place(const memory::dims &dims, const memory::dims &at) {
    std::int64_t p = 0;
    for (std::size_t d = 0; d < dims.size(); d++)
        p = p * dims[d] + (dims[d] == 1 ? 0 : at[at.size() - dims.size() + d]);
    return static_cast<std::size_t>(p);
}

using function = std::int64_t (*)(std::int64_t, std::int64_t);

/// Integers of two integers; null for other operators. Division truncates, as in ONNX.
function function_of(const std::string &op) {
    static const std::map<std::string, function> functions = {
        {"Add", [](std::int64_t a, std::int64_t b) { return a + b; }},
        {"Sub", [](std::int64_t a, std::int64_t b) { return a - b; }},
        {"Mul", [](std::int64_t a, std::int64_t b) { return a * b; }},
        {"Div", [](std::int64_t a, std::int64_t b) { return b == 0 ? 0 : a / b; }},
        {"Min", [](std::int64_t a, std::int64_t b) { return std::min(a, b); }},
        {"Max", [](std::int64_t a, std::int64_t b) { return std::max(a, b); }},
        {"And", [](std::int64_t a, std::int64_t b) -> std::int64_t { return a != 0 && b != 0; }},
        {"Or", [](std::int64_t a, std::int64_t b) -> std::int64_t { return a != 0 || b != 0; }},
        {"Equal", [](std::int64_t a, std::int64_t b) -> std::int64_t { return a == b; }},
        {"Less", [](std::int64_t a, std::int64_t b) -> std::int64_t { return a < b; }},
        {"LessOrEqual", [](std::int64_t a, std::int64_t b) -> std::int64_t { return a <= b; }},
        {"Greater", [](std::int64_t a, std::int64_t b) -> std::int64_t { return a > b; }},
        {"GreaterOrEqual", [](std::int64_t a, std::int64_t b) -> std::int64_t { return a >= b; }},
    };
    const auto found = functions.find(op);
    return found == functions.end() ? nullptr : found->second;
}

/// One node over known integers.
class evaluation {
public:
    evaluation(const graph &g, const node &n) : g_(g), n_(n) {}

    std::optional<values> run() {
        const tensor &y = tensor_at(n_.outputs[0]);
        if ((y.type != data_type::s32 && y.type != data_type::u8) || element_count(y.dims) > most_elements)
            return {};
        if (n_.op == "Shape")
            return shape();
        if (n_.op == "Size")
            return values{limited(element_count(dims(0)))};
        for (std::size_t i = 0; i < n_.inputs.size(); i++) {
            inputs_.emplace_back();
            if (n_.inputs[i] < 0)
                continue;
            auto v = known_integers(tensor_at(n_.inputs[i]));
            if (!v)
                return {};
            inputs_.back() = std::move(*v);
        }
        return computed(y.dims);
    }

private:
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
        if (const function f = function_of(n_.op); f && inputs_.size() == 2)
            return filled(y, [&](std::size_t, const memory::dims &at) {
                return limited(f(inputs_[0][place(dims(0), at)], inputs_[1][place(dims(1), at)]));
            });
        if (n_.op == "Not" || n_.op == "Neg")
            return filled(y, [&](std::size_t i, const memory::dims &) {
                return n_.op == "Neg" ? limited(-inputs_[0][i]) : inputs_[0][i] == 0;
            });
        if (n_.op == "Where" && inputs_.size() == 3)
            return filled(y, [&](std::size_t, const memory::dims &at) {
                const std::size_t chosen = inputs_[0][place(dims(0), at)] != 0 ? 1 : 2;
                return inputs_[chosen][place(dims(chosen), at)];
            });
        if (n_.op == "Expand")
            return filled(
                y, [&](std::size_t, const memory::dims &at) { return inputs_[0][place(dims(0), at)]; });
        if (n_.op == "Range" && inputs_.size() == 3)
            return filled(y, [&](std::size_t i, const memory::dims &) {
                return limited(inputs_[0][0] + static_cast<std::int64_t>(i) * inputs_[2][0]);
            });
        if (n_.op == "Concat")
            return concat(y);
        if (n_.op == "Gather")
            return gather(y);
        if (n_.op == "Slice")
            return slice(y);
        if (n_.op == "Transpose")
            return transpose(y);
        return {};
    }

    template <typename F> values filled(const memory::dims &y, const F &f) const {
        values result(static_cast<std::size_t>(element_count(y)));
        for_each(y, [&](std::size_t i, const memory::dims &at) { result[i] = f(i, at); });
        return result;
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

    std::int64_t constant_of_shape() const {
        const auto value = n_.attributes.find("value");
        const auto *number =
            value == n_.attributes.end() ? nullptr : std::get_if<std::int64_t>(&value->second);
        return number ? *number : 0;
    }

    /// Between integers; to BOOL, code 9, whether it is not 0.
    std::optional<values> cast() const {
        constexpr std::int64_t u8 = 2, s32 = 6, s64 = 7, boolean = 9;
        const std::int64_t to = integer("to", 0);
        if (to != u8 && to != s32 && to != s64 && to != boolean)
            return {};
        values result = inputs_[0];
        for (std::int64_t &v : result)
            v = to == boolean ? v != 0 : to == u8 ? v & 255 : v;
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
        if (std::any_of(inputs_[1].begin(), inputs_[1].end(),
                        [&](std::int64_t i) { return i < -size || i >= size; }))
            return {};
        const auto begin = static_cast<std::ptrdiff_t>(a), end = static_cast<std::ptrdiff_t>(a + indices);
        return filled(y, [&](std::size_t, const memory::dims &at) {
            const std::int64_t i = inputs_[1][place(dims(1), {at.begin() + begin, at.begin() + end})];
            std::int64_t p = 0;
            for (std::size_t d = 0; d < dims(0).size(); d++)
                p = p * dims(0)[d] + (d < a ? at[d] : d > a ? at[d + indices - 1] : i < 0 ? i + size : i);
            return inputs_[0][static_cast<std::size_t>(p)];
        });
    }

    /// With what the shape function made of its inputs.
    std::optional<values> slice(const memory::dims &y) const {
        const auto begin = attribute_or(n_, "begin", values()), stride = attribute_or(n_, "stride", values());
        if (begin.size() != y.size() || stride.size() != y.size())
            return {};
        return filled(y, [&](std::size_t, const memory::dims &at) {
            std::int64_t p = 0;
            for (std::size_t d = 0; d < y.size(); d++)
                p = p * dims(0)[d] + begin[d] + at[d] * stride[d];
            return inputs_[0][static_cast<std::size_t>(p)];
        });
    }

    std::optional<values> transpose(const memory::dims &y) const {
        const auto permutation = attribute_or(n_, "perm", values());
        if (permutation.size() != y.size())
            return {};
        return filled(y, [&](std::size_t, const memory::dims &at) {
            memory::dims from(y.size());
            for (std::size_t d = 0; d < y.size(); d++)
                from[static_cast<std::size_t>(permutation[d])] = at[d];
            std::int64_t p = 0;
            for (std::size_t d = 0; d < y.size(); d++)
                p = p * dims(0)[d] + from[d];
            return inputs_[0][static_cast<std::size_t>(p)];
        });
    }

    const graph &g_;
    const node &n_;
    std::vector<values> inputs_;
};

} // namespace

std::optional<std::vector<std::int64_t>> known_integers(const tensor &t) {
    const std::int64_t count = element_count(t.dims);
    const bool is_here = t.is_constant || !t.data.empty() || (count == 0 && t.type != data_type::undef);
    if (!is_here || count > most_elements)
        return {};
    if (t.type == data_type::s32) {
        const std::vector<std::int32_t> elements = values_of<std::int32_t>(t);
        return values{elements.begin(), elements.end()};
    }
    if (t.type == data_type::u8)
        return values{t.data.begin(), t.data.end()};
    return {};
}

void follow_integers(graph &g, const node &n) {
    if (n.outputs.size() != 1)
        return;
    const auto result = evaluation(g, n).run();
    if (!result)
        return;
    tensor &y = g.tensors[static_cast<std::size_t>(n.outputs[0])];
    if (y.type == data_type::u8) {
        y.data = std::vector<std::uint8_t>(result->begin(), result->end());
        return;
    }
    const std::vector<std::int32_t> elements(result->begin(), result->end());
    std::vector<std::uint8_t> bytes(elements.size() * sizeof(std::int32_t));
    if (!bytes.empty())
        std::memcpy(bytes.data(), elements.data(), bytes.size());
    y.data = std::move(bytes);
}

} // namespace octet::model
