// Steps that are loops: the same bytes on one, two and many threads. A pool runs the ranges of each loop one
// after the other, the last one first, so that a range which needs what another one writes is found, whatever
// machine runs the test.
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

/// Says how many threads it has, counts the loops that it divides, and runs their ranges backwards in the
/// calling thread.
struct backward_pool {
    int threads;
    int divided = 0;

    thread_pool as_pool() {
        return {[](void *pool) { return static_cast<backward_pool *>(pool)->threads; },
                [](void *pool, int count, void (*task)(void *arg, int index), void *arg) {
                    static_cast<backward_pool *>(pool)->divided += count > 1;
                    while (count-- > 0)
                        task(arg, count);
                },
                this};
    }
};

std::vector<std::int32_t> indices(std::int64_t count, std::int32_t below, unsigned seed = 1) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(count));
    for (std::int32_t &v : values) {
        seed = seed * 1664525 + 1013904223;
        v = static_cast<std::int32_t>((seed >> 8) % static_cast<unsigned>(below));
    }
    return values;
}

std::vector<float> floats(const dims &d, unsigned seed = 1) { return numbers(count_of(d), 4.f, seed); }

std::vector<std::int8_t> codes(std::int64_t count) {
    const std::vector<std::int32_t> values = indices(count, 256);
    std::vector<std::int8_t> result;
    for (const std::int32_t v : values)
        result.push_back(static_cast<std::int8_t>(v - 128));
    return result;
}

/// A node with dimensions of n: work for several threads where n is 100, for none where it is 2.
struct kind {
    const char *name;
    one_node (*node)(dim_t n);
};

one_node with_input(const char *op, const dims &d, const char *framework = "onnx") {
    one_node node(op, framework);
    node.input<float>(d, floats(d));
    return node;
}
/// {n, 64} times weights of 4 bits in blocks of 32, four columns for each row.
one_node product_in_blocks(dim_t n, std::int64_t level) {
    return with_input("MatMulNBits", {n, 64})
        .constant<std::uint8_t>({4 * n, 2, 16},
                                std::vector<std::uint8_t>(static_cast<std::size_t>(n) * 128, 0x3a))
        .constant<float>({4 * n, 2}, floats({4 * n, 2}, 2))
        .set("K", std::int64_t{64})
        .set("N", std::int64_t{4 * n})
        .set("block_size", std::int64_t{32})
        .set("accuracy_level", level);
}
one_node reduction(const char *op, const dims &d, const list &axes) {
    one_node node = with_input(op, d);
    node.constant<std::int32_t>({static_cast<dim_t>(axes.size())}, {axes.begin(), axes.end()});
    return node;
}
/// An operator with `gates` gates on a batch of n rows, without bias.
one_node recurrent(const char *op, dim_t gates, dim_t n) {
    one_node node = with_input(op, {2, n, 16});
    return node.constant<float>({1, gates * 64, 16}, floats({gates * 64, 16}, 2))
        .constant<float>({1, gates * 64, 64}, floats({gates * 64, 64}, 3));
}
one_node resize(const char *mode, dim_t n) {
    one_node node = with_input("Resize", {2, 3, n, n});
    const std::vector<float> scales = {1.f, 1.f, 2.f, 1.5f};
    return node.constant<float>({0}, std::vector<float>())
        .constant<float>({4}, scales)
        .set("mode", std::string(mode));
}
one_node scatter(const char *how, dim_t n) {
    one_node node = with_input("ScatterElements", {n, n, 16});
    return node.input<std::int32_t>({n, n, 8}, indices(n * n * 8, 16))
        .input<float>({n, n, 8}, floats({n, n, 8}, 2))
        .set("axis", std::int64_t{2})
        .set("reduction", std::string(how));
}
one_node skip_normalization(const char *op, dim_t n) {
    one_node node = with_input(op, {3, n, 64});
    return node.input<float>({3, n, 64}, floats({3, n, 64}, 2)).constant<float>({64}, floats({64}, 3));
}

one_node group_query_attention(dim_t n) {
    one_node node = with_input("GroupQueryAttention", {1, n, 64});
    return node.input<float>({1, n, 32}, floats({1, n, 32}, 2))
        .input<float>({1, n, 32}, floats({1, n, 32}, 3))
        .input<float>({1, 2, 5, 16}, floats({1, 2, 5, 16}, 4))
        .input<float>({1, 2, 5, 16}, floats({1, 2, 5, 16}, 5))
        .constant<std::int32_t>({1}, {static_cast<std::int32_t>(n + 4)})
        .constant<std::int32_t>({}, {static_cast<std::int32_t>(n + 5)})
        .set("num_heads", std::int64_t{4})
        .set("kv_num_heads", std::int64_t{2})
        .output()
        .output()
        .output();
}

