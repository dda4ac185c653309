// MatMulNBits: floats times a matrix of codes of 2, 4 or 8 bits in blocks, in the orders of ONNX Runtime with
// AVX512-VNNI. Which of three it takes depends on what the file has: rows are rounded to codes as well
// (`block_products`), or the matrix is dequantized, in the order of one that is packed ahead or not
// (`dequantized_products`). What ONNX Runtime computes wrongly is refused.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loops/block_products.hpp"
#include "loops/dequantized_products.hpp"
#include "network/graph/file.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/node_shapes.hpp"

namespace octet::model {
namespace {

constexpr std::size_t codes_input = 1, scales_input = 2, zero_points_input = 3, blocks_input = 4,
                      bias_input = 5;

enum class block_arithmetic { codes, packed, unpacked };

using loops::block_sums;

/// The arithmetic that ONNX Runtime takes, or that Octet's own order has for all blocks. Weights that are no
/// constants, blocks by index and zero points of floats let it dequantize the weights in each run.
block_arithmetic arithmetic_of(bool is_constant, bool is_dequantized, std::int64_t level,
                               const loops::block_shape &s, bool is_one_by_one) {
    if (!is_constant || is_dequantized)
        return block_arithmetic::unpacked;
    if (level == 4)
        return is_one_by_one || loops::block_products::has_order(s.bits, s.block)
                   ? block_arithmetic::codes
                   : block_arithmetic::unpacked;
    return s.bits == 4 ? block_arithmetic::packed : block_arithmetic::unpacked;
}

/// A node whose operands have been checked.
struct block_product_node {
    loops::block_shape shape;
    block_arithmetic arithmetic;
    dim_t rows;
    bool has_single_rows; ///< ONNX Runtime's orders for one row, and for the last of an odd number
    bool is_one_by_one;   ///< Octet's order of blocks
    bool has_float_zero_points;
    std::vector<std::int32_t> blocks_of; ///< of each element of the reduction; empty: neighbours
};

std::int64_t size_attribute(const lowering &l, const char *name) {
    const std::int64_t size = l.integer(name);
    if (size < 1 || size > max_size)
        refuse("attribute '" + std::string(name) + "' is " + std::to_string(size) +
               ", allowed are 1 to 2^31 - 1");
    return size;
}

loops::block_shape read_shape(const lowering &l) {
    const std::int64_t bits = l.integer("bits", 4), block = l.integer("block_size");
    if (bits != 2 && bits != 4 && bits != 8)
        refuse("attribute 'bits' is " + std::to_string(bits) + ", allowed are 2, 4, 8");
    if (block < 16 || block > 256 || (block & (block - 1)) != 0)
        refuse("attribute 'block_size' is " + std::to_string(block) + ", allowed are 16, 32, 64, 128, 256");
    if (const std::int64_t form = l.integer("weight_prepacked", 0); form != 0)
        refuse_as_unimplemented("attribute 'weight_prepacked' is " + std::to_string(form) + ", allowed is 0");
    return {size_attribute(l, "K"), size_attribute(l, "N"), block, static_cast<int>(bits)};
}

void need_dims(const lowering &l, std::size_t i, const memory::dims &expected) {
    if (!l.has_input(i))
        return;
    const memory::dims &given = l.input(i).dims;
    if (given != expected && (i == codes_input || given != memory::dims{element_count(expected)}))
        refuse("input " + std::to_string(i) + " has dimensions " + to_text(given) + ", allowed are " +
               to_text(expected) + (i == codes_input || expected.size() < 2 ? "" : ", or all in one"));
}

bool is_computed(const lowering &l, std::size_t i) { return l.has_input(i) && !l.input(i).is_constant; }

/// The constant input that names a block for each element of the reduction.
std::vector<std::int32_t> read_blocks(const lowering &l, const loops::block_shape &s) {
    if (!l.has_input(blocks_input))
        return {};
    const tensor &t = l.input(blocks_input, {data_type::s32});
    const dim_t padded = s.blocks() * s.block;
    if (t.dims != memory::dims{s.inner} && t.dims != memory::dims{padded})
        refuse("input 4 (g_idx) has dimensions " + to_text(t.dims) + ", allowed are " +
               std::to_string(s.inner) + " or " + std::to_string(padded) + " elements");
    if (s.bits != 4)
        refuse_as_unimplemented("input 4 (g_idx) is given with " + std::to_string(s.bits) +
                                " bits, allowed are 4: ONNX Runtime reads others beyond their end");
    if (l.has_input(zero_points_input) && l.input(zero_points_input).type == data_type::u8)
        refuse_as_unimplemented("input 4 (g_idx) is given with zero points of UINT8, which ONNX Runtime "
                                "ignores; allowed are none, or floats");
    if (!t.is_constant)
        refuse_as_unimplemented("input 4 (g_idx) is computed, allowed is a constant");
    std::vector<std::int32_t> blocks = values_of<std::int32_t>(t);
    for (const std::int32_t b : blocks)
        if (b < 0 || b >= s.blocks())
            refuse("input 4 (g_idx) has " + std::to_string(b) + ", allowed are 0 to " +
                   std::to_string(s.blocks() - 1));
    blocks.resize(static_cast<std::size_t>(s.inner));
    return blocks;
}

block_product_node read_node(const lowering &l) {
    const loops::block_shape s = read_shape(l);
    const tensor &x = l.input(0, {data_type::f32});
    l.output({data_type::f32});
    if (x.dims.empty() || x.dims.back() != s.inner)
        refuse("input 0 has dimensions " + to_text(x.dims) + ", of which the last is not K, " +
               std::to_string(s.inner));
    l.input(codes_input, {data_type::u8});
    l.input(scales_input, {data_type::f32});
    need_dims(l, codes_input, {s.columns, s.blocks(), s.block * s.bits / 8});
    need_dims(l, scales_input, {s.columns, s.blocks()});
    need_dims(l, bias_input, {s.columns});
    if (l.has_input(bias_input))
        l.input(bias_input, {data_type::f32});
    const bool has_float_zero_points =
        l.has_input(zero_points_input) &&
        l.input(zero_points_input, {data_type::u8, data_type::f32}).type == data_type::f32;
    need_dims(l, zero_points_input, {s.columns, has_float_zero_points ? s.blocks() : s.zero_point_bytes()});
    if (has_float_zero_points && s.bits == 8)
        refuse("input 3 (zero_points) has floats with 8 bits, allowed are those of UINT8");
    std::vector<std::int32_t> blocks_of = read_blocks(l, s);
    const block_arithmetic arithmetic =
        arithmetic_of(!is_computed(l, codes_input), has_float_zero_points || !blocks_of.empty(),
                      l.integer("accuracy_level", 0), s, l.marks().sums_blocks_in_order);
    if (arithmetic == block_arithmetic::codes)
        for (const std::size_t i : {scales_input, zero_points_input})
            if (is_computed(l, i))
                refuse_as_unimplemented(
                    "input " + std::to_string(i) +
                    " is computed, allowed is a constant at accuracy level 4: ONNX Runtime "
                    "does not read it");
    return {s,
            arithmetic,
            element_count(x.dims) / s.inner,
            l.marks().sums_rows_alone,
            l.marks().sums_blocks_in_order,
            has_float_zero_points,
            std::move(blocks_of)};
}

/// The bytes of constant weights.
struct constant_weights {
    constant_weights(const lowering &l, bool has_float_zero_points)
        : codes(l.input(codes_input).data), scales(l.input(scales_input).data) {
        if (l.has_input(zero_points_input))
            (has_float_zero_points ? float_zero_points : zero_points) = l.input(zero_points_input).data;
    }
    /// Where scales may lie at any address.
    loops::block_weights view() const {
        return {codes.data(), reinterpret_cast<const float *>(scales.data()), zero_points.data()};
    }

