// GroupQueryAttention, RotaryEmbedding and the standard's Attention: a sequence in parts gives what the whole gives, at
// every level and for every number of threads, and what is refused. Their bytes are compared in `octet check`.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

constexpr std::int64_t heads = 4, groups = 2, width = 16, length = 9;
using floats = std::vector<float>;

std::int32_t s32(std::int64_t v) { return static_cast<std::int32_t>(v); }
floats rows_of(const floats &x, std::int64_t row, std::int64_t first, std::int64_t count) {
    return {x.begin() + first * row, x.begin() + (first + count) * row};
}

/// Rows `first` to `first` + `count` - 1 of a sequence behind `past`, the outputs before them.
one_node group_query(std::int64_t first, std::int64_t count, const std::vector<floats> &past) {
    const floats q = numbers(length * heads * width, 1.f), k = numbers(length * groups * width, 1.f, 2),
                 v = numbers(length * groups * width, 1.f, 3);
    one_node n("GroupQueryAttention");
    n.input<float>({1, count, heads * width}, rows_of(q, heads * width, first, count))
        .input<float>({1, count, groups * width}, rows_of(k, groups * width, first, count))
        .input<float>({1, count, groups * width}, rows_of(v, groups * width, first, count));
    if (first > 0)
        for (const floats &x : past)
            n.input<float>({1, groups, first, width}, x);
    else
        n.graph.nodes[0].inputs.insert(n.graph.nodes[0].inputs.end(), 2, -1);
    n.input<std::int32_t>({1}, {s32(first + count - 1)}).constant<std::int32_t>({}, {s32(first + count)});
    return n.constant<float>({12, width / 2}, numbers(12 * width / 2, 1.f, 4))
        .constant<float>({12, width / 2}, numbers(12 * width / 2, 1.f, 5))
        .set("num_heads", heads)
        .set("kv_num_heads", groups)
        .set("do_rotary", std::int64_t{1})
        .output()
        .output()
        .output();
}

TEST(GroupQueryAttention, PartsOfASequenceGiveWhatTheWholeGives) {
    for (const std::int64_t window : {-1, 4})
        for (const float softcap : {0.f, 3.f}) {
            const auto options = [&](one_node n) {
                return n.set("local_window_size", window).set("softcap", softcap);
            };
            one_node whole = options(group_query(0, length, {}));
            const floats y = whole.run<float>(), keys = whole.run<float>(1);
            std::vector<floats> past;
            for (std::int64_t first = 0, count = 3; first < length;
                 first += count, count = first < 5 ? 2 : 1) {
                one_node part = options(group_query(first, count, past));
                const floats got = part.run<float>(), wanted = rows_of(y, heads * width, first, count);
                for (std::size_t i = 0; i < got.size(); i++)
                    ASSERT_NEAR(got[i], wanted[i], 2e-6) << first << " window " << window;
                past = {part.run<float>(1), part.run<float>(2)};
            }
            EXPECT_EQ(past[0], keys);
        }
}

/// Of five rows two are the sequence's: the window of row 3 has one key of it, that of row 4 none.
TEST(GroupQueryAttention, WindowsOfPaddingEndWithItsRows) {
    const floats q = numbers(5 * heads * width, 1.f), k = numbers(5 * heads * width, 1.f, 2),
                 v = numbers(5 * heads * width, 1.f, 3);
    one_node n("GroupQueryAttention");
    n.input<float>({1, 5, heads * width}, q).input<float>({1, 5, heads * width}, k);
    n.input<float>({1, 5, heads * width}, v);
    n.graph.nodes[0].inputs.insert(n.graph.nodes[0].inputs.end(), 2, -1);
    n.input<std::int32_t>({1}, {1}).constant<std::int32_t>({}, {5}).set("num_heads", heads);
    n.set("kv_num_heads", heads).set("local_window_size", std::int64_t{3}).output().output().output();
    const floats y = n.run<float>();
    EXPECT_EQ(rows_of(y, heads * width, 3, 1), rows_of(v, heads * width, 1, 1));
    EXPECT_EQ(rows_of(y, heads * width, 4, 1), floats(heads * width, 0.f));
}

