#pragma once // SPDX-License-Identifier: Apache-2.0

// A folder for files that `octet check` replays, and what makes and replays them.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "check/check.hpp"

namespace octet::vectors {

using nlohmann::json;
namespace fs = std::filesystem;

/// A folder of its own for each test, and a vector file with its blob in the making.
class CheckTest : public testing::Test {
protected:
    CheckTest() {
        std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
        std::replace(test.begin(), test.end(), '/', '_');
        folder = fs::path(testing::TempDir()) / ("octet_check_" + std::to_string(getpid()) + "_" + test);
        fs::create_directories(folder);
    }
    ~CheckTest() override { fs::remove_all(folder); }

    template <typename T>
    json tensor(const std::string &dtype, const std::vector<std::int64_t> &dims,
                const std::vector<T> &values) {
        const std::size_t offset = blob.size(), size = values.size() * sizeof(T);
        blob.resize(offset + size);
        std::memcpy(blob.data() + offset, values.data(), size);
        return {{"dtype", dtype}, {"dims", dims}, {"offset", offset}, {"nbytes", size}};
    }

    static json quantized(json t, const std::string &name, const std::string &scale, int zero_point) {
        t["name"] = name;
        t["scale"] = {scale};
        t["zero_point"] = {zero_point};
        return t;
    }

    /// (2 * 3 + 4 * 1) * 0.5 = 5
    json fully_connected_case(std::int8_t expected = 5) {
        return {
            {"name", "fc"},
            {"op", "FULLY_CONNECTED"},
            {"params",
             {{"activation", "NONE"},
              {"per_channel", false},
              {"multiplier", {1 << 30}},
              {"shift", {0}},
              {"clamp_min", -128},
              {"clamp_max", 127}}},
            {"inputs",
             {quantized(tensor<std::int8_t>("s8", {1, 2}, {2, 4}), "input", "0x1p-1", 0),
              quantized(tensor<std::int8_t>("s8", {1, 2}, {3, 1}), "filter", "0x1p+0", 0)}},
            {"outputs", {quantized(tensor<std::int8_t>("s8", {1, 1}, {expected}), "output", "0x1p+0", 0)}}};
    }

    static json tflite_file(const std::vector<json> &cases) {
        return {{"format", "int8-op-vectors/1"}, {"blob", "any name.blob"}, {"cases", cases}};
    }

    std::string write(const json &file, const std::string &name = "vectors") {
        const std::string blob_name = file.value("blob", name + ".bin");
        write_text(blob_name, std::string(blob.begin(), blob.end()));
        return write_text(name + ".json", file.dump());
    }

    std::string write_text(const std::string &name, const std::string &text) const {
        std::ofstream(folder / name, std::ios::binary) << text;
        return (folder / name).string();
    }

    /// Replays the file; what was reported is in `output`.
    bool check(const std::string &path, const options &opt = {}) {
        std::ostringstream out;
        const bool passed = check_file(path, opt, out);
        output = out.str();
        return passed;
    }
    std::string last_line() const {
        const std::size_t end = output.find_last_not_of('\n');
        return output.substr(output.rfind('\n', end) + 1, end - output.rfind('\n', end));
    }

    /// Returns the sentence with which a file is refused.
    std::string complaint(const std::string &path) {
        try {
            check(path);
        } catch (const error &e) {
            return e.what();
        }
        return "replayed: " + output;
    }

    fs::path folder;
    std::vector<char> blob;
    std::string output;
};

} // namespace octet::vectors
