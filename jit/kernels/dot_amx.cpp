// Tiles of sums and the reduction in steps, then the way of sums over the stack into vectors for the epilogue.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/dot_amx.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "common/text.hpp"
#include "jit/base/generated.hpp"
#include "jit/epilogue/epilogue.hpp"
#include "jit/kernels/dot_generator.hpp"

namespace octet::impl::jit {

using Xbyak::Tmm;

namespace {

constexpr int block_quad_bytes = 64; // one quad of a block of 16 columns

class amx_dot_kernel : public generated<dot_args> {
public:
    amx_dot_kernel(const dot_spec &spec, const epilogue_plan &plan);

private:
    /// Which tile of sources or of weights each of some registers has.
    struct tile_pool {
        int first_register, registers;
        int held[2] = {-1, -1};
        int next = 0;
    };

    void generate();
    void configure();
    void tile();
    void initialise();
    void reduce();
    void reduce_tap();
    void step(std::int64_t quads, bool is_last);
    template <typename Load> Xbyak::Tmm held(tile_pool &pool, int wanted, const Load &load);
    void multiply(const Xbyak::Tmm &acc, const Xbyak::Tmm &source, const Xbyak::Tmm &weights);
    void store_sums();
    void finish_tile();
    void finish_rows(int rows);
    void advance();

    int row_tiles() const { return spec_.rows > spec_.tile_rows ? 2 : 1; }
    /// First row of a tile: the last one ends with the rows.
    int first_row(int row_tile) const { return row_tile == 0 ? 0 : spec_.rows - spec_.tile_rows; }
    Xbyak::Tmm acc(int row_tile, int v) const { return Xbyak::Tmm(row_tile * spec_.vectors + v); }
    std::int64_t block_bytes() const;
    int sum_row_bytes() const { return spec_.vectors * vector_bytes(); }
    int sum_bytes() const { return spec_.rows * sum_row_bytes(); }
    int valid(int v) const { return v == spec_.vectors - 1 ? spec_.tail : lanes(); }

