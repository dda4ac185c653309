// What loading a network takes: time, and memory of a process that has run it once. One process is one sample:
//
//   for i in $(seq 25); do load_bench model.onnx 2; done
//
// Memory is what the network adds to the process: its own pages (anonymous), generated code, and pages of the network's
// file that are in memory; less the buffers, which depend on the sizes of the inputs. Pages of libraries are not counted.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "octet/network.hpp"

namespace {

struct resident {
    explicit resident(const std::string &path) {
        const std::string file_name = std::filesystem::canonical(path).string();
        std::ifstream maps("/proc/self/smaps");
        std::string mapping;
        for (std::string line; std::getline(maps, line);) {
            std::istringstream words(line);
            std::string name;
            double kib = 0;
            words >> name >> kib;
            if (name.back() != ':')
                mapping = line;
            else if (name == "Anonymous:")
                own += kib;
            else if (name == "Rss:" && mapping.find("octet-code") != std::string::npos)
                code += kib;
            else if (name == "Rss:" && mapping.find(file_name) != std::string::npos)
                file += kib;
        }
    }
    double own = 0, code = 0, file = 0; ///< KiB
};

int measure(const std::string &path, int threads) {
    const resident before(path);
    octet::network_options options;
    options.threads = threads;
    const auto start = std::chrono::steady_clock::now();
    octet::network net(path, options);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    net.run();
    const resident after(path);

    double buffers = static_cast<double>(net.buffer_bytes().first);
    for (std::size_t i = 0; i < net.input_count(); i++)
        buffers += static_cast<double>(net.input(i).size_in_bytes());
    buffers /= 1024;
    const double size = static_cast<double>(std::filesystem::file_size(path)) / 1024,
                 own = after.own - before.own, code = after.code - before.code,
                 beyond = own + code + after.file - buffers;
    std::printf("%.2f ms; KiB: file %.0f, buffers %.0f, own pages %.0f, code %.0f, pages of the file %.0f; "
                "beyond the buffers %.0f, %.2f of the file\n",
                time.count(), size, buffers, own, code, after.file, beyond, beyond / size);
    return 0;
}

} // namespace

int main(int count, char **words) {
    if (count < 2 || count > 3) {
        std::cerr << "load_bench: MODEL [THREADS]\n";
        return 2;
    }
    try {
        return measure(words[1], count > 2 ? std::atoi(words[2]) : 1);
    } catch (const std::exception &e) {
        std::cerr << "load_bench: " << e.what() << '\n';
        return 2;
    }
}
