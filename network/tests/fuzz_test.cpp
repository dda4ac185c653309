// A deterministic slice of fuzzing (network/tests/fuzz): mutated networks are refused with a sentence or run; nothing
// crashes, hangs or reads outside the file, which the sanitizer jobs see.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include <plan_generated.h>

#include "network/tests/fuzz/fuzz_network.hpp"
#include "network/tests/fuzz/saved_plans.hpp"
#include "network/tests/fuzz/seeds.hpp"
#ifdef OCTET_HAVE_ONNX
#include "network/onnx/tests/onnx_builder.hpp"
#endif
#include "network/saved/format.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

using bytes = std::vector<std::uint8_t>;

bytes read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Few changes, so that many mutants pass the first checks; values that sizes and offsets break on.
bytes mutated(bytes b, std::mt19937 &random) {
    constexpr std::array<std::uint32_t, 8> edges = {0,    1,          0x7f,       0x80,
                                                    0xff, 0x7fffffff, 0x80000000, 0xffffffff};
    const auto below = [&](std::size_t n) { return random() % std::max<std::size_t>(n, 1); };
    for (std::size_t changes = 1 + below(4); changes > 0; changes--) {
        const std::size_t at = below(b.size());
        switch (below(6)) {
        case 0:
            b[at] ^= static_cast<std::uint8_t>(1u << below(8));
            break;
        case 1:
            b[at] = static_cast<std::uint8_t>(random());
            break;
        case 2:
            for (std::size_t i = 0; i < 4 && at + i < b.size(); i++)
                b[at + i] = static_cast<std::uint8_t>(edges[below(edges.size())] >> (8 * i));
            break;
        case 3: // a piece somewhere else
            for (std::size_t i = 0, from = below(b.size()); i < 16 && std::max(at, from) + i < b.size(); i++)
                b[at + i] = b[from + i];
            break;
        case 4:
            b.erase(b.begin() + static_cast<std::ptrdiff_t>(at),
                    b.begin() + static_cast<std::ptrdiff_t>(std::min(b.size(), at + below(9))));
            break;
        default:
            if (below(20) == 0)
                b.resize(at);
            break;
        }
        if (b.empty())
            return b;
    }
    return b;
}

/// `seal` makes a mutant's checksums right.
void expect_survival(graph_reader read, const bytes &original, int mutants, bytes (*seal)(bytes) = nullptr) {
    ASSERT_FALSE(original.empty());
    EXPECT_EQ(fuzz_network(read, original.data(), original.size()), fuzz_outcome::ran);
    std::mt19937 random(20);
    int ran = 0, refused = 0;
    for (int i = 0; i < mutants; i++) {
        const bytes changed = mutated(original, random), mutant = seal ? seal(changed) : changed;
        const bytes exact(mutant.begin(), mutant.end()); // no spare capacity behind the end
        const fuzz_outcome outcome = fuzz_network(read, exact.data(), exact.size());
        ran += outcome == fuzz_outcome::ran;
        refused += outcome == fuzz_outcome::refused;
    }
    EXPECT_GT(ran, 0);
    EXPECT_GT(refused, 0);
}

TEST(Fuzz, MutatedTfliteFilesAreRefusedOrRun) {
    expect_survival(model::read_tflite, read_file(source_path("examples/digits/digits_int8.tflite")), 2000);
}

/// Seeds of networks with state, and of those that move codes.
std::vector<fuzz_seed> tflite_seeds() {
    std::vector<fuzz_seed> seeds = recurrent_seeds();
    for (fuzz_seed &seed : move_seeds())
        seeds.push_back(std::move(seed));
    return seeds;
}

TEST(Fuzz, TfliteSeedsAreRefusedOrRunAsExpected) {
    for (const fuzz_seed &seed : tflite_seeds())
        EXPECT_EQ(fuzz_network(model::read_tflite, seed.bytes.data(), seed.bytes.size()), seed.expected)
            << seed.name;
}

TEST(Fuzz, MutatedTfliteSeedsAreRefusedOrRun) {
    for (const fuzz_seed &seed : tflite_seeds())
        if (seed.expected == fuzz_outcome::ran)
            expect_survival(model::read_tflite, seed.bytes, 2000);
}

TEST(Fuzz, MutatedPlansOfTfliteSeedsAreRefusedOrRun) {
    for (const fuzz_seed &seed : tflite_seeds())
        if (seed.expected == fuzz_outcome::ran)
            expect_survival(model::read_network, saved_plan_of(seed.bytes), 500, resealed);
}

