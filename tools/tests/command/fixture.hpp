#pragma once // SPDX-License-Identifier: Apache-2.0

// The `octet` command in a folder of files that are damaged in all sorts of ways.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "support/paths.hpp"
#include "tools/tests/command/process.hpp"

namespace octet::tests {
namespace fs = std::filesystem;

inline const std::string model = source_path("examples/digits/digits_int8.tflite");
inline const std::string goldens = source_path("examples/digits/digits_golden.json");
inline const std::string shapes = source_path("bench/shapes/");

inline outcome octet(const std::vector<std::string> &arguments, const output_target &standard_output = {}) {
    return run_program(program_path("../tools/octet"), arguments, standard_output);
}

inline std::string command_line(const std::vector<std::string> &arguments) {
    std::string line = "octet";
    for (const std::string &argument : arguments)
        line += ' ' + argument;
    return line;
}

/// A folder of its own, with the files that go wrong: D/ in the tables below.
class CommandTest : public testing::Test {
protected:
    CommandTest() : folder_(fs::path(testing::TempDir()) / ("octet_command_" + std::to_string(getpid()))) {
        fs::create_directories(folder_ / "folder");
        const std::string whole = content_of(model);
        write("empty", "");
        write("short.tflite", whole.substr(0, whole.size() / 3));
        write("short.onnx", content_of(source_path("examples/digits/digits_int8.onnx")).substr(0, 3000));
        write("short.json", content_of(goldens).substr(0, 300));
        write("short.bin", "few");
        write("right.bin", std::string(64, 'x'));
        for (const char *ending : {".npy", ".npz", ".png", ".jpeg"})
            write(std::string("empty") + ending, "");
        write("no_header.csv", "conv,1,2\n");
        write("unknown_column.csv", "name,m,n,k,colour\na,1,1,1,1\n");
        write("no_column.csv", "name,m,k\na,1,1\n");
        write("two_columns.csv", "name,m,n,k,m\na,1,1,1,1\n");
        write("wrong_number.csv", "name,m,n,k\na,1,1,1\nb,1,many,1\n");
        write("missing_field.csv", "name,m,n,k\na,1,1\n");
        write("no_layers.csv", "name,m,n,k\n");
        write("uneven_groups.csv", "name,g,ic,ih,iw,oc,oh,ow,kh,kw\na,2,3,1,1,2,1,1,1,1\n");
        write("huge.csv", "name,m,n,k\na,1000000000,1000000000,1000000000\n");
    }
    ~CommandTest() override { fs::remove_all(folder_); }

    std::string path(const std::string &name) const { return (folder_ / name).string(); }
    void write(const std::string &name, const std::string &text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
    }
    static std::string content_of(const std::string &path) {
        std::ostringstream text;
        text << std::ifstream(path, std::ios::binary).rdbuf();
        return text.str();
    }

    /// One refused request: `said` is the line on stderr without "octet: ", or how it begins where it ends
    /// with "…". D/ stands for the folder, M for the model.
    struct refusal {
        std::vector<std::string> arguments;
        std::string said;
    };
    std::string filled_in(std::string text) const {
        if (text == "M")
            return model;
        for (std::size_t at = text.find("D/"); at != std::string::npos; at = text.find("D/", at))
            text.replace(at, 2, folder_.string() + "/");
        return text;
    }
    void expect_refusals(const std::vector<refusal> &refusals) const {
        const std::string open_end = "…";
        for (const refusal &r : refusals) {
            std::vector<std::string> arguments;
            for (const std::string &argument : r.arguments)
                arguments.push_back(filled_in(argument));
            const outcome got = octet(arguments);
            SCOPED_TRACE(command_line(arguments));
            EXPECT_EQ(got.exit_code, 2);
            std::string expected = "octet: " + filled_in(r.said), err = got.err;
            EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
            EXPECT_EQ(err.find("json.exception"), std::string::npos) << err;
            if (const std::size_t end = expected.rfind(open_end); end != std::string::npos) {
                expected.resize(end);
                err.resize(std::min(err.size(), end));
            } else {
                expected += '\n';
            }
            EXPECT_EQ(err, expected) << got.err;
        }
    }

    fs::path folder_;
};

} // namespace octet::tests
