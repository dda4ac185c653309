// Vectors of ONNX Runtime's operators on weights that are quantized in blocks: each case becomes a network of one node,
// or of DequantizeLinear and a product.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "check/check.hpp"

namespace octet::vectors {
namespace {

class blocks_case {
public:
    blocks_case(const json_value &c, const std::vector<std::uint8_t> &blob)
        : params_(c["params"]), inputs_(c["inputs"]), outputs_(c["outputs"]), blob_(blob) {
        case_.op = c["op"].text();
        case_.name = c["name"].text();
        case_.any_nan_is_equal = true;
        case_.graph.framework = "onnx";
    }

    operator_case matmul_nbits() {
        const bool is_constant = flag("weights_constant");
        model::node n{"MatMulNBits",
                      {input("a", false), input("b", is_constant), input("scales", is_constant),
                       input("zero_points", flag("zero_points_constant")), input("g_idx", true),
                       input("bias", is_constant)},
                      {output()},
                      {}};
        for (const char *name : {"K", "N", "bits", "block_size", "accuracy_level"})
            if (params_.has(name))
                n.attributes[name] = integer(name);
        case_.refusal = refusal();
        case_.add_node(std::move(n));
        return std::move(case_);
    }

    operator_case dequantized_matmul() {
        const std::int64_t block = integer("block_size");
        const memory::dims matrix{integer("K"), integer("N")};
        const data_type type = type_of_codes(params_["weight_type"]);
        if (params_.has("session_accuracy_level"))
            case_.how.qdq_nbits_level = integer("session_accuracy_level");
        if (params_.has("session_block_size"))
            case_.how.qdq_nbits_block = integer("session_block_size");
        const int w = case_.add(of_type(constant("w"), type, matrix));
        const int scales = input("scales", true);
        const int zeros =
            inputs_.has("zero_points")
                ? case_.add(of_type(constant("zero_points"), type, case_.graph.tensors[index(scales)].dims))
                : -1;
        model::tensor weights;
        weights.name = "weights";
        weights.type = data_type::f32;
        weights.dims = matrix;
        const int dequantized = case_.add(std::move(weights));
        model::node dq{"DequantizeLinear", {w, scales, zeros}, {dequantized}, {}};
        dq.attributes["axis"] = std::int64_t{block == 0 ? 1 : 0};
        if (block != 0)
            dq.attributes["block_size"] = block;
        const std::string op = params_["node"].text();
        const int a = input("a", false);
        model::node product{op, {a, dequantized, input("bias", true)}, {output()}, {}};
        case_.add_node(std::move(dq));
        case_.add_node(std::move(product));
        return std::move(case_);
    }

    operator_case gather() {
        const data_type type = type_of_codes(params_["data_type"]);
        model::tensor data = constant("data");
        if (type != data_type::u8) // records of codes that share bytes have the bytes of the whole tensor
            data = of_type(std::move(data), type, {integer("rows"), integer("columns")});
        const int table = case_.add(std::move(data)), at = indices(), scales = input("scales", true);
        model::node n{"GatherBlockQuantized", {table, at, scales}, {}, {}};
        if (inputs_.has("zero_points")) {
            model::tensor zeros = constant("zero_points");
            if (type != data_type::u8)
                zeros = of_type(std::move(zeros), type, case_.graph.tensors[index(scales)].dims);
            n.inputs.push_back(case_.add(std::move(zeros)));
        }
        n.outputs = {output()};
        for (const char *name : {"bits", "block_size", "gather_axis", "quantize_axis"})
            n.attributes[name] = integer(name);
        case_.add_node(std::move(n));
        return std::move(case_);
    }

private:
    /// What the specification lists as a defect that must not be imitated: words of the sentence that refuses it.
    std::string refusal() const {
        const bool has_zeros = inputs_.has("zero_points"),
                   are_codes = has_zeros && inputs_["zero_points"]["dtype"].text() == "u8";
        if (inputs_.has("g_idx") && are_codes)
            return "which ONNX Runtime ignores";
        if (has_zeros && case_.op == "MatMulNBits" && params_.has("accuracy_level") &&
            integer("accuracy_level") == 4 && flag("weights_constant") && !flag("zero_points_constant"))
            return "ONNX Runtime does not read it";
        return "";
    }

    static data_type type_of_codes(const json_value &name) {
        for (const data_type type : {data_type::u8, data_type::s8, data_type::u4, data_type::s4})
            if (model::to_text(type) == name.text())
                return type;
        name.fail("is '" + name.text() + "', allowed: u8, s8, u4, s4");
    }

    static std::size_t index(int t) { return static_cast<std::size_t>(t); }
    std::int64_t integer(const char *name) const { return params_[name].as<std::int64_t>(); }
    bool flag(const char *name) const { return integer(name) != 0; }

    static model::tensor of_type(model::tensor t, data_type type, const memory::dims &dims) {
        t.type = type;
        t.dims = dims;
        return t;
    }
    tensor_record input_record(const char *name) const {
        tensor_record t = read_tensor(inputs_[name], blob_);
        t.name = name;
        return t;
    }
    model::tensor constant(const char *name) const { return as_model_tensor(input_record(name), true); }
    int input(const char *name, bool is_constant) {
        return inputs_.has(name) ? case_.add_input(input_record(name), is_constant) : -1;
    }
    /// Networks have s32 for s64.
    int indices() {
        const json_value record = inputs_["indices"];
        if (record["dtype"].text() == "s32")
            return input("indices", false);
        constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
        model::tensor t;
        t.name = "indices";
        t.type = data_type::s32;
        t.dims = record["dims"].list<std::int64_t>();
        const auto offset = static_cast<std::size_t>(record["offset"].integer(0, any)),
                   size = static_cast<std::size_t>(record["nbytes"].integer(0, any));
        if (offset > blob_.size() || size > blob_.size() - offset)
            record.fail("lies outside of the blob");
        for (std::size_t i = 0; i + sizeof(std::int64_t) <= size; i += sizeof(std::int64_t)) {
            std::int64_t value = 0;
            std::memcpy(&value, blob_.data() + offset + i, sizeof value);
            indices_.push_back(static_cast<std::int32_t>(value));
        }
        const int i = case_.add(std::move(t));
        case_.graph.inputs.push_back(i);
        case_.inputs.emplace_back(i, byte_view{reinterpret_cast<const std::uint8_t *>(indices_.data()),
                                               indices_.size() * sizeof(std::int32_t)});
        return i;
    }
    int output() {
        tensor_record y = read_tensor(outputs_["y"], blob_);
        y.name = "y";
        return case_.add_output(y);
    }

    json_value params_, inputs_, outputs_;
    const std::vector<std::uint8_t> &blob_;
    operator_case case_;
    std::vector<std::int32_t> indices_;
};

} // namespace

void replay_nbits_operators(const vector_file &file, const options &opt, report &results) {
    const std::vector<std::uint8_t> blob = file.read_blob();
    for_cases(file, results, [&](const json_value &c, const std::string &op, const std::string &) {
        if (replay_recurrent_case(c, blob, opt, results))
            return;
        blocks_case builder(c, blob);
        replay(op == "MatMulNBits"            ? builder.matmul_nbits()
               : op == "GatherBlockQuantized" ? builder.gather()
                                              : builder.dequantized_matmul(),
               opt, results);
    });
}

} // namespace octet::vectors
