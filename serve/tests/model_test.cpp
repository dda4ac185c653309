// Models by themselves: what may be batched, configurations, and answers that do not depend on company.
// SPDX-License-Identifier: Apache-2.0
#include "core/model.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <unistd.h>

#include "demo.hpp"
#include "support/expect_error.hpp"

namespace octet::serve {
namespace {

/// x → op → y in f32, with attributes and constants of s32.
struct little_graph {
    model::graph g;

    explicit little_graph(const memory::dims &x, const memory::dims &y, const std::string &op) {
        g.framework = "onnx";
        add("x", x);
        add("y", y);
        g.inputs = {0};
        g.outputs = {1};
        g.nodes.push_back({op, {0}, {1}, {}});
    }
    int add(const std::string &name, const memory::dims &dims) {
        model::tensor t;
        t.name = name;
        t.type = data_type::f32;
        t.dims = dims;
        g.tensors.push_back(t);
        return static_cast<int>(g.tensors.size()) - 1;
    }
    little_graph &integers(const std::vector<std::int32_t> &values) {
        const int t = add("integers", {static_cast<dim_t>(values.size())});
        model::tensor &c = g.tensors.back();
        c.type = data_type::s32;
        c.is_constant = true;
        const auto *bytes = reinterpret_cast<const std::uint8_t *>(values.data());
        c.data = std::vector<std::uint8_t>(bytes, bytes + 4 * values.size());
        g.nodes[0].inputs.push_back(t);
        return *this;
    }
    little_graph &with(const std::string &name, const model::attribute &value) {
        g.nodes[0].attributes[name] = value;
        return *this;
    }
    little_graph &twice() {
        g.nodes[0].inputs.push_back(0);
        return *this;
    }
    /// As a TFLite network.
    little_graph &tflite() {
        g.framework = "tflite";
        return *this;
    }
    bool is_batched() const { return model::why_not_batched(g).empty(); }
};

using ints = std::vector<std::int64_t>;

network_options one_thread() {
    network_options o;
    o.threads = 1;
    return o;
}

/// The demo's network as a saved plan, whose operators are joined; the file goes with it.
class saved_digits {
public:
    explicit saved_digits(dim_t batch = 1) {
        const std::string bytes = demo_model().bytes;
        network_options o = one_thread();
        o.batch = batch;
        network(bytes.data(), bytes.size(), "digits", o).save(source.path);
    }
    ~saved_digits() { std::filesystem::remove(source.path); }
    const model_source source{
        "digits", "1", testing::TempDir() + "octet_serve_" + std::to_string(::getpid()) + ".octet", ""};
};

} // namespace

TEST(serve_rows, operators_that_keep_rows_apart) {
    EXPECT_TRUE(little_graph({1, 4}, {1, 4}, "Relu").is_batched());
    EXPECT_TRUE(little_graph({1, 4}, {1, 4}, "Add").twice().is_batched());
    EXPECT_TRUE(little_graph({1, 4, 2}, {1, 4, 2}, "Softmax").with("axis", std::int64_t{-1}).is_batched());
    EXPECT_TRUE(little_graph({1, 4, 2}, {1, 2, 4}, "Transpose").with("perm", ints{0, 2, 1}).is_batched());
    EXPECT_TRUE(little_graph({1, 4, 2}, {1, 2}, "ReduceMean").with("axes", ints{1}).is_batched());
    EXPECT_TRUE(little_graph({1, 4, 2}, {1, 4}, "ReduceMean").integers({-1}).is_batched());
    EXPECT_TRUE(little_graph({1, 4, 2}, {1, 8}, "Reshape").integers({1, 8}).is_batched());
    EXPECT_TRUE(little_graph({1, 4, 1}, {1, 4}, "Squeeze").integers({2}).is_batched());
    EXPECT_TRUE(little_graph({1, 4, 4}, {1, 4, 4}, "MatMul").twice().is_batched());
    EXPECT_TRUE(little_graph({1, 8}, {1, 8}, "Elu").is_batched());
    EXPECT_TRUE(little_graph({1, 8}, {1, 8}, "Max").twice().is_batched());
}

/// Each of the table's operators says whether it keeps rows apart; these were unknown to the server once.
TEST(serve_rows, operators_of_every_family) {
    for (const char *op : {"Abs", "Ceil", "Exp", "Floor", "Log", "QuickGelu", "Reciprocal", "Round",
                           "Softplus", "Softsign", "ThresholdedRelu"})
        EXPECT_TRUE(little_graph({1, 4}, {1, 4}, op).is_batched()) << op;
    for (const char *op : {"PRelu", "Mod", "Mean", "Sum"})
        EXPECT_TRUE(little_graph({1, 4}, {1, 4}, op).twice().is_batched()) << op;
    for (const char *op : {"GlobalMaxPool", "InstanceNormalization", "DepthToSpace", "SpaceToDepth", "Resize",
                           "ConvTranspose"})
        EXPECT_TRUE(little_graph({1, 4, 2, 2}, {1, 4, 2, 2}, op).is_batched()) << op;
    EXPECT_TRUE(little_graph({1, 4}, {1, 4}, "LogSoftmax").is_batched());
    EXPECT_TRUE(little_graph({1, 4}, {1, 4}, "SimplifiedLayerNormalization").is_batched());
    EXPECT_TRUE(little_graph({1, 4}, {1}, "ReduceL2").with("axes", ints{1}).is_batched());
    EXPECT_TRUE(little_graph({1, 4}, {1, 8}, "Tile").integers({1, 2}).is_batched());
    EXPECT_FALSE(little_graph({1, 4}, {1, 8}, "Tile").integers({2, 1}).is_batched());
    EXPECT_TRUE(little_graph({1, 1}, {1, 4}, "Expand").integers({1, 4}).is_batched());
    EXPECT_FALSE(
        little_graph({1, 4}, {1, 1, 4}, "Expand").integers({1, 1, 4}).is_batched()); // the batch is second
    EXPECT_TRUE(little_graph({1, 4, 4}, {1, 4, 4}, "FusedMatMul").twice().is_batched());
    EXPECT_FALSE(little_graph({1, 4, 4}, {1, 4, 4}, "FusedMatMul")
                     .twice()
                     .with("transBatchA", std::int64_t{1})
                     .is_batched());
    EXPECT_TRUE(little_graph({1, 4}, {1, 4, 8}, "EmbedLayerNormalization").is_batched());
    EXPECT_FALSE(little_graph({1, 4}, {2}, "Shape").is_batched());
}

/// A factor of 1.5 gives one image of one, and three of two.
TEST(serve_rows, resizing_the_batch_mixes_rows) {
    const auto resized = [](float of_batch) {
        little_graph graph({1, 4, 2, 2}, {1, 4, 4, 4}, "Resize");
        const std::vector<float> factors = {of_batch, 1.f, 2.f, 2.f};
        graph.g.nodes[0].inputs = {0, -1, graph.add("factors", {4})};
        model::tensor &t = graph.g.tensors.back();
        t.is_constant = true;
        const auto *bytes = reinterpret_cast<const std::uint8_t *>(factors.data());
        t.data = std::vector<std::uint8_t>(bytes, bytes + 16);
        return graph.is_batched();
    };
    EXPECT_TRUE(resized(1.f));
    EXPECT_FALSE(resized(1.5f));
}

TEST(serve_rows, operators_that_mix_them) {
    for (const char *op : {"Elu", "Celu", "Selu", "Log", "Softplus", "Sin",
                           "Cos"}) // by groups of four and otherwise behind them
        EXPECT_FALSE(little_graph({1, 6}, {1, 6}, op).is_batched()) << op;
    EXPECT_FALSE(little_graph({1, 6}, {1, 6}, "Max").twice().is_batched());
    EXPECT_FALSE(little_graph({1, 3, 3}, {1, 3, 3}, "InstanceNormalization").is_batched()); // vectors of four
    EXPECT_FALSE(little_graph({1, 3, 3}, {1, 3}, "ReduceMean").integers({-1}).is_batched());
    EXPECT_TRUE(little_graph({1, 5, 2}, {1, 2}, "ReduceMean").integers({1}).is_batched());
    EXPECT_FALSE(
        little_graph({1, 6, 2}, {1, 2}, "ReduceMean").integers({1}).is_batched()); // several add up four rows
    EXPECT_TRUE(little_graph({1, 2, 6, 2}, {1, 2, 2}, "ReduceMean").integers({2}).is_batched());
    EXPECT_FALSE(little_graph({1, 4}, {1, 4}, "DynamicQuantizeLinear").is_batched());
    EXPECT_FALSE(little_graph({1, 4}, {1, 4}, "NoSuchOperator").is_batched());
    EXPECT_FALSE(little_graph({1, 4, 2}, {1, 4, 2}, "Softmax").with("axis", std::int64_t{0}).is_batched());
    EXPECT_FALSE(little_graph({1, 4, 2}, {1, 4, 2}, "Softmax").with("axis", std::int64_t{-3}).is_batched());
    EXPECT_FALSE(little_graph({1, 1, 2}, {1, 1, 2}, "Transpose").with("perm", ints{1, 0, 2}).is_batched());
    EXPECT_FALSE(little_graph({1, 1, 2}, {1, 1, 2}, "Transpose").is_batched());
    EXPECT_FALSE(little_graph({1, 4}, {1, 4}, "ReduceSum").with("axes", ints{0}).is_batched());
    EXPECT_FALSE(little_graph({1, 4}, {1, 1}, "ReduceSum").is_batched()); // all of them
    EXPECT_FALSE(little_graph({1, 4}, {1, 4}, "Squeeze").integers({0}).is_batched());
    EXPECT_FALSE(little_graph({1, 4}, {1, 1, 4}, "Unsqueeze").integers({0}).is_batched());
    EXPECT_FALSE(
        little_graph({1, 1}, {1, 1}, "MatMul").twice().is_batched()); // one's columns are the other's rows
    EXPECT_FALSE(little_graph({1, 4}, {1, 4}, "Flatten").with("axis", std::int64_t{0}).is_batched());
    EXPECT_FALSE(little_graph({1, 4}, {4}, "Reshape").integers({4}).is_batched());
    EXPECT_FALSE(little_graph({2, 4}, {2, 4}, "Relu").is_batched()); // the file's batch
    EXPECT_FALSE(little_graph({1, -1}, {1, 4}, "Relu").is_batched());
}

TEST(serve_rows, tflites_operators_take_axes_from_their_inputs) {
    const auto of = [](const memory::dims &x, const memory::dims &y, const char *op) {
        return little_graph(x, y, op).tflite();
    };
    const auto sliced = [&](const std::vector<std::int32_t> &strides, std::int64_t begin_mask) {
        return of({1, 4}, {1, 4}, "STRIDED_SLICE")
            .integers({0, 0})
            .integers({1, 4})
            .integers(strides)
            .with("begin_mask", begin_mask)
            .with("end_mask", std::int64_t{1})
            .is_batched();
    };
    EXPECT_TRUE(sliced({1, -1}, 1));
    EXPECT_FALSE(sliced({-1, 1}, 1));
    EXPECT_FALSE(sliced({1, 1}, 0)); // from the first image on, not all
    EXPECT_TRUE(of({1, 4}, {1, 2}, "SLICE").integers({0, 1}).integers({-1, 2}).is_batched());
    EXPECT_FALSE(of({1, 4}, {1, 2}, "SLICE").integers({0, 1}).integers({1, 2}).is_batched());
    EXPECT_TRUE(of({1, 4}, {1, 4}, "REVERSE_V2").integers({1}).is_batched());
    EXPECT_FALSE(of({1, 4}, {1, 4}, "REVERSE_V2").integers({-2}).is_batched());
    EXPECT_TRUE(of({1, 4}, {1}, "ARG_MAX").integers({-1}).is_batched());
    EXPECT_TRUE(of({1, 4}, {1, 8}, "TILE").integers({1, 2}).is_batched());
    EXPECT_FALSE(of({1, 4}, {2, 4}, "TILE").integers({2, 1}).is_batched());
    EXPECT_TRUE(of({1, 4}, {1, 1, 4}, "PACK").with("axis", std::int64_t{1}).is_batched());
    EXPECT_FALSE(of({1, 4}, {1, 1, 4}, "PACK").with("axis", std::int64_t{-3}).is_batched());
    EXPECT_TRUE(of({1, 1}, {1}, "UNPACK").with("axis", std::int64_t{1}).is_batched());
    EXPECT_FALSE(of({1, 1}, {1}, "UNPACK").with("axis", std::int64_t{0}).is_batched());
    EXPECT_TRUE(of({1, 4}, {1, 4}, "SPLIT_V").integers({4}).integers({1}).is_batched());
    EXPECT_FALSE(of({1, 4}, {1, 4}, "SPLIT_V").integers({1}).integers({0}).is_batched());
    EXPECT_FALSE(of({1, 2, 2, 1}, {4, 1, 1, 1}, "SPACE_TO_BATCH_ND").is_batched());
}

TEST(serve_rows, broadcasting_that_would_shift_the_batch) {
    little_graph shorter({1, 3, 4}, {1, 3, 4}, "Add");
    shorter.g.nodes[0].inputs.push_back(shorter.add("short", {1, 4}));
    shorter.g.inputs.push_back(2);
    EXPECT_FALSE(shorter.is_batched());
    little_graph longer({1, 4}, {1, 1, 4}, "Add");
    longer.integers({1});
    longer.g.tensors.back().dims = {1, 1, 1};
    EXPECT_FALSE(longer.is_batched());
}

TEST(serve_rows, a_state_is_one_requests_own) {
    little_graph graph({1, 4}, {1, 4}, "Relu");
    graph.g.tensors[1].is_variable = true;
    EXPECT_FALSE(graph.is_batched());
}

TEST(serve_config, says_what_is_wrong) {
    const model_config c = read_config(R"({"max_batch_size": 8, "preferred_batch_sizes": [4, 8], "threads": 1,
        "max_queue_delay_microseconds": 100, "rule": "ort_f32", "dimensions": {"sequence": 7}})");
    EXPECT_EQ(c.most_rows, 8);
    EXPECT_EQ(c.sizes, (std::vector<std::int64_t>{1, 4, 8}));
    EXPECT_EQ(c.network.dimensions.at("sequence"), 7);
    EXPECT_EQ(c.network.rule, requantization_rule::ort_f32);
    const auto refuses = [](const std::string &text, const std::string &part) {
        try {
            read_config(text);
            ADD_FAILURE() << text;
        } catch (const error &e) {
            EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
        }
    };
    refuses("{", "config.json");
    refuses("[]", "no object");
    refuses(R"({"max_batch": 8})", "unknown key \"max_batch\"");
    refuses(R"({"max_batch_size": 0})", "from 1 to 4096");
    refuses(R"({"max_batch_size": 1.5})", "whole numbers");
    refuses(R"({"max_batch_size": 4, "preferred_batch_sizes": [8]})", "max_batch_size");
    refuses(R"({"rule": "nonsense"})", "\"rule\": requantization rule 'nonsense'");
    refuses(R"({"dimensions": 3})", "an object");
    refuses(R"({"rows_alike": 1})", "\"rows_alike\" is 1, allowed are true and false");
    refuses(R"({"profile": "litert"})", "\"profile\": there is no profile 'litert'");
    refuses(R"({"profile": "litert-2026.08-arm64+tflm"})", "there is no profile 'tflm'");
    const std::string named = with_key(R"({"threads": 2})", "profile", "ort-1.30");
    EXPECT_EQ(read_config(named).network.profile, "ort-1.30");
    EXPECT_EQ(read_config(named).threads, 2);
    EXPECT_EQ(read_config(with_key("", "profile", "ort-1.30")).network.profile, "ort-1.30");
}

