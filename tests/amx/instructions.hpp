#pragma once // SPDX-License-Identifier: Apache-2.0

// The instructions of AMX-TILE and AMX-INT8, and vpdpbssd of AVX-VNNI-INT8, in plain C++, from Intel's
// description of the instruction set: what their bytes mean, and what they do to registers. emulator.hpp lets
// programs run them on machines without.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace octet::test::amx {

enum class operation {
    ldtilecfg,
    sttilecfg,
    tilerelease,
    tilezero,
    tileloadd,
    tileloaddt1,
    tilestored,
    tdpbssd, ///< signed bytes of the first source by signed ones of the second
    tdpbsud,
    tdpbusd,
    tdpbuud,
};

constexpr bool moves_rows(operation what) {
    return what >= operation::tileloadd && what <= operation::tilestored;
}
constexpr bool is_product(operation what) { return what >= operation::tdpbssd; }

/// [base + index * scale + displacement]; registers have their numbers in encodings.
struct address {
    static constexpr int none = -1, rip = 16;
    int base = none, index = none, scale = 1;
    std::int32_t displacement = 0;
};

struct instruction {
    operation what;
    std::size_t length = 0; ///< bytes
    int tile = 0;           ///< the tile that is written or stored
    int source1 = 0, source2 = 0;
    address memory{};
};

/// The instruction at `code`; none if it is no instruction of tile registers.
std::optional<instruction> decode(const std::uint8_t *code);

constexpr int tile_count = 8, max_rows = 16, max_row_bytes = 64;

/// The tile registers of a thread.
struct tile_state {
    int palette = 0; ///< 0: no tiles
    struct {
        int rows = 0, row_bytes = 0;
        std::uint8_t bytes[max_rows][max_row_bytes] = {};
    } tiles[tile_count];
};

/// Executes an instruction on `state`. `at` is the address of its memory operand without index, `stride` the index
/// times its scale: the distance of rows. Returns what a CPU would raise an exception for, or an empty text.
std::string execute(const instruction &what, tile_state &state, std::uint8_t *at, std::int64_t stride);

/// vpdpbssd of 256 bits: 4 products of signed bytes are added to each of 8 sums.
struct vector_product {
    static constexpr int in_memory = -1;
    std::size_t length = 0; ///< bytes
    int sums = 0, source1 = 0, source2 = in_memory;
    address memory{};
};
std::optional<vector_product> decode_vector_product(const std::uint8_t *code);

constexpr std::size_t vector_bytes = 32;
void add_products(std::uint8_t *sums, const std::uint8_t *source1, const std::uint8_t *source2);

} // namespace octet::test::amx
