// Element-wise primitives: every implementation against the reference, byte for byte. Random shapes, layouts
// and attributes, at every ISA level of the machine and on 1, 2 and 3 threads. Buffers touch unmapped pages.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "primitives/guarded_memory.hpp"
#include "primitives/random_problem.hpp"

namespace octet::test {
namespace {

const engine &eng() {
    static const engine e(engine::kind::cpu, 0);
    return e;
}

struct stream_problem {
    std::vector<std::pair<int, memory::desc>> srcs; ///< by argument
    memory::desc dst;
    std::function<primitive_desc_base()> make;
    std::unordered_map<int, memory> args; ///< of attributes
    std::string description;
    bool in_place = false; ///< dst is the first source
};

using bytes = std::vector<std::uint8_t>;

bytes run(const stream_problem &p, const std::vector<memory> &srcs, const memory &dst_before,
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

std::string difference(const bytes &expected, const bytes &got) {
    for (std::size_t i = 0; i < expected.size(); i++)
        if (expected[i] != got[i])
            return "byte " + std::to_string(i) + " of " + std::to_string(expected.size()) + ": expected " +
                   std::to_string(expected[i]) + ", got " + std::to_string(got[i]);
    return "";
}

void compare_implementations(const stream_problem &p, random_source &r, std::map<std::string, int> &counts) {
    std::vector<memory> srcs;
    for (const auto &[arg, md] : p.srcs) {
        srcs.emplace_back(md, eng());
        r.fill(srcs.back());
    }
    const memory dst(p.dst, eng());
    r.fill(dst);
    const auto edge = r.chance(50) ? guarded_memory::edge::end : guarded_memory::edge::start;
    SCOPED_TRACE(p.description);
    std::string implementation;
    set_max_cpu_isa(cpu_isa::ref);
    const bytes expected = run(p, srcs, dst, edge, implementation);
    for (const cpu_isa level : get_available_cpu_isas()) {
        if (level == cpu_isa::ref)
            continue;
        set_max_cpu_isa(level);
        set_num_threads(static_cast<int>(r.between(1, 3)));
        const bytes got = run(p, srcs, dst, edge, implementation);
        counts[implementation]++;
        EXPECT_EQ(difference(expected, got), "")
            << to_string(level) << " as " << implementation << " on " << get_num_threads() << " threads";
    }
    set_max_cpu_isa(cpu_isa::avx512_vnni);
    set_num_threads(0);
}

int problem_count() {
    const char *value = std::getenv("OCTET_TEST_PROBLEMS");
    return value ? std::atoi(value) : OCTET_DEFAULT_TEST_PROBLEMS;
}

void compare_many(const std::function<stream_problem(random_source &)> &make, std::uint32_t seed) {
    std::map<std::string, int> counts;
    for (int i = 0; i < problem_count(); i++) {
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

memory::dims random_dims(random_source &r) {
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
memory::dims random_strides(random_source &r, const memory::dims &dims) {
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

const data_type eight_bit[] = {data_type::u8, data_type::s8};
data_type random_code(random_source &r) { return eight_bit[r.between(0, 1)]; }
[[maybe_unused]] data_type random_type(random_source &r) {
    return r.pick({data_type::u8, data_type::s8, data_type::u8, data_type::s8, data_type::f32, data_type::f32,
                   data_type::s32});
}

std::int32_t random_zero_point(random_source &r, data_type type) {
    return static_cast<std::int32_t>(type == data_type::u8 ? r.between(0, 255) : r.between(-128, 127));
}

std::string text_of(const memory::dims &values) {
    std::string s;
    for (const dim_t v : values)
        s += (s.empty() ? "" : "x") + std::to_string(v);
    return s;
}

// ---- eltwise

stream_problem random_table(random_source &r) {
    const memory::dims dims = random_dims(r);
    const memory::dims strides = random_strides(r, dims);
    const data_type from = random_code(r);
    stream_problem p;
    p.in_place = r.chance(20);
    const data_type to = p.in_place ? from : random_code(r);
    const memory::desc src(dims, from, strides);
    p.srcs = {{OCTET_ARG_SRC, src}};
    p.dst = memory::desc(dims, to, p.in_place || r.chance(50) ? strides : random_strides(r, dims));
    const algorithm alg =
        r.pick({algorithm::eltwise_logistic, algorithm::eltwise_tanh, algorithm::eltwise_relu});
    const auto rule = r.pick({requantization_rule::ort_f32, requantization_rule::tflite_2step});
    primitive_attr attr;
    attr.set_requantization(rule);
    attr.set_scales(OCTET_ARG_SRC, 0, {r.real(0.01f, 0.1f)});
    const float fixed = alg == algorithm::eltwise_logistic ? 1.f / 256 : 1.f / 128;
    attr.set_scales(OCTET_ARG_DST, 0,
                    {rule == requantization_rule::tflite_2step && alg != algorithm::eltwise_relu
                         ? fixed
                         : r.real(0.01f, 0.1f)});
    attr.set_zero_points(OCTET_ARG_SRC, 0, {random_zero_point(r, from)});
    attr.set_zero_points(OCTET_ARG_DST, 0, {random_zero_point(r, to)});
    p.make = [=, dst = p.dst]() -> primitive_desc_base {
        return eltwise_forward::primitive_desc({prop_kind::forward_inference, alg, src, dst, 0.f, 0.f}, attr,
                                               eng());
    };
    p.description = "table " + src.to_string() + " strides " + text_of(strides) + " to " + p.dst.to_string();
    return p;
}

TEST(Streams, TablesEqualReference) { compare_many(random_table, 4000000); }

} // namespace
} // namespace octet::test
