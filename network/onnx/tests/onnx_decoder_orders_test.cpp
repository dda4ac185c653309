// Attention of decoders with `network_options::rows_alike`: a row has the same bits however its sequence is cut, in
// every batch, at every level and for every number of threads. So it has with a sliding cache, which keeps a part of
// the past, and where beams have it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

using floats = std::vector<float>;

constexpr dim_t heads = 4, groups = 2;

std::int32_t s32(dim_t v) { return static_cast<std::int32_t>(v); }

/// `count` rows from `first` on of each matrix of `all` rows.
template <typename T>
std::vector<T> cut(const std::vector<T> &x, dim_t matrices, dim_t all, dim_t first, dim_t count) {
    const dim_t row = static_cast<dim_t>(x.size()) / (matrices * all);
    std::vector<T> y;
    for (dim_t m = 0; m < matrices; m++)
        y.insert(y.end(), x.begin() + (m * all + first) * row, x.begin() + (m * all + first + count) * row);
    return y;
}

/// What differs from one decoder to the next.
struct decoder {
    dim_t width = 16, length = 9, window = -1, sliding = 0; ///< rows of a sliding cache; 0: all rows
    float softcap = 0.f, scale = 0.f;
    int bits = 0;
    bool has_sink = false, per_channel = false;
};

/// A sequence that goes through GroupQueryAttention in parts.
template <typename Code> class sequence {
public:
    sequence(const decoder &d, bool rows_alike, dim_t batch = 1)
        : d_(d), batch_(batch), is_alike_(rows_alike) {
        const dim_t row = d.bits == 4 ? d.width / 2 : d.width;
        past_[0].resize(static_cast<std::size_t>(batch * groups * d.sliding * row));
        past_[1] = past_[0];
    }

    /// Rows `done` to `done` + `count` - 1 of all sequences.
    floats go(dim_t count) {
        const dim_t all = done_ + count, rows = d_.sliding > 0 ? d_.sliding : done_;
        one_node n("GroupQueryAttention");
        n.options.rows_alike = is_alike_;
        for (unsigned i = 0; i < 3; i++) {
            floats x;
            const dim_t row = (i == 0 ? heads : groups) * d_.width;
            for (dim_t b = 0; b < batch_; b++) {
                const floats one = numbers(static_cast<std::size_t>(d_.length * row), 1.f,
                                           i + 1 + 7 * static_cast<unsigned>(b));
                x.insert(x.end(), one.begin() + done_ * row, one.begin() + all * row);
            }
            n.input<float>({batch_, count, row}, x);
        }
        for (const std::vector<Code> &x : past_)
            n.input<Code>({batch_, groups, rows, d_.bits == 4 ? d_.width / 2 : d_.width}, x);
        n.input<std::int32_t>({batch_},
                              std::vector<std::int32_t>(static_cast<std::size_t>(batch_), s32(all - 1)));
        n.constant<std::int32_t>({}, {s32(all)});
        for (unsigned i = 0; i < 2; i++)
            n.constant<float>({d_.length, d_.width / 2},
                              numbers(static_cast<std::size_t>(d_.length * d_.width / 2), 1.f, 4 + i));
        n.graph.nodes[0].inputs.insert(n.graph.nodes[0].inputs.end(), 2, -1);
        if (d_.has_sink)
            n.constant<float>({heads}, {0.3f, -1.f, 2.f, 0.f});
        else
            n.graph.nodes[0].inputs.push_back(-1);
        const dims of_scales = d_.per_channel ? dims{groups, 1, d_.width} : dims{1};
        for (unsigned i = 0; d_.bits != 0 && i < 2; i++) {
            floats scales = numbers(count_of(of_scales), 0.01f, 9 + i);
            for (float &s : scales)
                s = 0.03f + s;
            n.constant<float>(of_scales, scales);
        }
        if (d_.bits != 0)
            n.set("k_quant_type", std::string(d_.per_channel ? "PER_CHANNEL" : "PER_TENSOR"))
                .set("v_quant_type", std::string(d_.per_channel ? "PER_CHANNEL" : "PER_TENSOR"))
                .set("kv_cache_bit_width", std::int64_t{d_.bits});
        n.set("num_heads", std::int64_t{heads}).set("kv_num_heads", std::int64_t{groups});
        n.set("do_rotary", std::int64_t{1}).set("local_window_size", std::int64_t{d_.window});
        n.set("softcap", d_.softcap).set("scale", d_.scale);
        n.set("sliding_window_cache", std::int64_t{d_.sliding > 0}).output().output().output();
        infer_shapes(n.graph);
        network net(n.graph, n.options);
        for (const auto &f : n.fill)
            f(net);
        net.run();
        past_[0] = net.output(1).as<Code>();
        past_[1] = net.output(2).as<Code>();
        done_ = all;
        return net.output(0).as<float>();
    }

private:
    decoder d_;
    dim_t batch_, done_ = 0;
    bool is_alike_;
    std::vector<Code> past_[2];
};