TEST(Fuzz, SavedPlansThatLieAreRefused) {
    for (const fuzz_seed &seed : plan_seeds(source_path("examples/digits/digits_int8.tflite")))
        EXPECT_EQ(fuzz_network(model::read_network, seed.bytes.data(), seed.bytes.size()), seed.expected)
            << seed.name;
}

#ifdef OCTET_HAVE_ONNX
TEST(Fuzz, MutatedOnnxFilesAreRefusedOrRun) {
    expect_survival(model::read_onnx, read_file(source_path("examples/digits/digits_int8.onnx")), 2000);
}

TEST(Fuzz, OnnxFilesOnFloatsAreRefusedOrRunAsExpected) {
    for (const fuzz_seed &seed : onnx_seeds())
        EXPECT_EQ(fuzz_network(model::read_onnx, seed.bytes.data(), seed.bytes.size()), seed.expected)
            << seed.name;
}

TEST(Fuzz, MutatedOnnxFilesOnFloatsAreRefusedOrRun) {
    for (const fuzz_seed &seed : onnx_seeds())
        if (seed.expected == fuzz_outcome::ran)
            expect_survival(model::read_onnx, seed.bytes, 500);
}

TEST(Fuzz, OnnxFilesWithOperatorsOfOnnxRuntimeAreRefusedOrRunAsExpected) {
    for (const fuzz_seed &seed : contrib_seeds())
        EXPECT_EQ(fuzz_network(model::read_onnx, seed.bytes.data(), seed.bytes.size()), seed.expected)
            << seed.name;
}

TEST(Fuzz, MutatedOnnxFilesWithOperatorsOfOnnxRuntimeAreRefusedOrRun) {
    for (const fuzz_seed &seed : contrib_seeds())
        if (seed.expected == fuzz_outcome::ran)
            expect_survival(model::read_onnx, seed.bytes, 200);
}
#endif

/// Dimensions of tensors that nodes write, of a few: a plan's file can say anything of them.
model::graph with_lies(model::graph g, std::mt19937 &random) {
    std::vector<int> written;
    for (const model::node &n : g.nodes)
        written.insert(written.end(), n.outputs.begin(), n.outputs.end());
    const auto below = [&](std::size_t n) { return random() % std::max<std::size_t>(n, 1); };
    for (std::size_t lies = 1 + below(3); lies > 0 && !written.empty(); lies--) {
        const int t = written[below(written.size())];
        if (t < 0)
            continue;
        memory::dims &dims = g.tensors[static_cast<std::size_t>(t)].dims;
        const std::size_t at = below(dims.size());
        switch (below(dims.empty() ? 1 : 6)) {
        case 0:
            dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), static_cast<dim_t>(1 + below(3)));
            break;
        case 1:
            dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
            break;
        case 2:
            std::swap(dims[at], dims[below(dims.size())]);
            break;
        case 3:
            dims[at] *= static_cast<dim_t>(2 + below(3));
            break;
        case 4:
            dims[at] = static_cast<dim_t>(below(5));
            break;
        default:
            dims[at] += static_cast<dim_t>(below(3)) - 1;
            break;
        }
    }
    return g;
}

void expect_lies_to_be_harmless(graph_reader read, const std::vector<fuzz_seed> &seeds, int lies) {
    std::mt19937 random(22);
    int refused = 0;
    for (const fuzz_seed &seed : seeds) {
        if (seed.expected != fuzz_outcome::ran)
            continue;
        const model::graph g = read(seed.bytes.data(), seed.bytes.size(), seed.name);
        for (int i = 0; i < lies; i++)
            refused += fuzz_graph([&] { return with_lies(g, random); }) == fuzz_outcome::refused;
    }
    EXPECT_GT(refused, 0);
}

TEST(Fuzz, GraphsWhoseTensorsLieAreRefusedOrRun) {
    expect_lies_to_be_harmless(model::read_tflite, tflite_seeds(), 500);
#ifdef OCTET_HAVE_ONNX
    expect_lies_to_be_harmless(model::read_onnx, onnx_seeds(), 200);
    expect_lies_to_be_harmless(model::read_onnx, contrib_seeds(), 200);
#endif
}

model::saved_plan_header header_of(const bytes &plan) {
    model::saved_plan_header header;
    std::memcpy(&header, plan.data(), sizeof header);
    return header;
}

