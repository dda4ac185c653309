// ReduceMax and ReduceMin of floats (loops/reductions.hpp).
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

class row_extremes final : public loop_step {
public:
    row_extremes(const lowering &l, loops::reduction r, bool is_largest)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), reduction_(std::move(r)), is_largest_(is_largest),
          has_begun_(l.scratch(memory::desc({reduction_.count}, data_type::u8, format_tag::x))) {}

    void run(const stream &, const run_memory &m) const override {
        loops::reduce_to_extremes(reduction_, is_largest_, m.at<float>(src_), m.at<float>(dst_),
                                  m.at<std::uint8_t>(has_begun_));
    }
    std::string explain() const override { return explain_reduction(src_); }

private:
    buffer src_, dst_;
    loops::reduction reduction_;
    bool is_largest_;
    buffer has_begun_; ///< a result has taken in an element
};

template <bool is_largest> std::unique_ptr<step> reduce_to_extremes(const lowering &l) {
    loops::reduction r = reduction_of(l, data_type::f32);
    if (reduced_shape(l) == l.input(0).dims)
        return make_view(l);
    return std::make_unique<row_extremes>(l, std::move(r), is_largest);
}

using namespace row_words;

constexpr row onnx_reduce_max_min_rows[] = {
    row("ReduceMax", {1, 2}, reduce_to_extremes<true>, shape::reduce, rows::reduce)
        .use(aliased_or_persistent)
        .transposed(passing_kind::reduction)
        .becomes(form::moved)
        .assumes("keepdims", std::int64_t{1}),
    row("ReduceMin", {1, 2}, reduce_to_extremes<false>, shape::reduce, rows::reduce)
        .use(aliased_or_persistent)
        .transposed(passing_kind::reduction)
        .becomes(form::moved)
        .assumes("keepdims", std::int64_t{1}),
};

} // namespace

operator_rows onnx_reduce_max_min_operators() { return onnx_reduce_max_min_rows; }

} // namespace octet::model
