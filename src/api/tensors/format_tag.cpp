// Tags are letters of dimensions in the order of memory: names, strides and comparison follow from them.
// SPDX-License-Identifier: Apache-2.0
#include "api/tensors/format_tag.hpp"

#include <algorithm>

#include "api/tensors/memory_desc_checks.hpp"
#include "common/layout/layout.hpp"
#include "common/layout/runtime.hpp"
#include "common/names.hpp"
#include "common/text.hpp"
#include "common/tokens.hpp"

namespace octet::impl {

namespace {

struct tag_letters {
    format_tag tag;
    const char *letters;
};
#define OCTET_TAG(letters)                                                                                   \
    { format_tag::letters, #letters }
constexpr tag_letters plain_tags[] = {
    OCTET_TAG(a),      OCTET_TAG(ab),     OCTET_TAG(ba),     OCTET_TAG(abc),    OCTET_TAG(acb),
    OCTET_TAG(bac),    OCTET_TAG(bca),    OCTET_TAG(cab),    OCTET_TAG(cba),    OCTET_TAG(abcd),
    OCTET_TAG(abdc),   OCTET_TAG(acbd),   OCTET_TAG(acdb),   OCTET_TAG(adcb),   OCTET_TAG(bacd),
    OCTET_TAG(bcda),   OCTET_TAG(cdab),   OCTET_TAG(cdba),   OCTET_TAG(dcab),   OCTET_TAG(abcde),
    OCTET_TAG(abdec),  OCTET_TAG(acbde),  OCTET_TAG(acdeb),  OCTET_TAG(bacde),  OCTET_TAG(bcdea),
    OCTET_TAG(cdeab),  OCTET_TAG(cdeba),  OCTET_TAG(decab),  OCTET_TAG(abcdef), OCTET_TAG(abdefc),
    OCTET_TAG(acbdef), OCTET_TAG(acdefb), OCTET_TAG(bacdef), OCTET_TAG(defcab),
};
#undef OCTET_TAG

} // namespace

std::string letters_of(format_tag tag) {
    for (const tag_letters &entry : plain_tags)
        if (entry.tag == tag)
            return entry.letters;
    return {};
}

void set_layout(memory_desc &md, format_tag tag) {
    const std::string letters = letters_of(tag);
    if (static_cast<int>(letters.size()) != md.ndims)
        throw_invalid("memory::desc: format_tag '", letters.empty() ? "undef" : letters, "' for ", md.ndims,
                      " dimensions, allowed: a tag with ", md.ndims, " letters or any");
    memory_desc in_order = md; // dimensions from outermost to innermost
    for (int i = 0; i < md.ndims; i++)
        in_order.dims[i] = md.dims[letters[i] - 'a'];
    set_row_major(in_order);
    md.format_kind = format_kind::plain;
    for (int i = 0; i < md.ndims; i++)
        md.strides[letters[i] - 'a'] = in_order.strides[i];
}

namespace {

/// Dimensions by the letters that users know them by, for each rank of a role; empty: none.
const char *logical_letters(spelling names, int ndims) {
    static constexpr const char *activations[] = {"", "x", "nc", "ncw", "nchw", "ncdhw", ""};
    static constexpr const char *weights[] = {"", "x", "oi", "oiw", "oihw", "oidhw", ""};
    static constexpr const char *grouped[] = {"", "", "", "", "goiw", "goihw", "goidhw"};
    switch (names) {
    case spelling::letters:
        return "";
    case spelling::activations:
        return activations[ndims];
    case spelling::weights:
        return weights[ndims];
    case spelling::grouped_weights:
        return grouped[ndims];
    }
    return "";
}

/// The second names that octet/types.hpp gives to tags.
bool is_alias(const std::string &name) {
    static const char *const aliases[] = {
        "x",     "nc",    "cn",    "ncw",    "nwc",    "nchw",   "nhwc",   "chwn", "ncdhw", "ndhwc", "oi",
        "io",    "oiw",   "owi",   "wio",    "iwo",    "oihw",   "hwio",   "ohwi", "ihwo",  "iohw",  "hwoi",
        "oidhw", "dhwio", "odhwi", "iodhw",  "idhwo",  "dhwoi",  "goiw",   "gowi", "giow",  "wigo",  "goihw",
        "gohwi", "giohw", "hwigo", "goidhw", "godhwi", "giodhw", "dhwigo", "tn",   "nt"};
    return std::find(std::begin(aliases), std::end(aliases), name) != std::end(aliases);
}

std::string spelled(const std::string &letters, spelling names) {
    const std::string logical = logical_letters(names, static_cast<int>(letters.size()));
    if (logical.empty())
        return letters;
    std::string name;
    for (const char letter : letters)
        name += logical[letter - 'a'];
    return is_alias(name) ? name : letters;
}

/// The tag of this name, in letters or in one of the spellings.
bool find_tag(const std::string &name, format_tag &found) {
    for (const tag_letters &entry : plain_tags)
        for (const spelling names :
             {spelling::letters, spelling::activations, spelling::weights, spelling::grouped_weights})
            if (spelled(entry.letters, names) == name) {
                found = entry.tag;
                return true;
            }
    return false;
}

bool has_layout(const memory_desc &md, format_tag tag, bool compare_unused) {
    memory_desc dense = md;
    set_layout(dense, tag);
    for (int d = 0; d < md.ndims; d++)
        if (md.strides[d] != dense.strides[d] && (compare_unused || md.dims[d] != 1))
            return false;
    return true;
}

/// Letters of a dense layout; the stride of a dimension of size 1 only decides between several.
std::string dense_letters(const memory_desc &md) {
    if (md.offset0 != 0)
        return {};
    for (const bool compare_unused : {true, false})
        for (const tag_letters &entry : plain_tags)
            if (std::string_view(entry.letters).size() == static_cast<std::size_t>(md.ndims) &&
                has_layout(md, entry.tag, compare_unused))
                return entry.letters;
    return {};
}

std::string packed_name(const memory_desc &md) {
    std::string name = text("packed_", to_string(md.packed_kind));
    if (md.packed_groups != 1)
        name += text("-g", md.packed_groups);
    if (md.packed_width != 1)
        name += text("-w", md.packed_width);
    const patch_order &p = md.packed_patches;
    if (p.height != 0)
        name += text("-p", p.height, ".", p.row_phases, ".", p.row_shift, ".", p.column_phases, ".",
                     p.column_shift);
    if (std::count(md.packed_steps, md.packed_steps + 3, 1) != 3)
        name += "-s" + joined(md.packed_steps, 3, '.');
    return name;
}

void set_packed_name(memory_desc &md, const std::string &name) {
    const std::vector<std::string> parts = split(name.substr(std::string("packed_").size()), '-');
    md.format_kind = format_kind::packed;
    if (!from_name(parts[0], md.packed_kind))
        throw_invalid("layout '", name,
                      "', allowed after packed_: convolution, grouped_convolution, matmul, ",
                      "deconvolution, grouped_deconvolution");
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

} // namespace

std::string layout_name(const memory_desc &md, spelling names) {
    if (md.format_kind == format_kind::packed)
        return packed_name(md);
    if (md.format_kind != format_kind::plain)
        return to_string(md.format_kind);
    const std::string letters = dense_letters(md);
    if (!letters.empty())
        return spelled(letters, names);
    const std::string offset = md.offset0 != 0 ? text("@", md.offset0) : "";
    return "strides_" + joined(md.strides, static_cast<std::size_t>(md.ndims)) + offset;
}

std::string layout_name(const memory_desc &md) {
    const std::string name = layout_name(md, spelling::letters);
    return name == "acb" || name == "acdb" || name == "acdeb" ? spelled(name, spelling::activations) : name;
}

void set_layout(memory_desc &md, const std::string &name) {
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

std::string joined(const dim_t *values, std::size_t n, char separator) {
    std::string s;
    for (std::size_t i = 0; i < n; i++)
        s += text(i ? std::string(1, separator) : "", is_runtime(values[i]) ? "*" : text(values[i]));
    return s;
}

std::string tensor_text(const memory_desc &md, spelling names) {
    return text(to_string(md.data_type), ":", joined(md.dims, static_cast<std::size_t>(md.ndims)), ":",
                layout_name(md, names));
}

memory_desc tensor_from_text(const std::string &text) {
    const std::vector<std::string> fields = split(text, ':');
    memory_desc md;
    if (fields.size() != 3 || !from_name(fields[0], md.data_type))
        throw_invalid("tensor '", text, "', allowed: type:dims:layout, such as u8:1x64x56x56:nhwc");
    const std::vector<dim_t> dims = sizes_of(fields[1]);
    md = memory::desc(dims, md.data_type, format_tag::any).data; // checks the shape
    set_layout(md, fields[2]);
    check_description("tensor", text.c_str(), md);
    return md;
}

} // namespace octet::impl
