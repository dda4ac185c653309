// Writes the files that fuzzing of .tflite begins with into a directory: fuzz_corpus DIRECTORY.

#include <filesystem>
#include <fstream>
#include <iostream>

#include "fuzz/seeds.hpp"

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: fuzz_corpus DIRECTORY\n";
        return 2;
    }
    std::filesystem::create_directories(argv[1]);
    for (const octet::tests::fuzz_seed &seed : octet::tests::recurrent_seeds()) {
        std::ofstream file(std::filesystem::path(argv[1]) / (seed.name + ".tflite"), std::ios::binary);
        file.write(reinterpret_cast<const char *>(seed.bytes.data()),
                   static_cast<std::streamsize>(seed.bytes.size()));
        if (!file)
            return 1;
    }
}
