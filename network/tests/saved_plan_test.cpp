// Saved plans: the same bytes come out, at every level; whatever is not a plan for this library and this processor is
// refused with a sentence.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <plan_generated.h>

#include "network/tests/fuzz/saved_plans.hpp"
#ifdef OCTET_HAVE_ONNX
#include "network/onnx/tests/onnx_encoder.hpp"
#endif
#include "network/saved/format.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

namespace fs = std::filesystem;
using bytes = std::vector<std::uint8_t>;

const std::string digits = source_path("examples/digits/digits_int8.tflite");

/// A cap of the process while it exists.
class isa_cap {
public:
    explicit isa_cap(cpu_isa level) { set_max_cpu_isa(level); }
    ~isa_cap() { set_max_cpu_isa(before_); }
    isa_cap(const isa_cap &) = delete;
    isa_cap &operator=(const isa_cap &) = delete;

private:
    const cpu_isa before_ = get_effective_cpu_isa();
};

std::vector<bytes> outputs_of(network &net) {
    for (std::size_t i = 0; i < net.input_count(); i++) {
        const tensor_view x = net.input(i);
        for (std::size_t k = 0; x.data_type() == data_type::s32 && k < x.element_count(); k++)
            static_cast<std::int32_t *>(x.data())[k] = static_cast<std::int32_t>(k * 7 % 16); // words
        if (x.data_type() == data_type::s32)
            continue;
        for (std::size_t k = 0; k < x.size_in_bytes(); k++) // as floats: small numbers
            static_cast<std::uint8_t *>(x.data())[k] =
                x.data_type() == data_type::f32 && k % 4 == 3 ? 0x3e : static_cast<std::uint8_t>(k * 37);
    }
    net.run();
    std::vector<bytes> outputs;
    for (std::size_t i = 0; i < net.output_count(); i++) {
        const auto *first = static_cast<const std::uint8_t *>(net.output(i).data());
        outputs.emplace_back(first, first + net.output(i).size_in_bytes());
    }
    return outputs;
}

class SavedPlan : public testing::Test {
protected:
    SavedPlan() { fs::create_directories(directory_); }
    ~SavedPlan() override { fs::remove_all(directory_); }