void expect_that_company_changes_nothing(const model_source &source) {
    model_config config;
    config.sizes = {1, 2, 4, 8};
    const auto m = served_model::load(source, config, 2);
    ASSERT_TRUE(m->is_batching()) << m->why_not_batching();
    const std::string bytes = demo_model().bytes;
    network alone(bytes.data(), bytes.size(), "digits", one_thread());
    std::minstd_rand random(5);
    for (int round = 0; round < 100; round++) {
        std::vector<std::shared_ptr<job>> batch;
        std::vector<std::vector<std::byte>> images;
        const std::size_t jobs = 1 + random() % 4;
        for (std::size_t i = 0; i < jobs; i++) {
            const std::int64_t rows = static_cast<std::int64_t>(1 + random() % 3);
            images.emplace_back(static_cast<std::size_t>(rows) * 64);
            for (std::byte &b : images.back())
                b = static_cast<std::byte>(random() >> 5);
            const auto j = std::make_shared<job>();
            j->inputs = {{images.back().data(), images.back().size()}};
            j->wanted.emplace_back();
            m->set_shapes(*j, {{rows, 8, 8, 1}});
            batch.push_back(j);
        }
        m->run(batch, false);
        for (std::size_t i = 0; i < jobs; i++) {
            ASSERT_EQ(batch[i]->outputs[0].size, static_cast<std::size_t>(batch[i]->rows) * 10);
            EXPECT_EQ(batch[i]->output_dims[0], (memory::dims{batch[i]->rows, 10}));
            for (std::size_t r = 0; r < images[i].size() / 64; r++) {
                alone.input().copy_bytes_from(images[i].data() + 64 * r, 64);
                alone.run();
                ASSERT_EQ(std::memcmp(alone.output().data(), batch[i]->outputs[0].data + 10 * r, 10), 0);
            }
        }
    }
}

