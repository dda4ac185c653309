// SVDF: per filter, the product of the input with its feature weights is appended to a history of the last M of
// them, and the history's product with its time weights, summed over `rank` neighbouring filters, is a unit of the
// output.
// SPDX-License-Identifier: Apache-2.0
#include "loops/parallel.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/node_shapes.hpp"
#include "network/tflite/ops/integers.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/ops/recurrent.hpp"

namespace octet::model {
namespace {

constexpr std::size_t features_input = 1, time_input = 2, bias_input = 3, state_index = 4;

struct svdf {
    dim_t batch, filters, rank, history;
    fixed_point_multiplier to_state, to_output;
    std::int32_t state_zero_point, output_zero_point;
};

/// T: type of the state and of the time weights.
template <typename T> class svdf_step final : public step {
public:
    svdf_step(const svdf &p, primitive_step product, const buffer &products, const buffer &time,
              const buffer &bias, const buffer &state, const buffer &dst)
        : p_(p), product_(std::move(product)), products_(products), time_(time), bias_(bias), state_(state),
          dst_(dst) {}

    void make_primitives() override { product_.make_primitives(); }
    void run(const stream &s, const run_memory &m) const override {
        product_.run(s, m);
        T *state = m.at<T>(state_);
        remember(m.at<std::int32_t>(products_), state);
        write_outputs(state, m.at<T>(time_), bias_ ? m.at<std::int32_t>(bias_) : nullptr,
                      m.at<std::int8_t>(dst_));
    }

    std::string implementation() const override { return product_.implementation(); }
    std::string explain() const override {
        return product_.explain() + "\n  then compiled loops over histories";
    }

private:
    /// Drops the oldest element of each history and appends the newest, which is limited before its zero point is
    /// added: the sum wraps.
    void remember(const std::int32_t *products, T *state) const {
        loops::parallel_for(p_.batch * p_.filters, p_.history + 4, [=](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                T *const history = state + i * p_.history, *const newest = history + p_.history - 1;
                std::memmove(history, history + 1, sizeof(T) * static_cast<std::size_t>(p_.history - 1));
                *newest =
                    static_cast<T>(saturated<T>(scaled(products[i], p_.to_state)) + p_.state_zero_point);
            }
        });
    }

    /// Sums wrap as 32-bit integers do.
    void write_outputs(const T *state, const T *time, const std::int32_t *bias, std::int8_t *dst) const {
        const dim_t units = p_.filters / p_.rank, span = p_.rank * p_.history;
        loops::parallel_for(p_.batch * units, span, [=](dim_t begin, dim_t end) {
            for (dim_t n = begin; n < end; n++) {
                const T *history = state + n * span, *weights = time + n % units * span;
                auto sum = static_cast<std::uint32_t>(bias ? bias[n % units] : 0);
                for (dim_t i = 0; i < span; i++)
                    sum += static_cast<std::uint32_t>(weights[i] * (history[i] - p_.state_zero_point));
                dst[n] = saturated<std::int8_t>(
                    std::int64_t{scaled(static_cast<std::int32_t>(sum), p_.to_output)} +
                    p_.output_zero_point);
            }
        });
    }