    std::string path() const { return (directory_ / "net.octet").string(); }
    bytes read() const {
        std::ifstream file(path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    void expect_round_trip(const std::string &model, const network_options &options = {}) {
        network original(model, options);
        original.save(path());
        network loaded(path());
        ASSERT_EQ(loaded.input_count(), original.input_count());
        for (std::size_t i = 0; i < original.input_count(); i++)
            EXPECT_EQ(loaded.input(i).text(), original.input(i).text());
        const std::vector<bytes> expected = outputs_of(original); // once, as there may be state
        EXPECT_EQ(outputs_of(loaded), expected) << model;
        loaded.save(path()); // also from a plan, while it is mapped
        network again(path());
        EXPECT_EQ(outputs_of(again), expected) << model;
    }

    /// A plan for the sizes of `options` gives the model's bytes for others, and what it then saves does, too.
    void expect_other_sizes(const std::string &model, const network_options &options,
                            const network_sizes &other) {
        network original(model, options);
        const std::vector<bytes> expected = outputs_of(original);
        original.save(path());
        original.resize(other);
        const std::vector<bytes> expected_of_other = outputs_of(original);

        network loaded(path());
        network context = loaded.new_context();
        loaded.resize(other);
        EXPECT_EQ(outputs_of(loaded), expected_of_other) << model;
        EXPECT_EQ(outputs_of(context), expected) << model; // packed weights are still there
        network_options at_once;
        at_once.batch = other.batch;
        at_once.shapes = other.shapes;
        at_once.dimensions = other.dimensions;
        network of_other(path(), at_once);
        EXPECT_EQ(outputs_of(of_other), expected_of_other) << model;

        loaded.save(path());
        network again(path());
        EXPECT_EQ(outputs_of(again), expected_of_other) << model;
        again.resize({options.batch, options.shapes, options.dimensions});
        if (options.batch != 0 || !options.dimensions.empty()) {
            EXPECT_EQ(outputs_of(again), expected) << model;
        }
        loaded.resize({});
        EXPECT_EQ(outputs_of(loaded), expected) << model;
    }

    static std::string defect(const bytes &plan) {
        try {
            network net(plan.data(), plan.size(), "net.octet");
        } catch (const error &e) {
            EXPECT_EQ(std::string(e.what()).rfind("net.octet: ", 0), 0u) << e.what();
            return e.what();
        }
        return "";
    }

    fs::path directory_ =
        fs::temp_directory_path() / ("octet_saved_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) +
                                     "_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()));
};

#define EXPECT_DEFECT(plan, fragment)                                                                        \
    do {                                                                                                     \
        const std::string text = defect(plan);                                                               \
        EXPECT_NE(text.find(fragment), std::string::npos) << "got: " << text;                                \
    } while (false)

TEST_F(SavedPlan, GivesTheSameBytesAtEveryLevelOnAnyThreads) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        const isa_cap cap(level);
        for (const int threads : {1, 2, 3}) {
            network_options options;
            options.threads = threads;
            expect_round_trip(digits, options);
        }
    }
}

#ifdef OCTET_HAVE_ONNX
TEST_F(SavedPlan, HoldsNetworksOfOnnx) { expect_round_trip(source_path("examples/digits/digits_int8.onnx")); }
#endif

TEST_F(SavedPlan, HoldsRealNetworks) {
    const fs::path models = fs::path(shared_path()) / "models";
    if (!fs::is_directory(models))
        GTEST_SKIP() << models << " does not exist";
    for (const fs::directory_entry &entry : fs::directory_iterator(models))
        if (entry.path().extension() == ".tflite")
            expect_round_trip(entry.path().string());
}

TEST_F(SavedPlan, IsPlannedForOtherSizes) {
    network_options two;
    two.batch = 2;
    for (const cpu_isa level : get_available_cpu_isas()) {
        const isa_cap cap(level);
        expect_other_sizes(digits, two, {5, {}, {}});
        expect_other_sizes(digits, {}, {1, {}, {}}); // the file's own sizes
#ifdef OCTET_HAVE_ONNX
        expect_other_sizes(source_path("examples/digits/digits_int8.onnx"), two, {5, {}, {}});
#endif
    }
}

#ifdef OCTET_HAVE_ONNX
TEST_F(SavedPlan, FollowsShapesThatTheNetworkComputes) {
    const std::string model = (directory_ / "encoder.onnx").string();
    for (const bool is_dynamic : {false, true}) {
        const bytes file = encoder(is_dynamic).finish();
        std::ofstream(model, std::ios::binary)
            .write(reinterpret_cast<const char *>(file.data()), static_cast<std::streamsize>(file.size()));
        network_options options;
        options.dimensions = {{"batch", 2}, {"sequence", 7}};
        expect_other_sizes(model, options, {0, {}, {{"batch", 1}, {"sequence", 19}}});
        expect_other_sizes(model, options, {0, {}, {{"batch", 3}, {"sequence", 1}}});
    }
}
#endif

TEST_F(SavedPlan, OfRealNetworksIsPlannedForAnotherBatch) {
    const fs::path models = fs::path(shared_path()) / "models";
    if (!fs::is_directory(models))
        GTEST_SKIP() << models << " does not exist";
    for (const char *name : {"person_detect.tflite", "pretrainedResnet_quant.tflite", "kws_ref_model.tflite"})
        expect_other_sizes((models / name).string(), {}, {2, {}, {}});
}

TEST_F(SavedPlan, RefusesSizesAsItsModelDoes) {
    network(digits).save(path());
    network loaded(path());
    const std::vector<bytes> before = outputs_of(loaded);
    EXPECT_THROW(loaded.resize({0, {{"absent", {1}}}, {}}), error);
    EXPECT_THROW(loaded.resize({-1, {}, {}}), error);
    EXPECT_EQ(outputs_of(loaded), before);
}

TEST_F(SavedPlan, HoldsOneRule) {
    network_options options;
    options.batch = 3;
    options.rule = requantization_rule::gemmlowp_legacy_scale; // reads weights
    options.fusion = false;
    expect_round_trip(digits, options);
    EXPECT_EQ(network(path()).input().dims().front(), 3);
    EXPECT_EQ(network(path()).options().rule, options.rule);
    const auto status_of = [&](const network_options &other) {
        try {
            network net(path(), other);
        } catch (const error &e) {
            return e.status;
        }
        return status::success;
    };
    network_options other;
    other.rule = requantization_rule::f32;
    EXPECT_EQ(status_of(other), status::unimplemented);
    EXPECT_EQ(status_of({}), status::success);
}

TEST_F(SavedPlan, HoldsEveryRuleThatANetworkCanHave) {
    std::size_t read = 0;
    for (const requantization_rule rule : all_requantization_rules()) {
        network_options options;
        options.rule = rule;
        try {
            network(digits, options).save(path());
        } catch (const error &) { // e.g. `none`, whose sums are no codes
            continue;
        }
        EXPECT_EQ(network(path()).options().rule, rule) << to_string(rule);
        read++;
    }
    EXPECT_GE(read, all_requantization_rules().size() - 2);
}

/// A plan that lies is told apart by sentences that say which tensor and why.
TEST_F(SavedPlan, IsRefusedWithTheTensorThatIsWrong) {
    network(digits).save(path());
    std::ifstream file(path(), std::ios::binary);
    const std::vector<std::uint8_t> plan{std::istreambuf_iterator<char>(file), {}};
    const auto complaint = [&](const std::function<void(saved::PlanT &)> &change) -> std::string {
        const std::vector<std::uint8_t> lying = changed_plan(plan, change);
        try {
            network(lying.data(), lying.size(), "plan");
        } catch (const error &e) {
            return e.what();
        }
        return "";
    };
    const auto has = [](const std::string &text, const char *part) {
        return text.find(part) != std::string::npos ? "" : text;
    };
    EXPECT_EQ(has(complaint([](saved::PlanT &p) {
                      const int output = p.nodes[0]->outputs[0];
                      p.tensors[static_cast<std::size_t>(output)]->type = 0;
                  }),
                  "which has no type"),
              "");
    EXPECT_EQ(has(complaint([](saved::PlanT &p) { std::swap(p.nodes.front(), p.nodes.back()); }),
                  "which no earlier node writes"),
              "");
    EXPECT_EQ(has(complaint([](saved::PlanT &p) { p.nodes[0]->inputs.clear(); }), "has 0 inputs, allowed: "),
              "");
    EXPECT_EQ(has(complaint([](saved::PlanT &p) { p.nodes[0]->outputs.clear(); }), "has no outputs"), "");
}

TEST_F(SavedPlan, IsReadFromMemoryToo) {
    network original(digits);
    original.save(path());
    const bytes plan = read();
    network loaded(plan.data(), plan.size(), "plan");
    EXPECT_EQ(outputs_of(loaded), outputs_of(original));
    network other = loaded.new_context();
    EXPECT_EQ(outputs_of(other), outputs_of(original));
}

TEST_F(SavedPlan, IsReplacedAsAWhole) {
    network(digits).save(path());
    EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()), 1);
    EXPECT_THROW(network(digits).save((directory_ / "absent" / "net.octet").string()), error);
}

