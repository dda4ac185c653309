// What each ONNX operator gives: type and dimensions of its output, from those of its inputs. One small
// function per family and one table; start at the table. Attributes come from a file: every number is limited
// before it enters arithmetic.

#include <algorithm>
#include <cstring>
#include <limits>

#include "network/onnx/shapes.hpp"

namespace octet::model {
namespace {

/// Limit of attributes and of constants that stand for sizes, so that products of two stay inside 64 bits.
constexpr std::int64_t max_size = std::numeric_limits<std::int32_t>::max();

/// One node with its tensors; what an inference function sees.
class node_shapes {
public:
    node_shapes(graph &g, node &n) : g_(g), n_(n) {}

    const std::string &op() const { return n_.op; }
    std::size_t input_count() const { return n_.inputs.size(); }
    bool has_input(std::size_t i) const { return i < n_.inputs.size() && n_.inputs[i] >= 0; }
    const tensor &input(std::size_t i) const {
        if (!has_input(i))
            refuse("input " + std::to_string(i) + " is missing");
        return g_.tensors[static_cast<std::size_t>(n_.inputs[i])];
    }
    const memory::dims &dims(std::size_t i) const { return input(i).dims; }

    /// dims(i), which must have at least `rank` entries.
    const memory::dims &dims_of_rank(std::size_t i, std::size_t rank) const {
        if (dims(i).size() < rank)
            refuse("input " + std::to_string(i) + " (" + to_text(dims(i)) + ") has fewer than " +
                   std::to_string(rank) + " dimensions");
        return dims(i);
    }

    std::int64_t integer(const std::string &name, std::int64_t fallback) const {
        const auto *value = find<std::int64_t>(name, "an integer");
        return limited(value ? *value : fallback, "attribute '" + name + "'");
    }
    std::vector<std::int64_t> integers(const std::string &name,
                                       const std::vector<std::int64_t> &fallback) const {
        const auto *values = find<std::vector<std::int64_t>>(name, "a list of integers");
        if (values && !fallback.empty() && values->size() != fallback.size())
            refuse("attribute '" + name + "' has " + std::to_string(values->size()) +
                   " entries, allowed is " + std::to_string(fallback.size()));
        std::vector<std::int64_t> result = values ? *values : fallback;
        for (const std::int64_t v : result)
            limited(v, "attribute '" + name + "'");
        return result;
    }
    std::string text(const std::string &name, const std::string &fallback) const {
        const auto *value = find<std::string>(name, "a name");
        return value ? *value : fallback;
    }
    bool has_attribute(const std::string &name) const { return n_.attributes.count(name) != 0; }
    void set_attribute(const std::string &name, attribute value) { n_.attributes[name] = std::move(value); }

    /// Values of a constant: a shape, axes, pads.
    std::vector<std::int64_t> constant(std::size_t i) const {
        const tensor &t = input(i);
        if (!t.is_constant || t.type != data_type::s32)
            refuse_as_unimplemented("input " + std::to_string(i) + " ('" + t.name +
                                    "') is computed, allowed are constant integers");
        std::vector<std::int32_t> values(t.data.size() / sizeof(std::int32_t));
        if (!values.empty())
            std::memcpy(values.data(), t.data.data(), t.data.size());
        return {values.begin(), values.end()};
    }

    /// An index into `rank` dimensions; negative ones count from the end.
    std::size_t axis(std::int64_t given, std::size_t rank, std::size_t allowed_beyond = 0) const {
        const auto size = static_cast<std::int64_t>(rank);
        const std::int64_t a = given < 0 ? given + size : given;
        if (a < 0 || a >= size + static_cast<std::int64_t>(allowed_beyond))
            refuse("axis " + std::to_string(given) + " is outside the " + std::to_string(rank) +
                   " dimensions");
        return static_cast<std::size_t>(a);
    }

    void set_output(data_type type, const memory::dims &dims, std::size_t i = 0) {
        if (i >= n_.outputs.size())
            return;
        tensor &t = g_.tensors[static_cast<std::size_t>(n_.outputs[i])];
        t.type = type;
        t.foreign_type.clear();
        t.dims = dims;
    }
    void set_output_like(std::size_t i) {
        const tensor like = input(i);
        set_output(like.type, like.dims);
        if (like.type == data_type::undef)
            g_.tensors[static_cast<std::size_t>(n_.outputs[0])].foreign_type = like.foreign_type;
    }

private:
    template <typename T> const T *find(const std::string &name, const char *kind) const {
        const auto found = n_.attributes.find(name);
        if (found == n_.attributes.end())
            return nullptr;
        const T *value = std::get_if<T>(&found->second);
        if (!value)
            refuse("attribute '" + name + "' is not " + kind);
        return value;
    }
    static std::int64_t limited(std::int64_t value, const std::string &who) {
        if (value < -max_size || value > max_size)
            refuse(who + " is " + std::to_string(value) + ", allowed is up to 2^31 - 1");
        return value;
    }

