#include "jit/kernels/byte_table.hpp"

#include <cstddef>
#include <cstring>

#include "common/text.hpp"

namespace octet::impl::jit {

namespace {

constexpr int part = 16;               // entries that one shuffle looks up
constexpr int parts = 256 / part;      // of the table
constexpr int parts_of_half = 8;       // of the codes whose bit 7 is equal
constexpr int vectors_in_flight = 4;   // hides the latency of permutes
constexpr int vectors_of_shuffles = 2; // more would need more registers

} // namespace

byte_table::byte_table(const std::uint8_t *from) {
    std::memcpy(entries, from, sizeof entries);
    for (int i = 0; i < 256; i++)
        differences[i] =
            i % 128 < part ? entries[i] : static_cast<std::uint8_t>(entries[i] ^ entries[i - part]);
}

byte_table_kernel::byte_table_kernel(const byte_table_spec &spec) : generated(spec.isa), spec_(spec) {
    generate();
    finish([&] {
        const char *lookup = spec.isa.byte_permutes ? "permutes" : "shuffles";
        return name("byte_table", spec.looks_up ? lookup : "copy", spec.is_nontemporal ? "nt" : "");
    });
}

void byte_table_kernel::generate() {
    preamble();
    mov(reg_src, arg(&byte_table_args::src));
    mov(reg_dst, arg(&byte_table_args::dst));
    mov(reg_table, arg(&byte_table_args::table));
    mov(reg_rows, arg(&byte_table_args::rows));
    load_table();
    Xbyak::Label next;
    L(next);
    mov(reg_row_src, reg_src);
    mov(reg_row_dst, reg_dst);
    mov(reg_columns, arg(&byte_table_args::columns));
    row();
    add(reg_src, arg(&byte_table_args::src_step));
    add(reg_dst, arg(&byte_table_args::dst_step));
    dec(reg_rows);
    jnz(next, T_NEAR);
    if (spec_.is_nontemporal)
        sfence(); // other threads see these stores as they see others
    postamble();
}

/// Two vectors per half with VBMI, else all parts, each in every 128 bits; 16 registers are too few for them.
void byte_table_kernel::load_table() {
    const int of_shuffles = vector_count() == 32 ? parts : 0;
    const int registers = !spec_.looks_up ? 0 : isa().byte_permutes ? 4 : of_shuffles;
    for (int i = 0; i < registers; i++) {
        table_.push_back(take_vec());
        if (isa().byte_permutes)
            move(table_.back(), field(reg_table, &byte_table::entries, i * 64));
        else
            load_byte_part(*this, table_.back(), field(reg_table, &byte_table::differences, i * part));
    }
}

void byte_table_kernel::row() {
    const int most = spec_.looks_up && !isa().byte_permutes ? vectors_of_shuffles : vectors_in_flight;
    while_left(reg_columns, vector_bytes(), {reg_row_src, reg_row_dst}, vector_bytes(), most,
               [this](int count) { vectors(count); });
    tail();
}

void byte_table_kernel::vectors(int count) {
    for (int v = 0; v < count; v++) {
        const temp x(*this);
        move(x, ptr[reg_row_src + v * vector_bytes()]);
        look_up(x);
        const Xbyak::Address to = ptr[reg_row_dst + v * vector_bytes()];
        spec_.is_nontemporal ? vmovntps(to, x.get()) : vmovups(to, x.get());
    }
}

void byte_table_kernel::tail() {
    Xbyak::Label done, next;
    test(reg_columns, reg_columns);
    jz(done, T_NEAR);
    if (lanes() == 16) {
        const temp x(*this);
        mov(reg_entry, -1);
        bzhi(reg_entry, reg_entry, reg_columns);
        kmovq(k_valid, reg_entry);
        vmovdqu8(x.get() | k_valid | T_z, ptr[reg_row_src]);
        look_up(x);
        vmovdqu8(ptr[reg_row_dst] | k_valid, x);
    } else { // byte by byte: an overlapping vector would be wrong in place
        L(next);
        movzx(reg_entry.cvt32(), byte[reg_row_src]);
        if (spec_.looks_up)
            mov(reg_entry.cvt8(), byte[reg_table + reg_entry + offset_of(&byte_table::entries)]);
        mov(byte[reg_row_dst], reg_entry.cvt8());
        inc(reg_row_src);
        inc(reg_row_dst);
        dec(reg_columns);
        jnz(next);
    }
    L(done);
}

void byte_table_kernel::look_up(const vec &x) {
    if (!spec_.looks_up)
        return;
    if (isa().byte_permutes)
        emit_byte_permutes(*this, x, table_[0], table_[1], table_[2], table_[3]);
    else
        emit_byte_shuffles(*this, x, [this](int i, const vec &to) -> const vec & {
            if (!table_.empty())
                return table_[static_cast<std::size_t>(i)];
            load_byte_part(*this, to, field(reg_table, &byte_table::differences, i * part));
            return to;
        });
}

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
