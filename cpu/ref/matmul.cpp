// dst(…, m, n) = epilogue( Σ_k (src(…, m, k) - src_zp) * (weights(…, k, n) - weights_zp) ), batch dimensions
// of size 1 broadcast. Of floats, each product is added in one rounding, k ascending from 0, starting from 0.
// SPDX-License-Identifier: Apache-2.0
#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/matmul_problem.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

/// `at` with batch indices of broadcast dimensions set to 0 and the last two replaced.
coordinates operand_coordinates(const memory_desc &md, coordinates at, dim_t row, dim_t column) {
    for (int d = 0; d < md.ndims - 2; d++)
        if (md.dims[d] == 1)
            at[d] = 0;
    at[md.ndims - 2] = row;
    at[md.ndims - 1] = column;
    return at;
}

std::int64_t value_at(const void *base, const memory_desc &md, const zero_points &z,
                      const std::int32_t *values, const coordinates &at) {
    const std::int32_t zp = values ? values[masked_index(z.values.mask, md.dims, md.ndims, at)] : 0;
    return std::int64_t{load_weight(base, md, element_offset(md, at))} -
           zp; // src is read likewise: both are 8-bit
}

std::int32_t accumulate(const matmul_problem &p, const arguments &args, const coordinates &at) {
    const void *src = args.get<const void>(OCTET_ARG_SRC), *weights = args.get<const void>(OCTET_ARG_WEIGHTS);
    const std::int32_t *src_zps = p.src_zero_points.bind(args),
                       *weights_zps = p.weights_zero_points.bind(args);
    const dim_t K = p.src.dims[p.src.ndims - 1], m = at[p.dst.ndims - 2], n = at[p.dst.ndims - 1];

    std::int64_t acc = 0;
    for (dim_t k = 0; k < K; k++) {
        const std::int64_t s =
            value_at(src, p.src, p.src_zero_points, src_zps, operand_coordinates(p.src, at, m, k));
        const std::int64_t w = value_at(weights, p.weights, p.weights_zero_points, weights_zps,
                                        operand_coordinates(p.weights, at, k, n));
        acc = wrap(acc + wrap(s * w));
    }
    return static_cast<std::int32_t>(acc);
}

float accumulate_f32(const matmul_problem &p, const arguments &args, const coordinates &at) {
    const auto value = [&](int arg, const memory_desc &md, dim_t row, dim_t column) {
        return load_f32(args.get<const void>(arg), data_type::f32,
                        element_offset(md, operand_coordinates(md, at, row, column)));
    };
    const dim_t K = p.src.dims[p.src.ndims - 1], m = at[p.dst.ndims - 2], n = at[p.dst.ndims - 1];

    float acc = 0;
    for (dim_t k = 0; k < K; k++)
        acc = std::fma(value(OCTET_ARG_SRC, p.src, m, k), value(OCTET_ARG_WEIGHTS, p.weights, k, n), acc);
    return acc;
}

void run(const matmul_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    parallel_for(element_count(p.dst), 1, [&](dim_t begin, dim_t end) {
        for (dim_t index = begin; index < end; index++) {
            const coordinates at = coordinates_of(index, p.dst);
            if (p.sums_f32())
                out.apply(accumulate_f32(p, args, at), at);
            else
                out.apply(accumulate(p, args, at), at);
        }
    });
}

} // namespace

std::shared_ptr<const kernel> create(const matmul_problem &p) {
    return std::make_shared<reference_kernel<matmul_problem>>(p, run);
}

} // namespace octet::impl::ref
