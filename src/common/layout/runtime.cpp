#include "common/layout/runtime.hpp"

#include "common/layout/plain.hpp"

namespace octet::impl {

memory_desc at_size(memory_desc md, dim_t size) {
    if (md.ndims > max_ndims || !has_runtime_sizes(md))
        return md; // as it is, to be refused by whoever checks it
    std::replace_if(md.dims, md.dims + md.ndims, is_runtime, size);
    if (md.format_kind != format_kind::plain)
        return md;
    dim_t covered = 1; // by the dimensions whose strides are known
    for (int d = 0; d < md.ndims; d++)
        if (!is_runtime(md.strides[d]))
            covered +=
                checked_product(std::max<dim_t>(md.dims[d] - 1, 0), std::max<dim_t>(md.strides[d], 0), md);
    for (int d = md.ndims - 1; d >= 0; d--)
        if (is_runtime(md.strides[d])) {
            md.strides[d] = covered;
            covered = checked_product(covered, std::max<dim_t>(md.dims[d], 1), md);
        }
    return md;
}

} // namespace octet::impl
