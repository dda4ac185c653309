// The contract finder asks devices that it knows nothing of. The contract that a device has must be named,
// and every name must be right: a contract that stays has to agree with the device on inputs that were never
// proposed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/tests/match/devices.hpp"

namespace octet::tests {
namespace {

using match::codes;
using match::inputs;
using match::subject;
using match::verdict;

match::values outputs_of(const device &d, const subject &s, const inputs &given) {
    const codes results = d.run(given);
    memory::dims dims = s.dst_row;
    dims.insert(dims.begin(), given[0].dims[0]);
    return match::values_of("y", s.dst, dims, results);
}

/// Asks as `octet.match` does: propose, ask, and ask again while several contracts remain.
struct asked {
    inputs probes;
    verdict v;
};
asked ask(const device &d, const subject &s) {
    asked a;
    a.probes = match::propose(s, 512);
    a.v = match::judge(s, a.probes, outputs_of(d, s, a.probes));
    const std::size_t more = match::row_count(a.v.separating);
    if (more > 0) {
        EXPECT_LE(512 + more, match::most_outputs);
        for (std::size_t i = 0; i < a.probes.size(); i++)
            if (!a.probes[i].is_shared) {
                const auto &extra = a.v.separating[i];
                a.probes[i].bytes.insert(a.probes[i].bytes.end(), extra.bytes.begin(), extra.bytes.end());
                a.probes[i].dims[0] += extra.dims[0];
            }
        a.v = match::judge(s, a.probes, outputs_of(d, s, a.probes));
    }
    return a;
}

/// Inputs that `propose` does not choose from: every accumulator around 0, or rows at random.
inputs others(const subject &s) {
    inputs all = s.pool;
    match::generator random(99);
    for (match::values &v : all) {
        if (v.is_shared)
            continue;
        const bool is_accumulator = v.type == data_type::s32;
        const dim_t rows = (is_accumulator ? 40000 : 20000) / static_cast<dim_t>(s.outputs_per_row());
        const std::size_t row = v.count() / static_cast<std::size_t>(v.dims[0]);
        std::vector<std::int32_t> numbers;
        for (dim_t i = 0; i < rows; i++)
            for (std::size_t j = 0; j < row; j++)
                numbers.push_back(
                    static_cast<std::int32_t>(is_accumulator ? i - rows / 2 : random.between(-128, 127)));
        memory::dims dims = v.dims;
        dims[0] = rows;
        v = match::values_of(v.name, v.type, dims, numbers);
    }
    return all;
}

void expect_right_names(const std::vector<device> &devices) {
    std::size_t named = 0, nameless = 0;
    std::string before;
    subject s;
    inputs elsewhere;
    for (const device &d : devices) {
        SCOPED_TRACE(d.name);
        if (d.description != before) {
            s = match::make_subject(match::parse_description(d.description, "description"));
            elsewhere = others(s);
            before = d.description;
        }
        const verdict v = ask(d, s).v;
        const codes theirs = d.run(elsewhere);
        const inputs reduced = s.reduce ? s.reduce(elsewhere) : elsewhere;
        bool is_found = d.contracts.empty();
        for (const std::size_t c : v.consistent) {
            is_found |= d.contracts.count(s.contracts[c].name) > 0;
            EXPECT_EQ(s.contracts[c].compute(reduced), theirs) << "a false name: " << s.contracts[c].text();
        }
        EXPECT_TRUE(is_found) << match::to_text(v, s);
        (v.consistent.empty() ? nameless : named)++;
    }
    std::cout << devices.size() << " devices, " << named << " named, " << nameless << " without a contract\n";
}

TEST(BlindDevices, OctetUnderEveryRule) {
    const std::vector<device> devices = octet_devices();
    EXPECT_GE(devices.size(), 25 * many_scales().size()); // 8 scales without a request for fewer
    expect_right_names(devices);
}

TEST(BlindDevices, OctetWithAScalePerChannel) {
    const std::vector<device> devices = octet_devices_of_channels();
    EXPECT_GE(devices.size(), 12 * many_scales().size());
    expect_right_names(devices);
}

TEST(BlindDevices, Gemmlowp) {
    if (gemmlowp_devices().empty())
        GTEST_SKIP() << "gemmlowp is not here (Debian: libgemmlowp-dev)";
    expect_right_names(gemmlowp_devices());
}

TEST(BlindDevices, OneDnn) {
    if (onednn_devices().empty())
        GTEST_SKIP() << "oneDNN is not here (Debian: libdnnl-dev)";
    expect_right_names(onednn_devices());
}

TEST(BlindDevices, WhoHasNoContractGetsNoName) {
    const std::vector<device> devices = impostors();
    expect_right_names(devices);
    std::size_t nameless = 0;
    for (const device &d : devices) {
        const subject s = match::make_subject(match::parse_description(d.description, "description"));
        nameless += ask(d, s).v.consistent.empty();
    }
    EXPECT_GT(nameless, devices.size() * 2 / 3) << "most of these roundings are nobody's";
}

} // namespace
} // namespace octet::tests
