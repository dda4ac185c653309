#pragma once // SPDX-License-Identifier: Apache-2.0

// The epilogue for vectors: emits what common/bound_epilogue.cpp defines for one element, as an
// `epilogue_plan` has decided.

#include <functional>
#include <vector>

#include "jit/base/emitter.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

/// The registers that say where the operands of one vector of results lie.
struct epilogue_operands {
    const Xbyak::Reg64 &params;   ///< parameter vectors of the first column block
    const Xbyak::Reg64 &dst;      ///< first row and column of the call
    const Xbyak::Reg64 &row;      ///< elements from there to the first row of the tile
    const Xbyak::Reg64 &full;     ///< array of pointers, one per post-op, to the element that `dst` points to
    const Xbyak::Reg64 &row_sums; ///< s32 per row of the tile
    const Xbyak::Reg64 &scratch;  ///< free for address computations
    bool are_interleaved = false; ///< each four results, see epilogue_plan::can_be_interleaved
    bool params_are_invariant = false; ///< one block, of equal numbers, for the whole call
    /// Emits other code, which may stand between two vectors' instructions and leaves vectors and `scratch` alone.
    const std::function<void()> *between = nullptr;
};

/// An accumulator to be finished, and where its results belong.
struct epilogue_result {
    vec acc;
    int row;           ///< row of the tile
    int column_vector; ///< from the call's first column
    dim_t element;     ///< distance from the tile's first element, in elements of dst
    int valid;         ///< lanes to store
    epilogue_stage value = epilogue_stage::accumulator;
};

/// x = x op y, f32 lanes, as binary_op of common/bound_epilogue.hpp.
void emit_binary(emitter &e, algorithm alg, const vec &x, const Xbyak::Operand &y);

class epilogue_emitter {
public:
    epilogue_emitter(emitter &e, const epilogue_plan &plan, const epilogue_operands &operands)
        : e_(e), plan_(plan), at_(operands) {}

    /// Finishes and stores accumulators; neighbours in dst should follow each other.
    void emit(const std::vector<epilogue_result> &results);

    /// Column vector v of a parameter vector.
    vec_operand param(int index, int v) const;

private:
    /// A vector of results on its way, and where it belongs.
    struct context {
        const vec &x;
        int index; ///< number of the post-op
        int v;     ///< column vector
        dim_t element;
        int valid;
    };
    void apply_rule(const epilogue_result &r);
    void compute(const epilogue_result *results, std::size_t count);
    std::size_t vectors_side_by_side() const;
    void requantize(const vec &x, int v);
    void requantize_signed(const vec &x, requantization_rule rule, fixed_point_multiplier m);
    /// Takes results from values of one kind to values of one kind.
    template <typename Step> void each(const epilogue_result *results, std::size_t count, const Step &step) {
        const bool is_f32 = is_f32_;
        for (std::size_t k = 0; k < count; k++) {
            is_f32_ = is_f32;
            step(results[k]);
            between();
        }
    }
    void between() const {
        if (at_.between)
            (*at_.between)();
    }
    void apply_post_op(int index, const epilogue_result *results, std::size_t count);
    /// Specialized for each post-op, in post_ops.cpp.
    template <typename PostOp> void apply(const PostOp &op, const context &at);
    void finish(const context &at);
    void finish_f32_as_codes(const context &at);
    void add_zero_point_exactly(const context &at);
    void store_vector(const epilogue_result &r);
    void store_bytes(const epilogue_result *results, int count, const vec &order);
    void look_up(const vec &codes, const post_op_entry &entry);

    static constexpr int no_tensor = -1;
    void load(const vec &y, data_type type, int tensor, const context &at);
    void load_as_f32(const vec &y, data_type type, int tensor, const context &at);
    void load_row_value(const vec &y, data_type type, int tensor);
    std::int64_t address_of(const Xbyak::Reg64 &base, data_type type, dim_t element);

    void to_f32(const vec &x);
    void to_code(const vec &x, data_type type, std::int32_t zero_point);
    void to_s32(const vec &x); ///< nearest even, saturating, NaN gives INT32_MIN
    void saturating_add(const vec &x, const vec &term);

    emitter &e_;
    const epilogue_plan &plan_;
    const epilogue_operands at_;
    bool is_f32_ = false; ///< kind of the value at this point of the emission
};

} // namespace octet::impl::jit