TEST(Fuzz, MutatedSavedPlansAreRefusedOrRun) {
    const bytes plan = saved_plan_of(source_path("examples/digits/digits_int8.tflite"));
    expect_survival(model::read_network, plan, 2000, resealed);
    // Most bytes are weights: the structure by itself, where the sizes and indices are.
    const model::saved_plan_header header = header_of(plan);
    const auto end = plan.begin() + static_cast<std::ptrdiff_t>(sizeof header + header.structure_size);
    std::mt19937 random(21);
    for (int i = 0; i < 4000; i++) {
        bytes mutant = mutated(bytes(plan.begin(), end), random);
        mutant.resize(static_cast<std::size_t>(end - plan.begin()));
        mutant.insert(mutant.end(), end, plan.end());
        mutant = resealed(std::move(mutant));
        fuzz_network(model::read_network, mutant.data(), mutant.size());
    }
}

/// A plan whose structure says something else in a few of its words: a small number, another word's, one more or less.
bytes with_other_words(bytes plan, std::mt19937 &random) {
    const auto words = header_of(plan).structure_size / 4;
    const auto place = [&] { return sizeof(model::saved_plan_header) + 4 * (random() % words); };
    for (unsigned changes = 1 + random() % 2; changes > 0; changes--) {
        const std::size_t at = place();
        std::int32_t word, other;
        std::memcpy(&word, plan.data() + at, sizeof word);
        std::memcpy(&other, plan.data() + place(), sizeof other);
        const std::int32_t values[] = {0, static_cast<std::int32_t>(random() % 12) - 2, other,
                                       static_cast<std::int32_t>(static_cast<std::uint32_t>(word) + 1),
                                       static_cast<std::int32_t>(static_cast<std::uint32_t>(word) - 1)};
        std::memcpy(plan.data() + at, &values[random() % std::size(values)], sizeof word);
    }
    return resealed(std::move(plan));
}

/// OCTET_FUZZ_MUTANTS=100000 makes a long run of it, OCTET_FUZZ_SEED another one.
TEST(Fuzz, SavedPlansWithOtherWordsAreRefusedOrRun) {
    const auto setting = [](const char *name, int otherwise) {
        const char *value = std::getenv(name);
        return value ? std::atoi(value) : otherwise;
    };
    const int mutants = setting("OCTET_FUZZ_MUTANTS", 200);
    std::mt19937 random(static_cast<unsigned>(setting("OCTET_FUZZ_SEED", 23)));
    std::vector<fuzz_seed> seeds = tflite_seeds();
#ifdef OCTET_HAVE_ONNX
    for (auto more : {onnx_seeds(), contrib_seeds()})
        std::move(more.begin(), more.end(), std::back_inserter(seeds));
#endif
    int ran = 0, refused = 0;
    for (const fuzz_seed &seed : seeds) {
        if (seed.expected != fuzz_outcome::ran)
            continue;
        const bytes plan = saved_plan_of(seed.bytes);
        for (int i = 0; i < mutants; i++) {
            const bytes mutant = with_other_words(plan, random);
            SCOPED_TRACE(seed.name);
            const fuzz_outcome outcome = fuzz_network(model::read_network, mutant.data(), mutant.size());
            ran += outcome == fuzz_outcome::ran;
            refused += outcome == fuzz_outcome::refused;
        }
    }
    EXPECT_GT(ran, 0);
    EXPECT_GT(refused, 0);
}

#ifdef OCTET_HAVE_ONNX
/// Every integer attribute and mark of every plan as large as can be: what only shapes check in files.
TEST(Fuzz, SavedPlansWithExtremeIntegersAreRefusedOrRun) {
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    std::vector<fuzz_seed> seeds = tflite_seeds();
    for (auto more : {onnx_seeds(), contrib_seeds()})
        std::move(more.begin(), more.end(), std::back_inserter(seeds));
    int refused = 0;
    for (const fuzz_seed &seed : seeds) {
        if (seed.expected != fuzz_outcome::ran)
            continue;
        SCOPED_TRACE(seed.name);
        const bytes plan = saved_plan_of(seed.bytes);
        for (const std::int64_t extreme : {lowest, lowest + 1, lowest / 2, -(lowest / 2), -(lowest + 1)})
            for (std::size_t place = 0, places = 1; place < places; place++) {
                const bytes lying = changed_plan(plan, [&](saved::PlanT &p) {
                    std::size_t at = 0;
                    const auto change = [&](std::int64_t &value) {
                        if (at++ == place)
                            value = extreme;
                    };
                    for (const auto &node : p.nodes) {
                        for (const auto &attribute : node->attributes) {
                            change(attribute->integer);
                            std::for_each(attribute->integers.begin(), attribute->integers.end(), change);
                        }
                        if (const auto &marks = node->marks)
                            for (auto *list : {&marks->reduced, &marks->slice_begin, &marks->slice_stride})
                                std::for_each(list->begin(), list->end(), change);
                    }
                    places = at;
                });
                refused +=
                    fuzz_network(model::read_network, lying.data(), lying.size()) == fuzz_outcome::refused;
            }
    }
    EXPECT_GT(refused, 0);
}

