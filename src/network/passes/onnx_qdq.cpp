// Which float operators become operators on codes, in four passes over the graph; start at `fuse_qdq`.
//
//   1. Weights that are stored as floats and quantized by the network itself are quantized now.
//   2. Moving elements and quantizing commute. A DequantizeLinear goes down through operators that move, a
//      QuantizeLinear up, until they meet the operators that compute.
//   3. DequantizeLinear and QuantizeLinear with equal parameters cancel: (n * s) / s rounds to n for all
//      codes. A Relu or Clip that the quantized range implies is dropped.
//   4. An operator between the two becomes its quantized form.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "network/graph/graph_editor.hpp"
#include "network/passes/onnx_qdq.hpp"

namespace octet::model {
namespace {

/// Codes with their scale and zero point: what a DequantizeLinear reads, or a QuantizeLinear writes.
struct quantized {
    int codes, scale, zero_point;
    std::int64_t axis; ///< of a scale per channel
};

class qdq_fusion {
public:
    explicit qdq_fusion(graph &g) : e_(g) {}

    void run() {
        push_down();
        pull_up();
        for (int i = 0; i < count(); i++)
            drop_implied_limits(i);
        for (int i = 0; i < count(); i++)
            cancel(i);
        for (int i = 0; i < count(); i++)
            fuse(i);
        e_.finish();
    }

private:
    int count() const { return static_cast<int>(e_.node_count()); }
    const node &at(int i) const { return e_.at(i); }
    bool is(int i, const char *op) const { return i >= 0 && !e_.is_removed(i) && at(i).op == op; }
    int input(int i, std::size_t k) const { return k < at(i).inputs.size() ? at(i).inputs[k] : -1; }
    data_type type(int t) const { return e_.tensor_at(t).type; }

    bool is_constant(int t) const { return t >= 0 && e_.tensor_at(t).is_constant; }

    /// Scale and zero point are constants that fit each other and the codes.
    bool is_plain(int i) const {
        const int codes = is(i, "QuantizeLinear") ? at(i).outputs[0] : input(i, 0);
        const int scale = input(i, 1), zero_point = input(i, 2);
        if (!is_constant(scale) || type(scale) != data_type::f32 || at(i).attributes.count("block_size") != 0)
            return false;
        return zero_point < 0 ||
               (is_constant(zero_point) && type(zero_point) == type(codes) &&
                element_count(e_.tensor_at(zero_point).dims) == element_count(e_.tensor_at(scale).dims));
    }
    bool has_one_scale(const quantized &q) const { return element_count(e_.tensor_at(q.scale).dims) == 1; }

    /// What stands behind a float tensor that a DequantizeLinear writes.
    std::optional<quantized> dequantized(int t) const {
        const int i = e_.producer(t);
        if (!is(i, "DequantizeLinear") || !is_plain(i))
            return {};
        return quantized{input(i, 0), input(i, 1), input(i, 2), attribute_or<std::int64_t>(at(i), "axis", 1)};
    }
    /// The same with one scale and 8-bit codes.
    std::optional<quantized> activation(int t) const {
        const auto q = dequantized(t);
        return q && is_code(type(q->codes)) && has_one_scale(*q) ? q : std::nullopt;
    }

    /// The QuantizeLinear that alone reads a tensor; -1.
    int quantizer_of(int t) const {
        const int i = e_.only_consumer(t);
        return is(i, "QuantizeLinear") && is_plain(i) && has_one_scale(written(i)) &&
                       is_code(type(at(i).outputs[0]))
                   ? i
                   : -1;
    }
    quantized written(int i) const { return {at(i).outputs[0], input(i, 1), input(i, 2), 0}; }

