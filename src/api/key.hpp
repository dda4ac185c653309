#pragma once // SPDX-License-Identifier: Apache-2.0

// Keys of the primitive cache: the bytes of everything that decides what a primitive computes.

#include <string>
#include <type_traits>
#include <vector>

#include "octet/primitive_attr.hpp"

namespace octet::impl {

class key_builder {
public:
    key_builder() { bytes_.reserve(usual_bytes); }

    template <typename T> key_builder &add(const T &value) {
        static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>, "structs have padding: add their fields");
        bytes_.append(reinterpret_cast<const char *>(&value), sizeof value);
        return *this;
    }
    key_builder &add(const std::string &s) {
        add(s.size());
        bytes_ += s;
        return *this;
    }
    template <typename T> key_builder &add(const std::vector<T> &values) {
        add(values.size());
        if constexpr (std::is_arithmetic_v<T>)
            bytes_.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
        else
            for (const T &v : values)
                add(v);
        return *this;
    }
    template <typename T> key_builder &add(const masked_values<T> &v) {
        return add(v.mask).add(v.runtime).add(v.values).add(v.groups).add(v.type);
    }
    key_builder &add(const fixed_point_multiplier &m) { return add(m.multiplier).add(m.shift).add(m.offset); }
    key_builder &add(const memory_desc &md);
    key_builder &add(const primitive_attr &attr);

    std::string take() {
        bytes_.shrink_to_fit(); // keys stay in the cache
        return std::move(bytes_);
    }

private:
    static constexpr std::size_t usual_bytes = 2048; ///< with scales for some hundred channels

    std::string bytes_;
};

} // namespace octet::impl
