// Tiles of sums and the reduction in steps, with the epilogue of the tile before among them.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/dot_amx_generator.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "common/text.hpp"

namespace octet::impl::jit {

using Xbyak::Tmm;

amx_dot_kernel::amx_dot_kernel(const dot_spec &spec, const epilogue_plan &plan)
    : generated(spec.isa), spec_(spec), plan_(plan),
      shapes_(spec.tiling.gathered.pieces > 0 ? amx_shapes_of_gathered(spec.tiling.rows, spec.quads)
                                              : amx_shapes(spec.tiling.rows, spec.quads)),
      registers_(amx_row_tiles(
          spec.rows, spec.tiling.rows, spec.tiling.lines,
          static_cast<int>(spec.tiling.line_stride / std::max<std::int64_t>(1, spec.row_stride)))),
      temps_(plan.temps(isa())) {
    generate();
    finish([&] {
        return name(spec.products == dot_products::signed_tiles ? "signed_amx_dot" : "amx_dot",
                    text(spec.rows, "x", spec.vectors),
                    spec.tiling.lines > 1 ? text("lines", spec.tiling.lines) : "", text("t", spec.taps),
                    text("q", spec.quads), gathers() ? text("pieces", spec.tiling.gathered.pieces) : "",
                    spec.tail != lanes() ? text("tail", spec.tail) : "", plan.name());
    });
}

/// Bytes between the same columns of neighbouring blocks.
std::int64_t amx_dot_kernel::block_bytes() const { return spec_.taps * spec_.quads * block_quad_bytes; }

/// A tile is finished while the next one is multiplied. Storing sums right behind their last products would make the
/// products that follow wait.
void amx_dot_kernel::generate() {
    preamble();
    configure();
    mov(reg_params, arg(&dot_args::params));
    mov(reg_dst, arg(&dot_args::dst));
    mov(reg_full, arg(&dot_args::full));
    if (!gathers())
        mov(reg_row_sums, arg(&dot_args::row_sums));
    xor_(reg_row, reg_row);
    if (spec_.tail != lanes())
        set_tail(spec_.tail);
    // Sums lie on the stack, lines at their multiples, the former stack pointer behind them.
    mov(reg_address, rsp);
    sub(rsp, sum_bytes() + slots * 8);
    and_(rsp, -64);
    mov(stack(former_stack_pointer), reg_address);
    mov(reg_address, arg(&dot_args::tiles_per_turn));
    mov(stack(tiles_to_multiply), reg_address);
    mov(stack(tiles_to_finish), reg_address);
    if (spec_.order.keeps_sums) {
        mov(stack(sums_of_former), rsp);
        mov(reg_address, arg(&dot_args::initial_row_stride));
        imul(reg_address, reg_address, first_row(registers_.count - 1));
        mov(stack(register_distance), reg_address);
    }
    mov(reg_row_stride, spec_.row_stride);
    mov(reg_line, block_quad_bytes);
    if (gathers())
        gather_first_tiles();

    Xbyak::Label multiply, finish, is_finished, end;
    mov(reg_sums, no_tile());
    jmp(multiply, T_NEAR);
    L(finish);
    rest_of_tile();
    to_next_results();
    L(is_finished);
    xor_(reg_sums, reg_sums);
    if (spec_.order.keeps_sums)
        keep_sums();
    dec(arg(&dot_args::tiles));
    jg(multiply, T_NEAR);
    jl(end, T_NEAR);
    store_last_sums();
    if (spec_.order.keeps_sums) {
        cmp(arg(&dot_args::sums), 0);
        jne(end, T_NEAR);
    }
    jmp(finish, T_NEAR);
    L(multiply);
    multiply_tile();
    cmp(reg_sums, no_tile());
    jne(finish, T_NEAR);
    jmp(is_finished, T_NEAR);
    L(end);
    mov(rsp, stack(former_stack_pointer));
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

void amx_dot_kernel::multiply_tile() {
    if (reads_dst(plan_.source()))
        prefetch_results();
    mov(reg_weights, arg(&dot_args::weights));
    gathers() ? find_gathered_tile() : mov(reg_tap_src, arg(&dot_args::src));
    if (spec_.taps > 1) {
        mov(reg_tap_offsets, arg(&dot_args::tap_offsets));
        add(reg_tap_src, ptr[reg_tap_offsets]);
    }
    first_step();
    gathers() ? later_steps_of_gathered() : later_steps();
    choose_steps(tiles_to_multiply);
    advance(arg(&dot_args::src), &dot_args::src_step);
    advance(arg(&dot_args::weights), &dot_args::weights_step);
    advance(arg(&dot_args::initial), &dot_args::initial_step);
    if (spec_.lines_ahead > 0)
        advance(arg(&dot_args::ahead), &dot_args::ahead_step);
}

/// Sums of the tile before make room for the folded bias, whose line is loaded as each row, or for sums that are kept.
/// Before the first tile they mean nothing.
void amx_dot_kernel::first_step() {
    const Xbyak::Reg64 &reg_initial_row_stride = gathers() ? reg_scratch : reg_tap_offsets,
                       &reg_sums_of_former = reg_scratch;
    mov(reg_address, arg(&dot_args::initial));
    mov(reg_steps, sum_row_bytes());
    if (spec_.order.keeps_sums) {
        mov(reg_initial_row_stride, arg(&dot_args::initial_row_stride));
        mov(reg_sums_of_former, stack(sums_of_former));
    } else {
        xor_(reg_initial_row_stride, reg_initial_row_stride);
    }
    const auto start = [&](int r, int v) {
        if (spec_.order.keeps_sums && r > 0 && v == (r % 2 == 0 ? 0 : spec_.vectors - 1))
            add(reg_address, stack(register_distance));
        tilestored(sums_at(spec_.order.keeps_sums ? reg_sums_of_former : rsp, r, v), acc(r, v));
        tileloadd(acc(r, v), ptr[reg_address + reg_initial_row_stride + vector_offset(v)]);
    };
    for (const auto &emit : step(shapes_.quads, false, start))
        emit();
}

/// All steps of all taps but the first one, with portions of the epilogue among them until none are left.
void amx_dot_kernel::later_steps() {
    Xbyak::Label tap, loop, next;
    const std::int64_t steps = spec_.quads / shapes_.quads;
    if (spec_.taps > 1) {
        mov(reg_address, arg(&dot_args::tap_offsets));
        mov(stack(next_tap), reg_address);
        mov(reg_address, arg(&dot_args::taps));
        mov(stack(taps_left), reg_address);
    }
    if (spec_.lines_ahead > 0)
        mov(reg_ahead, arg(&dot_args::ahead));
    const std::int64_t later = amx_fetching_steps(spec_.taps, spec_.quads);
    if (later > 0) {
        mov(reg_steps, steps);
        jmp(next, T_NEAR);
        align(64);
        L(tap);
        if (spec_.taps > 1) {
            mov(reg_steps, stack(next_tap));
            mov(reg_tap_src, ptr[reg_steps]);
            add(reg_tap_src, arg(&dot_args::src));
        }
        mov(reg_steps, steps);
        L(loop);
        step_among_results(shapes_.quads, false, later);
        L(next);
        dec(reg_steps);
        jnz(loop, T_NEAR);
    }
    if (shapes_.last_quads > 0)
        for (const auto &emit : step(shapes_.last_quads, true))
            emit();
    if (spec_.taps > 1) {
        add(stack(next_tap), static_cast<std::uint32_t>(sizeof(std::int64_t)));
        dec(stack(taps_left));
        jnz(tap, T_NEAR);
    }
}

/// A step with portions of the epilogue, or by itself if none are left. `later` steps share all portions.
void amx_dot_kernel::step_among_results(std::int64_t quads, bool is_last, std::int64_t later) {
    Xbyak::Label alone, next;
    const int count = portions_of_step(later);
    cmp(reg_sums, (portions() - count + 1) * portion_bytes());
    jae(alone, T_NEAR);
    portions_among(step(quads, is_last), count);
    jmp(next, T_NEAR);
    L(alone);
    for (const auto &emit : step(quads, is_last))
        emit();
    L(next);
}

/// The register of a pool that has the wanted tile, which is loaded if none has.
template <typename Load>
Tmm amx_dot_kernel::held(tile_pool &pool, int wanted, instructions &code, const Load &load) {
    for (int i = 0; i < pool.registers; i++)
        if (pool.held[i] == wanted)
            return Tmm(pool.first_register + i);
    const int i = pool.next;
    pool.next = (i + 1) % pool.registers;
    pool.held[i] = wanted;
    const Tmm tile(pool.first_register + i);
    code.push_back([=] { load(tile); });
    return tile;
}

/// Products of `quads` quads of all rows and columns, then the cursors' advance; `start` comes in front of each
/// product. Columns go back and forth, so that neighbouring products share a tile.
amx_dot_kernel::instructions amx_dot_kernel::step(std::int64_t quads, bool is_last,
                                                  const std::function<void(int, int)> &start) {
    instructions code;
    const int first = tile_shapes::first_source;
    tile_pool sources{first, 2}, weights{first + 2, 2};
    if (shapes_.last_quads > 0) {
        sources = {is_last ? first + 2 : first, 1};
        weights = {is_last ? first + 3 : first + 1, 1};
    }
    const bool fetches_ahead = spec_.lines_ahead > 0 && !start && !is_last;
    const instructions fetches = gathers() ? copies_of_step() : fetches_of_step(quads, fetches_ahead);
    const std::size_t products = static_cast<std::size_t>(registers_.count * spec_.vectors);
    std::size_t product = 0, fetched = 0;
    for (int r = 0; r < registers_.count; r++)
        for (int i = 0; i < spec_.vectors; i++) {
            const int v = r % 2 == 0 ? i : spec_.vectors - 1 - i;
            if (start)
                code.push_back([=] { start(r, v); });
            const Tmm source = held(sources, r, code, [this, r](const Tmm &to) {
                load_tile(to, ptr[reg_tap_src + reg_row_stride + first_source(r)],
                          spec_.order.streams == streamed::rows);
            });
            const Tmm columns = held(weights, v, code, [this, v](const Tmm &to) {
                load_tile(to, ptr[reg_weights + reg_line + v * block_bytes()],
                          spec_.order.streams == streamed::weights);
            });
            code.push_back([=] { multiply(acc(r, v), source, columns); });
            for (product++; fetched * products < fetches.size() * product; fetched++)
                code.push_back(fetches[fetched]);
        }
    code.push_back([this, quads] {
        add(reg_tap_src, static_cast<std::uint32_t>(quads * bytes_per_quad));
        add(reg_weights, static_cast<std::uint32_t>(quads * block_quad_bytes));
    });
    return code;
}

/// Cache lines of the weights of a later call, for the second-level cache, and of these weights for the first one.
amx_dot_kernel::instructions amx_dot_kernel::fetches_of_step(std::int64_t quads, bool fetches_ahead) {
    instructions code;
    const std::int64_t of_vector = spec_.lines_ahead * cache_line,
                       distance = spec_.order.fetches_on ? of_vector : block_bytes();
    for (int v = 0; v < spec_.vectors; v++) {
        for (int line = 0; fetches_ahead && line < spec_.lines_ahead; line++)
            code.push_back([=] { prefetcht1(ptr[reg_ahead + v * distance + line * cache_line]); });
        for (int line = 0; spec_.order.own_lines_ahead > 0 && line < quads; line++)
            code.push_back([=] {
                prefetcht0(
                    ptr[reg_weights + v * block_bytes() + (spec_.order.own_lines_ahead + line) * cache_line]);
            });
    }
    if (fetches_ahead)
        code.push_back([=] {
            add(reg_ahead,
                static_cast<std::uint32_t>(of_vector * (spec_.order.fetches_on ? spec_.vectors : 1)));
        });
    return code;
}

void amx_dot_kernel::multiply(const Tmm &acc, const Tmm &source, const Tmm &weights) {
    spec_.products == dot_products::signed_tiles ? tdpbssd(acc, source, weights)
                                                 : tdpbusd(acc, source, weights);
}

/// Of the tile that has no successor.
void amx_dot_kernel::store_last_sums() {
    mov(reg_steps, sum_row_bytes());
    if (spec_.order.keeps_sums)
        mov(reg_scratch, stack(sums_of_former));
    for (int r = 0; r < registers_.count; r++)
        for (int v = 0; v < spec_.vectors; v++)
            tilestored(sums_at(spec_.order.keeps_sums ? reg_scratch : rsp, r, v), acc(r, v));
}

/// Where the tile that is multiplied now stores its sums later. If they are kept, nothing is to be finished.
void amx_dot_kernel::keep_sums() {
    Xbyak::Label are_finished;
    mov(reg_address, arg(&dot_args::sums));
    test(reg_address, reg_address);
    jz(are_finished);
    mov(stack(sums_of_former), reg_address);
    add(arg(&dot_args::sums), sum_bytes());
    mov(reg_sums, no_tile());
    L(are_finished);
}

/// Turns lie as steps do.
constexpr int bytes_to_turns = offsetof(dot_args, src_turn) - offsetof(dot_args, src_step);
static_assert(bytes_to_turns == offsetof(dot_args, row_sums_turn) - offsetof(dot_args, row_sums_step));
static_assert(bytes_to_turns == offsetof(dot_args, ahead_turn) - offsetof(dot_args, ahead_step));

/// From here on, steps are taken from reg_steps: those of the arguments, or turns if no tiles are left.
void amx_dot_kernel::choose_steps(int tiles_left) {
    Xbyak::Label are_steps;
    mov(reg_steps, reg_args);
    dec(stack(tiles_left));
    jnz(are_steps);
    mov(reg_address, arg(&dot_args::tiles_per_turn));
    mov(stack(tiles_left), reg_address);
    add(reg_steps, bytes_to_turns);
    L(are_steps);
}

void amx_dot_kernel::advance(const Xbyak::Operand &what, std::int64_t dot_args::*step) {
    mov(reg_address, field(reg_steps, step));
    add(what, reg_address);
}

shared_code<dot_args> amx_dot_code(const dot_spec &spec, const epilogue_plan &plan) {
    return shared_kernel<amx_dot_kernel>(spec, plan);
}

} // namespace octet::impl::jit
