// Tiles of sums and the reduction in steps, with the epilogue of the tile before among them.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/dot_amx.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>

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

    /// Instructions of tile registers in their order, each to be emitted at its turn.
    using instructions = std::vector<std::function<void()>>;

    void generate();
    void configure();
    void multiply_tile();
    void prefetch_results();
    void first_step();
    void later_steps();
    instructions step(std::int64_t quads, bool is_last, const std::function<void(int, int)> &start = {});
    template <typename Load>
    Xbyak::Tmm held(tile_pool &pool, int wanted, instructions &code, const Load &load);
    void multiply(const Xbyak::Tmm &acc, const Xbyak::Tmm &source, const Xbyak::Tmm &weights);
    void store_last_sums();
    void rest_of_tile();
    int portions_of_step(std::int64_t steps) const;
    void portions_among(const instructions &code, int count);
    void finish_rows(int rows, const std::function<void()> &between);
    void next_rows();
    void advance(const Xbyak::Operand &what, std::int64_t dot_args::*step);
    void to_next_results();

    /// First line of a register, or its first row if the tile has one line: the last one ends with the tile.
    int first_line(int row_tile) const {
        return std::min(row_tile * registers_.lines, spec_.tiling.lines - registers_.lines);
    }
    int first_row(int row_tile) const {
        return spec_.tiling.lines > 1
                   ? first_line(row_tile) * registers_.distance
                   : std::min(row_tile * spec_.tiling.rows, spec_.rows - spec_.tiling.rows);
    }
    std::int64_t first_source(int row_tile) const {
        return spec_.tiling.lines > 1 ? first_line(row_tile) * spec_.tiling.line_stride
                                      : first_row(row_tile) * spec_.row_stride;
    }
    /// Rows of sums are no results between the lines of a register.
    bool have_gaps() const { return spec_.tiling.lines * registers_.distance > spec_.rows; }
    int sum_rows() const { return have_gaps() ? spec_.tiling.lines * registers_.distance : spec_.rows; }
    Xbyak::Tmm acc(int row_tile, int v) const { return Xbyak::Tmm(row_tile * spec_.vectors + v); }
    std::int64_t block_bytes() const;
    int sum_row_bytes() const { return spec_.vectors * vector_bytes(); }
    int sum_bytes() const { return sum_rows() * sum_row_bytes(); }
    int valid(int v) const { return v == spec_.vectors - 1 ? spec_.tail : lanes(); }
    std::size_t vector_offset(int v) const {
        return static_cast<std::size_t>(v) * static_cast<std::size_t>(vector_bytes());
    }
    std::size_t sums_offset(int row, int v) const {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(sum_row_bytes()) + vector_offset(v);
    }
    Xbyak::Address stack(int slot) {
        return qword[rsp + sums_offset(sum_rows(), 0) + static_cast<std::size_t>(slot) * 8];
    }
    /// Where a tile of sums lies; reg_steps has the distance of their rows.
    Xbyak::Address stack_of_sums(int row_tile, int v) {
        return ptr[rsp + reg_steps + sums_offset(first_row(row_tile), v)];
    }
    int no_tile() const { return sum_bytes() + vector_bytes(); } ///< in reg_sums, before the first tile

    /// Rows of the epilogue that are finished together: four byte results are packed into a vector. Lines with gaps
    /// between them have one distance.
    int portion_rows() const {
        return have_gaps() ? spec_.rows / spec_.tiling.lines
                           : std::min(spec_.rows, spec_.vectors == 3 ? 4 : 4 / spec_.vectors);
    }
    int portions() const { return spec_.rows / portion_rows(); }
    int portion_bytes() const {
        return (have_gaps() ? registers_.distance : portion_rows()) * sum_row_bytes();
    }

    const dot_spec spec_;
    const epilogue_plan &plan_;
    const tile_shapes shapes_;
    const row_tiles registers_;

    int pauses_ = 0, portion_code_bytes_ = 0; ///< of a portion: places for other code, and its own

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_address = r15;
    // Of the products:
    const Xbyak::Reg64 reg_weights = rdx, reg_tap_src = rbx, reg_steps = rax, reg_tap_offsets = r13;
    const Xbyak::Reg64 reg_row_stride = rbp,
                       reg_line = r10; ///< distances of rows: of the source, of 64 bytes
    // Of the epilogue of the tile before:
    const Xbyak::Reg64 reg_params = rcx, reg_dst = r8, reg_row = r14, reg_full = rsi, reg_row_sums = r12;
    const Xbyak::Reg64 reg_sums = r9;                             ///< bytes of sums that are finished
    static constexpr int former_stack_pointer = 0, taps_left = 1; // slots of the stack
};

} // namespace

