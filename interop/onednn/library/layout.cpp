// Memory descriptors of the C interface: filled in from tags and strides, sized, compared and viewed as
// oneDNN does, with up to 12 dimensions and blocks. Tags are read by their letters, so the list of tags is
// all there is to know of them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstring>
#include <numeric>

#include "octet/compat/dnnl_debug.h"
#include "onednn/library/handles.hpp"
#include "onednn/names.hpp"

using namespace octet::onednn;

namespace {

constexpr dnnl_dim_t runtime = DNNL_RUNTIME_DIM_VAL;

using octet::status;

dnnl_memory_desc_t shaped(int ndims, const dnnl_dims_t dims, dnnl_data_type_t type) {
    if (ndims < 0 || ndims > DNNL_MAX_NDIMS)
        refuse(status::invalid_arguments,
               "memory descriptor: " + std::to_string(ndims) + " dimensions, allowed: 0 to 12");
    dnnl_memory_desc_t md{};
    if (ndims == 0)
        return md;
    needed(dims, "dims");
    if (dnnl_data_type_size(type) == 0)
        refuse(status::invalid_arguments, "memory descriptor: data type " + std::to_string(type) +
                                              ", allowed: f32, f16, bf16, s32, s8, u8");
    md.ndims = ndims;
    md.data_type = type;
    for (int d = 0; d < ndims; d++) {
        if (dims[d] < 0 && dims[d] != runtime)
            refuse(status::invalid_arguments,
                   "memory descriptor: dimension " + std::to_string(d) + " is " + std::to_string(dims[d]));
        md.dims[d] = md.padded_dims[d] = dims[d];
    }
    return md;
}

/// Blocks of each dimension, multiplied.
std::array<dnnl_dim_t, DNNL_MAX_NDIMS> block_sizes(const dnnl_blocking_desc_t &blocking) {
    std::array<dnnl_dim_t, DNNL_MAX_NDIMS> sizes;
    sizes.fill(1);
    for (int b = 0; b < blocking.inner_nblks; b++)
        sizes[static_cast<std::size_t>(blocking.inner_idxs[b])] *= blocking.inner_blks[b];
    return sizes;
}

/// "aBcd16b" → order a, B, c, d and a block of 16 of b. Returns the order of the outer dimensions.
std::vector<int> read_tag(const std::string &name, dnnl_blocking_desc_t &blocking) {
    std::vector<int> order;
    std::size_t i = 0;
    for (; i < name.size() && std::isalpha(static_cast<unsigned char>(name[i])); i++)
        order.push_back(std::tolower(name[i]) - 'a');
    while (i < name.size()) {
        std::size_t digits = 0;
        const int size = std::stoi(name.substr(i), &digits);
        i += digits;
        blocking.inner_blks[blocking.inner_nblks] = size;
        blocking.inner_idxs[blocking.inner_nblks++] = name[i++] - 'a';
    }
    return order;
}

/// Strides of a dense tensor whose outer dimensions have this order; padded_dims become whole blocks. Outside of a
/// dimension that is known at execution so are the strides.
void set_dense(dnnl_memory_desc_t &md, const std::vector<int> &order) {
    dnnl_blocking_desc_t &blocking = md.format_desc.blocking;
    const auto blocks = block_sizes(blocking);
    dnnl_dim_t stride = std::accumulate(blocks.begin(), blocks.end(), dnnl_dim_t{1}, std::multiplies<>());
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
        const dnnl_dim_t block = blocks[static_cast<std::size_t>(*d)], dim = md.dims[*d];
        blocking.strides[*d] = stride;
        if (dim == runtime) {
            stride = runtime;
            continue;
        }
        md.padded_dims[*d] = (dim + block - 1) / block * block;
        const dnnl_dim_t outer = std::max<dnnl_dim_t>(md.padded_dims[*d] / block, 1);
        if (stride != runtime && __builtin_mul_overflow(stride, outer, &stride))
            refuse(status::invalid_arguments, "memory descriptor: the number of elements overflows 64 bits");
    }
}

