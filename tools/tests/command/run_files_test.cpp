// Assignment of files to tensors, on a network of two inputs and two outputs: y = max(x, 0) of each.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "commands/run_inputs.hpp"
#include "commands/run_outputs.hpp"
#include "files/npy.hpp"
#include "files/npz.hpp"

namespace octet::tests {
namespace {

namespace fs = std::filesystem;
using namespace tools;

model::graph two_relus() {
    model::graph g;
    g.framework = "tflite";
    for (const char *name : {"a", "b", "y", "y"}) {
        model::tensor t;
        t.name = name;
        t.type = data_type::s8;
        t.dims = {1, 4};
        t.quant = {{0.5f}, {0}, 0};
        g.tensors.push_back(t);
    }
    model::node first, second;
    first.op = second.op = "RELU";
    first.inputs = {0};
    first.outputs = {2};
    second.inputs = {1};
    second.outputs = {3};
    g.nodes = {first, second};
    g.inputs = {0, 1};
    g.outputs = {2, 3};
    return g;
}

array codes(const std::vector<int> &values) {
    array a{{'i', 1}, {1, 4}, {}};
    for (const int v : values)
        a.bytes.push_back(static_cast<std::uint8_t>(v));
    return a;
}

const array ones = codes({1, -1, 1, -1}), twos = codes({2, -2, 2, -2}), fours = codes({4, 4, 4, 4});

class RunFiles : public testing::Test {
protected:
    RunFiles() : folder_(fs::path(testing::TempDir()) / ("octet_run_files_" + std::to_string(getpid()))) {
        fs::create_directories(folder_);
        write("1.npy", npy_text(ones));
        write("2.npy", npy_text(twos));
        write("4.npz", npz_text({{"any", fours}}));
        write("both.npz", npz_text({{"b", twos}, {"a", ones}}));
        write("a.npz", npz_text({{"a", ones}}));
        write("more.npz", npz_text({{"a", ones}, {"c", twos}}));
    }
    ~RunFiles() override { fs::remove_all(folder_); }

    std::string path(const std::string &name) const { return (folder_ / name).string(); }
    void write(const std::string &name, const std::string &text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
    }
    /// The inputs of arguments "NAME=FILE" or "FILE", with files in the folder.
    run_inputs inputs(const std::vector<std::string> &words) const {
        input_options options;
        for (const std::string &word : words) {
            const std::size_t sign = word.find('=');
            options.files.push_back(sign == std::string::npos
                                        ? path(word)
                                        : word.substr(0, sign + 1) + path(word.substr(sign + 1)));
        }
        return run_inputs(graph_, "net", options);
    }
    /// First elements of both inputs.
    std::vector<int> firsts(const std::vector<std::string> &words) const {
        const network net(graph_);
        inputs(words).write_to(net);
        return {*net.input(0).data_as<std::int8_t>(), *net.input(1).data_as<std::int8_t>()};
    }
    std::string complaint(const std::vector<std::string> &words) const {
        try {
            inputs(words);
        } catch (const error &e) {
            std::string text = e.what(); // without the folder
            for (std::size_t at = text.find(path("")); at != std::string::npos; at = text.find(path("")))
                text.erase(at, path("").size());
            return text;
        }
        return "no error";
    }

