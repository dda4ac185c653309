// Loading leaves constants in place: inside mapped files and shared buffers, at any address.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "network/graph/descs.hpp"
#include "network/graph/file.hpp"
#include "network/graph/stored_graph.hpp"
#include "network/lower/packed_weights.hpp"
#include "network/tflite/tests/tflite_builder.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "support/allocations.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

namespace fs = std::filesystem;
using bytes = std::vector<std::uint8_t>;
using model::shared_bytes;

const std::string digits = source_path("examples/digits/digits_int8.tflite");

TEST(SharedBytes, AreAValueWhoseCopiesShare) {
    const shared_bytes none, four = bytes{1, 2, 3, 4}, copy = four, equal = bytes{1, 2, 3, 4};
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none, bytes());
    EXPECT_EQ(copy.data(), four.data());
    EXPECT_NE(equal.data(), four.data());
    EXPECT_EQ(equal, four);
    EXPECT_NE(four, (bytes{1, 2, 3}));
    const shared_bytes middle = shared_bytes(four).part(1, 2);
    EXPECT_EQ(middle, (bytes{2, 3}));
    EXPECT_EQ(middle[1], 3);
    EXPECT_EQ(middle.owner(), four.owner());
}

TEST(SharedBytes, KeepTheirOwnerAlive) {
    auto owner = std::make_shared<const bytes>(3, std::uint8_t{7});
    const std::weak_ptr<const bytes> watch = owner;
    shared_bytes part(owner, owner->data() + 1, 2);
    owner.reset();
    EXPECT_EQ(part.copy(), bytes(2, 7));
    part = {};
    EXPECT_TRUE(watch.expired());
}

TEST(Loading, CopiesOfAGraphShareItsConstants) {
    const model::graph g = model::read_network(digits), copy = g;
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        EXPECT_EQ(copy.tensors[t].data.data(), g.tensors[t].data.data());
}

TEST(Loading, ConstantsLieInTheMappedFile) {
    const model::graph g = model::read_network(digits);
    const shared_bytes *first = nullptr;
    for (const model::tensor &t : g.tensors) {
        if (!t.is_constant)
            continue;
        first = first ? first : &t.data;
        EXPECT_EQ(t.data.owner(), first->owner());
    }
    ASSERT_TRUE(first);
}

TEST(Loading, ReleasedPagesComeBack) {
    const shared_bytes file = model::map_file(digits);
    std::ifstream stream(digits, std::ios::binary);
    const bytes expected{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_EQ(file, expected);
    model::release_pages(file.part(5, file.size() - 5));
    EXPECT_EQ(file, expected);
    const shared_bytes other = bytes{1, 2, 3};
    model::release_pages(other);
    EXPECT_EQ(other, (bytes{1, 2, 3}));
}

/// A plan of which another user could cut the pages that every run reads.
TEST(Loading, FilesThatOthersMayWriteAreCopied) {
    const fs::path file = fs::temp_directory_path() / ("octet_loading_" + std::to_string(getpid()));
    network expected(digits);
    expected.save(file);
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_TRUE(model::is_mapped(model::map_file(file)));
    fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
    EXPECT_FALSE(model::is_mapped(model::map_file(file)));
    network net(file);
    fs::resize_file(file, 0);
    net.run();
    expected.run();
    EXPECT_EQ(net.output().as<std::int8_t>(), expected.output().as<std::int8_t>());
    fs::remove(file);
}

/// The same constants, each at an address that no type wants.
model::graph misaligned(model::graph g) {
    for (model::tensor &t : g.tensors)
        if (t.is_constant) {
            bytes shifted(1);
            shifted.insert(shifted.end(), t.data.begin(), t.data.end());
            t.data = shared_bytes(shifted).part(1, t.data.size());
        }
    return g;
}

TEST(Loading, ConstantsMayLieAnywhere) {
    const model::graph g = model::read_network(digits);
    network expected(g), got(misaligned(g));
    for (network *net : {&expected, &got}) {
        for (std::size_t i = 0; i < net->input().size_in_bytes(); i++)
            static_cast<std::uint8_t *>(net->input().data())[i] = static_cast<std::uint8_t>(i * 37);
        net->run();
    }
    EXPECT_EQ(got.output().as<std::int8_t>(), expected.output().as<std::int8_t>());
}

// ---- Graphs that wait

void expect_equal(const std::vector<model::node> &a, const std::vector<model::node> &b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); i++) {
        EXPECT_EQ(a[i].op, b[i].op);
        EXPECT_EQ(a[i].inputs, b[i].inputs);
        EXPECT_EQ(a[i].outputs, b[i].outputs);
        EXPECT_EQ(a[i].attributes, b[i].attributes);
        EXPECT_EQ(a[i].number, b[i].number);
        EXPECT_EQ(a[i].result_input, b[i].result_input);
        EXPECT_EQ(a[i].stored_input, b[i].stored_input);
        expect_equal(a[i].fused, b[i].fused);
    }
}