TEST_F(SavedPlan, OfAnotherLevelIsRefused) {
    {
        const isa_cap cap(cpu_isa::ref);
        network(digits).save(path());
    }
    if (get_effective_cpu_isa() != cpu_isa::ref)
        EXPECT_DEFECT(read(), "the plan was saved for ref, but this process uses ");
}

TEST_F(SavedPlan, OfAnotherVersionIsRefused) {
    network(digits).save(path());
    const bytes plan = read();
    model::saved_plan_header header;
    std::memcpy(&header, plan.data(), sizeof header);
    std::unique_ptr<saved::PlanT> fields(saved::GetPlan(plan.data() + sizeof header)->UnPack());
    bytes other;
    const auto write = [&] {
        flatbuffers::FlatBufferBuilder builder;
        builder.Finish(saved::Plan::Pack(builder, fields.get()), saved::PlanIdentifier());
        header.structure_size = builder.GetSize();
        other.assign(sizeof header, 0);
        other.insert(other.end(), builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
        std::memcpy(other.data(), &header, sizeof header);
    };
    fields->numerics = 99;
    write();
    EXPECT_DEFECT(resealed(other), "the plan was saved with numerics version 99, this library has " +
                                       std::to_string(numerics_version()));
    fields->version = "0.0.1";
    write();
    EXPECT_DEFECT(resealed(other), "the plan was saved by version 0.0.1 of the library, this is ");
    header.format = 7;
    std::memcpy(other.data(), &header, sizeof header);
    EXPECT_DEFECT(resealed(other),
                  "format 7 of saved plans, allowed is " + std::to_string(model::saved_plan_format));
}

TEST_F(SavedPlan, ThatIsDamagedIsRefused) {
    network(digits).save(path());
    const bytes plan = read();
    EXPECT_EQ(defect(plan), "");
    for (std::size_t size = 8; size < plan.size(); size += size < 256 ? 1 : 61)
        EXPECT_DEFECT(bytes(plan.begin(), plan.begin() + static_cast<std::ptrdiff_t>(size)), "bytes");
    // Bytes between the blobs mean nothing; a change of any other is found.
    network original(digits);
    const std::vector<bytes> expected = outputs_of(original);
    std::size_t refused = 0;
    for (std::size_t at = 8; at < plan.size(); at += 97) {
        bytes changed = plan;
        changed[at] ^= 0x10;
        try {
            network net(changed.data(), changed.size(), "net.octet");
            EXPECT_EQ(outputs_of(net), expected) << at;
        } catch (const error &) {
            refused++;
        }
    }
    EXPECT_GT(refused, 0u);
}

TEST(Crc32c, IsCastagnolis) {
    const std::string nine = "123456789";
    const auto *text = reinterpret_cast<const std::uint8_t *>(nine.data());
    EXPECT_EQ(model::crc32c(text, nine.size()), 0xe3069283u);
    EXPECT_EQ(model::crc32c(text, 0), 0u);
    // Long ones are summed in three parts: against the definition, bit by bit.
    bytes long_one(40000);
    for (std::size_t i = 0; i < long_one.size(); i++)
        long_one[i] = static_cast<std::uint8_t>(i * 31 + i / 255);
    for (const std::size_t size : {12287u, 12288u, 12289u, 24583u, 40000u}) {
        std::uint32_t sum = 0xffffffff;
        for (std::size_t i = 0; i < size; i++) {
            sum ^= long_one[i];
            for (int bit = 0; bit < 8; bit++)
                sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78u : 0);
        }
        EXPECT_EQ(model::crc32c(long_one.data(), size), ~sum) << size;
    }
}

} // namespace
} // namespace octet::tests
