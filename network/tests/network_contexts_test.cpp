// A network in a server: contexts in several threads, buffers of its own, other sizes, floats in and out.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "octet/network.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

using test::refusal;

model::tensor codes(const char *name, const memory::dims &dims, float scale = 0.5f,
                    std::int32_t zero_point = 1) {
    model::tensor t;
    t.name = name;
    t.type = data_type::s8;
    t.dims = dims;
    t.quant = {{scale}, {zero_point}, 0};
    return t;
}

model::tensor constant(const char *name, data_type type, const memory::dims &dims,
                       const std::vector<std::uint8_t> &bytes) {
    model::tensor t;
    t.name = name;
    t.type = type;
    t.dims = dims;
    t.is_constant = true;
    t.data = bytes;
    return t;
}

std::vector<std::uint8_t> random_bytes(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t &b : bytes)
        b = static_cast<std::uint8_t>(random());
    return bytes;
}

template <typename T> std::vector<std::uint8_t> bytes_of(const std::vector<T> &values) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

/// Convolution 3x3, 8 -> 70 channels, average pooling over 2x2, mean over the image, RESHAPE.
model::graph image_graph(dim_t h, dim_t w, dim_t batch = 1) {
    const dim_t ph = h / 2, pw = w / 2;
    model::graph g;
    g.framework = "tflite";
    g.tensors = {codes("image", {batch, h, w, 8}),
                 constant("weights", data_type::s8, {70, 3, 3, 8}, random_bytes(70 * 72, 1)),
                 codes("convolved", {batch, h, w, 70}, 8.f, -3),
                 codes("pooled", {batch, ph, pw, 70}, 8.f, -3),
                 constant("axes", data_type::s32, {2}, bytes_of<std::int32_t>({1, 2})),
                 codes("mean", {batch, 70}, 4.f, 2),
                 codes("scores", {batch, 7, 10}, 4.f, 2)};
    g.tensors[1].quant = {{0.02f}, {0}, 0};
    const auto number = [](std::int64_t v) { return model::attribute(v); };
    g.nodes = {{"CONV_2D",
                {0, 1},
                {2},
                {{"padding", std::string("SAME")}, {"stride_h", number(1)}, {"stride_w", number(1)}}},
               {"AVERAGE_POOL_2D",
                {2},
                {3},
                {{"padding", std::string("VALID")},
                 {"stride_h", number(2)},
                 {"stride_w", number(2)},
                 {"filter_h", number(2)},
                 {"filter_w", number(2)}}},
               {"MEAN", {3, 4}, {5}, {{"keep_dims", number(0)}}},
               {"RESHAPE", {5}, {6}, {{"new_shape", std::vector<std::int64_t>{-1, 7, 10}}}}};
    g.inputs = {0};
    g.outputs = {6, 3};
    return g;
}

std::vector<std::int8_t> image_of(const network &net, unsigned seed) {
    const std::vector<std::uint8_t> bytes = random_bytes(net.input().element_count(), seed);
    return {bytes.begin(), bytes.end()};
}

std::vector<std::int8_t> scores_of(network &net, unsigned seed) {
    net.input().copy_from(image_of(net, seed));
    net.run();
    return net.output(0).as<std::int8_t>();
}

TEST(NetworkContexts, RunInManyThreadsAtOnce) {
    network net(image_graph(9, 12));
    std::vector<std::vector<std::int8_t>> expected;
    for (unsigned seed = 0; seed < 8; seed++)
        expected.push_back(scores_of(net, seed));
    EXPECT_NE(expected[0], expected[1]);
    std::vector<std::thread> threads;
    std::array<int, 4> differing{};
    for (std::size_t t = 0; t < differing.size(); t++)
        threads.emplace_back([&, t] {
            network own = net.new_context();
            for (int repeat = 0; repeat < 20; repeat++)
                for (unsigned seed = 0; seed < 8; seed++)
                    differing[t] += scores_of(own, seed) != expected[seed];
        });
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(differing, (std::array<int, 4>{}));
}

