// Rows and groups of vectors; the steps on a vector are stream_program_emitter's.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/stream.hpp"

#include <algorithm>

#include "common/text.hpp"
#include "jit/base/generated.hpp"
#include "jit/epilogue/epilogue.hpp"
#include "jit/kernels/stream_program_emitter.hpp"

namespace octet::impl::jit {

namespace {

class stream_kernel : public generated<const stream_args> {
public:
    stream_kernel(const stream_spec &spec, const epilogue_plan &plan);

private:
    void generate();
    void row();
    void group(int columns);
    void advance(int columns);

    const stream_spec spec_;
    const epilogue_plan &plan_;

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_src[max_stream_sources] = {rsi, rdx, rbx, r12};
    const Xbyak::Reg64 reg_dst = r8, reg_params = rcx, reg_program_params = r13, reg_full = rbp,
                       reg_groups = r9;
    const Xbyak::Reg64 reg_rows = r10, reg_row = r14, reg_address = r15;
};

} // namespace

int stream_vectors(const stream_spec &spec, const epilogue_plan &plan) {
    const int registers = spec.isa.registers();
    const int least = spec.isa.lanes() == 16 ? 1 : 2; // a group has whole blocks of columns
    const int of_program = stream_program_registers(spec), of_epilogue = plan.temps(spec.isa, spec.value);
    for (int vectors = 4; vectors >= least; vectors /= 2)
        if (vectors - 1 + of_program <= registers && vectors + of_epilogue <= registers)
            return vectors;
    return 0;
}

stream_kernel::stream_kernel(const stream_spec &spec, const epilogue_plan &plan)
    : generated(spec.isa), spec_(spec), plan_(plan) {
    generate();
    start_again(); // reads are what short programs have most of
    generate();
    finish([&] {
        return name("stream", name_of(spec.sources), name_of(spec.program), text(spec.vectors, "v"),
                    spec.rest != 0 ? text("rest", spec.rest) : "", spec.stores_past_caches ? "nt" : "",
                    plan.name());
    });
}

void stream_kernel::generate() {
    preamble();
    for (std::size_t i = 0; i < spec_.sources.size(); i++)
        mov(reg_src[i], arg(&stream_args::src, static_cast<int>(i)));
    mov(reg_dst, arg(&stream_args::dst));
    mov(reg_program_params, arg(&stream_args::program_params));
    mov(reg_params, arg(&stream_args::params));
    mov(reg_full, arg(&stream_args::full));
    mov(reg_rows, arg(&stream_args::rows));
    xor_(reg_row, reg_row);
    hold_reads();
    if (spec_.stores_past_caches)
        store_past_caches();
    if (spec_.rest % lanes() != 0)
        set_tail(spec_.rest % lanes());

    Xbyak::Label next;
    L(next);
    row();
    for (std::size_t i = 0; i < spec_.sources.size(); i++)
        add(reg_src[i], arg(&stream_args::src_step, static_cast<int>(i)));
    add(reg_row, arg(&stream_args::dst_step));
    if (spec_.varies_in_row) {
        mov(reg_program_params, arg(&stream_args::program_params));
        mov(reg_params, arg(&stream_args::params));
    }
    dec(reg_rows);
    jnz(next, T_NEAR);
    if (spec_.stores_past_caches)
        // Orders the non-temporal stores: without it another thread may see a later store first.
        sfence();
    postamble();
}

void stream_kernel::row() {
    Xbyak::Label whole, rest, done;
    const int columns = spec_.vectors * lanes();
    mov(reg_groups, arg(&stream_args::groups));
    test(reg_groups, reg_groups);
    jz(rest, T_NEAR);
    align(32);
    L(whole);
    group(columns);
    dec(reg_groups);
    jnz(whole, T_NEAR);
    L(rest);
    if (spec_.rest == 0)
        return;
    cmp(arg(&stream_args::has_rest), 0);
    je(done, T_NEAR);
    group(spec_.rest);
    L(done);
}

void stream_kernel::group(int columns) {
    const epilogue_operands operands{reg_params, reg_dst,     reg_row, reg_full,
                                     reg_rows,   reg_address, false,   !spec_.varies_in_row};
    stream_program_emitter program(
        *this, spec_,
        {reg_src, reg_program_params, reg_address, arg(&stream_args::table), plan_.bytes().is_used});
    std::vector<epilogue_result> results;
    for (int v = 0; v * lanes() < columns; v++) {
        const int valid = std::min(columns - v * lanes(), lanes());
        results.push_back(
            {program.run(v, valid), 0, spec_.varies_in_row ? v : 0, v * lanes(), valid, spec_.value});
    }
    epilogue_emitter(*this, plan_, operands).emit(results);
    for (auto r = results.rbegin(); r != results.rend(); ++r)
        give_vec(r->acc);
    advance(columns);
}

void stream_kernel::advance(int columns) {
    for (std::size_t i = 0; i < spec_.sources.size(); i++)
        if (!spec_.sources[i].is_constant_in_row)
            add(reg_src[i], columns * static_cast<int>(memory::data_type_size(spec_.sources[i].type)));
    add(reg_row, columns);
    if (spec_.varies_in_row) {
        const int blocks = columns / columns_per_block;
        add(reg_program_params, blocks * spec_.program_params * param_vector_bytes);
        add(reg_params, blocks * plan_.params().count * param_vector_bytes);
    }
}

shared_code<const stream_args> stream_code(const stream_spec &spec, const epilogue_plan &plan) {
    return shared_kernel<stream_kernel>(spec, plan);
}

} // namespace octet::impl::jit
