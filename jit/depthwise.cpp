#include "jit/depthwise.hpp"

#include <algorithm>
#include <cstddef>

#include "jit/interleave.hpp"
#include "jit/kernel_cache.hpp"

namespace octet::impl::jit {

using Xbyak::Address;

namespace {

constexpr int channels_per_block = 16;
constexpr int vector_bytes_of_block = 64; // one vector of weights, accumulators or zero points

/// Positions between the first and the last quad of a patch row that a tile reads, plus one.
dim_t quads_of_tile(const tap_patches &p, dim_t columns) {
    const patch_axis &axis = p.columns;
    return (div_up(columns, axis.phases) - 1) * axis.output_step + (axis.patches() - 1) * axis.patch_step + 1;
}

/// Registers of the reduction besides accumulators and quads: weights, and by words a product.
int reduction_temps(bool has_dot) { return has_dot ? 1 : 3; }

} // namespace

std::string depthwise_spec::key() const {
    std::string k;
    for (const patch_axis &a : {patches.rows, patches.columns})
        for (const dim_t x : {a.kernel, a.size, a.phases, a.patch_step, a.output_step})
            k += std::to_string(x) + ",";
    for (const std::int64_t x : {static_cast<std::int64_t>(level), std::int64_t{rows},
                                 std::int64_t{tile_columns}, std::int64_t{tail_columns}, std::int64_t{valid},
                                 std::int64_t{sums_source}, block_stride, dst_row_stride, dst_column_stride})
        k += std::to_string(x) + ",";
    return k;
}

int max_tile_columns(cpu_isa level, const tap_patches &patches, bool sums_source, int epilogue_temps) {
    const bool zmm = level == cpu_isa::avx512_vnni || level == cpu_isa::avx512_core;
    const bool has_dot = level == cpu_isa::avx512_vnni || level == cpu_isa::avx_vnni;
    const int registers = zmm ? 32 : 16;
    const auto phases = static_cast<int>(patches.columns.phases),
               rows = static_cast<int>(patches.rows.phases);
    const auto fits = [&](int columns, bool holds_quads) {
        const int accs = rows * columns;
        const int quads =
            holds_quads && has_dot ? static_cast<int>(quads_of_tile(patches, columns)) : has_dot;
        return accs * (sums_source ? 2 : 1) + quads + reduction_temps(has_dot) <= registers &&
               accs + epilogue_temps <= registers;
    };
    const auto largest = [&](bool holds_quads) {
        int columns = 0;
        while (fits(columns + phases, holds_quads))
            columns += phases;
        return columns;
    };
    // Wide kernels read their quads from memory again and again rather than having small tiles.
    const int held = largest(true), read = largest(false);
    return std::max(phases, held * 2 >= read ? held : read);
}

depthwise_kernel::depthwise_kernel(const depthwise_spec &spec, const epilogue_plan &plan)
    : emitter(spec.level), spec_(spec), plan_(plan) {
    generate();
    function_ = reinterpret_cast<depthwise_function>(reinterpret_cast<std::uintptr_t>(emitter::finish()));
}

int depthwise_kernel::valid(int v) const { return std::clamp(spec_.valid - v * lanes(), 0, lanes()); }

int depthwise_kernel::position(int c, int patch_column) const {
    const patch_axis &axis = spec_.patches.columns;
    return static_cast<int>(c / axis.phases * axis.output_step + patch_column * axis.patch_step);
}

Address depthwise_kernel::quad(int position, int v, int half) {
    return ptr[reg_quads + position * quad_bytes(level()) + half * vector_bytes_of_block +
               v * vector_bytes()];
}

void depthwise_kernel::generate() {
    preamble();
    const auto load = [this](const Xbyak::Reg64 &r, std::size_t field) {
        mov(r, ptr[reg_args + static_cast<int>(field)]);
    };
    load(reg_patch_rows, offsetof(depthwise_args, patch_rows));
    load(reg_weights, offsetof(depthwise_args, weights));
    load(reg_initial, offsetof(depthwise_args, initial));
    load(reg_params, offsetof(depthwise_args, params));
    load(reg_dst, offsetof(depthwise_args, dst));
    load(reg_full, offsetof(depthwise_args, full));
    load(reg_blocks, offsetof(depthwise_args, blocks));
    xor_(reg_element, reg_element);
    xor_(reg_position, reg_position);
    if (spec_.valid % lanes() != 0)
        set_tail(spec_.valid % lanes());

    Xbyak::Label block;
    L(block);
    for (int v = 0; v < channels_per_block / lanes() && valid(v) > 0; v++)
        line(v);
    add(reg_element, channels_per_block);
    add(reg_position, static_cast<std::uint32_t>(spec_.block_stride));
    add(reg_weights, static_cast<std::uint32_t>(spec_.patches.vectors() * vector_bytes_of_block));
    add(reg_initial, vector_bytes_of_block * (spec_.sums_source ? 2 : 1));
    add(reg_params, plan_.planes().count * plane_bytes);
    dec(reg_blocks);
    jnz(block, T_NEAR);
    postamble();
}

/// All tiles of one vector of channels.
void depthwise_kernel::line(int v) {
    const auto argument = [this](std::size_t field) { return ptr[reg_args + static_cast<int>(field)]; };
    push(reg_element);
    push(reg_position);
    if (spec_.tile_columns > 0) {
        Xbyak::Label loop, done;
        mov(reg_tiles, argument(offsetof(depthwise_args, tiles)));
        test(reg_tiles, reg_tiles);
        jz(done, T_NEAR);
        align(64);
        L(loop);
        tile(spec_.tile_columns, v);
        add(reg_element, static_cast<std::uint32_t>(spec_.tile_columns * spec_.dst_column_stride));
        add(reg_position, static_cast<std::uint32_t>(position(spec_.tile_columns, 0) * quad_bytes(level())));
        dec(reg_tiles);
        jnz(loop, T_NEAR);
        L(done);
    }
    if (spec_.tail_columns > 0) {
        Xbyak::Label done;
        cmp(qword[reg_args + static_cast<int>(offsetof(depthwise_args, has_tail))], 0);
        je(done, T_NEAR);
        tile(spec_.tail_columns, v);
        L(done);
    }
    pop(reg_position);
    pop(reg_element);
}

void depthwise_kernel::tile(int columns, int v) {
    columns_ = columns;
    initialise(v);
    for (int a = 0; a < static_cast<int>(spec_.patches.rows.patches()); a++)
        multiply_patch_row(a, v);
    if (spec_.sums_source)
        subtract_sums(v);
    finish_tile(v);
    for (const vec &x : acc_)
        give_vec(x);
    acc_.clear();
}

void depthwise_kernel::initialise(int v) {
    for (int i = 0; i < spec_.rows * columns_; i++) {
        acc_.push_back(take_vec());
        if (i == 0)
            move(acc_[0], ptr[reg_initial + v * vector_bytes()]);
        else
            move(acc_.back(), acc_[0]);
    }
    for (int i = 0; i < spec_.rows * columns_ && spec_.sums_source; i++) {
        sums_.push_back(take_vec());
        zero(sums_.back());
    }
}

void depthwise_kernel::multiply_patch_row(int patch_row, int v) {
    mov(reg_quads, ptr[reg_patch_rows + patch_row * 8]);
    add(reg_quads, reg_position);
    const auto count = static_cast<int>(quads_of_tile(spec_.patches, columns_));
    if (has_dot4() && free_vecs() >= count + reduction_temps(true))
        for (int i = 0; i < count; i++) {
            quads_.push_back(take_vec());
            move(quads_.back(), quad(i, v));
        }
    // The outputs of a tile alternate, so that no product waits for the one before.
    for (int b = 0; b < static_cast<int>(spec_.patches.columns.patches()); b++)
        for (int row_phase = 0; row_phase < spec_.rows; row_phase++)
            for (int column_phase = 0; column_phase < static_cast<int>(spec_.patches.columns.phases);
                 column_phase++)
                multiply_patch(row_phase, column_phase, patch_row, b, v);
    for (const vec &x : quads_)
        give_vec(x);
    quads_.clear();
}

/// The taps of a patch that exist, as a byte of 1 each.
std::uint32_t depthwise_kernel::used_taps(int row_phase, int column_phase, int patch_row,
                                          int patch_column) const {
    const patch_axis &rows = spec_.patches.rows, &columns = spec_.patches.columns;
    std::uint32_t taps = 0;
    for (int t = 0; t < taps_per_patch; t++) {
        const dim_t y = patch_row * rows.size + t / columns.size - row_phase;
        const dim_t x = patch_column * columns.size + t % columns.size - column_phase;
        if (y >= 0 && y < rows.kernel && x >= 0 && x < columns.kernel)
            taps |= 1u << (8 * t);
    }
    return taps;
}

void depthwise_kernel::multiply_patch(int row_phase, int column_phase, int patch_row, int patch_column,
                                      int v) {
    const std::uint32_t taps = used_taps(row_phase, column_phase, patch_row, patch_column);
    if (taps == 0)
        return;
    const Address weights = ptr[reg_weights +
                                spec_.patches.vector_of(row_phase, column_phase, patch_row, patch_column) *
                                    vector_bytes_of_block +
                                v * vector_bytes()];
    const auto phases = static_cast<int>(spec_.patches.columns.phases);
    const temp w(*this);
    move(w, weights);
    if (!has_dot4()) {
        multiply_words(w, row_phase, column_phase, patch_column, v, taps);
        return;
    }
    for (int c = column_phase; c < columns_; c += phases) {
        const int i = position(c, patch_column);
        const bool is_held = !quads_.empty();
        const vec q = is_held ? quads_[static_cast<std::size_t>(i)] : take_vec();
        if (!is_held)
            move(q, quad(i, v));
        dot4(acc(row_phase, c), q, w);
        if (spec_.sums_source)
            dot4(sum(row_phase, c), q, constant(taps));
        if (!is_held)
            give_vec(q);
    }
}

/// Without a dot-product instruction: exact products of 16-bit words, summed in pairs.
void depthwise_kernel::multiply_words(const vec &even, int row_phase, int column_phase, int patch_column,
                                      int v, std::uint32_t taps) {
    const temp odd(*this), product(*this);
    vpsraw(odd, even, 8);
    vpsllw(even, even, 8);
    vpsraw(even, even, 8);
    const auto phases = static_cast<int>(spec_.patches.columns.phases);
    for (int c = column_phase; c < columns_; c += phases)
        for (int half = 0; half < 2; half++) {
            const Address words = quad(position(c, patch_column), v, half);
            vpmaddwd(product, half == 0 ? even : odd.get(), words);
            vpaddd(acc(row_phase, c), acc(row_phase, c), product);
            if (!spec_.sums_source)
                continue;
            move(product, words);
            vpmaddwd(product, product, constant(taps >> (8 * half) & 0x00ff00ffu));
            vpaddd(sum(row_phase, c), sum(row_phase, c), product);
        }
}

/// Σ s (w - zw): the sums of the source times the zero points of the weights.
void depthwise_kernel::subtract_sums(int v) {
    for (std::size_t i = 0; i < sums_.size(); i++) {
        vpmulld(sums_[i], sums_[i], ptr[reg_initial + vector_bytes_of_block + v * vector_bytes()]);
        vpsubd(acc_[i], acc_[i], sums_[i]);
        give_vec(sums_[i]);
    }
    sums_.clear();
}

void depthwise_kernel::finish_tile(int v) {
    const epilogue_operands operands{reg_params, reg_dst, reg_element, reg_full, reg_quads, reg_address};
    std::vector<epilogue_result> results;
    for (int r = 0; r < spec_.rows; r++)
        for (int c = 0; c < columns_; c++)
            results.push_back({acc(r, c), r, v,
                               r * spec_.dst_row_stride + c * spec_.dst_column_stride + v * lanes(),
                               valid(v)});
    epilogue_emitter(*this, plan_, operands).emit(results);
}

std::shared_ptr<const depthwise_kernel> shared_depthwise_kernel(const depthwise_spec &spec,
                                                                const epilogue_plan &plan) {
    static kernel_cache<depthwise_kernel> kernels;
    return kernels.get(spec.key() + ";" + plan.code_key(),
                       [&] { return std::make_shared<const depthwise_kernel>(spec, plan); });
}

} // namespace octet::impl::jit
