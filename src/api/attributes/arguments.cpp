// Values that attributes leave to the execution arrive as arguments like tensors do. Their descriptors are made
// once, so that `execute` checks them with the same few lines.
// SPDX-License-Identifier: Apache-2.0
#include "api/attributes/arguments.hpp"

#include "common/epilogue.hpp"
#include "common/layout/layout.hpp"

namespace octet::impl {

void add_attribute_arguments(const primitive_attr &attr, const std::map<int, const memory_desc *> &tensors,
                             std::map<int, memory::desc> &args) {
    const auto vector_of = [](dim_t n, data_type type) { return memory::desc({n}, type, format_tag::a); };
    if (attr.output_scales().runtime)
        args[OCTET_ARG_ATTR_OUTPUT_SCALES] =
            vector_of(masked_count(attr.output_scales().mask, *tensors.at(OCTET_ARG_DST)), data_type::f32);
    for (const auto &[arg, values] : attr.scales())
        if (values.runtime)
            args[OCTET_ARG_ATTR_SCALES | arg] =
                vector_of(masked_count(values.mask, *tensors.at(arg)), data_type::f32);
    for (const auto &[arg, values] : attr.zero_points())
        if (values.runtime)
            args[OCTET_ARG_ATTR_ZERO_POINTS | arg] =
                vector_of(masked_count(values.mask, *tensors.at(arg)), data_type::s32);

    const std::vector<post_op_entry> &ops = attr.get_post_ops().entries();
    for (int i = 0; i < static_cast<int>(ops.size()); i++)
        if (const int arg = operand_of(ops[i], i))
            args[arg] = operand_desc(ops[i], *tensors.at(OCTET_ARG_DST));
}

} // namespace octet::impl
