#pragma once // SPDX-License-Identifier: Apache-2.0

// The plan of an epilogue's vector form, made once and without the assembler: which numbers are per-column
// data ("parameter vectors", see rules.hpp), which post-ops read a tensor of dst's layout, which are left out
// or folded into another. Plans and drivers ask it and fill its parameter vectors for each execution;
// `epilogue_emitter` (epilogue.hpp) reads them.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "common/arguments.hpp"
#include "common/epilogue.hpp"
#include "common/machine.hpp"
#include "jit/epilogue/code_sum.hpp"
#include "jit/epilogue/rules.hpp"

namespace octet::impl::jit {

/// Bounds of what comes to an epilogue. Below 2^31 conversions to s32 need no check of their own.
constexpr double any_s32 = 0x1p31, any_f32 = HUGE_VAL; ///< any_f32 also stands for NaN

/// The bits of 2^23: added to a sum in [0, 2^23), they make it a float, which is larger by 2^23.
constexpr std::uint32_t magic_bias_2p23 = 0x4b000000;
/// Biases of accumulators that start there.
constexpr std::int32_t largest_bias = 1 << 24;

/// Zero points of 8-bit codes that generated code adds to 16-bit words, or to floats and integers bounded
/// without them. Of those that come with an execution it assumes that they are as small.
constexpr std::int32_t largest_small_zero_point = 512;
constexpr bool is_small_zero_point(std::int32_t z) {
    return z >= -largest_small_zero_point && z <= largest_small_zero_point;
}

/// Columns of the problem: dst's dimension `channel_dim`, of which a kernel call sees a contiguous range.
struct epilogue_shape {
    /// Whoever makes one says what comes in: a bound too small gives wrong codes, so there is no default.
    epilogue_shape(int channel_dim, dim_t channels, double largest_input)
        : channel_dim(channel_dim), channels(channels), largest_input(largest_input) {}

    int channel_dim; ///< dimension of dst that the columns run over; -1 if nothing varies over any
    dim_t channels;
    double largest_input; ///< bound of |x| for x that enter a float rule, or the post-ops
    /// Mask of further dimensions that numbers vary over: parameter vectors are filled for one index of them at a time.
    int outer_dims = 0;
    /// The dimension along rows, for callers that take one row at a time; then operands of binary post-ops
    /// that change from row to row are read where they are, `full` pointing to the row's first. -1: they are
    /// parameter vectors.
    int row_dim = -1;
    /// Bound of |Σ| without the bias, for s32 accumulators that start from `epilogue_plan::magic_bias`.
    /// Infinite: they don't.
    double largest_products = HUGE_VAL;
};

/// The source of vectors of results: accumulators, s32 or f32, go through the rule, values come from behind it.
enum class epilogue_stage { accumulator, f32_accumulator, s32_value, f32_value };

class epilogue_plan {
public:
    epilogue_plan(const epilogue &e, const epilogue_shape &shape, bool subtracts_row_sums);

    /// Why the vector form can't do this, or empty.
    static std::string refuses(const epilogue &e, const epilogue_shape &shape);

    /// Mask of the dimensions of dst that some parameter vector varies over: with those as columns and outer
    /// dimensions, nothing varies over too many.
    static int varying_dims(const epilogue &e, int row_dim);

    /// Parameter vectors of one block of 16 columns, in order; -1 where the epilogue has no such parameter vector.
    struct param_indices {
        int weights_zero_point = -1, bias = -1, scale = -1, weights_scale = -1, inverse_dst_scale = -1;
        int minus_magic_bias = -1; ///< -2^23 scale
        int zero_point = -1, low = -1, high = -1, rule = -1;
        std::vector<int> post_op; ///< per post-op: per-channel or common operand of binary, prelu weights
        int count = 0;
    };

    /// How an 8-bit result is finished behind its last conversion to s32, four vectors at a time.
    struct byte_stage {
        bool is_used = false;         ///< dst has 8 bits
        bool adds_zero_point = false; ///< a common zero point is added to 16-bit words, which saturate
        int low = 0, high = 0;        ///< clamps codes, where narrower than the type: a folded post-op
        int added = 0;                ///< to 16-bit words, which saturate: a post-op before a folded table
        int table = -1; ///< index of a post-op that is looked up for all codes of a vector at once
    };