TEST(serve_model, an_answer_does_not_depend_on_company) { expect_that_company_changes_nothing(demo_model()); }

TEST(serve_model, saved_plans_have_batches) {
    const saved_digits plan;
    ASSERT_LT(model::read_network(plan.source.path).nodes.size(),
              model::source_of(model::read_network(plan.source.path)).nodes.size());
    expect_that_company_changes_nothing(plan.source);
}

TEST(serve_model, a_plan_that_was_saved_with_a_batch_has_no_other) {
    const saved_digits plan(2);
    const auto m = served_model::load(plan.source, {}, 1);
    EXPECT_NE(m->why_not_batching().find("does not begin with a batch of 1"), std::string::npos);
    EXPECT_EQ(m->inputs()[0].shown(), (memory::dims{2, 8, 8, 1}));
}

TEST(serve_model, measures_its_batches_and_refuses_larger_ones) {
    model_config config;
    config.most_rows = 4;
    const auto m = served_model::load(demo_model(), config, 1);
    EXPECT_EQ(m->queue_settings().sizes.front(), 1);
    EXPECT_LE(m->queue_settings().sizes.back(), 4);
    EXPECT_EQ(m->inputs()[0].shown(), (memory::dims{-1, 8, 8, 1}));
    job j;
    EXPECT_THROW(m->set_shapes(j, {{5, 8, 8, 1}}), refusal);
    EXPECT_THROW(m->set_shapes(j, {{0, 8, 8, 1}}), refusal);
    EXPECT_THROW(m->set_shapes(j, {{1, 8, 8, 2}}), refusal);
    EXPECT_THROW(m->set_shapes(j, {{1, 8, 8}}), refusal);
    m->set_shapes(j, {{4, 8, 8, 1}});
    EXPECT_EQ(j.rows, 4);
}

