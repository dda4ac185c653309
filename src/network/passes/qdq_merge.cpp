// Two pairs of QuantizeLinear and DequantizeLinear in a row become one, as in ONNX Runtime's DoubleQDQPairsRemover: it
// rounds once, with a range that both have. So files of two modules that each quantize what goes between them do not
// get the bytes that their text says.

#include <algorithm>
#include <cmath>
#include <limits>

#include "network/passes/qdq_passes.hpp"

namespace octet::model {
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
    explicit double_pairs(qdq_graph &g) : g_(g) {}

    /// i is the DequantizeLinear of the first pair.
    void merge_behind(int i) {
        if (!has_parameters(i, "DequantizeLinear"))
            return;
        const int above = writer(g_.input(i, 0)), below = reader(g_.at(i).outputs[0]);
        if (!has_parameters(above, "QuantizeLinear") || reader(g_.at(above).outputs[0]) != i ||
            !has_parameters(below, "QuantizeLinear") || !are_a_pair(above, i))
            return;
        const std::vector<int> last = readers(g_.at(below).outputs[0]);
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
        for (const int dq : last) {
            node n = g_.at(dq);
            n.inputs[0] = first.codes;
            g_.replace(dq, std::move(n));
        }
        g_.remove(i);
        g_.remove(below);
    }

private:
    // ---- Neighbours; operators that do nothing are none, since ONNX Runtime removes them before

    bool does_nothing(int i) const {
        return g_.is(i, "Identity") || (g_.is(i, "Dropout") && g_.at(i).outputs.size() == 1) ||
               (g_.is(i, "Cast") && g_.type(g_.input(i, 0)) == g_.type(g_.at(i).outputs[0]));
    }
    int writer(int t) const {
        int i = g_.producer(t);
        while (does_nothing(i))
            i = g_.producer(g_.input(i, 0));
        return i;
    }
    std::vector<int> readers(int t) const {
        const std::vector<int> &all = g_.consumers(t);
        return all.size() == 1 && does_nothing(all[0]) ? readers(g_.at(all[0]).outputs[0]) : all;
    }
    int reader(int t) const {
        const std::vector<int> all = readers(t);
        return all.size() == 1 ? all[0] : -1;
    }

    // ---- Parameters

    /// Whether a node is one of two and names scale and zero point, both constant and one.
    bool has_parameters(int i, const char *op) const {
        const auto is_one = [&](int t) {
            return t >= 0 && g_.tensor_at(t).dims.size() <= 1 && element_count(g_.tensor_at(t).dims) == 1;
        };
        return g_.is(i, op) && g_.at(i).outputs.size() == 1 && is_one(g_.input(i, 1)) &&
               is_one(g_.input(i, 2)) && g_.is_plain(i) && is_code(g_.type(g_.input(i, 2)));
    }
    quantized read(int dq) const { return {g_.input(dq, 0), g_.input(dq, 1), g_.input(dq, 2), 0}; }
    bool are_a_pair(int q, int dq) const { return g_.are_equal(g_.written(q), read(dq)); }

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
        node n = g_.at(i);
        n.inputs[1] = q.scale;
        n.inputs[2] = q.zero_point;
        g_.replace(i, std::move(n));
    }

    qdq_graph &g_;
};

} // namespace

void merge_double_pairs(qdq_graph &g) {
    double_pairs pairs(g);
    for (int i = 0; i < g.count(); i++)
        pairs.merge_behind(i);
}

} // namespace octet::model
