// The front of reduction: dst tells which dimensions are reduced.
// SPDX-License-Identifier: Apache-2.0
#include "octet/reduction.hpp"

#include "api/normalization.hpp"
#include "api/runtime_sizes.hpp"
#include "common/normalization.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "reduction";

reduction_problem shapes_of(const reduction::desc &d) {
    reduction_problem p;
    p.src = d.src.data;
    p.dst = d.dst.data;
    require_tensor(operation, "src", p.src, 1, max_ndims);
    require_tensor(operation, "dst", p.dst, p.src.ndims, p.src.ndims);
    for (int i = 0; i < p.src.ndims; i++)
        if (p.dst.dims[i] != p.src.dims[i] && p.dst.dims[i] != 1)
            throw_invalid(operation, ": dst has dims ", dims_text(p.dst), ", allowed: ", dims_text(p.src),
                          " or 1 in any dimension");
    for (memory_desc *md : {&p.src, &p.dst}) {
        const char *name = md == &p.src ? "src" : "dst";
        require_numbers(operation, name, *md);
        if (md->format_kind == format_kind::any)
            set_row_major(*md);
        require_plain(operation, name, *md);
    }
    require_no_overlap(operation, p.dst);
    return p;
}

constexpr auto parameters = [](auto &d, const auto &visit) {
    visit("algorithm", d.alg);
    visit("p", d.p, is_norm(d.alg));
    visit("epsilon", d.epsilon, is_norm(d.alg));
};

primitive_desc_ptr make(const reduction::desc &d, const request &r) {
    return run_front(r, [&] {
        require_algorithm(operation, d.alg, "reduction_");
        reduction_problem p = shapes_of(d);
        p.alg = d.alg;
        if (is_norm(d.alg)) {
            if (!(d.p >= 1.f))
                throw_invalid(operation, ": p is ", d.p, ", allowed for norms: 1 and above");
            check_epsilon(operation, d.epsilon);
            p.p = d.p;
            p.epsilon = d.epsilon;
        }
        const tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        p.out_stage = lower_post_ops_alone(operation, r.attr, p.dst);
        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

} // namespace

const described_operation &reduction_operation() {
    static const described_operation row = described(
        {operation, {{"reduction", "reduction algorithm:reduction_sum src:f32:64x256:ab dst:f32:64x1:ab"}}},
        reduction::desc(algorithm::reduction_sum, {}, {}, 1.f, 0.f), parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

reduction::desc::desc(algorithm alg, const memory::desc &src, const memory::desc &dst, float p, float epsilon)
    : alg(alg), src(src), dst(dst), p(p), epsilon(epsilon) {}

impl::primitive_desc_ptr check(const reduction::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