    graph &g_;
    node &n_;
};

using dims = memory::dims;

dims broadcast(const dims &a, const dims &b) {
    dims result = a.size() < b.size() ? b : a;
    const dims &shorter = a.size() < b.size() ? a : b;
    const std::size_t offset = result.size() - shorter.size();
    for (std::size_t i = 0; i < shorter.size(); i++) {
        dim_t &d = result[offset + i];
        if (d != shorter[i] && d != 1 && shorter[i] != 1)
            refuse("inputs " + to_text(a) + " and " + to_text(b) + " do not broadcast");
        d = d == 1 ? shorter[i] : d;
    }
    return result;
}

// ---- Windows: convolution and pooling.

struct window {
    dims kernel, strides, dilations, pads;
};

/// SAME gives ceil(size / stride) positions; UPPER puts the odd element of padding at the end.
dims same_pads(const dims &sizes, const window &w, bool is_upper) {
    const std::size_t rank = sizes.size();
    dims pads(2 * rank);
    for (std::size_t i = 0; i < rank; i++) {
        const dim_t positions = (sizes[i] + w.strides[i] - 1) / w.strides[i];
        const dim_t total = std::max<dim_t>(0, (positions - 1) * w.strides[i] +
                                                   (w.kernel[i] - 1) * w.dilations[i] + 1 - sizes[i]);
        pads[i] = is_upper ? total / 2 : total - total / 2;
        pads[rank + i] = total - pads[i];
    }
    return pads;
}

void need_positive(const dims &values, const std::string &who) {
    for (const dim_t v : values)
        if (v < 1)
            refuse(who + " is " + std::to_string(v) + ", allowed is 1 or more");
}

/// Reads the window and writes its padding back as plain `pads`.
window resolve_window(node_shapes &n, const dims &spatial, const dims &kernel) {
    const std::size_t rank = spatial.size();
    window w{n.integers("kernel_shape", kernel), n.integers("strides", dims(rank, 1)),
             n.integers("dilations", dims(rank, 1)), n.integers("pads", dims(2 * rank, 0))};
    if (w.kernel.size() != rank)
        refuse("attribute 'kernel_shape' has " + std::to_string(w.kernel.size()) + " entries, allowed is " +
               std::to_string(rank));
    need_positive(w.kernel, "a window's size");
    need_positive(w.strides, "a stride");
    need_positive(w.dilations, "a dilation");
    const std::string automatic = n.text("auto_pad", "NOTSET");
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
        w.pads = same_pads(spatial, w, automatic == "SAME_UPPER");
    else if (automatic == "VALID")
        w.pads.assign(2 * rank, 0);
    else if (automatic != "NOTSET" && !automatic.empty())
        refuse("attribute 'auto_pad' is " + automatic + ", allowed: NOTSET, SAME_UPPER, SAME_LOWER, VALID");
    n.set_attribute("auto_pad", std::string("NOTSET"));
    n.set_attribute("pads", w.pads);
    return w;
}

/// Positions of a window. Rounding up, one that would start behind the image does not count.
dims positions(const dims &spatial, const window &w, bool rounds_up) {
    dims result;
    for (std::size_t i = 0; i < spatial.size(); i++) {
        const dim_t before = w.pads[i], after = w.pads[spatial.size() + i], stride = w.strides[i];
        const dim_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
        const dim_t room = spatial[i] + before + after - extent;
        if (before < 0 || after < 0 || room < 0)
            refuse("a window of " + std::to_string(extent) + " elements does not fit into " +
                   std::to_string(spatial[i]) + " with padding " + std::to_string(before) + " and " +
                   std::to_string(after));
        dim_t count = room / stride + 1;
        if (rounds_up && room % stride != 0 && count * stride < spatial[i] + before)
            count++;
        result.push_back(count);
    }
    return result;
}

/// Where the pixels of an image lie among the dimensions.
struct image {
    dims spatial;
    bool is_channels_last;
    image(const dims &d, bool channels_last)
        : spatial(d.begin() + (channels_last ? 1 : 2), d.end() - (channels_last ? 1 : 0)),
          is_channels_last(channels_last) {}
    dims with(dim_t batch, dim_t channels, const dims &pixels) const {
        dims d = {batch};
        if (!is_channels_last)
            d.push_back(channels);
        d.insert(d.end(), pixels.begin(), pixels.end());
        if (is_channels_last)
            d.push_back(channels);
        return d;
    }
};

void convolution(node_shapes &n, std::size_t weights, data_type type) {
    const dims x = n.dims_of_rank(0, 3), w = n.dims_of_rank(weights, 3);
    if (w.size() != x.size())
        refuse("input " + to_text(x) + " and weights " + to_text(w) + " differ in rank");
    const image src(x, n.integer("channels_last", 0) != 0);
    const window win = resolve_window(n, src.spatial, dims(w.begin() + 2, w.end()));
    if (win.kernel != dims(w.begin() + 2, w.end()))
        refuse("attribute 'kernel_shape' is " + to_text(win.kernel) + ", but the weights are " + to_text(w));
    n.set_output(type, src.with(x[0], w[0], positions(src.spatial, win, false)));
}

void qlinear_conv(node_shapes &n) { convolution(n, 3, n.input(7).type); }
void conv_integer(node_shapes &n) { convolution(n, 1, data_type::s32); }
void conv(node_shapes &n) { convolution(n, 1, n.input(0).type); }

void pooling(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 3);
    const image src(x, n.integer("channels_last", 0) != 0);
    const dim_t channels = src.is_channels_last ? x.back() : x[1];
    if (!n.has_attribute("kernel_shape"))
        refuse("attribute 'kernel_shape' is missing");
    const window w = resolve_window(n, src.spatial, dims());
    n.set_output(n.input(0).type,
                 src.with(x[0], channels, positions(src.spatial, w, n.integer("ceil_mode", 0) != 0)));
}

void global_pooling(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 3);
    const image src(x, n.integer("channels_last", 0) != 0);
    n.set_output(n.input(0).type,
                 src.with(x[0], src.is_channels_last ? x.back() : x[1], dims(src.spatial.size(), 1)));
}