/// All rows of the first sequence, whose parts have these sizes, one after the other, again and again.
template <typename Code>
floats in_parts(const decoder &d, bool rows_alike, const std::vector<dim_t> &parts, dim_t batch = 1) {
    sequence<Code> s(d, rows_alike, batch);
    floats y;
    for (dim_t done = 0, i = 0; done < d.length; i++) {
        const dim_t count = std::min(parts[static_cast<std::size_t>(i) % parts.size()], d.length - done);
        const floats part = s.go(count);
        y.insert(y.end(), part.begin(), part.begin() + count * heads * d.width);
        done += count;
    }
    return y;
}

bool are_equal(const floats &a, const floats &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <typename Code> void expect_one_order(const decoder &d, const std::string &what) {
    const floats whole = in_parts<Code>(d, true, {d.length});
    const int usual = get_num_threads();
    for (const cpu_isa level : get_available_cpu_isas())
        for (const int threads : {1, 3}) {
            set_max_cpu_isa(level);
            set_num_threads(threads);
            for (const std::vector<dim_t> &parts :
                 std::vector<std::vector<dim_t>>{{1}, {3, 1, 2}, {7}, {d.length}})
                EXPECT_TRUE(are_equal(in_parts<Code>(d, true, parts), whole))
                    << what << ", parts of " << parts[0] << ", " << to_string(level) << ", " << threads;
            EXPECT_TRUE(are_equal(in_parts<Code>(d, true, {d.length}, 3), whole)) << what << ", a batch";
        }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(usual);
    const floats usual_order = in_parts<Code>(d, false, {1});
    for (std::size_t i = 0; i < whole.size(); i++)
        ASSERT_NEAR(usual_order[i], whole[i], 4e-6) << what;
}

TEST(OrderOfDecoders, DoesNotDependOnPartsBatchAndThreads) {
    decoder d;
    d.length = 40;
    expect_one_order<float>(d, "plain");
    d.scale = 1.f;
    expect_one_order<float>(d, "scale 1");
    d.window = 6;
    expect_one_order<float>(d, "window");
    d.softcap = 4.f;
    expect_one_order<float>(d, "softcap");
    d = {256,
         70}; // more than one block of a head's elements; ONNX Runtime's sizes depend on the number of keys
    expect_one_order<float>(d, "wide heads");
    d.has_sink = true;
    expect_one_order<float>(d, "sink");
    d = {8, 9};
    d.width = 16;
    for (const bool per_channel : {false, true}) {
        d.per_channel = per_channel;
        d.bits = 8;
        expect_one_order<std::int8_t>(d, "8 bits");
        d.bits = 4;
        expect_one_order<std::uint8_t>(d, "4 bits");
    }
}

/// In ONNX Runtime's order of one row it is not so: the test above could fail.
TEST(OrderOfDecoders, IsNotOnnxRuntimesOfASingleRow) {
    decoder d;
    d.length = 40;
    EXPECT_FALSE(are_equal(in_parts<float>(d, false, {1}), in_parts<float>(d, false, {d.length})));
    EXPECT_TRUE(are_equal(in_parts<float>(d, true, {1}), in_parts<float>(d, false, {d.length})))
        << "it is that of several rows";
}

TEST(SlidingCache, KeepsWhatAWindowSees) {
    decoder d;
    d.length = 40;
    for (const dim_t window : {1, 4, 9}) {
        for (const bool has_sink : {false, true}) {
            d.window = window;
            d.has_sink = has_sink;
            const floats whole = in_parts<float>(d, true, {d.length});
            for (const dim_t rows : {dim_t{0}, dim_t{3}, dim_t{12}})
                for (const std::vector<dim_t> &parts :
                     std::vector<std::vector<dim_t>>{{1}, {5}, {2, 17, 1}, {40}}) {
                    decoder sliding = d;
                    sliding.sliding = window + rows;
                    EXPECT_TRUE(are_equal(in_parts<float>(sliding, true, parts), whole))
                        << "window " << window << " of " << sliding.sliding << " rows, parts of " << parts[0];
                }
        }
    }
}

/// A causal sequence of 70 rows in parts of `part`; heads are wider than one block of products.
floats attention_in_parts(const char *op, bool is_alike, dim_t part) {
    constexpr dim_t width = 136, length = 70;
    const bool is_standard = std::string(op) == "ai.onnx::Attention";
    floats y, past[2];
    for (dim_t done = 0; done < length; done += part) {
        const dim_t count = std::min(part, length - done);
        one_node n(op);
        n.options.rows_alike = is_alike;
        for (unsigned i = 0; i < 3; i++)
            n.input<float>({1, count, heads * width},
                           cut(numbers(length * heads * width, 0.3f, i + 1), 1, length, done, count));
        n.graph.nodes[0].inputs.insert(n.graph.nodes[0].inputs.end(), is_standard ? 1 : 3, -1);
        for (int i = 0; done > 0 && i < 2; i++)
            n.input<float>({1, heads, done, width}, past[i]);
        if (is_standard)
            n.set("q_num_heads", std::int64_t{heads}).set("kv_num_heads", std::int64_t{heads});
        n.set(is_standard ? "is_causal" : "unidirectional", std::int64_t{1});
        n.set("num_heads", std::int64_t{heads}).output().output().output();
        infer_shapes(n.graph);
        network net(n.graph, n.options);
        for (const auto &f : n.fill)
            f(net);
        net.run();
        const floats rows = net.output(0).as<float>();
        y.insert(y.end(), rows.begin(), rows.end());
        for (std::size_t i = 0; i < 2; i++)
            past[i] = net.output(1 + i).as<float>();
    }
    return y;
}

TEST(OrderOfDecoders, IsOneForOtherOperators) {
    for (const char *op : {"MultiHeadAttention", "ai.onnx::Attention"}) {
        const floats whole = attention_in_parts(op, true, 70);
        EXPECT_FALSE(are_equal(attention_in_parts(op, false, 1), whole)) << op;
        for (const dim_t part : {1, 3, 64})
            EXPECT_TRUE(are_equal(attention_in_parts(op, true, part), whole))
                << op << " in parts of " << part;
    }
}

/// Caches with room for all of a sequence, each bound as past and as present: only new rows are written.
TEST(GroupQueryAttention, AppendsInABufferThatIsPastAndPresent) {
    constexpr dim_t width = 16, room = 12, row = groups * width;
    floats caches[] = {floats(groups * room * width, 7.f), floats(groups * room * width, 7.f)};
    floats past[2], apart, shared;
    for (dim_t done = 0, count = 4; done < 10; done += count, count = 1) {
        for (const bool is_shared : {false, true}) {
            one_node n("GroupQueryAttention");
            n.input<float>({1, count, heads * width},
                           numbers(static_cast<std::size_t>(count * heads * width), 1.f));
            for (unsigned i = 0; i < 2; i++)
                n.input<float>({1, count, row},
                               numbers(static_cast<std::size_t>(count * row), 1.f, 2 + i + s32(done)));
            for (int i = 0; i < 2; i++)
                n.input<float>({1, groups, is_shared ? room : done, width}, is_shared ? caches[i] : past[i]);
            n.input<std::int32_t>({1}, {s32(done + count - 1)})
                .constant<std::int32_t>({}, {s32(done + count)});
            n.set("num_heads", std::int64_t{heads}).set("kv_num_heads", std::int64_t{groups});
            n.output().output().output();
            infer_shapes(n.graph);
            network net(n.graph);
            for (const auto &f : n.fill)
                f(net);
            for (std::size_t i = 0; is_shared && i < 2; i++) {
                const std::size_t size = caches[i].size() * sizeof(float);
                net.bind_input(3 + i, caches[i].data(), size);
                net.bind_output(1 + i, caches[i].data(), size);
                EXPECT_THROW(net.bind_output(2 - i, caches[i].data(), size), error) << "the other cache";
            }
            net.run();
            (is_shared ? shared : apart) = net.output(0).as<float>();
            for (std::size_t i = 0; !is_shared && i < 2; i++)
                past[i] = net.output(1 + i).as<float>();
        }
        EXPECT_TRUE(are_equal(apart, shared)) << done;
        const dim_t all = done + count;
        for (int i = 0; i < 2; i++) {
            EXPECT_TRUE(are_equal(cut(caches[i], groups, room, 0, all), past[i])) << done;
            EXPECT_TRUE(are_equal(cut(caches[i], groups, room, all, room - all),
                                  floats(static_cast<std::size_t>(groups * (room - all) * width), 7.f)))
                << done;
        }
    }
}

/// Keys of one sequence that several beams have written are those of a cache where each has all of its own.
TEST(DecoderMaskedMultiHeadAttention, ReadsKeysWhereBeamsWroteThem) {
    constexpr dim_t beams = 3, width = 24, rows = 7, past = 5, many = beams * heads * width;
    const floats caches[] = {numbers(beams * heads * rows * width, 1.f, 4),
                             numbers(beams * heads * rows * width, 1.f, 5)};
    std::vector<std::int32_t> from(beams * rows);
    for (std::size_t i = 0; i < from.size(); i++)
        from[i] = static_cast<std::int32_t>(i * 5 % 3);
    const auto attention = [&](bool is_sorted) {
        one_node n("DecoderMaskedMultiHeadAttention");
        for (unsigned i = 0; i < 3; i++)
            n.input<float>({beams, 1, heads * width}, numbers(many, 1.f, i + 1));
        n.graph.nodes[0].inputs.insert(n.graph.nodes[0].inputs.end(), 2, -1);
        for (const floats &cache : caches) {
            floats x = cache;
            for (dim_t i = 0; is_sorted && i < beams * heads * past; i++) {
                const dim_t b = i / (heads * past), h = i / past % heads, t = i % past;
                const auto row =
                    cache.begin() +
                    ((from[static_cast<std::size_t>(b * rows + t)] * heads + h) * rows + t) * width;
                std::copy(row, row + width, x.begin() + ((b * heads + h) * rows + t) * width);
            }
            n.input<float>({beams, heads, rows, width}, x);
        }
        n.constant<std::int32_t>({1}, {s32(past)}).constant<std::int32_t>({1}, {beams});
        std::vector<std::int32_t> own(from);
        for (std::size_t i = 0; is_sorted && i < own.size(); i++)
            own[i] = static_cast<std::int32_t>(i / rows);
        n.input<std::int32_t>({1, beams, rows}, own);
        return n.set("num_heads", std::int64_t{heads})
            .set("past_present_share_buffer", std::int64_t{1})
            .output()
            .output()
            .output();
    };
    const floats y = attention(false).run<float>();
    EXPECT_EQ(attention(true).run<float>(), y);
    one_node wrong = attention(false);
    wrong.fill.back() = [](network &net) {
        net.input(5).copy_from(std::vector<std::int32_t>(beams * rows, 3));
    };
    EXPECT_EQ(wrong.refusal().find("an element of cache_indirection is 3, allowed: 0 to 2") ==
                  std::string::npos,
              false)
        << wrong.refusal();
}

} // namespace
} // namespace octet::tests
