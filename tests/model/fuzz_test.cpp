// A deterministic slice of fuzzing (tests/fuzz): mutated networks are refused with a sentence or run; nothing
// crashes, hangs or reads outside the file, which the sanitizer jobs see.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "fuzz/fuzz_network.hpp"
#include "fuzz/saved_plans.hpp"
#include "fuzz/seeds.hpp"
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

/// Of networks with state, and of those that move codes.
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

TEST(Fuzz, MutatedSavedPlansAreRefusedOrRun) {
    const bytes plan = saved_plan_of(source_path("examples/digits/digits_int8.tflite"));
    expect_survival(model::read_network, plan, 2000, resealed);
    // Most bytes are weights: the structure by itself, where the sizes and indices are.
    model::saved_plan_header header;
    std::memcpy(&header, plan.data(), sizeof header);
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

} // namespace
} // namespace octet::tests
