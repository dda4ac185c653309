#pragma once

// dst(i) = table[src(i)] for bytes, by permutes: with AVX512_VBMI two of 128 entries each, without it sixteen
// of 16 entries. Without a table the same rows are copied.

#include <cstdint>
#include <functional>
#include <vector>

#include "jit/base/generated.hpp"

namespace octet::impl::jit {

/// The table as kernels read it.
struct byte_table {
    byte_table() = default;
    explicit byte_table(const std::uint8_t *entries);
    alignas(64) std::uint8_t entries[256];
    /// Entries of every half table XORed with those 16 places before them: XORing what all permutes up to
    /// the right one give leaves its own.
    alignas(64) std::uint8_t differences[256];
};

/// `rows` rows of `columns` bytes.
struct byte_table_args {
    const void *src;
    void *dst;
    const byte_table *table;
    std::int64_t rows, columns;
    std::int64_t src_step, dst_step; ///< bytes from row to row
};

struct byte_table_spec {
    instruction_set isa;
    bool looks_up = false;       ///< else a copy
    bool is_nontemporal = false; ///< wants rows of dst that begin at cache lines
};

/// x = entries[x] for the bytes of x, with the table's four vectors `p0` to `p3`. Takes one more.
void emit_byte_permutes(emitter &e, const vec &x, const vec &p0, const Xbyak::Operand &p1, const vec &p2,
                        const Xbyak::Operand &p3);
/// The same by 16 shuffles: part(i, to) says where the differences of part i are, once in every 128 bits; it
/// may load them into `to`. Takes three more.
void emit_byte_shuffles(emitter &e, const vec &x,
                        const std::function<const vec &(int i, const vec &to)> &part);
/// Loads 16 bytes into every 128 bits.
void load_byte_part(emitter &e, const vec &to, const Xbyak::Address &from);

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
    std::vector<vec> table_; ///< where registers suffice

    const Xbyak::Reg64 reg_src = rsi, reg_dst = r8, reg_table = rdx, reg_columns = rcx, reg_rows = r9;
    const Xbyak::Reg64 reg_row_src = rbx, reg_row_dst = rbp, reg_entry = rax;
    const Xbyak::Opmask k_valid = k7; // the emitter's tail mask, which is not set here
};

} // namespace octet::impl::jit
