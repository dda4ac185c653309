// dst(…) = epilogue( the elements of src that belong to it, reduced in lanes (common/lanes.hpp) ).
// SPDX-License-Identifier: Apache-2.0
#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/normalization.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

void run(const reduction_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const void *src = args.get<const void>(OCTET_ARG_SRC);
    memory_desc reduced = p.src; // the elements that are reduced to one of dst
    for (int d = 0; d < p.src.ndims; d++)
        if (p.dst.dims[d] == p.src.dims[d])
            reduced.dims[d] = 1;
    const dim_t count = element_count(reduced);

    parallel_for(element_count(p.dst), 1, [&](dim_t begin, dim_t end) {
        coordinates at = coordinates_of(begin, p.dst);
        for (dim_t index = begin; index < end; index++, advance(at, p.dst)) {
            f32_lanes lanes;
            lanes.fill(reduction_start(p.alg));
            const dim_t first = plain_offset(p.src, at) - p.src.offset0;
            coordinates inner{};
            for (dim_t i = 0; i < count; i++, advance(inner, reduced)) {
                float &lane = lanes[static_cast<std::size_t>(i % lane_count)];
                const float x = load_f32(src, p.src.data_type, first + plain_offset(p.src, inner));
                lane = reduce(p.alg, lane, reduction_term(p, x));
            }
            const float acc = reduce_lanes(lanes, [&](float a, float b) { return reduce(p.alg, a, b); });
            out.finish(reduction_result(p, acc, count), at);
        }
    });
}

} // namespace

std::shared_ptr<const kernel> create(const reduction_problem &p) {
    return std::make_shared<reference_kernel<reduction_problem>>(p, run);
}

} // namespace octet::impl::ref
