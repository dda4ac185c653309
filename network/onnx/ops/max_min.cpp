// Max and Min of any number of operands, with ONNX Runtime's zeros and NaN. It folds its operands from the
// first to the last, two at a time. Of two zeros it takes the one that Eigen's code for SSE takes, which
// depends on the place: groups of four elements at multiples of four give the second operand, what is left of
// a span (spans.hpp) before and behind them the first.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loops/parallel.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/ops/spans.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

// The first NaN, if there is one; otherwise equal operands (zeros) give `b` in groups, `a` elsewhere.
struct larger {
    template <typename T> static T in_group(T a, T b) { return a > b || a != a ? a : b; }
    template <typename T> static T alone(T a, T b) { return a >= b || a != a ? a : b; }
};
struct smaller {
    template <typename T> static T in_group(T a, T b) { return a < b || a != a ? a : b; }
    template <typename T> static T alone(T a, T b) { return a <= b || a != a ? a : b; }
};

/// Elements `first` to `last` - 1 of the span that begins at y, `place` elements behind the first of the
/// result. One number that serves the span is the second operand.
template <typename T, typename F>
void fold_span(T *y, const T *a, const T *b, const spans &w, dim_t place, dim_t first, dim_t last) {
    constexpr dim_t group = 4;
    dim_t a_stride = w.a_moves ? 1 : 0, b_stride = w.b_moves ? 1 : 0;
    if (w.shares_a()) {
        std::swap(a, b);
        std::swap(a_stride, b_stride);
    }
    const dim_t groups = std::min((group - place % group) % group, w.size),
                rest = groups + (w.size - groups) / group * group;
    dim_t i = first;
    for (; i < std::min(groups, last); i++)
        y[i] = F::alone(a[i * a_stride], b[i * b_stride]);
    for (; i < std::min(rest, last); i++)
        y[i] = F::in_group(a[i * a_stride], b[i * b_stride]);
    for (; i < last; i++)
        y[i] = F::alone(a[i * a_stride], b[i * b_stride]);
}

template <typename T, typename F> class extreme_step final : public loop_step {
public:
    explicit extreme_step(const lowering &l) {
        buffer so_far = l.input_buffer(0);
        memory::dims dims = l.input(0).dims;
        const std::size_t only = l.input_count() == 1 ? 0 : 1; // folded with itself
        for (std::size_t i = only; i < l.input_count(); i++) {
            const memory::dims &other = l.input(i).dims;
            const memory::dims both = broadcast(dims, other);
            const buffer dst =
                both == l.output().dims
                    ? l.output_buffer()
                    : l.scratch(memory::desc({element_count(both)}, l.output().type, format_tag::x));
            folds_.push_back({so_far, l.input_buffer(i), dst, spans(dims, other)});
            so_far = dst;
            dims = both;
        }
        if (dims != l.output().dims)
            refuse("the inputs give " + to_text(dims) + ", the output is " + to_text(l.output().dims));
    }

    void run(const stream &, const run_memory &m) const override {
        for (const fold &f : folds_) {
            const T *const a = m.at<T>(f.a), *const b = m.at<T>(f.b);
            T *const y = m.at<T>(f.dst);
            loops::parallel_for(f.walk.count(), 2, [&](dim_t begin, dim_t end) {
                f.walk.for_each(begin, end, [&](dim_t span, dim_t a_at, dim_t b_at, dim_t first, dim_t last) {
                    fold_span<T, F>(y + span, a + a_at, b + b_at, f.walk, span, first, last);
                });
            });
        }
    }
    std::string explain() const override {
        return "a plain loop over each of " + std::to_string(folds_.size()) + " pairs of operands";
    }

private:
    struct fold {
        buffer a, b, dst;
        spans walk;
    };
    std::vector<fold> folds_;
};

template <typename F> std::unique_ptr<step> extreme(const lowering &l) {
    const data_type type = l.output({data_type::f32, data_type::s32}).type;
    for (std::size_t i = 0; i < l.input_count(); i++)
        l.input(i, {type});
    if (type == data_type::s32)
        return std::make_unique<extreme_step<std::int32_t, F>>(l);
    return std::make_unique<extreme_step<float, F>>(l);
}

using namespace row_words;

constexpr row onnx_max_min_rows[] = {
    row("Max", {1, any}, extreme<larger>, shape::variadic, rows::broadcast_in_groups)
        .uses_integers(use::compares, use::compares)
        .known_numbers(numbers::max)
        .transposed(passing_kind::broadcast),
    row("Min", {1, any}, extreme<smaller>, shape::variadic, rows::broadcast_in_groups)
        .uses_integers(use::compares, use::compares)
        .known_numbers(numbers::min)
        .transposed(passing_kind::broadcast),
};

} // namespace

operator_rows onnx_max_min_operators() { return onnx_max_min_rows; }

} // namespace octet::model
