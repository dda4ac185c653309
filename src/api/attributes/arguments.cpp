// Values that attributes leave to the execution arrive as arguments like tensors do. Their descriptors are made
// once, so that `execute` checks them with the same few lines.
// SPDX-License-Identifier: Apache-2.0
#include "api/attributes/arguments.hpp"

#include "common/epilogue.hpp"
#include "common/layout/layout.hpp"
#include "common/text.hpp"
#include "common/tokens.hpp"

namespace octet::impl {

namespace {

/// The number of values of an attribute for this tensor, where neighbours of the last two dimensions may share one.
template <typename T> dim_t value_count(const masked_values<T> &values, memory_desc md) {
    for (std::size_t i = 0; i < values.groups.size(); i++) {
        dim_t &size = md.dims[md.ndims - 2 + static_cast<int>(i)];
        size = div_up(size, values.groups[i]);
    }
    return masked_count(values.mask, md);
}

} // namespace

void add_attribute_arguments(const primitive_attr &attr, const std::map<int, const memory_desc *> &tensors,
                             std::map<int, memory::desc> &args) {
    const auto vector_of = [](dim_t n, data_type type) { return memory::desc({n}, type, format_tag::a); };
    if (attr.output_scales().runtime)
        args[OCTET_ARG_ATTR_OUTPUT_SCALES] =
            vector_of(masked_count(attr.output_scales().mask, *tensors.at(OCTET_ARG_DST)), data_type::f32);
    const auto add = [&](int flag, const auto &by_argument, data_type usual) {
        for (const auto &[arg, values] : by_argument)
            if (values.runtime && !is_packed_with_scales(*tensors.at(arg)))
                args[flag | arg] = vector_of(value_count(values, *tensors.at(arg)),
                                             values.type == data_type::undef ? usual : values.type);
    };
    add(OCTET_ARG_ATTR_SCALES, attr.scales(), data_type::f32);
    add(OCTET_ARG_ATTR_ZERO_POINTS, attr.zero_points(), data_type::s32);

    const std::vector<post_op_entry> &ops = attr.get_post_ops().entries();
    for (int i = 0; i < static_cast<int>(ops.size()); i++)
        if (const int arg = operand_of(ops[i], i))
            args[arg] = operand_desc(ops[i], *tensors.at(OCTET_ARG_DST));
}

std::string argument_name(int arg) {
    if (arg >= OCTET_ARG_MULTIPLE_SRC && arg < 2 * OCTET_ARG_MULTIPLE_SRC)
        return text("src", arg - OCTET_ARG_MULTIPLE_SRC);
    switch (arg) {
    case OCTET_ARG_SRC_0:
        return "src";
    case OCTET_ARG_SRC_1:
        return "src1";
    case OCTET_ARG_WEIGHTS:
        return "weights";
    case OCTET_ARG_BIAS:
        return "bias";
    case OCTET_ARG_DST:
        return "dst";
    default:
        return argument_to_string(arg);
    }
}

int argument_of(const std::string &name, bool has_numbered_sources) {
    for (const int arg : {OCTET_ARG_WEIGHTS, OCTET_ARG_BIAS, OCTET_ARG_DST})
        if (argument_name(arg) == name)
            return arg;
    const bool is_source = name.rfind("src", 0) == 0;
    if (is_source && has_numbered_sources && name.size() > 3) {
        const int index = number_of<int>(name.substr(3));
        if (index >= 0 && index < OCTET_ARG_MULTIPLE_SRC)
            return OCTET_ARG_MULTIPLE_SRC + index;
    }
    if (!has_numbered_sources && (name == "src" || name == "src0"))
        return OCTET_ARG_SRC_0;
    if (!has_numbered_sources && name == "src1")
        return OCTET_ARG_SRC_1;
    throw_invalid("tensor '", name, "', allowed: ",
                  has_numbered_sources ? "src0, src1, …, dst" : "src, src1, weights, bias, dst");
}

} // namespace octet::impl