/// Threads at once: one uses the network, others make contexts of it and use those.
TEST(NetworkContexts, AreMadeWhileTheNetworkGetsOtherSizes) {
    network net(image_graph(9, 12));
    std::map<dim_t, std::vector<std::int8_t>> expected;
    for (const dim_t batch : {1, 2, 5}) {
        net.resize({batch, {}, {}});
        expected[batch] = scores_of(net, 3);
    }
    std::atomic<int> differing{0};
    const auto work = [&](network own, unsigned seed) {
        std::mt19937 random(seed);
        constexpr dim_t batches[] = {1, 2, 5};
        for (int repeat = 0; repeat < 50; repeat++) {
            const dim_t batch = batches[random() % 3];
            own.resize({batch, {}, {}});
            differing += scores_of(own, 3) != expected[batch];
            differing += own.weight_bytes() == 0;
        }
    };
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 3; seed++)
        threads.emplace_back([&, seed] {
            for (int repeat = 0; repeat < 5; repeat++)
                work(net.new_context(), seed);
        });
    for (int repeat = 0; repeat < 200; repeat++)
        for (const auto &[batch, scores] : expected) {
            net.resize({batch, {}, {}});
            differing += scores_of(net, 3) != scores;
        }
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(differing, 0);
}

TEST(NetworkContexts, OutliveTheNetworkThatMadeThem) {
    auto first = std::make_unique<network>(image_graph(9, 12));
    const std::vector<std::int8_t> expected = scores_of(*first, 5);
    network second = first->new_context();
    first.reset();
    EXPECT_EQ(scores_of(second, 5), expected);
}

TEST(NetworkContexts, HaveTheThreadsOfTheirOptions) {
    const int of_process = get_num_threads();
    const auto scores = [](int threads) {
        network_options options;
        options.threads = threads;
        network net(image_graph(30, 30), options);
        return scores_of(net, 1);
    };
    EXPECT_EQ(scores(1), scores(3));
    EXPECT_EQ(get_num_threads(), of_process);
    EXPECT_NE(refusal([&] { scores(-1); }).find("threads is -1"), std::string::npos);
}

TEST(NetworkContexts, BindBuffersOfTheCaller) {
    network net(image_graph(9, 12));
    const std::vector<std::int8_t> expected = scores_of(net, 3), pooled = net.output(1).as<std::int8_t>();
    const std::vector<std::int8_t> image = image_of(net, 3);
    std::vector<std::int8_t> scores(expected.size()), other(pooled.size());
    net.input().copy_from(std::vector<std::int8_t>(image.size())); // not what is used
    net.bind_input(0, image.data(), image.size());
    net.bind_output(0, scores.data(), scores.size());
    net.bind_output(1, other.data(), other.size());
    EXPECT_EQ(net.input().data(), image.data());
    net.run();
    EXPECT_EQ(scores, expected);
    EXPECT_EQ(other, pooled);
    EXPECT_EQ(net.output(0).data(), scores.data());

    net.bind_input(0, nullptr, 0);
    net.bind_output(0, nullptr, 0);
    EXPECT_NE(net.output(0).data(), scores.data());
    const std::vector<std::int8_t> before = scores;
    EXPECT_NE(scores_of(net, 4), before);
    EXPECT_EQ(scores, before);
}

TEST(NetworkContexts, RefuseBuffersThatDoNotFit) {
    network net(image_graph(4, 4));
    std::vector<std::int8_t> bytes(4 * 4 * 8);
    EXPECT_EQ(refusal([&] { net.bind_input(0, bytes.data(), 5); }),
              "buffer of 'image': 5 bytes are given, allowed is 128");
    EXPECT_EQ(refusal([&] { net.bind_input(1, bytes.data(), 5); }), "input 1: the network has 1 ('image')");
    net.bind_input(0, bytes.data(), bytes.size());
    EXPECT_EQ(refusal([&] { net.bind_output(0, bytes.data() + 58, 70); }),
              "buffer of 'scores': it shares bytes with that of 'image'");
    net.run(); // still with its own output
}