tile_shapes amx_shapes(int tile_rows, std::int64_t quads) {
    const std::int64_t fewest = (quads + most_amx_quads - 1) / most_amx_quads;
    for (std::int64_t steps = fewest; steps <= fewest + fewest / 4; steps++)
        if (quads % steps == 0)
            return {tile_rows, static_cast<int>(quads / steps), 0};
    return {tile_rows, most_amx_quads, static_cast<int>(quads % most_amx_quads)};
}

row_tiles amx_row_tiles(int rows, int tile_rows, int lines, int distance) {
    if (lines == 1)
        return {(rows + tile_rows - 1) / tile_rows, 1, 0};
    const int line_rows = rows / lines;
    const int together = tile_rows > line_rows ? 1 + (tile_rows - line_rows) / distance : 1;
    return {(lines + together - 1) / together, together, together > 1 ? distance : line_rows};
}

amx_dot_kernel::amx_dot_kernel(const dot_spec &spec, const epilogue_plan &plan)
    : generated(spec.isa), spec_(spec), plan_(plan), shapes_(amx_shapes(spec.tiling.rows, spec.quads)),
      registers_(amx_row_tiles(
          spec.rows, spec.tiling.rows, spec.tiling.lines,
          static_cast<int>(spec.tiling.line_stride / std::max<std::int64_t>(1, spec.row_stride)))) {
    generate();
    finish([&] {
        return name(spec.products == dot_products::signed_tiles ? "signed_amx_dot" : "amx_dot",
                    text(spec.rows, "x", spec.vectors),
                    spec.tiling.lines > 1 ? text("lines", spec.tiling.lines) : "", text("t", spec.taps),
                    text("q", spec.quads), spec.tail != lanes() ? text("tail", spec.tail) : "", plan.name());
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
    mov(reg_row_sums, arg(&dot_args::row_sums));
    xor_(reg_row, reg_row);
    if (spec_.tail != lanes())
        set_tail(spec_.tail);
    // Sums lie on the stack, lines at their multiples, the former stack pointer behind them.
    mov(reg_address, rsp);
    sub(rsp, sum_bytes() + 64);
    and_(rsp, -64);
    mov(stack(former_stack_pointer), reg_address);
    mov(reg_row_stride, spec_.row_stride);
    mov(reg_line, block_quad_bytes);

    Xbyak::Label multiply, finish, is_finished, end;
    mov(reg_sums, no_tile());
    jmp(multiply, T_NEAR);
    L(finish);
    rest_of_tile();
    to_next_results();
    L(is_finished);
    xor_(reg_sums, reg_sums);
    dec(arg(&dot_args::tiles));
    jg(multiply, T_NEAR);
    jl(end, T_NEAR);
    store_last_sums();
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
    mov(reg_tap_src, arg(&dot_args::src));
    if (spec_.taps > 1) {
        mov(reg_tap_offsets, arg(&dot_args::tap_offsets));
        add(reg_tap_src, ptr[reg_tap_offsets]);
    }
    first_step();
    later_steps();
    advance(arg(&dot_args::src), &dot_args::src_step);
    advance(arg(&dot_args::weights), &dot_args::weights_step);
    advance(arg(&dot_args::initial), &dot_args::initial_step);
}

/// What the epilogue of this tile reads, one tile behind the one that it finishes meanwhile.
void amx_dot_kernel::prefetch_results() {
    const Xbyak::Reg64 &reg_next_row = reg_steps;
    Xbyak::Label is_first;
    mov(reg_next_row, reg_row);
    cmp(reg_sums, no_tile());
    je(is_first);
    add(reg_next_row, arg(&dot_args::dst_step));
    L(is_first);
    prefetch_dst(*this, spec_, plan_.source(), {reg_dst, reg_next_row, reg_address});
}

/// Sums of the tile before make room for the folded bias, whose line is loaded as each row. Before the first tile
/// they mean nothing.
void amx_dot_kernel::first_step() {
    mov(reg_address, arg(&dot_args::initial));
    mov(reg_steps, sum_row_bytes());
    xor_(reg_tap_offsets, reg_tap_offsets);
    const auto start = [&](int r, int v) {
        tilestored(stack_of_sums(r, v), acc(r, v));
        tileloadd(acc(r, v), ptr[reg_address + reg_tap_offsets + vector_offset(v)]);
    };
    for (const auto &emit : step(shapes_.quads, false, start))
        emit();
}

/// All steps of all taps but the first one, with portions of the epilogue among them until none are left.
void amx_dot_kernel::later_steps() {
    Xbyak::Label tap, loop, alone, next;
    const std::int64_t steps = spec_.quads / shapes_.quads;
    if (spec_.taps > 1) {
        mov(reg_tap_offsets, arg(&dot_args::tap_offsets));
        mov(reg_address, arg(&dot_args::taps));
        mov(stack(taps_left), reg_address);
    }
    const std::int64_t later = spec_.taps * steps - 1;
    if (later > 0) {
        mov(reg_steps, steps);
        jmp(next, T_NEAR);
        align(64);
        L(tap);
        if (spec_.taps > 1) {
            mov(reg_tap_src, ptr[reg_tap_offsets]);
            add(reg_tap_src, arg(&dot_args::src));
        }
        mov(reg_steps, steps);
        L(loop);
        const int count = portions_of_step(later);
        cmp(reg_sums, (portions() - count + 1) * portion_bytes());
        jae(alone, T_NEAR);
        portions_among(step(shapes_.quads, false), count);
        jmp(next, T_NEAR);
        L(alone);
        for (const auto &emit : step(shapes_.quads, false))
            emit();
        L(next);
        dec(reg_steps);
        jnz(loop, T_NEAR);
    }
    if (shapes_.last_quads > 0)
        for (const auto &emit : step(shapes_.last_quads, true))
            emit();
    if (spec_.taps > 1) {
        add(reg_tap_offsets, static_cast<std::uint32_t>(sizeof(std::int64_t)));
        dec(stack(taps_left));
        jnz(tap, T_NEAR);
    }
}

/// So many that few are left behind the products, within some code.
int amx_dot_kernel::portions_of_step(std::int64_t steps) const {
    constexpr int most_bytes = 1024;
    const int most = std::max(1, most_bytes / std::max(1, portion_code_bytes_));
    int best = 1;
    std::int64_t fewest_left = portions();
    for (int count = 1; count <= std::min(most, portions()); count++) {
        const std::int64_t left = portions() - std::min<std::int64_t>(steps, portions() / count) * count;
        if (left < fewest_left) {
            fewest_left = left;
            best = count;
        }
    }
    return best;
}

/// The instructions spread evenly among so many portions.
void amx_dot_kernel::portions_among(const instructions &code, int count) {
    const std::size_t pauses = static_cast<std::size_t>(pauses_) * static_cast<std::size_t>(count);
    std::size_t pause = 0, emitted = 0;
    const std::function<void()> between = [&] {
        for (pause++; emitted * pauses < pause * code.size() && emitted < code.size(); emitted++)
            code[emitted]();
    };
    for (int i = 0; i < count; i++) {
        finish_rows(portion_rows(), between);
        next_rows();
    }
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
    for (int r = 0; r < registers_.count; r++)
        for (int i = 0; i < spec_.vectors; i++) {
            const int v = r % 2 == 0 ? i : spec_.vectors - 1 - i;
            if (start)
                code.push_back([=] { start(r, v); });
            const Tmm source = held(sources, r, code, [this, r](const Tmm &to) {
                tileloadd(to, ptr[reg_tap_src + reg_row_stride + first_source(r)]);
            });
            const Tmm columns = held(weights, v, code, [this, v](const Tmm &to) {
                tileloadd(to, ptr[reg_weights + reg_line + v * block_bytes()]);
            });
            code.push_back([=] { multiply(acc(r, v), source, columns); });
        }
    code.push_back([this, quads] {
        add(reg_tap_src, static_cast<std::uint32_t>(quads * bytes_per_quad));
        add(reg_weights, static_cast<std::uint32_t>(quads * block_quad_bytes));
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
    for (int r = 0; r < registers_.count; r++)
        for (int v = 0; v < spec_.vectors; v++)
            tilestored(stack_of_sums(r, v), acc(r, v));
}

/// The portions that are left, and the rows that are none.
void amx_dot_kernel::rest_of_tile() {
    const int whole = portions() * portion_bytes();
    Xbyak::Label loop, rest;
    cmp(reg_sums, whole);
    jae(rest, T_NEAR);
    align(32);
    L(loop);
    const std::size_t before = getSize();
    finish_rows(portion_rows(), [this] { pauses_++; });
    portion_code_bytes_ = static_cast<int>(getSize() - before);
    next_rows();
    cmp(reg_sums, whole);
    jb(loop, T_NEAR);
    L(rest);
    if (const int rows = spec_.rows % portion_rows())
        finish_rows(rows, [] {});
    const std::int64_t finished = std::int64_t{portions()} * portion_rows();
    sub(reg_row, static_cast<std::uint32_t>(finished * spec_.dst_row_stride));
}

void amx_dot_kernel::next_rows() {
    add(reg_sums, portion_bytes());
    add(reg_row_sums, portion_rows() * static_cast<int>(sizeof(std::int32_t)));
    add(reg_row, static_cast<std::uint32_t>(portion_rows() * spec_.dst_row_stride));
}

/// `between` may emit code in front of each vector and wherever the epilogue lets it.
void amx_dot_kernel::finish_rows(int rows, const std::function<void()> &between) {
    const int at_a_time = std::min(4, free_vecs() - plan_.temps(isa()));
    std::vector<vec> sums;
    for (int i = 0; i < std::min(at_a_time, rows * spec_.vectors); i++)
        sums.push_back(take_vec());
    std::vector<epilogue_result> results;
    epilogue_operands operands{reg_params, reg_dst, reg_row, reg_full, reg_row_sums, reg_address};
    operands.between = &between;
    const auto emit_results = [&] {
        epilogue_emitter(*this, plan_, operands).emit(results);
        results.clear();
    };
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < spec_.vectors; v++) {
            const vec &sum = sums[results.size()];
            move(sum, ptr[rsp + reg_sums + sums_offset(r, v)]);
            between();
            results.push_back({sum, r, v, r * spec_.dst_row_stride + std::int64_t{v} * lanes(), valid(v)});
            if (results.size() == sums.size())
                emit_results();
        }
    if (!results.empty())
        emit_results();
    for (auto sum = sums.rbegin(); sum != sums.rend(); ++sum)
        give_vec(*sum);
}

void amx_dot_kernel::advance(const Xbyak::Operand &what, std::int64_t dot_args::*step) {
    mov(reg_address, arg(step));
    add(what, reg_address);
}

void amx_dot_kernel::to_next_results() {
    advance(reg_params, &dot_args::params_step);
    advance(reg_row, &dot_args::dst_step);
    advance(arg(&dot_args::row_sums), &dot_args::row_sums_step);
    mov(reg_row_sums, arg(&dot_args::row_sums));
}

shared_code<dot_args> amx_dot_code(const dot_spec &spec, const epilogue_plan &plan) {
    return shared_kernel<amx_dot_kernel>(spec, plan);
}

} // namespace octet::impl::jit
