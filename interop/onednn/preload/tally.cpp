// The counts of the process. They live as long as its last thread, and are written when it ends in good order.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/preload/tally.hpp"

#include "onednn/interface/behind.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "octet/fork_guard.hpp"

namespace octet::onednn {
namespace {

struct counts {
    std::mutex mutex;
    const octet::fork_guard at_fork{mutex};
    std::map<std::pair<std::string, std::string>, unsigned long> primitives; ///< by reason, then kind
    std::atomic<long long> taken{0}, left{0};                                ///< nanoseconds
};

void write_counts();

counts &all() {
    static counts &made = *[] {
        std::atexit(write_counts);
        return new counts;
    }();
    return made;
}

void write_counts() {
    const char *path = std::getenv("OCTET_DNNL_REPORT");
    std::FILE *file = path && *path ? std::fopen(path, "ab") : nullptr;
    if (!file)
        return;
    counts &c = all();
    const std::lock_guard<std::mutex> lock(c.mutex);
    std::string text = "\n"; // behind report_call's byte, and in one piece: processes share the file
    for (const auto &[key, count] : c.primitives)
        text += (key.first.empty() ? "on Octet\t" : "on oneDNN\t") + key.second + '\t' + key.first + '\t' +
                std::to_string(count) + '\n';
    text += "seconds\t" + std::to_string(1e-9 * static_cast<double>(c.taken)) + '\t' +
            std::to_string(1e-9 * static_cast<double>(c.left)) + '\n';
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
}

} // namespace

bool is_tallied() {
    static const bool is_wanted = [] {
        const char *path = std::getenv("OCTET_DNNL_REPORT");
        return path && *path;
    }();
    return is_wanted;
}

void tally(const std::string &kind, const std::string &reason) {
    if (!is_tallied())
        return;
    counts &c = all();
    const std::lock_guard<std::mutex> lock(c.mutex);
    c.primitives[{reason, kind}]++;
}

execution_timer::execution_timer(bool is_taken) : is_taken_(is_taken) {
    if (is_tallied())
        start_ = std::chrono::steady_clock::now();
}

execution_timer::~execution_timer() {
    if (is_tallied())
        (is_taken_ ? all().taken : all().left) +=
            std::chrono::nanoseconds(std::chrono::steady_clock::now() - start_).count();
}

} // namespace octet::onednn