TEST(serve_model, without_batches_it_has_the_files_shape) {
    model_config config;
    config.most_rows = 1;
    const auto m = served_model::load(demo_model(), config, 1);
    EXPECT_FALSE(m->is_batching());
    EXPECT_EQ(m->inputs()[0].shown(), (memory::dims{1, 8, 8, 1}));
}

/// A field of protobuf.
std::string field(int number, const std::string &value) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} + value;
}

/// Floats of {n, `size`}, both open.
std::string open_tensor(const std::string &name, const std::string &size) {
    const std::string shape = field(1, field(2, "n")) + field(1, field(2, size));
    return field(1, name) + field(2, field(1, "\x08\x01" + field(2, shape)));
}

/// An .onnx file of a node, inputs and outputs. Null where such files cannot be read.
std::shared_ptr<served_model> load_onnx(const std::string &node, const std::string &tensors) {
    const std::string graph = field(1, node) + field(2, "g") + tensors;
    try {
        return served_model::load({"open", "1", "", "\x08\x07" + field(7, graph) + field(8, "\x10\x0d")}, {},
                                  1);
    } catch (const error &e) {
        if (std::string(e.what()).find("built without .onnx files") == std::string::npos)
            throw;
        return nullptr;
    }
}

byte_range bytes_of(const std::vector<float> &values) {
    return {reinterpret_cast<const std::byte *>(values.data()), sizeof(float) * values.size()};
}