    const dot_spec spec_;
    const epilogue_plan &plan_;
    const tile_shapes shapes_;

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_src = rsi, reg_weights = rdx, reg_params = rcx, reg_dst = r8, reg_tiles = r9;
    const Xbyak::Reg64 reg_row = r14, reg_address = r15;
    // In the reduction:
    const Xbyak::Reg64 reg_tap_src = rbx, reg_steps = rax, reg_taps = r12, reg_tap_offsets = r13;
    const Xbyak::Reg64 reg_row_stride = rbp,
                       reg_line = r10; ///< distances of rows: of the source, of 64 bytes
    // In the epilogue:
    const Xbyak::Reg64 reg_sums = rbx, reg_rows = rax, reg_full = rbp, reg_row_sums = r10;
};

} // namespace

tile_shapes amx_shapes(int tile_rows, std::int64_t quads) {
    const std::int64_t fewest = (quads + most_amx_quads - 1) / most_amx_quads;
    for (std::int64_t steps = fewest; steps <= fewest + fewest / 4; steps++)
        if (quads % steps == 0)
            return {tile_rows, static_cast<int>(quads / steps), 0};
    return {tile_rows, most_amx_quads, static_cast<int>(quads % most_amx_quads)};
}

amx_dot_kernel::amx_dot_kernel(const dot_spec &spec, const epilogue_plan &plan)
    : generated(spec.isa), spec_(spec), plan_(plan), shapes_(amx_shapes(spec.tile_rows, spec.quads)) {
    generate();
    finish([&] {
        return name(spec.products == dot_products::signed_tiles ? "signed_amx_dot" : "amx_dot",
                    text(spec.rows, "x", spec.vectors), text("t", spec.taps), text("q", spec.quads),
                    spec.tail != lanes() ? text("tail", spec.tail) : "", plan.name());
    });
}

/// Bytes between the same columns of neighbouring blocks.
std::int64_t amx_dot_kernel::block_bytes() const { return spec_.taps * spec_.quads * block_quad_bytes; }

void amx_dot_kernel::generate() {
    preamble();
    configure();
    mov(reg_src, arg(&dot_args::src));
    mov(reg_params, arg(&dot_args::params));
    mov(reg_dst, arg(&dot_args::dst));
    mov(reg_tiles, arg(&dot_args::tiles));
    xor_(reg_row, reg_row);
    if (spec_.tail != lanes())
        set_tail(spec_.tail);
    // Sums lie on the stack, lines at their multiples, the former stack pointer behind them.
    mov(reg_address, rsp);
    sub(rsp, sum_bytes() + 64);
    and_(rsp, -64);
    mov(ptr[rsp + sum_bytes()], reg_address);

    Xbyak::Label next;
    L(next);
    mov(reg_weights, arg(&dot_args::weights));
    mov(reg_row_stride, spec_.row_stride);
    mov(reg_line, block_quad_bytes);
    initialise();
    if (reads_dst(plan_.source()))
        prefetch_dst(*this, spec_, plan_.source(), {reg_dst, reg_row, reg_address});
    reduce();
    store_sums();
    finish_tile();
    advance();
    dec(reg_tiles);
    jnz(next, T_NEAR);

    mov(rsp, ptr[rsp + sum_bytes()]);
    postamble();
}

/// Unless the thread has these shapes already.
void amx_dot_kernel::configure() {
    constexpr int row_bytes = 64;
    struct { // as the instruction reads it
        std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
        std::uint16_t row_bytes[16] = {};
        std::uint8_t rows[16] = {};
    } configuration;
    const auto set = [&](int tile, int rows, int bytes) {
        configuration.rows[tile] = static_cast<std::uint8_t>(rows);
        configuration.row_bytes[tile] = static_cast<std::uint16_t>(bytes);
    };
    for (int t = 0; t < tile_shapes::accumulators; t++)
        set(t, shapes_.rows, row_bytes);
    const int per_pool = shapes_.last_quads > 0 ? 1 : 2;
    for (int p = 0, t = tile_shapes::first_source; p < 2; p++) {
        const int quads = p == 0 || per_pool == 2 ? shapes_.quads : shapes_.last_quads;
        if (per_pool == 2) { // two sources, then two weights
            for (int i = 0; i < 2; i++, t++)
                p == 0 ? set(t, shapes_.rows, quads * bytes_per_quad) : set(t, quads, row_bytes);
        } else { // a source and weights, then those of the last step
            set(t++, shapes_.rows, quads * bytes_per_quad);
            set(t++, quads, row_bytes);
        }
    }
    std::vector<std::uint32_t> words(sizeof configuration / sizeof(std::uint32_t));
    std::memcpy(words.data(), &configuration, sizeof configuration);

    Xbyak::Label is_configured;
    mov(reg_address, arg(&dot_args::configured_tiles));
    mov(reg_steps, shapes_.key());
    cmp(ptr[reg_address], reg_steps);
    je(is_configured, T_NEAR);
    ldtilecfg(table(words));
    mov(ptr[reg_address], reg_steps);
    L(is_configured);
}

/// Accumulators start at the folded bias: its line is loaded as each row.
void amx_dot_kernel::initialise() {
    mov(reg_address, arg(&dot_args::initial));
    xor_(reg_steps, reg_steps);
    for (int v = 0; v < spec_.vectors; v++)
        for (int r = 0; r < row_tiles(); r++)
            tileloadd(acc(r, v), ptr[reg_address + reg_steps + v * vector_bytes()]);
}

void amx_dot_kernel::reduce() {
    if (spec_.taps == 1) {
        mov(reg_tap_src, reg_src);
        reduce_tap();
        return;
    }
    Xbyak::Label tap;
    mov(reg_tap_offsets, arg(&dot_args::tap_offsets));
    mov(reg_taps, arg(&dot_args::taps));
    align(64);
    L(tap);
    mov(reg_tap_src, ptr[reg_tap_offsets]);
    add(reg_tap_src, reg_src);
    reduce_tap();
    add(reg_tap_offsets, static_cast<std::uint32_t>(sizeof(std::int64_t)));
    dec(reg_taps);
    jnz(tap, T_NEAR);
}

/// All quads of one tap; leaves the weights cursor behind them.
void amx_dot_kernel::reduce_tap() {
    const std::int64_t steps = spec_.quads / shapes_.quads;
    if (steps == 1) {
        step(shapes_.quads, false);
    } else if (steps > 1) {
        Xbyak::Label loop;
        mov(reg_steps, steps);
        align(64);
        L(loop);
        step(shapes_.quads, false);
        dec(reg_steps);
        jnz(loop, T_NEAR);
    }
    if (shapes_.last_quads > 0)
        step(shapes_.last_quads, true);
}

/// The register of a pool that has the wanted tile, which is loaded if none has.
template <typename Load> Tmm amx_dot_kernel::held(tile_pool &pool, int wanted, const Load &load) {
    for (int i = 0; i < pool.registers; i++)
        if (pool.held[i] == wanted)
            return Tmm(pool.first_register + i);
    const int i = pool.next;
    pool.next = (i + 1) % pool.registers;
    pool.held[i] = wanted;
    const Tmm tile(pool.first_register + i);
    load(tile);
    return tile;
}

/// Products of `quads` quads of all rows and columns; advances the cursors. Columns go back and forth, so that
/// neighbouring products share a tile.
void amx_dot_kernel::step(std::int64_t quads, bool is_last) {
    const int first = tile_shapes::first_source;
    tile_pool sources{first, 2}, weights{first + 2, 2};
    if (shapes_.last_quads > 0) {
        sources = {is_last ? first + 2 : first, 1};
        weights = {is_last ? first + 3 : first + 1, 1};
    }
    for (int r = 0; r < row_tiles(); r++)
        for (int i = 0; i < spec_.vectors; i++) {
            const int v = r % 2 == 0 ? i : spec_.vectors - 1 - i;
            const Tmm source = held(sources, r, [&](const Tmm &to) {
                tileloadd(to, ptr[reg_tap_src + reg_row_stride + first_row(r) * spec_.row_stride]);
            });
            const Tmm columns = held(weights, v, [&](const Tmm &to) {
                tileloadd(to, ptr[reg_weights + reg_line + v * block_bytes()]);
            });
            multiply(acc(r, v), source, columns);
        }
    add(reg_tap_src, static_cast<std::uint32_t>(quads * bytes_per_quad));
    add(reg_weights, static_cast<std::uint32_t>(quads * block_quad_bytes));
}

void amx_dot_kernel::multiply(const Tmm &acc, const Tmm &source, const Tmm &weights) {
    spec_.products == dot_products::signed_tiles ? tdpbssd(acc, source, weights)
                                                 : tdpbusd(acc, source, weights);
}

void amx_dot_kernel::store_sums() {
    mov(reg_steps, sum_row_bytes());
    for (int r = 0; r < row_tiles(); r++)
        for (int v = 0; v < spec_.vectors; v++)
            tilestored(ptr[rsp + reg_steps + first_row(r) * sum_row_bytes() + v * vector_bytes()], acc(r, v));
}

void amx_dot_kernel::finish_tile() {
    constexpr int results_per_iteration = 8; // of byte results four are packed together
    const int rows = std::min(spec_.rows, spec_.vectors == 3 ? 4 : results_per_iteration / spec_.vectors);
    const int iterations = spec_.rows / rows;
    mov(reg_full, arg(&dot_args::full));
    mov(reg_row_sums, arg(&dot_args::row_sums));
    mov(reg_sums, rsp);
    const auto next_rows = [&] {
        add(reg_sums, rows * sum_row_bytes());
        add(reg_row_sums, rows * static_cast<int>(sizeof(std::int32_t)));
        add(reg_row, static_cast<std::uint32_t>(rows * spec_.dst_row_stride));
    };
    Xbyak::Label loop;
    mov(reg_rows, iterations);
    align(32);
    L(loop);
    finish_rows(rows);
    next_rows();
    dec(reg_rows);
    jnz(loop, T_NEAR);
    if (const int rest = spec_.rows % rows)
        finish_rows(rest);
    sub(reg_row, static_cast<std::uint32_t>(iterations * rows * spec_.dst_row_stride));
}

void amx_dot_kernel::finish_rows(int rows) {
    const int at_a_time = std::min(4, free_vecs() - plan_.temps(isa()));
    std::vector<vec> sums;
    for (int i = 0; i < std::min(at_a_time, rows * spec_.vectors); i++)
        sums.push_back(take_vec());
    std::vector<epilogue_result> results;
    const auto emit_results = [&] {
        epilogue_emitter(*this, plan_, {reg_params, reg_dst, reg_row, reg_full, reg_row_sums, reg_address})
            .emit(results);
        results.clear();
    };
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < spec_.vectors; v++) {
            const vec &sum = sums[results.size()];
            move(sum, ptr[reg_sums + r * sum_row_bytes() + v * vector_bytes()]);
            results.push_back({sum, r, v, r * spec_.dst_row_stride + std::int64_t{v} * lanes(), valid(v)});
            if (results.size() == sums.size())
                emit_results();
        }
    if (!results.empty())
        emit_results();
    for (auto sum = sums.rbegin(); sum != sums.rend(); ++sum)
        give_vec(*sum);
}

void amx_dot_kernel::advance() {
    const auto move_on = [this](const auto &what, std::int64_t dot_args::*step) {
        mov(reg_address, arg(step));
        add(what, reg_address);
    };
    move_on(reg_src, &dot_args::src_step);
    move_on(arg(&dot_args::weights), &dot_args::weights_step);
    move_on(arg(&dot_args::initial), &dot_args::initial_step);
    move_on(reg_params, &dot_args::params_step);
    move_on(reg_row, &dot_args::dst_step);
    move_on(arg(&dot_args::row_sums), &dot_args::row_sums_step);
}

shared_code<dot_args> amx_dot_code(const dot_spec &spec, const epilogue_plan &plan) {
    return shared_kernel<amx_dot_kernel>(spec, plan);
}

} // namespace octet::impl::jit
