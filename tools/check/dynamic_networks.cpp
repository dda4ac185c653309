// ONNX Runtime's products with a dynamic source as networks: what runs is Octet's operators, not the definitions.
// SPDX-License-Identifier: Apache-2.0
#include "check/check.hpp"
#include "check/dynamic_operands.hpp"

namespace octet::vectors {
namespace {

/// Makes the graph of a case. Inputs that the case lacks are absent.
class graph_builder {
public:
    explicit graph_builder(const dynamic_case &c) : case_(c) {
        result_.op = c.contract();
        result_.name = c.name();
        result_.graph.framework = "onnx";
    }

    int input(const char *name) { return add_input(name, false); }
    int constant(const char *name) { return add_input(name, true); }
    /// A recorded output. ONNX's parameters are numbers, the file's have one dimension.
    int output(const char *name, bool is_number = false) {
        const int index = result_.add_output(case_.tensor("outputs", name));
        if (is_number)
            result_.graph.tensors.back().dims = {};
        return index;
    }
    /// A tensor between two nodes.
    int add(const char *name, data_type type, const memory::dims &dims) {
        model::tensor t;
        t.name = name;
        t.type = type;
        t.dims = dims;
        return result_.add(std::move(t));
    }
    void node(const char *op, std::vector<int> inputs, std::vector<int> outputs,
              std::map<std::string, model::attribute> attributes = {}) {
        result_.add_node({op, std::move(inputs), std::move(outputs), std::move(attributes)});
    }
    const memory::dims &dims(int tensor) const {
        return result_.graph.tensors[static_cast<std::size_t>(tensor)].dims;
    }

    operator_case take() { return std::move(result_); }

private:
    int add_input(const char *name, bool is_constant) {
        return case_.has_input(name) ? result_.add_input(case_.tensor("inputs", name), is_constant) : -1;
    }

    const dynamic_case &case_;
    operator_case result_;
};

void quantize_linear(graph_builder &g) {
    const int x = g.input("x");
    g.node("DynamicQuantizeLinear", {x},
           {g.output("y"), g.output("y_scale", true), g.output("y_zero_point", true)});
}

void quantize_matmul(graph_builder &g) {
    const int x = g.input("x"), w = g.constant("w"), scale = g.constant("w_scale"),
              zero_point = g.constant("w_zero_point"), bias = g.constant("bias");
    g.node("DynamicQuantizeMatMul", {x, w, scale, zero_point, bias}, {g.output("y")});
}

void integer_to_float(graph_builder &g) {
    const int a = g.input("a"), w = g.constant("w"), a_scale = g.constant("a_scale"),
              w_scale = g.constant("w_scale"), a_zero_point = g.constant("a_zero_point"),
              w_zero_point = g.constant("w_zero_point"), bias = g.constant("bias");
    g.node("MatMulIntegerToFloat", {a, w, a_scale, w_scale, a_zero_point, w_zero_point, bias},
           {g.output("y")});
}

void integer_chain(graph_builder &g) {
    constexpr std::int64_t to_f32 = 1;
    const int x = g.input("x"), w = g.constant("w"), w_scale = g.constant("w_scale"),
              w_zero_point = g.constant("w_zero_point"), y = g.output("y");
    const int codes = g.add("codes", data_type::u8, g.dims(x)), scale = g.add("scale", data_type::f32, {}),
              zero_point = g.add("zero_point", data_type::u8, {}),
              sums = g.add("sums", data_type::s32, g.dims(y)),
              reals = g.add("reals", data_type::f32, g.dims(y)),
              factor = g.add("factor", data_type::f32, g.dims(w_scale));
    g.node("DynamicQuantizeLinear", {x}, {codes, scale, zero_point});
    g.node("MatMulInteger", {codes, w, zero_point, w_zero_point}, {sums});
    g.node("Cast", {sums}, {reals}, {{"to", to_f32}});
    g.node("Mul", {scale, w_scale}, {factor});
    g.node("Mul", {reals, factor}, {y});
}

const struct {
    const char *contract;
    void (*build)(graph_builder &);
} contracts_of_networks[] = {{"ort_dynamic_quantize_linear", quantize_linear},
                             {"ort_dynamic_quantize_matmul", quantize_matmul},
                             {"ort_matmul_integer_to_float", integer_to_float},
                             {"ort_matmul_integer_chain", integer_chain}};

} // namespace

std::optional<operator_case> network_of(const dynamic_case &c) {
    for (const auto &row : contracts_of_networks)
        if (c.contract() == row.contract) {
            graph_builder g(c);
            row.build(g);
            return g.take();
        }
    return {};
}

} // namespace octet::vectors
