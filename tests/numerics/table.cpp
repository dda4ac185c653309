// Tables, their inputs and their hashes.
// SPDX-License-Identifier: Apache-2.0
#include "tests/numerics/table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "octet/settings.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

std::string table_path() {
    return source_path("tests/numerics/numerics_" + std::to_string(numerics_version()) + ".txt");
}

class numbers {
public:
    explicit numbers(std::uint64_t seed) : state_(seed) {}
    std::uint32_t next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(state_ >> 33);
    }
    float real() {
        const std::uint32_t bits = next();
        const float sign = (bits & 1) != 0 ? -1.f : 1.f;
        if (bits % 29 == 0)
            return sign * 0.f;
        return sign * std::ldexp(1.f + static_cast<float>(bits >> 8) * 0x1p-23f,
                                 static_cast<int>((bits >> 1) % 11) - 6);
    }

private:
    std::uint64_t state_;
};

template <typename T, typename Make> void fill_with(void *data, std::size_t elements, const Make &make) {
    for (std::size_t i = 0; i < elements; i++) {
        const T value = make();
        std::memcpy(static_cast<char *>(data) + i * sizeof value, &value, sizeof value);
    }
}

} // namespace

std::vector<expected_bytes> read_table(bool of_networks) {
    std::ifstream file(table_path());
    EXPECT_TRUE(file) << table_path() << " does not exist";
    std::vector<expected_bytes> lines;
    for (std::string line; std::getline(file, line);) {
        const std::size_t blank = line.find(' ');
        if (line.empty() || line[0] == '#')
            continue;
        const std::string problem = line.substr(blank + 1);
        if ((problem.rfind("network ", 0) == 0) == of_networks)
            lines.push_back({line.substr(0, blank), problem});
    }
    EXPECT_FALSE(lines.empty());
    return lines;
}

void fill(void *data, data_type type, std::size_t elements, std::uint64_t seed) {
    numbers from(seed);
    switch (type) {
    case data_type::f32:
        return fill_with<float>(data, elements, [&] { return from.real(); });
    case data_type::s32:
        return fill_with<std::int32_t>(
            data, elements, [&] { return static_cast<std::int32_t>(from.next() >> 13) - (1 << 17); });
    case data_type::u8:
    case data_type::s8:
        return fill_with<std::uint8_t>(data, elements,
                                       [&] { return static_cast<std::uint8_t>(from.next() >> 11); });
    default:
        FAIL() << "no inputs of type " << to_string(type);
    }
}

void byte_hash::add(const void *data, std::size_t size) {
    for (std::size_t i = 0; i < size; i++)
        state_ = (state_ ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001b3u;
}

void byte_hash::add_floats(const float *data, std::size_t count) {
    for (std::size_t i = 0; i < count; i++) {
        std::uint32_t bits = 0x7fc00000u;
        if (!std::isnan(data[i]))
            std::memcpy(&bits, data + i, sizeof bits);
        add(&bits, sizeof bits);
    }
}

std::string byte_hash::text() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(state_));
    return text;
}

void expect_hash(const expected_bytes &line, const std::string &got, const std::string &where) {
    if (const char *path = std::getenv("OCTET_NUMERICS_TABLE")) {
        std::ofstream(path, std::ios::app) << got << ' ' << line.problem << '\n';
        return;
    }
    EXPECT_EQ(got, line.hash)
        << line.problem << '\n'
        << where << ": other bytes than numerics version " << numerics_version()
        << " has. If that is meant, raise OCTET_NUMERICS_VERSION (CMakeLists.txt), write the "
           "table of the new version with OCTET_NUMERICS_TABLE=FILE, and tell it in "
           "CHANGELOG.md.";
}

} // namespace octet::tests