const dnnl_memory_desc_t &blocked(const dnnl_memory_desc_t *md, const char *what) {
    if (needed(md, "memory descriptor")->format_kind != dnnl_blocked)
        refuse(status::invalid_arguments, std::string(what) + ": the tensor has no strides: format kind " +
                                              dnnl_fmt_kind2str(md->format_kind));
    return *md;
}

void check_no_blocks(const dnnl_memory_desc_t &md, const char *what) {
    if (md.format_desc.blocking.inner_nblks > 0)
        refuse(status::unimplemented, std::string(what) + ": the tensor has blocks");
}

/// The layout of the same elements in the same places under other dimensions, if strides can say so:
/// dimensions of both sides are grouped to equal products, and in a group with more than one old dimension
/// these must lie in one another.
dnnl_memory_desc_t reshaped(const dnnl_memory_desc_t &in, int ndims, const dnnl_dims_t dims) {
    dnnl_memory_desc_t out = shaped(ndims, dims, in.data_type);
    out.format_kind = dnnl_blocked;
    out.offset0 = in.offset0;
    const dnnl_dim_t *old_strides = in.format_desc.blocking.strides;
    dnnl_dim_t *strides = out.format_desc.blocking.strides;
    const auto fail = [](const char *why) {
        refuse(status::invalid_arguments, std::string("reshape: ") + why);
    };
    const auto count = [](const dnnl_dim_t *d, int n) {
        return std::accumulate(d, d + n, dnnl_dim_t{1}, std::multiplies<>());
    };
    if (std::find(dims, dims + ndims, runtime) != dims + ndims ||
        std::find(in.dims, in.dims + in.ndims, runtime) != in.dims + in.ndims)
        fail("dimensions must be known");
    if (count(in.dims, in.ndims) != count(dims, ndims))
        fail("the numbers of elements differ");
    if (count(dims, ndims) == 0) {
        set_dense(out, [&] {
            std::vector<int> order(static_cast<std::size_t>(ndims));
            std::iota(order.begin(), order.end(), 0);
            return order;
        }());
        return out;
    }
    std::vector<int> old; // without dimensions of size 1
    for (int d = 0; d < in.ndims; d++)
        if (in.dims[d] != 1)
            old.push_back(d);
    std::size_t o = 0;
    for (int n = 0; n < ndims;) {
        const int first = n;
        const std::size_t old_first = o;
        dnnl_dim_t product = dims[n++], old_product = 1;
        while (product != old_product)
            if (product < old_product)
                product *= dims[n++];
            else
                old_product *= in.dims[old[o++]];
        for (std::size_t i = old_first; i + 1 < o; i++)
            if (old_strides[old[i]] != old_strides[old[i + 1]] * in.dims[old[i + 1]])
                fail("the tensor is not dense where dimensions are joined or split");
        dnnl_dim_t stride = o > old_first ? old_strides[old[o - 1]] : 1;
        for (int d = n - 1; d >= first; d--) {
            strides[d] = stride;
            stride *= dims[d];
        }
    }
    // Dimensions of size 1 on the outside: as dense ones.
    for (int d = ndims - 1; d >= 0; d--)
        if (dims[d] == 1)
            strides[d] = d + 1 < ndims ? strides[d + 1] * dims[d + 1] : 1;
    return out;
}

} // namespace

size_t dnnl_data_type_size(dnnl_data_type_t type) {
    switch (type) {
    case dnnl_f32:
    case dnnl_s32:
        return 4;
    case dnnl_f16:
    case dnnl_bf16:
    case octet_dnnl_s16:
        return 2;
    case dnnl_s8:
    case dnnl_u8:
        return 1;
    default:
        return 0;
    }
}

