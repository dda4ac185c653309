// Looking up bytes: two permutes of 128 entries each and a blend, or sixteen shuffles whose results are XORed.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/byte_lookup.hpp"

namespace octet::impl::jit {

namespace {

constexpr int parts = 16;        // parts of the table, each looked up by one shuffle
constexpr int parts_of_half = 8; // parts of the codes whose bit 7 is equal

} // namespace

void load_byte_part(emitter &e, const vec &to, const Xbyak::Address &from) {
    if (e.lanes() == 16)
        e.vbroadcasti32x4(Xbyak::Zmm(to.getIdx()), from);
    else
        e.vbroadcasti128(Xbyak::Ymm(to.getIdx()), from);
}

void emit_byte_permutes(emitter &e, const vec &x, const vec &p0, const Xbyak::Operand &p1, const vec &p2,
                        const Xbyak::Operand &p3) {
    const emitter::temp upper(e);
    const emitter::mask is_upper(e);
    e.signs_of_bytes(is_upper, x);
    e.move(upper, x);
    e.vpermi2b(x, p0, p1);
    e.vpermi2b(upper, p2, p3);
    e.blend_bytes(x, is_upper, x, upper);
}

/// Shuffles of all parts up to the one that holds the entry give something; entries are stored as differences
/// to those 16 places before them (byte_table), so that XORing what was found leaves the entry: no compare,
/// no blend.
/// A shuffle gives 0 where bit 7 of the index is set. In each half indices go down by 16 from part to part,
/// and saturate, so that they stay negative once they are.
void emit_byte_shuffles(emitter &e, const vec &x,
                        const std::function<const vec &(int, const vec &)> &part_of) {
    const emitter::temp upper(e), y(e), found(e);
    e.vpxor_(upper, x, e.constant(0x80808080u));
    for (int i = 0; i < parts; i++) {
        const vec &index = i < parts_of_half ? x : upper;
        const vec &to = i == 0 ? y : found;
        e.vpshufb(to, part_of(i, to), index);
        if (i > 0)
            e.vpxor_(y, y, found);
        if (i % parts_of_half != parts_of_half - 1)
            e.vpsubsb(index, index, e.constant(0x10101010u));
    }
    e.move(x, y);
}

} // namespace octet::impl::jit
