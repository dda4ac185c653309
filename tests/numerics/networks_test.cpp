// Networks give the bytes of the table of numerics_version(), under the profiles of their frameworks, at every level.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "octet/network.hpp"
#include "octet/settings.hpp"
#include "support/paths.hpp"
#include "tests/numerics/table.hpp"

namespace octet::tests {
namespace {

#ifdef OCTET_HAVE_ONNX
constexpr bool reads_onnx = true;
#else
constexpr bool reads_onnx = false;
#endif

/// "network FILE PROFILE"
std::string hash_of(const std::string &line) {
    std::istringstream words(line);
    std::string kind, file, profile;
    words >> kind >> file >> profile;
    network_options options;
    options.profile = profile;
    network net(source_path(file), options);
    byte_hash result;
    for (std::uint64_t seed = 0; seed < 100; seed++) {
        for (std::size_t i = 0; i < net.input_count(); i++) {
            const tensor_view x = net.input(i);
            fill(x.data(), x.data_type(), x.size_in_bytes() / memory::data_type_size(x.data_type()),
                 seed + i);
        }
        net.run();
        for (std::size_t i = 0; i < net.output_count(); i++) {
            const tensor_view y = net.output(i);
            if (y.data_type() == data_type::f32)
                result.add_floats(static_cast<const float *>(y.data()), y.size_in_bytes() / sizeof(float));
            else
                result.add(y.data(), y.size_in_bytes());
        }
    }
    return result.text();
}

TEST(Numerics, networks_have_the_bytes_of_their_version) {
    const cpu_isa before = get_effective_cpu_isa();
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        for (const expected_bytes &line : read_table(true))
            if (reads_onnx || line.problem.find(".onnx ") == std::string::npos)
                expect_hash(line, hash_of(line.problem), to_string(level));
    }
    set_max_cpu_isa(before);
}

} // namespace
} // namespace octet::tests
