#include "api/format_tag.hpp"

#include <algorithm>

#include "common/layout/layout.hpp"
#include "common/text.hpp"

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

std::string layout_name(const memory_desc &md) {
    switch (md.format_kind) {
    case format_kind::undef:
        return "undef";
    case format_kind::any:
        return "any";
    case format_kind::packed:
        return "packed";
    case format_kind::plain:
        break;
    }
    for (const tag_letters &entry : plain_tags) {
        if (std::string(entry.letters).size() != static_cast<std::size_t>(md.ndims))
            continue;
        memory_desc dense = md;
        set_layout(dense, entry.tag);
        bool equal = md.offset0 == 0;
        for (int d = 0; d < md.ndims; d++)
            equal = equal && (md.dims[d] == 1 || md.strides[d] == dense.strides[d]);
        if (equal)
            return entry.letters;
    }
    return "strided";
}

} // namespace octet::impl
