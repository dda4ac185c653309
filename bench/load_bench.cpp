// The cost of loading a network: the time, also of its first run and of making it a second time, and the
// memory of a process that has run it once. One process is one sample:
//
//   for i in $(seq 25); do load_bench model.onnx 2 sequence=128; done
//
// Memory is what the network adds to the process: its own pages (anonymous), generated code, and pages of the
// network's file that are in memory; less the buffers, which depend on the sizes of the inputs. Pages of
// libraries are not counted.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
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

class stopwatch {
public:
    double ms() const {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int measure(const std::string &path, const octet::network_options &options) {
    const resident before(path);
    const stopwatch loading;
    octet::network net(path, options);
    const double load_ms = loading.ms();
    const stopwatch running;
    net.run();
    const double run_ms = running.ms();
    const resident after(path);
    const stopwatch again;
    const octet::network second(path, options);
    const double again_ms = again.ms();

    double buffers = static_cast<double>(net.buffer_bytes().first);
    for (std::size_t i = 0; i < net.input_count(); i++)
        buffers += static_cast<double>(net.input(i).size_in_bytes());
    buffers /= 1024;
    const double size = static_cast<double>(std::filesystem::file_size(path)) / 1024,
                 own = after.own - before.own, code = after.code - before.code,
                 beyond = own + code + after.file - buffers;
    std::printf("%.2f ms, first run %.2f ms, loaded again %.2f ms; KiB: file %.0f, buffers %.0f, own pages "
                "%.0f, code %.0f, pages of the file %.0f; "
                "beyond the buffers %.0f, %.2f of the file\n",
                load_ms, run_ms, again_ms, size, buffers, own, code, after.file, beyond, beyond / size);
    return 0;
}

} // namespace

int main(int count, char **words) {
    if (count < 2) {
        std::cerr << "load_bench: MODEL [THREADS [DIMENSION=SIZE ...]]\n";
        return 2;
    }
    try {
        octet::network_options options;
        options.threads = count > 2 ? std::atoi(words[2]) : 1;
        for (int i = 3; i < count; i++) {
            const std::string word = words[i];
            const std::size_t equals = word.find('=');
            if (equals == std::string::npos)
                throw std::invalid_argument("'" + word + "' is no DIMENSION=SIZE");
            options.dimensions[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
        }
        return measure(words[1], options);
    } catch (const std::exception &e) {
        std::cerr << "load_bench: " << e.what() << '\n';
        return 2;
    }
}
