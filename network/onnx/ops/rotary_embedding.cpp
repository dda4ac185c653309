// RotaryEmbedding, the standard's and ONNX Runtime's: rows of heads whose elements are rotated in pairs by angles of
// their position. Inputs stand in another order in each.
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "loops/rotary.hpp"
#include "network/onnx/ops/attention_heads.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

struct rotary_inputs {
    std::size_t cosines, sines, positions;
};
constexpr rotary_inputs of_microsoft{2, 3, 1}, of_onnx{1, 2, 3};

struct rotary_sizes {
    dim_t batch, heads, rows;
    head_rows at;
};

class rotary_step final : public loop_step {
public:
    rotary_step(const lowering &l, const rotary_inputs &in, const rotary_sizes &sizes,
                const loops::rotary_rows &loop)
        : src_(l.input_buffer(0)), cosines_(l.input_buffer(in.cosines)), sines_(l.input_buffer(in.sines)),
          dst_(l.output_buffer()), sizes_(sizes), loop_(loop),
          angles_(l.input(in.cosines).dims.size() == 2 ? l.input(in.cosines).dims[0] : 0) {
        if (!l.has_input(in.positions))
            return;
        positions_ = l.input_buffer(in.positions);
        is_offset_ = element_count(l.input(in.positions).dims) == 1;
    }

    void run(const stream &, const run_memory &m) const override {
        check(m);
        const dim_t half = loop_.rotated / 2;
        loops::parallel_for(sizes_.batch * sizes_.rows, sizes_.heads * loop_.width * 2,
                            [&](dim_t begin, dim_t end) {
                                for (dim_t r = begin; r < end; r++) {
                                    const dim_t angle = angle_of(m, r) * half;
                                    rotate(m, r, m.at<float>(cosines_) + angle, m.at<float>(sines_) + angle);
                                }
                            });
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(sizes_.batch * sizes_.rows) + " rows of " +
               std::to_string(sizes_.heads) + " heads";
    }

private:
    /// The row of angles of row `r`; each has its own where there are no positions.
    dim_t angle_of(const run_memory &m, dim_t r) const {
        if (!positions_)
            return r;
        const auto *positions = m.at<std::int32_t>(*positions_);
        return is_offset_ ? dim_t{positions[0]} + r % sizes_.rows : positions[r];
    }
    void rotate(const run_memory &m, dim_t r, const float *cosines, const float *sines) const {
        const dim_t b = r / sizes_.rows, s = r % sizes_.rows;
        for (dim_t h = 0; h < sizes_.heads; h++)
            loop_.rotate(sizes_.at.at(m.at<float>(src_), b, h) + s * sizes_.at.row, cosines, sines,
                         sizes_.at.at(m.at<float>(dst_), b, h) + s * sizes_.at.row);
    }
    void check(const run_memory &m) const {
        for (dim_t r = 0; positions_ && r < sizes_.batch * sizes_.rows; r++)
            if (const dim_t p = angle_of(m, r); p < 0 || p >= angles_)
                refuse_value("a position", p, "0 to " + std::to_string(angles_ - 1));
    }

    buffer src_, cosines_, sines_, dst_;
    std::optional<buffer> positions_;
    bool is_offset_ = false;
    rotary_sizes sizes_;
    loops::rotary_rows loop_;
    dim_t angles_; ///< rows of the caches
};

