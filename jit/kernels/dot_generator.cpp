// Tiles one by one or overlapping, the reduction over taps and quads, and the epilogue of a tile.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/dot_generator.hpp"

#include <algorithm>
#include <cstddef>

#include "common/rounding.hpp"
#include "common/text.hpp"
#include "jit/epilogue/byte_lookup.hpp"

namespace octet::impl::jit {

using Xbyak::Reg64;

void prefetch_dst(emitter &e, const dot_spec &spec, const epilogue &out, const Reg64 (&dst_row_scratch)[3]) {
    const auto &[dst, row, scratch] = dst_row_scratch;
    constexpr std::int64_t line = cache_line;
    const auto size = static_cast<std::int64_t>(memory::data_type_size(out.dst.data_type));
    const std::int64_t row_bytes = ((spec.vectors - 1) * e.lanes() + spec.tail) * size;
    e.lea(scratch, e.ptr[row * static_cast<int>(size) + dst]);
    for (int r = 0; r < spec.rows; r++)
        for (std::int64_t at = 0; at < row_bytes; at += line) {
            const std::int64_t offset = r * spec.dst_row_stride * size + at;
            if (offset <= int32_max)
                e.prefetcht0(e.ptr[scratch + static_cast<int>(offset)]);
        }
}

dot_kernel::dot_kernel(const dot_spec &spec, const epilogue_plan &plan)
    : generated(spec.isa), spec_(spec), plan_(plan) {
    generate();
    finish([&] {
        constexpr const char *products[] = {"dot",         "signed_dot", "grouped_dot",     "fma",
                                            "own_fma",     "words_dot",  "split_words_dot", "wide_words_dot",
                                            "winograd_dot"};
        return name(products[static_cast<int>(spec.products)], text(spec.rows, "x", spec.vectors),
                    text("t", spec.taps), text("q", spec.quads),
                    spec.tail != lanes() ? text("tail", spec.tail) : "", spec.overlaps_tiles ? "overlap" : "",
                    spec.rows_of_tap.empty() ? "" : "skip",
                    spec.lines_ahead ? text("ahead", spec.lines_ahead) : "", plan.name());
    });
}

const vec &dot_kernel::acc(int r, int v) const {
    return acc_[static_cast<std::size_t>(r * vectors_ + v - first_vector_)];
}

/// Rows that are multiplied together are accumulated together, even if the last one is not stored.
int dot_kernel::accumulated_rows() const {
    const int together = rows_together(spec_.products);
    return (spec_.rows + together - 1) / together * together;
}

int dot_kernel::source_quad_bytes() const {
    return are_in_words(spec_.products) ? 2 * bytes_per_quad : bytes_per_quad;
}

/// Bytes from the cursor to the weights of vector v in the q-th quad after it.
std::int64_t dot_kernel::weights_offset(int v, int q) const {
    const int vectors_per_block = columns_per_block / lanes();
    const std::int64_t block_bytes = spec_.taps * spec_.quads * weights_quad_bytes(spec_.products, lanes());
    if (spec_.products == dot_products::winograd_f43)
        return v * block_bytes + q * quad_bytes();
    return v / vectors_per_block * block_bytes + q * quad_bytes() + v % vectors_per_block * vector_bytes();
}

void dot_kernel::generate() {
    preamble();
    mov(reg_src, arg(&dot_args::src));
    mov(reg_params, arg(&dot_args::params));
    mov(reg_dst, arg(&dot_args::dst));
    mov(reg_full, arg(&dot_args::full));
    mov(reg_row_sums, arg(&dot_args::row_sums));
    mov(reg_tiles, arg(&dot_args::tiles));
    xor_(reg_row, reg_row);
    if (valid(spec_.vectors - 1) != lanes())
        set_tail(spec_.tail);
    vectors_ = spec_.products == dot_products::winograd_f43 ? 1 : spec_.vectors;
    acc_ = take_tile();
    spec_.overlaps_tiles ? overlapping_tiles() : tiles_one_by_one();
    postamble();
}

void dot_kernel::tiles_one_by_one() {
    Xbyak::Label next;
    L(next);
    if (reads_dst(plan_.source()))
        prefetch_dst(*this, spec_, plan_.source(), {reg_dst, reg_row, reg_address});
    for (first_vector_ = 0; first_vector_ < spec_.vectors; first_vector_ += vectors_)
        tile();
    const auto advance = [this](const auto &what, std::int64_t dot_args::*step) {
        mov(reg_address, arg(step));
        add(what, reg_address);
    };
    advance(reg_src, &dot_args::src_step);
    advance(arg(&dot_args::weights), &dot_args::weights_step);
    advance(arg(&dot_args::initial), &dot_args::initial_step);
    advance(reg_params, &dot_args::params_step);
    advance(reg_row, &dot_args::dst_step);
    advance(reg_row_sums, &dot_args::row_sums_step);
    if (spec_.lines_ahead > 0)
        advance(arg(&dot_args::ahead), &dot_args::ahead_step);
    dec(reg_tiles);
    jnz(next, T_NEAR);
}

void dot_kernel::tile() {
    mov(reg_weights, arg(&dot_args::weights));
    if (spec_.products == dot_products::winograd_f43) {
        filter();
    } else {
        initialise();
        reduce();
    }
    finish_tile();
}

/// Two sets of accumulators take turns; the last tile is finished alone.
void dot_kernel::overlapping_tiles() {
    std::vector<vec> other = take_tile();
    Xbyak::Label next, last_in_first, last_in_second, end;
    mov(reg_weights, arg(&dot_args::weights));
    multiply_tile({});
    dec(reg_tiles);
    jz(last_in_first, T_NEAR);
    align(64);
    L(next);
    for (Xbyak::Label *last : {&last_in_second, &last_in_first}) {
        const std::vector<epilogue_result> before = results();
        std::swap(acc_, other);
        multiply_tile(before);
        add(reg_row, arg(&dot_args::dst_step));
        dec(reg_tiles);
        jz(*last, T_NEAR);
    }
    jmp(next, T_NEAR);
    L(last_in_first);
    finish_tile();
    jmp(end, T_NEAR);
    L(last_in_second);
    std::swap(acc_, other);
    finish_tile();
    L(end);
}

/// A whole reduction, with the epilogue of the tile before in even portions among the products.
void dot_kernel::multiply_tile(const std::vector<epilogue_result> &before) {
    constexpr std::size_t portion = 4; // vectors that are packed together
    const std::size_t portions = (before.size() + portion - 1) / portion;
    const auto steps = static_cast<std::size_t>(spec_.quads * spec_.rows);
    std::size_t step = 0, finished = 0;
    initialise();
    for (int q = 0; q < static_cast<int>(spec_.quads); q++) {
        std::vector<vec> weights;
        for (int v = 0; v < spec_.vectors; v++) {
            weights.push_back(take_vec());
            move(weights.back(), ptr[reg_weights + weights_offset(v, q)]);
        }
        for (int r = 0; r < spec_.rows; r++, step++) {
            {
                const temp source(*this);
                vpbroadcastd(source, ptr[reg_src + r * spec_.row_stride + q * bytes_per_quad]);
                for (int v = 0; v < spec_.vectors; v++)
                    multiply(acc(r, v), source, weights[static_cast<std::size_t>(v)]);
            }
            for (; finished * steps < (step + 1) * portions; finished++) {
                const auto first = before.begin() + static_cast<std::ptrdiff_t>(finished * portion);
                const auto count = std::min<std::ptrdiff_t>(portion, before.end() - first);
                epilogue_emitter(*this, plan_, operands()).emit({first, first + count});
            }
        }
        for (const vec &w : weights)
            give_vec(w);
    }
    add(reg_src, arg(&dot_args::src_step));
}

std::vector<vec> dot_kernel::take_tile() {
    std::vector<vec> tile;
    for (int i = 0; i < accumulated_rows() * vectors_; i++)
        tile.push_back(take_vec());
    return tile;
}

/// Accumulators start at the folded bias.
void dot_kernel::initialise() {
    mov(reg_address, arg(&dot_args::initial));
    for (int v = 0; v < spec_.vectors; v++) {
        move(acc(0, v), ptr[reg_address + v * vector_bytes()]);
        for (int r = 1; r < spec_.rows; r++)
            move(acc(r, v), acc(0, v));
    }
}

void dot_kernel::reduce() {
    if (spec_.lines_ahead > 0)
        mov(reg_address, arg(&dot_args::ahead));
    rows_ = {0, spec_.rows};
    if (spec_.products == dot_products::grouped_codes)
        take_orders();
    if (spec_.taps == 1 && spec_.rows_of_tap.empty())
        reduce_tap(reg_src);
    else
        reduce_taps();
    for (auto order = orders_.rbegin(); order != orders_.rend(); ++order)
        give_vec(*order);
    orders_.clear();
}

void dot_kernel::reduce_taps() {
    constexpr int offset_bytes = sizeof(std::int64_t);
    const int taps = spec_.rows_of_tap.empty() ? 1 : static_cast<int>(spec_.rows_of_tap.size()); // of a step
    Xbyak::Label step;
    mov(reg_tap_offsets, arg(&dot_args::tap_offsets));
    mov(reg_taps, arg(&dot_args::taps));
    L(step);
    for (int tap = 0; tap < taps; tap++) {
        if (!spec_.rows_of_tap.empty())
            rows_ = spec_.rows_of_tap[static_cast<std::size_t>(tap)];
        mov(reg_tap_src, ptr[reg_tap_offsets + tap * offset_bytes]);
        add(reg_tap_src, reg_src);
        reduce_tap(reg_tap_src);
    }
    if (spec_.products == dot_products::winograd_f43)
        skip_pass(1 - pass_);
    add(reg_tap_offsets, taps * offset_bytes);
    taps == 1 ? dec(reg_taps) : sub(reg_taps, taps);
    jnz(step, T_NEAR);
}

/// All quads of one tap; leaves the weights cursor behind them.
void dot_kernel::reduce_tap(const Reg64 &src) {
    if (rows_.first >= rows_.end) {
        add(reg_weights, static_cast<std::uint32_t>(spec_.quads * quad_bytes()));
        return;
    }
    if (spec_.products == dot_products::grouped_codes) {
        grouped_tap(src);
        add(reg_weights, static_cast<std::uint32_t>(spec_.quads * quad_bytes()));
        return;
    }
    const std::int64_t iterations = spec_.quads / quads_per_step;
    const int rest = static_cast<int>(spec_.quads % quads_per_step);
    if (src.getIdx() != reg_tap_src.getIdx())
        mov(reg_tap_src, src);
    if (iterations == 1) {
        reduce_quads(reg_tap_src, quads_per_step);
    } else if (iterations > 1) {
        Xbyak::Label quads;
        mov(reg_quads, iterations);
        align(64);
        L(quads);
        reduce_quads(reg_tap_src, quads_per_step);
        dec(reg_quads);
        jnz(quads, T_NEAR);
    }
    if (rest > 0)
        reduce_quads(reg_tap_src, rest);
}

/// Multiplies `count` quads and advances the cursors.
void dot_kernel::reduce_quads(const Reg64 &src, int count) {
    for (int q = 0; q < count; q++) {
        if (spec_.products == dot_products::own_floats)
            own_quad(src);
        else
            are_in_words(spec_.products) ? quad_of_words(src, q) : quad(src, q);
        if (count == quads_per_step)
            fetch_ahead(q);
    }
    if (count == quads_per_step && spec_.lines_ahead > 0)
        add(reg_address, spec_.lines_ahead * cache_line);
    add(src, count * source_quad_bytes());
    add(reg_weights, count * quad_bytes());
}

/// The part of a step's lines that comes with its q-th quad; reg_address has the cursor during the reduction.
void dot_kernel::fetch_ahead(int q) {
    const auto before = [&](int quads) { return spec_.lines_ahead * quads / quads_per_step; };
    for (int line = before(q); line < before(q + 1); line++)
        prefetcht1(ptr[reg_address + line * cache_line]);
}

/// acc += source * weights, the quad of a row with those of a column vector.
void dot_kernel::multiply(const vec &acc, const vec &source, const vec &weights) {
    if (are_floats())
        vfmadd231ps(acc, source, weights);
    else
        dot4(acc, source, weights, spec_.products == dot_products::signed_codes);
}

void dot_kernel::quad(const Reg64 &src, int q) {
    std::vector<vec> weights;
    for (int v = 0; v < spec_.vectors; v++) {
        weights.push_back(take_vec());
        move(weights.back(), ptr[reg_weights + weights_offset(v, q)]);
    }
    {
        const temp source(*this);
        for (int r = rows_.first; r < rows_.end; r++) {
            vpbroadcastd(source, ptr[src + r * spec_.row_stride + q * bytes_per_quad]);
            for (int v = 0; v < spec_.vectors; v++)
                multiply(acc(r, v), source, weights[static_cast<std::size_t>(v)]);
        }
    }
    for (auto w = weights.rbegin(); w != weights.rend(); ++w)
        give_vec(*w);
}

/// The order in which each vector's columns take the quads of a row.
void dot_kernel::take_orders() {
    for (int v = 0; v < spec_.vectors; v++) {
        std::vector<std::uint32_t> quads;
        for (int lane = 0; lane < lanes(); lane++)
            quads.push_back(static_cast<std::uint32_t>(
                std::min((v * lanes() + lane) / spec_.columns_of_quad, grouped_quads - 1)));
        orders_.push_back(take_vec());
        move(orders_.back(), table(quads));
    }
}

/// A tap of merged groups. Three of a column's four quads of weights are zeros, so the union of the four is
/// the column's own quad. Each column gets the source quad of its group.
void dot_kernel::grouped_tap(const Reg64 &src) {
    std::vector<vec> weights;
    for (int v = 0; v < spec_.vectors; v++) {
        weights.push_back(take_vec());
        move(weights.back(), ptr[reg_weights + weights_offset(v, 0)]);
        for (int q = 1; q < grouped_quads; q++)
            vpor_(weights.back(), weights.back(), ptr[reg_weights + weights_offset(v, q)]);
    }
    {
        const temp source(*this);
        const vec permuted = spec_.vectors > 1 ? take_vec() : vec(source);
        for (int r = rows_.first; r < rows_.end; r++) {
            load_byte_part(*this, source, ptr[src + r * spec_.row_stride]);
            for (int v = 0; v < spec_.vectors; v++) {
                vpermilps(permuted, source, orders_[static_cast<std::size_t>(v)]);
                multiply(acc(r, v), permuted, weights[static_cast<std::size_t>(v)]);
            }
        }
        if (spec_.vectors > 1)
            give_vec(permuted);
    }
    for (auto w = weights.rbegin(); w != weights.rend(); ++w)
        give_vec(*w);
}

/// The only quad of a tap: the source has a vector for each vector of weights.
void dot_kernel::own_quad(const Reg64 &src) {
    const temp weights(*this), source(*this);
    for (int v = 0; v < spec_.vectors; v++) {
        move(weights, ptr[reg_weights + weights_offset(v, 0)]);
        for (int r = 0; r < spec_.rows; r++) {
            load_dwords(source, src, r * spec_.row_stride + v * vector_bytes(), valid(v));
            multiply(acc(r, v), source, weights);
        }
    }
}

epilogue_operands dot_kernel::operands() const {
    return {reg_params, reg_dst, reg_row, reg_full, reg_row_sums, reg_address};
}

std::vector<epilogue_result> dot_kernel::results() const {
    const auto value = are_floats() ? epilogue_stage::f32_accumulator : epilogue_stage::accumulator;
    std::vector<epilogue_result> results;
    for (int r = 0; r < spec_.rows; r++)
        for (int v = first_vector_; v < end_vector(); v++)
            results.push_back(
                {acc(r, v), r, v, r * spec_.dst_row_stride + std::int64_t{v} * lanes(), valid(v), value});
    return results;
}

void dot_kernel::finish_tile() { epilogue_emitter(*this, plan_, operands()).emit(results()); }

shared_code<dot_args> dot_code(const dot_spec &spec, const epilogue_plan &plan) {
    return shared_kernel<dot_kernel>(spec, plan);
}

} // namespace octet::impl::jit
