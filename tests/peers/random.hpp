#pragma once

// Deterministic random problems: the same seed gives the same problem with every standard library.

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <random>

#include "problem.hpp"

namespace peers {

inline std::size_t size_of(type t) { return t == type::f32 || t == type::s32 ? 4 : 1; }

inline std::int64_t element_count(const dims &shape) {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    return n;
}

/// How the numbers are drawn. `extreme`: mostly the ends of the type's range, scales that saturate.
enum class range { typical, extreme };

class random_source {
public:
    explicit random_source(unsigned seed) : engine_(seed) {}

    std::int64_t between(std::int64_t low, std::int64_t high) { // both included
        return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool chance(int percent) { return between(0, 99) < percent; }
    float real(float low, float high) { return low + (high - low) * static_cast<float>(engine_() % 65536) / 65535.f; }
    template <typename T> T pick(std::initializer_list<T> list) { return list.begin()[between(0, static_cast<std::int64_t>(list.size()) - 1)]; }

    std::int32_t code(type t, range r) {
        const std::int32_t low = t == type::u8 ? 0 : t == type::s8 ? -128 : -200000;
        const std::int32_t high = t == type::u8 ? 255 : t == type::s8 ? 127 : 200000;
        if (r == range::extreme && chance(70)) return pick({low, high, high});
        return static_cast<std::int32_t>(between(low, high));
    }

    bytes data(type t, std::int64_t count, range r) {
        bytes result(static_cast<std::size_t>(count) * size_of(t));
        for (std::int64_t i = 0; i < count; i++) {
            std::uint8_t *at = result.data() + i * static_cast<std::int64_t>(size_of(t));
            if (t == type::f32) {
                const float x = r == range::extreme && chance(30) ? pick({-1e10f, 1e10f, 0.5f, -2.5f, 0.f, -0.f, INFINITY, -INFINITY, NAN}) : real(-300.f, 300.f);
                std::memcpy(at, &x, sizeof x);
            } else if (t == type::s32) {
                const std::int32_t x = r == range::extreme && chance(30) ? pick<std::int32_t>({INT32_MIN, INT32_MAX, 1 << 24, -16777217}) : code(t, r);
                std::memcpy(at, &x, sizeof x);
            } else {
                *at = static_cast<std::uint8_t>(code(t, r));
            }
        }
        return result;
    }

    tensor filled(const dims &shape, type t, range r, const std::string &tag = "") { return {shape, t, tag, data(t, element_count(shape), r)}; }

private:
    std::mt19937 engine_;
};

} // namespace peers
