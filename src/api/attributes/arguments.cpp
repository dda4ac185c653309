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

    if (attr.get_prefetched_bytes() > 0)
        args[OCTET_ARG_ATTR_PREFETCH] = vector_of(attr.get_prefetched_bytes(), data_type::u8);

    const std::vector<post_op_entry> &ops = attr.get_post_ops().entries();
    for (int i = 0; i < static_cast<int>(ops.size()); i++)
        if (const int arg = operand_of(ops[i], i))
            args[arg] = operand_desc(ops[i], *tensors.at(OCTET_ARG_DST));
}

namespace {

/// Names of the tensors of operations without numbered sources; `src0` is another name of the first.
constexpr std::pair<const char *, int> tensor_names[] = {{"src", OCTET_ARG_SRC},
                                                         {"src1", OCTET_ARG_SRC_1},
                                                         {"src2", OCTET_ARG_SRC_2},
                                                         {"weights", OCTET_ARG_WEIGHTS},
                                                         {"weights1", OCTET_ARG_WEIGHTS_1},
                                                         {"weights2", OCTET_ARG_WEIGHTS_2},
                                                         {"weights3", OCTET_ARG_WEIGHTS_3},
                                                         {"bias", OCTET_ARG_BIAS},
                                                         {"dst", OCTET_ARG_DST},
                                                         {"dst1", OCTET_ARG_DST_1},
                                                         {"dst2", OCTET_ARG_DST_2}};

bool is_source(const std::string &name) { return name.rfind("src", 0) == 0; }

} // namespace

std::string argument_name(int arg) {
    if (arg >= OCTET_ARG_MULTIPLE_SRC && arg < 2 * OCTET_ARG_MULTIPLE_SRC)
        return text("src", arg - OCTET_ARG_MULTIPLE_SRC);
    for (const auto &[name, known] : tensor_names)
        if (known == arg)
            return name;
    return argument_to_string(arg);
}

int argument_of(const std::string &name, bool has_numbered_sources) {
    if (has_numbered_sources && is_source(name) && name.size() > 3) {
        const int index = number_of<int>(name.substr(3));
        if (index >= 0 && index < OCTET_ARG_MULTIPLE_SRC)
            return OCTET_ARG_MULTIPLE_SRC + index;
    }
    if (!has_numbered_sources && name == "src0")
        return OCTET_ARG_SRC_0;
    for (const auto &[known, arg] : tensor_names)
        if (known == name && !(has_numbered_sources && is_source(name)))
            return arg;
    throw_invalid("tensor '", name, "', allowed: ",
                  has_numbered_sources ? "src0, src1, …, dst" : "src, src1, weights, bias, dst");
}

} // namespace octet::impl