const kind kinds[] = {
    {"ArgMax",
     [](dim_t n) {
         return with_input("ArgMax", {n, n, 9}).set("axis", std::int64_t{1});
     }},
    {"Cast",
     [](dim_t n) {
         return with_input("Cast", {n, n, 9}).set("to", std::int64_t{6});
     }},
    {"Clip",
     [](dim_t n) {
         return one_node("Clip")
             .input<std::int32_t>({n, n, 9}, indices(n * n * 9, 100))
             .constant<std::int32_t>({}, {10})
             .constant<std::int32_t>({}, {50});
     }},
    {"ConvTranspose of a pixel",
     [](dim_t n) {
         return with_input("ConvTranspose", {1, n, 1, 1})
             .input<float>({n, 2 * n, 3, 3}, floats({n, 2 * n, 3, 3}, 2));
     }},
    {"CumSum",
     [](dim_t n) {
         return with_input("CumSum", {n, n, 9}).constant<std::int32_t>({1}, {1});
     }},
    {"DequantizeLinear in blocks",
     [](dim_t n) {
         const std::vector<std::int32_t> codes = indices(n * n * 8, 256);
         return one_node("DequantizeLinear")
             .input<std::uint8_t>({n, n * 8}, {codes.begin(), codes.end()})
             .input<float>({n, n}, floats({n, n}))
             .set("axis", std::int64_t{1})
             .set("block_size", std::int64_t{8});
     }},
    {"DynamicQuantizeLinear",
     [](dim_t n) {
         return with_input("DynamicQuantizeLinear", {n, n, 9})
             .output(data_type::u8)
             .output(data_type::f32)
             .output(data_type::u8);
     }},
    {"EmbedLayerNormalization",
     [](dim_t n) {
         return one_node("EmbedLayerNormalization")
             .input<std::int32_t>({3, n}, indices(3 * n, 50))
             .input<std::int32_t>({3, n}, indices(3 * n, 2))
             .constant<float>({50, 64}, floats({50, 64}))
             .constant<float>({n, 64}, floats({n, 64}, 2))
             .constant<float>({2, 64}, floats({2, 64}, 3))
             .constant<float>({64}, floats({64}, 4))
             .constant<float>({64}, floats({64}, 5));
     }},
    {"Equal",
     [](dim_t n) {
         return with_input("Equal", {n, n, 9}).input<float>({n, 1, 9}, floats({n, 1, 9}));
     }},
    {"Expand",
     [](dim_t n) {
         return with_input("Expand", {n, 1, 9})
             .constant<std::int32_t>({3}, {static_cast<std::int32_t>(n), static_cast<std::int32_t>(n), 9});
     }},
    {"Gather",
     [](dim_t n) {
         return with_input("Gather", {n, 64}).input<std::int32_t>({n * 10}, indices(n * 10, 2));
     }},
    {"GatherElements",
     [](dim_t n) {
         return with_input("GatherElements", {n, n, 9}).input<std::int32_t>({n, n, 9}, indices(n * n * 9, 2));
     }},
    {"GatherND",
     [](dim_t n) {
         return with_input("GatherND", {n, n, 9}).input<std::int32_t>({n * n, 2}, indices(n * n * 2, 2));
     }},
    {"Gemm with a factor",
     [](dim_t n) {
         return with_input("Gemm", {n, n})
             .input<float>({n, 8 * n}, floats({n, 8 * n}, 2))
             .input<float>({8 * n}, floats({8 * n}, 3))
             .set("alpha", 0.5f);
     }},
    {"GroupQueryAttention", group_query_attention},
    {"GRU", [](dim_t n) { return recurrent("GRU", 3, n); }},
    {"InstanceNormalization",
     [](dim_t n) {
         return with_input("InstanceNormalization", {3, n, 9, 9})
             .constant<float>({n}, floats({n}, 2))
             .constant<float>({n}, floats({n}, 3));
     }},
    {"L2_NORMALIZATION",
     [](dim_t n) {
         return one_node("L2_NORMALIZATION", "tflite")
             .input({n, n * 2}, codes(n * n * 2), 0.1f, 3)
             .output(data_type::s8, 1.f / 128, 0);
     }},
    {"LRN",
     [](dim_t n) {
         return with_input("LRN", {2, 3, n, n}).set("size", std::int64_t{3});
     }},
    {"LSTM", [](dim_t n) { return recurrent("LSTM", 4, n); }},
    {"LayerNormalization by a scale for each row",
     [](dim_t n) {
         return with_input("LayerNormalization", {n, n, 9}).input<float>({n, 1, 9}, floats({n, 1, 9}, 2));
     }},
    {"MatMulNBits of codes", [](dim_t n) { return product_in_blocks(n, 4); }},
    {"MatMulNBits of floats", [](dim_t n) { return product_in_blocks(n, 0); }},
    {"GatherBlockQuantized",
     [](dim_t n) {
         return one_node("GatherBlockQuantized")
             .constant<std::uint8_t>({2, 64}, std::vector<std::uint8_t>(128, 0x3a))
             .input<std::int32_t>({n * 10}, indices(n * 10, 2))
             .constant<float>({2, 4}, floats({2, 4}))
             .set("block_size", std::int64_t{32});
     }},
    {"MatMul of a row",
     [](dim_t n) {
         return with_input("MatMul", {n}).input<float>({n, 9 * n}, floats({n, 9 * n}, 2));
     }},
    {"MatMul of a column",
     [](dim_t n) {
         return with_input("MatMul", {9 * n, n}).input<float>({n}, floats({n}, 2));
     }},
    {"Max",
     [](dim_t n) {
         return with_input("Max", {n, n, 9}).input<float>({n, n, 9}, floats({n, n, 9}, 2));
     }},
    {"OneHot",
     [](dim_t n) {
         return one_node("OneHot")
             .input<std::int32_t>({n, n}, indices(n * n, 9))
             .constant<std::int32_t>({1}, {9})
             .constant<float>({2}, {0.f, 1.f});
     }},
    {"Pad by reflection",
     [](dim_t n) {
         return with_input("Pad", {n, n, 9})
             .set("mode", std::string("reflect"))
             .constant<std::int32_t>({6}, {1, 1, 2, 0, 1, 3});
     }},
    {"Pow",
     [](dim_t n) {
         return with_input("Pow", {n, n}).input<float>({n, n}, floats({n, n}, 2));
     }},
    {"ReduceL2 of columns",
     [](dim_t n) {
         return reduction("ReduceL2", {n, n, 9}, {0});
     }},
    {"ReduceLogSumExp",
     [](dim_t n) {
         return reduction("ReduceLogSumExp", {n, n, 9}, {1});
     }},
    {"ReduceMax of rows",
     [](dim_t n) {
         return reduction("ReduceMax", {n, n, 9}, {2});
     }},
    {"ReduceMax of the first",
     [](dim_t n) {
         return reduction("ReduceMax", {9, n, n}, {0});
     }},
    {"ReduceMax of the middle",
     [](dim_t n) {
         return reduction("ReduceMax", {9, n, n}, {1});
     }},
    {"ReduceMax of both ends",
     [](dim_t n) {
         return reduction("ReduceMax", {9, n, n}, {0, 2});
     }},
    {"ReduceMax in order",
     [](dim_t n) {
         return reduction("ReduceMax", {n, 3, n, 3}, {1, 3});
     }},
    {"ReduceMin of all but the second",
     [](dim_t n) {
         return reduction("ReduceMin", {3, n, 3, n}, {0, 2, 3});
     }},
    {"ReduceSum of both ends",
     [](dim_t n) {
         return reduction("ReduceSum", {9, n, n}, {0, 2});
     }},
    {"ReduceSum in order",
     [](dim_t n) {
         return reduction("ReduceSum", {3, n, 3, n}, {0, 2});
     }},
    {"ReduceSum of integers",
     [](dim_t n) {
         return one_node("ReduceSum")
             .input<std::int32_t>({n, n, 9}, indices(n * n * 9, 100))
             .constant<std::int32_t>({1}, {1});
     }},
    {"RNN", [](dim_t n) { return recurrent("RNN", 1, n); }},
    {"Resize to the nearest", [](dim_t n) { return resize("nearest", n); }},
    {"Resize linearly", [](dim_t n) { return resize("linear", n); }},
    {"Resize by cubic weights", [](dim_t n) { return resize("cubic", n); }},
    {"RotaryEmbedding",
     [](dim_t n) {
         return with_input("RotaryEmbedding", {1, n, 256})
             .constant<std::int32_t>({1}, {0})
             .constant<float>({100, 32}, floats({100, 32}, 2))
             .constant<float>({100, 32}, floats({100, 32}, 3));
     }},
    {"RSQRT",
     [](dim_t n) {
         return one_node("RSQRT", "tflite")
             .input({n, n * 9}, codes(n * n * 9), 0.5f, -128)
             .output(data_type::s8, 0.1f, 0);
     }},
    {"ScatterElements", [](dim_t n) { return scatter("none", n); }},
    {"ScatterElements of sums", [](dim_t n) { return scatter("add", n); }},
    {"ScatterND",
     [](dim_t n) {
         return with_input("ScatterND", {n, n, 9})
             .input<std::int32_t>({40, 1}, indices(40, 2))
             .input<float>({40, n, 9}, floats({40, n, 9}, 2));
     }},
    {"SimplifiedLayerNormalization",
     [](dim_t n) {
         return with_input("SimplifiedLayerNormalization", {n, n, 9}).constant<float>({9}, floats({9}, 2));
     }},
    {"SkipLayerNormalization", [](dim_t n) { return skip_normalization("SkipLayerNormalization", 3 * n); }},
    {"SkipSimplifiedLayerNormalization",
     [](dim_t n) { return skip_normalization("SkipSimplifiedLayerNormalization", 3 * n); }},
    {"Slice by steps",
     [](dim_t n) {
         return with_input("Slice", {n, n, 9})
             .constant<std::int32_t>({1}, {8})
             .constant<std::int32_t>({1}, {-10})
             .constant<std::int32_t>({1}, {2})
             .constant<std::int32_t>({1}, {-1});
     }},
    {"Sum",
     [](dim_t n) {
         return with_input("Sum", {n, n, 9})
             .input<float>({n, 1, 9}, floats({n, 1, 9}, 2))
             .input<float>({9}, floats({9}, 3));
     }},
    {"TopK of many",
     [](dim_t n) {
         return with_input("TopK", {n, n, 5}).set("axis", std::int64_t{1}).constant<std::int32_t>({1}, {2});
     }},
    {"TopK of one",
     [](dim_t n) { return with_input("TopK", {20 * n * n}).constant<std::int32_t>({1}, {9}); }},
    {"Trilu",
     [](dim_t n) {
         return with_input("Trilu", {9, n, n});
     }},
    {"Where",
     [](dim_t n) {
         const std::vector<std::int32_t> choices = indices(n * n, 2);
         return one_node("Where")
             .input<std::uint8_t>({n, n, 1}, {choices.begin(), choices.end()})
             .input<float>({n, n, 9}, floats({n, n, 9}))
             .input<float>({9}, floats({9}, 2));
     }},
};

