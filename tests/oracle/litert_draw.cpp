// Operators of LiteRT by a number: quantization that the delegate takes and that it refuses, codes near the zero point and from everywhere.
// Start reading at drawing::draw.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include "oracle/draw.hpp"
#include "oracle/litert.hpp"

namespace octet::oracle::litert {

namespace {

class drawing {
public:
    drawing(std::uint64_t seed, std::uint64_t number) : r(seed, number) {}
    one_operator draw();

private:
    numbers tensor(data_type type, const dims &shape, double least = -9, double most = 1) {
        numbers t{type,
                  shape,
                  0,
                  static_cast<std::int32_t>(r.between(static_cast<std::int64_t>(lowest(type)),
                                                      static_cast<std::int64_t>(highest(type)))),
                  {},
                  {}};
        if (r.chance(10))
            t.zero = static_cast<std::int32_t>(r.chance(50) ? t.lo() : t.hi());
        t.scale = static_cast<float>(
            std::exp2(r.chance(25) ? std::floor(r.real(least, most)) : r.real(least, most)));
        return t;
    }
    void fill(numbers &t) {
        const std::int64_t width = r.pick({255, 255, 30, 3});
        for (dim_t i = 0; i < volume(t.shape); i++)
            t.codes.push_back(clamped(static_cast<double>(t.zero + r.between(-width, width)), t));
    }
    /// All codes, once.
    numbers every_code(data_type type) {
        numbers t = tensor(type, {256});
        for (int i = 0; i < 256; i++)
            t.codes.push_back(static_cast<std::int32_t>(t.lo()) + i);
        return t;
    }
    data_type code() { return r.pick({data_type::s8, data_type::u8}); }
    std::string activation() { return r.pick({"NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1"}); }
    /// The result's quantization, at a ratio of scales that most operators take.
    numbers result(const numbers &x, data_type type, const dims &shape, double least = -4, double most = 4) {
        numbers y = tensor(type, shape, least, most);
        y.scale = x.scale * y.scale;
        return y;
    }
    void quantization_of(numbers &y, const numbers &x) { y.scale = x.scale, y.zero = x.zero; }

    void unary(one_operator &o,
               const std::function<std::int32_t(const numbers &, const numbers &, std::int32_t)> &f) {
        for (const std::int32_t q : o.inputs[0].codes)
            o.output.codes.push_back(f(o.inputs[0], o.output, q));
    }

    void draw_function(one_operator &o);
    void draw_reals(one_operator &o);
    void draw_two(one_operator &o);
    void draw_reduction(one_operator &o);
    void draw_resize(one_operator &o);
    void draw_softmax(one_operator &o);
    void draw_pool(one_operator &o);
    void draw_prelu(one_operator &o);