/// Batch, heads and rows of {batch, heads, rows, width} or {batch, rows, heads * width}.
rotary_sizes sizes_of(const lowering &l, const memory::dims &x, dim_t pairs) {
    const dim_t heads = l.integer("num_heads", 0), rotated = l.integer("rotary_embedding_dim", 0);
    if (x.size() == 4)
        return {x[0], x[1], x[2], head_rows::one_by_one(x[1], x[2], x[3])};
    if (x.size() != 3)
        refuse("input 0 has dimensions " + to_text(x) + ", allowed are 3 or 4 dimensions");
    if (heads == 0 && (rotated != 0 || pairs < 1 || x[2] % (2 * pairs) != 0))
        refuse("attribute 'num_heads' is absent, which input " + to_text(x) + " and caches of " +
               std::to_string(pairs) + " pairs need");
    if (heads < 0 || (heads > 0 && x[2] % heads != 0))
        refuse("attribute 'num_heads' is " + std::to_string(heads) + ", allowed are divisors of " +
               std::to_string(x[2]));
    const dim_t count = heads > 0 ? heads : x[2] / (2 * pairs), width = x[2] / count;
    return {x[0], count, x[1], head_rows::side_by_side(x[1], x[2], width)};
}

std::unique_ptr<step> lower_rotary(const lowering &l, const rotary_inputs &in) {
    const memory::dims &x = l.input(0, {data_type::f32}).dims,
                       &cosines = l.input(in.cosines, {data_type::f32}).dims,
                       &sines = l.input(in.sines, {data_type::f32}).dims;
    l.output({data_type::f32});
    if (l.real("scale", 1.f) != 1.f || l.integer("is_packed_batching", 0) != 0)
        refuse_as_unimplemented("attribute 'scale' is not 1, or 'is_packed_batching' is not 0");
    const dim_t pairs = cosines.empty() ? 0 : cosines.back();
    const rotary_sizes sizes = sizes_of(l, x, pairs);
    const dim_t width = x.size() == 4 ? x[3] : sizes.at.head, given = l.integer("rotary_embedding_dim", 0),
                rotated = given == 0 ? width : given;
    const bool has_positions = l.has_input(in.positions);
    const bool fit = has_positions ? cosines.size() == 2 : cosines == memory::dims{x[0], sizes.rows, pairs};
    if (sines != cosines || !fit || 2 * pairs != rotated || rotated > width || rotated < 0)
        refuse("caches " + to_text(cosines) + " and " + to_text(sines) + " do not fit " +
               std::to_string(rotated) + " of " + std::to_string(width) + " elements of a head in " +
               to_text(x));
    if (has_positions) {
        const memory::dims &p = l.input(in.positions, {data_type::s32}).dims;
        const bool is_offset = in.positions == of_microsoft.positions && p == memory::dims{1};
        if (!is_offset && p != memory::dims{x[0], sizes.rows})
            refuse("positions " + to_text(p) + " are given, allowed: " + to_text({x[0], sizes.rows}));
    }
    return std::make_unique<rotary_step>(
        l, in, sizes, loops::rotary_rows(width, rotated, l.integer("interleaved", 0) != 0));
}

std::unique_ptr<step> lower_microsoft_rotary(const lowering &l) { return lower_rotary(l, of_microsoft); }
std::unique_ptr<step> lower_onnx_rotary(const lowering &l) { return lower_rotary(l, of_onnx); }

// ---- Whether rows of a batch stay apart

/// A position for each row, or one for all; caches for all.
template <std::size_t positions, std::size_t cosines, std::size_t sines>
bool rotary_keeps_rows(const node_rows &o) {
    return o.depends(0) && !o.depends(cosines) && !o.depends(sines) && o.has(positions) &&
           (!o.depends(positions) || o.rank(positions) == 2);
}

using namespace row_words;

constexpr row onnx_rotary_embedding_rows[] = {
    row("RotaryEmbedding", 4, lower_microsoft_rotary, shape::same, rotary_keeps_rows<1, 2, 3>)
        .in(domains::microsoft)
        .sizes(flow::first),
    row("ai.onnx::RotaryEmbedding", {3, 4}, lower_onnx_rotary, shape::same, rotary_keeps_rows<3, 1, 2>)
        .sizes(flow::first),
};

} // namespace

operator_rows onnx_rotary_embedding_operators() { return onnx_rotary_embedding_rows; }

} // namespace octet::model