/// Strides of which twice as much is 0 modulo 2^64, so that the last element would seem to lie inside.
TEST(Fuzz, SavedSlicesWhoseEndWrapsAreRefused) {
    onnx_builder m;
    m.input<std::uint8_t>("x", {2, 3});
    const onnx_builder::names inputs = {
        "x", m.constant<std::int64_t>("start", {1}, {2}), m.constant<std::int64_t>("end", {1}, {-9}),
        m.constant<std::int64_t>("axis", {1}, {1}), m.constant<std::int64_t>("step", {1}, {-1})};
    m.node("Slice", inputs, {"y"});
    m.output("y");
    const bytes plan = saved_plan_of(m.finish());
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t stride : {lowest, lowest + 1, -(lowest + 1), lowest / 2}) {
        int changed = 0;
        const bytes lying = changed_plan(plan, [&](saved::PlanT &p) {
            for (const auto &node : p.nodes)
                if (node->marks && !node->marks->slice_stride.empty()) {
                    node->marks->slice_stride.at(1) = stride;
                    changed++;
                }
        });
        EXPECT_EQ(changed, 1);
        EXPECT_EQ(fuzz_network(model::read_network, lying.data(), lying.size()), fuzz_outcome::refused)
            << stride;
    }
}

/// Factors by which no image is resized, where a policy derives the factor from sizes.
TEST(Fuzz, SavedResizesByFactorsThatAreNoneAreRefused) {
    onnx_builder m;
    m.input<std::uint8_t>("x", {1, 1, 4, 4});
    const std::string sizes = m.constant<std::int64_t>("sizes", {2}, {2, 2});
    onnx::NodeProto &resize = m.node("Resize", {"x", "", "", sizes}, {"y"});
    onnx_builder::set(resize, "axes", onnx_builder::dims{2, 3});
    onnx_builder::set(resize, "keep_aspect_ratio_policy", "not_larger");
    m.output("y");
    const bytes plan = saved_plan_of(m.finish());
    using limits = std::numeric_limits<float>;
    for (const float factor : {0.f, -.5f, limits::infinity(), limits::quiet_NaN()}) {
        int changed = 0;
        const bytes lying = changed_plan(plan, [&](saved::PlanT &p) {
            for (const auto &node : p.nodes)
                if (node->marks && node->marks->keeps_aspect) {
                    node->marks->aspect_factor = factor;
                    changed++;
                }
        });
        EXPECT_EQ(changed, 1);
        EXPECT_EQ(fuzz_network(model::read_network, lying.data(), lying.size()), fuzz_outcome::refused)
            << factor;
    }
}

/// Operators whose plans say that they have no inputs, or fewer than they need.
TEST(Fuzz, SavedPlansOfNodesWithoutInputsAreRefused) {
    for (const fuzz_seed &seed : onnx_seeds()) {
        if (seed.name != std::string("float_image") && seed.name != std::string("remainders"))
            continue;
        const bytes plan = saved_plan_of(seed.bytes);
        const std::size_t nodes = model::read_network(plan.data(), plan.size(), "plan").nodes.size();
        for (std::size_t i = 0; i < nodes; i++)
            for (const bool keeps_first : {false, true}) {
                std::string op;
                const bytes lying = changed_plan(plan, [&](saved::PlanT &p) {
                    saved::NodeT &n = *p.nodes[i];
                    op = n.op;
                    n.inputs.resize(keeps_first ? 1 : 0);
                });
                const fuzz_outcome outcome = fuzz_network(model::read_network, lying.data(), lying.size());
                const bool is_refused = outcome == fuzz_outcome::refused;
                EXPECT_TRUE(is_refused || (keeps_first && op != "Mod")) << op;
            }
    }
}
#endif

} // namespace
} // namespace octet::tests