// ---- Matrix products.

void matrix_product(node_shapes &n, std::size_t second, data_type type) {
    dims a = n.dims_of_rank(0, 1), b = n.dims_of_rank(second, 1);
    const bool a_is_vector = a.size() == 1, b_is_vector = b.size() == 1;
    if (a_is_vector)
        a.insert(a.begin(), 1);
    if (b_is_vector)
        b.push_back(1);
    if (a.back() != b[b.size() - 2])
        refuse("matrices " + to_text(a) + " and " + to_text(b) + " do not fit together");
    dims result = broadcast(dims(a.begin(), a.end() - 2), dims(b.begin(), b.end() - 2));
    if (!a_is_vector)
        result.push_back(a[a.size() - 2]);
    if (!b_is_vector)
        result.push_back(b.back());
    n.set_output(type, result);
}

void qlinear_matmul(node_shapes &n) { matrix_product(n, 3, n.input(7).type); }
void matmul_integer(node_shapes &n) { matrix_product(n, 1, data_type::s32); }
void matmul_integer_to_float(node_shapes &n) { matrix_product(n, 1, data_type::f32); }
void float_matmul(node_shapes &n) { matrix_product(n, 1, n.input(0).type); }

void gemm_product(node_shapes &n, std::size_t second, data_type type) {
    dims a = n.dims_of_rank(0, 2), b = n.dims_of_rank(second, 2);
    if (a.size() != 2 || b.size() != 2)
        refuse("A " + to_text(a) + " and B " + to_text(b) + " are no matrices");
    if (n.integer("transA", 0) != 0)
        std::swap(a[0], a[1]);
    if (n.integer("transB", 0) != 0)
        std::swap(b[0], b[1]);
    if (a[1] != b[0])
        refuse("matrices " + to_text(a) + " and " + to_text(b) + " do not fit together");
    n.set_output(type, {a[0], b[1]});
}

void qgemm(node_shapes &n) {
    const bool is_real = !n.has_input(7);
    gemm_product(n, 3, is_real ? data_type::f32 : n.has_input(8) ? n.input(8).type : data_type::u8);
}
void gemm(node_shapes &n) { gemm_product(n, 1, n.input(0).type); }

// ---- Element by element.

void same(node_shapes &n) { n.set_output_like(0); }

void binary(node_shapes &n) { n.set_output(n.input(0).type, broadcast(n.dims(0), n.dims(1))); }
void qlinear_binary(node_shapes &n) { n.set_output(n.input(0).type, broadcast(n.dims(0), n.dims(3))); }