    /// Packs them once for all plans: `pack` gets aligned weights, zero points that are floats, or null, and where to.
    template <typename Products, typename Pack>
    std::shared_ptr<const joint_constants> packed(const lowering &l, const Products &products,
                                                  const Pack &pack) const {
        const auto fill = [weights = *this, pack](void *to) {
            const shared_bytes aligned = aligned_copy(weights.scales.data(), weights.scales.size()),
                               zeros = aligned_copy(weights.float_zero_points.data(),
                                                    weights.float_zero_points.size());
            pack({weights.codes.data(), reinterpret_cast<const float *>(aligned.data()),
                  weights.zero_points.data()},
                 zeros.empty() ? nullptr : reinterpret_cast<const float *>(zeros.data()), to);
        };
        return l.packed_inputs({codes_input, scales_input, zero_points_input}, products.packed_form(),
                               products.packed_bytes(), fill);
    }

    shared_bytes codes, scales, zero_points, float_zero_points;
};

/// What both steps have.
class block_product : public loop_step {
public:
    block_product(const lowering &l, const block_product_node &n)
        : rows_(n.rows), columns_(n.shape.columns), src_(l.input_buffer(0)), dst_(l.output_buffer()) {
        if (l.has_input(bias_input))
            bias_ = l.input_buffer(bias_input);
    }

protected:
    const float *bias(const run_memory &m) const { return bias_ ? m.at<float>(*bias_) : nullptr; }
    std::string size_text() const {
        return std::to_string(rows_) + " rows and " + std::to_string(columns_) + " columns";
    }

