// Dimensions and strides first, so that everything behind can multiply them without overflow; then packed layouts.
// SPDX-License-Identifier: Apache-2.0
#include "api/tensors/memory_desc_checks.hpp"

// Plain tensors are checked field by field. A packed layout has too many fields that depend on each other for
// that; but there are only a few layouts of given dimensions that the library ever makes, so they are made
// again and compared.

#include <algorithm>

#include "common/element.hpp"
#include "common/layout/layout.hpp"
#include "common/layout/runtime.hpp"
#include "common/names.hpp"
#include "common/text.hpp"

namespace octet::impl {

namespace {

/// 2^56 bytes: more than any address space. Sums of a few such numbers and products with the size of an element
/// still fit 64 bits.
constexpr dim_t size_limit = dim_t{1} << 56;

/// The descriptor that is checked; messages begin with it.
struct subject {
    const char *operation, *name;
};

bool grows_past_limit(dim_t &product, dim_t factor) {
    return __builtin_mul_overflow(product, factor, &product) || product > size_limit;
}

/// A number of a dimension that no execution brings later.
void check_known(const subject &what, const char *name, int d, dim_t value) {
    if (is_runtime(value))
        throw_invalid(what.operation, ": ", what.name, ": ", name, " ", d,
                      " is OCTET_RUNTIME_DIM_VAL, allowed: a known one");
    if (value < 0)
        throw_invalid(what.operation, ": ", what.name, ": ", name, " ", d, " is ", value,
                      ", allowed: 0 and above");
}

void check_dims(const subject &what, const memory_desc &md) {
    if (md.ndims < 0 || md.ndims > max_ndims)
        throw_invalid(what.operation, ": ", what.name, ": ndims is ", md.ndims, ", allowed: 0 to ",
                      max_ndims);
    dim_t count = 1;
    for (int d = 0; d < md.ndims; d++) {
        check_known(what, "dimension", d, md.dims[d]);
        // A dimension of 0 does not make the others harmless: strides come from their product.
        if (grows_past_limit(count, std::max<dim_t>(md.dims[d], 1)))
            throw_invalid(what.operation, ": ", what.name, ": dims ", dims_text(md),
                          " overflow the size of a tensor, allowed: up to 2^56");
    }
}

void check_strides(const subject &what, const memory_desc &md) {
    if (md.offset0 < 0 || md.offset0 > size_limit)
        throw_invalid(what.operation, ": ", what.name, ": offset0 is ", md.offset0, ", allowed: 0 to 2^56");
    dim_t last = md.offset0;
    for (int d = 0; d < md.ndims; d++) {
        check_known(what, "stride", d, md.strides[d]);
        dim_t reach = std::max<dim_t>(md.dims[d] - 1, 0);
        if (grows_past_limit(reach, md.strides[d]) || (last += reach) > size_limit)
            throw_invalid(what.operation, ": ", what.name, ": stride ", d, " is ", md.strides[d],
                          ", dims are ", dims_text(md),
                          ", which overflows the size of a tensor, allowed: up to 2^56");
    }
}

bool same_packing(const memory_desc &a, const memory_desc &b) {
    return a.format_kind == b.format_kind && a.packed_kind == b.packed_kind &&
           a.packed_groups == b.packed_groups && a.packed_width == b.packed_width &&
           a.packed_patches == b.packed_patches &&
           std::equal(std::begin(a.packed_steps), std::end(a.packed_steps), std::begin(b.packed_steps));
}

/// The shape and type alone, as a user gives weights with layout `any`.
memory_desc without_layout(const memory_desc &md) {
    memory_desc shape;
    shape.ndims = md.ndims;
    std::copy(md.dims, md.dims + md.ndims, shape.dims);
    shape.data_type = md.data_type;
    return shape;
}

struct rank_range {
    int lowest, highest;
};
rank_range ranks_of(packed_kind kind) {
    switch (kind) {
    case packed_kind::convolution: // an inner product's weights have no or more spatial dimensions
        return {2, 5};
    case packed_kind::deconvolution:
        return {3, 5};
    case packed_kind::grouped_convolution:
    case packed_kind::grouped_deconvolution:
        return {4, 6};
    case packed_kind::matmul:
        return {2, max_ndims};
    case packed_kind::matmul_with_scales:
        return {2, 2};
    default:
        return {0, 0};
    }
}

/// True for a result that `choose_patches` may give for one axis of a kernel, whatever its stride.
bool is_patch_axis(const patch_axis &a) {
    if (a.phases == 1)
        return a.shift == 1;
    return (a.phases == 2 || a.phases == 4) && a.phases <= a.size && a.shift >= 1 && a.shift < a.kernel;
}

/// Depthwise weights of a convolution: the patches depend on its strides, which a descriptor does not hold.
bool is_made_by_patches(const memory_desc &md) {
    const patch_order &order = md.packed_patches;
    const bool is_depthwise = md.ndims <= 5 && md.dims[2] == 1;
    if (!is_depthwise || (order.height != 1 && order.height != 2 && order.height != 4))
        return false;
    const dim_t height = md.ndims == 5 ? md.dims[3] : 1, width = md.dims[md.ndims - 1];
    if (std::max(height, width) > max_patch_vectors * taps_per_patch)
        return false;
    const tap_patches patches = patches_from(order, height, width);
    if (!is_patch_axis(patches.rows) || !is_patch_axis(patches.columns) ||
        patches.vectors() > max_patch_vectors)
        return false;
    memory_desc made = without_layout(md);
    set_packed_by_patches(made, patches);
    return same_packing(made, md);
}

bool is_made_in_parts(const memory_desc &md, bool may_fuse_width) {
    std::array<dim_t, 3> steps{};
    std::copy(std::begin(md.packed_steps), std::end(md.packed_steps), steps.begin());
    const int first_spatial = md.packed_kind == packed_kind::grouped_deconvolution ? 3 : 2;
    if (*std::min_element(steps.begin(), steps.end()) < 1 ||
        std::find(md.dims + first_spatial, md.dims + md.ndims, 0) != md.dims + md.ndims)
        return false;
    memory_desc made = without_layout(md);
    set_packed_in_parts(made, md.packed_kind, steps, may_fuse_width);
    if (md.packed_patches.height > 0 && md.ndims <= 5 && md.dims[2] == 1)
        set_parts_in_patches(made);
    return same_packing(made, md);
}

bool is_made_here(const memory_desc &md) {
    const rank_range ranks = ranks_of(md.packed_kind);
    if (md.packed_kind == packed_kind::matmul_with_scales)
        return is_well_packed_with_scales(md);
    if (md.packed_kind == packed_kind::recurrent)
        return is_well_packed_recurrent(md);
    const bool has_codes = is_code(md.data_type);
    if (md.ndims < ranks.lowest || md.ndims > ranks.highest || md.offset0 != 0 ||
        (!has_codes && md.data_type != data_type::f32))
        return false;
    if (has_parts(md.packed_kind))
        return (has_codes || md.packed_patches.height == 0) &&
               (is_made_in_parts(md, false) || is_made_in_parts(md, true));
    if (md.packed_kind == packed_kind::grouped_convolution && md.packed_patches.height != 0)
        return has_codes && is_made_by_patches(md);
    for (const bool may_fuse_width : {false, true}) {
        memory_desc made = without_layout(md);
        set_packed(made, md.packed_kind, may_fuse_width);
        if (same_packing(made, md))
            return true;
    }
    return false;
}

void check_packing(const subject &what, const memory_desc &md) {
    if (md.format_kind == format_kind::packed) {
        if (!is_made_here(md))
            throw_invalid(what.operation, ": ", what.name, ": the packed layout of dims ", dims_text(md),
                          " (packed_kind ", to_string(md.packed_kind), ", packed_groups ", md.packed_groups,
                          ", packed_width ", md.packed_width, ", packed_steps ", md.packed_steps[0], " ",
                          md.packed_steps[1], " ", md.packed_steps[2], ", offset0 ", md.offset0,
                          ") is none that Octet makes, allowed: what a primitive descriptor answers");
        return;
    }
    memory_desc unpacked;
    unpacked.format_kind = md.format_kind;
    if (!same_packing(unpacked, md))
        throw_invalid(what.operation, ": ", what.name,
                      ": packed_* fields are set, but format_kind is not packed");
}

} // namespace

void check_bytes(const char *operation, const char *name, const memory_desc &md) {
    const dim_t shared = elements_per_byte(md.data_type);
    if (md.offset0 % shared != 0)
        throw_invalid(operation, ": ", name, ": offset0 is ", md.offset0, ", which splits a byte of ",
                      to_string(md.data_type), ", allowed: multiples of ", shared);
    for (int d = 0; d < md.ndims; d++)
        if (md.dims[d] != 1 && md.strides[d] != 1 && !is_runtime(md.strides[d]) &&
            md.strides[d] % shared != 0)
            throw_invalid(operation, ": ", name, ": stride ", d, " is ", md.strides[d], " with dims ",
                          dims_text(md), ", which splits bytes of ", to_string(md.data_type),
                          ", allowed: 1 and multiples of ", shared);
}

void check_descriptor(const char *operation, const char *name, const memory_desc &md) {
    const subject what{operation, name};
    check_dims(what, md);
    if (md.ndims == 0)
        return;
    if (!is_data_type(md.data_type))
        throw_invalid(what.operation, ": ", what.name, ": data_type is ", static_cast<int>(md.data_type),
                      ", allowed: ", data_type_names());
    if (md.format_kind < format_kind::undef || md.format_kind > format_kind::packed)
        throw_invalid(what.operation, ": ", what.name, ": format_kind is ", static_cast<int>(md.format_kind),
                      ", allowed: any, plain, packed");
    check_packing(what, md);
    if (md.format_kind == format_kind::plain) {
        check_strides(what, md);
        check_bytes(operation, name, md);
    }
    if (md.format_kind == format_kind::any && md.offset0 != 0)
        throw_invalid(what.operation, ": ", what.name, ": offset0 is ", md.offset0,
                      " in layout any, allowed: 0");
    size_in_bytes(md); // throws for the one overflow left, the padding of packed layouts
}

void check_description(const char *operation, const char *name, const memory_desc &md) {
    check_descriptor(operation, name, at_size(md, 1));
}

} // namespace octet::impl
