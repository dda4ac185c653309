// libFuzzer target: any bytes as the files that the command reads besides networks, arrays and images.
// SPDX-License-Identifier: Apache-2.0
#include "files/image.hpp"
#include "files/npy.hpp"
#include "files/npz.hpp"
#include "octet/error.hpp"

using namespace octet::tools;

namespace {

template <typename Function> void may_refuse(const Function &read) {
    try {
        read();
    } catch (const octet::error &) {
    }
}

void unpack(const std::vector<std::uint8_t> &file) {
    constexpr std::size_t most_elements = std::size_t(1) << 24; // larger ones only take time
    const named_arrays described = described_npz(file, "file");
    for (std::size_t i = 0; i < described.size(); i++) {
        std::size_t elements = 1;
        for (const octet::dim_t d : described[i].second.dims)
            elements = d > 0 && elements > most_elements / static_cast<std::size_t>(d)
                           ? most_elements + 1
                           : elements * static_cast<std::size_t>(d);
        if (elements <= most_elements)
            unpacked(file, i, "file");
    }
}

} // namespace

/// The formats have beginnings of their own, so that each file is for one reader and the others soon refuse it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {
    const std::vector<std::uint8_t> file(bytes, bytes + size);
    may_refuse([&] { parse_npy(file, "file"); });
    may_refuse([&] { unpack(file); });
    may_refuse([&] { parse_png(file, "file"); });
    may_refuse([&] { parse_jpeg(file, "file"); });
    return 0;
}
