// Functions of single codes as LiteRT's default runtime computes them: XNNPACK's, and those of its own optimized kernels.
// Codes are 256, so a function is a table of its results, which a reorder looks up: all speak of one code and of reals.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "network/lower/tflite.hpp"

namespace octet::model {
namespace {

float nearest_even(float x) { return std::nearbyint(x); }

/// `f` gives the code of a code; what lies outside the type's codes is clamped.
template <typename Function> std::unique_ptr<step> code_table(const lowering &l, const Function &f) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8});
    l.output({src.type});
    need_output_dims(l, src.dims);
    const buffer from = l.input_buffer(0), to = l.output_buffer();
    return one_step(reorder_desc(from, to, table_attr(src.type, f)),
                    {{OCTET_ARG_FROM, from}, {OCTET_ARG_TO, to}});
}

/// Source and destination of a function.
struct codes {
    linear_codes x, y;

    explicit codes(const lowering &l)
        : x(per_tensor(l.input(0), "input 0")), y(per_tensor(l.output(), "the output")) {}
    float ratio() const { return x.scale / y.scale; }
    float real(std::int32_t code) const { return static_cast<float>(code - x.zero_point) * x.scale; }
};

/// A factor with 8 fraction bits.
std::int32_t in_8_bits(float factor) { return static_cast<std::int32_t>(nearest_even(256.f * factor)); }
/// x * m / 256, ties up.
std::int32_t scaled_by_8_bits(std::int32_t x, std::int32_t m) { return (x * m + 128) >> 8; }

/// XNNPACK's table of a function from f32 to f32: the zero point is added before rounding.
template <typename Function> std::unique_ptr<step> xnnpack_table(const lowering &l, const Function &f) {
    const codes q(l);
    const float per_unit = 1.f / q.y.scale;
    return code_table(l, [&](std::int32_t code) {
        const float real = f(q.real(code)) * per_unit + static_cast<float>(q.y.zero_point);
        return static_cast<std::int32_t>(nearest_even(std::clamp(real, -1024.f, 1024.f)));
    });
}

/// LiteRT's: rounded half away from zero, then the zero point.
template <typename Function> std::unique_ptr<step> litert_table(const lowering &l, const Function &f) {
    const codes q(l);
    const float per_unit = 1.f / q.y.scale;
    return code_table(l, [&](std::int32_t code) {
        const float real = std::round(f(q.real(code)) * per_unit);
        return static_cast<std::int32_t>(std::clamp(real, -1024.f, 1024.f)) + q.y.zero_point;
    });
}

// Correctly rounded, as good C libraries' functions of floats are but for a few last bits.
float tanh_of(float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }
float exp_of(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }

/// Softmax along the last dimension: exponentials of distances from a row's largest code, summed in order.
template <typename Code> class softmax_step final : public step {
public:
    softmax_step(buffer src, buffer dst, dim_t size, float src_scale, float beta, const linear_codes &y)
        : src_(std::move(src)), dst_(std::move(dst)), size_(size),
          rows_(size == 0 ? 0 : element_count(src_.get_desc().dims()) / size), y_(y) {
        const float factor = -src_scale * beta;
        for (std::size_t distance = 0; distance < 256; distance++)
            exponentials_[distance] = exp_of(factor * static_cast<float>(distance));
    }

    void run(const stream &, const run_memory &m) const override {
        const Code *x = m.at<Code>(src_);
        Code *y = m.at<Code>(dst_);
        constexpr dim_t at_once = 8; // hides that each addition waits for the one before
        dim_t row = 0;
        for (; row + at_once <= rows_; row += at_once)
            run_rows<at_once>(x + row * size_, y + row * size_);
        for (; row < rows_; row++)
            run_rows<1>(x + row * size_, y + row * size_);
    }
    std::string implementation() const override { return "loop"; }
    std::string explain() const override {
        return "a plain loop over rows of " + std::to_string(size_) + ", through a table of exponentials";
    }

private:
    template <std::size_t rows> void run_rows(const Code *x, Code *y) const {
        int largest[rows];
        float sums[rows] = {};
        for (std::size_t r = 0; r < rows; r++)
            largest[r] = largest_of(x + static_cast<dim_t>(r) * size_);
        for (dim_t i = 0; i < size_; i++)
            for (std::size_t r = 0; r < rows; r++)
                sums[r] += exponentials_[static_cast<std::size_t>(largest[r] -
                                                                  x[static_cast<dim_t>(r) * size_ + i])];
        for (std::size_t r = 0; r < rows; r++) {
            Code results[256];
            codes_of(1.f / (sums[r] * y_.scale), results);
            for (dim_t i = static_cast<dim_t>(r) * size_, end = i + size_; i < end; i++)
                y[i] = results[largest[r] - x[i]];
        }
    }
    /// In the order of unsigned bytes, for which every vector unit has an instruction.
    int largest_of(const Code *row) const {
        constexpr int sign = std::numeric_limits<Code>::min() < 0 ? 0x80 : 0;
        std::uint8_t most = 0;
        for (dim_t i = 0; i < size_; i++)
            most = std::max(most, static_cast<std::uint8_t>(row[i] ^ sign));
        return static_cast<Code>(most ^ sign);
    }
    /// By distance from a row's largest code. s8: halves go up, for which the number before 1/2 is as good as 1/2, and better
    /// for itself; u8: 1/2 is added in f32.
    void codes_of(float reciprocal, Code *results) const {
        constexpr int low = std::numeric_limits<Code>::min(), high = std::numeric_limits<Code>::max();
        const float half = low == 0 ? 0.5f : std::nextafter(0.5f, 0.f),
                    most = static_cast<float>(high - y_.zero_point); // shares are not negative
        for (std::size_t distance = 0; distance < 256; distance++) {
            const float share = std::min(exponentials_[distance] * reciprocal, most);
            results[distance] = static_cast<Code>(static_cast<int>(share + half) + y_.zero_point);
        }
    }

    buffer src_, dst_;
    dim_t size_, rows_;
    linear_codes y_;
    std::array<float, 256> exponentials_;
};

} // namespace