void quantize(node_shapes &n) { n.set_output(n.has_input(2) ? n.input(2).type : data_type::u8, n.dims(0)); }
void dequantize(node_shapes &n) { n.set_output(data_type::f32, n.dims(0)); }
void dynamic_quantize(node_shapes &n) {
    n.set_output(data_type::u8, n.dims(0));
    n.set_output(data_type::f32, {}, 1);
    n.set_output(data_type::u8, {}, 2);
}

// ---- Moving elements.

void join(node_shapes &n, std::size_t first, std::size_t step) {
    dims result = n.dims_of_rank(first, 1);
    if (!n.has_attribute("axis"))
        refuse("attribute 'axis' is missing");
    const std::size_t axis = n.axis(n.integer("axis", 0), result.size());
    for (std::size_t i = first + step; i < n.input_count(); i += step) {
        dims d = n.dims_of_rank(i, 1);
        const dim_t size = d.size() == result.size() ? d[axis] : 0;
        if (d.size() == result.size())
            d[axis] = result[axis];
        if (d != result || n.input(i).type != n.input(first).type)
            refuse("input " + std::to_string(i) + " (" + to_text(n.dims(i)) +
                   ") differs from the first in more than axis " + std::to_string(axis));
        result[axis] += size;
    }
    n.set_output(n.input(first).type, result);
}
void concat(node_shapes &n) { join(n, 0, 1); }
void qlinear_concat(node_shapes &n) { join(n, 2, 3); }

void flatten(node_shapes &n) {
    const dims x = n.dims(0);
    const std::size_t axis = n.axis(n.integer("axis", 1), x.size(), 1);
    const auto middle = x.begin() + static_cast<std::ptrdiff_t>(axis);
    n.set_output(n.input(0).type,
                 {element_count(dims(x.begin(), middle)), element_count(dims(middle, x.end()))});
}

/// 0 keeps a dimension, -1 takes what is left.
void reshape(node_shapes &n) {
    const dims x = n.dims(0);
    const bool zero_is_zero = n.integer("allowzero", 0) != 0;
    dims result = n.constant(1);
    std::int64_t known = 1, unknown = -1;
    if (result.size() > max_ndims)
        refuse("the shape has " + std::to_string(result.size()) + " dimensions, allowed are up to " +
               std::to_string(max_ndims));
    for (std::size_t i = 0; i < result.size(); i++) {
        if (result[i] == 0 && !zero_is_zero && i < x.size())
            result[i] = x[i];
        if (result[i] == -1 && unknown < 0) {
            unknown = static_cast<std::int64_t>(i);
            continue;
        }
        if (result[i] < 0 || (result[i] > 0 && known > max_size / result[i]))
            refuse("the shape " + to_text(n.constant(1)) + " is none");
        known *= result[i];
    }
    if (unknown >= 0)
        result[static_cast<std::size_t>(unknown)] = known > 0 ? element_count(x) / known : 0;
    if (element_count(result) != element_count(x))
        refuse("input " + to_text(x) + " cannot take the shape " + to_text(n.constant(1)));
    n.set_output(n.input(0).type, result);
}

/// An attribute in older operator sets, an input in newer ones.
std::vector<std::int64_t> axes_of(const node_shapes &n) {
    return n.has_input(1) ? n.constant(1) : n.integers("axes", {});
}

void squeeze(node_shapes &n) {
    const dims x = n.dims(0);
    std::vector<bool> drops(x.size());
    const bool drops_all = !n.has_input(1) && !n.has_attribute("axes");
    for (std::size_t i = 0; i < x.size(); i++)
        drops[i] = drops_all && x[i] == 1;
    for (const std::int64_t given : axes_of(n)) {
        const std::size_t axis = n.axis(given, x.size());
        if (x[axis] != 1)
            refuse("axis " + std::to_string(given) + " of " + to_text(x) + " is not 1");
        drops[axis] = true;
    }
    dims result;
    for (std::size_t i = 0; i < x.size(); i++)
        if (!drops[i])
            result.push_back(x[i]);
    n.set_output(n.input(0).type, result);
}

void unsqueeze(node_shapes &n) {
    const std::vector<std::int64_t> axes = axes_of(n);
    const std::size_t rank = n.dims(0).size() + axes.size();
    if (rank > max_ndims)
        refuse("the output has " + std::to_string(rank) + " dimensions, allowed are up to " +
               std::to_string(max_ndims));
    std::vector<bool> is_new(rank);
    for (const std::int64_t given : axes) {
        const std::size_t axis = n.axis(given, rank);
        if (is_new[axis])
            refuse("axis " + std::to_string(given) + " is named twice");
        is_new[axis] = true;
    }
    dims result;
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank; i++)
        result.push_back(is_new[i] ? 1 : n.dims(0)[next++]);
    n.set_output(n.input(0).type, result);
}

