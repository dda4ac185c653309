// Operators of LiteRT by a number: quantization that the delegate takes and that it refuses, codes near the
// zero point and from everywhere. Start reading at drawing::draw.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "oracle/draw.hpp"
#include "oracle/litert.hpp"

namespace octet::oracle::litert {

namespace {

constexpr build builds[] = {
    {"litert-2026.08-x86"},
    {"litert-2026.08-x86-builtin", false, false, false},
    {"litert-2026.08-arm64", true, true},
    {"litert-2026.08-arm64-builtin", true, true, false},
    {"litert-2026.08-arm64-gcc", true},
    {"litert-2026.08-arm64-gcc-builtin", true, false, false},
};

/// Whether an element lies in a whole group of `size`.
bool is_in_group(std::size_t i, std::size_t count, std::size_t size) { return i < count / size * size; }

class drawing {
public:
    drawing(std::uint64_t seed, std::uint64_t number)
        : r(seed, number), by(builds[r.between(0, std::size(builds) - 1)]) {}
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
    /// Some codes, of which a kernel may leave a few behind its groups.
    numbers some_codes(data_type type) {
        numbers t = tensor(type, {r.between(1, 80)});
        fill(t);
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

    using function = std::function<std::int32_t(const numbers &, const numbers &, std::int32_t, std::size_t)>;
    void unary(one_operator &o, const function &f) {
        for (std::size_t i = 0; i < o.inputs[0].codes.size(); i++)
            o.output.codes.push_back(f(o.inputs[0], o.output, o.inputs[0].codes[i], i));
    }
    /// The same with its delegate, for what LiteRT's own kernel does otherwise than the specification says.
    void need_delegate() {
        if (!by.delegates)
            by = builds[by.is_clang ? 2 : by.is_arm ? 4 : 0];
    }

    void draw_function(one_operator &o);
    void draw_reals(one_operator &o);
    void draw_two(one_operator &o);
    void draw_reduction(one_operator &o);
    void draw_resize(one_operator &o);
    void draw_softmax(one_operator &o);
    void draw_pool(one_operator &o);
    void draw_prelu(one_operator &o);
    void draw_product(one_operator &o);
    void draw_concatenation(one_operator &o);

    random_source r;
    build by;
};

void drawing::draw_function(one_operator &o) {
    o.op = r.pick({"QUANTIZE", "QUANTIZE", "LEAKY_RELU", "LEAKY_RELU", "LOGISTIC", "TANH", "ELU",
                   "HARD_SWISH", "RELU", "RELU6", "RELU_N1_TO_1"});
    if (o.op == "ELU")
        need_delegate();
    const data_type from = o.op == "ELU" ? data_type::s8 : code();
    const data_type to = o.op == "QUANTIZE" && r.chance(30) ? code() : from;
    o.inputs = {r.chance(50) ? every_code(from) : some_codes(from)};
    const std::size_t count = o.inputs[0].codes.size();
    o.output =
        result(o.inputs[0], to, o.inputs[0].shape, o.op == "QUANTIZE" ? -10 : -6, o.op == "QUANTIZE" ? 9 : 6);
    const float alpha =
        r.chance(10) ? r.real_f32(-300, 300) : r.pick({r.real_f32(0, 1), r.real_f32(-2, 2), 0.01f});
    if (o.op == "LEAKY_RELU")
        o.attributes["alpha"] = alpha;
    if (o.op == "HARD_SWISH") { // a factor below 1
        o.output.scale = std::max(o.output.scale, o.inputs[0].scale / 100);
    }
    unary(o, [&](const numbers &x, const numbers &y, std::int32_t q, std::size_t i) -> std::int32_t {
        if (o.op == "QUANTIZE")
            return requantized(by, x, y, q, is_in_group(i, count, 16));
        if (o.op == "LEAKY_RELU")
            return leaky(by, x, y, q, alpha);
        if (o.op == "HARD_SWISH")
            return hard_swish(x, y, q, by.is_arm && is_in_group(i, count, 8));
        if (o.op.rfind("RELU", 0) == 0)
            return rectified(o.op, x, y, q);
        return tabulated(by, o.op, x, y, q);
    });
}

void drawing::draw_reals(one_operator &o) {
    const bool is_from = r.chance(70);
    const dims shape = {r.between(1, 3), r.between(1, 70)};
    o.op = is_from ? "QUANTIZE" : "DEQUANTIZE";
    need_delegate();
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
    const float factor = a.scale * b.scale / o.output.scale;
    if (o.op == "MUL" && by.is_arm && !(factor < 1)) // its sums may wrap at 16 bits
        by = builds[by.delegates && factor < 0x1p8f ? 2 : 0];
    for (dim_t i = 0; i < volume(shape); i++) {
        const dim_t at[3] = {i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]};
        dim_t place = 0;
        for (std::size_t d = 0; d < 3; d++)
            place = place * other[d] + (other[d] == 1 ? 0 : at[d]);
        const std::int32_t qa = a.codes[static_cast<std::size_t>(i)],
                           qb = b.codes[static_cast<std::size_t>(place)];
        o.output.codes.push_back(o.op == "MUL" ? product_of(by, a, b, o.output, qa, qb, act)
                                               : sum_of(by, a, b, o.output, qa, qb, o.op == "SUB", act));
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
    bool is_spatial = r.chance(30), keeps = is_spatial || r.chance(50);
    if (is_spatial) {
        axes = r.chance(50) ? std::vector<std::int32_t>{1, 2} : std::vector<std::int32_t>{2, 1};
        is_reduced = {false, true, true, false};
    }
    is_spatial =
        keeps && (axes == std::vector<std::int32_t>{1, 2} || axes == std::vector<std::int32_t>{2, 1});
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
        o.output.codes.push_back(o.op == "REDUCE_MAX" ? largest[k]
                                 : o.op == "REDUCE_MIN"
                                     ? smallest[k]
                                     : reduced(by,
                                               {o.op == "MEAN", is_spatial,
                                                is_in_group(k % static_cast<std::size_t>(shape[3]),
                                                            static_cast<std::size_t>(shape[3]), 16)},
                                               x, o.output, sums[k], n));
    o.inputs = {x};
    o.lists = {axes};
    o.attributes["keep_dims"] = std::int64_t{keeps};
}

void drawing::draw_resize(one_operator &o) {
    o.op = "RESIZE_BILINEAR";
    need_delegate();
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
        const neighbours h = along(by, row, from[1], to[1], align, half),
                         w = along(by, col, from[2], to[2], align, half);
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
    // The two tables part most often in short rows.
    const bool is_short = r.chance(50);
    const dims shape = {r.between(1, is_short ? 200 : 40), is_short ? r.between(1, 6) : r.between(6, 200)};
    numbers x = tensor(code(), shape, -6, r.chance(70) ? -2 : 0);
    fill(x);
    const data_type to = r.chance(20) ? data_type::s16 : x.type;
    o.output = x;
    o.output.type = to;
    o.output.codes.clear();
    o.output.scale = to == data_type::s16 ? 1.f / 65536 : 1.f / 256;
    o.output.zero = static_cast<std::int32_t>(lowest(to));
    if (r.chance(30)) // s8: to a thousandth
        o.output.scale *= to == data_type::s8 ? r.real_f32(0.9991, 1.0009) : r.real_f32(0.1, 3);
    if (to != data_type::s8 && r.chance(20))
        o.output.zero += static_cast<std::int32_t>(r.between(0, 255));
    const float beta = r.pick({1.f, 1.f, r.real_f32(0.1, 3)});
    o.attributes["beta"] = beta;
    for (dim_t row = 0; row < shape[0]; row++)
        softmax_row(by, x, o.output, static_cast<std::size_t>(row * shape[1]),
                    static_cast<std::size_t>(shape[1]), beta);
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
        o.output.codes.push_back(limited(static_cast<double>(is_average ? average : most),
                                         codes_of(act, o.output, !is_average && by.delegates)));
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

/// DEPTHWISE_CONV_2D or TRANSPOSE_CONV; of s8 each output channel with its scale. The delegate leaves those
/// whose bias is quantized along another dimension than 0.
void drawing::draw_product(one_operator &o) {
    const bool is_depthwise = r.chance(60);
    o.op = is_depthwise ? "DEPTHWISE_CONV_2D" : "TRANSPOSE_CONV";
    const dim_t multiplier = is_depthwise ? r.between(1, 3) : 1, ic = r.between(1, is_depthwise ? 20 : 4),
                oc = is_depthwise ? ic * multiplier : r.between(1, 20);
    const dim_t k[2] = {r.between(1, 3), r.between(1, 3)}, s[2] = {r.between(1, 2), r.between(1, 2)};
    const dims from = {r.between(1, 2), r.between(k[0], 5), r.between(k[1], 5), ic};
    dims to = {from[0], (from[1] - k[0]) / s[0] + 1, (from[2] - k[1]) / s[1] + 1, oc};
    if (!is_depthwise)
        to = {from[0], (from[1] - 1) * s[0] + k[0], (from[2] - 1) * s[1] + k[1], oc};
    const data_type type = r.chance(25) ? data_type::u8 : data_type::s8;
    numbers x = tensor(type, from), w, bias;
    fill(x);
    w.type = type;
    w.zero = type == data_type::u8 ? static_cast<std::int32_t>(r.between(0, 255)) : 0;
    w.shape = is_depthwise ? dims{1, k[0], k[1], oc} : dims{oc, k[0], k[1], ic};
    w.axis = is_depthwise ? 3 : 0;
    for (dim_t i = 0; i < volume(w.shape); i++)
        w.codes.push_back(
            static_cast<std::int32_t>(type == data_type::u8 ? r.between(1, 255) : r.between(-127, 127)));
    const bool has_powers = r.chance(50); // draws powers of 2, with which halves are frequent
    const auto scale = [&] {
        return static_cast<float>(std::exp2(has_powers ? std::floor(r.real(-9, -3)) : r.real(-9, -3)));
    };
    w.scale = scale();
    for (dim_t c = 0; c < oc && type == data_type::s8; c++)
        w.scales.push_back(scale());
    bias.type = data_type::s32;
    bias.shape = {oc};
    bias.scales = w.scales.empty() ? std::vector<float>{w.scale} : w.scales;
    bias.axis = r.chance(50) ? 0 : w.axis == 0 ? 1 : w.axis;
    for (dim_t c = 0; c < oc; c++)
        bias.codes.push_back(static_cast<std::int32_t>(r.between(-2000, 2000)));
    o.output = result(x, type, to, 0, 3);
    o.attributes = {{"activation", std::string("NONE")},
                    {"padding", std::string("VALID")},
                    {"stride_h", std::int64_t{s[0]}},
                    {"stride_w", std::int64_t{s[1]}}};
    if (is_depthwise)
        o.attributes["depth_multiplier"] = std::int64_t{multiplier};

    std::vector<std::int64_t> sums(static_cast<std::size_t>(volume(to)));
    const auto at = [](const dims &d, dim_t a, dim_t b, dim_t c, dim_t e) {
        return static_cast<std::size_t>(((a * d[1] + b) * d[2] + c) * d[3] + e);
    };
    for (dim_t n = 0; n < to[0]; n++)
        for (dim_t i = 0; i < (is_depthwise ? to[1] : from[1]); i++)
            for (dim_t j = 0; j < (is_depthwise ? to[2] : from[2]); j++)
                for (dim_t a = 0; a < k[0]; a++)
                    for (dim_t b = 0; b < k[1]; b++)
                        for (dim_t c = 0; c < oc; c++)
                            for (dim_t e = 0; e < (is_depthwise ? 1 : ic); e++) {
                                const dim_t high = i * s[0] + a, wide = j * s[1] + b;
                                const std::size_t source = is_depthwise
                                                               ? at(from, n, high, wide, c / multiplier)
                                                               : at(from, n, i, j, e),
                                                  place = is_depthwise ? at(to, n, i, j, c)
                                                                       : at(to, n, high, wide, c),
                                                  tap = is_depthwise ? at(w.shape, 0, a, b, c)
                                                                     : at(w.shape, c, a, b, e);
                                sums[place] += (x.codes[source] - x.zero) * (w.codes[tap] - w.zero);
                            }
    const bool is_delegated = by.delegates && bias.axis == 0;
    for (std::size_t i = 0; i < sums.size(); i++) {
        const std::size_t c = i % static_cast<std::size_t>(oc);
        const bool by_channel = is_in_group(c, static_cast<std::size_t>(oc), 8),
                   by_element = !is_depthwise && is_in_group(i, sums.size(), 16),
                   in_group = by.is_arm && (type == data_type::s8 ? by_channel : by_element);
        o.output.codes.push_back(accumulated(by, is_delegated, in_group, x,
                                             w.scales.empty() ? w.scale : w.scales[c], o.output,
                                             static_cast<std::int32_t>(sums[i] + bias.codes[c])));
    }
    numbers size;
    size.type = data_type::s32;
    size.shape = {4};
    for (const dim_t d : to)
        size.codes.push_back(static_cast<std::int32_t>(d));
    o.inputs = is_depthwise ? std::vector<numbers>{x, w, bias} : std::vector<numbers>{size, w, x, bias};
    o.is_constant =
        is_depthwise ? std::vector<bool>{false, true, true} : std::vector<bool>{true, true, false, true};
}

/// Draws CONCATENATION of u8 codes, each input at its scale.
void drawing::draw_concatenation(one_operator &o) {
    o.op = "CONCATENATION";
    const dim_t rows = r.between(1, 4);
    dim_t columns = 0;
    o.output = tensor(data_type::u8, {rows, 0});
    for (int i = static_cast<int>(r.between(1, 4)); i > 0; i--) {
        numbers x = result(o.output, data_type::u8, {rows, r.between(1, 60)}, -2, 2);
        if (r.chance(20))
            quantization_of(x, o.output);
        fill(x);
        columns += x.shape[1];
        o.inputs.push_back(x);
    }
    o.output.shape[1] = columns;
    for (dim_t row = 0; row < rows; row++)
        for (const numbers &x : o.inputs)
            for (dim_t i = 0; i < x.shape[1]; i++)
                o.output.codes.push_back(
                    joined(by, x, o.output, x.codes[static_cast<std::size_t>(row * x.shape[1] + i)]));
    o.attributes["axis"] = std::int64_t{1};
    o.attributes["activation"] = std::string("NONE");
}

one_operator drawing::draw() {
    one_operator o;
    const std::int64_t kind = r.between(0, 17);
    kind <= 4    ? draw_function(o)
    : kind == 5  ? draw_reals(o)
    : kind <= 7  ? draw_two(o)
    : kind <= 9  ? draw_reduction(o)
    : kind == 10 ? draw_resize(o)
    : kind <= 12 ? draw_softmax(o)
    : kind == 13 ? draw_pool(o)
    : kind == 14 ? draw_prelu(o)
    : kind == 15 ? draw_concatenation(o)
                 : draw_product(o);
    o.by = by;
    return o;
}

} // namespace

one_operator draw_operator(std::uint64_t seed, std::uint64_t number) { return drawing(seed, number).draw(); }

} // namespace octet::oracle::litert
