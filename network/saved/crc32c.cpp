// The instruction takes three cycles and can start in each, so three thirds of a block are summed at once. A sum
// moves over the bytes behind it by a multiplication that tables hold ready (a linear map of its four bytes).
// SPDX-License-Identifier: Apache-2.0
#include <array>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include "network/saved/format.hpp"

namespace octet::model {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78; ///< reflected

constexpr std::array<std::uint32_t, 256> byte_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; i++) {
        std::uint32_t sum = i;
        for (int bit = 0; bit < 8; bit++)
            sum = (sum >> 1) ^ ((sum & 1) != 0 ? polynomial : 0);
        table[i] = sum;
    }
    return table;
}
constexpr std::array<std::uint32_t, 256> bytewise = byte_table();

std::uint32_t portable(std::uint32_t sum, const std::uint8_t *bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; i++)
        sum = (sum >> 8) ^ bytewise[(sum ^ bytes[i]) & 0xff];
    return sum;
}

#if defined(__x86_64__)

constexpr std::size_t third = 4096;

/// Tables of what a sum becomes behind `third` zeros, by its bytes.
struct shift_tables {
    shift_tables() {
        std::array<std::uint32_t, 32> of_bit{};
        for (int bit = 0; bit < 32; bit++) {
            std::uint32_t sum = std::uint32_t{1} << bit;
            for (std::size_t i = 0; i < third; i++)
                sum = (sum >> 8) ^ bytewise[sum & 0xff];
            of_bit[static_cast<std::size_t>(bit)] = sum;
        }
        for (std::size_t byte = 0; byte < 4; byte++)
            for (std::size_t value = 0; value < 256; value++)
                for (std::size_t bit = 0; bit < 8; bit++)
                    if ((value >> bit & 1) != 0)
                        entries[byte][value] ^= of_bit[8 * byte + bit];
    }
    std::uint32_t operator()(std::uint32_t sum) const {
        return entries[0][sum & 0xff] ^ entries[1][sum >> 8 & 0xff] ^ entries[2][sum >> 16 & 0xff] ^
               entries[3][sum >> 24];
    }
    std::array<std::array<std::uint32_t, 256>, 4> entries{};
};

std::uint64_t word_at(const std::uint8_t *bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

__attribute__((target("sse4.2"))) std::uint32_t with_instruction(std::uint32_t sum, const std::uint8_t *bytes,
                                                                 std::size_t size) {
    static const shift_tables shifted;
    while (size >= 3 * third) {
        std::uint64_t a = sum, b = 0, c = 0;
        for (std::size_t i = 0; i < third; i += 8) {
            a = _mm_crc32_u64(a, word_at(bytes + i));
            b = _mm_crc32_u64(b, word_at(bytes + third + i));
            c = _mm_crc32_u64(c, word_at(bytes + 2 * third + i));
        }
        const std::uint32_t ab = shifted(static_cast<std::uint32_t>(a)) ^ static_cast<std::uint32_t>(b);
        sum = shifted(ab) ^ static_cast<std::uint32_t>(c);
        bytes += 3 * third;
        size -= 3 * third;
    }
    std::uint64_t rest = sum;
    for (; size >= 8; size -= 8, bytes += 8)
        rest = _mm_crc32_u64(rest, word_at(bytes));
    sum = static_cast<std::uint32_t>(rest);
    for (; size > 0; size--, bytes++)
        sum = _mm_crc32_u8(sum, *bytes);
    return sum;
}

auto fastest() { return __builtin_cpu_supports("sse4.2") ? with_instruction : portable; }

#else

auto fastest() { return portable; }

#endif

} // namespace

std::uint32_t crc32c(const std::uint8_t *bytes, std::size_t size) {
    return ~fastest()(0xffffffff, bytes, size);
}

} // namespace octet::model
