#include "common/layout.hpp"

#include <algorithm>

#include "common/text.hpp"

namespace octet::impl {

namespace {

dim_t checked_product(dim_t a, dim_t b, const memory_desc &md) {
    dim_t product;
    // 2^56 bytes: more than any address space, so sums of products can't overflow either.
    if (__builtin_mul_overflow(a, b, &product) || product > dim_t{1} << 56)
        throw_invalid("memory::desc: dims ", dims_text(md), " overflow the size of a tensor");
    return product;
}

} // namespace

std::string dims_text(const memory_desc &md) {
    std::string s = "{";
    for (int d = 0; d < md.ndims; d++) s += (d ? ", " : "") + std::to_string(md.dims[d]);
    return s + "}";
}

dim_t element_count(const memory_desc &md) {
    if (std::find(md.dims, md.dims + md.ndims, 0) != md.dims + md.ndims) return 0;
    dim_t count = md.ndims == 0 ? 0 : 1;
    for (int d = 0; d < md.ndims; d++) count = checked_product(count, md.dims[d], md);
    return count;
}

weights_shape weights_shape_of(const memory_desc &md) {
    weights_shape w{1, 1, 1, 1};
    if (md.packed_kind == packed_kind::matmul) {
        for (int d = 0; d < md.ndims - 2; d++) w.group *= md.dims[d];
        w.i = md.dims[md.ndims - 2];
        w.o = md.dims[md.ndims - 1];
        return w;
    }
    const int first = md.packed_kind == packed_kind::grouped_convolution ? 1 : 0;
    if (first) w.group = md.dims[0];
    w.o = md.dims[first];
    w.i = md.dims[first + 1];
    for (int d = first + 2; d < md.ndims; d++) w.taps *= md.dims[d];
    return w;
}

std::size_t size_in_bytes(const memory_desc &md) {
    const std::size_t element = memory::data_type_size(md.data_type);
    if (element_count(md) == 0) return 0;
    if (md.format_kind == format_kind::packed) {
        const weights_shape w = weights_shape_of(md);
        const dim_t rows = checked_product(checked_product(w.group, div_up(w.o, packed_o_block), md),
                                           checked_product(w.taps, div_up(w.i, packed_i_block), md), md);
        return static_cast<std::size_t>(checked_product(rows, packed_o_block * packed_i_block, md)) * element;
    }
    if (md.format_kind != format_kind::plain) return 0;
    dim_t last = md.offset0;
    for (int d = 0; d < md.ndims; d++) last += checked_product(md.dims[d] - 1, md.strides[d], md);
    return static_cast<std::size_t>(checked_product(last + 1, 1, md)) * element;
}

dim_t element_offset(const memory_desc &md, const coordinates &at) {
    if (md.format_kind == format_kind::plain) return plain_offset(md, at);
    const weights_shape w = weights_shape_of(md);
    dim_t group = 0, tap = 0;
    if (md.packed_kind == packed_kind::matmul) {
        for (int d = 0; d < md.ndims - 2; d++) group = group * md.dims[d] + at[d];
        return packed_offset(w, group, at[md.ndims - 1], at[md.ndims - 2], 0);
    }
    const int first = md.packed_kind == packed_kind::grouped_convolution ? 1 : 0;
    if (first) group = at[0];
    for (int d = first + 2; d < md.ndims; d++) tap = tap * md.dims[d] + at[d];
    return packed_offset(w, group, at[first], at[first + 1], tap);
}

dim_t masked_count(int mask, const memory_desc &md) {
    dim_t count = 1;
    for (int d = 0; d < md.ndims; d++)
        if (mask & (1 << d)) count *= md.dims[d];
    return count;
}

coordinates coordinates_of(dim_t index, const memory_desc &md) {
    coordinates at{};
    for (int d = md.ndims - 1; d >= 0; d--) {
        at[d] = index % md.dims[d];
        index /= md.dims[d];
    }
    return at;
}

bool same_dims(const memory_desc &a, const memory_desc &b) {
    return a.ndims == b.ndims && std::equal(a.dims, a.dims + a.ndims, b.dims);
}

void set_row_major(memory_desc &md) {
    md.format_kind = format_kind::plain;
    dim_t stride = 1;
    for (int d = md.ndims - 1; d >= 0; d--) {
        md.strides[d] = stride;
        stride = checked_product(stride, std::max<dim_t>(md.dims[d], 1), md);
    }
}

} // namespace octet::impl
