// Networks of one operator under LiteRT's profiles have the specified bytes at every level. A failure prints
// seed:number, which OCTET_ORACLE_NETWORK asks for alone.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "oracle/litert.hpp"
#include "support/effort.hpp"

namespace octet::oracle::litert {

namespace {

std::vector<std::uint8_t> bytes_of(const numbers &t) {
    std::vector<std::uint8_t> bytes;
    if (t.type == data_type::f32) {
        bytes.resize(t.reals.size() * sizeof(float));
        std::memcpy(bytes.data(), t.reals.data(), bytes.size());
    } else {
        for (const std::int32_t q : t.codes)
            for (std::size_t b = 0; b < memory::data_type_size(t.type); b++)
                bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint32_t>(q) >> 8 * b));
    }
    return bytes;
}

model::graph graph_of(const one_operator &o) {
    model::graph g;
    g.framework = "tflite";
    model::node n;
    n.op = o.op;
    n.attributes = o.attributes;
    const auto add = [&](const numbers &t, bool is_constant) {
        model::tensor made;
        made.name = "t" + std::to_string(g.tensors.size());
        made.type = t.type;
        made.dims = t.shape;
        if (!t.scales.empty())
            made.quant = {t.scales, std::vector<std::int32_t>(t.scales.size()), t.axis};
        else if (t.type != data_type::f32 && t.type != data_type::s32)
            made.quant = {{t.scale}, {t.zero}, 0};
        made.is_constant = is_constant;
        if (is_constant)
            made.data = bytes_of(t);
        g.tensors.push_back(made);
        return static_cast<int>(g.tensors.size()) - 1;
    };
    for (std::size_t i = 0; i < o.inputs.size(); i++) {
        const bool is_constant = i < o.is_constant.size() && o.is_constant[i];
        n.inputs.push_back(add(o.inputs[i], is_constant));
        if (!is_constant)
            g.inputs.push_back(n.inputs.back());
    }
    for (const std::vector<std::int32_t> &list : o.lists) {
        model::tensor made;
        made.name = "list";
        made.type = data_type::s32;
        made.dims = {static_cast<dim_t>(list.size())};
        made.is_constant = true;
        std::vector<std::uint8_t> bytes(list.size() * sizeof(std::int32_t));
        std::memcpy(bytes.data(), list.data(), bytes.size());
        made.data = bytes;
        g.tensors.push_back(made);
        n.inputs.push_back(static_cast<int>(g.tensors.size()) - 1);
    }
    n.outputs = {add(o.output, false)};
    g.outputs = n.outputs;
    g.nodes.push_back(n);
    return g;
}

/// Empty, or what is wrong.
std::string check(const one_operator &o) {
    const std::vector<std::uint8_t> right = bytes_of(o.output);
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        const std::string where = o.op + " under " + o.by.profile + " at level " + to_string(level) + ": ";
        try {
            network_options options;
            options.profile = o.by.profile;
            network net(graph_of(o), options);
            std::size_t next = 0;
            for (std::size_t i = 0; i < o.inputs.size(); i++)
                if (i >= o.is_constant.size() || !o.is_constant[i]) {
                    const std::vector<std::uint8_t> given = bytes_of(o.inputs[i]);
                    net.input(next++).copy_bytes_from(given.data(), given.size());
                }
            net.run();
            const auto *got = static_cast<const std::uint8_t *>(net.output(0).data());
            if (net.output(0).size_in_bytes() != right.size())
                return where + "another size";
            for (std::size_t i = 0; i < right.size(); i++)
                if (got[i] != right[i])
                    return where + "byte " + std::to_string(i) + " is " + std::to_string(got[i]) +
                           ", right is " + std::to_string(right[i]) + "; scales " +
                           std::to_string(o.inputs[0].scale) + " " + std::to_string(o.output.scale) +
                           ", zero points " + std::to_string(o.inputs[0].zero) + " " +
                           std::to_string(o.output.zero);
        } catch (const std::exception &e) {
            return where + e.what();
        }
    }
    return "";
}

TEST(LiteRtOracle, networks_of_one_operator_have_the_specified_bytes_at_every_level) {
    std::uint64_t seed = 1, first = 0;
    auto count = static_cast<std::uint64_t>(test::problem_count(2000));
    if (const char *other = std::getenv("OCTET_ORACLE_SEED"))
        seed = std::strtoull(other, nullptr, 10);
    if (const char *one = std::getenv("OCTET_ORACLE_NETWORK")) {
        char *end;
        seed = std::strtoull(one, &end, 10);
        ASSERT_EQ(*end, ':') << "OCTET_ORACLE_NETWORK is seed:number";
        first = std::strtoull(end + 1, nullptr, 10);
        count = 1;
    }
    int failures = 0;
    for (std::uint64_t i = first; i < first + count; i++) {
        const std::string wrong = check(draw_operator(seed, i));
        if (!wrong.empty() && ++failures <= 20)
            ADD_FAILURE() << "OCTET_ORACLE_NETWORK=" << seed << ':' << i << " oracle_tests: " << wrong;
    }
    EXPECT_LE(failures, 20) << failures << " of " << count << " are wrong";
    set_max_cpu_isa(cpu_isa::all);
}

} // namespace

} // namespace octet::oracle::litert
