// The smallest of what the machine has, what the control groups around this process allow, and what its
// resource limits leave.
// SPDX-License-Identifier: Apache-2.0
#include "core/usable_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace octet::serve {
namespace {

namespace fs = std::filesystem;

/// The lowest limit of a control group and those around it. In a container its own group is the root.
std::size_t limit_of_groups(const fs::path &root, const std::string &group, const char *file,
                            std::size_t bytes) {
    for (fs::path path = root / fs::path(group).relative_path();; path = path.parent_path()) {
        std::ifstream in(path / file);
        std::size_t limit = 0;
        if (in >> limit) // not "max"
            bytes = std::min(bytes, limit);
        if (path == root || path.relative_path().empty())
            return bytes;
    }
}

} // namespace

std::size_t usable_memory() {
    std::size_t bytes =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::ifstream groups("/proc/self/cgroup"); // lines of "0::/path" or "4:memory:/path"
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string kind = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (kind.empty())
            bytes = limit_of_groups("/sys/fs/cgroup", group, "memory.max", bytes);
        else if (kind == "memory")
            bytes = limit_of_groups("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", bytes);
    }
    for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
        rlimit limit{};
        if (getrlimit(kind, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            bytes = std::min<std::size_t>(bytes, limit.rlim_cur);
    }
    return bytes;
}

std::size_t process_memory(const std::string &field) {
    std::ifstream file("/proc/self/status"); // lines of "VmRSS:   1234 kB"
    for (std::string name, line; file >> name && std::getline(file, line);)
        if (name == field + ':')
            return std::stoull(line) << 10;
    return 0;
}

} // namespace octet::serve