primitive_attr table_attr(data_type type, const std::function<std::int32_t(std::int32_t)> &f) {
    const std::int32_t lowest = type == data_type::s8 ? -128 : 0, highest = lowest + 255;
    post_op::table stage;
    stage.type = type;
    for (std::int32_t code = lowest; code <= highest; code++)
        stage.entries[static_cast<std::size_t>(code - lowest)] =
            static_cast<std::uint8_t>(std::clamp(f(code), lowest, highest));
    primitive_attr attr = copy_attr(type);
    post_ops ops;
    ops.append_table(stage);
    attr.set_post_ops(ops);
    return attr;
}

std::unique_ptr<step> lower_xnnpack_quantize(const lowering &l) {
    if (l.input(0).type == data_type::f32) {
        const linear_codes y = per_tensor(l.output({data_type::s8, data_type::u8}), "the output");
        need_output_dims(l, l.input(0).dims);
        primitive_attr attr;
        attr.set_requantization(requantization_rule::xnnpack_f32);
        attr.set_output_scales(0, {1.f / y.scale});
        set_zero_point(attr, OCTET_ARG_DST, y.zero_point);
        const buffer from = l.input_buffer(0), to = l.output_buffer();
        return one_step(reorder_desc(from, to, attr), {{OCTET_ARG_FROM, from}, {OCTET_ARG_TO, to}});
    }
    const codes q(l);
    const std::int32_t m = in_8_bits(q.ratio());
    return code_table(
        l, [&](std::int32_t code) { return scaled_by_8_bits(code - q.x.zero_point, m) + q.y.zero_point; });
}

std::unique_ptr<step> lower_xnnpack_leaky_relu(const lowering &l) {
    const codes q(l);
    const std::int32_t positive = in_8_bits(q.ratio()), negative = in_8_bits(q.ratio() * l.real("alpha"));
    return code_table(l, [&](std::int32_t code) {
        const std::int32_t d = code - q.x.zero_point;
        return scaled_by_8_bits(d, d < 0 ? negative : positive) + q.y.zero_point;
    });
}

std::unique_ptr<step> lower_xnnpack_logistic(const lowering &l) {
    return xnnpack_table(l, [](float x) {
        if (x > 100.f || x < -100.f)
            return x > 0.f ? 1.f : 0.f;
        const double e = std::exp(static_cast<double>(x));
        return static_cast<float>(e / (1. + e));
    });
}

std::unique_ptr<step> lower_xnnpack_tanh(const lowering &l) { return xnnpack_table(l, tanh_of); }

std::unique_ptr<step> lower_xnnpack_elu(const lowering &l) {
    return xnnpack_table(
        l, [](float x) { return x < 0.f ? static_cast<float>(std::expm1(static_cast<double>(x))) : x; });
}

std::unique_ptr<step> lower_litert_logistic(const lowering &l) {
    return litert_table(l, [](float x) { return 1.f / (1.f + exp_of(-x)); });
}

std::unique_ptr<step> lower_litert_tanh(const lowering &l) { return litert_table(l, tanh_of); }

std::unique_ptr<step> lower_litert_softmax(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output({src.type});
    need_output_dims(l, src.dims);
    const linear_codes x = per_tensor(src, "input 0"), y = per_tensor(dst, "the output");
    const float beta = l.real("beta");
    const std::int32_t lowest = src.type == data_type::s8 ? -128 : 0;
    if (y.scale != 1.f / 256 || y.zero_point != lowest)
        refuse("the output has scale " + std::to_string(y.scale) + " and zero point " +
               std::to_string(y.zero_point) + ", allowed are 1/256 and " + std::to_string(lowest));
    if (!(beta > 0 && std::isfinite(beta)))
        refuse("beta is " + std::to_string(beta) + ", allowed are positive numbers");
    const dim_t size = src.dims.empty() ? 1 : src.dims.back();
    if (src.type == data_type::s8)
        return std::make_unique<softmax_step<std::int8_t>>(l.input_buffer(0), l.output_buffer(), size,
                                                           x.scale, beta, y);
    return std::make_unique<softmax_step<std::uint8_t>>(l.input_buffer(0), l.output_buffer(), size, x.scale,
                                                        beta, y);
}

} // namespace octet::model
