// SPDX-License-Identifier: Apache-2.0
#include "amx/instructions.hpp"

#include <cstring>

namespace octet::test::amx {

namespace {

/// Mandatory prefixes as VEX encodes them.
enum prefix { no_prefix = 0, prefix_66 = 1, prefix_f3 = 2, prefix_f2 = 3 };

/// The three bytes of a VEX prefix, and the opcode.
struct vex {
    bool extends_reg, extends_index, extends_base, is_256;
    int vvvv;
    prefix pp;
    std::uint8_t opcode;
};

std::optional<vex> decode_vex(const std::uint8_t *code) {
    constexpr std::uint8_t three_bytes = 0xc4, map_0f38 = 2, w = 0x80, l = 0x04;
    if (code[0] != three_bytes || (code[1] & 0x1f) != map_0f38 || (code[2] & w) != 0)
        return std::nullopt;
    return vex{(code[1] & 0x80) == 0,
               (code[1] & 0x40) == 0,
               (code[1] & 0x20) == 0,
               (code[2] & l) != 0,
               ~code[2] >> 3 & 15,
               static_cast<prefix>(code[2] & 3),
               code[3]};
}

/// ModRM, SIB and displacement of a memory operand; returns its bytes.
std::size_t decode_memory(const std::uint8_t *modrm, const vex &v, address &memory) {
    constexpr int sib_follows = 4, no_index = 4, no_base = 5;
    const int mod = *modrm >> 6, rm = *modrm & 7;
    std::size_t length = 1;
    int base = rm;
    if (rm == sib_follows) {
        const int sib = modrm[length++];
        const int index = (sib >> 3 & 7) | (v.extends_index ? 8 : 0);
        memory.index = index == no_index ? address::none : index;
        memory.scale = 1 << (sib >> 6);
        base = sib & 7;
    }
    if (mod == 0 && base == no_base)
        memory.base = rm == sib_follows ? address::none : address::rip;
    else
        memory.base = base | (v.extends_base ? 8 : 0);
    if (mod == 1) {
        memory.displacement = static_cast<std::int8_t>(modrm[length]);
        length += 1;
    } else if (mod == 2 || memory.base == address::none || memory.base == address::rip) {
        std::memcpy(&memory.displacement, modrm + length, sizeof memory.displacement);
        length += sizeof memory.displacement;
    }
    return length;
}

struct encoding {
    std::uint8_t opcode;
    prefix pp;
    bool has_memory;
    operation what;
};
constexpr encoding encodings[] = {
    {0x49, no_prefix, true, operation::ldtilecfg},    {0x49, prefix_66, true, operation::sttilecfg},
    {0x49, no_prefix, false, operation::tilerelease}, {0x49, prefix_f2, false, operation::tilezero},
    {0x4b, prefix_f2, true, operation::tileloadd},    {0x4b, prefix_66, true, operation::tileloaddt1},
    {0x4b, prefix_f3, true, operation::tilestored},   {0x5e, prefix_f2, false, operation::tdpbssd},
    {0x5e, prefix_f3, false, operation::tdpbsud},     {0x5e, prefix_66, false, operation::tdpbusd},
    {0x5e, no_prefix, false, operation::tdpbuud},
};

} // namespace

std::optional<instruction> decode(const std::uint8_t *code) {
    const std::optional<vex> v = decode_vex(code);
    if (!v || v->extends_reg || v->is_256)
        return std::nullopt;
    const std::uint8_t *modrm = code + 4;
    const bool has_memory = *modrm >> 6 != 3;
    for (const encoding &e : encodings) {
        if (e.opcode != v->opcode || e.pp != v->pp || e.has_memory != has_memory)
            continue;
        instruction i{e.what};
        i.length = 4 + (has_memory ? decode_memory(modrm, *v, i.memory) : 1);
        i.tile = *modrm >> 3 & 7;
        i.source1 = *modrm & 7;
        i.source2 = v->vvvv;
        const bool has_reserved_bits = (!is_product(e.what) && v->vvvv != 0) || v->vvvv >= tile_count ||
                                       (moves_rows(e.what) && (*modrm & 7) != 4) || // these need an SIB byte
                                       (!has_memory && v->extends_base) ||
                                       (e.what == operation::tilerelease && *modrm != 0xc0) ||
                                       (e.what == operation::tilezero && i.source1 != 0) ||
                                       (e.what <= operation::sttilecfg && i.tile != 0);
        if (has_reserved_bits)
            return std::nullopt;
        return i;
    }
    return std::nullopt;
}

std::optional<vector_product> decode_vector_product(const std::uint8_t *code) {
    constexpr std::uint8_t vpdpbssd = 0x50;
    const std::optional<vex> v = decode_vex(code);
    if (!v || !v->is_256 || v->pp != prefix_f2 || v->opcode != vpdpbssd)
        return std::nullopt;
    const std::uint8_t *modrm = code + 4;
    vector_product p;
    p.sums = (*modrm >> 3 & 7) | (v->extends_reg ? 8 : 0);
    p.source1 = v->vvvv;
    if (*modrm >> 6 == 3) {
        p.source2 = (*modrm & 7) | (v->extends_base ? 8 : 0);
        p.length = 5;
    } else {
        p.length = 4 + decode_memory(modrm, *v, p.memory);
    }
    return p;
}

void add_products(std::uint8_t *sums, const std::uint8_t *source1, const std::uint8_t *source2) {
    for (std::size_t lane = 0; lane < vector_bytes; lane += 4) {
        std::uint32_t sum;
        std::memcpy(&sum, sums + lane, sizeof sum);
        for (std::size_t i = lane; i < lane + 4; i++)
            sum += static_cast<std::uint32_t>(static_cast<std::int8_t>(source1[i]) *
                                              static_cast<std::int8_t>(source2[i]));
        std::memcpy(sums + lane, &sum, sizeof sum);
    }
}

namespace {

/// The memory format of a configuration, palette 1.
struct configuration {
    std::uint8_t palette, start_row, reserved[14];
    std::uint16_t row_bytes[16];
    std::uint8_t rows[16];
};
static_assert(sizeof(configuration) == 64);

bool is_zero(const std::uint8_t *bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

std::string configure(tile_state &state, const std::uint8_t *from) {
    configuration c;
    std::memcpy(&c, from, sizeof c);
    if (c.palette > 1)
        return "ldtilecfg: an unknown palette";
    if (c.palette == 1) {
        if (c.start_row != 0) // legal, but only meant for what an exception interrupted
            return "ldtilecfg: a start row";
        if (!is_zero(c.reserved, sizeof c.reserved) ||
            !is_zero(reinterpret_cast<std::uint8_t *>(c.row_bytes + tile_count), 16) ||
            !is_zero(c.rows + tile_count, 8))
            return "ldtilecfg: reserved bytes are not zero";
        for (int t = 0; t < tile_count; t++)
            if (c.rows[t] > max_rows || c.row_bytes[t] > max_row_bytes ||
                (c.rows[t] == 0) != (c.row_bytes[t] == 0))
                return "ldtilecfg: shape of tile " + std::to_string(t);
    }
    state = tile_state();
    state.palette = c.palette;
    for (int t = 0; t < tile_count && c.palette == 1; t++) {
        state.tiles[t].rows = c.rows[t];
        state.tiles[t].row_bytes = c.row_bytes[t];
    }
    return {};
}

void store_configuration(const tile_state &state, std::uint8_t *to) {
    configuration c{};
    c.palette = static_cast<std::uint8_t>(state.palette);
    for (int t = 0; t < tile_count; t++) {
        c.rows[t] = static_cast<std::uint8_t>(state.tiles[t].rows);
        c.row_bytes[t] = static_cast<std::uint16_t>(state.tiles[t].row_bytes);
    }
    std::memcpy(to, &c, sizeof c);
}

std::string multiply(const instruction &i, tile_state &state, bool source1_is_signed,
                     bool source2_is_signed) {
    if (i.tile == i.source1 || i.tile == i.source2 || i.source1 == i.source2)
        return "product: the same tile twice";
    auto &sums = state.tiles[i.tile];
    const auto &a = state.tiles[i.source1], &b = state.tiles[i.source2];
    if (sums.rows == 0 || a.rows == 0 || b.rows == 0)
        return "product: a tile that is not configured";
    if (sums.row_bytes % 4 != 0 || a.row_bytes % 4 != 0 || a.row_bytes / 4 != b.rows || sums.rows != a.rows ||
        sums.row_bytes != b.row_bytes)
        return "product: shapes that do not fit";
    const auto number = [](std::uint8_t byte, bool is_signed) {
        return is_signed ? static_cast<std::int8_t>(byte) : static_cast<int>(byte);
    };
    // Columns side by side, so that compilers make vectors of them: most of the time of emulated tests passes here.
    int columns[max_row_bytes][max_row_bytes / 4];
    for (int k = 0; k < a.row_bytes; k++)
        for (int n = 0; n < max_row_bytes / 4; n++)
            columns[k][n] = number(b.bytes[k / 4][4 * n + k % 4], source2_is_signed);
    for (int m = 0; m < sums.rows; m++) {
        std::uint32_t row[max_row_bytes / 4];
        std::memcpy(row, sums.bytes[m], sizeof row);
        for (int k = 0; k < a.row_bytes; k++) {
            const int x = number(a.bytes[m][k], source1_is_signed);
            for (int n = 0; n < max_row_bytes / 4; n++)
                row[n] += static_cast<std::uint32_t>(x * columns[k][n]);
        }
        std::memcpy(sums.bytes[m], row, static_cast<std::size_t>(sums.row_bytes));
    }
    return {};
}

} // namespace

std::string execute(const instruction &i, tile_state &state, std::uint8_t *at, std::int64_t stride) {
    auto &tile = state.tiles[i.tile];
    const auto row_bytes = static_cast<std::size_t>(tile.row_bytes);
    if ((i.what == operation::tilezero || moves_rows(i.what)) && tile.rows == 0)
        return "a tile that is not configured";
    switch (i.what) {
    case operation::ldtilecfg:
        return configure(state, at);
    case operation::sttilecfg:
        store_configuration(state, at);
        break;
    case operation::tilerelease:
        state = tile_state();
        break;
    case operation::tilezero:
        std::memset(tile.bytes, 0, sizeof tile.bytes);
        break;
    case operation::tileloadd:
    case operation::tileloaddt1:
        std::memset(tile.bytes, 0, sizeof tile.bytes);
        for (int r = 0; r < tile.rows; r++)
            std::memcpy(tile.bytes[r], at + r * stride, row_bytes);
        break;
    case operation::tilestored:
        for (int r = 0; r < tile.rows; r++)
            std::memcpy(at + r * stride, tile.bytes[r], row_bytes);
        break;
    case operation::tdpbssd:
        return multiply(i, state, true, true);
    case operation::tdpbsud:
        return multiply(i, state, true, false);
    case operation::tdpbusd:
        return multiply(i, state, false, true);
    case operation::tdpbuud:
        return multiply(i, state, false, false);
    }
    return {};
}

} // namespace octet::test::amx
