#pragma once

// The epilogue for vectors: emits what common/epilogue.cpp defines for one element. An `epilogue_plan`
// decides once which numbers are per-column data ("planes", see jit/requantize.hpp) and which post-ops read a
// tensor of dst's layout; the driver fills the planes for each execution, the emitter reads them.

#include <optional>
#include <string>
#include <vector>

#include "common/epilogue.hpp"
#include "jit/emitter.hpp"
#include "jit/requantize.hpp"

namespace octet::impl::jit {

/// Columns of the problem: dst's dimension `dim`, of which a kernel call sees a contiguous range.
struct epilogue_shape {
    int channel_dim; ///< dimension of dst that the columns run over
    dim_t channels;
};

class epilogue_plan {
public:
    epilogue_plan(const epilogue &e, const epilogue_shape &shape, bool subtracts_row_sums);

    /// Why the vector form can't do this, or empty.
    static std::string refuses(const epilogue &e, const epilogue_shape &shape);

    /// Planes of one block of 16 columns, in order; -1 where the epilogue has no such plane.
    struct plane_indices {
        int acc_init = 0, weights_zero_point = -1, bias = -1, scale = -1, weights_scale = -1,
            inverse_dst_scale = -1;
        int zero_point = -1, low = -1, high = -1, rule = -1;
        std::vector<int> post_op; ///< per post-op: per-channel or common operand of binary, prelu weights
        int count = 1;
    };

    const epilogue &source() const { return e_; }
    const epilogue_shape &shape() const { return shape_; }
    const plane_indices &planes() const { return planes_; }
    const rule_spec &rule() const { return rule_; }
    bool reads_full_tensor(int post_op) const;        ///< binary with a src1 of dst's shape
    bool ends_in_f32() const { return ends_in_f32_; } ///< kind of the value after the last post-op

    /// Vector registers that the emitter takes besides the accumulator.
    int temps(cpu_isa level) const;

    /// Everything that decides the emitted code.
    std::string code_key() const;

    /// Fills all planes but acc_init and weights_zero_point for channels [first, first + count): ceil(count /
    /// 16) blocks.
    void fill(const arguments &args, dim_t first, dim_t count, std::uint32_t *blocks) const;

private:
    void fill_block(const arguments &args, dim_t first_channel, dim_t last_channel,
                    std::uint32_t *block) const;

    epilogue e_;
    epilogue_shape shape_;
    rule_spec rule_;
    plane_indices planes_;
    bool ends_in_f32_;
};

/// Where the operands of one vector of results lie.
struct epilogue_operands {
    const Xbyak::Reg64 &params;   ///< planes of the first column block
    const Xbyak::Reg64 &dst;      ///< first row and column of the call
    const Xbyak::Reg64 &row;      ///< elements from there to the first row of the tile
    const Xbyak::Reg64 &full;     ///< array of pointers, one per post-op, to the element that `dst` points to
    const Xbyak::Reg64 &row_sums; ///< s32 per row of the tile
    const Xbyak::Reg64 &scratch;  ///< free for address computations
};

class epilogue_emitter {
public:
    epilogue_emitter(emitter &e, const epilogue_plan &plan, const epilogue_operands &operands)
        : e_(e), plan_(plan), at_(operands) {}

    /// Finishes the accumulator of column vector `v` in tile row `r` and stores `valid` lanes. `element` is
    /// the distance from the tile's first element in elements of dst.
    void emit(const vec &acc, int r, int v, dim_t element, int valid);

    /// Address of column vector v in a plane.
    Xbyak::Address plane(int index, int v) const;

private:
    void requantize(const vec &x, int v);
    /// A vector of results on its way, and where it belongs.
    struct place {
        const vec &x;
        int index; ///< of the post-op
        int v;     ///< column vector
        dim_t element;
        int valid;
    };
    void apply(const post_op::sum &op, const place &at);
    void apply(const post_op::eltwise &op, const place &at);
    void apply(const post_op::binary &op, const place &at);
    void apply(const post_op::prelu &op, const place &at);
    void apply(const post_op::clip &op, const place &at);
    void apply(const post_op::add &op, const place &at);
    void apply(const post_op::rescaled_sum &op, const place &at);
    void apply(const post_op::leaky_relu &op, const place &at);
    void apply(const post_op::table &op, const place &at);
    void finish(const place &at);
    void store(const place &at);

    static constexpr int no_tensor = -1;
    void load_as_f32(const vec &y, data_type type, int tensor, const place &at);
    std::int64_t address_of(const Xbyak::Reg64 &base, data_type type, dim_t element);

    void to_f32(const vec &x);
    void to_s32(const vec &x); ///< nearest even, saturating, NaN gives INT32_MIN
    void saturating_add(const vec &x, const vec &term);

    emitter &e_;
    const epilogue_plan &plan_;
    const epilogue_operands at_;
    bool is_f32_ = false; ///< kind of the value at this point of the emission
};

} // namespace octet::impl::jit
