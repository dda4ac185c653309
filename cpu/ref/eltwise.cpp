// dst(i) = epilogue( f(src(i)) ); what f is for codes: common/eltwise_code.hpp.
// SPDX-License-Identifier: Apache-2.0
#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/eltwise_code.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

void run(const eltwise_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const void *src = args.get<const void>(OCTET_ARG_SRC);
    const std::int32_t *zero_points = p.src_zero_points.bind(args);
    const std::int32_t zero_point = zero_points ? *zero_points : 0;

    parallel_for(element_count(p.dst), 1024, [&](dim_t begin, dim_t end) {
        coordinates at = coordinates_of(begin, p.dst);
        for (dim_t index = begin; index < end; index++, advance(at, p.dst)) {
            const dim_t offset = plain_offset(p.src, at);
            out.finish(is_integer(p.src.data_type)
                           ? eltwise_of_code(p, load_s32(src, p.src.data_type, offset), zero_point)
                           : eltwise_of_real(p, load_f32(src, p.src.data_type, offset), zero_point),
                       at);
        }
    });
}

} // namespace

std::shared_ptr<const kernel> create(const eltwise_problem &p) {
    return std::make_shared<reference_kernel<eltwise_problem>>(p, run);
}

} // namespace octet::impl::ref