/// Behind the end of a sequence the present has zeros, or in one buffer with the past what is there.
TEST(GroupQueryAttention, RowsBehindASequenceAreZerosOrStay) {
    const floats past(2 * groups * 6 * width, 5.f), q = numbers(2 * heads * width, 1.f),
                                                    k = numbers(2 * groups * width, 1.f, 2);
    for (const bool is_shared : {false, true}) {
        one_node n("GroupQueryAttention");
        n.input<float>({2, 1, heads * width}, q).input<float>({2, 1, groups * width}, k);
        n.input<float>({2, 1, groups * width}, k).input<float>({2, groups, 6, width}, past);
        n.input<float>({2, groups, 6, width}, past).input<std::int32_t>({2}, {1, 4});
        n.constant<std::int32_t>({}, {5}).set("num_heads", heads).set("kv_num_heads", groups);
        n.set("past_present_share_buffer", std::int64_t{is_shared}).output().output().output();
        const floats present = n.run<float>(1);
        ASSERT_EQ(present.size(), past.size());
        const auto row = [&](std::int64_t b, std::int64_t t) {
            return rows_of(present, width, b * groups * 6 + t, 1);
        };
        EXPECT_EQ(row(0, 0), floats(width, 5.f));
        EXPECT_EQ(row(0, 1), rows_of(k, width, 0, 1));
        EXPECT_EQ(row(1, 4), rows_of(k, width, groups, 1));
        EXPECT_EQ(row(0, 2), floats(width, is_shared ? 5.f : 0.f));
        EXPECT_EQ(row(1, 5), floats(width, is_shared ? 5.f : 0.f));
    }
}

/// Two rows behind three past ones; every number that is cached is one that codes have.
TEST(GroupQueryAttention, CachesOfCodesGiveWhatTheirNumbersGive) {
    constexpr float scale = 0.125f;
    const auto whole_codes = [&](std::int64_t count, unsigned seed) {
        floats x = numbers(static_cast<std::size_t>(count), 7.4f, seed);
        for (float &v : x)
            v = std::nearbyint(v) * scale;
        return x;
    };
    const floats q = numbers(2 * heads * width, 1.f), k = whole_codes(2 * groups * width, 2),
                 v = whole_codes(2 * groups * width, 3), past_k = whole_codes(groups * 3 * width, 4),
                 past_v = whole_codes(groups * 3 * width, 5);
    const auto node = [&](int bits, bool has_many) {
        one_node n("GroupQueryAttention");
        n.input<float>({1, 2, heads * width}, q).input<float>({1, 2, groups * width}, k);
        n.input<float>({1, 2, groups * width}, v);
        for (const floats *past : {&past_k, &past_v}) {
            std::vector<std::int8_t> codes;
            std::vector<std::uint8_t> pairs;
            for (const float x : *past)
                codes.push_back(static_cast<std::int8_t>(x / scale));
            for (std::size_t i = 0; i < codes.size(); i += 2)
                pairs.push_back(static_cast<std::uint8_t>((codes[i] + 8) | (codes[i + 1] + 8) << 4));
            if (bits == 0)
                n.input<float>({1, groups, 3, width}, *past);
            else if (bits == 8)
                n.input<std::int8_t>({1, groups, 3, width}, codes);
            else
                n.input<std::uint8_t>({1, groups, 3, width / 2}, pairs);
        }
        n.input<std::int32_t>({1}, {4}).constant<std::int32_t>({}, {5});
        n.set("num_heads", heads).set("kv_num_heads", groups).output().output().output();
        if (bits == 0)
            return n;
        n.graph.nodes[0].inputs.insert(n.graph.nodes[0].inputs.end(), 5, -1);
        const dims of_scales = has_many ? dims{groups, 1, width} : dims{1};
        for (int i = 0; i < 2; i++)
            n.constant<float>(of_scales, floats(has_many ? groups * width : 1, scale));
        const std::string kind = has_many ? "PER_CHANNEL" : "PER_TENSOR";
        return n.set("k_quant_type", kind)
            .set("v_quant_type", kind)
            .set("kv_cache_bit_width", std::int64_t{bits});
    };
    const floats y = node(0, false).run<float>(), keys = node(0, false).run<float>(1);
    for (const bool has_many : {false, true}) {
        for (const int bits : {8, 4}) {
            const floats got = node(bits, has_many).run<float>();
            for (std::size_t i = 0; i < y.size(); i++)
                ASSERT_NEAR(got[i], y[i], 2e-6) << bits << " bits, " << i;
        }
        const auto bytes = node(8, has_many).run<std::int8_t>(1);
        const auto pairs = node(4, has_many).run<std::uint8_t>(1);
        ASSERT_EQ(bytes.size(), keys.size());
        for (std::size_t i = 0; i < keys.size(); i++) {
            ASSERT_EQ(static_cast<float>(bytes[i]) * scale, keys[i]) << i;
            ASSERT_EQ(static_cast<float>((pairs[i / 2] >> (i % 2 * 4) & 15) - 8) * scale, keys[i]) << i;
        }
    }
}