    random_source r;
};

void drawing::draw_function(one_operator &o) {
    o.op = r.pick({"QUANTIZE", "QUANTIZE", "LEAKY_RELU", "LEAKY_RELU", "LOGISTIC", "TANH", "ELU",
                   "HARD_SWISH", "RELU", "RELU6", "RELU_N1_TO_1"});
    const data_type from = o.op == "ELU" ? data_type::s8 : code();
    const data_type to = o.op == "QUANTIZE" && r.chance(30) ? code() : from;
    o.inputs = {every_code(from)};
    o.output = result(o.inputs[0], to, {256}, o.op == "QUANTIZE" ? -10 : -6, o.op == "QUANTIZE" ? 9 : 6);
    const float alpha =
        r.chance(10) ? r.real_f32(-300, 300) : r.pick({r.real_f32(0, 1), r.real_f32(-2, 2), 0.01f});
    if (o.op == "LEAKY_RELU")
        o.attributes["alpha"] = alpha;
    if (o.op == "HARD_SWISH") { // a factor below 1
        o.output.scale = std::max(o.output.scale, o.inputs[0].scale / 100);
    }
    unary(o, [&](const numbers &x, const numbers &y, std::int32_t q) -> std::int32_t {
        if (o.op == "QUANTIZE")
            return requantized(x, y, q);
        if (o.op == "LEAKY_RELU")
            return leaky(x, y, q, alpha);
        if (o.op == "HARD_SWISH")
            return hard_swish(x, y, q);
        if (o.op.rfind("RELU", 0) == 0)
            return rectified(o.op, x, y, q);
        return tabulated(o.op, x, y, q);
    });
}

void drawing::draw_reals(one_operator &o) {
    const bool is_from = r.chance(70);
    const dims shape = {r.between(1, 3), r.between(1, 70)};
    o.op = is_from ? "QUANTIZE" : "DEQUANTIZE";
    numbers codes = tensor(code(), shape), reals{data_type::f32, shape, 0, 0, {}, {}};
    fill(codes);
    if (is_from) {
        codes.codes.clear();
        for (dim_t i = 0; i < volume(shape); i++) {
            const float at_code =
                static_cast<float>(r.between(-300, 300)) + r.pick({0.f, 0.5f, 0.5f, r.real_f32(-1, 1)});
            float x = at_code * codes.scale;
            if (r.chance(30))
                x = std::nextafter(x, r.chance(50) ? HUGE_VALF : -HUGE_VALF);
            reals.reals.push_back(x);
            codes.codes.push_back(quantized(codes, x));
        }
        o.inputs = {reals};
        o.output = codes;
        return;
    }
    for (const std::int32_t q : codes.codes)
        reals.reals.push_back(static_cast<float>(q - codes.zero) * codes.scale);
    o.inputs = {codes};
    o.output = reals;
}

void drawing::draw_two(one_operator &o) {
    o.op = r.pick({"ADD", "SUB", "MUL"});
    const data_type type = code();
    const dims shape = {r.between(1, 3), r.between(1, 5), r.between(1, 40)};
    dims other = shape;
    for (dim_t &d : other)
        d = r.chance(25) ? 1 : d;
    numbers a = tensor(type, shape), b = tensor(type, other);
    if (r.chance(80) && o.op != "MUL")
        b.scale = a.scale * static_cast<float>(std::exp2(r.real(-3, 3)));
    fill(a);
    fill(b);
    o.output = result(a, type, shape, r.chance(15) ? -12 : -2, r.chance(15) ? 12 : 3);
    if (o.op == "MUL")
        o.output.scale *= b.scale;
    if (o.op == "MUL" && r.chance(60))
        o.output.scale *= 64;
    const std::string act = activation();
    o.attributes["activation"] = act;
    for (dim_t i = 0; i < volume(shape); i++) {
        const dim_t at[3] = {i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]};
        dim_t place = 0;
        for (std::size_t d = 0; d < 3; d++)
            place = place * other[d] + (other[d] == 1 ? 0 : at[d]);
        const std::int32_t qa = a.codes[static_cast<std::size_t>(i)],
                           qb = b.codes[static_cast<std::size_t>(place)];
        o.output.codes.push_back(o.op == "MUL" ? product_of(a, b, o.output, qa, qb, act)
                                               : sum_of(a, b, o.output, qa, qb, o.op == "SUB", act));
    }
    o.inputs = {a, b};
}

void drawing::draw_reduction(one_operator &o) {
    o.op = r.pick({"MEAN", "MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"});
    dims shape = {r.between(1, 3), r.between(1, 9), r.between(1, 9), r.between(1, 40)};
    numbers x = tensor(code(), shape);
    fill(x);
    std::vector<bool> is_reduced(4);
    std::vector<std::int32_t> axes;
    for (int d = 3; d >= 1; d--)
        if (r.chance(50)) {
            axes.push_back(r.chance(30) ? d - 4 : d);
            is_reduced[static_cast<std::size_t>(d)] = true;
        }
    if (axes.empty()) {
        axes = {2};
        is_reduced[2] = true;
    }
    const bool keeps = r.chance(50);
    dims kept, all = shape;
    std::int64_t n = 1;
    for (std::size_t d = 0; d < 4; d++) {
        if (is_reduced[d]) {
            n *= shape[d];
            all[d] = 1;
        }
        if (keeps || !is_reduced[d])
            kept.push_back(all[d]);
    }
    const bool is_extreme = o.op == "REDUCE_MAX" || o.op == "REDUCE_MIN";
    o.output = result(x, x.type, kept, -3, o.op == "SUM" ? 6 : 2);
    if (is_extreme || r.chance(20))
        quantization_of(o.output, x);
    const auto count = static_cast<std::size_t>(volume(all));
    std::vector<std::int64_t> sums(count);
    std::vector<std::int32_t> largest(count, -1000), smallest(count, 1000);
    for (dim_t i = 0; i < volume(shape); i++) {
        const dim_t at[4] = {i / (shape[1] * shape[2] * shape[3]), i / (shape[2] * shape[3]) % shape[1],
                             i / shape[3] % shape[2], i % shape[3]};
        dim_t place = 0;
        for (std::size_t d = 0; d < 4; d++)
            place = place * all[d] + (is_reduced[d] ? 0 : at[d]);
        const std::int32_t q = x.codes[static_cast<std::size_t>(i)];
        const auto k = static_cast<std::size_t>(place);
        sums[k] += q;
        largest[k] = std::max(largest[k], q);
        smallest[k] = std::min(smallest[k], q);
    }
    for (std::size_t k = 0; k < count; k++)
        o.output.codes.push_back(o.op == "REDUCE_MAX"   ? largest[k]
                                 : o.op == "REDUCE_MIN" ? smallest[k]
                                                        : reduced(o.op == "MEAN", x, o.output, sums[k], n));
    o.inputs = {x};
    o.lists = {axes};
    o.attributes["keep_dims"] = std::int64_t{keeps};
}

void drawing::draw_resize(one_operator &o) {
    o.op = "RESIZE_BILINEAR";
    const dims from = {r.between(1, 2), r.between(1, 9), r.between(1, 9), r.between(1, 20)};
    const dims to = {from[0], r.between(1, 14), r.between(1, 14), from[3]};
    numbers x = tensor(code(), from);
    fill(x);
    o.output = x;
    o.output.shape = to;
    o.output.codes.clear();
    const int mode = static_cast<int>(r.between(0, 2));
    const bool align = mode == 1, half = mode == 2;
    o.attributes = {{"align_corners", std::int64_t{align}}, {"half_pixel_centers", std::int64_t{half}}};
    o.lists = {{static_cast<std::int32_t>(to[1]), static_cast<std::int32_t>(to[2])}};
    for (dim_t i = 0; i < volume(to); i++) {
        const dim_t c = i % to[3], col = i / to[3] % to[2], row = i / (to[3] * to[2]) % to[1],
                    n = i / (to[3] * to[2] * to[1]);
        const neighbours h = along(row, from[1], to[1], align, half),
                         w = along(col, from[2], to[2], align, half);
        const auto q = [&](dim_t a, dim_t b) -> std::int64_t {
            return x.codes[static_cast<std::size_t>(((n * from[1] + a) * from[2] + b) * from[3] + c)];
        };
        const auto line = [&](dim_t a) { return (q(a, w.a) * 2048) + (q(a, w.b) - q(a, w.a)) * w.w; };
        const std::int64_t t = line(h.a), u = line(h.b);
        o.output.codes.push_back(static_cast<std::int32_t>((t * 2048 + (u - t) * h.w + (1 << 21)) >> 22));
    }
    o.inputs = {x};
}

void drawing::draw_softmax(one_operator &o) {
    o.op = "SOFTMAX";
    const dims shape = {r.between(1, 40), r.chance(50) ? r.between(1, 20) : r.between(20, 200)};
    numbers x = tensor(code(), shape, -7, 0);
    fill(x);
    o.output = x;
    o.output.codes.clear();
    o.output.scale = 1.f / 256;
    o.output.zero = x.type == data_type::s8 ? -128 : 0;
    const float beta = r.pick({1.f, 1.f, r.real_f32(0.1, 3)});
    o.attributes["beta"] = beta;
    for (dim_t row = 0; row < shape[0]; row++)
        softmax_row(x, o.output, static_cast<std::size_t>(row * shape[1]), static_cast<std::size_t>(shape[1]),
                    beta);
    o.inputs = {x};
}

/// 4.3, 2.9
void drawing::draw_pool(one_operator &o) {
    const bool is_average = r.chance(60);
    o.op = is_average ? "AVERAGE_POOL_2D" : "MAX_POOL_2D";
    const dims from = {1, r.between(1, 9), r.between(1, 9), r.between(1, 40)};
    numbers x = tensor(code(), from);
    fill(x);
    const bool is_same = r.chance(50);
    const dim_t k[2] = {r.between(1, std::min<dim_t>(4, from[1])), r.between(1, std::min<dim_t>(4, from[2]))};
    const dim_t s[2] = {r.between(1, k[0]), r.between(1, k[1])};
    dim_t out[2], before[2];
    for (std::size_t d = 0; d < 2; d++) {
        out[d] = is_same ? (from[d + 1] + s[d] - 1) / s[d] : (from[d + 1] - k[d]) / s[d] + 1;
        before[d] = is_same ? std::max<dim_t>((out[d] - 1) * s[d] + k[d] - from[d + 1], 0) / 2 : 0;
    }
    const std::string act = activation();
    o.attributes = {{"activation", act},
                    {"padding", std::string(is_same ? "SAME" : "VALID")},
                    {"stride_h", std::int64_t{s[0]}},
                    {"stride_w", std::int64_t{s[1]}},
                    {"filter_h", std::int64_t{k[0]}},
                    {"filter_w", std::int64_t{k[1]}}};
    o.output = x;
    o.output.shape = {1, out[0], out[1], from[3]};
    o.output.codes.clear();
    for (dim_t i = 0; i < volume(o.output.shape); i++) {
        const dim_t c = i % from[3], col = i / from[3] % out[1], row = i / (from[3] * out[1]);
        std::int64_t sum = 0, n = 0, most = -1000;
        for (dim_t a = row * s[0] - before[0]; a < row * s[0] - before[0] + k[0]; a++)
            for (dim_t b = col * s[1] - before[1]; b < col * s[1] - before[1] + k[1]; b++)
                if (a >= 0 && b >= 0 && a < from[1] && b < from[2]) {
                    const std::int64_t q = x.codes[static_cast<std::size_t>((a * from[2] + b) * from[3] + c)];
                    sum += q, n++, most = std::max(most, q);
                }
        const std::int64_t average = (sum > 0 ? sum + n / 2 : sum - n / 2) / n;
        o.output.codes.push_back(
            limited(static_cast<double>(is_average ? average : most), codes_of(act, o.output, !is_average)));
    }
    o.inputs = {x};
}

/// 4.6
void drawing::draw_prelu(one_operator &o) {
    o.op = "PRELU";
    const dims shape = {1, r.between(1, 4), r.between(1, 4), r.between(1, 40)};
    numbers x = tensor(data_type::s8, shape), a = tensor(data_type::s8, {1, 1, shape[3]}, -8, -5);
    fill(x);
    fill(a);
    o.output = result(x, data_type::s8, shape);
    for (std::size_t i = 0; i < x.codes.size(); i++)
        o.output.codes.push_back(prelu(x, a, o.output, x.codes[i], a.codes[i % a.codes.size()]));
    o.inputs = {x, a};
    o.is_constant = {false, true};
}

one_operator drawing::draw() {
    one_operator o;
    const std::int64_t kind = r.between(0, 13);
    kind <= 4    ? draw_function(o)
    : kind == 5  ? draw_reals(o)
    : kind <= 7  ? draw_two(o)
    : kind <= 9  ? draw_reduction(o)
    : kind == 10 ? draw_resize(o)
    : kind == 11 ? draw_softmax(o)
    : kind == 12 ? draw_pool(o)
                 : draw_prelu(o);
    return o;
}

} // namespace

one_operator draw_operator(std::uint64_t seed, std::uint64_t number) { return drawing(seed, number).draw(); }

} // namespace octet::oracle::litert
