// Decoders and their sequences: the logits of a sequence are those of a network that gets all of its tokens at once,
// however they are cut, whatever runs beside them, and from whatever the sequence was forked.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "network/onnx/tests/small_decoder.hpp"
#include "octet/decoder.hpp"
#include "support/expect_error.hpp"

namespace octet::tests::sequences {
namespace {

using octet::decoder;
using octet::sequence;
using b = onnx_builder;
using ids = std::vector<std::int32_t>;

ids tokens_of(std::size_t count, unsigned seed) {
    std::minstd_rand random(seed);
    ids t(count);
    for (std::int32_t &v : t)
        v = static_cast<std::int32_t>(random() % words);
    return t;
}

/// Logits behind each token, of a network that gets all of them at once and has no past.
floats at_once(const model::graph &g, const ids &tokens) {
    network_options options;
    options.rows_alike = true;
    const auto count = static_cast<dim_t>(tokens.size());
    options.shapes = {{"input_ids", {1, count}}, {"attention_mask", {1, count}}};
    for (const int t : g.inputs) {
        const model::tensor &input = g.tensors[static_cast<std::size_t>(t)];
        if (input.dims.size() == 4)
            options.shapes[input.name] = {1, input.dims[1], 0, width};
        if (input.name == "position_ids")
            options.shapes[input.name] = {1, count};
    }
    network net(g, options);
    net.input("input_ids").copy_from(tokens);
    net.input("attention_mask").copy_from(ids(tokens.size(), 1));
    for (const int t : g.inputs)
        if (const model::tensor &input = g.tensors[static_cast<std::size_t>(t)];
            input.name == "total_sequence_length")
            net.input(input.name).copy_from(ids{static_cast<std::int32_t>(count)});
    if (options.shapes.count("position_ids") != 0) {
        ids positions(tokens.size());
        std::iota(positions.begin(), positions.end(), 0);
        net.input("position_ids").copy_from(positions);
    }
    net.run();
    return net.output("logits").as<float>();
}

ids part_of(const ids &x, std::size_t first, std::size_t count) {
    const auto at = x.begin() + static_cast<std::ptrdiff_t>(first);
    return {at, at + static_cast<std::ptrdiff_t>(count)};
}
floats row_of(const floats &x, std::size_t row) {
    const auto at = x.begin() + static_cast<std::ptrdiff_t>(row * words);
    return {at, at + words};
}
bool are_alike(const floats &x, const floats &y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

decoder_options with_capacity(dim_t capacity) {
    decoder_options o;
    o.capacity = capacity;
    return o;
}

TEST(Decoder, GivesTheSameLogitsHoweverASequenceIsCut) {
    unlike with_positions = with(attends::several), with_total;
    with_positions.has_positions = with_total.has_total = true;
    for (const unlike &u : {unlike(), unlike{true, false, false, -1}, unlike{false, false, false, 5},
                            with_total, with(attends::several), with_positions, with(attends::standard)}) {
        const model::graph g = small_decoder(u).graph_of();
        const ids tokens = tokens_of(90, 3);
        const floats expected = at_once(g, tokens);
        decoder d(g, with_capacity(100));
        for (const std::size_t chunk : {1, 7, 16, 40, 90}) {
            sequence s = d.new_sequence();
            for (std::size_t done = 0; done < tokens.size(); done += chunk) {
                const std::size_t count = std::min(chunk, tokens.size() - done);
                const floats logits = d.run({{&s, part_of(tokens, done, count), true}}).front();
                ASSERT_EQ(logits.size(), count * words);
                for (std::size_t i = 0; i < count; i++)
                    ASSERT_TRUE(are_alike(row_of(logits, i), row_of(expected, done + i)))
                        << "chunks of " << chunk << ", token " << done + i << ", window " << u.window
                        << ", operator " << static_cast<int>(u.by);
            }
            EXPECT_EQ(s.size(), 90);
        }
    }
}

/// It takes one row and a buffer with room; what it gives is what MultiHeadAttention gives.
TEST(Decoder, RunsDecoderMaskedMultiHeadAttentionTokenByToken) {
    const ids tokens = tokens_of(30, 3);
    const floats expected = at_once(small_decoder(with(attends::several)).graph_of(), tokens);
    decoder d(small_decoder(with(attends::one_row)).graph_of(), with_capacity(64));
    sequence first = d.new_sequence();
    const floats logits = d.run({{&first, part_of(tokens, 0, 20), true}}).front();
    for (std::size_t i = 0; i < 20; i++)
        ASSERT_TRUE(are_alike(row_of(logits, i), row_of(expected, i))) << i;
    sequence second = d.new_sequence(), third = first.fork();
    d.run(second, part_of(tokens, 0, 7));
    const std::vector<floats> together =
        d.run({{&first, {tokens[20]}}, {&second, {tokens[7]}}, {&third, {tokens[20]}}});
    EXPECT_TRUE(are_alike(together[0], row_of(expected, 20)));
    EXPECT_TRUE(are_alike(together[1], row_of(expected, 7)));
    EXPECT_TRUE(are_alike(together[2], row_of(expected, 20)));
}

TEST(Decoder, FillsItsCapacityToTheLastToken) {
    const model::graph g = small_decoder().graph_of();
    const ids tokens = tokens_of(64, 4);
    const floats expected = at_once(g, tokens);
    decoder d(g, with_capacity(50));
    sequence s = d.new_sequence();
    EXPECT_EQ(s.capacity(), 64);
    d.run(s, part_of(tokens, 0, 52));
    EXPECT_TRUE(are_alike(d.run(s, part_of(tokens, 52, 12)), row_of(expected, 63)));
    test::expect_invalid([&] { d.run(s, {1}); }, {"turn 0", "1 tokens", "a sequence of 64", "1 to 0"});
    s.truncate(0);
    EXPECT_TRUE(are_alike(d.run(s, tokens), row_of(expected, 63))) << "a whole capacity at once";
}

TEST(Decoder, RunsSequencesTogetherAsAlone) {
    const model::graph g = small_decoder().graph_of();
    decoder d(g, with_capacity(64));
    constexpr std::size_t count = 11;
    std::vector<ids> tokens;
    std::vector<floats> expected;
    std::vector<sequence> sequences;
    for (std::size_t i = 0; i < count; i++) {
        tokens.push_back(tokens_of(30 + i, 10 + static_cast<unsigned>(i)));
        expected.push_back(at_once(g, tokens.back()));
        sequences.push_back(d.new_sequence());
    }
    std::minstd_rand random(5);
    for (int step = 0; step < 60; step++) {
        std::vector<decoder::turn> turns;
        for (std::size_t i = 0; i < count; i++) {
            const auto done = static_cast<std::size_t>(sequences[i].size());
            const std::size_t most = random() % 8 == 0 ? 5 : 1, left = tokens[i].size() - done;
            if (left > 0 && random() % 3 != 0)
                turns.push_back({&sequences[i], part_of(tokens[i], done, std::min(most, left))});
        }
        if (turns.empty())
            continue;
        const std::vector<floats> logits = d.run(turns);
        for (std::size_t t = 0; t < turns.size(); t++) {
            const auto i = static_cast<std::size_t>(turns[t].of - sequences.data());
            ASSERT_TRUE(
                are_alike(logits[t], row_of(expected[i], static_cast<std::size_t>(sequences[i].size()) - 1)))
                << "sequence " << i << " of " << turns.size() << " at " << sequences[i].size();
        }
    }
}

TEST(Decoder, ForksShareABeginningAndGoOnApart) {
    const model::graph g = small_decoder().graph_of();
    decoder d(g, with_capacity(300));
    const ids common = tokens_of(70, 6);
    sequence first = d.new_sequence();
    d.run(first, common);
    sequence second = first.fork(), third = first.fork(), empty = d.new_sequence().fork();
    EXPECT_EQ(empty.size(), 0);
    const auto check = [&](sequence &s, const ids &before, unsigned seed) {
        ids all = before;
        const ids more = tokens_of(9, seed);
        all.insert(all.end(), more.begin(), more.end());
        EXPECT_TRUE(are_alike(d.run(s, more), row_of(at_once(g, all), all.size() - 1))) << seed;
        return all;
    };
    const ids of_first = check(first, common, 1), of_second = check(second, common, 2);
    sequence fourth = second.fork(); // of what is partly shared
    second = d.new_sequence();       // frees it
    check(third, common, 3);
    check(fourth, of_second, 4);
    first.truncate(50);
    check(first, part_of(of_first, 0, 50), 5);
    third.truncate(3);
    check(third, part_of(common, 0, 3), 6);
}

/// OCTET_DECODER_RUNS has more of them, OCTET_ORACLE_SEED others.
TEST(Decoder, HasOneOrderInEveryCombination) {
    const char *const given = std::getenv("OCTET_DECODER_RUNS");
    const int runs = given ? std::atoi(given) : 40;
    struct known {
        model::graph g;
        std::vector<ids> prompts;
        std::vector<floats> logits;
        std::map<cpu_isa, decoder> by_level;
    };
    std::vector<known> models;
    for (const unlike &u : {unlike(), unlike{true, false, false, -1}, unlike{false, false, false, 7},
                            with(attends::several), with(attends::standard)}) {
        known &k = models.emplace_back();
        k.g = small_decoder(u).graph_of();
        for (const std::size_t count : {5, 21, 90}) {
            k.prompts.push_back(tokens_of(count, static_cast<unsigned>(count)));
            k.logits.push_back(at_once(k.g, k.prompts.back()));
        }
    }
    const int usual = get_num_threads();
    const char *const seed = std::getenv("OCTET_ORACLE_SEED");
    std::minstd_rand random(seed ? static_cast<unsigned>(std::atoi(seed)) : 11);
    const auto one_of = [&](const auto &all) { return all[random() % std::size(all)]; };
    for (int run = 0; run < runs; run++) {
        known &k = models[random() % models.size()];
        const std::size_t p = random() % k.prompts.size(), count = k.prompts[p].size();
        const cpu_isa level = one_of(get_available_cpu_isas());
        const int threads = 1 + static_cast<int>(random() % 8);
        set_max_cpu_isa(level);
        set_num_threads(threads);
        decoder &d = k.by_level.try_emplace(level, k.g, with_capacity(320)).first->second;
        const std::size_t chunk = one_of(std::vector<std::size_t>{1, 7, 64, 256, count}),
                          others = random() % 64;
        std::vector<sequence> beside;
        for (std::size_t i = 0; i < (chunk == 1 ? others : others % 3); i++)
            beside.push_back(d.new_sequence());
        sequence s = d.new_sequence();
        if (random() % 2 == 0) { // a beginning that others share
            const std::size_t shared = random() % count;
            if (shared > 0)
                d.run(s, part_of(k.prompts[p], 0, shared));
            sequence from = std::move(s);
            s = from.fork();
            d.run(from, {static_cast<std::int32_t>(run % words)});
        }
        for (auto done = static_cast<std::size_t>(s.size()); done < count; done += chunk) {
            std::vector<decoder::turn> turns;
            for (sequence &other : beside)
                if (random() % 4 != 0 && other.size() < other.capacity())
                    turns.push_back({&other, {static_cast<std::int32_t>(random() % words)}});
            const std::size_t at = random() % (turns.size() + 1), part = std::min(chunk, count - done);
            turns.insert(turns.begin() + static_cast<std::ptrdiff_t>(at),
                         {&s, part_of(k.prompts[p], done, part), true});
            const floats logits = d.run(turns)[at];
            ASSERT_EQ(
                std::memcmp(logits.data(), k.logits[p].data() + done * words, logits.size() * sizeof(float)),
                0)
                << "run " << run << ", " << to_string(level) << ", " << threads << " threads, " << count
                << " tokens in chunks of " << chunk << " beside " << beside.size();
        }
    }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(usual);
}

/// Where total_sequence_length is an input, the shape of the presents says that the pasts have room.
TEST(DecoderNetwork, AppendsToOneBufferWhoseLengthIsAnInput) {
    constexpr dim_t room = 24;
    unlike u;
    u.has_total = true;
    const model::graph g = small_decoder(u).graph_of();
    const ids tokens = tokens_of(6, 9);
    const floats expected = at_once(g, tokens);
    network_options options;
    options.rows_alike = true;
    std::map<std::string, floats> caches;
    for (std::size_t done = 0, count = 4; done < tokens.size(); done += count, count = 1) {
        network_sizes sizes;
        sizes.shapes = {{"input_ids", {1, static_cast<dim_t>(count)}},
                        {"attention_mask", {1, static_cast<dim_t>(done + count)}}};
        for (const int t : g.inputs)
            if (const std::string &name = g.tensors[static_cast<std::size_t>(t)].name;
                name.rfind("past_key_values", 0) == 0)
                for (const std::string &of : {name, "present" + name.substr(15)})
                    sizes.shapes[of] = {1, groups, room, width};
        network net(g, options);
        net.resize(sizes);
        for (std::size_t i = 0; i < net.input_count(); i++)
            if (const std::string &name = net.input(i).name(); name.rfind("past_key_values", 0) == 0) {
                floats &cache = caches[name];
                cache.resize(groups * room * width);
                net.bind_input(i, cache.data(), cache.size() * sizeof(float));
                std::size_t output = 0;
                while (net.output(output).name() != "present" + name.substr(15))
                    output++;
                net.bind_output(output, cache.data(), cache.size() * sizeof(float));
            }
        net.input("input_ids").copy_from(part_of(tokens, done, count));
        net.input("attention_mask").copy_from(ids(done + count, 1));
        net.input("total_sequence_length").copy_from(ids{static_cast<std::int32_t>(done + count)});
        net.run();
        const floats logits = net.output("logits").as<float>();
        EXPECT_TRUE(are_alike(row_of(logits, count - 1), row_of(expected, done + count - 1))) << done;
        net.input("total_sequence_length").copy_from(ids{room + 1});
        test::expect_invalid([&] { net.run(); }, {"total_sequence_length is 25", "1 to 24"});
        sizes.shapes["present.0.key"][2] = room - 1;
        test::expect_invalid([&] { net.resize(sizes); },
                             {"shape 1x2x23x16 of output 'present.0.key' is given", "give 1x2x"});
    }
}

TEST(Decoder, TellsWhatSequencesTake) {
    decoder d(small_decoder().graph_of(), with_capacity(64));
    EXPECT_EQ(d.bytes_of(65), 2u * layers * groups * 2 * 4096) << "a page has 64 rows";
    sequence s = d.new_sequence();
    EXPECT_EQ(s.bytes(), 0u);
    d.run(s, {1, 2, 3});
    EXPECT_EQ(s.bytes(), 2u * layers * groups * 4096);
    test::expect_invalid([&] { s.truncate(4); }, {"size is 4", "0 to 3"});
    s.truncate(0);
    EXPECT_EQ(s.bytes(), 0u);
}

TEST(Decoder, GivesTheLogitsThatTheNetworkHas) {
    const ids tokens = tokens_of(21, 8);
    const floats expected = at_once(small_decoder().graph_of(), tokens);
    unlike u;
    u.has_only_last_logits = true;
    decoder d(small_decoder(u).graph_of(), with_capacity(64));
    sequence s = d.new_sequence();
    EXPECT_TRUE(are_alike(d.run(s, tokens), row_of(expected, 20)));
    test::expect_invalid([&] { d.run({{&s, tokens, true}}); }, {"logits behind each token"});
    EXPECT_EQ(s.size(), 21) << "what fails changes nothing";
}

TEST(Decoder, RefusesOtherNetworksAndTurns) {
    unlike u;
    u.reads_past_twice = true;
    decoder twice(small_decoder(u).graph_of(), with_capacity(32));
    sequence of_twice = twice.new_sequence();
    test::expect_invalid([&] { twice.run(of_twice, {1}); },
                         {"'past_key_values.0.key'", "not appended to in place"});
    unlike rows = with(attends::several);
    rows.takes_rows_for_positions = true;
    decoder counts_rows(small_decoder(rows).graph_of(), with_capacity(32));
    sequence of_rows = counts_rows.new_sequence();
    for (int i = 0; i < 2; i++)
        test::expect_invalid([&] { counts_rows.run(of_rows, {1}); },
                             {"logits depend on how many rows the pasts have", "attention_mask"});
    b other(18);
    other.input<float>("x", {1, 2});
    other.node("Neg", {"x"}, {"y"});
    other.output("y");
    const std::vector<std::uint8_t> file = other.finish();
    const model::graph g = model::read_onnx(file.data(), file.size(), "other.onnx");
    test::expect_invalid([&] { decoder d(g); }, {"input 'x' is 1x2", "input_ids, attention_mask"});

    const model::graph usual = small_decoder().graph_of();
    test::expect_invalid([&] { decoder d(usual, with_capacity(0)); }, {"capacity is 0", "1 or more"});
    decoder_options sized;
    sized.network.batch = 2;
    test::expect_invalid([&] { decoder d(usual, sized); }, {"sizes are given", "allowed: none"});
    decoder d(usual, with_capacity(32));
    sequence s = d.new_sequence();
    test::expect_invalid([&] { d.run(of_twice, {1}); }, {"turn 0", "none of this decoder's"});
    test::expect_invalid([&] { d.run(s, {}); }, {"turn 0", "0 tokens", "1 to 64"});
    test::expect_invalid([&] { d.run({{&s, {1}}, {&s, {2}}}); }, {"turn 1", "another turn"});
    test::expect_invalid([&] { d.run(s, {words}); }, {"Gather"});
    EXPECT_EQ(s.size(), 0);
    d.run(s, {1});
    decoder also = d.new_context();
    EXPECT_TRUE(are_alike(also.run(s, {2}), row_of(at_once(usual, {1, 2}), 1)));
}

} // namespace
} // namespace octet::tests::sequences
