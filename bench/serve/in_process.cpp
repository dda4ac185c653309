// The baseline of a server's throughput: threads that run a network without a server, each in a context of
// its own over shared weights, on one of several inputs in turn, as requests bring theirs.
//
//     serve_in_process MODEL THREADS SECONDS
//
// prints runs per second of all threads together, counted over the whole time, as a server's answers are.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include "octet/network.hpp"

namespace {

constexpr std::size_t inputs_in_turn = 4;
using buffers = std::vector<std::vector<std::byte>>; ///< buffers of all inputs

void run(octet::network &net, const std::atomic<bool> &is_over, std::size_t &runs) {
    std::vector<buffers> requests(inputs_in_turn);
    for (buffers &request : requests)
        for (std::size_t i = 0; i < net.input_count(); i++)
            request.emplace_back(net.input(i).size_in_bytes());
    for (; !is_over; runs++) {
        const buffers &request = requests[runs % inputs_in_turn];
        for (std::size_t i = 0; i < request.size(); i++)
            net.bind_input(i, request[i].data(), request[i].size());
        net.run();
    }
}

void measure(const char *path, std::size_t threads, double seconds) {
    octet::network_options options;
    options.threads = 1;
    const octet::network net(path, options);
    std::vector<octet::network> contexts;
    for (std::size_t t = 0; t < threads; t++)
        contexts.push_back(net.new_context());
    std::atomic<bool> is_over{false};
    std::vector<std::size_t> runs(threads * 16); // a cache line and more apart
    std::vector<std::thread> workers;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t t = 0; t < threads; t++)
        workers.emplace_back([&, t] { run(contexts[t], is_over, runs[16 * t]); });
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    is_over = true;
    for (std::thread &worker : workers)
        worker.join();
    std::size_t total = 0;
    for (const std::size_t count : runs)
        total += count;
    std::cout << static_cast<double>(total) /
                     std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()
              << '\n';
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::cerr << "usage: serve_in_process MODEL THREADS SECONDS\n";
        return 2;
    }
    try {
        measure(argv[1], std::strtoul(argv[2], nullptr, 10), std::strtod(argv[3], nullptr));
    } catch (const std::exception &e) {
        std::cerr << "serve_in_process: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
