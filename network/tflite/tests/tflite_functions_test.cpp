// TFLite's functions of codes that networks compute in loops of their own, against what the kernels of
// TensorFlow Lite Micro give (commit 90b983c2), as FNV-1a of the bytes: all codes, all pairs, rows of many
// lengths.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

using s8s = std::vector<std::int8_t>;

std::uint32_t hash_of(const s8s &bytes) {
    std::uint32_t hash = 2166136261u;
    for (const std::int8_t b : bytes)
        hash = (hash ^ static_cast<std::uint8_t>(b)) * 16777619u;
    return hash;
}

s8s codes_from(int first) {
    s8s codes;
    for (int code = first; code <= 127; code++)
        codes.push_back(static_cast<std::int8_t>(code));
    return codes;
}

struct linear {
    float scale;
    std::int32_t zero_point;
};

TEST(TfliteFunctions, SquaredDifferencesOfAllPairs) {
    struct result {
        linear x, y, dst;
        std::uint32_t hash;
    };
    for (const result &r : {result{{0.05f, 3}, {0.04f, -7}, {0.3f, -128}, 3869885313u},
                            result{{0.5f, -128}, {0.5f, -128}, {12.5f, -100}, 3166152665u},
                            result{{2.f, 0}, {0.015625f, 50}, {90.f, 0}, 2152852361u}}) {
        one_node n("SQUARED_DIFFERENCE", "tflite");
        n.input({256, 1}, codes_from(-128), r.x.scale, r.x.zero_point);
        n.input({256}, codes_from(-128), r.y.scale, r.y.zero_point);
        n.output(data_type::s8, r.dst.scale, r.dst.zero_point);
        EXPECT_EQ(hash_of(n.run<std::int8_t>()), r.hash) << r.x.scale;
        EXPECT_EQ(n.shape, (dims{256, 256}));
    }
}

TEST(TfliteFunctions, ReciprocalRootsOfAllCodesThatHaveOne) {
    struct result {
        linear x, dst;
        std::uint32_t hash;
    };
    for (const result &r : {result{{0.05f, -128}, {0.04f, -128}, 938991803u},
                            result{{0.0078125f, -3}, {0.125f, -128}, 1919752606u},
                            result{{3.f, 0}, {0.01f, -20}, 2911790068u}}) {
        const s8s x = codes_from(r.x.zero_point);
        one_node n("RSQRT", "tflite");
        n.input({static_cast<dim_t>(x.size())}, x, r.x.scale, r.x.zero_point);
        n.output(data_type::s8, r.dst.scale, r.dst.zero_point);
        EXPECT_EQ(hash_of(n.run<std::int8_t>()), r.hash) << r.x.scale;
    }
    one_node negative("RSQRT", "tflite");
    negative.input({3}, s8s{5, 3, 4}, 0.5f, 4).output(data_type::s8, 0.1f, 0);
    EXPECT_NE(negative.refusal().find("element 1 is code 3, below the zero point of 4"), std::string::npos);
}

TEST(TfliteFunctions, RowsOverTheirLengths) {
    struct result {
        dim_t size;
        std::int32_t zero_point;
        std::uint32_t hash;
    };
    for (const result &r :
         {result{1, 0, 4260863328u}, result{16, 5, 809783133u}, result{64, -128, 672448903u},
          result{256, 127, 3488896765u}, result{2048, -3, 1879909u}}) {
        s8s x;
        for (dim_t i = 0; i < 3 * r.size; i++)
            x.push_back(static_cast<std::int8_t>((i * 167 + 13) % 256 - 128));
        one_node n("L2_NORMALIZATION", "tflite");
        n.input({3, r.size}, x, 0.1f, r.zero_point).output(data_type::s8, 1.f / 128, 0);
        EXPECT_EQ(hash_of(n.run<std::int8_t>()), r.hash) << r.size;
    }
}

} // namespace
} // namespace octet::tests