TEST(NetworkContexts, BindAllBuffersAtOnce) {
    network net(image_graph(9, 12));
    const std::vector<std::int8_t> expected = scores_of(net, 3), pooled = net.output(1).as<std::int8_t>();
    const std::vector<std::int8_t> image = image_of(net, 3);
    std::vector<std::int8_t> scores(expected.size()), other(pooled.size());
    net.bind({{image.data(), image.size()}}, {{scores.data(), scores.size()}, {other.data(), other.size()}});
    net.run();
    EXPECT_EQ(scores, expected);
    EXPECT_EQ(other, pooled);
    // Earlier bindings do not count: places may be exchanged, and one of them given up.
    std::vector<std::int8_t> both(scores.size() + other.size());
    net.bind({{image.data(), image.size()}}, {{both.data(), scores.size()}, {}});
    net.bind({{image.data(), image.size()}},
             {{both.data() + other.size(), scores.size()}, {both.data(), other.size()}});
    net.run();
    EXPECT_TRUE(std::equal(pooled.begin(), pooled.end(), both.begin()));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), both.begin() + pooled.size()));

    EXPECT_EQ(refusal([&] {
                  net.bind({}, {{}, {}});
              }),
              "0 buffers of inputs are given, allowed are 1, one each");
    EXPECT_EQ(refusal([&] {
                  net.bind({{image.data(), image.size()}},
                           {{both.data(), scores.size()}, {both.data(), other.size()}});
              }),
              "buffer of '" + net.output(1).name() + "': it shares bytes with that of 'scores'");
    EXPECT_EQ(net.output(1).data(), both.data()); // as before
    net.bind();
    EXPECT_NE(net.output(1).data(), both.data());
    EXPECT_NE(net.input().data(), image.data());
}

TEST(NetworkContexts, SaveToMemory) {
    network net(image_graph(9, 12));
    const std::vector<std::uint8_t> bytes = net.save();
    network again(model::read_saved(bytes.data(), bytes.size(), "bytes"));
    EXPECT_EQ(scores_of(again, 5), scores_of(net, 5));
    EXPECT_NE(refusal([&] { model::read_saved(bytes.data(), bytes.size() - 1, "bytes"); }).find("bytes: "),
              std::string::npos);
    EXPECT_EQ(refusal([&] { model::read_saved("no plan", 7, "bytes"); }), "bytes: is no saved plan");
}

/// Copies of the constants, which the graph borrows from now on.
std::vector<std::vector<std::uint8_t>> lend_constants(model::graph &g) {
    std::vector<std::vector<std::uint8_t>> lent;
    for (model::tensor &t : g.tensors)
        if (t.is_constant) {
            lent.push_back(t.data.copy());
            t.data =
                model::borrowed(lent.back().data(), lent.back().size()); // moving the vector moves no bytes
        }
    return lent;
}

/// The lender's bytes are overwritten as soon as the network is there.
TEST(NetworkContexts, NeedBorrowedConstantsNoLonger) {
    const model::graph own = image_graph(9, 12);
    network expected(own);
    model::graph g = own;
    std::vector<std::vector<std::uint8_t>> lent = lend_constants(g);
    network net(std::move(g));
    for (auto &constant : lent)
        std::fill(constant.begin(), constant.end(), std::uint8_t{0x55});
    EXPECT_EQ(scores_of(net, 3), scores_of(expected, 3));
    network context = net.new_context();
    EXPECT_EQ(scores_of(context, 4), scores_of(expected, 4));
    const std::string gone = "the network was made with borrowed constants, which are gone: it cannot ";
    EXPECT_EQ(refusal([&] { net.save(); }), gone + "be saved");
    EXPECT_EQ(refusal([&] { net.resize({2}); }), gone + "have other sizes");
}

/// Names for open sizes promise that there will be others: weights are unpacked for them.
TEST(NetworkContexts, UnpackBorrowedConstantsForOtherSizes) {
    model::graph own = image_graph(9, 12);
    for (const int t : own.inputs)
        own.tensors[static_cast<std::size_t>(t)].dim_names = {"batch", "", "", ""};
    model::graph g = own;
    std::vector<std::vector<std::uint8_t>> lent = lend_constants(g);
    network net(std::move(g)), expected(own);
    const std::size_t bytes = net.weight_bytes();
    net.resize({2}); // while they are there
    EXPECT_EQ(net.weight_bytes(), bytes) << "plans share what they copy";
    net.forget_borrowed();
    for (auto &constant : lent)
        std::fill(constant.begin(), constant.end(), std::uint8_t{0x55});
    for (const dim_t batch : {1, 3, 2, 3, 1}) {
        net.resize({batch}), expected.resize({batch});
        EXPECT_EQ(scores_of(net, 3), scores_of(expected, 3)) << batch;
    }
    network context = net.new_context();
    context.resize({4}), expected.resize({4});
    EXPECT_EQ(scores_of(context, 4), scores_of(expected, 4));
}