    float scale_of(const quantized &q) const { return values_of<float>(e_.tensor_at(q.scale)).at(0); }
    std::int32_t zero_point_of(const quantized &q) const {
        if (q.zero_point < 0)
            return 0;
        const tensor &t = e_.tensor_at(q.zero_point);
        return t.type == data_type::s8   ? values_of<std::int8_t>(t).at(0)
               : t.type == data_type::u8 ? values_of<std::uint8_t>(t).at(0)
                                         : values_of<std::int32_t>(t).at(0);
    }
    bool are_equal(const quantized &a, const quantized &b) const {
        return has_one_scale(a) && has_one_scale(b) && scale_of(a) == scale_of(b) &&
               zero_point_of(a) == zero_point_of(b) && type(a.codes) == type(b.codes);
    }

    int add_constant(const std::string &name, data_type type, const memory::dims &dims,
                     std::vector<std::uint8_t> data) {
        tensor t;
        t.name = name;
        t.type = type;
        t.dims = dims;
        t.is_constant = true;
        t.data = std::move(data);
        return e_.add_tensor(std::move(t));
    }
    /// The zero point as a tensor, also where the node left it out.
    int zero_point_tensor(const quantized &q) {
        if (q.zero_point >= 0)
            return q.zero_point;
        const data_type t = type(q.codes);
        return add_constant("zero", t, {}, std::vector<std::uint8_t>(memory::data_type_size(t)));
    }

    // ---- Moving elements and quantizing commute.

    bool is_one_of(int i, std::initializer_list<const char *> ops) const {
        return at(i).outputs.size() == 1 &&
               std::any_of(ops.begin(), ops.end(), [&](const char *op) { return is(i, op); });
    }
    /// Both directions give the same bytes. A QuantizeLinear goes up only where ONNX Runtime moves it,
    /// because the operator before it then computes on codes.
    bool lets_codes_down(int i) const {
        return is_one_of(i, {"Dropout", "Flatten", "Identity", "MaxPool", "Reshape", "Squeeze", "Transpose",
                             "Unsqueeze"}) ||
               (is_one_of(i, {"Pad"}) && pads_with_zero(at(i)));
    }
    bool lets_codes_up(int i) const {
        return is_one_of(i,
                         {"Dropout", "Identity", "MaxPool", "Reshape", "Squeeze", "Transpose", "Unsqueeze"});
    }
    bool pads_with_zero(const node &n) const {
        if (n.inputs.size() < 3 || n.inputs[2] < 0)
            return n.attributes.count("value") == 0;
        const tensor &value = e_.tensor_at(n.inputs[2]);
        return value.is_constant && value.type == data_type::f32 &&
               values_of<float>(value) == std::vector<float>{0};
    }

    /// The node on codes instead of floats; real zero is the zero point.
    node on_codes(node n, const quantized &q, int src, int dst) {
        n.inputs[0] = src;
        n.outputs = {dst};
        if (n.op == "Pad") {
            n.inputs.resize(3, -1);
            n.inputs[2] = zero_point_tensor(q);
        }
        return n;
    }
    int tensor_like(int t, data_type type) {
        tensor copy = e_.tensor_at(t);
        copy.type = type;
        return e_.add_tensor(std::move(copy));
    }

    /// DequantizeLinear, Move  ->  Move, DequantizeLinear.
    void push_down() {
        for (int i = 0; i < count(); i++) {
            const auto q = lets_codes_down(i) ? activation(input(i, 0)) : std::nullopt;
            if (!q)
                continue;
            const int real = at(i).outputs[0], codes = tensor_like(real, type(q->codes));
            e_.replace(i, on_codes(at(i), *q, q->codes, codes));
            e_.insert_after(i, {"DequantizeLinear", {codes, q->scale, zero_point_tensor(*q)}, {real}, {}});
        }
    }

