// A proof by operators: a tensor that depends on the inputs begins with the batch, and every operator on the way computes row n
// of its outputs from row n of its inputs and constants. The file's batch has to be 1, so that a tensor whose first dimension
// is something else is seen at once.

#include "core/rows.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

namespace octet::serve {
namespace {

using model::node;
using model::tensor;
using integers = std::vector<std::int64_t>;

/// A node with what is known of its inputs.
class operation {
public:
    operation(const model::graph &g, const node &n, const std::vector<bool> &depends)
        : g_(g), n_(n), depends_(depends) {}

    std::size_t count() const { return n_.inputs.size(); }
    bool has(std::size_t i) const { return i < count() && n_.inputs[i] >= 0; }
    const tensor &input(std::size_t i) const { return g_.tensors[static_cast<std::size_t>(n_.inputs[i])]; }
    bool depends(std::size_t i) const { return has(i) && depends_[static_cast<std::size_t>(n_.inputs[i])]; }
    std::size_t rank(std::size_t i = 0) const { return input(i).dims.size(); }

    bool only_depends_on_first() const {
        for (std::size_t i = 1; i < count(); i++)
            if (depends(i))
                return false;
        return depends(0);
    }
    /// Of the tensors that depend on the network's inputs: broadcasting would shift the batch of a shorter one.
    bool ranks_are_equal() const {
        std::optional<std::size_t> rank_of_all;
        for (std::size_t i = 0; i < count(); i++)
            if (depends(i) && rank(i) != rank_of_all.value_or(rank(i)))
                return false;
            else if (depends(i))
                rank_of_all = rank(i);
        for (std::size_t i = 0; i < count(); i++) // a longer constant shifts it, too
            if (has(i) && !depends(i) && rank(i) > *rank_of_all)
                return false;
        return true;
    }

    std::int64_t integer(const std::string &name, std::int64_t absent) const {
        const auto found = n_.attributes.find(name);
        const auto *value =
            found == n_.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
        return value ? *value : absent;
    }
    /// Of an attribute or of a constant input, none if there is neither.
    std::optional<integers> list(const std::string &name, std::size_t i) const {
        const auto found = n_.attributes.find(name);
        if (found != n_.attributes.end())
            if (const auto *value = std::get_if<integers>(&found->second))
                return *value;
        if (!has(i) || depends(i) || input(i).type != data_type::s32 ||
            input(i).data.size() != static_cast<std::size_t>(model::element_count(input(i).dims)) * 4)
            return std::nullopt;
        integers values(input(i).data.size() / 4);
        for (std::size_t k = 0; k < values.size(); k++) {
            std::int32_t value = 0;
            std::memcpy(&value, input(i).data.data() + 4 * k, 4);
            values[k] = value;
        }
        return values;
    }

    /// Rows of the output, of which there is one here, begin where groups of four elements do.
    bool has_whole_groups() const {
        return model::element_count(g_.tensors[static_cast<std::size_t>(n_.outputs[0])].dims) % 4 == 0;
    }