/// An output that is a view of the input, and one that is written twice, cannot lie in bytes of their own.
TEST(NetworkContexts, CopyOutputsThatShareTheirBytes) {
    model::graph g;
    g.framework = "tflite";
    g.tensors = {codes("x", {2, 3}), codes("view", {6})};
    g.nodes = {{"RESHAPE", {0}, {1}, {}}};
    g.inputs = {0};
    g.outputs = {1};
    network net(g);
    const std::vector<std::int8_t> values = {1, 2, 3, 4, 5, 6};
    std::vector<std::int8_t> result(6);
    net.bind_input(0, values.data(), values.size());
    net.bind_output(0, result.data(), result.size());
    net.run();
    EXPECT_EQ(result, values);
}

/// A tensor that is an output twice, and an input that is one, are written to every buffer.
TEST(NetworkContexts, CopyOutputsToAllTheirBuffers) {
    model::graph g;
    g.framework = "tflite";
    g.tensors = {codes("x", {6}), codes("y", {6})};
    g.nodes = {{"RELU", {0}, {1}, {}}};
    g.inputs = {0};
    g.outputs = {1, 0, 1, 0};
    network net(g);
    const std::vector<std::int8_t> values = {1, 2, 3, 4, 5, 6};
    net.input().copy_from(values);
    net.run();
    const std::vector<std::int8_t> expected = net.output(0).as<std::int8_t>();
    std::vector<std::vector<std::int8_t>> results(4, std::vector<std::int8_t>(6));
    net.bind_input(0, values.data(), values.size());
    for (std::size_t i = 0; i < results.size(); i++)
        net.bind_output(i, results[i].data(), results[i].size());
    EXPECT_EQ(net.input().data(), values.data());
    net.run();
    for (std::size_t i = 0; i < results.size(); i++)
        EXPECT_EQ(results[i], i % 2 == 0 ? expected : values) << i;
}

TEST(NetworkContexts, TakeOtherSizes) {
    network net(image_graph(9, 12));
    const std::vector<std::int8_t> first = scores_of(net, 7);
    for (const auto &[h, w, batch] : {std::array<dim_t, 3>{20, 11, 1}, {8, 8, 3}, {33, 2, 2}}) {
        network made(image_graph(h, w, batch));
        network_sizes sizes;
        if (batch == 2) // either way
            sizes = {batch, {{"image", {1, h, w, 8}}}, {}};
        else
            sizes.shapes["image"] = {batch, h, w, 8};
        net.resize(sizes);
        EXPECT_EQ(net.output(1).dims(), made.output(1).dims());
        EXPECT_EQ(scores_of(net, 7), scores_of(made, 7)) << h << "x" << w;
    }
    net.resize({});
    EXPECT_EQ(scores_of(net, 7), first);
}

TEST(NetworkContexts, StayAsTheyWereWhenSizesDoNotFit) {
    network net(image_graph(9, 12));
    const std::vector<std::int8_t> before = scores_of(net, 7);
    const auto sizes = [&](const memory::dims &dims) {
        return refusal([&] { net.resize({0, {{"image", dims}}, {}}); });
    };
    EXPECT_EQ(sizes({1, 9, 12}), "shape 1x9x12 of input 'image': it has 3 dimensions, allowed is 4");
    EXPECT_EQ(sizes({1, -1, 12, 8}), "shape 1x-1x12x8 of input 'image': allowed are dimensions of 0 or more");
    EXPECT_NE(sizes({1, 0, 12, 8}), "");
    EXPECT_EQ(sizes({1, 1, 12, 8}), "node 1 (AVERAGE_POOL_2D): a window of 2 elements does not fit into 1");
    EXPECT_NE(sizes({1, 9, 12, 7}), "");
    EXPECT_EQ(refusal([&] {
                  net.resize({0, {{"picture", {1}}}, {}});
              }),
              "shape of 'picture': the network's inputs are 'image'");
    EXPECT_EQ(refusal([&] {
                  net.resize({0, {}, {{"n", 2}}});
              }),
              "dimension 'n': no input has a dimension of this name");
    EXPECT_EQ(scores_of(net, 7), before);

    model::graph g = image_graph(9, 12);
    g.tensors[static_cast<std::size_t>(g.inputs[0])].dim_names = {"n", "", "", ""};
    network named(g);
    EXPECT_EQ(refusal([&] {
                  named.resize({0, {{"image", {2, 9, 12, 8}}}, {{"n", 3}}});
              }),
              "dimension 'n' is 3, but shape 2x9x12x8 of input 'image' has 2 there");
    named.resize({0, {{"image", {2, 9, 12, 8}}}, {{"n", 2}}});
    EXPECT_EQ(named.input().dims(), (memory::dims{2, 9, 12, 8}));
}