    dim_t rows_, columns_;
    buffer src_, dst_;
    std::optional<buffer> bias_;
};

class product_of_codes final : public block_product {
public:
    product_of_codes(const lowering &l, const block_product_node &n)
        : block_product(l, n), block_(n.shape.block),
          products_(n.shape,
                    n.is_one_by_one     ? block_sums::one_by_one
                    : n.has_single_rows ? block_sums::onnxruntime
                                        : block_sums::without_odd_rows,
                    constant_weights(l, false).view()),
          packed_(constant_weights(l, false).packed(
              l, products_,
              [products = products_](const loops::block_weights &w, const float *, void *to) {
                  products.pack(w, to);
              })),
          rounded_(l.scratch(memory::desc({static_cast<dim_t>(products_.rounded_bytes(rows_))}, data_type::u8,
                                          format_tag::a))) {}

    void run(const stream &, const run_memory &m) const override {
        products_.run({m.at<float>(src_), bias(m), m.at<float>(dst_), packed_->bytes.get(),
                       m.at<std::uint8_t>(rounded_)},
                      rows_);
    }
    std::string explain() const override {
        return "a loop with " + std::string(products_.instructions()) + ", rounded in blocks of " +
               std::to_string(block_) + ", over " + size_text();
    }

private:
    dim_t block_;
    loops::block_products products_;
    std::shared_ptr<const joint_constants> packed_;
    buffer rounded_;
};

class product_of_dequantized final : public block_product {
public:
    product_of_dequantized(const lowering &l, const block_product_node &n)
        : block_product(l, n), is_packed_ahead_(n.arithmetic == block_arithmetic::packed),
          has_float_zero_points_(n.has_float_zero_points),
          products_(n.shape,
                    is_packed_ahead_ ? loops::dequantized_order::packed : loops::dequantized_order::unpacked,
                    n.has_float_zero_points || !n.blocks_of.empty() ? loops::dequantization::of_codes
                                                                    : loops::dequantization::of_differences,
                    n.has_single_rows, n.blocks_of) {
        if (!is_computed(l, codes_input) && !is_computed(l, scales_input) &&
            !is_computed(l, zero_points_input)) {
            packed_ = constant_weights(l, has_float_zero_points_)
                          .packed(l, products_,
                                  [products = products_](const loops::block_weights &w,
                                                         const float *float_zero_points, void *to) {
                                      products.pack(w, float_zero_points, to);
                                  });
            return;
        }
        codes_ = l.input_buffer(codes_input);
        scales_ = l.input_buffer(scales_input);
        if (l.has_input(zero_points_input))
            zero_points_ = l.input_buffer(zero_points_input);
        scratch_ = l.scratch(
            memory::desc({static_cast<dim_t>(products_.packed_bytes())}, data_type::u8, format_tag::a));
    }

