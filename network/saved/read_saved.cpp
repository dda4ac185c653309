// Saved plans for programs that read nothing else: no other format's reader is called here.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/file.hpp"
#include "network/graph/graph.hpp"
#include "network/saved/format.hpp"
#include "network/saved/plan_file.hpp"
#include "octet/network.hpp"

namespace octet {
inline namespace v0 {
namespace model {
namespace {

graph checked(const shared_bytes &bytes, const std::string &name) {
    if (!is_saved_plan(bytes.data(), bytes.size()))
        refuse(name + ": is no saved plan");
    return read_plan(bytes, name);
}

} // namespace

graph read_saved(const std::string &path) { return checked(map_file(path), path); }

graph read_saved(const void *bytes, std::size_t size, const std::string &name) {
    return checked(aligned_copy(static_cast<const std::uint8_t *>(bytes), size), name);
}

} // namespace model
} // namespace v0
} // namespace octet