    /// The axis is none of the batch's.
    bool is_inner(std::int64_t axis, std::size_t rank) const {
        return axis != 0 && axis != -static_cast<std::int64_t>(rank);
    }
    bool has_inner_axis(std::int64_t absent) const { return is_inner(integer("axis", absent), rank()); }
    bool has_inner_axes(const std::string &name, std::size_t i, std::size_t rank) const {
        const auto axes = list(name, i);
        return axes && !axes->empty() &&
               std::all_of(axes->begin(), axes->end(), [&](std::int64_t a) { return is_inner(a, rank); });
    }

private:
    const model::graph &g_;
    const node &n_;
    const std::vector<bool> &depends_;
};

bool keeps_rows(const operation &o) { return o.ranks_are_equal(); }
bool of_first(const operation &o) { return o.only_depends_on_first(); }
/// What computes the last elements of a tensor, behind groups of four, otherwise than the rest.
bool groups_of_first(const operation &o) { return of_first(o) && o.has_whole_groups(); }
bool keeps_groups(const operation &o) { return keeps_rows(o) && o.has_whole_groups(); }
bool windows(const operation &o) { return o.only_depends_on_first() && o.rank() >= 3; }
bool inner_axis_or_last(const operation &o) {
    return o.only_depends_on_first() && o.rank() >= 2 && o.has_inner_axis(-1);
}
bool inner_axis_or_first(const operation &o) { return o.only_depends_on_first() && o.has_inner_axis(0); }
bool last_axis(const operation &o) { return o.only_depends_on_first() && o.rank() >= 2; }
bool flatten(const operation &o) { return o.only_depends_on_first() && o.integer("axis", 1) >= 1; }
bool reduce(const operation &o) { return o.only_depends_on_first() && o.has_inner_axes("axes", 1, o.rank()); }
bool squeeze(const operation &o) { return reduce(o); }
bool tflite_squeeze(const operation &o) {
    return o.only_depends_on_first() && o.has_inner_axes("squeeze_dims", 1, o.rank());
}
bool unsqueeze(const operation &o) {
    const auto axes = o.list("axes", 1);
    return axes && o.only_depends_on_first() && o.has_inner_axes("axes", 1, o.rank() + axes->size());
}
bool expand_dims(const operation &o) {
    return o.only_depends_on_first() && o.has_inner_axes("axis", 1, o.rank() + 1);
}
bool transpose(const operation &o) {
    const auto order = o.list("perm", 1);
    return order && o.only_depends_on_first() && !order->empty() && order->front() == 0;
}
bool pad(const operation &o) {
    const auto pads = o.list("pads", 1);
    return pads && o.only_depends_on_first() && pads->size() == 2 * o.rank() && pads->front() == 0 &&
           (*pads)[o.rank()] == 0;
}
bool tflite_pad(const operation &o) {
    const auto pads = o.list("paddings", 1); // pairs
    return pads && o.only_depends_on_first() && pads->size() == 2 * o.rank() && (*pads)[0] == 0 &&
           (*pads)[1] == 0;
}
bool tflite_slice(const operation &o) {
    const auto begin = o.list("begin", 1), size = o.list("size", 2);
    return begin && size && o.only_depends_on_first() && !begin->empty() && begin->front() == 0 &&
           size->size() == begin->size() && size->front() == -1;
}
bool strided_slice(const operation &o) {
    const auto strides = o.list("strides", 3);
    const std::int64_t all = o.integer("begin_mask", 0) & o.integer("end_mask", 0),
                       others = o.integer("ellipsis_mask", 0) | o.integer("new_axis_mask", 0) |
                                o.integer("shrink_axis_mask", 0);
    return strides && o.only_depends_on_first() && !strides->empty() && strides->front() == 1 &&
           (all & 1) != 0 && (others & 1) == 0;
}
bool split(const operation &o) { // the axis comes first
    return !o.depends(0) && o.depends(1) && o.has_inner_axes("axis", 0, o.rank(1));
}
bool split_v(const operation &o) {
    return o.only_depends_on_first() && o.has_inner_axes("axis", 2, o.rank());
}
bool pack(const operation &o) {
    for (std::size_t i = 0; i < o.count(); i++)
        if (!o.depends(i) || o.rank(i) != o.rank())
            return false;
    return o.is_inner(o.integer("axis", 0), o.rank() + 1);
}
bool tile(const operation &o) {
    const auto multiples = o.list("repeats", 1);
    return multiples && o.only_depends_on_first() && !multiples->empty() && multiples->front() == 1;
}
bool slice(const operation &o) { return o.only_depends_on_first() && o.has_inner_axes("axes", 3, o.rank()); }
/// All tensors that are joined depend on the inputs: a constant would have one row for all.
bool concatenation(const operation &o) {
    for (std::size_t i = 0; i < o.count(); i++)
        if (o.has(i) && !o.depends(i) && o.rank(i) > 1)
            return false;
    std::size_t i = 0;
    while (i < o.count() && !o.depends(i))
        i++;
    return o.ranks_are_equal() && o.is_inner(o.integer("axis", 1), o.rank(i));
}
bool gather(const operation &o) {
    if (o.depends(0))
        return !o.depends(1) && o.has_inner_axis(0);
    return o.depends(1) && o.integer("axis", 0) == 0 && o.rank(1) >= 1; // rows of a table
}
bool gemm(const operation &o) { return o.only_depends_on_first() && o.integer("transA", 0) == 0; }
/// Matrices of a batch, or one matrix for all.
template <std::size_t b> bool matrices(const operation &o) {
    for (std::size_t i = 0; i < o.count(); i++)
        if (i != 0 && i != b && o.depends(i))
            return false;
    if (!o.depends(b))
        return o.depends(0) && o.rank(0) >= 2 && o.rank(b) <= o.rank(0);
    return o.rank(b) >= 3 && (o.depends(0) ? o.rank(0) == o.rank(b) : o.rank(0) <= o.rank(b));
}
bool batch_matmul(const operation &o) { // with adj_x the batch of a matrix would be summed
    return matrices<1>(o) && (o.rank(0) >= 3 || o.integer("adj_x", 0) == 0);
}
bool where(const operation &o) { return o.ranks_are_equal(); }

using rule = bool (*)(const operation &);

const std::map<std::string, rule> &rules(const std::string &framework) {
    static const std::map<std::string, rule> tflite = {
        {"ABS", of_first},
        {"ADD", keeps_rows},
        {"ARG_MAX", reduce},
        {"ARG_MIN", reduce},
        {"AVERAGE_POOL_2D", windows},
        {"BATCH_MATMUL", batch_matmul},
        {"CONCATENATION", concatenation},
        {"CONV_2D", windows},
        {"DEPTHWISE_CONV_2D", windows},
        {"DEPTH_TO_SPACE", windows},
        {"DEQUANTIZE", of_first},
        {"ELU", of_first},
        {"EXPAND_DIMS", expand_dims},
        {"FULLY_CONNECTED", of_first},
        {"GATHER", gather},
        {"HARD_SWISH", of_first},
        {"L2_NORMALIZATION", last_axis},
        {"LEAKY_RELU", of_first},
        {"LOGISTIC", of_first},
        {"MAXIMUM", keeps_rows},
        {"MAX_POOL_2D", windows},
        {"MEAN", reduce},
        {"MINIMUM", keeps_rows},
        {"MIRROR_PAD", tflite_pad},
        {"MUL", keeps_rows},
        {"PACK", pack},
        {"PAD", tflite_pad},
        {"PADV2", tflite_pad},
        {"PRELU", of_first},
        {"QUANTIZE", of_first},
        {"REDUCE_MAX", reduce},
        {"REDUCE_MIN", reduce},
        {"RELU", of_first},
        {"RELU6", of_first},
        {"RESHAPE", of_first},
        {"RESIZE_BILINEAR", windows},
        {"RESIZE_NEAREST_NEIGHBOR", windows},
        {"REVERSE_V2", reduce},
        {"RSQRT", of_first},
        {"SLICE", tflite_slice},
        {"SOFTMAX", last_axis},
        {"SPACE_TO_DEPTH", windows},
        {"SPLIT", split},
        {"SPLIT_V", split_v},
        {"SQUARED_DIFFERENCE", keeps_rows},
        {"SQUEEZE", tflite_squeeze},
        {"STRIDED_SLICE", strided_slice},
        {"SUB", keeps_rows},
        {"SUM", reduce},
        {"TANH", of_first},
        {"TILE", tile},
        {"TRANSPOSE", transpose},
        {"UNPACK", inner_axis_or_first},
    };
    static const std::map<std::string, rule> onnx = [] {
        std::map<std::string, rule> rows = {
            {"Flatten", flatten},
            {"Gemm", gemm},
            {"QGemm", gemm},
            {"MatMul", matrices<1>},
            {"MatMulInteger", matrices<1>},
            {"MatMulIntegerToFloat", matrices<1>},
            {"QLinearMatMul", matrices<3>},
            {"Softmax", inner_axis_or_last},
            {"QLinearSoftmax", inner_axis_or_last},
            {"LayerNormalization", inner_axis_or_last},
            {"SkipLayerNormalization", keeps_rows},
            {"ArgMax", inner_axis_or_first},
            {"Split", inner_axis_or_first},
            {"Concat", concatenation},
            {"QLinearConcat", concatenation},
            {"Transpose", transpose},
            {"Squeeze", squeeze},
            {"Unsqueeze", unsqueeze},
            {"Pad", pad},
            {"Slice", slice},
            {"Gather", gather},
            {"Reshape", of_first},
        };
        for (const char *op : {"Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less",
                               "LessOrEqual", "Mul", "Or", "Pow", "Sub", "QLinearAdd", "QLinearMul"})
            rows[op] = keeps_rows;
        rows["Where"] = where;
        rows["Elu"] = groups_of_first;
        rows["Max"] = rows["Min"] = keeps_groups;
        for (const char *op : {"Cast", "Clip", "Dropout", "Erf", "Gelu", "HardSigmoid", "HardSwish",
                               "Identity", "LeakyRelu", "Neg", "Not", "Relu", "Sigmoid", "Sqrt", "Tanh",
                               "QLinearSigmoid", "QLinearLeakyRelu", "QuantizeLinear", "DequantizeLinear"})
            rows[op] = of_first;
        for (const char *op :
             {"AveragePool", "BatchNormalization", "Conv", "ConvInteger", "GlobalAveragePool", "MaxPool",
              "QLinearAveragePool", "QLinearConv", "QLinearGlobalAveragePool"})
            rows[op] = windows;
        for (const char *op : {"ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"})
            rows[op] = reduce;
        return rows;
    }();
    return framework == "tflite" ? tflite : onnx;
}

bool begins_with_one(const tensor &t) { return !t.dims.empty() && t.dims.front() == 1; }

} // namespace

std::string why_not_batched(const model::graph &network) {
    const model::graph g = model::source_of(network); // a saved plan's own operators are joined
    if (g.inputs.empty())
        return "it has no inputs";
    std::vector<bool> depends(g.tensors.size());
    for (const int t : g.inputs) {
        const tensor &input = g.tensors[static_cast<std::size_t>(t)];
        if (std::any_of(input.dims.begin(), input.dims.end(), [](dim_t d) { return d < 0; }))
            return "input '" + input.name + "' has an open size";
        if (!begins_with_one(input))
            return "input '" + input.name + "' is " + model::to_text(input.dims) +
                   ", which does not begin with a batch of 1";
        depends[static_cast<std::size_t>(t)] = true;
    }
    for (const tensor &t : g.tensors)
        if (t.is_variable)
            return "it has a state, tensor '" + t.name + "'";
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        const auto is_computed = [&](int t) { return t >= 0 && depends[static_cast<std::size_t>(t)]; };
        if (std::none_of(n.inputs.begin(), n.inputs.end(), is_computed))
            continue;
        const bool is_known = std::all_of(n.outputs.begin(), n.outputs.end(), [&](int t) {
            return t < 0 || !g.tensors[static_cast<std::size_t>(t)].data.empty();
        });
        if (is_known) // integers that follow from sizes, not from values
            continue;
        const auto found = rules(g.framework).find(n.op);
        if (found == rules(g.framework).end() || !found->second(operation(g, n, depends)))
            return model::node_text(g, i) + " is not known to keep the rows of a batch apart";
        for (const int t : n.outputs) {
            if (t < 0)
                continue;
            const tensor &output = g.tensors[static_cast<std::size_t>(t)];
            if (!begins_with_one(output))
                return model::node_text(g, i) + ": output '" + output.name + "' is " +
                       model::to_text(output.dims) + ", which does not begin with the batch";
            depends[static_cast<std::size_t>(t)] = true;
        }
    }
    for (const int t : g.outputs)
        if (!depends[static_cast<std::size_t>(t)])
            return "an output does not depend on the inputs";
    return "";
}

} // namespace octet::serve
