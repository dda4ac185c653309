// Products of dimensions are checked once, here: sums of them cannot overflow any more.
// SPDX-License-Identifier: Apache-2.0
#include "common/layout/plain.hpp"

#include <algorithm>

#include "common/layout/runtime.hpp"
#include "octet/error.hpp"

namespace octet::impl {

dim_t checked_product(dim_t a, dim_t b, const memory_desc &md) {
    dim_t product;
    // 2^56 bytes: more than any address space, so sums of products can't overflow either.
    if (__builtin_mul_overflow(a, b, &product) || product > dim_t{1} << 56)
        throw error(status::invalid_arguments,
                    "memory::desc: dims " + dims_text(md) + " overflow the size of a tensor");
    return product;
}

std::string dims_text(const memory_desc &md) {
    std::string s = "{";
    for (int d = 0; d < md.ndims; d++)
        s += (d ? ", " : "") + (is_runtime(md.dims[d]) ? "*" : std::to_string(md.dims[d]));
    return s + "}";
}

dim_t element_count(const memory_desc &md) {
    if (std::find(md.dims, md.dims + md.ndims, 0) != md.dims + md.ndims)
        return 0;
    dim_t count = md.ndims == 0 ? 0 : 1;
    for (int d = 0; d < md.ndims; d++)
        count = checked_product(count, md.dims[d], md);
    return count;
}

dim_t masked_count(int mask, const memory_desc &md) {
    dim_t count = 1;
    for (int d = 0; d < md.ndims; d++)
        if (mask & (1 << d))
            count *= md.dims[d];
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
        stride = is_runtime(stride) || is_runtime(md.dims[d])
                     ? OCTET_RUNTIME_DIM_VAL
                     : checked_product(stride, std::max<dim_t>(md.dims[d], 1), md);
    }
}

memory_desc at_size(memory_desc md, dim_t size) {
    if (md.ndims > max_ndims || !has_runtime_sizes(md))
        return md; // as it is, to be refused by whoever checks it
    std::replace_if(md.dims, md.dims + md.ndims, is_runtime, size);
    if (md.format_kind != format_kind::plain)
        return md;
    const dim_t shared = elements_per_byte(md.data_type);
    dim_t covered = 1; // by the dimensions whose strides are known
    for (int d = 0; d < md.ndims; d++)
        if (!is_runtime(md.strides[d]))
            covered +=
                checked_product(std::max<dim_t>(md.dims[d] - 1, 0), std::max<dim_t>(md.strides[d], 0), md);
    for (int d = md.ndims - 1; d >= 0; d--)
        if (is_runtime(md.strides[d])) {
            md.strides[d] = div_up(covered, shared) * shared;
            covered = checked_product(md.strides[d], std::max<dim_t>(md.dims[d], 1), md);
        }
    return md;
}

} // namespace octet::impl
