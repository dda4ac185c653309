// Every implementation of pooling against the reference, byte for byte: random problems at every ISA level
// and on 1 to 3 threads, with buffers that touch unmapped pages.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "primitives/guarded_memory.hpp"
#include "primitives/random_problem.hpp"
#include "support/effort.hpp"

namespace octet::test {
namespace {

const engine &eng() {
    static const engine e(engine::kind::cpu, 0);
    return e;
}

struct pooling_case {
    pooling_forward::desc desc;
    primitive_attr attr;
    std::string description;
};

void append_random_clip(random_source &r, primitive_attr &attr) {
    if (r.chance(50))
        return;
    post_ops ops;
    ops.append_clip(static_cast<std::int32_t>(r.between(-60, 20)),
                    static_cast<std::int32_t>(r.between(20, 200)));
    attr.set_post_ops(ops);
}

/// The attributes of one of the averages in octet/pooling.hpp.
std::string set_average(random_source &r, primitive_attr &attr, dim_t window) {
    const auto zp = [&] { return std::vector<std::int32_t>{static_cast<std::int32_t>(r.between(-20, 20))}; };
    switch (r.between(0, 4)) {
    case 0:
        if (r.chance(50)) {
            post_ops ops;
            ops.append_eltwise(1.f, algorithm::eltwise_linear, 0.7f, 3.f);
            attr.set_post_ops(ops);
        }
        return "codes";
    case 1:
        attr.set_requantization(requantization_rule::tflite_2step);
        append_random_clip(r, attr);
        return "rounded";
    case 2: {
        const auto rule =
            r.pick({requantization_rule::tflite_2step, requantization_rule::tflite_single_rounding,
                    requantization_rule::rounded_shift});
        attr.set_requantization(rule, 0,
                                {from_double(rule, r.real(0.3f, 2.f) / static_cast<double>(window))});
        attr.set_zero_points(OCTET_ARG_SRC, 0, zp());
        attr.set_zero_points(OCTET_ARG_DST, 0, zp());
        append_random_clip(r, attr);
        return "requantized";
    }
    case 3:
        attr.set_requantization(requantization_rule::ort_f32);
        attr.set_output_scales(0, {r.real(0.3f, 2.f) / static_cast<float>(window)});
        attr.set_zero_points(OCTET_ARG_SRC, 0, zp());
        attr.set_zero_points(OCTET_ARG_DST, 0, zp());
        return "scaled";
    default:
        attr.set_requantization(requantization_rule::ort_f32);
        attr.set_scales(OCTET_ARG_SRC, 0, {r.real(0.01f, 0.1f)});
        attr.set_scales(OCTET_ARG_DST, 0, {r.real(0.01f, 0.1f)});
        attr.set_zero_points(OCTET_ARG_SRC, 0, zp());
        attr.set_zero_points(OCTET_ARG_DST, 0, zp());
        return "dequantized";
    }
}

pooling_case random_pooling(random_source &r) {
    const int spatial = static_cast<int>(r.between(1, 3));
    memory::dims src{r.between(1, 2), r.between(1, 100)}, dst = src, strides, kernel, dilation, pad_l, pad_r;
    if (r.chance(20))
        src[1] = dst[1] = r.pick<dim_t>({32, 64, 256, 300});
    dim_t window = 1;
    for (int d = 0; d < spatial; d++) {
        const dim_t k = r.between(1, 4), s = r.between(1, 3), dil = r.chance(80) ? 0 : 1;
        const dim_t covered = (k - 1) * (dil + 1) + 1, in = covered + r.between(0, 7);
        const dim_t pl = dil == 0 ? r.between(0, k - 1) : 0, out = (in + pl - covered) / s + 1;
        src.push_back(in);
        dst.push_back(out);
        kernel.push_back(k);
        strides.push_back(s);
        dilation.push_back(dil);
        pad_l.push_back(pl);
        pad_r.push_back((out - 1) * s + covered - in - pl);
        window *= k;
    }
    const data_type type = r.pick({data_type::u8, data_type::s8});
    const bool is_row_major = r.chance(25);
    const auto md = [&](const memory::dims &dims) {
        return is_row_major ? memory::desc(dims, type, memory::dims{})
                            : memory::desc(dims, type, format_tag::any); // channels-last
    };
    const auto alg = r.pick({algorithm::pooling_max, algorithm::pooling_avg_include_padding,
                             algorithm::pooling_avg_exclude_padding});
    primitive_attr attr;
    std::string form = "max";
    if (alg == algorithm::pooling_max)
        append_random_clip(r, attr);
    else
        form = set_average(r, attr, window);
    return {{prop_kind::forward_inference, alg, md(src), md(dst), strides, kernel, dilation, pad_l, pad_r},
            attr,
            form + " " + md(src).to_string() + " to " + md(dst).to_string()};
}

using bytes = std::vector<std::uint8_t>;

bytes run(const pooling_case &c, const bytes &codes, guarded_memory::edge edge, std::string &implementation) {
    const pooling_forward::primitive_desc pd(c.desc, c.attr, eng());
    implementation = pd.impl_info_str();
    const guarded_memory src(pd.src_desc(), eng(), edge), dst(pd.dst_desc(), eng(), edge);
    std::copy_n(codes.begin(), src.size(), src.bytes());
    pooling_forward(pd).execute(stream(eng()), {{OCTET_ARG_SRC, src.get()}, {OCTET_ARG_DST, dst.get()}});
    return bytes(dst.bytes(), dst.bytes() + dst.size());
}

TEST(Implementations, PoolingEqualsReference) {
    std::map<std::string, int> counts;
    for (std::uint32_t seed = 0; seed < problem_count(); seed++) {
        random_source r(4000000 + seed);
        const pooling_case c = random_pooling(r);
        SCOPED_TRACE(c.description + ", seed " + std::to_string(seed));
        bytes codes(pooling_forward::primitive_desc(c.desc, c.attr, eng()).src_desc().get_size());
        for (std::uint8_t &code : codes)
            code = static_cast<std::uint8_t>(r.between(0, 255));
        const auto edge = r.chance(50) ? guarded_memory::edge::end : guarded_memory::edge::start;
        std::string implementation;
        set_max_cpu_isa(cpu_isa::ref);
        const bytes expected = run(c, codes, edge, implementation);
        for (const cpu_isa level : get_available_cpu_isas()) {
            set_max_cpu_isa(level);
            set_num_threads(static_cast<int>(r.between(1, 3)));
            ASSERT_EQ(run(c, codes, edge, implementation), expected) << implementation;
            counts[implementation]++;
        }
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(0);
    }
    for (const auto &[name, count] : counts)
        std::printf("  %-24s %d problems\n", name.c_str(), count);
}

} // namespace
} // namespace octet::test
