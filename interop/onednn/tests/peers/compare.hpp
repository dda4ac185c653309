#pragma once // SPDX-License-Identifier: Apache-2.0

// Asks both libraries and compares their bytes.

#include <gtest/gtest.h>

#include <iostream>

#include "deviations.hpp"
#include "random_problem.hpp"

namespace peers {

/// oneDNN 2.6 is exact for s8 weights only with VNNI.
inline bool machine_has_vnni() { return __builtin_cpu_supports("avx512vnni") != 0; }

#define SKIP_WITHOUT_VNNI()                                                                                  \
    if (!machine_has_vnni())                                                                                 \
    GTEST_SKIP() << "needs AVX512-VNNI: without it oneDNN's int8 arithmetic is not exact"

struct tally {
    int problems = 0, answers = 0, deviating = 0, refused = 0, without_oracle = 0;
};

/// oneDNN's reference and its gemm-based deconvolution lose the sign of zero: they add a zero point of 0.
inline bool loses_sign_of_zero(const problem &p, const std::string &implementation) {
    return implementation.rfind("ref", 0) == 0 ||
           (p.op == operation::deconvolution && implementation.find("gemm") != std::string::npos);
}

inline float real_element(type t, const bytes &data, std::size_t i) {
    if (t == type::f32)
        return element<float>(data, i);
    const std::uint32_t bits = std::uint32_t{element<std::uint16_t>(data, i)} << 16;
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

/// A NaN's sign and payload are not specified.
inline bool same_element(type t, const bytes &a, const bytes &b, std::size_t i, bool zeros_are_equal) {
    const std::size_t size = size_of(t);
    if (std::memcmp(a.data() + i * size, b.data() + i * size, size) == 0)
        return true;
    if (t != type::f32 && t != type::bf16)
        return false;
    const float x = real_element(t, a, i), y = real_element(t, b, i);
    return (std::isnan(x) && std::isnan(y)) || (zeros_are_equal && x == 0.f && y == 0.f);
}

inline std::string value_text(type t, const bytes &data, std::size_t i) {
    std::ostringstream out;
    out.precision(9);
    switch (t) {
    case type::f32:
    case type::bf16:
        out << real_element(t, data, i);
        break;
    case type::s32:
        out << element<std::int32_t>(data, i);
        break;
    case type::s8:
        out << static_cast<int>(element<std::int8_t>(data, i));
        break;
    default:
        out << static_cast<int>(data[i]);
        break;
    }
    return out.str();
}

/// Empty if equal, else the number of differing elements and the first.
inline std::string difference(const problem &p, const answer &expected, const answer &actual) {
    const type t = p.dst.element;
    const std::size_t count = expected.dst.size() / size_of(t);
    std::size_t differing = 0, first = 0;
    for (std::size_t i = 0; i < count; i++)
        if (!same_element(t, expected.dst, actual.dst, i, loses_sign_of_zero(p, expected.implementation)) &&
            differing++ == 0)
            first = i;
    if (differing == 0)
        return {};
    return std::to_string(differing) + " of " + std::to_string(count) + " elements, first " +
           std::to_string(first) + ": " + expected.implementation + " " + value_text(t, expected.dst, first) +
           ", Octet's " + actual.implementation + " " + value_text(t, actual.dst, first);
}

/// Octet must give the bytes of every implementation of oneDNN that computes what is documented.
inline void expect_equal(const problem &p, const std::string &how_to_reproduce, tally &count) {
    const answers expected = onednn::ask(p);
    if (expected.list.empty()) {
        count.refused++;
        return;
    }
    const answers actual = octet::ask(p);
    ASSERT_FALSE(actual.list.empty())
        << how_to_reproduce << ": " << to_string(p) << "\noneDNN computes it, Octet: " << actual.refusal;
    count.problems++;
    int compared = 0;
    for (const answer &e : expected.list) {
        if (deviation(p, e.implementation)) {
            count.deviating++;
            continue;
        }
        compared++;
        EXPECT_EQ(difference(p, e, actual.list.front()), "") << how_to_reproduce << ": " << to_string(p);
    }
    count.answers += compared;
    if (compared == 0)
        count.without_oracle++;
}

/// `seeds` random problems with typical and as many with extreme numbers. At least half must be comparable,
/// lest a test passes because oneDNN refuses everything.
inline void compare_random_problems(operation op, const theme &t, int seeds) {
    tally count;
    for (unsigned seed = 1; seed <= static_cast<unsigned>(seeds) && !::testing::Test::HasFailure(); seed++)
        for (const range data : {range::typical, range::extreme})
            expect_equal(random_problem(op, t, data, seed),
                         "theme " + t.name + ", seed " + std::to_string(seed) +
                             (data == range::typical ? ", typical" : ", extreme"),
                         count);
    std::cout << "    " << count.problems << " problems, " << count.answers << " answers compared, "
              << count.deviating << " known to deviate, " << count.without_oracle
              << " problems without an exact answer, " << count.refused << " refused by oneDNN\n";
    EXPECT_GE((count.problems - count.without_oracle) * 2, seeds * 2);
}

} // namespace peers
