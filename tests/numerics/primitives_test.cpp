// Primitives of every kind, type and rule give the bytes of the table of numerics_version(), at every level.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_map>

#include "octet/octet.hpp"
#include "octet/problem.hpp"
#include "tests/numerics/table.hpp"

namespace octet::tests {
namespace {

const engine cpu(engine::kind::cpu, 0);

std::size_t elements_of(const memory::desc &d) {
    return d.get_size() / memory::data_type_size(d.data_type());
}

/// The tensor in row-major order of a packed one.
memory::desc plain(const memory::desc &d) {
    memory::dims strides = d.dims();
    dim_t size = 1;
    for (std::size_t i = strides.size(); i-- > 0;) {
        strides[i] = size;
        size *= d.dims()[i];
    }
    return {d.dims(), d.data_type(), strides};
}

/// Codes of weights stay within ±8, so that most results are within the bounds of theirs.
void shrink(const memory &weights) {
    const std::size_t size = weights.get_desc().get_size();
    auto *codes = static_cast<std::int8_t *>(weights.get_data_handle());
    if (memory::data_type_size(weights.get_desc().data_type()) == 1)
        std::transform(codes, codes + size, codes, [](std::int8_t code) { return code / 16; });
}

memory filled(const memory::desc &d, std::uint64_t seed, bool is_weights) {
    if (d.get_format_kind() != format_kind::packed) {
        memory m(d, cpu);
        fill(m.get_data_handle(), d.data_type(), elements_of(d), seed);
        if (is_weights)
            shrink(m);
        return m;
    }
    memory from = filled(plain(d), seed, is_weights), to(d, cpu);
    stream s(cpu);
    reorder(from, to).execute(s, from, to);
    return to;
}

std::string hash_of(const std::string &problem) {
    const primitive_desc pd = primitive_desc_from_string(problem, cpu);
    byte_hash seed;
    seed.add(problem.data(), problem.size());
    std::unordered_map<int, memory> args;
    for (const int arg : pd.args())
        args.emplace(arg, filled(pd.arg_desc(arg), seed.value() + static_cast<unsigned>(arg),
                                 arg == OCTET_ARG_WEIGHTS));
    stream s(cpu);
    primitive(pd).execute(s, args);
    const memory &dst = args.at(OCTET_ARG_DST);
    byte_hash result;
    if (dst.get_desc().data_type() == data_type::f32)
        result.add_floats(static_cast<const float *>(dst.get_data_handle()), elements_of(dst.get_desc()));
    else
        result.add(dst.get_data_handle(), dst.get_desc().get_size());
    return result.text();
}

/// Whether the reference computes so many products that it takes seconds, and minutes in an emulation.
bool is_long_for_reference(const std::string &problem) {
    const primitive_desc pd = primitive_desc_from_string(problem, cpu);
    const std::vector<int> args = pd.args();
    if (std::find(args.begin(), args.end(), OCTET_ARG_WEIGHTS) == args.end())
        return false;
    return elements_of(pd.arg_desc(OCTET_ARG_WEIGHTS)) * elements_of(pd.arg_desc(OCTET_ARG_DST)) >
           1'000'000'000;
}

TEST(Numerics, primitives_have_the_bytes_of_their_version) {
    const cpu_isa before = get_effective_cpu_isa();
    const std::vector<cpu_isa> levels = get_available_cpu_isas();
    for (const cpu_isa level : levels) {
        if (level == cpu_isa::ref && levels.size() > 1)
            continue; // tests of primitives compare it with the others, and it takes long
        set_max_cpu_isa(level);
        for (const expected_bytes &line : read_table(false)) {
            if (level == cpu_isa::ref && is_long_for_reference(line.problem))
                continue;
            expect_hash(line, hash_of(line.problem), to_string(level));
        }
    }
    set_max_cpu_isa(before);
}

} // namespace
} // namespace octet::tests
