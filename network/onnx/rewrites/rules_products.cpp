// As `gemm_sum_fusion.cc`, `gemm_transpose_fusion.cc`, `conv_add_fusion.cc`, `conv_mul_fusion.cc`,
// `conv_bn_fusion.cc`, `pad_fusion.cc` and `matmul_bn_fusion.cc` of ONNX Runtime 1.30, levels 1 and 2: what
// follows a product becomes part of it. Constants are f32 with one rounding per operation, as ONNX Runtime
// computes them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

/// Whether a tensor has a float per channel in the file.
bool is_per_channel(const ort_graph &g, tensor_id t, dim_t channels) {
    return g.is_float_constant(t) && element_count(g.dims(t)) == channels;
}

} // namespace

bool is_bias_of_gemm(const ort_graph &g, tensor_id c, tensor_id y) {
    if (!g.is_float(c) || g.rank(c) < 1 || g.rank(c) > 2)
        return false;
    const bool has_columns = g.are_equal(c, g.rank(c) - 1, y, 1);
    if (g.rank(c) == 1)
        return has_columns;
    return (g.has_size(c, 0, 1) && has_columns) ||
           (g.are_equal(c, 0, y, 0) && (g.has_size(c, 1, 1) || has_columns));
}

std::optional<channel_factors> folded_normalization(const ort_graph &g, node_id norm, dim_t channels,
                                                    const std::vector<float> *bias) {
    if (g.at(norm).outputs.size() != 1)
        return {};
    std::vector<float> rows[4]; // scale, shift, mean, variance
    for (std::size_t k = 0; k < 4; k++) {
        const tensor_id row = g.input(norm, k + 1);
        if (!is_per_channel(g, row, channels))
            return {};
        rows[k] = g.values(row);
    }
    const auto &[scale, shift, mean, variance] = rows;
    const float epsilon = g.attribute(norm, "epsilon", 1e-5f);
    channel_factors y{std::vector<float>(scale.size()), std::vector<float>(scale.size())};
    for (std::size_t c = 0; c < scale.size(); c++) {
        const float factor = y.factors[c] = scale[c] / std::sqrt(variance[c] + epsilon);
        y.terms[c] = bias ? ((*bias)[c] - mean[c]) * factor + shift[c] : shift[c] - mean[c] * factor;
    }
    return y;
}

namespace {

/// Gemm without C, and a Sum of two.
void fuse_gemm_sum(ort_graph &g, node_id i) {
    const tensor_id y = g.output(i);
    const node_id sum = g.has_inputs(i, 2) ? g.reader(y, "Sum") : node_id();
    if (!sum || g.at(sum).inputs.size() != 2)
        return;
    const tensor_id c = g.other(sum, y);
    if (!is_bias_of_gemm(g, c, y))
        return;
    node n = g.at(i);
    n.inputs.resize(3, tensor_id());
    n.inputs[2] = c;
    n.attributes["beta"] = 1.f;
    g.become(sum, std::move(n));
    g.remove(i);
}

// ---- Conv and what follows it

/// Shape {o,1,1} or {1,o,1,1} for images of two dimensions.
bool has_channel_shape(const ort_graph &g, tensor_id t, node_id conv) {
    const memory::dims &dims = g.dims(t);
    const std::size_t rank = g.rank(g.output(conv));
    if (dims.size() + 1 != rank && dims.size() != rank)
        return false;
    const std::size_t channel = dims.size() + 1 == rank ? 0 : 1;
    for (std::size_t d = 0; d < dims.size(); d++)
        if (dims[d] != (d == channel ? g.size(g.input(conv, 1), 0) : 1))
            return false;
    return true;
}

class conv_fusion {
public:
    conv_fusion(ort_graph &g, node_id i) : g_(g), i_(i) {
        const tensor_id w = g.input(i, 1), b = g.input(i, 2);
        if (!g.is_float_constant(w) || g.rank(w) < 3)
            return;
        channels_ = g.size(w, 0);
        fits_ = channels_ > 0 && (g.has_inputs(i, 2) || is_per_channel(g, b, channels_));
    }

    void fuse_all() {
        if (!fits_)
            return;
        add();
        multiply();
        normalize();
    }

private:
    /// The only reader of the convolution, as its first operand, with a constant as the second.
    node_id follower(std::string_view op) const {
        const tensor_id y = g_.output(i_);
        const node_id i = g_.reader(y, op);
        return i && g_.input(i, 0) == y && g_.is_float_constant(g_.input(i, 1)) ? i : node_id();
    }

