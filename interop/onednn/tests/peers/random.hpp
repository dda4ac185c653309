#pragma once // SPDX-License-Identifier: Apache-2.0

// Numbers for random problems; the same seed gives the same ones with every standard library.

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <random>

#include "problem.hpp"

namespace peers {

inline std::size_t size_of(type t) { return t == type::f32 || t == type::s32 ? 4 : t == type::bf16 ? 2 : 1; }

inline std::int64_t element_count(const dims &shape) {
    std::int64_t n = 1;
    for (const std::int64_t d : shape)
        n *= d;
    return n;
}

template <typename T> T element(const bytes &data, std::size_t index) {
    T value;
    std::memcpy(&value, data.data() + index * sizeof value, sizeof value);
    return value;
}

/// How numbers are drawn. `extreme`: mostly the ends of the type, NaN and infinity, scales that saturate.
enum class range { typical, extreme };

class random_source {
public:
    explicit random_source(unsigned seed) : engine_(seed) {}

    std::int64_t between(std::int64_t low, std::int64_t high) { // both included
        return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool chance(int percent) { return between(0, 99) < percent; }
    float real(float low, float high) {
        return low + (high - low) * static_cast<float>(engine_() % 65536) / 65535.f;
    }

    template <typename List> auto from(const List &list) {
        return list.begin()[between(0, static_cast<std::int64_t>(list.size()) - 1)];
    }
    template <typename T> T pick(std::initializer_list<T> list) { return from(list); }

    std::int32_t code(type t, range r) {
        const std::int32_t low = t == type::u8 ? 0 : t == type::s8 ? -128 : -200000;
        const std::int32_t high = t == type::u8 ? 255 : t == type::s8 ? 127 : 200000;
        if (r == range::extreme && t == type::s32 && chance(30))
            return pick({INT32_MIN, INT32_MAX, 1 << 24, -16777217});
        if (r == range::extreme && chance(70))
            return pick({low, high, high});
        return static_cast<std::int32_t>(between(low, high));
    }

    float number(range r) {
        if (r == range::extreme && chance(30))
            return pick({-1e10f, 1e10f, 0.5f, -2.5f, 0.f, -0.f, INFINITY, -INFINITY, NAN});
        return real(-300.f, 300.f);
    }

    tensor filled(const dims &shape, type t, range r, const std::string &layout = "") {
        tensor result{shape, t, layout, bytes(static_cast<std::size_t>(element_count(shape)) * size_of(t))};
        for (std::size_t at = 0; at < result.data.size(); at += size_of(t)) {
            const bool is_real = t == type::f32 || t == type::bf16;
            const float x = is_real ? number(r) : 0.f;
            const std::int32_t c = is_real ? 0 : code(t, r);
            const auto *bytes_of_x = reinterpret_cast<const std::uint8_t *>(&x);
            std::memcpy(result.data.data() + at,
                        t == type::bf16  ? bytes_of_x + 2 // the upper half of an f32
                        : t == type::f32 ? static_cast<const void *>(bytes_of_x)
                                         : &c,
                        size_of(t));
        }
        return result;
    }

private:
    std::mt19937 engine_;
};

} // namespace peers