dnnl_status_t dnnl_memory_desc_init_by_tag(dnnl_memory_desc_t *md, int ndims, const dnnl_dims_t dims,
                                           dnnl_data_type_t type, dnnl_format_tag_t tag) {
    return guarded([&] {
        dnnl_memory_desc_t result = shaped(ndims, dims, type);
        const std::string name = name_of(fmt_tag_names(), tag, "");
        if (ndims > 0 && tag == dnnl_format_tag_any) {
            result.format_kind = dnnl_format_kind_any;
        } else if (ndims > 0) {
            if (name.empty() || tag == dnnl_format_tag_undef)
                refuse(status::invalid_arguments,
                       "memory descriptor: format tag " + std::to_string(tag) + " is none");
            result.format_kind = dnnl_blocked;
            const std::vector<int> order = read_tag(name, result.format_desc.blocking);
            if (order.size() != static_cast<std::size_t>(ndims))
                refuse(status::invalid_arguments, "memory descriptor: format tag " + name + " has " +
                                                      std::to_string(order.size()) +
                                                      " dimensions, the tensor " + std::to_string(ndims));
            set_dense(result, order);
        }
        *needed(md, "memory descriptor") = result;
    });
}

dnnl_status_t dnnl_memory_desc_init_by_strides(dnnl_memory_desc_t *md, int ndims, const dnnl_dims_t dims,
                                               dnnl_data_type_t type, const dnnl_dims_t strides) {
    return guarded([&] {
        dnnl_memory_desc_t result = shaped(ndims, dims, type);
        if (ndims > 0) {
            result.format_kind = dnnl_blocked;
            std::vector<int> row_major(static_cast<std::size_t>(ndims));
            std::iota(row_major.begin(), row_major.end(), 0);
            set_dense(result, row_major);
            for (int d = 0; strides != nullptr && d < ndims; d++) {
                if (strides[d] < 0 && strides[d] != runtime)
                    refuse(status::invalid_arguments, "memory descriptor: stride " + std::to_string(d) +
                                                          " is " + std::to_string(strides[d]));
                result.format_desc.blocking.strides[d] = strides[d];
            }
        }
        *needed(md, "memory descriptor") = result;
    });
}

dnnl_status_t dnnl_memory_desc_init_submemory(dnnl_memory_desc_t *md, const dnnl_memory_desc_t *parent,
                                              const dnnl_dims_t dims, const dnnl_dims_t offsets) {
    return guarded([&] {
        dnnl_memory_desc_t result = blocked(parent, "submemory");
        needed(dims, "dims");
        needed(offsets, "offsets");
        const auto blocks = block_sizes(result.format_desc.blocking);
        for (int d = 0; d < result.ndims; d++) {
            const dnnl_dim_t block = blocks[static_cast<std::size_t>(d)], size = result.dims[d];
            if (size == runtime || dims[d] < 0 || offsets[d] < 0 || offsets[d] > size ||
                dims[d] > size - offsets[d])
                refuse(status::invalid_arguments,
                       "submemory: dimension " + std::to_string(d) + ": " + std::to_string(offsets[d]) +
                           " + " + std::to_string(dims[d]) + " of " + std::to_string(size));
            if (offsets[d] % block != 0 || (dims[d] % block != 0 && offsets[d] + dims[d] != size))
                refuse(status::unimplemented,
                       "submemory: dimension " + std::to_string(d) + " begins or ends in a block");
            result.padded_dims[d] = (dims[d] + block - 1) / block * block;
            result.dims[d] = dims[d];
            result.offset0 += offsets[d] / block * result.format_desc.blocking.strides[d];
        }
        *needed(md, "memory descriptor") = result;
    });
}

dnnl_status_t dnnl_memory_desc_reshape(dnnl_memory_desc_t *out, const dnnl_memory_desc_t *in, int ndims,
                                       const dnnl_dims_t dims) {
    return guarded([&] {
        dnnl_memory_desc_t result;
        if (needed(in, "memory descriptor")->format_kind == dnnl_format_kind_any) {
            result = shaped(ndims, dims, in->data_type);
            result.format_kind = dnnl_format_kind_any;
        } else {
            check_no_blocks(blocked(in, "reshape"), "reshape");
            result = reshaped(*in, ndims, dims);
        }
        *needed(out, "memory descriptor") = result;
    });
}

