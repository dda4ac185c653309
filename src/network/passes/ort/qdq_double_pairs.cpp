// Two pairs of QuantizeLinear and DequantizeLinear in a row become one, as in ONNX Runtime's DoubleQDQPairsRemover: it
// rounds once, with a range that both have. So files of two modules that each quantize what goes between them do not
// get the bytes that their text says.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "network/passes/ort/ort_graph.hpp"
#include "network/passes/ort/transformers.hpp"

namespace octet::model::ort {
namespace {

struct parameters {
    float scale;
    std::int32_t zero_point;
};

/// The range that both have, in ONNX Runtime's arithmetic; ties of the zero point go away from zero. None if it is empty.
std::optional<parameters> common_range(const parameters &a, const parameters &b, std::int32_t lowest) {
    const auto real = [](const parameters &p, std::int32_t code) {
        return static_cast<float>(code - p.zero_point) * p.scale;
    };
    const std::int32_t highest = lowest + std::numeric_limits<std::uint8_t>::max();
    const float low = std::max(real(a, lowest), real(b, lowest)),
                high = std::min(real(a, highest), real(b, highest));
    const float scale = (high - low) / static_cast<float>(highest - lowest);
    const float zero_point = std::round(static_cast<float>(lowest) - low / scale);
    if (!(scale > 0) || !(zero_point >= static_cast<float>(lowest)) ||
        !(zero_point <= static_cast<float>(highest)))
        return {};
    return parameters{scale, static_cast<std::int32_t>(zero_point)};
}

class double_pairs {
public:
    explicit double_pairs(ort_graph &g) : g_(g) {}

    /// i is the DequantizeLinear of the first pair.
    void merge_behind(int i) {
        if (merged_.count(i) != 0 || !has_parameters(i, "DequantizeLinear"))
            return;
        const int above = g_.producer(g_.input(i, 0)), below = g_.only_consumer(g_.output(i));
        if (!has_parameters(above, "QuantizeLinear") || g_.only_consumer(g_.output(above)) != i ||
            !has_parameters(below, "QuantizeLinear") || !are_a_pair(above, i))
            return;
        const std::vector<int> last = g_.consumers(g_.output(below));
        if (last.empty() || !std::all_of(last.begin(), last.end(), [&](int dq) {
                return has_parameters(dq, "DequantizeLinear") && are_a_pair(below, dq);
            }))
            return;
        const quantized first = g_.written(above), second = g_.written(below);
        if (g_.type(first.codes) != g_.type(second.codes))
            return;
        if (!are_almost_equal(first, second)) {
            const bool is_signed = g_.type(first.codes) == data_type::s8;
            const auto common = common_range({g_.scale_of(first), g_.zero_point_of(first)},
                                             {g_.scale_of(second), g_.zero_point_of(second)},
                                             is_signed ? std::numeric_limits<std::int8_t>::min() : 0);
            if (!common)
                return;
            const quantized merged = add(*common, first.codes);
            set_parameters(above, merged);
            for (const int dq : last)
                set_parameters(dq, merged);
        }
        for (const int dq : last)
            g_.set_input(dq, 0, first.codes);
        merged_.insert(last.begin(), last.end());
        g_.remove(i);
        g_.remove(below);
    }

private:
    // ---- Parameters

    /// Whether a node is one of two and names scale and zero point, both constant and one.
    bool has_parameters(int i, const char *op) const {
        const auto is_one = [&](int t) {
            return t >= 0 && g_.tensor_at(t).dims.size() <= 1 && element_count(g_.tensor_at(t).dims) == 1;
        };
        return g_.is(i, op) && g_.at(i).outputs.size() == 1 && is_one(g_.input(i, 1)) &&
               is_one(g_.input(i, 2)) && g_.is_plain(i) && is_code(g_.type(g_.input(i, 2)));
    }
    bool are_a_pair(int q, int dq) const { return g_.are_equal(g_.written(q), g_.read(dq)); }

    /// ONNX Runtime's question.
    bool are_almost_equal(const quantized &a, const quantized &b) const {
        return g_.zero_point_of(a) == g_.zero_point_of(b) &&
               static_cast<double>(std::abs(g_.scale_of(a) - g_.scale_of(b))) < 1e-20;
    }

    quantized add(const parameters &p, int codes) {
        return {codes, g_.add_constant("scale of two pairs", data_type::f32, {}, bytes_of<float>({p.scale})),
                g_.add_constant("zero point of two pairs", g_.type(codes), {},
                                {static_cast<std::uint8_t>(p.zero_point)}),
                0};
    }
    void set_parameters(int i, const quantized &q) {
        g_.set_input(i, 1, q.scale);
        g_.set_input(i, 2, q.zero_point);
    }

    ort_graph &g_;
    std::set<int> merged_; ///< which another pair behind has to wait for, until the next step
};

} // namespace

void remove_double_pairs(ort_graph &g) {
    double_pairs pairs(g);
    g.for_each([&](int i) { pairs.merge_behind(i); });
}

} // namespace octet::model::ort