TEST(NetworkContexts, FloatsBecomeCodesAsTheFrameworkMakesThem) {
    const std::vector<float> reals = {0.25f, -0.25f, 0.75f, -0.75f, 1e9f, -1e9f, 0.26f, -3.f};
    for (const bool is_onnx : {false, true}) {
        model::graph g;
        g.framework = is_onnx ? "onnx" : "tflite";
        g.tensors = {codes("x", {8}), codes("y", {8})};
        if (is_onnx)
            g.nodes = {{"Identity", {0}, {1}, {}}};
        else
            g.nodes = {{"RESHAPE", {0}, {1}, {}}};
        g.inputs = {0};
        g.outputs = {1};
        network net(g);
        net.input().copy_from(reals);
        net.run();
        // Halves: away from zero, or to even; then the zero point of 1.
        EXPECT_EQ(net.output().as<std::int8_t>(),
                  is_onnx ? (std::vector<std::int8_t>{1, 1, 3, -1, 127, -128, 2, -5})
                          : (std::vector<std::int8_t>{2, 0, 3, -1, 127, -128, 2, -5}));
        EXPECT_EQ(net.output().as<float>().back(), -3.f);
    }
}

TEST(NetworkContexts, TakeWideIntegersThatFit) {
    model::graph g;
    g.framework = "onnx";
    model::tensor x = codes("ids", {3}), y = codes("y", {3});
    for (model::tensor *t : {&x, &y}) {
        t->type = data_type::s32;
        t->quant = {};
    }
    g.tensors = {x, y};
    g.nodes = {{"Identity", {0}, {1}, {}}};
    g.inputs = {0};
    g.outputs = {1};
    network net(g);
    net.input().copy_from(std::vector<std::int64_t>{-5, 0, 2147483647});
    net.run();
    EXPECT_EQ(net.output().as<std::int32_t>(), (std::vector<std::int32_t>{-5, 0, 2147483647}));
    EXPECT_EQ(refusal([&] {
                  net.input().copy_from(std::vector<std::int64_t>{1, 2147483648, 3});
              }),
              "tensor 0 ('ids') s32 3: element 1 is 2147483648, allowed are 32-bit integers");
    EXPECT_EQ(net.input().as<std::int32_t>()[0], -5);
}

TEST(NetworkContexts, OnnxOperatorsNameTheScalesOfTensors) {
    model::graph g;
    g.framework = "onnx";
    const auto plain = [](const char *name, const memory::dims &dims) {
        model::tensor t = codes(name, dims);
        t.quant = {};
        return t;
    };
    g.tensors = {plain("x", {1, 6}),
                 plain("moved", {6}),
                 plain("y", {6}),
                 constant("x_scale", data_type::f32, {}, bytes_of<float>({0.5f})),
                 constant("zero", data_type::s8, {}, {1}),
                 constant("y_scale", data_type::f32, {}, bytes_of<float>({0.25f})),
                 constant("shape", data_type::s32, {1}, bytes_of<std::int32_t>({6}))};
    g.nodes = {{"Reshape", {0, 6}, {1}, {}}, {"QLinearLeakyRelu", {1, 3, 4, 5, 4}, {2}, {{"alpha", 0.5f}}}};
    g.inputs = {0};
    g.outputs = {2};
    network net(g);
    EXPECT_EQ(net.input().quantization().scales, std::vector<float>{0.5f});
    EXPECT_EQ(net.input().quantization().zero_points, std::vector<std::int32_t>{1});
    net.input().copy_from(std::vector<float>{1, 2, 3, -1, -2, -4});
    net.run();
    EXPECT_EQ(net.output().as<float>(), (std::vector<float>{1, 2, 3, -0.5f, -1, -2}));
}

} // namespace
} // namespace octet::tests
