#pragma once // SPDX-License-Identifier: Apache-2.0

// The members of an aggregate, one after the other, without a list of them: what is done for every member is
// done for one that is added tomorrow. C++17 has no reflection, but an aggregate tells how many initializers
// it takes, and a structured binding of another number of names than it has members does not compile, so that
// none can be left out.

#include <cstddef>
#include <type_traits>
#include <utility>

namespace octet::impl {

namespace members_detail {

/// Initializes a member of any type.
struct anything {
    template <typename T> operator T() const;
};

template <typename T, typename Indices, typename = void> struct takes : std::false_type {};
template <typename T, std::size_t... i>
struct takes<T, std::index_sequence<i...>, std::void_t<decltype(T{(static_cast<void>(i), anything{})...})>>
    : std::true_type {};

constexpr std::size_t most_members = 16;

template <typename T, std::size_t n = most_members> constexpr std::size_t count() {
    static_assert(std::is_aggregate_v<T>, "members are found by initializing an aggregate");
    if constexpr (takes<T, std::make_index_sequence<n>>::value || n == 0)
        return n;
    else
        return count<T, n - 1>();
}

} // namespace members_detail

/// Members of a struct without bases, bit-fields and arrays of C.
template <typename T> constexpr std::size_t member_count = members_detail::count<std::remove_const_t<T>>();

/// visit(member) for each member of x, in order.
template <typename T, typename Visit> void for_each_member(T &x, const Visit &visit) {
    constexpr std::size_t n = member_count<T>;
    static_assert(n > 0 && n <= members_detail::most_members);
    const auto each = [&visit](auto &...members) { (visit(members), ...); };
    if constexpr (n == 1) {
        auto &[a] = x;
        each(a);
    } else if constexpr (n == 2) {
        auto &[a, b] = x;
        each(a, b);
    } else if constexpr (n == 3) {
        auto &[a, b, c] = x;
        each(a, b, c);
    } else if constexpr (n == 4) {
        auto &[a, b, c, d] = x;
        each(a, b, c, d);
    } else if constexpr (n == 5) {
        auto &[a, b, c, d, e] = x;
        each(a, b, c, d, e);
    } else if constexpr (n == 6) {
        auto &[a, b, c, d, e, f] = x;
        each(a, b, c, d, e, f);
    } else if constexpr (n == 7) {
        auto &[a, b, c, d, e, f, g] = x;
        each(a, b, c, d, e, f, g);
    } else if constexpr (n == 8) {
        auto &[a, b, c, d, e, f, g, h] = x;
        each(a, b, c, d, e, f, g, h);
    } else if constexpr (n == 9) {
        auto &[a, b, c, d, e, f, g, h, i] = x;
        each(a, b, c, d, e, f, g, h, i);
    } else if constexpr (n == 10) {
        auto &[a, b, c, d, e, f, g, h, i, j] = x;
        each(a, b, c, d, e, f, g, h, i, j);
    } else if constexpr (n == 11) {
        auto &[a, b, c, d, e, f, g, h, i, j, k] = x;
        each(a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (n == 12) {
        auto &[a, b, c, d, e, f, g, h, i, j, k, l] = x;
        each(a, b, c, d, e, f, g, h, i, j, k, l);
    } else if constexpr (n == 13) {
        auto &[a, b, c, d, e, f, g, h, i, j, k, l, m] = x;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m);
    } else if constexpr (n == 14) {
        auto &[a, b, c, d, e, f, g, h, i, j, k, l, m, o] = x;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m, o);
    } else if constexpr (n == 15) {
        auto &[a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = x;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p);
    } else {
        auto &[a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = x;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q);
    }
}

} // namespace octet::impl