    fs::path folder_;
    model::graph graph_ = two_relus();
};

TEST_F(RunFiles, InputsAreFoundByNameAndByOrder) {
    using firsts_t = std::vector<int>;
    EXPECT_EQ(firsts({"1.npy", "2.npy"}), (firsts_t{1, 2}));
    EXPECT_EQ(firsts({"b=1.npy", "a=2.npy"}), (firsts_t{2, 1}));
    EXPECT_EQ(firsts({"b=1.npy", "2.npy"}), (firsts_t{2, 1}));
    EXPECT_EQ(firsts({"both.npz"}), (firsts_t{1, 2}));
    EXPECT_EQ(firsts({"a.npz", "2.npy"}), (firsts_t{1, 2}));
    EXPECT_EQ(firsts({"a=4.npz", "b=both.npz"}), (firsts_t{4, 2}));
    EXPECT_EQ(inputs({"a=4.npz", "b=1.npy"}).source(0), path("4.npz"));
    EXPECT_EQ(inputs({"both.npz"}).source(1), path("both.npz") + ", array 'b'");
    EXPECT_TRUE(inputs({}).is_made_up());
}

TEST_F(RunFiles, InputsThatAreMissingOrTooManyAreRefused) {
    EXPECT_EQ(complaint({"1.npy"}), "--input: 1 files given, the inputs of net are 2");
    EXPECT_EQ(complaint({"a=1.npy"}), "--input: 0 files given, the inputs of net that have none yet are 1");
    EXPECT_EQ(complaint({"a.npz", "1.npy", "2.npy"}),
              "--input: 2 files given, the inputs of net that have none yet are 1");
    EXPECT_EQ(complaint({"c=1.npy"}), "--input: 'c' names no input, they are 'a', 'b'");
    EXPECT_EQ(complaint({"a=1.npy", "a=2.npy"}),
              "--input: 1.npy and 2.npy are both for input 0 ('a') s8 1x4");
    EXPECT_EQ(complaint({"more.npz", "1.npy"}), "more.npz: array 'c' is for no input, they are 'a', 'b'");
    EXPECT_EQ(complaint({"a=1.npy", "b=more.npz"}), "more.npz: has no array 'b', but 'a', 'c'");
}

/// A small archive may unpack to gigabytes: what does not fit is refused by its header. Its elements are damaged here.
TEST_F(RunFiles, ArraysThatDoNotFitAreNotUnpacked) {
    constexpr dim_t many = 100'000; // more than is unpacked to see the header
    const array wide{{'i', 1}, {1, many}, std::vector<std::uint8_t>(many, 7)};
    std::string text = npz_text({{"a", wide}, {"b", twos}});
    text[text.rfind("\7\7")] = 6;
    write("bomb.npz", text);
    const std::string why = "holds int8 1x100000, but input 0 ('a') s8 1x4 takes 1x4";
    EXPECT_EQ(complaint({"bomb.npz"}), "bomb.npz, array 'a': " + why);
    EXPECT_EQ(complaint({"a=bomb.npz", "b=1.npy"}), "bomb.npz: " + why);
    EXPECT_EQ(complaint({"b=bomb.npz", "a=1.npy"}), "no error") << "its other array is whole";
    graph_.tensors[0].dims = graph_.tensors[2].dims = {1, many};
    EXPECT_NE(complaint({"bomb.npz"}).find("cannot be unpacked"), std::string::npos);
}

TEST_F(RunFiles, LargeFilesAreRefusedUnread) {
    write("20 GiB.bin", "");
    fs::resize_file(path("20 GiB.bin"), std::uintmax_t{20} << 30); // takes no room
    write("20 GiB.npy", "");
    fs::resize_file(path("20 GiB.npy"), std::uintmax_t{20} << 30);
    EXPECT_EQ(complaint({"20 GiB.bin", "1.npy"}),
              "20 GiB.bin: has 21474836480 bytes, but input 0 ('a') s8 1x4 takes 4");
    EXPECT_EQ(complaint({"20 GiB.npy", "1.npy"}), "20 GiB.npy: is larger than 2 GiB");
    input_options options;
    options.files = {"/dev/zero", path("1.npy")};
    EXPECT_THROW(run_inputs(graph_, "net", options), error);
}

TEST_F(RunFiles, PipesAreReadIfSomeoneWritesToThem) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    EXPECT_EQ(complaint({"pipe", "1.npy"}), "pipe: is a pipe to which nobody has written for 3 seconds");
    std::thread writer([&] {
        std::ofstream pipe(path("pipe"), std::ios::binary); // waits for a reader
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        pipe << std::string(4, '\5');
    });
    EXPECT_EQ(firsts({"pipe", "1.npy"}), (std::vector<int>{5, 1}));
    writer.join();
}

TEST_F(RunFiles, OutputsAreComparedWithWhatWasWritten) {
    network net(graph_);
    inputs({"1.npy", "2.npy"}).write_to(net);
    net.run();
    for (const char *format : {"raw", "npy", "npz"}) {
        output_files(graph_, path(format), format).write(net);
        const std::string where = std::string(format) == "npz" ? path("npz/outputs.npz") : path(format);
        const expected_outputs expected(graph_, where);
        for (std::size_t i = 0; i < 2; i++)
            EXPECT_EQ(to_text(expected.compare(net, i, 0), {1, 4}), "equal (4 elements)") << format;
    }
    const named_arrays written = parse_npz(
        [&] {
            std::ostringstream text;
            text << std::ifstream(path("npz/outputs.npz"), std::ios::binary).rdbuf();
            const std::string s = text.str();
            return std::vector<std::uint8_t>(s.begin(), s.end());
        }(),
        "outputs.npz");
    ASSERT_EQ(written.size(), 2u);
    EXPECT_EQ(written[0].first, "y");
    EXPECT_EQ(written[1].first, "output_1") << "two outputs have one name";
}

TEST_F(RunFiles, DifferencesAreTold) {
    network net(graph_);
    inputs({"1.npy", "2.npy"}).write_to(net); // gives {1, 0, 1, 0} and {2, 0, 2, 0}
    net.run();
    write("other.npz", npz_text({{"output_1", codes({2, 0, -4, 7})}, {"y", codes({1, 0, 1, 0})}}));
    const expected_outputs expected(graph_, path("other.npz"));
    EXPECT_EQ(to_text(expected.compare(net, 0, 0), {1, 4}), "equal (4 elements)");
    EXPECT_EQ(to_text(expected.compare(net, 1, 0), {1, 4}),
              "2 of 4 elements differ, the first at [2] (0,2): 2 instead of -4; largest difference 7");
    const auto said = [&](const std::string &name) {
        try {
            expected_outputs(graph_, path(name));
        } catch (const error &e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    EXPECT_EQ(said("1.npy"), "--against: " + path("1.npy") +
                                 " is one file, but the outputs are 2; allowed: an .npz file, a directory");
    EXPECT_EQ(said("both.npz"), path("both.npz") + ": has no array 'y', but 'b', 'a'");
}

/// |ours - theirs| <= tolerance * max(1, |theirs|), NaN equal to NaN; without a tolerance the bits count.
TEST(Differences, OfFloatsHaveATolerance) {
    model::graph g = two_relus();
    for (model::tensor &t : g.tensors) {
        t.type = data_type::f32;
        t.quant = {};
    }
    g.framework = "onnx";
    for (model::node &n : g.nodes)
        n.op = "Relu";
    network net(g);
    const float ours[] = {0.f, 1.f, 100.f, 3.f};
    for (std::size_t i = 0; i < 2; i++)
        net.input(i).copy_from(ours, 4);
    net.run();
    const auto compare = [&](std::vector<float> theirs, float tolerance) {
        array a{{'f', 4}, {1, 4}, {}};
        a.bytes.resize(16);
        std::memcpy(a.bytes.data(), theirs.data(), 16);
        const std::string path =
            (fs::path(testing::TempDir()) / ("octet_floats" + std::to_string(getpid()))).string() + ".npz";
        std::ofstream(path, std::ios::binary) << npz_text({{"y", a}, {"output_1", a}});
        const difference d = expected_outputs(g, path).compare(net, 0, tolerance);
        fs::remove(path);
        return d;
    };
    EXPECT_EQ(compare({0.f, 1.f, 100.f, 3.f}, 0).different, 0u);
    EXPECT_EQ(compare({-0.f, 1.f, 100.f, 3.f}, 0).different, 1u) << "other bits";
    EXPECT_EQ(compare({-0.f, 1.f, 100.f, 3.f}, 1e-6f).different, 0u);
    EXPECT_EQ(compare({0.f, 1.f, 100.f, NAN}, 1.f).different, 1u);
    EXPECT_EQ(compare({0.009f, 1.f, 101.f, 3.f}, 0.01f).different, 0u);
    const difference d = compare({0.f, 1.f, 102.f, 2.9f}, 0.01f);
    EXPECT_EQ(d.different, 2u);
    EXPECT_EQ(d.first, 2u);
    EXPECT_EQ(d.absolute, 2);
    EXPECT_NEAR(d.relative, 0.1 / 2.9, 1e-7);
}

/// As inputs of which the file leaves sizes open: a {n, s}, b {1, 4}.
TEST_F(RunFiles, ArraysTellOpenSizes) {
    model::graph g = two_relus();
    g.tensors[0].dims = {1, -1};
    g.tensors[0].dim_names = {"n", "s"};
    array wide = codes({1, 2, 3, 4, 5, 6});
    wide.dims = {2, 3};
    write("wide.npy", npy_text(wide));
    write("both.npz", npz_text({{"b", ones}, {"a", wide}}));
    const auto shapes = [&](const std::vector<std::string> &files) {
        input_options options;
        options.files = files;
        return sizes_of_arrays(g, options).shapes;
    };
    const std::map<std::string, memory::dims> expected = {{"a", {2, 3}}};
    EXPECT_EQ(shapes({path("wide.npy"), path("1.npy")}), expected); // in the order of the inputs
    EXPECT_EQ(shapes({"b=" + path("1.npy"), path("wide.npy")}), expected);
    EXPECT_EQ(shapes({path("1.npy"), "a=" + path("wide.npy")}), expected);
    EXPECT_EQ(shapes({path("both.npz")}), expected);
    EXPECT_TRUE(shapes({}).empty());
    EXPECT_TRUE(shapes({"b=" + path("1.npy")}).empty()) << "its sizes are fixed";
}

} // namespace
} // namespace octet::tests