TEST(StoredGraphs, GiveBackEveryField) {
    const shared_bytes data = bytes{1, 2, 3, 4};
    model::graph g;
    g.framework = "onnx";
    g.tensors.resize(3);
    g.tensors[0] = {"an input with a long name",
                    data_type::f32,
                    "",
                    {1, -1, 1000000007, 300},
                    {"", "width", "", "n"},
                    true,
                    {},
                    false,
                    false,
                    {}};
    g.tensors[1] = {"",   data_type::s8, "FLOAT16", {4}, {}, false, {{0.5f, 3e-38f}, {-128, 2147483647}, -2},
                    true, false,         data};
    g.tensors[2] = {"state", data_type::u8, "", {}, {}, false, {{1e30f}, {-2147483647 - 1}, 3},
                    false,   true,          {}};
    model::node fused;
    fused.op = "Add";
    fused.inputs = {-1, 0};
    fused.result_input = 1;
    fused.stored_input = 64;
    model::node n{"Conv", {0, 1, -1}, {2}, {}, 1000, {fused, fused}, 3, -1};
    n.attributes = {{"axis", std::int64_t{-1}},
                    {"alpha", 0.25f},
                    {"mode", std::string("SAME")},
                    {"pads", std::vector<std::int64_t>{0, -1, std::int64_t{1} << 62,
                                                       std::numeric_limits<std::int64_t>::min()}}};
    g.nodes = {n, fused};
    g.inputs = {0};
    g.outputs = {2, 1};

    const model::stored_graph stored(g);
    for (int twice = 0; twice < 2; twice++) {
        const model::graph got = stored.get();
        EXPECT_EQ(got.framework, g.framework);
        EXPECT_EQ(got.inputs, g.inputs);
        EXPECT_EQ(got.outputs, g.outputs);
        expect_equal(got.nodes, g.nodes);
        ASSERT_EQ(got.tensors.size(), g.tensors.size());
        for (std::size_t t = 0; t < g.tensors.size(); t++) {
            const model::tensor &a = got.tensors[t], &b = g.tensors[t];
            EXPECT_EQ(a.name, b.name);
            EXPECT_EQ(a.type, b.type);
            EXPECT_EQ(a.foreign_type, b.foreign_type);
            EXPECT_EQ(a.dims, b.dims);
            EXPECT_EQ(a.dim_names, b.dim_names);
            EXPECT_EQ(a.is_channels_last, b.is_channels_last);
            EXPECT_EQ(a.quant.scales, b.quant.scales);
            EXPECT_EQ(a.quant.zero_points, b.quant.zero_points);
            EXPECT_EQ(a.quant.axis, b.quant.axis);
            EXPECT_EQ(a.is_constant, b.is_constant);
            EXPECT_EQ(a.is_variable, b.is_variable);
            EXPECT_EQ(a.data.data(), b.data.data());
            EXPECT_EQ(a.data.size(), b.data.size());
        }
        EXPECT_EQ(got.tensors[1].data.owner(), data.owner());
    }
}

// ---- Memory

/// Bytes of this process in memory: of its own, and of a file that it has mapped.
struct resident {
    explicit resident(const std::string &path) {
        std::ifstream maps("/proc/self/smaps");
        bool is_of_file = false;
        for (std::string line; std::getline(maps, line);) {
            std::istringstream words(line);
            std::string name;
            std::size_t kib = 0;
            words >> name >> kib;
            if (name.back() != ':') // the head of a mapping: its addresses
                is_of_file = line.find(path) != std::string::npos;
            else if (name == "Anonymous:")
                own += kib << 10;
            else if (name == "Rss:" && is_of_file)
                file += kib << 10;
        }
    }
    std::size_t own = 0, file = 0;
};