void transpose(node_shapes &n) {
    const dims x = n.dims(0);
    dims reversed(x.size());
    for (std::size_t i = 0; i < x.size(); i++)
        reversed[i] = static_cast<dim_t>(x.size() - 1 - i);
    const dims permutation = n.integers("perm", reversed);
    n.set_attribute("perm", permutation);
    std::vector<bool> is_used(x.size());
    dims result;
    for (const std::int64_t from : permutation) {
        const std::size_t axis = n.axis(from, x.size());
        if (from < 0 || is_used[axis])
            refuse("attribute 'perm' is not a permutation of " + std::to_string(x.size()) + " dimensions");
        is_used[axis] = true;
        result.push_back(x[axis]);
    }
    n.set_output(n.input(0).type, result);
}

void pad(node_shapes &n) {
    dims result = n.dims(0);
    const std::vector<std::int64_t> pads = n.has_input(1) ? n.constant(1) : n.integers("pads", {});
    if (n.has_input(3))
        refuse_as_unimplemented("input 3 ('axes') is not supported");
    if (pads.size() != 2 * result.size())
        refuse("the padding has " + std::to_string(pads.size()) + " values, " +
               std::to_string(result.size()) + " dimensions need " + std::to_string(2 * result.size()));
    for (std::size_t i = 0; i < pads.size(); i++) {
        if (pads[i] < 0)
            refuse_as_unimplemented("a padding is " + std::to_string(pads[i]) + ", allowed is 0 or more");
        result[i % result.size()] += pads[i];
    }
    n.set_attribute("pads", pads);
    n.set_output(n.input(0).type, result);
}

const struct {
    const char *op;
    void (*infer)(node_shapes &);
} entries[] = {
    {"Add", binary},
    {"AveragePool", pooling},
    {"Clip", same},
    {"Concat", concat},
    {"Conv", conv},
    {"ConvInteger", conv_integer},
    {"DequantizeLinear", dequantize},
    {"Div", binary},
    {"Dropout", same},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"Elu", same},
    {"Flatten", flatten},
    {"Gemm", gemm},
    {"GlobalAveragePool", global_pooling},
    {"HardSigmoid", same},
    {"HardSwish", same},
    {"Identity", same},
    {"LeakyRelu", same},
    {"MatMul", float_matmul},
    {"MatMulInteger", matmul_integer},
    {"MatMulIntegerToFloat", matmul_integer_to_float},
    {"MaxPool", pooling},
    {"Mul", binary},
    {"Pad", pad},
    {"QGemm", qgemm},
    {"QLinearAdd", qlinear_binary},
    {"QLinearAveragePool", pooling},
    {"QLinearConcat", qlinear_concat},
    {"QLinearConv", qlinear_conv},
    {"QLinearGlobalAveragePool", global_pooling},
    {"QLinearLeakyRelu", same},
    {"QLinearMatMul", qlinear_matmul},
    {"QLinearMul", qlinear_binary},
    {"QLinearSigmoid", same},
    {"QLinearSoftmax", same},
    {"QuantizeLinear", quantize},
    {"Relu", same},
    {"Reshape", reshape},
    {"Sigmoid", same},
    {"Softmax", same},
    {"Squeeze", squeeze},
    {"Sub", binary},
    {"Tanh", same},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
};

auto find_inference(const std::string &op) -> void (*)(node_shapes &) {
    for (const auto &e : entries)
        if (op == e.op)
            return e.infer;
    return nullptr;
}

void check_operators(const graph &g) {
    std::string unknown;
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        if (!find_inference(g.nodes[i].op))
            unknown += (unknown.empty() ? "" : ", ") + node_text(g, i);
    if (!unknown.empty())
        refuse_as_unimplemented("unsupported operators: " + unknown);
}

} // namespace

void infer_onnx_shapes(graph &g) {
    check_operators(g);
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        check_tensor(g, static_cast<int>(t)); // outputs are still scalars
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        try {
            node_shapes n(g, g.nodes[i]);
            find_inference(g.nodes[i].op)(n);
        } catch (const error &e) {
            throw error(e.status, node_text(g, i) + ": " + e.what());
        }
        for (const int output : g.nodes[i].outputs)
            check_tensor(g, output);
    }
}

} // namespace octet::model
