// The front of matmul. It keeps a problem of its own, because its batch dimensions may be broadcast and its
// weights may differ from batch to batch, which groups of a convolution cannot say. `any` means row-major for
// activations: the channels-last order of other operations would take a batch dimension for a channel.
// SPDX-License-Identifier: Apache-2.0
#include "octet/matmul.hpp"

#include "api/accumulating.hpp"
#include "api/dynamic_matmul.hpp"
#include "api/runtime_sizes.hpp"
#include "common/matmul_problem.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "matmul";

matmul_problem shapes_of(const matmul::desc &d) {
    matmul_problem p;
    p.src = d.src.data;
    p.weights = d.weights.data;
    p.dst = d.dst.data;
    require_tensor(operation, "src", p.src, 2, max_ndims);
    require_tensor(operation, "weights", p.weights, p.src.ndims, p.src.ndims);
    require_tensor(operation, "dst", p.dst, p.src.ndims, p.src.ndims);
    const int m = p.src.ndims - 2, n = p.src.ndims - 1;
    if (p.src.dims[n] != p.weights.dims[m])
        throw_invalid(operation, ": K of src is ", p.src.dims[n], ", of weights ", p.weights.dims[m]);
    if (p.src.dims[m] != p.dst.dims[m])
        throw_invalid(operation, ": M of src is ", p.src.dims[m], ", of dst ", p.dst.dims[m]);
    if (p.weights.dims[n] != p.dst.dims[n])
        throw_invalid(operation, ": N of weights is ", p.weights.dims[n], ", of dst ", p.dst.dims[n]);
    for (int i = 0; i < m; i++) {
        const dim_t s = p.src.dims[i], w = p.weights.dims[i], out = p.dst.dims[i];
        if ((s != out && s != 1) || (w != out && w != 1) || (s == 1 && w == 1 && out != 1))
            throw_invalid(operation, ": batch dimension ", i, " is ", s, " in src, ", w, " in weights, ", out,
                          " in dst, allowed: equal sizes, or 1 in src or weights");
    }
    return p;
}

primitive_desc_ptr make(const matmul::desc &d, const request &given) {
    request r = given;
    r.is_of_dynamic_source = r.attr.get_source_quantization().has_value();
    return run_front(r, [&] {
        matmul_problem p = shapes_of(d);
        if (r.is_of_dynamic_source)
            return make_dynamic_matmul(r, p, d.bias.data);
        // Activations are row-major here: a batch is not a channel.
        for (memory_desc *md : {&p.src, &p.dst})
            if (md->format_kind == format_kind::any)
                set_row_major(*md);
        resolve_layouts({operation, packed_kind::matmul}, p.src, p.weights, p.dst);
        attribute_support support{operation};
        support.weights_channel_mask = support.dst_channel_mask = 1 << (p.dst.ndims - 1);
        support.src_row_mask = 0;
        for (int i = 0; i < p.dst.ndims - 1; i++)
            if (p.src.dims[i] == p.dst.dims[i])
                support.src_row_mask |= 1 << i;
        support.tflite_derivation = scale_derivation::tflite_f32prod;
        return finish_accumulating(r, support, p, d.bias.data, {});
    });
}

} // namespace

const described_operation &matmul_operation() {
    static const described_operation row =
        described({operation,
                   {{"matmul", "matmul src:u8:64x64:ab weights:s8:64x64:any dst:u8:64x64:ab"}},
                   tensor_roles::letters},
                  matmul::desc({}, {}, {}, {}), no_parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

matmul::desc::desc(const memory::desc &src, const memory::desc &weights, const memory::desc &bias,
                   const memory::desc &dst)
    : src(src), weights(weights), bias(bias), dst(dst) {}
matmul::desc::desc(const memory::desc &src, const memory::desc &weights, const memory::desc &dst)
    : desc(src, weights, memory::desc(), dst) {}

impl::primitive_desc_ptr check(const matmul::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
