// The same client code against oneDNN 2.6.3 and against Octet, byte by byte, on random problems.
// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"

namespace peers {
namespace {

struct family {
    operation op;
    theme contents;
    int seeds;
};

std::ostream &operator<<(std::ostream &os, const family &f) { return os << f.contents.name; }

class random_problems : public ::testing::TestWithParam<family> {};

TEST_P(random_problems, give_the_same_bytes) {
    SKIP_WITHOUT_VNNI();
    compare_random_problems(GetParam().op, GetParam().contents, GetParam().seeds);
}

theme named(const char *name, bool runtime = false) {
    theme t;
    t.name = name;
    t.runtime = runtime;
    return t;
}
theme plain() { return named("plain"); }
theme runtime_scales() { return named("runtime_scales", true); }
theme zero_points(bool weights, bool runtime = false) {
    theme t = named(runtime ? "runtime_zero_points" : "zero_points", runtime);
    t.src_zero_points = t.dst_zero_points = true;
    t.weights_zero_points = weights;
    return t;
}
theme with(const char *kind) {
    theme t = named(kind);
    t.post_ops = {kind};
    return t;
}
theme prelu() { // oneDNN computes it in its reference only, which is exact with binary
    theme t = named("prelu");
    t.post_ops = {"prelu", "prelu", "binary"};
    t.max_post_ops = 3;
    return t;
}
theme chains(const std::vector<std::string> &kinds, bool zero_points) {
    theme t = named("chains");
    t.src_zero_points = t.dst_zero_points = zero_points;
    t.post_ops = kinds;
    t.max_post_ops = 4;
    return t;
}

std::string name_of(const ::testing::TestParamInfo<family> &info) { return info.param.contents.name; }

constexpr operation conv = operation::convolution, ip = operation::inner_product, mm = operation::matmul;

INSTANTIATE_TEST_SUITE_P(convolution, random_problems,
                         ::testing::Values(family{conv, plain(), 120}, family{conv, runtime_scales(), 60},
                                           family{conv, zero_points(false), 90},
                                           family{conv, zero_points(false, true), 60},
                                           family{conv, with("sum"), 90}, family{conv, with("eltwise"), 150},
                                           family{conv, with("binary"), 120}, family{conv, prelu(), 60},
                                           family{conv, chains({"sum", "eltwise", "binary"}, true), 120}),
                         name_of);

// oneDNN's inner product has no zero points, and its inner product and matmul fail to execute prelu.
INSTANTIATE_TEST_SUITE_P(inner_product, random_problems,
                         ::testing::Values(family{ip, plain(), 120}, family{ip, runtime_scales(), 60},
                                           family{ip, with("sum"), 120}, family{ip, with("eltwise"), 120},
                                           family{ip, with("binary"), 120},
                                           family{ip, chains({"sum", "eltwise", "binary"}, false), 120}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(matmul, random_problems,
                         ::testing::Values(family{mm, plain(), 120}, family{mm, runtime_scales(), 60},
                                           family{mm, zero_points(true), 120},
                                           family{mm, zero_points(true, true), 60},
                                           family{mm, with("sum"), 120}, family{mm, with("eltwise"), 120},
                                           family{mm, with("binary"), 120},
                                           family{mm, chains({"sum", "eltwise", "binary"}, true), 120}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(reorder, random_problems,
                         ::testing::Values(family{operation::reorder, plain(), 600},
                                           family{operation::reorder, runtime_scales(), 180},
                                           family{operation::reorder, zero_points(false), 300},
                                           family{operation::reorder, zero_points(false, true), 180},
                                           family{operation::reorder, with("sum"), 300}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(pooling, random_problems,
                         ::testing::Values(family{operation::pooling, plain(), 180},
                                           family{operation::pooling, with("eltwise"), 180}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(binary, random_problems,
                         ::testing::Values(family{operation::binary, plain(), 180},
                                           family{operation::binary, with("eltwise"), 180}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(deconvolution, random_problems,
                         ::testing::Values(family{operation::deconvolution, plain(), 120},
                                           family{operation::deconvolution, zero_points(false), 60},
                                           family{operation::deconvolution, with("binary"), 60},
                                           family{operation::deconvolution, with("eltwise"), 60}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(elementwise, random_problems,
                         ::testing::Values(family{operation::eltwise, named("eltwise"), 180},
                                           family{operation::prelu, named("prelu"), 180},
                                           family{operation::resampling, named("resampling"), 180},
                                           family{operation::sum, named("sum"), 180},
                                           family{operation::concat, named("concat"), 180}),
                         name_of);

/// Problems of the other tests with a bf16 destination, which a sum reads as such.
TEST(bf16_destinations, give_the_same_bytes) {
    SKIP_WITHOUT_VNNI();
    for (const operation op : {conv, ip, mm}) {
        tally count;
        for (unsigned seed = 1; seed <= 120; seed++) {
            const theme t = seed % 3 == 0 ? plain() : seed % 3 == 1 ? with("sum") : with("eltwise");
            problem p = random_problem(op, t, range::typical, seed);
            random_source r(seed);
            p.dst = r.filled(p.dst.shape, type::bf16, range::typical, p.dst.layout);
            expect_equal(p, "theme " + t.name + ", seed " + std::to_string(seed), count);
        }
        std::cout << "    " << count.problems << " problems, " << count.answers << " answers compared, "
                  << count.refused << " refused by oneDNN\n";
        EXPECT_GT(count.answers, 0);
    }
}

TEST(compatibility, applications_see_the_same_api) { EXPECT_EQ(octet::api_tour(), onednn::api_tour()); }

} // namespace
} // namespace peers