    void run(const stream &, const run_memory &m) const override {
        const void *packed = packed_ ? packed_->bytes.get() : nullptr;
        if (codes_) {
            const auto zero_points = [&](auto type, bool is_wanted) -> const decltype(type) * {
                return zero_points_ && is_wanted ? m.at<decltype(type)>(*zero_points_) : nullptr;
            };
            const loops::block_weights w{m.at<std::uint8_t>(*codes_), m.at<float>(*scales_),
                                         zero_points(std::uint8_t(), !has_float_zero_points_)};
            products_.pack(w, zero_points(float(), has_float_zero_points_), m.at<std::uint8_t>(*scratch_));
            packed = m.at<std::uint8_t>(*scratch_);
        }
        products_.run({m.at<float>(src_), bias(m), m.at<float>(dst_), packed}, rows_);
    }
    std::string explain() const override {
        return "a loop over weights that are dequantized" +
               std::string(is_packed_ahead_ ? "" : ", in the order of computed ones") + ", " + size_text();
    }

private:
    bool is_packed_ahead_, has_float_zero_points_;
    loops::dequantized_products products_;
    std::shared_ptr<const joint_constants> packed_;                ///< constant weights
    std::optional<buffer> codes_, scales_, zero_points_, scratch_; ///< others, which are packed in each run
};

std::unique_ptr<step> lower_product(const lowering &l) {
    const block_product_node n = read_node(l);
    if (n.arithmetic == block_arithmetic::codes)
        return std::make_unique<product_of_codes>(l, n);
    return std::make_unique<product_of_dequantized>(l, n);
}

void infer_product(node_shapes &n) {
    memory::dims result = n.dims_of_rank(0, 1);
    result.back() = n.integer("N", 0);
    n.set_output(n.input(0).type, result);
}

/// A row does not depend on others, but in ONNX Runtime its place may select an order of sums: a single row has its
/// own, and with some blocks so has the last one of an odd number.
bool keeps_rows(const node_rows &o) {
    if (!o.only_depends_on_first() || o.rank() < 2 || !o.has(codes_input))
        return false;
    if (!o.marks().sums_rows_alone)
        return true;
    const std::int64_t inner = o.integer("K", 0);
    const dim_t rows = inner > 0 ? element_count(o.input(0).dims) / inner : 0;
    const loops::block_shape s{inner, o.integer("N", 0), o.integer("block_size", 0),
                               static_cast<int>(o.integer("bits", 4))};
    const bool is_dequantized = o.has(blocks_input) || (o.has(zero_points_input) &&
                                                        o.input(zero_points_input).type == data_type::f32);
    const auto arithmetic = arithmetic_of(o.input(codes_input).is_constant, is_dequantized,
                                          o.integer("accuracy_level", 0), s, false);
    return arithmetic == block_arithmetic::codes
               ? !loops::block_products::depends_on_row(s.bits, s.block) || rows % 2 == 0
               : rows > 1;
}

using namespace row_words;

constexpr row onnx_block_product_rows[] = {
    row("MatMulNBits", {3, 6}, lower_product, infer_product, keeps_rows)
        .in(domains::microsoft)
        .sums(products::of_codes)
        .single_rows()
        .sizes(flow::matrices),
};

} // namespace

operator_rows onnx_block_product_operators() { return onnx_block_product_rows; }

} // namespace octet::model
