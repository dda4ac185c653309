// The front of local response normalization. Which of oneDNN's kernels takes a problem, and thereby the order of
// operations, depends on layout, type and numbers alone.
// SPDX-License-Identifier: Apache-2.0
#include "octet/lrn.hpp"

#include <algorithm>
#include <cmath>

#include "api/elementwise.hpp"
#include "api/normalization.hpp"
#include "api/runtime_sizes.hpp"
#include "api/tensors/format_tag.hpp"
#include "common/lrn_problem.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "lrn";

/// True for the strides of that tag, also where a dimension of 1 leaves them open.
bool is_laid_out_as(const memory_desc &md, format_tag tag) {
    memory_desc other = md;
    set_layout(other, tag);
    return std::equal(md.strides, md.strides + md.ndims, other.strides);
}

/// oneDNN's choice on a machine with AVX-512.
lrn_order order_of(const lrn_problem &p) {
    if (p.src.ndims != 4)
        return lrn_order::plain;
    const bool is_nhwc = is_laid_out_as(p.src, format_tag::nhwc), is_f32 = p.src.data_type == data_type::f32;
    const dim_t channels = p.src.dims[1];
    const bool in_vectors = channels % 16 == 0 && channels >= 32;
    const bool in_half_vectors = channels % 8 == 0 && channels >= 16 && is_f32;
    if (p.is_across && is_nhwc && p.size <= 16 && (p.beta == 0.75f || p.beta == 1.f))
        return lrn_order::centre_first;
    if (p.beta != 0.75f)
        return lrn_order::plain;
    const bool fits = p.size <= 5 && p.src.dims[2] >= p.size && p.src.dims[3] >= p.size;
    if (!p.is_across && is_nhwc && fits && (in_vectors || in_half_vectors))
        return lrn_order::window;
    if (p.is_across && is_laid_out_as(p.src, format_tag::nchw) && p.size == 5 && in_half_vectors)
        return lrn_order::running;
    return lrn_order::plain;
}

lrn_problem problem_of(const lrn_forward::desc &d) {
    lrn_problem p;
    p.src = d.src.data;
    p.dst = d.dst.data;
    require_tensor(operation, "src", p.src, 2, 5);
    require_tensor(operation, "dst", p.dst, 2, 5);
    resolve_same_type(operation, p.src, p.dst, {data_type::f32, data_type::bf16, data_type::f16});
    p.is_across = d.alg == algorithm::lrn_across_channels;
    if (!p.is_across && p.src.ndims == 2)
        throw_invalid(operation, ": src has 2 dimensions, allowed with lrn_within_channel: 3 to 5");
    constexpr dim_t largest = 65536; // the elements of a window of three dimensions can be counted
    if (d.local_size < 1 || d.local_size > largest)
        throw_invalid(operation, ": local_size is ", d.local_size, ", allowed: 1 to ", largest);
    for (const auto &[name, value] : {std::pair{"alpha", d.alpha}, {"beta", d.beta}, {"k", d.k}})
        if (!std::isfinite(value))
            throw_invalid(operation, ": ", name, " is ", value, ", allowed: finite");
    p.size = d.local_size;
    p.alpha = d.alpha;
    p.beta = d.beta;
    p.k = d.k;
    p.order = order_of(p);
    return p;
}

constexpr auto parameters = [](auto &d, const auto &visit) {
    visit("algorithm", d.alg);
    visit("local_size", d.local_size);
    visit("alpha", d.alpha);
    visit("beta", d.beta);
    visit("k", d.k);
};

primitive_desc_ptr make(const lrn_forward::desc &d, const request &r) {
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        require_algorithm(operation, d.alg, algorithm::lrn_across_channels, algorithm::lrn_within_channel,
                          "lrn_across_channels, lrn_within_channel");
        require_no_attributes(operation, r.attr);
        const lrn_problem p = problem_of(d);
        const tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

} // namespace

const described_operation &lrn_operation() {
    static const described_operation row =
        described({operation,
                   {{"lrn", "lrn algorithm:lrn_across_channels src:f32:1x64x14x14:nhwc "
                            "dst:f32:1x64x14x14:nhwc local_size:5 alpha:0.0001 beta:0.75 k:1"}},
                   tensor_roles::channels},
                  lrn_forward::desc(prop_kind::forward_inference, algorithm::lrn_across_channels, {}, {}, 5,
                                    1e-4f, 0.75f, 1.f),
                  parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

lrn_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
                        memory::dim local_size, float alpha, float beta, float k)
    : prop(prop), alg(alg), src(src), dst(dst), local_size(local_size), alpha(alpha), beta(beta), k(k) {}
lrn_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &data, memory::dim local_size,
                        float alpha, float beta, float k)
    : desc(prop, alg, data, data, local_size, alpha, beta, k) {}

impl::primitive_desc_ptr check(const lrn_forward::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
