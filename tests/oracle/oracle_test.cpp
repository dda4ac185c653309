// The library against an oracle: random problems over all operations, rules, post-ops, layouts and types,
// each run at every level of this machine and compared with numbers computed from the documentation alone
// (arithmetic.cpp says how), and level by level with `ref`, byte by byte. Bytes between the elements of dst
// must stay as they were, and packed weights must give back what was packed.
//
// A failure prints one line that reproduces it. By hand: the problems of another OCTET_ORACLE_SEED
// (those of OCTET_ORACLE_KIND=resampling, say), or the one problem OCTET_ORACLE_PROBLEM=seed:number.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include "oracle/problem.hpp"
#include "support/effort.hpp"

namespace octet::oracle {

namespace {

const engine cpu(engine::kind::cpu, 0);
using bytes = std::vector<std::uint8_t>;

// ---- numbers and memory

void write(std::uint8_t *to, data_type type, double value) {
    const auto put = [&](auto number) { std::memcpy(to, &number, sizeof number); };
    switch (type) {
    case data_type::u8:
        return put(static_cast<std::uint8_t>(value));
    case data_type::s8:
        return put(static_cast<std::int8_t>(value));
    case data_type::s16:
        return put(static_cast<std::int16_t>(value));
    case data_type::s32:
        return put(static_cast<std::int32_t>(value));
    default:
        return put(static_cast<float>(value));
    }
}

double read(const std::uint8_t *from, data_type type) {
    const auto get = [&](auto number) {
        std::memcpy(&number, from, sizeof number);
        return static_cast<double>(number);
    };
    switch (type) {
    case data_type::u8:
        return get(std::uint8_t{});
    case data_type::s8:
        return get(std::int8_t{});
    case data_type::s16:
        return get(std::int16_t{});
    case data_type::s32:
        return get(std::int32_t{});
    default:
        return get(float{});
    }
}

/// Calls f(address of an element in m, its row-major position); m is plain.
template <typename F> void for_each_element(const memory &m, F &&f) {
    const memory::desc md = m.get_desc();
    const std::size_t size = memory::data_type_size(md.data_type());
    const dims shape = md.dims();
    auto *first = static_cast<std::uint8_t *>(m.get_data_handle());
    for_each(shape, [&](const index &at, std::size_t i) {
        dim_t offset = md.data.offset0;
        for (std::size_t d = 0; d < shape.size(); d++)
            offset += at[d] * md.data.strides[d];
        f(first + static_cast<std::size_t>(offset) * size, i);
    });
}

bytes row_major(const memory &m) {
    const std::size_t size = memory::data_type_size(m.get_desc().data_type());
    bytes result;
    for_each_element(m, [&](const std::uint8_t *element, std::size_t) {
        result.insert(result.end(), element, element + size);
    });
    return result;
}

memory filled(const tensor &t, const memory::desc &md) {
    if (md.get_format_kind() != format_kind::packed) {
        const memory m(md, cpu);
        std::memset(m.get_data_handle(), 0xa5, md.get_size());
        for_each_element(
            m, [&](std::uint8_t *element, std::size_t i) { write(element, t.type(), t.values[i]); });
        return m;
    }
    const memory plain = filled(t, memory::desc(t.shape(), t.type(), dims{})), packed(md, cpu),
                 back(plain.get_desc(), cpu);
    reorder(plain, packed).execute(stream(cpu), plain, packed);
    reorder(packed, back).execute(stream(cpu), packed, back);
    if (row_major(plain) != row_major(back))
        throw std::logic_error("packed weights don't give back what was packed: " + md.to_string());
    return packed;
}

template <typename T> memory vector_memory(const std::vector<T> &values, data_type type) {
    const memory m(memory::desc({static_cast<dim_t>(values.size())}, type, memory::format_tag::a), cpu);
    std::memcpy(m.get_data_handle(), values.data(), values.size() * sizeof(T));
    return m;
}

// ---- a problem through the public interface

primitive_attr attr_of(const problem &p) {
    const attributes &a = p.attr;
    primitive_attr attr;
    if (a.multipliers.is_set())
        attr.set_requantization(a.rule, a.multipliers.mask, a.multipliers.values);
    else if (a.real_scales.is_set() && a.real_scales_are_f32)
        attr.set_requantization(a.rule, a.real_scales.mask,
                                std::vector<float>(a.real_scales.values.begin(), a.real_scales.values.end()));
    else if (a.real_scales.is_set())
        attr.set_requantization(a.rule, a.real_scales.mask, a.real_scales.values);
    else if (a.rule != rule::automatic)
        attr.set_requantization(a.rule);
    if (a.output_scales.is_set())
        attr.set_output_scales(a.output_scales.mask, a.output_scales.runtime
                                                         ? std::vector<float>{OCTET_RUNTIME_F32_VAL}
                                                         : a.output_scales.values);
    for (const auto &[arg, m] : a.scales)
        m.runtime ? attr.set_scales_mask(arg, m.mask) : attr.set_scales(arg, m.mask, m.values);
    for (const auto &[arg, m] : a.zero_points)
        m.runtime ? attr.set_zero_points_mask(arg, m.mask) : attr.set_zero_points(arg, m.mask, m.values);
    for (const auto &[arg, m] : a.input_multipliers)
        attr.set_input_multiplier(arg, m);

    struct appender {
        post_ops &ops;
        void operator()(const post_op::sum &s) { ops.append_sum(s.scale, s.zero_point, s.type); }
        void operator()(const post_op::eltwise &s) {
            ops.append_eltwise(s.scale, s.algorithm, s.alpha, s.beta);
        }
        void operator()(const post_op::binary &s) { ops.append_binary(s.algorithm, s.src1); }
        void operator()(const post_op::prelu &s) { ops.append_prelu(s.mask); }
        void operator()(const post_op::clip &s) { ops.append_clip(s.low, s.high); }
        void operator()(const post_op::add &s) { ops.append_add(s.value); }
        void operator()(const post_op::rescaled_sum &s) { ops.append_rescaled_sum(s); }
        void operator()(const post_op::leaky_relu &s) { ops.append_leaky_relu(s); }
        void operator()(const post_op::table &s) { ops.append_table(s); }
        void operator()(const post_op::qlinear_add &s) { ops.append_qlinear_add(s); }
        void operator()(const post_op::scaled_add &s) { ops.append_scaled_add(s); }
        void operator()(const post_op::depthwise &) {} // not drawn
    };
    post_ops ops;
    for (const post_op_entry &stage : a.post_ops)
        std::visit(appender{ops}, stage);
    attr.set_post_ops(ops);
    return attr;
}

struct created {
    primitive_desc_base pd;
    primitive op;
};

created create(const problem &p) {
    const primitive_attr attr = attr_of(p);
    const prop_kind prop = prop_kind::forward_inference;
    std::vector<memory::desc> srcs;
    for (const tensor &t : p.srcs)
        srcs.push_back(t.desc);
    const auto both = [](const auto &pd) { return created{pd, primitive(pd)}; };
    switch (p.kind) {
    case primitive_kind::convolution:
        return both(convolution_forward::primitive_desc(cpu, prop, algorithm::convolution_direct, p.src.desc,
                                                        p.weights.desc, p.bias.desc, p.dst.desc, p.strides,
                                                        p.dilates, p.padding_l, p.padding_r, attr));
    case primitive_kind::deconvolution:
        return both(deconvolution_forward::primitive_desc(
            cpu, prop, algorithm::deconvolution_direct, p.src.desc, p.weights.desc, p.bias.desc, p.dst.desc,
            p.strides, p.dilates, p.padding_l, p.padding_r, attr));
    case primitive_kind::inner_product:
        return both(inner_product_forward::primitive_desc(cpu, prop, p.src.desc, p.weights.desc, p.bias.desc,
                                                          p.dst.desc, attr));
    case primitive_kind::matmul:
        return both(matmul::primitive_desc(cpu, p.src.desc, p.weights.desc, p.bias.desc, p.dst.desc, attr));
    case primitive_kind::reorder:
        return both(reorder::primitive_desc(cpu, p.src.desc, cpu, p.dst.desc, attr));
    case primitive_kind::pooling:
        return both(pooling_forward::primitive_desc(cpu, prop, p.alg, p.src.desc, p.dst.desc, p.strides,
                                                    p.kernel, p.dilates, p.padding_l, p.padding_r, attr));
    case primitive_kind::binary:
        return both(binary::primitive_desc(cpu, p.alg, p.src.desc, p.weights.desc, p.dst.desc, attr));
    case primitive_kind::eltwise:
        return both(
            eltwise_forward::primitive_desc(cpu, prop, p.alg, p.src.desc, p.dst.desc, p.alpha, p.beta, attr));
    case primitive_kind::prelu:
        return both(prelu_forward::primitive_desc(cpu, prop, p.src.desc, p.weights.desc, p.dst.desc, attr));
    case primitive_kind::softmax:
        return both(softmax_forward::primitive_desc(cpu, prop, p.alg, p.src.desc, p.dst.desc, p.axis, attr));
    case primitive_kind::sum:
        return both(sum::primitive_desc(cpu, p.dst.desc, p.sum_scales, srcs, attr));
    case primitive_kind::concat:
        return both(concat::primitive_desc(cpu, p.dst.desc, p.axis, srcs, attr));
    default:
        return both(resampling_forward::primitive_desc({prop, p.alg, p.src.desc, p.dst.desc, p.coordinates},
                                                       attr, cpu));
    }
}

std::unordered_map<int, memory> arguments(const problem &p, const primitive_desc_base &pd) {
    std::unordered_map<int, memory> args;
    const auto add = [&](int arg, const tensor &t, const memory::desc &md) {
        if (t.is_set())
            args[arg] = filled(t, md);
    };
    add(OCTET_ARG_SRC, p.src, pd.arg_desc(OCTET_ARG_SRC));
    const int weights = p.kind == primitive_kind::binary ? OCTET_ARG_SRC_1 : OCTET_ARG_WEIGHTS;
    add(weights, p.weights, pd.arg_desc(weights));
    add(OCTET_ARG_BIAS, p.bias, p.bias.desc);
    for (int i = 0; i < static_cast<int>(p.srcs.size()); i++)
        add(OCTET_ARG_MULTIPLE_SRC + i, p.srcs[static_cast<std::size_t>(i)],
            p.srcs[static_cast<std::size_t>(i)].desc);
    add(OCTET_ARG_DST, p.dst, pd.dst_desc());
    const attributes &a = p.attr;
    if (a.output_scales.runtime)
        args[OCTET_ARG_ATTR_OUTPUT_SCALES] = vector_memory(a.output_scales.values, data_type::f32);
    for (const auto &[arg, m] : a.scales)
        if (m.runtime)
            args[OCTET_ARG_ATTR_SCALES | arg] = vector_memory(m.values, data_type::f32);
    for (const auto &[arg, m] : a.zero_points)
        if (m.runtime)
            args[OCTET_ARG_ATTR_ZERO_POINTS | arg] = vector_memory(m.values, data_type::s32);
    for (int i = 0; i < static_cast<int>(a.post_ops.size()); i++) {
        const bool is_binary =
            std::holds_alternative<post_op::binary>(a.post_ops[static_cast<std::size_t>(i)]);
        const int arg =
            OCTET_ARG_ATTR_MULTIPLE_POST_OP(i) | (is_binary ? OCTET_ARG_SRC_1 : OCTET_ARG_WEIGHTS);
        add(arg, a.post_op_tensors[static_cast<std::size_t>(i)], pd.arg_desc(arg));
    }
    return args;
}

// ---- one problem at every level

struct answer {
    std::string implementation;
    bytes dst; ///< row-major
};

/// `ref` is one at every level: it runs once.
answer run(const problem &p, const answer &at_ref) {
    const created c = create(p);
    if (!at_ref.dst.empty() && std::string(c.pd.impl_info_str()) == "ref")
        return at_ref;
    const auto args = arguments(p, c.pd);
    const memory dst = args.at(OCTET_ARG_DST);
    const auto *first = static_cast<const std::uint8_t *>(dst.get_data_handle());
    bytes rest(first, first + dst.get_desc().get_size());
    c.op.execute(stream(cpu), args);
    // Elements aside, nothing may have changed.
    const std::size_t size = memory::data_type_size(p.dst.type());
    for_each_element(dst, [&](const std::uint8_t *element, std::size_t) {
        std::copy(element, element + size, &rest[static_cast<std::size_t>(element - first)]);
    });
    if (!std::equal(rest.begin(), rest.end(), first))
        throw std::logic_error("bytes between the elements of dst were written");
    return {c.pd.impl_info_str(), row_major(dst)};
}

bool is_right(data_type type, double got, double low, double high) {
    if (std::isnan(low) || std::isnan(got))
        return std::isnan(low) && std::isnan(got);
    if (type == data_type::f32 && low == 0 && high == 0 && std::signbit(low) == std::signbit(high))
        return got == 0 && std::signbit(got) == std::signbit(low);
    return low <= got && got <= high;
}

std::string place(const dims &shape, std::size_t element) {
    std::string result;
    for (std::size_t d = shape.size(); d-- > 0; element /= static_cast<std::size_t>(shape[d]))
        result = std::to_string(element % static_cast<std::size_t>(shape[d])) + (result.empty() ? "" : ",") +
                 result;
    return "{" + result + "}";
}

std::string number(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%s%.9g", std::isnan(x) && std::signbit(x) ? "-" : "",
                  std::isnan(x) ? std::fabs(x) : x);
    return text;
}

/// The first wrong element of an answer, in words; empty where there is none.
std::string first_difference(const problem &p, const answer &a, const answer &ref, const expectation &want) {
    const std::size_t size = memory::data_type_size(p.dst.type());
    std::string first;
    int count = 0;
    for (std::size_t i = 0; i < p.dst.values.size(); i++) {
        const double got = read(&a.dst[i * size], p.dst.type()),
                     from_ref = read(&ref.dst[i * size], p.dst.type());
        const bool equals_ref = std::memcmp(&a.dst[i * size], &ref.dst[i * size], size) == 0;
        if (equals_ref && (!want.is_known || is_right(p.dst.type(), got, want.low[i], want.high[i])))
            continue;
        if (count++ == 0)
            first = "element " + place(p.dst.shape(), i) + ": got " + number(got) + ", ref gives " +
                    number(from_ref) +
                    (want.is_known ? ", right is " + number(want.low[i]) +
                                         (want.low[i] == want.high[i] || std::isnan(want.low[i])
                                              ? ""
                                              : " to " + number(want.high[i]))
                                   : ", not known to the oracle");
    }
    return count ? first + "; " + std::to_string(count) + " of " + std::to_string(p.dst.values.size()) +
                       " wrong"
                 : "";
}

/// How often each implementation ran, by level and operation.
using counts = std::map<std::string, std::map<std::string, int>>;

/// Empty, or one line that says what is wrong first.
std::string check(const problem &p, counts &implementations) {
    set_num_threads(std::min(p.threads, static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u))));
    const expectation want = expect(p);
    answer ref;
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        std::string wrong;
        try {
            const answer a = run(p, ref);
            if (level == cpu_isa::ref)
                ref = a;
            implementations[std::string(to_string(level)) + ' ' + name_of(p.kind)][a.implementation]++;
            wrong = first_difference(p, a, ref, want);
            if (!wrong.empty())
                wrong = a.implementation + ", " + wrong;
        } catch (const std::exception &e) {
            wrong = e.what();
        }
        if (!wrong.empty())
            return std::string("at level ") + to_string(level) + ", " + wrong + ": " + describe(p);
    }
    return "";
}