    const svdf p_;
    primitive_step product_;
    const buffer products_, time_, bias_, state_, dst_;
};

/// Returns f32(f32(s_x·s_w) / s_y), TFLite's quotient of an SVDF, which becomes a multiplier.
double factor(float src_scale, float weights_scale, float dst_scale) {
    return real_multiplier(scale_derivation::caffe2_f32, src_scale, weights_scale, dst_scale);
}

void check_svdf_activation(const lowering &l) {
    // TFLite's integer kernel clips to the codes only: a RELU is in the zero point of the output.
    const std::string activation = l.text("activation", "NONE");
    if (activation != "NONE" && activation != "RELU")
        refuse_as_unimplemented("fused activation " + activation + " is not supported, allowed: NONE, RELU");
}

const tensor &time_weights(const lowering &l, dim_t filters) {
    const tensor &t = l.input(time_input, {data_type::s8, data_type::s16});
    need_rank(t, "input 2", 2);
    if (!t.is_constant)
        refuse_as_unimplemented("input 2 ('" + t.name + "') is computed, allowed is a constant");
    if (t.dims[0] != filters || t.dims[1] < 1)
        refuse("time weights " + to_text(t.dims) + " do not fit " + std::to_string(filters) + " filters");
    if (per_tensor(t, "input 2").zero_point != 0)
        refuse("input 2 ('" + t.name + "') has a zero point, allowed is 0");
    return t;
}

std::unique_ptr<step> lower_svdf(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8}), &dst = l.output({data_type::s8});
    need_rank(src, "input 0", 2);
    need_rank(l.input(features_input), "input 1", 2);
    check_svdf_activation(l);
    const dim_t batch = src.dims[0], depth = src.dims[1], filters = l.input(features_input).dims[0];
    const dim_t rank = l.integer("rank");
    if (rank < 1 || filters < 1 || filters % rank != 0)
        refuse("attribute 'rank' is " + std::to_string(rank) + ", allowed are divisors of the " +
               std::to_string(filters) + " filters");
    const tensor &features = symmetric_weights(l, features_input, {filters, depth});
    const tensor &time = time_weights(l, filters);
    const tensor &state = state_input(l, state_index, {time.type}, {batch, filters * time.dims[1]});
    need_output_dims(l, {batch, filters / rank});
    const bool has_bias = l.has_input(bias_input);
    if (has_bias && l.input(bias_input, {data_type::s32}).dims != memory::dims{filters / rank})
        refuse("bias " + to_text(l.input(bias_input).dims) + " does not fit " +
               std::to_string(filters / rank) + " units");

    const linear_codes x = per_tensor(src, "input 0"), s = per_tensor(state, "the state"),
                       y = per_tensor(dst, "the output");
    if (state.type == data_type::s16 && s.zero_point != 0)
        refuse("the s16 state ('" + state.name + "') has a zero point of " + std::to_string(s.zero_point) +
               ", allowed is 0");
    const svdf p = {batch,
                    filters,
                    rank,
                    time.dims[1],
                    tflite_multiplier(factor(x.scale, features.quant.scales[0], s.scale)),
                    tflite_multiplier(factor(s.scale, time.quant.scales[0], y.scale)),
                    s.zero_point,
                    y.zero_point};
    primitive_step product;
    const memory::desc src_md({batch, depth}, data_type::s8, format_tag::nc);
    const buffer products = add_product(product, l, {batch, features_input, std::nullopt, x.zero_point},
                                        l.input_buffer(0, src_md));
    const buffer bias = has_bias ? l.input_buffer(bias_input) : buffer();
    const auto make = [&](auto zero) -> std::unique_ptr<step> {
        return std::make_unique<svdf_step<decltype(zero)>>(p, std::move(product), products,
                                                           l.input_buffer(time_input), bias,
                                                           l.input_buffer(state_index), l.output_buffer());
    };
    return state.type == data_type::s8 ? make(std::int8_t{}) : make(std::int16_t{});
}

// ---- Shapes, and whether rows of a batch stay apart

void svdf_shape(node_shapes &n) {
    constexpr std::size_t features = 1, time = 2, state = 4;
    const dim_t batch = n.dims_of_rank(0, 2)[0], filters = n.dims_of_rank(features, 2)[0],
                history = n.dims_of_rank(time, 2)[1], rank = n.integer("rank", 1);
    if (rank < 1 || filters % rank != 0)
        refuse("attribute 'rank' is " + std::to_string(rank) + ", allowed is a divisor of the " +
               std::to_string(filters) + " filters");
    n.set_state_dims(state, {batch, filters * history});
    n.set_output_dims({batch, filters / rank});
}

using namespace row_words;

constexpr row tflite_svdf_rows[] = {
    row("SVDF", {5, 5}, lower_svdf, svdf_shape, rows::never),
};

} // namespace

operator_rows tflite_svdf_operators() { return tflite_svdf_rows; }

} // namespace octet::model
