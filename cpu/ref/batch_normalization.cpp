// dst(n, c, …) = epilogue( fma(src(n, c, …), a(c), b(c)) ), optionally through a ReLU, with a and b folded from
// statistics, scale and shift.

#include "common/element.hpp"
#include "common/normalization.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

void run(const batch_normalization_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const bound_operands operands(p.operands, p.src.dims[1], args);
    const void *src = args.get<const void>(OCTET_ARG_SRC);
    const auto *mean = args.get<const float>(OCTET_ARG_MEAN),
               *variance = args.get<const float>(OCTET_ARG_VARIANCE);

    parallel_for(element_count(p.dst), 1024, [&](dim_t begin, dim_t end) {
        coordinates at = coordinates_of(begin, p.dst);
        for (dim_t index = begin; index < end; index++, advance(at, p.dst)) {
            const dim_t c = at[1];
            const folded_normalization f =
                fold_normalization(mean[c], variance[c], p.epsilon, operands.scale(c), operands.shift(c));
            const float x = load_f32(src, data_type::f32, plain_offset(p.src, at));
            const float y = std::fma(x, f.factor, f.term);
            out.finish(p.has_relu ? eltwise(algorithm::eltwise_relu, 0.f, 0.f, y) : y, at);
        }
    });
}

} // namespace

std::shared_ptr<const kernel> create(const batch_normalization_problem &p) {
    return std::make_shared<reference_kernel<batch_normalization_problem>>(p, run);
}

} // namespace octet::impl::ref
