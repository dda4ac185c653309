// Parameters and initial accumulators of columns. `bind` finds the arguments of an execution; `params` and
// `initial` fill a thread's own copy, the latter by the algebra of zero points: bias minus what the sums of
// weights contribute.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/accumulating/columns.hpp"

#include <algorithm>

#include "common/element.hpp"
#include "common/rounding.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/weights/pack.hpp"

namespace octet::impl {

columns::columns(const stored_weights &weights, const jit::epilogue_plan &epilogue,
                 const std::vector<line_range> &ranges, bool groups_have_channels, instruction_set isa)
    : weights_(weights), epilogue_(epilogue), ranges_(ranges), groups_have_channels_(groups_have_channels),
      has_bias_(epilogue.source().bias.ndims != 0 && epilogue.params().bias < 0),
      has_argument_params_(epilogue.has_argument_params() || epilogue.params().weights_zero_point >= 0),
      isa_(isa) {
    const packed_geometry &p = packed();
    constants_.resize(static_cast<std::size_t>(p.groups * p.o_blocks() * block_words()));
    if (!has_bias_)
        initial_.resize(ranges.size() * static_cast<std::size_t>(padded_columns()), magic_bias());
    for (dim_t group = 0; group < p.groups; group++)
        epilogue_.fill_constants(first_channel(group), p.o,
                                 constants_.data() + group * p.o_blocks() * block_words());
}

column_arguments columns::bind(const arguments &args, std::int32_t src_zero_point) const {
    return {args, has_bias_ ? args.get<const void>(OCTET_ARG_BIAS) : nullptr, weights_.bind(args, isa_),
            src_zero_point};
}

/// visit(o, bias of channel first_channel + o). Dense s32, as nearly all are, in a loop that vectors can take.
template <typename Visit>
void columns::for_each_bias(const void *bias, dim_t first_channel, dim_t count, const Visit &visit) const {
    const memory_desc &md = epilogue_.source().bias;
    const int channel_dim = epilogue_.shape().channel_dim;
    const dim_t stride = md.dims[channel_dim] == 1 ? 0 : md.strides[channel_dim];
    const dim_t first = md.offset0 + first_channel * stride;
    if (md.data_type == data_type::s32 && stride == 1)
        for (dim_t o = 0; o < count; o++)
            visit(o, static_cast<const std::int32_t *>(bias)[first + o]);
    else
        for (dim_t o = 0; o < count; o++)
            visit(o, load_s32(bias, md.data_type, first + o * stride));
}

bool columns::may_start_from_magic_bias(const column_arguments &args) const {
    if (magic_bias() == 0 || !has_bias_)
        return true;
    std::uint32_t beyond = 0; // no branch: a loop over vectors
    const dim_t channels = epilogue_.source().bias.dims[epilogue_.shape().channel_dim];
    for_each_bias(args.bias, 0, channels, [&](dim_t, std::int32_t x) {
        beyond |= static_cast<std::uint32_t>((x < -jit::largest_bias) | (x > jit::largest_bias));
    });
    return beyond == 0;
}

const std::uint32_t *columns::params(const column_arguments &args) const {
    if (!has_argument_params_)
        return constants_.data();
    const packed_geometry &p = packed();
    auto *params = static_cast<std::uint32_t *>(
        thread_scratch(scratch_slot::column_params, constants_.size() * sizeof constants_[0]));
    std::copy(constants_.begin(), constants_.end(), params);
    for (dim_t group = 0; group < p.groups; group++)
        epilogue_.fill_arguments(args.all, first_channel(group), p.o,
                                 params + group * p.o_blocks() * block_words());
    if (epilogue_.params().weights_zero_point >= 0)
        fill_weights_zero_points(args.all, params);
    return params;
}

void columns::fill_weights_zero_points(const arguments &args, std::uint32_t *params) const {
    const packed_geometry &p = packed();
    const stored_weights::bound_zero_points zero_points(weights_, args);
    std::uint32_t *param = params + epilogue_.params().weights_zero_point * jit::columns_per_block;
    // Columns of padding are computed and never stored; they repeat the last channel.
    for (dim_t group = 0; group < p.groups; group++)
        for (dim_t o = 0; o < p.line_sums(); o++)
            param[(group * p.o_blocks() + o / packed_o_block) * block_words() + o % packed_o_block] =
                static_cast<std::uint32_t>(zero_points[first_channel(group) + std::min(o, p.o - 1)]);
}

void columns::add_bias(const void *bias, std::int32_t *initial) const {
    const packed_geometry &p = packed();
    for (dim_t group = 0; group < p.groups; group++) {
        std::int32_t *to = initial + group * p.line_sums();
        for_each_bias(bias, first_channel(group), p.o,
                      [to](dim_t o, std::int32_t x) { to[o] = wrapping_add(to[o], x); });
    }
}

/// Σ (s - zs)(w - zw) = Σ s·w - zs·Σw - zw·Σs + K·zs·zw. The terms without s are constants of a column and
/// enter the initial accumulator here; zw·Σs differs from row to row and is the kernel's. Where lines of the
/// kernel are skipped, Σw is of the others: a line outside the image would hold zs, and its terms cancel.
void columns::subtract_zero_points(const column_arguments &args, const line_range &range,
                                   std::int32_t *initial) const {
    const packed_geometry &p = packed();
    const std::int32_t *sums = packed_sums(p, args.weights);
    const auto factor = static_cast<std::uint32_t>(args.src_zero_point); // all modulo 2^32
    for (dim_t group = 0; group < p.groups; group++)
        for (dim_t line = range.first; line < range.first + range.count; line++) {
            const std::int32_t *line_sums = sums + (group * p.lines + line) * p.line_sums();
            std::int32_t *to = initial + group * p.line_sums();
            for (dim_t o = 0; o < p.line_sums(); o++)
                to[o] = static_cast<std::int32_t>(static_cast<std::uint32_t>(to[o]) -
                                                  factor * static_cast<std::uint32_t>(line_sums[o]));
        }
    if (epilogue_.params().weights_zero_point < 0)
        return;
    const stored_weights::bound_zero_points zero_points(weights_, args.all);
    for (dim_t group = 0; group < p.groups; group++)
        for (dim_t o = 0; o < p.o; o++) {
            std::int32_t &x = initial[group * p.line_sums() + o];
            const std::int64_t zero_term = weights_.reduction() * zero_points[first_channel(group) + o];
            x = wrap(x + std::int64_t{args.src_zero_point} * wrap(zero_term));
        }
}

const std::int32_t *columns::initial(const column_arguments &args) const {
    if (!has_bias_ && args.src_zero_point == 0)
        return initial_.data();
    const std::size_t count = ranges_.size() * static_cast<std::size_t>(padded_columns());
    auto *all = static_cast<std::int32_t *>(
        thread_scratch(scratch_slot::initial_accumulators, count * sizeof(std::int32_t)));
    for (std::size_t r = 0; r < ranges_.size(); r++) {
        std::int32_t *initial = all + static_cast<dim_t>(r) * padded_columns();
        std::fill_n(initial, padded_columns(), magic_bias());
        if (has_bias_)
            add_bias(args.bias, initial);
        if (args.src_zero_point != 0)
            subtract_zero_points(args, ranges_[r], initial);
    }
    return all;
}

} // namespace octet::impl
