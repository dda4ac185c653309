// Computes a tensor by two rules: all of it by that of the groups, then what lies behind the last whole group by
// TFLite's, copied from a result of its own.
// SPDX-License-Identifier: Apache-2.0

#include "network/tflite/ops/groups.hpp"

#include "network/ops/view_transpose_pad.hpp"
#include "network/tflite/ops/operators.hpp"

namespace octet::model {
namespace {

/// The last `rest` elements, or channels, of a tensor.
memory::desc behind_groups(const memory::desc &whole, bool is_by_channel, dim_t rest) {
    if (!is_by_channel) {
        const dim_t count = element_count(whole.dims());
        return memory::desc({count}, whole.data_type(), memory::dims{1})
            .submemory_desc({rest}, {count - rest});
    }
    memory::dims part = whole.dims(), begin(part.size(), 0);
    begin[1] = part[1] - rest;
    part[1] = rest;
    return whole.submemory_desc(part, begin);
}

} // namespace

dim_t count_behind_groups(const lowering &l) {
    const element_groups g = l.groups();
    const memory::dims &y = l.result().dims;
    return g.size == 0 || y.empty() ? 0 : (g.is_by_channel ? y.back() : element_count(y)) % g.size;
}

std::unique_ptr<step> step_in_groups(const lowering &l, const memory::desc &dst, const add_by_rule &add) {
    auto result = std::make_unique<primitive_step>();
    const bool is_by_channel = l.groups().is_by_channel;
    const dim_t rest = count_behind_groups(l);
    const auto output = [&] { return l.output_buffer(dst); };
    if (rest == 0) {
        add(*result, l, output);
    } else if (rest == (is_by_channel ? dst.dims().at(1) : element_count(dst.dims()))) {
        add(*result, l.ruled_by(tflite_rule), output);
    } else {
        const buffer other = l.scratch(dst);
        add(*result, l.ruled_by(tflite_rule), [&] { return other; });
        add(*result, l, output);
        const memory::desc behind = behind_groups(dst, is_by_channel, rest);
        add_copy(*result, other.seen_through(behind), output().seen_through(behind));
    }
    return result;
}

} // namespace octet::model