TEST(GroupQueryAttention, RefusesWhatDoesNotFit) {
    const auto refuses = [](one_node n, const std::string &words) {
        const std::string sentence = n.refusal();
        EXPECT_NE(sentence.find(words), std::string::npos) << sentence;
    };
    refuses(group_query(0, 2, {}).set("kv_num_heads", std::int64_t{3}),
            "'num_heads' and 'kv_num_heads' are 4 and 3, allowed: 1 or more, the first a multiple");
    refuses(group_query(0, 2, {}).set("k_quant_type", std::string("PER_TENSOR")),
            "'k_quant_type' and 'v_quant_type' are PER_TENSOR and NONE, allowed: the same");
    refuses(group_query(0, 2, {}).set("sliding_window_cache", std::int64_t{1}),
            "'local_window_size' is -1 for a sliding cache of 0 rows, allowed: 1 to the rows of past_key");
    refuses(group_query(0, 2, {}).set("local_window_size", std::int64_t{-2}), "-2");
    one_node long_one = group_query(0, 2, {});
    long_one.fill.back() = [](network &net) { net.input(3).copy_from(std::vector<std::int32_t>{2}); };
    refuses(long_one, "element 0 of seqlens_k is 2, allowed: 0 to 1");
    one_node narrow("GroupQueryAttention");
    narrow.input<float>({1, 2, 8 * 4}, floats(64)).input<float>({1, 2, 8}, floats(16));
    narrow.input<float>({1, 2, 16}, floats(32));
    narrow.graph.nodes[0].inputs.insert(narrow.graph.nodes[0].inputs.end(), 2, -1);
    narrow.input<std::int32_t>({1}, {1}).constant<std::int32_t>({}, {2});
    narrow.set("num_heads", heads).set("kv_num_heads", groups).output().output().output();
    refuses(narrow, "key is 1x2x8, allowed: 1x2x16");
}

one_node rotary(bool is_microsoft, const std::vector<std::int32_t> &positions) {
    one_node n(is_microsoft ? "RotaryEmbedding" : "ai.onnx::RotaryEmbedding");
    const dims of_positions = positions.size() == 1 ? dims{1} : dims{2, 3};
    n.input<float>({2, 3, 2 * width}, numbers(2 * 3 * 2 * width, 1.f));
    if (is_microsoft)
        n.input<std::int32_t>(of_positions, positions);
    n.constant<float>({8, width / 2}, numbers(8 * width / 2, 1.f, 2));
    n.constant<float>({8, width / 2}, numbers(8 * width / 2, 1.f, 3));
    if (!is_microsoft)
        n.input<std::int32_t>(of_positions, positions);
    return n.set("num_heads", std::int64_t{2});
}

TEST(RotaryEmbedding, IsTheSameInBothDomainsAndFromAnOffset) {
    const floats y = rotary(true, {2, 3, 4, 2, 3, 4}).run<float>();
    EXPECT_EQ(rotary(false, {2, 3, 4, 2, 3, 4}).run<float>(), y);
    EXPECT_EQ(rotary(true, {2}).run<float>(), y);
    EXPECT_NE(rotary(true, {1}).run<float>(), y);
    const std::string sentence = rotary(true, {6}).refusal();
    EXPECT_NE(sentence.find("a position is 8, allowed: 0 to 7"), std::string::npos) << sentence;
}

TEST(OnnxAttention, CausalOrderIsAMask) {
    const auto attention = [](bool is_causal) {
        one_node n("ai.onnx::Attention");
        n.input<float>({1, heads, 5, width}, numbers(heads * 5 * width, 1.f));
        n.input<float>({1, groups, 5, width}, numbers(groups * 5 * width, 1.f, 2));
        n.input<float>({1, groups, 5, width}, numbers(groups * 5 * width, 1.f, 3));
        if (is_causal)
            return n.set("is_causal", std::int64_t{1});
        std::vector<std::uint8_t> seen(25);
        for (std::size_t i = 0; i < 25; i++)
            seen[i] = i % 5 <= i / 5;
        return n.input<std::uint8_t>({5, 5}, seen);
    };
    EXPECT_EQ(attention(true).run<float>(), attention(false).run<float>());
    one_node wrong = attention(true);
    wrong.input<float>({5, 4}, floats(20));
    const std::string sentence = wrong.refusal();
    EXPECT_NE(sentence.find("attn_mask is 5x4, allowed are 2 to 4 dimensions that end with 5x5"),
              std::string::npos)
        << sentence;
}

} // namespace
} // namespace octet::tests
