// Writes files that fuzzing begins with into a directory: .tflite ones with state or that move codes, .onnx
// ones on floats, those .tflite ones as saved plans, and saved plans of the given networks, right ones and
// lies. fuzz_corpus DIRECTORY [MODEL...]
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <iostream>

#include "network/tests/fuzz/saved_plans.hpp"
#include "network/tests/fuzz/seeds.hpp"

int main(int argc, char **argv) {
    if (argc < 2) {
        std::cerr << "usage: fuzz_corpus DIRECTORY [MODEL...]\n";
        return 2;
    }
    const std::filesystem::path directory = argv[1];
    std::filesystem::create_directories(directory);
    bool is_written = true;
    const auto write = [&](const std::string &name, const std::vector<std::uint8_t> &bytes) {
        std::ofstream file(directory / name, std::ios::binary);
        file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        is_written = is_written && file;
    };
    for (const auto &seeds : {octet::tests::recurrent_seeds(), octet::tests::move_seeds()})
        for (const octet::tests::fuzz_seed &seed : seeds) {
            write(seed.name + ".tflite", seed.bytes);
            if (seed.expected == octet::tests::fuzz_outcome::ran)
                write(seed.name + ".octet", octet::tests::saved_plan_of(seed.bytes));
        }
    for (const auto &seeds : {octet::tests::onnx_seeds(), octet::tests::contrib_seeds()})
        for (const octet::tests::fuzz_seed &seed : seeds)
            write(seed.name + ".onnx", seed.bytes);
    for (int i = 2; i < argc; i++)
        for (const octet::tests::fuzz_seed &seed : octet::tests::plan_seeds(argv[i]))
            write(std::filesystem::path(argv[i]).filename().string() + "_" + seed.name + ".octet",
                  seed.bytes);
    return is_written ? 0 : 1;
}