    const epilogue &source() const { return e_; }
    const epilogue_shape &shape() const { return shape_; }
    const param_indices &params() const { return params_; }
    const rule_spec &rule() const { return rule_; }
    bool reads_full_tensor(int post_op) const;        ///< binary with a src1 of dst's shape
    bool reads_row_tensor(int post_op) const;         ///< binary with one that is read row by row
    bool reads_row_value(int post_op) const;          ///< the same, with one number per row
    bool ends_in_f32() const { return ends_in_f32_; } ///< kind of the value after the last post-op
    const byte_stage &bytes() const { return bytes_; }
    /// Post-ops that are emitted as such: all but those at the end that the byte stage does.
    int emitted_post_ops() const { return emitted_post_ops_; }
    /// scaled_add: how it is done at once, if it can be.
    const std::optional<code_sum> &sum_of_codes(int post_op) const { return code_sums_[post_op]; }
    /// True if no f32 result is NaN or reaches 2^31, so that its conversion needs no bounds.
    bool is_bounded() const { return is_bounded_; }
    /// Returns the number that s32 accumulators start from besides their biases: magic_bias_2p23 if no bias
    /// is beyond ±largest_bias, else 0. A sum x then is the float 2^23 + x, and (2^23 + x) s - 2^23 s, one
    /// multiply-add, is x s rounded once, as conversion and product give it.
    std::uint32_t magic_bias() const { return params_.minus_magic_bias >= 0 ? magic_bias_2p23 : 0; }

    /// True if four vectors of results may be interleaved: vector v has in 128-bit part p columns 16 p + 4 v
    /// to + 3, and so have the parameter vectors. Packing them to bytes brings them in order.
    bool can_be_interleaved() const;

    /// Vector registers that the emitter takes besides the accumulators.
    int temps(instruction_set isa, epilogue_stage value = epilogue_stage::accumulator) const;

    /// Everything that decides the emitted code.
    std::string code_key() const;
    /// "tflite_2step+sum-u8": rule, post-ops that are emitted as such, destination.
    std::string name() const;

    /// Fills parameter vectors but weights_zero_point for channels [first, first + count), ceil(count / 16) blocks:
    /// those that are known at creation, and those that come with each execution. `outer`: at these indices
    /// of the outer dimensions.
    void fill_constants(dim_t first, dim_t count, std::uint32_t *blocks, const coordinates &outer = {}) const;
    void fill_arguments(const arguments &args, dim_t first, dim_t count, std::uint32_t *blocks,
                        const coordinates &outer = {}) const;
    bool has_argument_params() const;

private:
    const f32_facts &facts() const { return facts_of(e_.rule).f32; }
    bool is_f32_after(int post_ops) const;
    double largest_after(const post_op_entry &entry, double bound) const;
    double largest_result(int post_ops) const;
    bool stays_in_s32(int post_ops) const;
    bool has_small_zero_points() const;
    bool may_start_from_magic_bias() const;
    void drop_zero_point_of_zero();
    void fold_last_post_op();
    void fold_table();
    void fill(const arguments *args, dim_t first, dim_t count, std::uint32_t *blocks,
              const coordinates &outer) const;
    void fill_block(const arguments *args, dim_t first_channel, dim_t last_channel, std::uint32_t *block,
                    const coordinates &outer) const;
    bool fill_float_rows(const arguments &args, dim_t first, dim_t count, std::uint32_t *blocks,
                         const coordinates &outer) const;
    std::uint32_t post_op_word(int index, const arguments &args, const coordinates &at) const;
    void fill_bias(const arguments &args, dim_t first, dim_t count, std::uint32_t *blocks,
                   const coordinates &outer) const;

    epilogue e_;
    epilogue_shape shape_;
    byte_stage bytes_;
    int emitted_post_ops_;
    std::vector<std::optional<code_sum>> code_sums_; ///< per post-op
    bool is_bounded_ = false;
    bool ends_in_f32_ = false;
    rule_spec rule_;
    param_indices params_;
};

} // namespace octet::impl::jit