/// Fully connected layers, each with a bias behind its weights.
bytes many_layers(int layers, std::int32_t width) {
    tflite_builder b;
    const int input = b.s8({1, width}, 0.05f, 3);
    int last = input;
    for (int i = 0; i < layers; i++) {
        const auto weights = static_cast<std::size_t>(width) * static_cast<std::size_t>(width);
        const int w =
            b.constant_s8({width, width}, std::vector<std::int8_t>(weights, static_cast<std::int8_t>(i)),
                          {{0.01f}, {0}, 0});
        const int bias = b.constant({width}, format::TensorType_INT32,
                                    bytes_of(std::vector<std::int32_t>(static_cast<std::size_t>(width), i)),
                                    {{0.0005f}, {0}, 0});
        const int output = b.s8({1, width}, 0.05f, 3);
        b.node(format::BuiltinOperator_FULLY_CONNECTED, {last, w, bias}, {output},
               format::CreateFullyConnectedOptions(b.fbb));
        last = output;
    }
    return b.finish({input}, {last});
}

/// doc/networks.md: beside its buffers little more than its file's size. The bound leaves room for what threads take.
TEST(Loading, TakesLittleMoreMemoryThanTheFile) {
    if (!test::counts_allocations())
        GTEST_SKIP() << "sanitizers have memory of their own";
    const std::string path =
        (std::filesystem::temp_directory_path() / ("octet_loading_" + std::to_string(getpid()) + ".tflite"))
            .string();
    const bytes file = many_layers(60, 256);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(file.data()), static_cast<std::streamsize>(file.size()));
    network(digits).run(); // makes threads and what they keep
    const resident before(path);
    network net(path);
    net.run();
    const resident after(path);
    std::filesystem::remove(path);
    EXPECT_LT(after.file, file.size() / 8); // weights were packed, biases copied
    EXPECT_LT(after.own + after.file, before.own + file.size() * 5 / 4 + (std::size_t{1} << 20));
}

// ---- Packed weights

/// Random weights of a convolution.
struct weights_to_pack {
    weights_to_pack() {
        bytes values(plain.get_size());
        for (std::size_t i = 0; i < values.size(); i++)
            values[i] = static_cast<std::uint8_t>(i * 73 + i / 256);
        original = values;
        const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct,
                                          memory::desc({1, 40, 9, 9}, data_type::u8, format_tag::nhwc),
                                          memory::desc(plain.dims(), data_type::s8, format_tag::any),
                                          memory::desc({1, 70, 7, 7}, data_type::s32, format_tag::nhwc),
                                          {1, 1}, {0, 0}, {0, 0});
        primitive_attr attr;
        attr.set_requantization(requantization_rule::none);
        chosen = convolution_forward::primitive_desc(d, attr, cpu).weights_desc();
    }

    bytes expected() const {
        const memory src = model::constant_memory(plain, original), dst(chosen, cpu);
        stream s(cpu);
        reorder(src, dst).execute(s, src, dst);
        s.wait();
        return bytes_of(dst);
    }
    static bytes bytes_of(const memory &m) {
        const auto *first = static_cast<const std::uint8_t *>(m.get_data_handle());
        return {first, first + m.get_desc().get_size()};
    }

    engine cpu{engine::kind::cpu, 0};
    memory::desc plain{{70, 40, 3, 3}, data_type::s8, format_tag::oihw}, chosen;
    shared_bytes original;
};

TEST(PackedWeights, AreThoseOfTheReorder) {
    const weights_to_pack w;
    const bytes expected = w.expected();
    for (const int threads : {1, 2, 3})
        for (const bool is_immediate : {false, true}) {
            const num_threads_scope scope(threads);
            model::packed_weights shared;
            model::jobs work(is_immediate ? model::jobs::start::at_once : model::jobs::start::at_finish);
            model::packing packing(shared, work, 20 * w.chosen.get_size());
            std::vector<std::shared_ptr<const model::packed_constant>> packed;
            std::vector<shared_bytes> originals(20);
            for (shared_bytes &o : originals) {
                o = w.original.copy();
                packed.push_back(packing.get(o, w.plain, w.chosen));
            }
            EXPECT_EQ(packing.bytes(), 20 * w.chosen.get_size());
            std::vector<double> parts;
            work.finish([&](double part) { parts.push_back(part); });
            EXPECT_EQ(parts.back(), 1);
            EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end()));
            for (const auto &p : packed)
                EXPECT_EQ(w.bytes_of(p->packed), expected);
        }
}

