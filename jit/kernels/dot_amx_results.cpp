// The epilogue of a tile, in portions among the products of the next one or behind them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/kernels/dot_amx_generator.hpp"
#include "jit/kernels/dot_generator.hpp"

namespace octet::impl::jit {

/// What the epilogue of this tile reads, one tile behind the one that it finishes meanwhile.
void amx_dot_kernel::prefetch_results() {
    const Xbyak::Reg64 &reg_next_row = reg_steps;
    Xbyak::Label is_first;
    mov(reg_next_row, reg_row);
    cmp(reg_sums, no_tile());
    je(is_first);
    mov(reg_address, arg(&dot_args::dst_step));
    cmp(stack(tiles_to_finish), 1);
    cmove(reg_address, arg(&dot_args::dst_turn));
    add(reg_next_row, reg_address);
    L(is_first);
    prefetch_dst(*this, spec_, plan_.source(), {reg_dst, reg_next_row, reg_address});
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
    if (!gathers())
        add(reg_row_sums, portion_rows() * static_cast<int>(sizeof(std::int32_t)));
    add(reg_row, static_cast<std::uint32_t>(portion_rows() * spec_.dst_row_stride));
}

/// `between` may emit code in front of each vector and wherever the epilogue lets it.
void amx_dot_kernel::finish_rows(int rows, const std::function<void()> &between) {
    const int at_a_time = std::min(4, free_vecs() - temps_);
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

void amx_dot_kernel::to_next_results() {
    choose_steps(tiles_to_finish);
    advance(reg_params, &dot_args::params_step);
    advance(reg_row, &dot_args::dst_step);
    if (gathers())
        return;
    advance(arg(&dot_args::row_sums), &dot_args::row_sums_step);
    mov(reg_row_sums, arg(&dot_args::row_sums));
}

} // namespace octet::impl::jit