/// A decoder's first step has a past of no rows.
TEST(serve_model, an_open_size_may_be_zero) {
    const std::string axis = field(1, "axis") + "\x18\x01" + "\xa0\x01\x02";
    const auto m =
        load_onnx(field(1, "past") + field(1, "x") + field(2, "y") + field(4, "Concat") + field(5, axis),
                  field(11, open_tensor("past", "p")) + field(11, open_tensor("x", "s")) +
                      field(12, open_tensor("y", "t")));
    if (!m)
        GTEST_SKIP() << "built without .onnx files";
    std::vector<float> past;
    const std::vector<float> x = {1, 2, 3};
    for (const dim_t rows : {0, 2, 0}) {
        past.assign(static_cast<std::size_t>(rows), 7.f);
        std::vector<float> expected = past;
        expected.insert(expected.end(), x.begin(), x.end());
        const auto j = std::make_shared<job>();
        j->inputs = {bytes_of(past), bytes_of(x)};
        j->wanted.emplace_back();
        m->set_shapes(*j, {{1, rows}, {1, 3}});
        m->run({j}, false);
        ASSERT_EQ(j->output_dims[0], (memory::dims{1, rows + 3}));
        EXPECT_EQ(std::memcmp(j->outputs[0].data, expected.data(), j->outputs[0].size), 0);
    }
    job none;
    EXPECT_THROW(m->set_shapes(none, {{1, -1}, {1, 3}}), refusal);
}

