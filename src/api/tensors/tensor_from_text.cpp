// Layouts and tensors from their texts, as format_tag.cpp writes them.
// SPDX-License-Identifier: Apache-2.0
#include "api/tensors/tensor_from_text.hpp"

#include <algorithm>

#include "api/tensors/format_tag.hpp"
#include "api/tensors/memory_desc_checks.hpp"
#include "common/layout/runtime.hpp"
#include "common/names.hpp"
#include "common/text.hpp"
#include "common/tokens.hpp"

namespace octet::impl {

namespace {

void set_packed_name(memory_desc &md, const std::string &name) {
    const std::vector<std::string> parts = split(name.substr(std::string("packed_").size()), '-');
    md.format_kind = format_kind::packed;
    if (!from_name(parts[0], md.packed_kind))
        throw_invalid("layout '", name,
                      "', allowed after packed_: convolution, grouped_convolution, matmul, ",
                      "deconvolution, grouped_deconvolution, matmul_with_scales, recurrent");
    for (std::size_t i = 1; i < parts.size(); i++) {
        const char key = parts[i].empty() ? ' ' : parts[i][0];
        const std::vector<dim_t> numbers =
            parts[i].size() > 1 ? numbers_of(parts[i].substr(1), '.') : std::vector<dim_t>();
        if (key == 'g' && numbers.size() == 1)
            md.packed_groups = numbers[0];
        else if (key == 'w' && numbers.size() == 1)
            md.packed_width = numbers[0];
        else if (key == 'p' && numbers.size() == 5)
            md.packed_patches = {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
        else if (key == 's' && numbers.size() == 3)
            std::copy(numbers.begin(), numbers.end(), md.packed_steps);
        else
            throw_invalid("layout '", name, "': '", parts[i],
                          "', allowed: g and 1 number, w and 1, p and 5, s and 3");
    }
}

/// "16x*x3": sizes, some of which may come with the execution.
std::vector<dim_t> sizes_of(const std::string &list) {
    std::vector<dim_t> sizes;
    for (const std::string &part : split(list, 'x'))
        sizes.push_back(part == "*" ? OCTET_RUNTIME_DIM_VAL : number_of<dim_t>(part));
    return sizes;
}

void set_strides(memory_desc &md, const std::string &name) {
    const std::vector<std::string> parts = split(name.substr(std::string("strides_").size()), '@');
    const std::vector<dim_t> strides = sizes_of(parts[0]);
    if (static_cast<int>(strides.size()) != md.ndims || parts.size() > 2)
        throw_invalid("layout '", name, "', allowed for ", md.ndims,
                      " dimensions: strides_ and as many numbers");
    md.format_kind = format_kind::plain;
    std::copy(strides.begin(), strides.end(), md.strides);
    md.offset0 = parts.size() == 2 ? number_of<dim_t>(parts[1]) : 0;
}

/// Gives `md`, whose dims and type are set, the layout of this name in any spelling.
void read_layout(memory_desc &md, const std::string &name) {
    format_tag tag = format_tag::undef;
    if (name == "any")
        md.format_kind = format_kind::any;
    else if (name.rfind("packed_", 0) == 0)
        set_packed_name(md, name);
    else if (name.rfind("strides_", 0) == 0)
        set_strides(md, name);
    else if (find_tag(name, tag))
        set_layout(md, tag);
    else
        throw_invalid("layout '", name, "', allowed: any, a format tag, strides_…, packed_…");
}

} // namespace

memory_desc tensor_from_text(const std::string &text) {
    const std::vector<std::string> fields = split(text, ':');
    memory_desc md;
    if (fields.size() != 3 || !from_name(fields[0], md.data_type))
        throw_invalid("tensor '", text, "', allowed: type:dims:layout, such as u8:1x64x56x56:nhwc");
    const std::vector<dim_t> dims = sizes_of(fields[1]);
    md = memory::desc(dims, md.data_type, format_tag::any).data; // checks the shape
    read_layout(md, fields[2]);
    check_description("tensor", text.c_str(), md);
    return md;
}

} // namespace octet::impl