TEST(PackedWeights, AreSharedAsLongAsSomebodyHasThem) {
    const weights_to_pack w;
    model::packed_weights shared;
    const auto get = [&](const shared_bytes &original) {
        model::jobs work;
        model::packing packing(shared, work, 0);
        const auto first = packing.get(original, w.plain, w.chosen);
        EXPECT_EQ(packing.get(original, w.plain, w.chosen), first);
        EXPECT_EQ(packing.bytes(), w.chosen.get_size());
        work.finish();
        packing.share();
        return first;
    };
    auto first = get(w.original);
    EXPECT_EQ(get(w.original), first);
    EXPECT_NE(get(w.original.copy()), first);
    const std::weak_ptr<const model::packed_constant> watch = first;
    first.reset();
    EXPECT_TRUE(watch.expired());
    EXPECT_EQ(w.bytes_of(get(w.original)->packed), w.expected());
}

TEST(PackedWeights, OfAnAbandonedPlanAreForgotten) {
    const weights_to_pack w;
    model::packed_weights shared;
    {
        model::jobs work;
        model::packing packing(shared, work, 0);
        packing.get(w.original, w.plain, w.chosen);
    }
    EXPECT_EQ(shared.find(w.original, w.plain, w.chosen), nullptr);
}

/// More than was expected, too, and as long as somebody has them.
TEST(PackedWeights, HaveMemoryOfTheirOwn) {
    constexpr std::size_t large = std::size_t{5} << 20;
    for (const std::size_t expected : {std::size_t{0}, std::size_t{1000}, large}) {
        std::vector<std::pair<std::shared_ptr<void>, std::size_t>> taken;
        {
            model::weight_memory all(expected);
            for (const std::size_t size :
                 {std::size_t{1}, std::size_t{64}, large / 2, std::size_t{100}, large, large})
                taken.emplace_back(all.take(size), size);
        }
        taken.erase(taken.begin());
        int mark = 0;
        for (const auto &[first, size] : taken) {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.get()) % 64, 0u);
            std::memset(first.get(), ++mark, size);
        }
        mark = 0;
        for (const auto &[first, size] : taken) {
            const auto *begin = static_cast<const std::uint8_t *>(first.get());
            EXPECT_EQ(std::count(begin, begin + size, ++mark), static_cast<std::ptrdiff_t>(size));
        }
    }
}

// ---- Options

TEST(Loading, SaysWhatItDoes) {
    std::vector<double> parts;
    std::vector<std::string> names;
    network_options options;
    options.progress = [&](double part, const std::string &next) {
        parts.push_back(part);
        names.push_back(next);
    };
    const network net(digits, options);
    ASSERT_FALSE(parts.empty());
    EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end()));
    EXPECT_EQ(parts.front(), 0);
    EXPECT_EQ(parts.back(), 1);
    EXPECT_EQ(names.front().rfind("node ", 0), 0u) << names.front();
}

TEST(Loading, EndsWhereTheProgressFunctionThrows) {
    network_options options;
    options.progress = [](double, const std::string &) { throw std::runtime_error("enough"); };
    EXPECT_THROW(network(digits, options), std::runtime_error);
}

TEST(Loading, StaysBelowALimitOfMemoryOrTellsHowMuchItTakes) {
    network_options options;
    options.memory_limit = 1;
    std::string text;
    try {
        network net(digits, options);
    } catch (const error &e) {
        EXPECT_EQ(e.status, status::out_of_memory);
        text = e.what();
    }
    const std::string before = "the network needs ";
    const std::size_t at = text.find(before);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_NE(text.find("allowed by memory_limit are 1"), std::string::npos) << text;
    options.memory_limit = std::stoul(text.substr(at + before.size()));
    EXPECT_NO_THROW(network(digits, options));
    options.memory_limit--;
    EXPECT_THROW(network(digits, options), error);
}

} // namespace
} // namespace octet::tests