    /// Move, QuantizeLinear  ->  QuantizeLinear, Move; not for codes, and not where floats come in from
    /// outside.
    void pull_up() {
        for (int i = count(); i-- > 0;) {
            const int quantizer = lets_codes_up(i) ? quantizer_of(at(i).outputs[0]) : -1;
            const int src = quantizer < 0 ? -1 : input(i, 0);
            if (quantizer < 0 || type(src) != data_type::f32 || e_.producer(src) < 0 ||
                e_.only_consumer(src) != i)
                continue;
            const quantized q = written(quantizer);
            const int codes = tensor_like(src, type(q.codes));
            node quantize = at(quantizer), move = on_codes(at(i), q, codes, q.codes);
            quantize.inputs[0] = src;
            quantize.outputs = {codes};
            e_.remove(quantizer);
            e_.replace(i, quantize);
            e_.insert_after(i, move);
        }
    }

    /// DequantizeLinear, QuantizeLinear with equal parameters: readers of the second read what the first
    /// reads.
    void cancel(int i) {
        if (!is(i, "QuantizeLinear") || !is_plain(i))
            return;
        const quantized q = written(i);
        const auto source = activation(input(i, 0));
        if (source && are_equal(*source, q))
            e_.replace(i, {"Identity", {source->codes}, {q.codes}, {}});
    }

    // ---- Limits that the quantized range implies.

    /// The limits of a Relu or Clip; an open end is infinite.
    std::optional<std::pair<float, float>> limits_of(int i) const {
        const float infinity = std::numeric_limits<float>::infinity();
        if (is(i, "Relu"))
            return {{0.f, infinity}};
        if (!is(i, "Clip"))
            return {};
        const auto limit = [&](std::size_t k, const char *name, float open) -> std::optional<float> {
            const auto found = at(i).attributes.find(name);
            if (found != at(i).attributes.end() && std::holds_alternative<float>(found->second))
                return std::get<float>(found->second);
            if (input(i, k) < 0)
                return open;
            const tensor &t = e_.tensor_at(input(i, k));
            if (!t.is_constant || t.type != data_type::f32 || t.data.size() != sizeof(float))
                return {};
            return values_of<float>(t)[0];
        };
        const auto low = limit(1, "min", -infinity), high = limit(2, "max", infinity);
        if (!low || !high)
            return {};
        return {{*low, *high}};
    }

    void drop_implied_limits(int i) {
        const auto limits = limits_of(i);
        const int quantizer = limits ? quantizer_of(at(i).outputs[0]) : -1;
        if (quantizer < 0)
            return;
        const quantized q = written(quantizer);
        const bool is_signed = type(q.codes) == data_type::s8;
        const float lowest = scale_of(q) * static_cast<float>((is_signed ? -128 : 0) - zero_point_of(q)),
                    highest = scale_of(q) * static_cast<float>((is_signed ? 127 : 255) - zero_point_of(q));
        // Scales come out of a division of the range, so the ends meet only nearly. Half a step would still
        // give the same codes.
        const float slack = 1e-5f * scale_of(q);
        if (limits->first > lowest + slack || limits->second < highest - slack)
            return;
        node n = at(quantizer);
        n.inputs[0] = input(i, 0);
        e_.remove(i);
        e_.replace(quantizer, n);
    }

    // ---- Operators that compute.

    void fuse(int i) {
        if (e_.is_removed(i) || at(i).outputs.size() != 1)
            return;
        const std::string op = at(i).op;
        if (op == "Conv")
            fuse_conv(i);
        else if (op == "MatMul")
            fuse_matmul(i);
        else if (op == "Gemm")
            fuse_gemm(i);
        else if (op == "Add" || op == "Mul")
            fuse_binary(i, "QLinear" + op);
        else if (op == "Concat")
            fuse_concat(i);
        else if (op == "AveragePool" || op == "GlobalAveragePool" || op == "LeakyRelu" || op == "Sigmoid" ||
                 op == "Softmax")
            fuse_unary(i, "QLinear" + op);
    }

