// The allocator knows what is in use; what requests are known to hold is left out.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/flood_watch.hpp"

#include <malloc.h>

#include "core/open_sizes.hpp"

namespace octet::serve {

flood_watch::state flood_watch::look(std::uint64_t received, bool is_excused) {
    constexpr auto window = std::chrono::seconds(10);
    const auto now = std::chrono::steady_clock::now();
    const auto allocated = ::mallinfo2();
    const std::size_t all = allocated.uordblks + allocated.hblkhd,
                      held = budget_.held() + open_sizes::of_process().taken();
    const std::size_t used = all > held ? all - held : 0;
    if (now - since_ > window || used < used_before_ || is_excused) {
        since_ = now;
        used_before_ = used;
        received_before_ = received;
    }
    const std::size_t growth = used - used_before_;
    if (growth > most_growth_ &&
        (growth / 2 > received - received_before_ || growth > most_growth_ + messages_))
        return state::flood;
    return growth > most_growth_ / 2 ? state::growing : state::calm;
}

} // namespace octet::serve
