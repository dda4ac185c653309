// As `matmul_add_fusion.cc`, `matmul_integer_to_float.cc`, `dynamic_quantize_matmul_fusion.cc`,
// `matmul_transpose_fusion.cc` and `matmul_scale_fusion.cc` of ONNX Runtime 1.30, levels 1 and 2: products of
// matrices and what stands around them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"
#include "network/onnx/rewrites/transposes.hpp"

namespace octet::model::ort {
namespace {

// ---- MatMul and Add

/// The sum begins with C. A that is no matrix becomes one before, and the result is brought back.
void form_gemm(ort_graph &g, node_id i) {
    const tensor_id y = g.output(i);
    const node_id sum = g.reader(y, "Add");
    const tensor_id a = g.input(i, 0), b = g.input(i, 1), c = g.other(sum, y);
    if (!c || !g.is_float(a) || !g.is_float(c) || g.rank(b) != 2 || g.rank(a) < 1 || g.rank(c) < 1)
        return;
    if (g.rank(a) == 2) {
        if (!is_bias_of_gemm(g, c, y))
            return;
        g.remove(i);
        g.become(sum, "Gemm", {a, b, c});
        return;
    }
    const memory::dims from = g.dims(a);
    const dim_t columns = g.size(b, 1);
    if (!g.is_known(a) || !g.is_known(b) || !g.is_known(c) || g.dims(c) != memory::dims{columns})
        return;
    const dim_t rows = element_count({from.begin(), from.end() - 1});
    const tensor_id matrix = g.add_like(a, {rows, from.back()}), result = g.add_like(y, {rows, columns});
    g.insert_before(sum, {"Reshape", {a}, {matrix}, {}});
    node gemm{"Gemm", {matrix, b, c}, {result}, {}};
    if (from.size() == 1) // no batch has it among others
        set_mark(gemm, &node_marks::sums_rows_alone, true);
    g.insert_before(sum, std::move(gemm));
    g.remove(i);
    g.become(sum, "Reshape", {result});
}

/// Three of a LayerNormalization's readers are products, of which one has a row added at least, and one is a
/// sum, with what is again a sum: the products of an attention, and the one behind it.
void add_attention_products(const ort_graph &g, node_id norm, std::set<node_id> &kept) {
    const tensor_id x = g.output(norm);
    std::vector<node_id> products;
    node_id sum;
    int others = 0;
    for (const node_id r : g.consumers(x))
        if (g.is(r, "MatMul"))
            products.push_back(r);
        else if (g.is(r, "Add") && !sum)
            sum = r;
        else
            others += r.has_value();
    const bool has_row = std::any_of(products.begin(), products.end(), [&](node_id i) {
        return g.rank(g.input(i, 1)) == 2 && g.reader(g.output(i), "Add");
    });
    if (products.size() != 3 || !has_row || !sum || others > 0)
        return;
    const node_id projection = g.writer(g.other(sum, x), "Add");
    if (!projection)
        return;
    kept.insert(products.begin(), products.end());
    for (const tensor_id t : g.inputs(projection))
        if (const node_id last = g.writer(t, "MatMul"); last)
            kept.insert(last);
}

} // namespace

void fuse_matmul_add(ort_graph &g) {
    std::set<node_id> kept;
    g.for_each("LayerNormalization", [&](node_id i) { add_attention_products(g, i, kept); });
    g.for_each("MatMul", [&](node_id i) {
        if (kept.count(i) == 0 || g.rank(g.input(i, 0)) == 2)
            form_gemm(g, i);
    });
}

void fuse_matmul_add_at_level2(ort_graph &g) {
    g.for_each("MatMul", [&](node_id i) { form_gemm(g, i); });
}

// ---- Integers

namespace {

bool is_column_bias(const ort_graph &g, tensor_id t, dim_t columns) {
    const memory::dims &dims = g.dims(t);
    return g.is_float_constant(t) && !dims.empty() && columns > 1 && dims.back() == columns &&
           element_count(dims) == columns;
}

/// MatMulInteger, Cast, and Mul with a product of two scales; then a row of constants.
void form_integer_product(ort_graph &g, node_id i) {
    const node_id cast = g.reader(g.output(i), "Cast");
    const node_id product =
        !cast || !g.is_float(g.output(cast)) ? node_id() : g.reader(g.output(cast), "Mul");
    const node_id factors = g.writer(g.other(product, g.output(cast)), "Mul");
    if (!factors || g.only_consumer(g.output(factors)) != product)
        return;
    const tensor_id first = g.input(factors, 0), second = g.input(factors, 1);
    const memory::dims y = g.dims(g.output(i));
    const dim_t columns = y.empty() ? 0 : y.back();
    if (!g.input(i, 1) || !g.is_float(first) || !g.is_float(second))
        return;
    node n{"MatMulIntegerToFloat",
           {g.input(i, 0), g.input(i, 1), first, second, g.input(i, 2), g.input(i, 3)}, // in the file's order
           {},
           {}};
    const node_id sum = g.reader(g.output(product), "Add");
    const tensor_id row = g.other(sum, g.output(product));
    const bool has_bias = row && is_column_bias(g, row, columns);
    if (has_bias)
        n.inputs.push_back(g.rank(row) == 1
                               ? row
                               : g.add_constant("bias", data_type::f32, {columns}, bytes_of(g.values(row))));
    g.remove(cast);
    g.remove(factors);
    g.remove(i);
    if (has_bias)
        g.remove(product);
    const node_id last = has_bias ? sum : product;
    g.become(last, std::move(n));
    g.give_shape(g.output(last), y); // a row may have had more dimensions
}

} // namespace

void fuse_matmul_integer_to_float(ort_graph &g) {
    g.for_each("MatMulInteger", [&](node_id i) { form_integer_product(g, i); });
}

/// A DynamicQuantizeLinear that nobody else reads.
void fuse_dynamic_quantize_matmul(ort_graph &g) {
    g.for_each("MatMulIntegerToFloat", [&](node_id i) {
        const node_id quantize = g.writer(g.input(i, 0), "DynamicQuantizeLinear");
        if (!quantize ||
            g.at(quantize).outputs != tensor_numbers{g.input(i, 0), g.input(i, 2), g.input(i, 4)})
            return;
        for (const tensor_id t : g.outputs(quantize))
            if (g.only_consumer(t) != i)
                return;
        const tensor_numbers inputs = {g.input(quantize, 0), g.input(i, 1), g.input(i, 3), g.input(i, 5),
                                       g.input(i, 6)};
        g.remove(quantize);
        g.become(i, "DynamicQuantizeMatMul", inputs);
    });
}

namespace {

bool has_scales(const ort_graph &g, node_id i) {
    return g.is(i, "MatMulIntegerToFloat") && g.input(i, 1) && g.input(i, 2) && g.input(i, 3);
}

/// No dimensions, or one of size 1.
bool is_single(const ort_graph &g, tensor_id t) { return g.rank(t) <= 1 && element_count(g.dims(t)) == 1; }

/// True if the kernel takes `scale` for B: one number, one per column, or one per column of each matrix.
bool fits_columns(const ort_graph &g, tensor_id scale, tensor_id b) {
    if (is_single(g, scale))
        return true;
    memory::dims of_columns = g.dims(b);
    if (of_columns.size() < 2)
        return false;
    if (of_columns.size() == 2 && g.dims(scale) == memory::dims{of_columns.back()})
        return true;
    of_columns[of_columns.size() - 2] = 1;
    return g.dims(scale) == of_columns;
}

/// Whether the kernel takes the scales the other way round, for their dimensions.
bool are_swapped(const ort_graph &g, tensor_id a, tensor_id b) {
    if (!is_single(g, a))
        return g.rank(a) == 1 || g.last_size(a) != 1;
    return !is_single(g, b) && g.rank(b) > 1 && g.size(b, g.rank(b) - 2) != 1;
}

} // namespace

void order_scales(ort_graph &g, node_id i) {
    if (!has_scales(g, i))
        return;
    const tensor_id a = g.input(i, 2), b = g.input(i, 3);
    const bool is_computed_alone =
        is_single(g, a) && is_single(g, b) && g.is_constant(a) && !g.is_constant(b);
    if (!is_computed_alone && !are_swapped(g, a, b))
        return;
    node n = g.at(i);
    std::swap(n.inputs[2], n.inputs[3]);
    g.replace(i, std::move(n));
}

void split_scales(ort_graph &g, node_id i) {
    if (!has_scales(g, i))
        return;
    const tensor_id y = g.output(i), a = g.input(i, 2), b = g.input(i, 3), bias = g.input(i, 6);
    const bool has_zero = g.number(a) == 0.f || g.number(b) == 0.f,
               are_plain = is_single(g, a) && g.rank(b) <= 1 && fits_columns(g, b, g.input(i, 1));
    if (are_plain && !has_zero && (g.is_constant(a) || g.is_constant(b)))
        return;
    constexpr std::int64_t as_f32 = 1;
    tensor sums = g.tensor_at(y);
    sums.type = data_type::s32;
    const tensor_id whole = g.add_tensor(std::move(sums)), real = g.add_like(y);
    g.insert_before(
        i, {"MatMulInteger", {g.input(i, 0), g.input(i, 1), g.input(i, 4), g.input(i, 5)}, {whole}, {}});
    g.insert_before(i, {"Cast", {whole}, {real}, {{"to", as_f32}}});
    // One scale of A and what fits columns of B are one factor; others come behind the bias.
    std::vector<node> steps;
    const bool is_a_single = is_single(g, a), are_columns = fits_columns(g, b, g.input(i, 1));
    tensor_id factor = is_a_single ? a : are_columns ? b : tensor_id();
    if (is_a_single && are_columns) {
        factor = g.add_like(b);
        g.insert_before(i, {"Mul", {a, b}, {factor}, {}});
    }
    if (factor)
        steps.push_back({"Mul", {factor}, {}, {}});
    if (bias)
        steps.push_back({"Add", {bias}, {}, {}});
    if (!is_a_single)
        steps.push_back({"Mul", {a}, {}, {}});
    if (!are_columns)
        steps.push_back({"Mul", {b}, {}, {}});
    tensor_id x = real;
    for (node &n : steps) {
        n.inputs.insert(n.inputs.begin(), x);
        if (&n == &steps.back())
            return g.become(i, std::move(n));
        x = g.add_like(y);
        n.outputs = {x};
        g.insert_before(i, std::move(n));
    }
}

void split_dynamic_quantize_matmul(ort_graph &g, node_id i) {
    if (!g.is(i, "DynamicQuantizeMatMul"))
        return;
    tensor codes = g.tensor_at(g.input(i, 0)), scale, zero_point;
    codes.type = zero_point.type = data_type::u8;
    scale.type = data_type::f32;
    codes.is_constant = false;
    const tensor_numbers quantized = {g.add_tensor(std::move(codes)), g.add_tensor(std::move(scale)),
                                      g.add_tensor(std::move(zero_point))};
    g.insert_before(i, {"DynamicQuantizeLinear", {g.input(i, 0)}, quantized, {}});
    g.become(i, "MatMulIntegerToFloat",
             {quantized[0], g.input(i, 1), quantized[1], g.input(i, 2), quantized[2], g.input(i, 3),
              g.input(i, 4)});
}

// ---- Transposed operands

namespace {

/// The first MatMul, before operator set 9, is not looked at.
bool is_fusible_product(ort_graph &g, node_id i) {
    constexpr std::int64_t first_opset = 9;
    return g.is(i, "FusedMatMul") || (g.is(i, "MatMul") && g.get_graph().opset >= first_opset);
}

/// The Transposes that a product can do itself: it swaps the last two dimensions, and moves the first one
/// behind the others of the batch.
struct operand_transpose {
    bool swaps, moves_batch;
};

/// None where the last dimension does not stay among the last two, or dimensions of the batch part.
std::optional<operand_transpose> operand_transpose_of(const order &p) {
    const std::size_t rank = p.size();
    const auto last = static_cast<std::int64_t>(rank) - 1;
    if (rank < 2 || (p[rank - 1] != last && p[rank - 2] != last) || (rank > 2 && p[0] > 1))
        return {};
    for (std::size_t d = 0; d + 3 < rank; d++)
        if (p[d] + 1 != p[d + 1])
            return {};
    return operand_transpose{p[rank - 1] != last, rank > 2 && p[0] == 1};
}

constexpr const char *transposed[] = {"transA", "transB"},
                     *batch_transposed[] = {"transBatchA", "transBatchB"};

/// The Transpose that wrote a tensor. A Cast of one becomes a Transpose of a Cast.
node_id transpose_of(ort_graph &g, tensor_id t) {
    const node_id cast = g.writer(t, "Cast");
    const tensor_id codes = !cast ? t : g.input(cast, 0);
    const node_id before = g.writer(codes, "Transpose");
    if (!before || g.is_graph_output(codes) || g.is_graph_output(t) ||
        !operand_transpose_of(meant_order_of(g, before)))
        return {};
    if (!cast)
        return before;
    const order p = meant_order_of(g, before);
    const tensor_id x = g.input(before, 0), floats = g.add_like(x, g.type(t));
    node moved = with_options_of(g.at(cast), "Cast");
    moved.inputs = {x};
    moved.outputs = {floats};
    g.insert_before(cast, std::move(moved));
    g.become(cast, node{"Transpose", {floats}, {}, {{"perm", p}}});
    return cast;
}

/// Takes transposes that move a batch only between operands of equally many dimensions.
void take_transposes(ort_graph &g, node_id i) {
    if (!g.is_float(g.input(i, 0)) || !g.is_float(g.input(i, 1)) || g.input(i, 0) == g.input(i, 1))
        return;
    std::optional<operand_transpose> ways[2];
    for (std::size_t k = 0; k < 2; k++) {
        if (g.attribute<std::int64_t>(i, batch_transposed[k], 0) != 0)
            continue;
        if (const node_id before = transpose_of(g, g.input(i, k)); before)
            ways[k] = operand_transpose_of(meant_order_of(g, before));
    }
    const bool have_equal_ranks = g.rank(g.input(i, 0)) == g.rank(g.input(i, 1));
    for (std::size_t k = 0; k < 2; k++) {
        if (!ways[k] || (ways[k]->moves_batch && !have_equal_ranks))
            continue;
        node n = g.at(i);
        n.op = "FusedMatMul";
        n.inputs[k] = g.input(g.producer(input_of(n, k)), 0);
        if (ways[k]->swaps)
            n.attributes[transposed[k]] = std::int64_t{attribute_or<std::int64_t>(n, transposed[k], 0) == 0};
        if (ways[k]->moves_batch)
            n.attributes[batch_transposed[k]] = std::int64_t{1};
        g.replace(i, std::move(n));
    }
}

} // namespace

void fuse_matmul_transpose(ort_graph &g) {
    g.for_each([&](node_id i) {
        if (is_fusible_product(g, i))
            take_transposes(g, i);
    });
}

/// The first dimension goes behind the others of a batch by a Transpose again.
void split_batch_transpose(ort_graph &g, node_id i) {
    for (std::size_t k = 0; g.is(i, "FusedMatMul") && k < 2; k++) {
        if (g.attribute<std::int64_t>(i, batch_transposed[k], 0) == 0)
            continue;
        node n = g.at(i);
        const tensor_id x = input_of(n, k);
        order p(g.rank(x));
        for (std::size_t d = 0; d < p.size(); d++)
            p[d] = static_cast<std::int64_t>(d + 2 < p.size() ? d + 1 : d + 2 == p.size() ? 0 : d);
        n.inputs[k] = g.add_like(x, permuted(g.dims(x), p));
        n.attributes.erase(batch_transposed[k]);
        g.insert_before(i, {"Transpose", {x}, {n.inputs[k]}, {{"perm", p}}});
        g.replace(i, std::move(n));
    }
}

// ---- Factors

namespace {

struct scaling {
    float factor;
    tensor_id scaled; ///< the other operand
};

/// A product with a constant of one element, or a quotient by it. Of an unknown rank only one without
/// dimensions is small enough.
std::optional<scaling> scaling_of(const ort_graph &g, node_id i) {
    const bool is_quotient = g.is(i, "Div");
    if (!is_quotient && !g.is(i, "Mul"))
        return {};
    for (std::size_t k = is_quotient ? 1 : 0; k < 2; k++) {
        const tensor_id c = g.input(i, k), scaled = g.input(i, 1 - k);
        const auto number = g.number(c);
        if (number && g.is_float(scaled) && g.rank(c) <= (g.has_rank(scaled) ? g.rank(scaled) : 0))
            return scaling{is_quotient ? 1.f / *number : *number, scaled};
    }
    return {};
}

/// Before a product, the rank must be known.
bool is_scaled_tensor(const ort_graph &g, node_id i) {
    const auto found = i ? scaling_of(g, i) : std::nullopt;
    return found && g.has_rank(found->scaled) && g.rank(found->scaled) > 0;
}

/// Factors of the operands, the one that the file has first before the other, and of the product become one,
/// which is not the same to the last bit.
void take_factors(ort_graph &g, node_id i, std::set<node_id> &made) {
    node n = g.at(i);
    if (n.inputs.size() < 2 || !g.is_float(input_of(n, 0)) || !g.is_float(input_of(n, 1)))
        return;
    float alpha = attribute_or(n, "alpha", 1.f);
    bool is_scaled = false;
    const auto take = [&](node_id scale) {
        const auto found = scale ? scaling_of(g, scale) : std::nullopt;
        if (found)
            alpha *= found->factor;
        is_scaled = is_scaled || found;
        return found;
    };
    n.inputs.resize(2);
    const node_id writers[2] = {g.producer(input_of(n, 0)), g.producer(input_of(n, 1))};
    const bool is_second_older = writers[0] && writers[1] && g.is_older(writers[1], writers[0]);
    for (const std::size_t k : {std::size_t(is_second_older), std::size_t(!is_second_older)})
        if (is_scaled_tensor(g, writers[k]))
            n.inputs[k] = take(writers[k])->scaled;
    const node_id follower = g.only_consumer(g.output(i));
    const bool is_behind = follower && take(follower);
    if (!is_scaled)
        return;
    n.op = "FusedMatMul";
    n.attributes["alpha"] = alpha;
    if (is_behind)
        g.remove(i);
    g.become(is_behind ? follower : i, std::move(n));
    made.insert(is_behind ? follower : i);
}

} // namespace

void fuse_matmul_scale(ort_graph &g) {
    std::set<node_id> made; // in this step, which looks at each product once
    g.for_each([&](node_id i) {
        if (made.count(i) == 0 && is_fusible_product(g, i))
            take_factors(g, i, made);
    });
}

} // namespace octet::model::ort