    void append(std::vector<int> &inputs, const quantized &q) {
        inputs.insert(inputs.end(), {q.codes, q.scale, zero_point_tensor(q)});
    }
    void append_output(std::vector<int> &inputs, const quantized &q) {
        inputs.insert(inputs.end(), {q.scale, zero_point_tensor(q)});
    }

    /// The node takes the place of QuantizeLinear: there all its inputs have been written.
    void replace_by(int i, int quantizer, node n) {
        n.outputs = at(quantizer).outputs;
        n.number = at(i).number;
        e_.remove(i);
        e_.replace(quantizer, std::move(n));
    }

    /// Types that ONNX Runtime's accumulating operators take.
    static bool fits(data_type src, data_type weights) {
        return src == data_type::u8 ? is_code(weights) : src == data_type::s8 && weights == data_type::s8;
    }

    /// Weights with one scale, or one per index of `axis`.
    std::optional<quantized> weights(int t, std::int64_t axis, data_type src) const {
        const auto q = dequantized(t);
        if (!q || !fits(src, type(q->codes)))
            return {};
        const auto rank = static_cast<std::int64_t>(e_.tensor_at(q->codes).dims.size());
        if (!has_one_scale(*q) && (q->axis < 0 ? q->axis + rank : q->axis) != axis)
            return {};
        return q;
    }

    /// The s32 bias: dequantized codes, or floats that are quantized now with the accumulator's scale.
    std::optional<int> bias(int t, const quantized &x, const quantized &w) {
        if (const auto q = dequantized(t))
            return type(q->codes) == data_type::s32 ? std::optional<int>(q->codes) : std::nullopt;
        if (!is_constant(t) || type(t) != data_type::f32)
            return {};
        const std::vector<float> real = values_of<float>(e_.tensor_at(t)),
                                 scales = values_of<float>(e_.tensor_at(w.scale));
        if (scales.size() != 1 && scales.size() != real.size())
            return {};
        std::vector<std::uint8_t> bytes(real.size() * sizeof(std::int32_t));
        for (std::size_t c = 0; c < real.size(); c++) {
            const float scale = scale_of(x) * scales[scales.size() == 1 ? 0 : c];
            const auto code = static_cast<std::int32_t>(
                std::clamp(std::nearbyint(static_cast<double>(real[c] / scale)), -2147483648., 2147483647.));
            std::memcpy(bytes.data() + c * sizeof code, &code, sizeof code);
        }
        return add_constant("quantized bias", data_type::s32, e_.tensor_at(t).dims, std::move(bytes));
    }

    void fuse_conv(int i) {
        const int quantizer = quantizer_of(at(i).outputs[0]);
        const auto x = activation(input(i, 0));
        const auto w = x ? weights(input(i, 1), 0, type(x->codes)) : std::nullopt;
        if (quantizer < 0 || !w || type(x->codes) != type(written(quantizer).codes))
            return;
        node n{"QLinearConv", {}, {}, at(i).attributes};
        append(n.inputs, *x);
        append(n.inputs, *w);
        append_output(n.inputs, written(quantizer));
        if (input(i, 2) >= 0) {
            const auto b = bias(input(i, 2), *x, *w);
            if (!b)
                return;
            n.inputs.push_back(*b);
        }
        replace_by(i, quantizer, std::move(n));
    }

