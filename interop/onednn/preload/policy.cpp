// The environment is read once; each line is told once, on stderr.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/preload/policy.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "octet/fork_guard.hpp"

namespace octet::onednn {
namespace {

policy read_policy() {
    const char *value = std::getenv("OCTET_DNNL");
    if (!value || !*value || !std::strcmp(value, "auto"))
        return policy::automatic;
    if (!std::strcmp(value, "off"))
        return policy::off;
    if (!std::strcmp(value, "only"))
        return policy::only;
    std::fprintf(stderr, "octet: OCTET_DNNL is \"%s\", allowed: off, auto, only; taken as auto\n", value);
    return policy::automatic;
}

} // namespace

policy policy_in_force() {
    static const policy read = read_policy();
    return read;
}

void report_call() {
    const char *path = std::getenv("OCTET_DNNL_REPORT");
    if (std::FILE *file = path && *path ? std::fopen(path, "ab") : nullptr) {
        std::fputc('.', file);
        std::fclose(file);
    }
}

bool is_verbose() {
    static const bool verbose = [] {
        const char *value = std::getenv("OCTET_DNNL_VERBOSE");
        return value && *value && std::strcmp(value, "0") != 0;
    }();
    return verbose;
}

void tell(const std::string &line) {
    static std::mutex mutex;
    static const fork_guard at_fork(mutex);
    static std::set<std::string> &told = *new std::set<std::string>;
    const std::lock_guard<std::mutex> lock(mutex);
    if (told.insert(line).second)
        std::fprintf(stderr, "octet: %s\n", line.c_str());
}

} // namespace octet::onednn
