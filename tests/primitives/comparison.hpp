#pragma once // SPDX-License-Identifier: Apache-2.0

// Random problems, every implementation against the reference, byte for byte: at every ISA level of the
// machine and on 1, 2 and 3 threads. Buffers touch unmapped pages.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "primitives/guarded_memory.hpp"
#include "primitives/random_problem.hpp"
#include "support/effort.hpp"

namespace octet::test {

inline const engine &eng() {
    static const engine e(engine::kind::cpu, 0);
    return e;
}

struct comparison {
    std::vector<std::pair<int, memory::desc>> srcs; ///< by argument
    memory::desc dst;
    std::function<primitive_desc_base()> make;
    std::unordered_map<int, memory> args; ///< arguments of attributes
    std::string description;
    bool in_place = false;        ///< dst is the first source
    bool any_nan_will_do = false; ///< in f32 results
    float dst_scale = 1.f;        ///< for values that lie on ties
};

using bytes = std::vector<std::uint8_t>;

inline bytes run(const comparison &p, const std::vector<memory> &srcs, const memory &dst_before,
                 guarded_memory::edge edge, std::string &implementation) {
    const primitive_desc_base pd = p.make();
    implementation = pd.impl_info_str();
    std::vector<std::unique_ptr<guarded_memory>> guarded;
    std::unordered_map<int, memory> args = p.args;
    for (std::size_t i = 0; i < srcs.size(); i++) {
        guarded.push_back(std::make_unique<guarded_memory>(p.srcs[i].second, eng(), edge));
        guarded.back()->copy_from(srcs[i]);
        args[p.srcs[i].first] = guarded.back()->get();
    }
    if (p.in_place) {
        args[OCTET_ARG_DST] = guarded[0]->get();
        primitive(pd).execute(stream(eng()), args);
        return bytes(guarded[0]->bytes(), guarded[0]->bytes() + guarded[0]->size());
    }
    const guarded_memory dst(p.dst, eng(), edge);
    dst.copy_from(dst_before);
    args[OCTET_ARG_DST] = dst.get();
    primitive(pd).execute(stream(eng()), args);
    return bytes(dst.bytes(), dst.bytes() + dst.size());
}

/// Gives all NaNs the same bits: if a caller cannot know the order of sums, no contract fixes sign and
/// payload of a NaN.
inline bytes with_equal_nans(bytes result, data_type type) {
    for (std::size_t i = 0; type == data_type::f32 && i + sizeof(float) <= result.size();
         i += sizeof(float)) {
        float x;
        std::memcpy(&x, &result[i], sizeof x);
        if (std::isnan(x))
            std::memset(&result[i], 0xff, sizeof x);
    }
    const bool is_small = type == data_type::f16 || type == data_type::bf16;
    for (std::size_t i = 0; is_small && i + 2 <= result.size(); i += 2) {
        const int magnitude = (result[i + 1] & 0x7f) << 8 | result[i];
        if (magnitude > (type == data_type::f16 ? 0x7c00 : 0x7f80))
            result[i] = result[i + 1] = 0xff;
    }
    return result;
}

inline std::string difference(const bytes &expected, const bytes &got) {
    for (std::size_t i = 0; i < expected.size(); i++)
        if (expected[i] != got[i])
            return "byte " + std::to_string(i) + " of " + std::to_string(expected.size()) + ": expected " +
                   std::to_string(expected[i]) + ", got " + std::to_string(got[i]);
    return "";
}

/// Infinities, NaNs, zeros, the smallest and largest numbers, and ties of the destination's scale.
inline void add_special_values(random_source &r, const memory &m, const comparison &p) {
    const float inf = std::numeric_limits<float>::infinity();
    auto *values = static_cast<float *>(m.get_data_handle());
    for (std::size_t i = 0; i < m.get_desc().get_size() / sizeof(float); i++) {
        if (r.chance(10))
            values[i] =
                r.pick({inf, -inf, 0.f, -0.f, 1e-40f, -1e-40f, 3e38f, -3e38f, 2147483648.f, -2147483904.f});
        else if (r.chance(3))
            set_nan(values[i],
                    r.pick({0x7fc00000u, 0xffc00000u, 0x7fc12345u, 0xffe54321u, 0x7f800001u, 0xffbfffffu}));
        else if (r.chance(50))
            values[i] = static_cast<float>(r.between(-700, 700)) * 0.5f * p.dst_scale;
    }
}

inline void compare_implementations(const comparison &p, random_source &r,
                                    std::map<std::string, int> &counts) {
    std::vector<memory> srcs;
    for (const auto &[arg, md] : p.srcs) {
        srcs.emplace_back(md, eng());
        r.fill(srcs.back());
        if (md.data_type() == data_type::f32 && r.chance(50))
            add_special_values(r, srcs.back(), p);
    }
    const memory dst(p.dst, eng());
    r.fill(dst);
    const auto edge = r.chance(50) ? guarded_memory::edge::end : guarded_memory::edge::start;
    SCOPED_TRACE(p.description);
    std::string implementation;
    set_max_cpu_isa(cpu_isa::ref);
    const data_type nans = p.any_nan_will_do ? p.dst.data_type() : data_type::undef;
    const bytes expected = with_equal_nans(run(p, srcs, dst, edge, implementation), nans);
    for (const cpu_isa level : get_available_cpu_isas()) {
        if (level == cpu_isa::ref)
            continue;
        set_max_cpu_isa(level);
        set_num_threads(static_cast<int>(r.between(1, 3)));
        const bytes got = with_equal_nans(run(p, srcs, dst, edge, implementation), nans);
        counts[implementation]++;
        EXPECT_EQ(difference(expected, got), "")
            << to_string(level) << " as " << implementation << " on " << get_num_threads() << " threads";
    }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(0);
}

/// One in `share` of the problems that the environment asks for, where they are large.
inline void compare_many(const std::function<comparison(random_source &)> &make, std::uint32_t seed,
                         int share = 1) {
    std::map<std::string, int> counts;
    for (int i = 0; i * share < problem_count(); i++) {
        random_source r(seed + static_cast<std::uint32_t>(i));
        SCOPED_TRACE("seed " + std::to_string(seed + static_cast<std::uint32_t>(i)));
        try {
            compare_implementations(make(r), r, counts);
        } catch (const error &e) {
            ADD_FAILURE() << e.what();
        }
        if (::testing::Test::HasFailure())
            break; // one failure says enough
    }
    for (const auto &[name, count] : counts)
        std::printf("  %-24s %d problems\n", name.c_str(), count);
}

// ---- shapes

inline memory::dims random_dims(random_source &r) {
    memory::dims dims;
    for (dim_t n = r.between(1, 4); n > 0; n--)
        dims.push_back(r.between(1, r.chance(10) ? 70 : 9));
    if (r.chance(50))
        dims.back() = r.between(1, 300);
    if (r.chance(5))
        dims[0] *= 40; // more than one task
    return dims;
}

/// Row-major, channels-last, or with gaps behind the innermost dimension.
inline memory::dims random_strides(random_source &r, const memory::dims &dims) {
    const int n = static_cast<int>(dims.size());
    std::vector<int> order; // innermost first
    for (int d = n - 1; d >= 0; d--)
        order.push_back(d);
    if (n > 2 && r.chance(50)) { // channels last
        order.erase(order.end() - 2);
        order.insert(order.begin(), 1);
    }
    memory::dims strides(dims.size());
    dim_t stride = 1;
    for (const int d : order) {
        strides[static_cast<std::size_t>(d)] = stride;
        stride *= dims[static_cast<std::size_t>(d)];
        if (d == order[0] && r.chance(20))
            stride += r.between(1, 40);
    }
    return strides;
}

inline data_type random_code(random_source &r) { return r.pick({data_type::u8, data_type::s8}); }
inline data_type random_type(random_source &r) {
    return r.pick({data_type::u8, data_type::s8, data_type::u8, data_type::s8, data_type::f32, data_type::f32,
                   data_type::s32});
}

inline std::int32_t random_zero_point(random_source &r, data_type type) {
    return static_cast<std::int32_t>(type == data_type::u8 ? r.between(0, 255) : r.between(-128, 127));
}

inline std::string text_of(const memory::dims &values) {
    std::string s;
    for (const dim_t v : values)
        s += (s.empty() ? "" : "x") + std::to_string(v);
    return s;
}

/// At creation or, sometimes, at execution.
inline void add_zero_point(random_source &r, int arg, data_type type, comparison &p, primitive_attr &attr) {
    if (r.chance(40))
        return;
    std::int32_t value = r.chance(8) ? detail::random_extreme(r) : random_zero_point(r, type);
    value += value == OCTET_RUNTIME_S32_VAL; // this value is no number
    if (r.chance(15)) {
        attr.set_zero_points(arg, 0, {OCTET_RUNTIME_S32_VAL});
        p.args[OCTET_ARG_ATTR_ZERO_POINTS | arg] = vector_memory(eng(), std::vector<std::int32_t>{value});
    } else {
        attr.set_zero_points(arg, 0, {value});
    }
}

/// Post-ops of random_problem.hpp, some of whose numbers vary over several dimensions.
inline void add_post_ops(random_source &r, comparison &p, const memory::desc &src, random_attributes &a) {
    const memory::dims dims = p.dst.dims();
    const int channel = static_cast<int>(r.between(0, static_cast<dim_t>(dims.size()) - 1));
    const attribute_target target{src, src,   p.dst, 1, 1 << channel, dims[static_cast<std::size_t>(channel)],
                                  1,   false, false};
    post_ops ops;
    for (dim_t n = r.chance(50) ? 0 : r.between(1, 2); n > 0; n--)
        detail::random_post_op(r, target, eng(), ops, a, r.chance(30));
    a.attr.set_post_ops(ops);
    p.args.insert(a.args.begin(), a.args.end());
}

} // namespace octet::test
