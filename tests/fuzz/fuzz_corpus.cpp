// Writes files that fuzzing begins with into a directory: .tflite ones with state, .onnx ones on floats, and those with
// state and the given networks as saved plans. fuzz_corpus DIRECTORY [MODEL...]

#include <filesystem>
#include <fstream>
#include <iostream>

#include "fuzz/saved_plans.hpp"
#include "fuzz/seeds.hpp"

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
    for (const octet::tests::fuzz_seed &seed : octet::tests::recurrent_seeds()) {
        write(seed.name + ".tflite", seed.bytes);
        if (seed.expected == octet::tests::fuzz_outcome::ran)
            write(seed.name + ".octet", octet::tests::saved_plan_of(seed.bytes));
    }
    for (const octet::tests::fuzz_seed &seed : octet::tests::onnx_seeds())
        write(seed.name + ".onnx", seed.bytes);
    for (int i = 2; i < argc; i++)
        write(std::filesystem::path(argv[i]).filename().string() + ".octet",
              octet::tests::saved_plan_of(argv[i]));
    return is_written ? 0 : 1;
}