std::uint64_t environment(const char *name, std::uint64_t missing) {
    const char *text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : missing;
}

class oracle_test : public testing::Test {
protected:
    void TearDown() override {
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(0);
    }
    int failures = 0;
    counts implementations;

    void check_one(std::uint64_t seed, std::uint64_t number, const char *only = nullptr) {
        const problem p = draw(seed, number);
        if (only && std::string(only) != name_of(p.kind))
            return;
        const std::string wrong = check(p, implementations);
        if (!wrong.empty() && ++failures <= 50)
            ADD_FAILURE() << "OCTET_ORACLE_PROBLEM=" << seed << ':' << number << " oracle_tests: " << wrong;
    }
};

TEST_F(oracle_test, random_problems_have_the_documented_bytes_at_every_level) {
    if (const char *one = std::getenv("OCTET_ORACLE_PROBLEM")) {
        char *end;
        const std::uint64_t seed = std::strtoull(one, &end, 10);
        ASSERT_EQ(*end, ':') << "OCTET_ORACLE_PROBLEM is seed:number";
        return check_one(seed, std::strtoull(end + 1, nullptr, 10));
    }
    const std::uint64_t count = test::problem_count(20000), seed = environment("OCTET_ORACLE_SEED", 1);
    for (std::uint64_t i = 0; i < count; i++)
        check_one(seed, i, std::getenv("OCTET_ORACLE_KIND"));
    if (failures > 50)
        ADD_FAILURE() << failures << " problems of " << count << " are wrong";
    for (const auto &[where, names] : implementations) {
        for (const auto &[name, times] : names)
            if (std::getenv("OCTET_ORACLE_SUMMARY"))
                std::cout << times << ' ' << where << ' ' << name << '\n';
        if (count >= 1000 && where.compare(0, 4, "ref ") != 0) {
            EXPECT_GT(names.size(), names.count("ref")) << where << " never ran generated code";
        }
    }
}

} // namespace

} // namespace octet::oracle