dnnl_status_t dnnl_memory_desc_permute_axes(dnnl_memory_desc_t *out, const dnnl_memory_desc_t *in,
                                            const int *permutation) {
    return guarded([&] {
        if (needed(in, "memory descriptor")->format_kind != dnnl_format_kind_any)
            blocked(in, "permute_axes");
        dnnl_memory_desc_t result = *in;
        unsigned seen = 0;
        for (int d = 0; d < in->ndims; d++) {
            const int to = needed(permutation, "permutation")[d];
            if (to < 0 || to >= in->ndims || (seen & (1u << to)) != 0)
                refuse(status::invalid_arguments,
                       "permute_axes: " + std::to_string(to) + " is not a permutation's");
            seen |= 1u << to;
            result.dims[to] = in->dims[d];
            result.padded_dims[to] = in->padded_dims[d];
            result.padded_offsets[to] = in->padded_offsets[d];
            result.format_desc.blocking.strides[to] = in->format_desc.blocking.strides[d];
        }
        for (int b = 0; b < in->format_desc.blocking.inner_nblks; b++)
            result.format_desc.blocking.inner_idxs[b] = permutation[in->format_desc.blocking.inner_idxs[b]];
        *needed(out, "memory descriptor") = result;
    });
}

int dnnl_memory_desc_equal(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b) {
    if (a == b)
        return 1;
    if (a == nullptr || b == nullptr || a->ndims != b->ndims || a->format_kind != b->format_kind)
        return 0;
    if (a->ndims == 0)
        return 1;
    const auto n = static_cast<std::size_t>(a->ndims);
    if (a->data_type != b->data_type || !std::equal(a->dims, a->dims + n, b->dims))
        return 0;
    if (a->format_kind == dnnl_format_kind_octet)
        return std::memcmp(&a->format_desc.octet, &b->format_desc.octet, sizeof a->format_desc.octet) == 0;
    if (a->format_kind != dnnl_blocked)
        return 1;
    const dnnl_blocking_desc_t &x = a->format_desc.blocking, &y = b->format_desc.blocking;
    if (a->offset0 != b->offset0 || !std::equal(a->padded_dims, a->padded_dims + n, b->padded_dims) ||
        x.inner_nblks != y.inner_nblks)
        return 0;
    for (int i = 0; i < x.inner_nblks; i++)
        if (x.inner_blks[i] != y.inner_blks[i] || x.inner_idxs[i] != y.inner_idxs[i])
            return 0;
    for (int d = 0; d < a->ndims; d++) // the stride of a dimension of size 1 means nothing
        if (x.strides[d] != y.strides[d] && !(a->dims[d] == 1 && a->padded_dims[d] == 1))
            return 0;
    return 1;
}

/// Up to the end of the outermost dimension. A part of another tensor (offset0) has no size of its own, as in oneDNN.
size_t dnnl_memory_desc_get_size(const dnnl_memory_desc_t *md) {
    if (md == nullptr || md->ndims == 0 || md->format_kind == dnnl_format_kind_any ||
        md->format_kind == dnnl_format_kind_undef)
        return 0;
    if (md->format_kind == dnnl_format_kind_octet)
        return desc_of(*md, "memory descriptor").get_size();
    if (md->format_kind != dnnl_blocked || md->offset0 != 0)
        return 0;
    const dnnl_blocking_desc_t &blocking = md->format_desc.blocking;
    const auto blocks = block_sizes(blocking);
    dnnl_dim_t elements = 0;
    for (int d = 0; d < md->ndims; d++) {
        if (md->dims[d] == runtime || blocking.strides[d] == runtime)
            return DNNL_RUNTIME_SIZE_VAL;
        if (md->dims[d] == 0)
            return 0;
        elements = std::max(elements,
                            md->padded_dims[d] / blocks[static_cast<std::size_t>(d)] * blocking.strides[d]);
    }
    const dnnl_dim_t block =
        std::accumulate(blocks.begin(), blocks.end(), dnnl_dim_t{1}, std::multiplies<>());
    return static_cast<size_t>(std::max(elements, block)) * dnnl_data_type_size(md->data_type);
}
