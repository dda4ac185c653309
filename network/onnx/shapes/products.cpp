// Shapes of what broadcasts: matrix products, whose leading dimensions are a batch, and operators that work
// element by element.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/graph/codes.hpp"
#include "network/onnx/shapes/code_types.hpp"
#include "network/onnx/shapes/shapes.hpp"

namespace octet::model::shape {
namespace {

using dims = memory::dims;

/// Types of codes by ONNX's numbers.
constexpr struct {
    std::int64_t number;
    data_type type;
} code_types[] = {{2, data_type::u8},  {3, data_type::s8},  {21, data_type::u4},
                  {22, data_type::s4}, {25, data_type::u2}, {26, data_type::s2}};

void matrix_product(node_shapes &n, std::size_t second, data_type type) {
    dims a = n.dims_of_rank(0, 1), b = n.dims_of_rank(second, 1);
    const bool a_is_vector = a.size() == 1, b_is_vector = b.size() == 1;
    const auto move_batch = [](dims &d) { std::rotate(d.begin(), d.begin() + 1, d.end() - 1); };
    if (n.integer("transBatchA", 0) != 0 && !a_is_vector)
        move_batch(a);
    if (n.integer("transBatchB", 0) != 0 && !b_is_vector)
        move_batch(b);
    if (n.integer("transA", 0) != 0 && !a_is_vector)
        std::swap(a[a.size() - 2], a.back());
    if (n.integer("transB", 0) != 0 && !b_is_vector)
        std::swap(b[b.size() - 2], b.back());
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

} // namespace

void qlinear_matmul(node_shapes &n) { matrix_product(n, 3, n.input(7).type); }

void matmul_integer(node_shapes &n) { matrix_product(n, 1, data_type::s32); }

void matmul_integer_to_float(node_shapes &n) { matrix_product(n, 1, data_type::f32); }

void matmul(node_shapes &n) { matrix_product(n, 1, n.input(0).type); }

void qgemm(node_shapes &n) {
    const bool is_real = !n.has_input(7);
    gemm_product(n, 3, is_real ? data_type::f32 : n.has_input(8) ? n.input(8).type : data_type::u8);
}

void gemm(node_shapes &n) { gemm_product(n, 1, n.input(0).type); }

void same(node_shapes &n) { n.set_output_like(0); }

void binary(node_shapes &n) {
    if (n.input(0).type != n.input(1).type)
        refuse("inputs 0 and 1 are " + type_text(n.input(0)) + " and " + type_text(n.input(1)) +
               ", allowed are equal types");
    n.set_output(n.input(0).type, broadcast(n.dims(0), n.dims(1)));
}

void variadic(node_shapes &n) {
    dims result = n.dims(0);
    for (std::size_t i = 1; i < n.input_count(); i++) {
        if (n.input(i).type != n.input(0).type)
            refuse("inputs 0 and " + std::to_string(i) + " are " + type_text(n.input(0)) + " and " +
                   type_text(n.input(i)) + ", allowed are equal types");
        result = broadcast(result, n.dims(i));
    }
    n.set_output(n.input(0).type, result);
}

/// The exponent has a type of its own.
void power(node_shapes &n) { n.set_output(n.input(0).type, broadcast(n.dims(0), n.dims(1))); }

void comparison(node_shapes &n) { n.set_output(data_type::u8, broadcast(n.dims(0), n.dims(1))); }

/// The output has a truth value (u8) for each element of the input.
void truth(node_shapes &n) { n.set_output(data_type::u8, n.dims(0)); }

void where(node_shapes &n) {
    if (n.input(1).type != n.input(2).type)
        refuse("inputs 1 and 2 are " + type_text(n.input(1)) + " and " + type_text(n.input(2)) +
               ", allowed are equal types");
    n.set_output(n.input(1).type, broadcast(broadcast(n.dims(0), n.dims(1)), n.dims(2)));
}

void qlinear_binary(node_shapes &n) { n.set_output(n.input(0).type, broadcast(n.dims(0), n.dims(3))); }

/// The zero point's type, or without one what the attribute says (from operator set 21 on).
data_type code_type(std::int64_t type) {
    const auto found = std::find_if(std::begin(code_types), std::end(code_types),
                                    [&](const auto &row) { return row.number == type; });
    return found == std::end(code_types) ? data_type::undef : found->type;
}

std::int64_t number_of_code_type(data_type type) {
    return std::find_if(std::begin(code_types), std::end(code_types),
                        [&](const auto &row) { return row.type == type; })
        ->number;
}

void quantize(node_shapes &n) {
    constexpr std::int64_t unsaid = 0;
    const std::int64_t said = n.integer("output_dtype", unsaid);
    data_type type = said == unsaid ? data_type::u8 : code_type(said);
    if (type == data_type::undef)
        refuse_as_unimplemented("attribute 'output_dtype' is type " + std::to_string(said) +
                                ", allowed: UINT8, INT8, UINT4, INT4, UINT2, INT2");
    if (n.has_input(2)) {
        const tensor &zero_point = n.input(2);
        if (code_bits(zero_point.type) == 0)
            refuse_as_unimplemented("its zero point is " + type_text(zero_point) +
                                    ", allowed: u8, s8, u4, s4, u2, s2");
        if (said != unsaid && zero_point.type != type)
            refuse("its zero point is " + type_text(zero_point) + ", attribute 'output_dtype' says " +
                   to_text(type));
        type = zero_point.type;
    }
    n.set_output(type, n.dims(0));
}

void dequantize(node_shapes &n) { n.set_output(data_type::f32, n.dims(0)); }

void dynamic_quantize(node_shapes &n) {
    n.set_output(data_type::u8, n.dims(0));
    n.set_output(data_type::f32, {}, 1);
    n.set_output(data_type::u8, {}, 2);
}

} // namespace octet::model::shape
