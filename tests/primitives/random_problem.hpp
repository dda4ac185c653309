#pragma once // SPDX-License-Identifier: Apache-2.0

// Random attributes and tensors for tests that compare implementations. Everything follows from a seed.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "octet/octet.hpp"
#include "support/algorithms.hpp"

namespace octet::test {

class random_source {
public:
    explicit random_source(std::uint32_t seed) : engine_(seed) {}

    dim_t between(dim_t low, dim_t high) { return std::uniform_int_distribution<dim_t>(low, high)(engine_); }
    bool chance(int percent) { return between(1, 100) <= percent; }
    float real(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }
    template <typename T> T pick(std::initializer_list<T> values) {
        return values.begin()[static_cast<std::size_t>(between(0, static_cast<dim_t>(values.size()) - 1))];
    }

    /// Bytes of any tensor: codes over the whole range or at its ends; f32 and s32 moderate.
    void fill(const memory &m) {
        const memory::desc md = m.get_desc();
        auto *bytes = static_cast<std::uint8_t *>(m.get_data_handle());
        const std::size_t size = md.get_size();
        const bool extremes = chance(20);
        if (md.data_type() == data_type::f32 || md.data_type() == data_type::s32) {
            for (std::size_t i = 0; i + 4 <= size; i += 4) {
                const float f = real(-100.f, 100.f);
                const auto s = static_cast<std::int32_t>(between(-5000, 5000));
                std::memcpy(bytes + i, md.data_type() == data_type::f32 ? static_cast<const void *>(&f) : &s,
                            4);
            }
            return;
        }
        for (std::size_t i = 0; i < size; i++)
            bytes[i] = static_cast<std::uint8_t>(extremes ? pick({0x80, 0x7f, 0xff, 0x00}) : between(0, 255));
    }

private:
    std::mt19937 engine_;
};

/// The tensors and the rule that an attribute is made for.
struct attribute_target {
    memory::desc src, weights, dst;
    int weights_channel_mask, dst_channel_mask;
    dim_t channels;
    dim_t reduction;
    bool has_bias;
    bool bias_is_s32;
};

/// Quiet and signalling ones with payloads; a float as an argument might be changed on the way.
inline void set_nan(float &x, std::uint32_t bits) { std::memcpy(&x, &bits, sizeof x); }

/// Attributes with the arguments they need at execution.
struct random_attributes {
    primitive_attr attr;
    std::unordered_map<int, memory> args;
    std::string description;
};

/// Brings typical accumulators into the range of 8 bits or a little beyond it: what saturates shows nothing. The
/// product of two codes is about 10^4, and a sum of n of either sign sqrt(n) times that.
inline float typical_factor(random_source &r, dim_t reduction) {
    return 0.01f * std::exp2(r.real(-3.f, 2.f)) / std::sqrt(static_cast<float>(reduction));
}

inline fixed_point_multiplier random_multiplier(random_source &r, requantization_rule rule, dim_t reduction) {
    const auto real = static_cast<double>(typical_factor(r, reduction));
    if (rule == requantization_rule::gemmlowp_legacy_scale)
        return {static_cast<std::int32_t>(r.between(1, 4000)), static_cast<std::int32_t>(r.between(12, 24)),
                static_cast<std::int32_t>(r.between(-500, 500))};
    fixed_point_multiplier m = from_double(rule, std::min(std::max(real, 1e-9), 0.49));
    if (rule == requantization_rule::tflite_2step && r.chance(10))
        m.shift = static_cast<std::int32_t>(r.between(0, 4));
    return m;
}

inline memory vector_memory(const engine &e, const std::vector<float> &values) {
    const memory m(memory::desc({static_cast<dim_t>(values.size())}, data_type::f32, format_tag::a), e);
    std::memcpy(m.get_data_handle(), values.data(), values.size() * sizeof(float));
    return m;
}
inline memory vector_memory(const engine &e, const std::vector<std::int32_t> &values) {
    const memory m(memory::desc({static_cast<dim_t>(values.size())}, data_type::s32, format_tag::a), e);
    std::memcpy(m.get_data_handle(), values.data(), values.size() * sizeof(std::int32_t));
    return m;
}

/// A rule and where its numbers vary; what is left open is drawn.
struct rule_choice {
    requantization_rule rule = requantization_rule::automatic;
    bool per_channel = false;
    /// Masks and broadcasts of more than the channel: rows, images, elements.
    bool any_broadcast = false;
};

/// A mask over any dimensions.
inline int random_mask(random_source &r, const memory::desc &md) {
    return static_cast<int>(r.between(0, (1 << md.dims().size()) - 1));
}
inline std::size_t count_of(int mask, const memory::desc &md) {
    std::size_t count = 1;
    for (std::size_t d = 0; d < md.dims().size(); d++)
        if (mask & (1 << d))
            count *= static_cast<std::size_t>(md.dims()[d]);
    return count;
}

namespace detail {

inline rule_choice random_rule_choice(random_source &r, const attribute_target &t) {
    using rule_t = requantization_rule;
    rule_choice c;
    c.per_channel = r.chance(60);
    const auto &rules = all_requantization_rules();
    do
        c.rule = rules[static_cast<std::size_t>(r.between(0, static_cast<dim_t>(rules.size()) - 1))];
    while (c.rule == rule_t::automatic);
    if (t.src.data_type() == data_type::f32 &&
        (parameters_of(c.rule) != rule_parameters::scales || t.has_bias))
        c.rule = r.pick({rule_t::f32, rule_t::f32_v3});
    if (t.has_bias && !t.bias_is_s32)
        c.rule = r.pick({rule_t::f32, rule_t::f32_v3});
    return c;
}

/// True if the scales come at execution, which some do: then they may be anything, else finite, and 0 where nothing
/// is divided by them.
inline bool add_special_scales(random_source &r, std::vector<float> &scales, bool may_be_zero) {
    const bool at_run_time = r.chance(25);
    if (!r.chance(20))
        return at_run_time;
    constexpr float inf = std::numeric_limits<float>::infinity();
    for (float &s : scales)
        if (r.chance(50)) {
            if (!at_run_time)
                s = may_be_zero ? 0.f : 1e-40f;
            else if (r.chance(50))
                s = r.pick({0.f, -0.f, inf, -inf, 1e-40f, 3e38f, -1.f});
            else
                set_nan(s, r.pick({0x7fc00000u, 0xffc00000u, 0x7fc12345u, 0xffe54321u, 0x7f800001u}));
        }
    return at_run_time;
}

inline void set_rule(random_source &r, const attribute_target &t, const engine &e, const rule_choice &choice,
                     random_attributes &a) {
    using rule_t = requantization_rule;
    const auto [rule, per_channel, any_broadcast] = choice;
    const int mask = any_broadcast ? random_mask(r, t.dst) : per_channel ? t.dst_channel_mask : 0;
    const std::size_t count = count_of(mask, t.dst),
                      channels = static_cast<std::size_t>(per_channel ? t.channels : 1);
    a.description += std::string(" ") + to_string(rule) + ":" + std::to_string(mask);
    const rule_parameters parameters = parameters_of(rule);
    const auto factors = [&](std::size_t n) {
        std::vector<float> scales(n);
        for (float &s : scales)
            s = typical_factor(r, t.reduction);
        return scales;
    };
    if (parameters == rule_parameters::scales && rule != rule_t::f32_v3) {
        a.attr.set_requantization(rule);
        std::vector<float> scales = factors(count);
        if (add_special_scales(r, scales, true)) {
            a.attr.set_output_scales(mask, {OCTET_RUNTIME_F32_VAL});
            a.args[OCTET_ARG_ATTR_OUTPUT_SCALES] = vector_memory(e, scales);
            a.description += ":runtime";
        } else {
            a.attr.set_output_scales(mask, scales);
        }
    } else if (parameters == rule_parameters::scales) {
        a.attr.set_requantization(rule);
        const auto set_scales = [&](int arg, int arg_mask, std::vector<float> scales) {
            if (add_special_scales(r, scales, arg != OCTET_ARG_DST)) {
                a.attr.set_scales_mask(arg, arg_mask);
                a.args[OCTET_ARG_ATTR_SCALES | arg] = vector_memory(e, scales);
                a.description += ":runtime" + std::to_string(arg);
            } else {
                a.attr.set_scales(arg, arg_mask, scales);
            }
        };
        const bool by_row = any_broadcast && t.src.dims()[0] == t.dst.dims()[0];
        std::vector<float> src_scales(by_row ? static_cast<std::size_t>(t.src.dims()[0]) : 1);
        for (float &s : src_scales)
            s = r.real(0.1f, 1.f);
        set_scales(OCTET_ARG_SRC, by_row ? 1 : 0, src_scales);
        set_scales(OCTET_ARG_WEIGHTS, per_channel ? t.weights_channel_mask : 0, factors(channels));
        if (r.chance(50)) {
            std::vector<float> dst_scales(any_broadcast ? count : 1);
            for (float &s : dst_scales)
                s = r.real(0.1f, 3.f);
            set_scales(OCTET_ARG_DST, any_broadcast ? mask : 0, dst_scales);
        }
    } else if (parameters == rule_parameters::real_scales) {
        std::vector<double> scales(count);
        for (double &s : scales)
            s = static_cast<double>(typical_factor(r, t.reduction));
        if (r.chance(50))
            a.attr.set_requantization(rule, mask, scales);
        else
            a.attr.set_requantization(rule, mask, std::vector<float>(scales.begin(), scales.end()));
    } else if (parameters == rule_parameters::none) {
        a.attr.set_requantization(rule);
    } else {
        std::vector<fixed_point_multiplier> multipliers(count);
        for (fixed_point_multiplier &m : multipliers)
            m = random_multiplier(r, rule, t.reduction);
        a.attr.set_requantization(rule, mask, multipliers);
    }
}

inline void random_zero_points(random_source &r, const attribute_target &t, const engine &e,
                               random_attributes &a, bool any_broadcast) {
    const auto set = [&](int arg, int mask, std::size_t count, std::int32_t low, std::int32_t high,
                         const char *name) {
        std::vector<std::int32_t> values(count);
        for (std::int32_t &v : values)
            v = static_cast<std::int32_t>(r.between(low, high));
        a.description += std::string(" zp-") + name + (mask ? ":oc" : "");
        if (r.chance(30)) {
            a.attr.set_zero_points(arg, mask, {OCTET_RUNTIME_S32_VAL});
            a.args[OCTET_ARG_ATTR_ZERO_POINTS | arg] = vector_memory(e, values);
        } else {
            a.attr.set_zero_points(arg, mask, values);
        }
    };
    const bool is_f32 = t.src.data_type() == data_type::f32; // has no zero points
    const bool src_is_signed = t.src.data_type() == data_type::s8,
               weights_are_signed = t.weights.data_type() == data_type::s8;
    const bool is_convolution = (t.weights_channel_mask & 1) != 0; // channels of src are those of the weights
    if (!is_f32 && r.chance(50)) {
        const bool per_channel = any_broadcast && is_convolution && r.chance(50);
        const std::int32_t far =
            !per_channel && r.chance(8) ? r.pick({1000, -40000, 1 << 24, -(1 << 30)}) : 0;
        set(OCTET_ARG_SRC, per_channel ? 1 << 1 : 0, per_channel ? count_of(1 << 1, t.src) : 1,
            far + (src_is_signed ? -128 : 0), far + (src_is_signed ? 127 : 255), "src");
    }
    if (!is_f32 && r.chance(25)) {
        const bool per_channel = r.chance(50);
        set(OCTET_ARG_WEIGHTS, per_channel ? t.weights_channel_mask : 0,
            static_cast<std::size_t>(per_channel ? t.channels : 1), weights_are_signed ? -128 : 0,
            weights_are_signed ? 127 : 255, "wei");
    }
    if (r.chance(40)) {
        const bool per_channel = r.chance(30);
        const int mask = any_broadcast ? random_mask(r, t.dst) : per_channel ? t.dst_channel_mask : 0;
        const std::int32_t far = !r.chance(12)
                                     ? 0 // beyond what 16-bit words, floats and the sum of a word hold
                                     : r.pick({600, -600, 32512, 32640, -32640, 32768, -40000, 1 << 20,
                                               -(1 << 25), 1 << 30, -(1 << 30)});
        set(OCTET_ARG_DST, mask, count_of(mask, t.dst), far - 128, far + 127, "dst");
    }
}

inline void random_binary(random_source &r, const attribute_target &t, const engine &e, post_ops &ops,
                          random_attributes &a, bool any_broadcast) {
    memory::dims dims = t.dst.dims();
    const int shape =
        static_cast<int>(r.between(0, any_broadcast ? 3 : 2)); // one value, per channel, full, any
    const int mask = shape == 0   ? 0
                     : shape == 1 ? t.dst_channel_mask
                     : shape == 2 ? -1
                                  : random_mask(r, t.dst);
    for (int d = 0; d < static_cast<int>(dims.size()); d++)
        if (!(mask & (1 << d)))
            dims[static_cast<std::size_t>(d)] = 1;
    const data_type type = r.pick({data_type::f32, data_type::s8, data_type::u8, data_type::s32});
    const memory::desc md(
        dims, type, shape == 2 && !(any_broadcast && r.chance(40)) ? t.dst.get_strides() : memory::dims{});
    const auto alg = random_algorithm(r, "binary_");
    const memory src1(md, e);
    r.fill(src1);
    a.args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | OCTET_ARG_SRC_1] = src1;
    ops.append_binary(alg, md);
    a.description += " binary" +
                     std::to_string(static_cast<int>(alg) - static_cast<int>(algorithm::binary_add)) + ":" +
                     std::to_string(shape) + ":" + md.to_string();
}

/// In the order that oneDNN reads them in: dimension 1 innermost, then from the last one on.
inline memory::desc prelu_weights_of(int mask, const memory::desc &dst) {
    memory::dims dims = dst.dims(), strides(dims.size());
    const int n = static_cast<int>(dims.size());
    std::vector<int> order; // innermost first
    if (n > 1)
        order.push_back(1);
    for (int d = n - 1; d >= 0; d--)
        if (d != 1)
            order.push_back(d);
    dim_t stride = 1;
    for (const int d : order) {
        const auto i = static_cast<std::size_t>(d);
        dims[i] = mask & (1 << d) ? dims[i] : 1;
        strides[i] = stride;
        stride *= dims[i];
    }
    return memory::desc(dims, data_type::f32, strides);
}

inline bool is_real(data_type type) {
    return type == data_type::f32 || type == data_type::f16 || type == data_type::bf16;
}

/// 1/8 to 4, of either sign.
inline fixed_point_multiplier random_factor(random_source &r) {
    const auto multiplier =
        static_cast<std::int32_t>(r.between(1 << 30, std::numeric_limits<std::int32_t>::max()));
    return {r.chance(30) ? -multiplier : multiplier, static_cast<std::int32_t>(r.between(-2, 2)), 0};
}

/// Beyond codes, words, and what is left of 32 bits beside a code.
inline std::int32_t random_extreme(random_source &r) {
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    const auto x = static_cast<std::int32_t>(
        r.pick({255, 256, 1000, 32512, 32767, 32768, 65536, 1 << 24, 1 << 30, most - 255, most}));
    return r.chance(50) ? x : -x - static_cast<std::int32_t>(r.between(0, 1));
}

inline void random_post_op(random_source &r, const attribute_target &t, const engine &e, post_ops &ops,
                           random_attributes &a, bool any_broadcast = false) {
    switch (r.between(0, 11)) {
    case 0:
        ops.append_sum(r.chance(50)  ? 1.f
                       : r.chance(8) ? r.pick({0.f, 1e30f, -3e38f, 1e-40f})
                                     : r.real(-2.f, 2.f),
                       r.chance(30) ? r.chance(15) ? random_extreme(r) : 7 : 0);
        a.description += " sum";
        break;
    case 1:
    case 2: {
        const auto alg = random_algorithm(r, "eltwise_");
        const bool clips = alg == algorithm::eltwise_clip || alg == algorithm::eltwise_clip_v2;
        const bool is_extreme = r.chance(10);
        const float large = r.pick({1e10f, 3e9f, 40000.f, 3e38f, std::numeric_limits<float>::infinity()});
        ops.append_eltwise(r.chance(70) ? 1.f
                           : is_extreme ? r.pick({0.f, -1.f, 1e30f})
                                        : r.real(0.5f, 2.f),
                           alg,
                           is_extreme ? (clips ? -large : r.pick({large, -large, 0.f, -0.5f}))
                           : clips    ? -10.f
                                      : r.real(0.1f, 2.f),
                           is_extreme ? large
                           : clips    ? 90.f
                                      : r.pick({0.f, 1.f, 2.f, 0.5f, 3.f}));
        a.description +=
            " eltwise" + std::to_string(static_cast<int>(alg) - static_cast<int>(algorithm::eltwise_relu));
        break;
    }
    case 3:
        random_binary(r, t, e, ops, a, any_broadcast);
        break;
    case 4: {
        const bool per_channel = r.chance(70);
        const int mask = any_broadcast ? random_mask(r, t.dst) : per_channel ? t.dst_channel_mask : 0;
        const memory weights = any_broadcast ? memory(prelu_weights_of(mask, t.dst), e)
                                             : vector_memory(e, std::vector<float>(count_of(mask, t.dst)));
        for (std::size_t i = 0; i < count_of(mask, t.dst); i++)
            static_cast<float *>(weights.get_data_handle())[i] = r.real(-1.f, 1.f);
        a.args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | OCTET_ARG_WEIGHTS] = weights;
        ops.append_prelu(mask);
        a.description += " prelu";
        break;
    }
    case 5: {
        auto low = static_cast<std::int32_t>(r.between(-100, 20)),
             high = low + static_cast<std::int32_t>(r.between(0, 200));
        if (r.chance(10))
            std::tie(low, high) = std::minmax({random_extreme(r), random_extreme(r)});
        ops.append_clip(low, high);
        a.description += " clip";
        break;
    }
    case 6:
        ops.append_add(r.chance(20) ? random_extreme(r) : static_cast<std::int32_t>(r.between(-60, 60)));
        a.description += " add";
        break;
    case 7:
        if (is_real(t.dst.data_type()))
            break;
        ops.append_rescaled_sum(
            {random_factor(r), r.chance(10) ? random_extreme(r) : static_cast<std::int32_t>(r.between(-9, 9)),
             data_type::undef, requantization_rule::tflite_2step});
        a.description += " rescaled_sum";
        break;
    case 8: {
        fixed_point_multiplier identity = random_factor(r);
        identity.multiplier = std::abs(identity.multiplier);
        ops.append_leaky_relu(
            {identity, random_factor(r),
             r.pick({requantization_rule::tflite_2step, requantization_rule::tflite_1step})});
        a.description += " leaky_relu";
        break;
    }
    case 10:
        if (memory::data_type_size(t.dst.data_type()) != 1)
            break;
        ops.append_scaled_add(
            {add_multipliers_of(requantization_rule::tflite_2step, r.real(0.01f, 1.f), r.real(0.01f, 1.f),
                                r.real(0.01f, 1.f)),
             static_cast<std::int32_t>(r.between(-128, 255)), static_cast<std::int32_t>(r.between(-128, 255)),
             r.pick({requantization_rule::tflite_2step, requantization_rule::tflite_1step})});
        a.description += " scaled_add";
        break;
    case 9:
        if (memory::data_type_size(t.dst.data_type()) != 1)
            break;
        ops.append_qlinear_add({r.real(-2.f, 2.f), r.real(-2.f, 2.f), r.real(-100.f, 100.f),
                                static_cast<std::int32_t>(r.between(-128, 255)), r.chance(50)});
        a.description += " qlinear_add";
        break;
    default: {
        post_op::table table;
        table.type = r.pick({data_type::s8, data_type::u8});
        for (std::uint8_t &entry : table.entries)
            entry = static_cast<std::uint8_t>(r.between(0, 255));
        ops.append_table(table);
        a.description += " table";
        break;
    }
    }
}

} // namespace detail

inline random_attributes random_attributes_for(random_source &r, const attribute_target &t, const engine &e,
                                               rule_choice choice = {}) {
    random_attributes a;
    if (choice.rule == requantization_rule::automatic) {
        const bool any_broadcast = choice.any_broadcast;
        choice = detail::random_rule_choice(r, t);
        choice.any_broadcast = any_broadcast;
    }
    detail::set_rule(r, t, e, choice, a);
    detail::random_zero_points(r, t, e, a, choice.any_broadcast);
    post_ops ops;
    for (dim_t n = r.chance(50) ? 0 : r.between(1, 3); n > 0; n--)
        detail::random_post_op(r, t, e, ops, a, choice.any_broadcast);
    a.attr.set_post_ops(ops);
    return a;
}

} // namespace octet::test