/// Bytes of all outputs, with the loops of `pool` unless it is null.
std::vector<std::uint8_t> run_on(const one_node &node, backward_pool *pool) {
    network net(node.graph, node.options);
    for (const auto &fill : node.fill)
        fill(net);
    set_thread_pool(pool ? pool->as_pool() : thread_pool());
    net.run();
    set_thread_pool({});
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < node.graph.outputs.size(); i++) {
        const auto *data = static_cast<const std::uint8_t *>(net.output(i).data());
        bytes.insert(bytes.end(), data, data + net.output(i).size_in_bytes());
    }
    return bytes;
}

one_node made(const kind &k, dim_t n) {
    one_node node = k.node(n);
    while (node.graph.outputs.empty() ||
           (std::string(k.name).find("TopK") == 0 && node.graph.outputs.size() < 2))
        node.output();
    infer_shapes(node.graph);
    return node;
}

class StepThreads : public testing::TestWithParam<kind> {};

TEST_P(StepThreads, GiveTheSameBytes) {
    std::optional<num_threads_scope> scope(1);
    const one_node node = made(GetParam(), 100), small = made(GetParam(), 2);
    const std::vector<std::uint8_t> alone = run_on(node, nullptr), small_alone = run_on(small, nullptr);
    for (const int threads : {2, 3, 16}) {
        scope.emplace(1);
        backward_pool pool{threads}, unused{threads};
        EXPECT_EQ(run_on(node, &pool), alone) << threads << " threads";
        EXPECT_GT(pool.divided, 0) << "the step runs on one thread";
        EXPECT_EQ(run_on(small, &unused), small_alone) << threads << " threads, small";
        EXPECT_EQ(unused.divided, 0) << "a small step is divided";
        scope.emplace(threads);
        EXPECT_EQ(run_on(node, nullptr), alone) << threads << " threads of the library's";
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, StepThreads, testing::ValuesIn(kinds), [](const auto &kind) {
    std::string name = kind.param.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
});

} // namespace
} // namespace octet::tests