    void fuse_matmul(int i) {
        const int quantizer = quantizer_of(at(i).outputs[0]);
        const auto a = activation(input(i, 0));
        const auto columns = static_cast<std::int64_t>(e_.tensor_at(input(i, 1)).dims.size()) - 1;
        const auto b = a ? weights(input(i, 1), columns, type(a->codes)) : std::nullopt;
        if (!b)
            return;
        if (quantizer < 0) {
            node n{"MatMulIntegerToFloat",
                   {a->codes, b->codes, a->scale, b->scale, zero_point_tensor(*a), zero_point_tensor(*b)},
                   at(i).outputs,
                   {}};
            return e_.replace(i, std::move(n));
        }
        if (type(a->codes) != type(written(quantizer).codes))
            return;
        node n{"QLinearMatMul", {}, {}, {}};
        append(n.inputs, *a);
        append(n.inputs, *b);
        append_output(n.inputs, written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    void fuse_gemm(int i) {
        const int quantizer = quantizer_of(at(i).outputs[0]);
        const auto a = activation(input(i, 0));
        const std::int64_t columns = attribute_or<std::int64_t>(at(i), "transB", 0) != 0 ? 0 : 1;
        const auto b = a ? weights(input(i, 1), columns, type(a->codes)) : std::nullopt;
        const bool has_bias = input(i, 2) >= 0;
        if (!b || (has_bias && attribute_or(at(i), "beta", 1.f) != 1.f) ||
            (quantizer >= 0 && type(a->codes) != type(written(quantizer).codes)))
            return;
        node n{"QGemm", {}, at(i).outputs, at(i).attributes};
        n.attributes.erase("beta");
        append(n.inputs, *a);
        append(n.inputs, *b);
        const auto c = has_bias ? bias(input(i, 2), *a, *b) : std::optional<int>(-1);
        if (!c ||
            (quantizer < 0 && has_bias && !dequantized(input(i, 2)))) // floats stay floats before floats
            return;
        n.inputs.push_back(*c);
        if (quantizer < 0)
            return e_.replace(i, std::move(n));
        append_output(n.inputs, written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    void fuse_binary(int i, const std::string &op) {
        const int quantizer = quantizer_of(at(i).outputs[0]);
        const auto a = activation(input(i, 0)), b = activation(input(i, 1));
        if (quantizer < 0 || !a || !b || type(a->codes) != type(b->codes) ||
            type(a->codes) != type(written(quantizer).codes))
            return;
        node n{op, {}, {}, at(i).attributes};
        append(n.inputs, *a);
        append(n.inputs, *b);
        append_output(n.inputs, written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    void fuse_concat(int i) {
        const int quantizer = quantizer_of(at(i).outputs[0]);
        if (quantizer < 0)
            return;
        node n{"QLinearConcat", {}, {}, at(i).attributes};
        append_output(n.inputs, written(quantizer));
        for (const int t : at(i).inputs) {
            const auto x = activation(t);
            if (!x || type(x->codes) != type(written(quantizer).codes))
                return;
            append(n.inputs, *x);
        }
        replace_by(i, quantizer, std::move(n));
    }

    void fuse_unary(int i, const std::string &op) {
        const int quantizer = quantizer_of(at(i).outputs[0]);
        const auto x = activation(input(i, 0));
        if (quantizer < 0 || !x || type(x->codes) != type(written(quantizer).codes))
            return;
        node n{op, {}, {}, at(i).attributes};
        append(n.inputs, *x);
        append_output(n.inputs, written(quantizer));
        replace_by(i, quantizer, std::move(n));
    }

    graph_editor e_;
};

/// Weights stored as floats with a QuantizeLinear of their own: quantized once, by the operator itself.
void quantize_constants(graph &g, const evaluator &evaluate) {
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        const bool all_constant =
            n.op == "QuantizeLinear" && std::all_of(n.inputs.begin(), n.inputs.end(), [&](int t) {
                return t < 0 || g.tensors[static_cast<std::size_t>(t)].is_constant;
            });
        if (!all_constant)
            continue;
        tensor &y = g.tensors[static_cast<std::size_t>(n.outputs[0])];
        y.data = evaluate(g, n, 0, g.tensors[static_cast<std::size_t>(n.inputs[0])].data, {});
        y.is_constant = true;
        g.nodes.erase(g.nodes.begin() + static_cast<std::ptrdiff_t>(i--));
    }
}

} // namespace

void fuse_qdq(graph &g, const evaluator &evaluate) {
    quantize_constants(g, evaluate);
    make_unsigned(g);
    qdq_fusion(g).run();
}

} // namespace octet::model
