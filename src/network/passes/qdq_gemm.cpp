// ONNX Runtime's MatMulAddFusion, which it does before it looks for codes: the sum decides which operator on codes it
// finds for the product.

#include <algorithm>
#include <vector>

#include "network/passes/qdq_passes.hpp"

namespace octet::model {
namespace {

class gemm_former {
public:
    explicit gemm_former(qdq_graph &g) : g_(g), is_open_(g.get_graph().tensors.size()) {
        for (std::size_t t = 0; t < is_open_.size(); t++)
            is_open_[t] = !g.get_graph().tensors[t].dim_names.empty();
        for (const node &n : g.get_graph().nodes) // in order
            if (std::any_of(n.inputs.begin(), n.inputs.end(), [&](int t) { return is_open(t); }))
                for (const int t : n.outputs)
                    if (t >= 0)
                        is_open_[static_cast<std::size_t>(t)] = true;
    }

    /// The MatMul and the Add that alone reads it become a Gemm, between two Reshapes if A is no matrix.
    void form(int product) {
        const int sum = g_.is(product, "MatMul") ? g_.only_consumer(g_.at(product).outputs[0]) : -1;
        if (!g_.is(sum, "Add"))
            return;
        const int a = g_.input(product, 0), b = g_.input(product, 1),
                  c = g_.input(sum, g_.input(sum, 0) == g_.at(product).outputs[0] ? 1 : 0);
        if (!comes_from_codes(a) || dims(a).empty() || dims(b).size() != 2 || !takes(a, dims(b)[1], c))
            return;
        node gemm{"Gemm", {a, b, c}, g_.at(sum).outputs, {}};
        gemm.number = g_.at(product).number;
        if (dims(a).size() == 2) {
            g_.remove(product);
            g_.replace(sum, std::move(gemm));
            return;
        }
        const dim_t rows = element_count({dims(a).begin(), dims(a).end() - 1});
        const int matrix = add_matrix(a, {rows, dims(b)[0]}),
                  result = add_matrix(gemm.outputs[0], {rows, dims(b)[1]});
        node reshape{"Reshape", {result}, gemm.outputs, {}};
        gemm.inputs[0] = matrix;
        gemm.outputs = {result};
        g_.replace(product, {"Reshape", {a}, {matrix}, {}});
        g_.insert_before(sum, std::move(gemm));
        g_.replace(sum, std::move(reshape));
    }

private:
    const memory::dims &dims(int t) const { return g_.tensor_at(t).dims; }

    /// Whether C broadcasts in one direction, as ONNX Runtime asks: of products of more than two dimensions only where
    /// the file has all of them.
    bool takes(int a, dim_t columns, int c) const {
        if (dims(a).size() != 2)
            return dims(c) == memory::dims{columns} && !is_open(a);
        if (dims(c).size() == 1)
            return dims(c)[0] == columns;
        if (dims(c).size() != 2)
            return false;
        const bool is_row = dims(c)[0] == 1 && dims(c)[1] == columns;
        return is_row || (dims(c)[0] == dims(a)[0] && is_open(a) == is_open(c) &&
                          (dims(c)[1] == 1 || dims(c)[1] == columns));
    }

    /// Others are products of floats, which begin with a row by themselves (float_operators.cpp).
    bool comes_from_codes(int t) const {
        int i = g_.producer(t);
        while (i >= 0 && g_.facts(i).moves != code_move::none)
            i = g_.producer(g_.input(i, 0));
        return g_.is(i, "DequantizeLinear");
    }

    /// Whether a tensor is computed from an input with sizes that the file leaves open.
    bool is_open(int t) const { return t >= 0 && is_open_[static_cast<std::size_t>(t)]; }

    int add_matrix(int like, const memory::dims &dims) {
        tensor t = g_.tensor_at(like);
        t.dims = dims;
        return g_.add_tensor(std::move(t));
    }

    qdq_graph &g_;
    std::vector<bool> is_open_; ///< of the tensors that were there before
};

} // namespace

void form_gemms(qdq_graph &g) {
    gemm_former gemms(g);
    for (int i = 0; i < g.count(); i++)
        gemms.form(i);
}

} // namespace octet::model