TEST(serve_model, open_sizes_need_no_configuration) {
    const auto m = load_onnx(field(1, "x") + field(2, "y") + field(4, "Relu"),
                             field(11, open_tensor("x", "s")) + field(12, open_tensor("y", "s")));
    if (!m)
        GTEST_SKIP() << "built without .onnx files";
    EXPECT_EQ(m->inputs()[0].shown(), (memory::dims{-1, -1}));
    for (const dim_t s : {3, 16, 40, 3}) {
        std::vector<float> values(static_cast<std::size_t>(s), -1.f), expected(values.size(), 0.f);
        values[0] = expected[0] = 2.f;
        const auto j = std::make_shared<job>();
        j->inputs = {{reinterpret_cast<const std::byte *>(values.data()), 4 * values.size()}};
        j->wanted.emplace_back();
        m->set_shapes(*j, {{1, s}});
        m->run({j}, false);
        ASSERT_EQ(j->output_dims[0], (memory::dims{1, s}));
        EXPECT_EQ(std::memcmp(j->outputs[0].data, expected.data(), 4 * expected.size()), 0);
    }
}

/// A plan of one row times a matrix that ONNX Runtime does not pack ahead, since it has three dimensions.
model_source single_row_plan(bool rows_alike) {
    little_graph product({1, 1, 67}, {1, 1, 33}, "MatMul");
    const std::size_t count = 67 * 33;
    const int w = product.add("w", {1, 67, 33});
    model::tensor &matrix = product.g.tensors.back();
    std::vector<std::uint8_t> bytes(4 * count);
    std::minstd_rand random(7);
    for (std::size_t i = 0; i < count; i++) {
        const float value = static_cast<float>(random() % 2001) / 1000.f - 1.f;
        std::memcpy(&bytes[4 * i], &value, 4);
    }
    matrix.is_constant = true;
    matrix.data = std::move(bytes);
    product.g.nodes[0].inputs.push_back(w);
    network_options options;
    options.rows_alike = rows_alike;
    const std::string path = testing::TempDir() + "octet_serve_row_" + std::to_string(::getpid()) + ".octet";
    network(product.g, options).save(path);
    return {"row", "1", path, ""};
}

TEST(serve_model, rows_are_alike_unless_it_is_told) {
    model_config config, told;
    config.sizes = {1, 4};
    told.rows_alike = false;
    const model_source alike = single_row_plan(true);
    const auto m = served_model::load(alike, config, 1);
    EXPECT_TRUE(m->is_batching()) << m->why_not_batching();
    EXPECT_EQ(m->has_rows_alike(), true);
    const model_source alone = single_row_plan(false);
    test::expect_unimplemented([&] { served_model::load(alone, config, 1); },
                               {"rows_alike: the plan was saved without it"});
    const auto by_itself = served_model::load(alone, told, 1);
    EXPECT_EQ(by_itself->why_not_batching(), "rows_alike is false");
    EXPECT_EQ(by_itself->has_rows_alike(), false);
    EXPECT_EQ(served_model::load(demo_model(), told, 1)->has_rows_alike(), std::nullopt);
    EXPECT_TRUE(served_model::load(demo_model(), told, 1)->is_batching())
        << "rows of .tflite files are alike";
    std::filesystem::remove(alone.path);
}

TEST(serve_model, a_bad_file_is_an_error) {
    const std::string path = testing::TempDir() + "octet_serve_bad.tflite";
    std::ofstream(path) << "nothing";
    EXPECT_THROW(served_model::load({"bad", "1", path, ""}, {}, 1), error);
    EXPECT_THROW(served_model::load({"bad", "1", "/nowhere/model.tflite", ""}, {}, 1), error);
}

} // namespace octet::serve