    void add() {
        const node_id sum = follower("Add");
        const tensor_id c = g_.input(sum, 1);
        if (!c || !has_channel_shape(g_, c, i_))
            return;
        std::vector<float> bias = g_.values(c);
        if (g_.input(i_, 2)) {
            const std::vector<float> own = g_.values(g_.input(i_, 2));
            for (std::size_t o = 0; o < bias.size(); o++)
                bias[o] = own[o] + bias[o];
        }
        take(sum, nullptr, &bias);
    }

    void multiply() {
        const node_id product = follower("Mul");
        const tensor_id c = g_.input(product, 1);
        if (!c || !(g_.rank(c) == 0 || has_channel_shape(g_, c, i_)))
            return;
        std::vector<float> factors = g_.values(c);
        factors.resize(static_cast<std::size_t>(channels_), factors[0]);
        if (!g_.input(i_, 2))
            return take(product, &factors, nullptr);
        std::vector<float> bias = g_.values(g_.input(i_, 2));
        for (std::size_t o = 0; o < bias.size(); o++)
            bias[o] *= factors[o];
        take(product, &factors, &bias);
    }

    void normalize() {
        const node_id n = g_.reader(g_.output(i_), "BatchNormalization");
        if (!n || g_.input(n, 0) != g_.output(i_))
            return;
        const tensor_id b = g_.input(i_, 2);
        const std::vector<float> bias = b ? g_.values(b) : std::vector<float>();
        if (const auto folded = folded_normalization(g_, n, channels_, b ? &bias : nullptr); folded)
            take(n, &folded->factors, &folded->terms);
    }

    /// The convolution writes what the follower wrote, with weights times `factors` and another bias.
    void take(node_id follower, const std::vector<float> *factors, const std::vector<float> *bias) {
        node n = g_.at(i_);
        if (factors) {
            const tensor_id w = input_of(n, 1);
            std::vector<float> weights = g_.values(w);
            const std::size_t each = weights.size() / factors->size();
            for (std::size_t k = 0; k < weights.size(); k++)
                weights[k] *= (*factors)[k / each];
            n.inputs[1] = g_.add_floats(g_.tensor_at(w).name, g_.dims(w), weights);
        }
        if (bias) {
            n.inputs.resize(3, tensor_id());
            n.inputs[2] = g_.add_floats("bias", {channels_}, *bias);
        }
        const tensor_numbers outputs = g_.at(follower).outputs;
        g_.remove(follower);
        n.outputs = outputs;
        g_.replace(i_, std::move(n));
    }

