#pragma once // SPDX-License-Identifier: Apache-2.0

// Keys of emitted code, as strings of bytes: equal keys mean equal code. A spec becomes a key by all of its
// members, whatever they are, so a key can't miss one (common/members.hpp).

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "common/members.hpp"

namespace octet::impl::jit {

class key_writer {
public:
    template <typename... Parts> key_writer &add(const Parts &...parts) {
        (add_one(parts), ...);
        return *this;
    }
    const std::string &key() const { return key_; }

private:
    /// Bytes of numbers: a text would merge some values of f32.
    template <typename T> void add_one(const T &x) {
        if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
            key_.append(reinterpret_cast<const char *>(&x), sizeof x);
        else
            for_each_member(x, [this](const auto &member) { this->add_one(member); });
    }
    template <typename T> void add_one(const std::vector<T> &elements) {
        add_one(elements.size()); // or elements could be taken for what follows them
        for (const T &x : elements)
            add_one(x);
    }
    template <typename T, std::size_t n> void add_one(const std::array<T, n> &elements) {
        for (const T &x : elements)
            add_one(x);
    }

    std::string key_;
};

/// The key of a spec; of what has a key of its own, as the plan of an epilogue; of either or nothing.
template <typename T> std::string key_of(const T &x) {
    if constexpr (std::is_pointer_v<T>)
        return x ? key_of(*x) : std::string();
    else if constexpr (std::is_aggregate_v<T>)
        return key_writer().add(x).key();
    else
        return x.code_key();
}

} // namespace octet::impl::jit
