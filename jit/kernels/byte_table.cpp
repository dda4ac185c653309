// Loads the table, loops over vectors of each row, and finishes a row with a masked vector or byte by byte.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/byte_table.hpp"

#include <cstddef>
#include <cstring>

#include "common/text.hpp"
#include "jit/base/generated.hpp"
#include "jit/epilogue/byte_lookup.hpp"

namespace octet::impl::jit {

namespace {

constexpr int part = 16;               // entries that one shuffle looks up
constexpr int parts = 256 / part;      // parts of the table
constexpr int vectors_in_flight = 4;   // hides the latency of permutes
constexpr int vectors_of_shuffles = 2; // more would need more registers

class byte_table_kernel : public generated<const byte_table_args> {
public:
    explicit byte_table_kernel(const byte_table_spec &spec);

private:
    void generate();
    void load_table();
    void row();
    void look_up(const vec &x);
    void vectors(int count);
    void tail();

    const byte_table_spec spec_;
    std::vector<vec> table_; ///< the table, if registers suffice

    const Xbyak::Reg64 reg_src = rsi, reg_dst = r8, reg_table = rdx, reg_columns = rcx, reg_rows = r9;
    const Xbyak::Reg64 reg_row_src = rbx, reg_row_dst = rbp, reg_entry = rax;
    const Xbyak::Opmask k_valid = k7; // the emitter's tail mask, which is not set here
};

} // namespace

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
        // Orders the non-temporal stores: without it another thread may see a later store first.
        sfence();
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

shared_code<const byte_table_args> byte_table_code(const byte_table_spec &spec) {
    return shared_kernel<byte_table_kernel>(spec);
}

} // namespace octet::impl::jit
