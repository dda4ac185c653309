// Keys of kernels have every member of what decides the code, at any depth.
// SPDX-License-Identifier: Apache-2.0
#include "jit/base/key.hpp"

#include <gtest/gtest.h>

#include <array>
#include <type_traits>
#include <vector>

#include "common/members.hpp"
#include "jit/kernels/byte_table.hpp"
#include "jit/kernels/depthwise.hpp"
#include "jit/kernels/dot.hpp"
#include "jit/kernels/pair_tables.hpp"
#include "jit/kernels/pool.hpp"
#include "jit/kernels/resampling/codes.hpp"
#include "jit/kernels/resampling/positions.hpp"
#include "jit/kernels/softmax/codes.hpp"
#include "jit/kernels/softmax/f32_rows.hpp"
#include "jit/kernels/softmax/sums.hpp"
#include "jit/kernels/stream.hpp"
#include "jit/kernels/transpose.hpp"

namespace octet::impl::jit {
namespace {

// ---- members

struct nested {
    std::vector<int> numbers;
    std::array<int, 3> three;
};
struct mixed {
    bool a;
    nested b;
    float c;
    data_type d;
};
static_assert(member_count<mixed> == 4 && member_count<nested> == 2);
static_assert(member_count<depthwise_spec> > 10);

TEST(Members, AreVisitedInOrder) {
    mixed x{true, {{1, 2}, {3, 4, 5}}, 0.5f, data_type::u8};
    std::vector<const void *> visited;
    for_each_member(x, [&](const auto &member) { visited.push_back(&member); });
    EXPECT_EQ(visited, (std::vector<const void *>{&x.a, &x.b, &x.c, &x.d}));
}

// ---- keys

/// change(number) for every number in x, however deep; each must change what `check` looks at.
template <typename T, typename Check> int change_each(T &x, const Check &check) {
    if constexpr (std::is_same_v<T, bool>) {
        x = !x;
        check();
        x = !x;
        return 1;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
        const T before = x;
        x = static_cast<T>(static_cast<int>(x) + 1);
        check();
        x = before;
        return 1;
    } else {
        int changed = 0;
        for_each_member(x, [&](auto &member) { changed += change_each(member, check); });
        return changed;
    }
}
template <typename T, typename Check> int change_each(std::vector<T> &x, const Check &check) {
    int changed = 1;
    x.emplace_back();
    check();
    x.pop_back();
    for (T &element : x)
        changed += change_each(element, check);
    return changed;
}
template <typename T, std::size_t n, typename Check>
int change_each(std::array<T, n> &x, const Check &check) {
    int changed = 0;
    for (T &element : x)
        changed += change_each(element, check);
    return changed;
}

/// `fields`: numbers in the spec, counted by hand, so that a way to overlook some would show.
template <typename Spec> void expect_every_field_in_key(Spec spec, int fields) {
    const std::string key = key_of(spec);
    int equal = 0;
    EXPECT_EQ(change_each(spec, [&] { equal += key_of(spec) == key; }), fields);
    EXPECT_EQ(equal, 0);
    EXPECT_EQ(key_of(spec), key);
}

TEST(Keys, HaveEveryFieldOfEverySpec) {
    expect_every_field_in_key(dot_spec{}, 28);
    depthwise_spec depthwise;
    depthwise.line.resize(2);
    expect_every_field_in_key(depthwise, 14 + 2 * 4 + 3 + 1 + 2 * 4); // patches, taps, line
    expect_every_field_in_key(pool_spec{}, 9);
    stream_spec stream;
    stream.sources.resize(1);
    stream.program.resize(2);
    expect_every_field_in_key(stream, 9 + 1 + 2 + 1 + 2 * (5 + 6)); // sources, steps with their rules
    expect_every_field_in_key(transpose_spec{{}, 1, 1, false}, 6);
    expect_every_field_in_key(byte_table_spec{}, 5);
    expect_every_field_in_key(pair_tables_spec{}, 8);
    expect_every_field_in_key(resampling_spec{}, 11);
    expect_every_field_in_key(code_resampling_spec{}, 11);
    expect_every_field_in_key(softmax_codes_spec{}, 5);
    expect_every_field_in_key(softmax_f32_spec{}, 6);
    expect_every_field_in_key(softmax_sums_spec{}, 4 + 4);
}

TEST(Keys, TellNumbersApartThatTextsMerge) {
    stream_spec a;
    a.program.resize(1);
    stream_spec b = a;
    a.program[0].alpha = 0.f;
    b.program[0].alpha = -0.f;
    EXPECT_NE(key_of(a), key_of(b));
}

TEST(Keys, DoNotTakeAnElementForItsNeighbour) {
    const std::vector<std::vector<int>> a{{1, 2}, {3}}, b{{1}, {2, 3}};
    EXPECT_NE(key_writer().add(a).key(), key_writer().add(b).key());
}

} // namespace
} // namespace octet::impl::jit
