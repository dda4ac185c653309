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

/// "'acdb' (nhwc, ohwi)": the value of a tag has the names of all roles.
std::string text_of_tag(const std::string &letters) {
    std::string others;
    for (const spelling names : {spelling::activations, spelling::weights, spelling::grouped_weights})
        if (const std::string name = spelled(letters, names); name != letters)
            others += (others.empty() ? "" : ", ") + name;
    return text("'", letters.empty() ? "undef" : letters, "'", others.empty() ? "" : " (" + others + ")");
}

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
        throw_invalid("memory::desc: format_tag ", text_of_tag(letters), " for ", md.ndims,
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

/// The tag of this name, in letters or in one of the spellings.
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

} // namespace

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

} // namespace octet::impl
