// Max and Min of any number of operands, with ONNX Runtime's zeros and NaN. It folds its operands from the first to the last, two at a
// time. Of two zeros it takes the one that Eigen's code for SSE takes, which depends on the place: groups of four
// elements at multiples of four give the second operand, what is left of a span before and behind them the first. A span is as much
// of the result as both operands walk the same way, element by element or not at all.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/ops/broadcast.hpp"
#include "network/ops/onnx/onnx.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/onnx.hpp"

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

/// y[i] for i from `first` to `end` in dst. Strides are 0 or 1; an operand that is one number is the second.
template <typename T, typename F>
void fold_span(T *y, const T *a, dim_t a_stride, const T *b, dim_t b_stride, dim_t first, dim_t end) {
    constexpr dim_t group = 4;
    if (a_stride == 0 && b_stride != 0) {
        std::swap(a, b);
        std::swap(a_stride, b_stride);
    }
    const dim_t groups = std::min((first + group - 1) / group * group, end),
                rest = groups + (end - groups) / group * group;
    y += first;
    dim_t i = 0;
    for (; i < groups - first; i++)
        y[i] = F::alone(a[i * a_stride], b[i * b_stride]);
    for (; i < rest - first; i++)
        y[i] = F::in_group(a[i * a_stride], b[i * b_stride]);
    for (; i < end - first; i++)
        y[i] = F::alone(a[i * a_stride], b[i * b_stride]);
}

/// Dimensions of a result that both operands walk the same way.
struct extent {
    dim_t size, a_stride, b_stride;
};

/// From the innermost outwards, without those of size 1.
std::vector<extent> merged(const memory::dims &y, const memory::dims &a, const memory::dims &b) {
    const memory::dims a_strides = broadcast_strides(a, y), b_strides = broadcast_strides(b, y);
    std::vector<extent> extents;
    for (std::size_t d = y.size(); d-- > 0;) {
        const extent next{y[d], a_strides[d], b_strides[d]};
        const bool goes_on = !extents.empty() && (extents.back().a_stride == 0) == (next.a_stride == 0) &&
                             (extents.back().b_stride == 0) == (next.b_stride == 0);
        if (next.size == 1)
            continue;
        if (goes_on)
            extents.back().size *= next.size;
        else
            extents.push_back(next);
    }
    if (extents.empty())
        extents.push_back({1, 1, 1});
    return extents;
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
            folds_.push_back({so_far, l.input_buffer(i), dst, merged(both, dims, other)});
            so_far = dst;
            dims = both;
        }
        if (dims != l.output().dims)
            refuse("the inputs give " + to_text(dims) + ", the output is " + to_text(l.output().dims));
    }

    void run(const stream &, const run_memory &m) const override {
        for (const fold &f : folds_)
            fold_operands(f, m.at<T>(f.a), m.at<T>(f.b), m.at<T>(f.dst));
    }
    std::string explain() const override {
        return "a plain loop over each of " + std::to_string(folds_.size()) + " pairs of operands";
    }

private:
    struct fold {
        buffer a, b, dst;
        std::vector<extent> extents;
    };

    static void fold_operands(const fold &f, const T *a, const T *b, T *y) {
        const extent &span = f.extents.front();
        dim_t spans = 1;
        for (std::size_t d = 1; d < f.extents.size(); d++)
            spans *= f.extents[d].size;
        for (dim_t s = 0; s < spans; s++) {
            dim_t a_at = 0, b_at = 0, rest = s;
            for (std::size_t d = 1; d < f.extents.size(); d++) {
                const dim_t at = rest % f.extents[d].size;
                rest /= f.extents[d].size;
                a_at += at * f.extents[d].a_stride;
                b_at += at * f.extents[d].b_stride;
            }
            fold_span<T, F>(y, a + a_at, span.a_stride, b + b_at, span.b_stride, s * span.size,
                            (s + 1) * span.size);
        }
    }

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

constexpr row onnx_float_extremes_rows[] = {
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

operator_rows onnx_float_extremes_operators() { return onnx_float_extremes_rows; }

} // namespace octet::model