    ort_graph &g_;
    const node_id i_;
    bool fits_ = false;
    dim_t channels_ = 0;
};

/// Returns the only reader of a tensor, past a Cast that changes nothing, if it can pad an image itself; else
/// -1. MaxPool pads with -infinity: the result differs then, as in ONNX Runtime.
node_id padding_reader(const ort_graph &g, tensor_id t) {
    node_id i = g.only_consumer(t);
    if (g.is(i, "Cast") && g.is_float(g.output(i)))
        i = g.only_consumer(g.output(i));
    const bool pads = (g.is(i, "Conv") || g.is(i, "MaxPool") || g.is(i, "AveragePool")) &&
                      g.at(i).outputs.size() == 1 &&
                      marks_of(g.at(i)).padding_word.value_or("NOTSET") == "NOTSET";
    return pads && (g.input(i, 0) == t || g.producer(g.input(i, 0)) == g.only_consumer(t)) ? i : node_id();
}

/// Zeros around an image. An average counts them, so one that does not count padding must have none of its own.
void fuse_pad(ort_graph &g, node_id i) {
    const node_id window = padding_reader(g, g.output(i));
    const std::size_t rank = g.rank(g.input(i, 0));
    if (!window || rank < 3 || !g.is_float(g.output(i)) ||
        g.attribute<std::string>(i, "mode", "constant") != "constant" || g.input(i, 3))
        return;
    const tensor_id value = g.input(i, 2);
    const float zero = !value ? g.attribute(i, "value", 0.f) : g.number(value).value_or(1.f);
    if (zero != 0.f || (value ? std::signbit(zero) : !g.has_inputs(i, 2)))
        return;
    std::vector<std::int64_t> added = g.attribute(i, "pads", std::vector<std::int64_t>{});
    if (const tensor_id given = g.input(i, 1); given) {
        const auto integers = g.integers(given);
        if (!integers)
            return;
        added = *integers;
    }
    std::vector<std::int64_t> pads = g.attribute(window, "pads", std::vector<std::int64_t>(2 * rank - 4, 0));
    if (added.size() != 2 * rank || pads.size() != 2 * rank - 4 ||
        std::any_of(added.begin(), added.end(), [](std::int64_t p) { return p < 0; }))
        return;
    for (std::size_t d = 0; d < 2 * rank; d++)
        if (d % rank >= 2)
            pads[d - (d < rank ? 2 : 4)] += added[d];
        else if (added[d] != 0)
            return;
    if (g.is(window, "AveragePool") && g.attribute<std::int64_t>(window, "count_include_pad", 0) == 0) {
        const auto own = g.attribute(window, "pads", std::vector<std::int64_t>{});
        if (std::any_of(own.begin(), own.end(), [](std::int64_t p) { return p != 0; }))
            return;
        g.set_attribute(window, "count_include_pad", std::int64_t{1});
    }
    if (const node_id cast = g.producer(g.input(window, 0)); cast != i)
        g.remove(cast);
    g.set_attribute(window, "pads", pads);
    g.set_input(window, 0, g.input(i, 0));
    g.remove(i);
}

/// Joins a MatMul by a constant matrix and a BatchNormalization. ONNX Runtime overlooks nodes between them
/// that move elements: it takes a channel for a column, wherever the column has gone.
void fuse_matmul_normalization(ort_graph &g, node_id i) {
    const tensor_id b = g.input(i, 1);
    if (!g.is_float_constant(b) || g.rank(b) != 2 || g.rank(g.input(i, 0)) != 2)
        return;
    node_id last = i, n = g.only_consumer(g.output(i));
    for (; g.is(n, "Reshape") || g.is(n, "Transpose"); n = g.only_consumer(g.output(n)))
        last = n;
    const dim_t columns = g.size(b, 1);
    if (!g.is(n, "BatchNormalization") || g.input(n, 0) != g.output(last) || columns < 1)
        return;
    const auto folded = folded_normalization(g, n, columns);
    if (!folded)
        return;
    std::vector<float> matrix = g.values(b);
    for (std::size_t k = 0; k < matrix.size(); k++)
        matrix[k] *= folded->factors[k % folded->factors.size()];
    g.become(i, "Gemm",
             {g.input(i, 0), g.add_floats(g.tensor_at(b).name, g.dims(b), matrix),
              g.add_floats("bias", {columns}, folded->terms)});
    node before = g.at(last);
    before.outputs = {g.output(n)};
    g.remove(n);
    g.replace(last, std::move(before));
}

bool is_matrix_transpose(const ort_graph &g, node_id i) {
    return g.is(i, "Transpose") && g.rank(g.input(i, 0)) == 2 &&
           g.attribute<std::vector<std::int64_t>>(i, "perm", {1, 0}) == std::vector<std::int64_t>{1, 0};
}

/// Whether a tensor comes from a Transpose of a matrix that only Gemms read.
bool reads_for_gemm_alone(const ort_graph &g, tensor_id t) {
    const node_id before = g.writer(t, "Transpose");
    if (!is_matrix_transpose(g, before))
        return false;
    const std::vector<node_id> &readers = g.consumers(t);
    return all_of(readers, [&](node_id r) { return g.is(r, "Gemm"); });
}

} // namespace

void transpose_gemm(ort_graph &g, node_id i) {
    if (!g.is(i, "Gemm"))
        return;
    const std::vector<node_id> &all = g.consumers(g.output(i));
    if (std::count_if(all.begin(), all.end(), [](node_id r) { return r.has_value(); }) > 1)
        return;
    const char *const names[] = {"transA", "transB"};
    for (std::size_t k = 0; k < 2; k++) {
        const tensor_id moved = g.input(i, k);
        if (!reads_for_gemm_alone(g, moved))
            continue;
        g.set_attribute(i, names[k], std::int64_t{g.attribute<std::int64_t>(i, names[k], 0) == 0});
        g.set_input(i, k, g.input(g.producer(moved), 0));
    }
    const node_id behind = g.has_inputs(i, 2) ? g.reader(g.output(i), "Transpose") : node_id();
    if (!is_matrix_transpose(g, behind)) {
        if (reads_for_gemm_alone(g, g.input(i, 2)))
            g.touch(i); // ONNX Runtime makes a new one of it, again and again
        return;
    }
    node n = g.at(i);
    const bool a = g.attribute<std::int64_t>(i, "transA", 0) != 0,
               b = g.attribute<std::int64_t>(i, "transB", 0) != 0;
    std::swap(n.inputs[0], n.inputs[1]);
    n.attributes["transA"] = std::int64_t{!b};
    n.attributes["transB"] = std::int64_t{!a};
    g.become(behind, std::move(n));
    g.remove(i);
}

void fuse_products(ort_graph &g, node_id i) {
    if (g.is(i, "Gemm")) {
        fuse_gemm_sum(g, i);
        transpose_gemm(g, i);
    } else if (g.is(i, "Conv")) {
        conv_fusion(g, i).fuse_all();
    } else if (g.is(i, "Pad")) {
        fuse_pad(g, i);
    } else if (g.is(i, "MatMul")) {
        fuse_matmul_normalization(g, i);
    }
}

} // namespace octet::model::ort
