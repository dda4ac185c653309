// Groups of blocks, lines and tiles from the outside inwards, then the products of a tile.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/depthwise_generator.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

namespace octet::impl::jit {

using Xbyak::Address;
using Xbyak::RegExp;

depthwise_kernel::depthwise_kernel(const depthwise_spec &spec, const epilogue_plan &plan)
    : generated(spec.isa), spec_(spec), plan_(plan) {
    generate();
    const patch_axis &rows = spec.patches.rows, &columns = spec.patches.columns;
    finish([&] {
        return name("depthwise", text(spec.rows, "x", widest_tile(), "x", spec.blocks),
                    text("k", rows.kernel, "x", columns.kernel), text("p", rows.size, "x", columns.size),
                    spec.valid != channels_per_block ? text("valid", spec.valid) : "",
                    spec.slides ? "sliding" : "", spec.sums_source ? "sums" : "", plan.name());
    });
}

int depthwise_kernel::widest_tile() const {
    int columns = 0;
    for (const tile_run &run : spec_.line)
        columns = std::max(columns, run.columns);
    return columns;
}

int depthwise_kernel::valid(int v) const {
    return std::clamp(spec_.valid - v * lanes() % channels_per_block, 0, lanes());
}

/// Rows of patches that the tile has taps in.
int depthwise_kernel::patch_rows() const {
    int rows = 0;
    while (rows < static_cast<int>(spec_.patches.rows.patches()) && used_rows(rows) > 0)
        rows++;
    return rows;
}

/// Rows and columns of a patch that the tile has taps in: the first ones.
dim_t depthwise_kernel::used_rows(int patch_row) const {
    const patch_axis &axis = spec_.patches.rows;
    return std::min(axis.size, axis.covered(rows_) - patch_row * axis.size);
}
dim_t depthwise_kernel::used_columns() const {
    const patch_axis &axis = spec_.patches.columns;
    return std::min(axis.size, axis.covered(axis.phases));
}

/// The taps of a patch that an output has, as a byte of 1 each.
std::uint32_t depthwise_kernel::used_taps(int row, int column, int patch_row, int patch_column) const {
    const patch_axis &rows = spec_.patches.rows, &columns = spec_.patches.columns;
    std::uint32_t taps = 0;
    for (int t = 0; t < taps_per_patch; t++) {
        const dim_t y = patch_row * rows.size + t / columns.size - row * rows.shift;
        const dim_t x =
            patch_column * columns.size + t % columns.size - column % columns.phases * columns.shift;
        if (y >= 0 && y < rows.kernel && x >= 0 && x < columns.kernel)
            taps |= 1u << (8 * t);
    }
    return taps;
}

// ---- blocks, lines, tiles

void depthwise_kernel::generate() {
    const int frame_bytes = 8 * static_cast<int>(slot::count);
    preamble();
    sub(rsp, frame_bytes);
    mov(reg_weights, arg(&depthwise_args::weights));
    mov(reg_initial, arg(&depthwise_args::initial));
    mov(reg_params, arg(&depthwise_args::params));
    mov(reg_dst, arg(&depthwise_args::dst));
    mov(reg_full, arg(&depthwise_args::full));
    mov(reg_position, arg(&depthwise_args::channel));
    xor_(reg_element, reg_element);
    copy(slot::groups, arg(&depthwise_args::groups));
    if (spec_.valid % lanes() != 0)
        set_tail(spec_.valid % lanes());
    if (lanes() == 16 && !is_interleaved()) {
        order_ = take_vec();
        load_transposition(order_, spec_.blocks == 1 && isa().byte_permutes);
    }
    Xbyak::Label next;
    L(next);
    group();
    next_group();
    dec(at(slot::groups));
    jnz(next, T_NEAR);
    add(rsp, frame_bytes);
    postamble();
}

void depthwise_kernel::copy(slot to, const Address &from) {
    mov(reg_address, from);
    mov(at(to), reg_address);
}

/// All lines of a group of blocks.
void depthwise_kernel::group() {
    mov(at(slot::weights), reg_weights);
    mov(at(slot::initial), reg_initial);
    mov(at(slot::params), reg_params);
    mov(at(slot::element), reg_element);
    mov(at(slot::position), reg_position);
    if (is_interleaved())
        interleave_group();
    for (int v = 0; v * lanes() < spec_.blocks * channels_per_block && valid(v) > 0; v += vectors())
        lines(v);
}

void depthwise_kernel::next_group() {
    const auto advance = [this](const Xbyak::Reg64 &r, slot from, dim_t bytes) {
        mov(r, at(from));
        add(r, static_cast<std::uint32_t>(spec_.blocks * bytes));
    };
    advance(reg_weights, slot::weights, spec_.patches.vectors() * block_vector_bytes);
    advance(reg_initial, slot::initial, initial_bytes());
    advance(reg_params, slot::params, plan_.params().count * param_vector_bytes);
    advance(reg_element, slot::element, channels_per_block);
    advance(reg_position, slot::position, channels_per_block);
}

/// Brings what depends on the channel into the order of interleaved blocks.
void depthwise_kernel::interleave_group() {
    const auto weights = static_cast<int>(spec_.patches.vectors());
    mov(reg_address, arg(&depthwise_args::scratch));
    interleave(reg_weights, weights, 0);
    interleave(reg_initial, 1, weights);
    interleave(reg_params, plan_.params().count, weights + 1);
}

/// Copies four blocks of so many vectors to scratch memory and lets `from` point there.
void depthwise_kernel::interleave(const Xbyak::Reg64 &from, int vectors, int scratch_vectors) {
    if (vectors == 0)
        return;
    const int block_bytes = vectors * block_vector_bytes;
    const Xbyak::Reg64 &to = reg_rows[0], &offset = reg_rows[1];
    const vec v[] = {take_vec(), take_vec(), take_vec(), take_vec()};
    Xbyak::Label next;
    lea(to, ptr[reg_address + interleaved_blocks * scratch_vectors * block_vector_bytes]);
    xor_(offset, offset);
    L(next);
    for (int i = 0; i < interleaved_blocks; i++)
        move(v[i], ptr[from + offset + i * block_bytes]);
    transpose_parts(v);
    for (int i = 0; i < interleaved_blocks; i++)
        vmovups(ptr[to + offset + i * block_bytes], v[i]);
    add(offset, block_vector_bytes);
    cmp(offset, block_bytes);
    jb(next);
    mov(from, to);
    for (const vec &x : v)
        give_vec(x);
}

/// All lines from this vector of channels on.
void depthwise_kernel::lines(int v) {
    first_ = v;
    rows_ = spec_.rows;
    mov(reg_element, at(slot::element));
    mov(at(slot::line_element), reg_element);
    copy(slot::rows, arg(&depthwise_args::rows));
    copy(slot::lines, arg(&depthwise_args::lines));
    if (!has_dot4())
        mov(reg_weights, at(slot::weights));
    has_dot4() ? take_weights() : split_weights();

    Xbyak::Label next, rest, end;
    cmp(at(slot::lines), 0);
    je(rest, T_NEAR);
    L(next);
    line();
    next_line();
    dec(at(slot::lines));
    jnz(next, T_NEAR);
    L(rest);
    if (spec_.rest_rows > 0) {
        cmp(arg(&depthwise_args::rest_line), 0);
        je(end, T_NEAR);
        rows_ = spec_.rest_rows;
        line();
    }
    L(end);
    for (const vec &w : weights_)
        give_vec(w);
    weights_.clear();
}

void depthwise_kernel::next_line() {
    const patch_axis &axis = spec_.patches.rows;
    mov(reg_element, at(slot::line_element));
    add(reg_element, static_cast<std::uint32_t>(spec_.rows * spec_.dst_row_stride));
    mov(at(slot::line_element), reg_element);
    add(at(slot::rows), static_cast<std::uint32_t>(8 * axis.covered(axis.phases)));
}

/// All tiles of a line.
void depthwise_kernel::line() {
    mov(reg_position, at(slot::position));
    if (spec_.patches.rows.patches() == 1) // once is faster than in each tile
        find_rows(0);
    if (spec_.slides)
        start_sliding();
    for (std::size_t i = 0; i < spec_.line.size(); i++) {
        const tile_run &run = spec_.line[i];
        Xbyak::Label next;
        if (run.count > 1) {
            mov(reg_tiles, run.count);
            align(64);
            L(next);
        }
        spec_.slides ? slide(run, outputs_behind(i)) : tile(run);
        add(reg_element, static_cast<std::uint32_t>(run.columns * spec_.dst_column_stride));
        add(reg_position,
            static_cast<std::uint32_t>(run.columns * spec_.column_taps.stride * spec_.pixel_stride));
        if (run.count > 1) {
            dec(reg_tiles);
            jnz(next, T_NEAR);
        }
    }
    give_accumulators();
}

/// Weights of a vector of channels of the tile.
Address depthwise_kernel::weights_at(dim_t tap_vector, int vector) {
    return ptr[reg_weights +
               static_cast<int>((vector * spec_.patches.vectors() + tap_vector) * block_vector_bytes +
                                first_ * vector_bytes())];
}

Address depthwise_kernel::initial_at(int vector, int offset) {
    return ptr[reg_initial + vector * initial_bytes() + first_ * vector_bytes() + offset];
}

/// Keeps the weights of a block in registers if the largest tile leaves enough of them.
void depthwise_kernel::take_weights() {
    const int accs = accumulators(widest_tile());
    const int order = lanes() == 16 ? 1 : 0; // is taken by now
    const int others =
        std::max(accs * (spec_.sums_source ? 2 : 1) + depthwise_reduction_temps(isa(), spec_.blocks) - order,
                 accs + plan_.temps(isa()));
    if (spec_.blocks > 1 || free_vecs() < others + spec_.patches.vectors())
        return;
    for (int i = 0; i < static_cast<int>(spec_.patches.vectors()); i++) {
        weights_.push_back(take_vec());
        move(weights_.back(), weights_at(i, 0));
    }
}

/// Without a dot-product instruction; once for all lines of a group instead of in every tile.
/// Weights as words: for each vector, those of even taps, then those of odd ones.
void depthwise_kernel::split_weights() {
    const temp even(*this), odd(*this);
    mov(reg_address, arg(&depthwise_args::scratch));
    for (int i = 0; i < static_cast<int>(spec_.patches.vectors()); i++) {
        move(even, weights_at(i, 0));
        vpsraw(odd, even, 8);
        vpsllw(even, even, 8);
        vpsraw(even, even, 8);
        vmovups(ptr[reg_address + 2 * i * block_vector_bytes], even);
        vmovups(ptr[reg_address + (2 * i + 1) * block_vector_bytes], odd);
    }
    mov(reg_weights, reg_address);
}

void depthwise_kernel::tile(const tile_run &run) {
    columns_ = run.columns;
    initialise();
    for (int a = 0; a < patch_rows(); a++)
        multiply_patch_row(run, a);
    if (spec_.sums_source)
        subtract_sums();
    finish_outputs({0, columns_});
    give_accumulators();
}

void depthwise_kernel::give_accumulators() {
    for (const vec &x : acc_)
        give_vec(x);
    acc_.clear();
}

/// Outputs behind a tile of this run that may have taps in the tile's positions.
int depthwise_kernel::outputs_behind(std::size_t run) const {
    const std::size_t runs = spec_.line.size();
    if (run + 1 == runs)
        return 0;
    return run + 2 == runs && spec_.line[run].count == 1 ? spec_.line.back().columns : columns_;
}

/// The taps of a line's first outputs in all positions but the one that finishes the first output.
void depthwise_kernel::start_sliding() {
    columns_ = static_cast<int>(spec_.patches.columns.kernel);
    initialise();
    const tile_run &first = spec_.line.front();
    for (int position = 0; position < columns_ - 1; position++)
        multiply_position(first, position, {0, std::min(position + 1, first.columns + outputs_behind(0))});
}

void depthwise_kernel::multiply_position(const tile_run &run, dim_t position, column_range outputs) {
    for (int a = 0; a < patch_rows(); a++) {
        if (spec_.patches.rows.patches() > 1)
            find_rows(a);
        multiply_patch(run, position, a, outputs);
    }
}

/// Each position finishes an output and begins with the one that takes its accumulators.
void depthwise_kernel::slide(const tile_run &run, int outputs_behind) {
    const int outputs = run.columns + outputs_behind;
    for (int c = 0; c < run.columns; c++) {
        multiply_position(run, c + columns_ - 1, {c, std::min(c + columns_, outputs)});
        finish_outputs({c, c + 1});
        for (int r = 0; r < rows_ && c + columns_ < outputs; r++)
            for (int v = 0; v < vectors(); v++)
                r == 0 ? move(acc_[index(r, c, v)], initial_at(v))
                       : move(acc_[index(r, c, v)], acc_[index(0, c, v)]);
    }
}

void depthwise_kernel::initialise() {
    for (int i = 0; i < accumulators(columns_); i++) {
        acc_.push_back(take_vec());
        if (i < vectors())
            move(acc_.back(), initial_at(i));
        else
            move(acc_.back(), acc_[static_cast<std::size_t>(i % vectors())]);
    }
    for (int i = 0; i < accumulators(columns_) && spec_.sums_source; i++) {
        sums_.push_back(take_vec());
        zero(sums_.back());
    }
}

void depthwise_kernel::find_rows(int patch_row) {
    mov(reg_address, at(slot::rows));
    for (int e = 0; e < static_cast<int>(used_rows(patch_row)); e++)
        mov(reg_rows[e], ptr[reg_address + (patch_row * static_cast<int>(spec_.patches.rows.size) + e) * 8]);
}

/// Gathers the quads of a row of patches position by position, each for all outputs that use it.
void depthwise_kernel::multiply_patch_row(const tile_run &run, int patch_row) {
    const patch_axis &axis = spec_.patches.columns;
    std::set<dim_t> positions;
    for (int c = 0; c < columns_; c++)
        for (int b = 0; b < static_cast<int>(axis.patches()); b++)
            positions.insert(patch_position(axis, spec_.column_taps, c, b));
    if (spec_.patches.rows.patches() > 1)
        find_rows(patch_row);
    for (const dim_t position : positions)
        multiply_patch(run, position, patch_row, {0, columns_});
}

void depthwise_kernel::multiply_patch(const tile_run &run, dim_t position, int patch_row,
                                      column_range outputs) {
    const int registers = spec_.blocks == 1 ? 1 : 5;
    for (int i = 0; i < registers; i++)
        quads_.push_back(take_vec());
    gather(run, position, patch_row);
    multiply(position, patch_row, outputs);
    for (const vec &quad : quads_)
        give_vec(quad);
    quads_.clear();
}

void depthwise_kernel::multiply(dim_t position, int patch_row, column_range outputs) {
    const patch_axis &axis = spec_.patches.columns;
    for (int b = 0; b < static_cast<int>(axis.patches()); b++)
        for (int c = outputs.first; c < outputs.last; c++) {
            if (patch_position(axis, spec_.column_taps, c, b) != position)
                continue;
            for (int r = 0; r < rows_; r++) {
                const std::uint32_t taps = used_taps(r, c, patch_row, b);
                if (taps == 0)
                    continue;
                const dim_t tap_vector = spec_.patches.vector_of(r, c % axis.phases, patch_row, b);
                for (int v = 0; v < vectors(); v++)
                    multiply(index(r, c, v), tap_vector, v, taps);
            }
        }
}

/// An accumulator of vector v += quad * weights, and with zero points of weights the sum of the source.
void depthwise_kernel::multiply(std::size_t acc, dim_t tap_vector, int v, std::uint32_t taps) {
    const vec &quad = quads_[static_cast<std::size_t>(v)];
    if (!has_dot4()) {
        multiply_words(quad, acc, tap_vector, taps);
        return;
    }
    if (weights_.empty())
        dot4(acc_[acc], quad, weights_at(tap_vector, v), spec_.multiplies_signed);
    else
        dot4(acc_[acc], quad, weights_[static_cast<std::size_t>(tap_vector)], spec_.multiplies_signed);
    if (spec_.sums_source)
        dot4(sums_[acc], quad, constant(taps), spec_.multiplies_signed);
}

/// Without a dot-product instruction: exact products of 16-bit words, summed in pairs.
void depthwise_kernel::multiply_words(const vec &quad, std::size_t acc, dim_t tap_vector,
                                      std::uint32_t taps) {
    const temp words(*this), product(*this);
    for (int half = 0; half < 2; half++) {
        if (half == 0)
            vpand_(words, quad, constant(0x00ff00ffu));
        else
            vpsrlw(words, quad, 8);
        vpmaddwd(product, words, ptr[reg_weights + (2 * tap_vector + half) * block_vector_bytes]);
        vpaddd(acc_[acc], acc_[acc], product);
        if (!spec_.sums_source)
            continue;
        vpmaddwd(product, words, constant(taps >> (8 * half) & 0x00ff00ffu));
        vpaddd(sums_[acc], sums_[acc], product);
    }
}

/// Σ s (w - zw): less the sums of the source times the zero points of the weights.
void depthwise_kernel::subtract_sums() {
    for (std::size_t i = 0; i < sums_.size(); i++) {
        vpmulld(sums_[i], sums_[i], initial_at(static_cast<int>(i) % vectors(), block_vector_bytes));
        vpsubd(acc_[i], acc_[i], sums_[i]);
        give_vec(sums_[i]);
    }
    sums_.clear();
}

void depthwise_kernel::finish_outputs(column_range outputs) {
    const epilogue_operands operands{reg_params,  reg_dst,     reg_element,     reg_full,
                                     reg_rows[0], reg_address, is_interleaved()};
    std::vector<epilogue_result> results;
    for (int r = 0; r < rows_; r++)
        for (int c = outputs.first; c < outputs.last; c++)
            for (int v = 0; v < vectors(); v++)
                results.push_back(
                    {acc_[index(r, c, v)], r, first_ + v,
                     r * spec_.dst_row_stride + c * spec_.dst_column_stride + (first_ + v) * lanes(),
                     valid(first_ + v)});
    epilogue_emitter(*this, plan_, operands).emit(results);
}

shared_code<const depthwise_args> depthwise_code(const depthwise_spec &spec, const epilogue_plan &plan) {
    return shared_kernel<depthwise_kernel>(spec, plan);
}

} // namespace octet::impl::jit
