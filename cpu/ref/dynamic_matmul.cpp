// dst(…, m, n) = post_ops( combine( codes and scales of row m, those of column n, bias(n) ) ), where the codes
// of a row are what a quantizer makes of src(…, m, :) (doc/dynamic.md).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "common/bound_epilogue.hpp"
#include "common/combination.hpp"
#include "common/dynamic_matmul_problem.hpp"
#include "common/element.hpp"
#include "common/layout/layout.hpp"
#include "common/text.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

using floats = std::vector<float>;
using integers = std::vector<std::int32_t>;

/// The source, quantized.
struct quantized_rows {
    integers codes; ///< {rows, K}
    std::vector<source_parameters> parameters;
    bool is_zero = true; ///< the whole source
};

quantized_rows quantize(const dynamic_matmul_problem &p, const void *src) {
    const dim_t rows = p.rows(), k = p.k(), count = rows * k;
    floats x(static_cast<std::size_t>(count));
    for (dim_t i = 0; i < count; i++)
        x[i] = load_f32(src, p.src.data_type, element_offset(p.src, coordinates_of(i, p.src)));
    quantized_rows q;
    q.is_zero = std::all_of(x.begin(), x.end(), [](float e) { return e == 0.f; });
    std::vector<std::uint8_t> codes(x.size());
    const bool is_tensor = p.source.span == source_span::tensor;
    q.parameters.resize(is_tensor ? 1 : rows * (p.source_has_groups() ? p.groups() : 1));
    quantize_source(p.source, x.data(), is_tensor ? 1 : rows, is_tensor ? count : k,
                    is_tensor               ? std::max<dim_t>(count, 1)
                    : p.source_has_groups() ? p.group
                                            : k,
                    codes.data(), q.parameters.data());
    if (stores_f16_scales(p.source.by))
        for (source_parameters &s : q.parameters)
            s.scale = from_f16(to_f16(s.scale));
    for (dim_t i = 0; i < count; i++)
        q.codes.push_back(load_s32(codes.data(), p.source.code, i));
    return q;
}

/// The weights minus their zero points, and their scales, by columns.
struct columns {
    integers codes; ///< {N, K}
    floats scales;  ///< {N, G}
};

std::int32_t code_at(const memory_desc &md, const void *base, dim_t offset) {
    return shares_bytes(md.data_type) ? load_shared(base, md.data_type, offset)
                                      : load_weight(base, md, offset);
}

columns read(const dynamic_matmul_problem &p, const arguments &args) {
    const dim_t k = p.k(), n = p.n(), groups = p.groups();
    const void *weights = args.get<const void>(OCTET_ARG_WEIGHTS);
    const floats scales = p.scales.bind(args, groups, n);
    const std::string operation = text(p.operation, ": execute");
    check_scales(operation.c_str(), "scales of weights", scales.data(), scales.size(),
                 facts_of(p.order).has_negative_scales ? scale_signs::any : scale_signs::not_negative);
    floats zero_points(scales.size());
    if (p.zero_points.is_set)
        zero_points = p.zero_points.bind(args, groups, n);
    check_weight_zero_points(operation.c_str(), "zero points of weights", zero_points.data(),
                             p.zero_points.is_set ? zero_points.size() : 0, p.weights.data_type);
    columns w;
    for (dim_t column = 0; column < n; column++) {
        for (dim_t i = 0; i < k; i++) {
            coordinates at{};
            at[p.weights.ndims - 2] = i;
            at[p.weights.ndims - 1] = column;
            w.codes.push_back(code_at(p.weights, weights, element_offset(p.weights, at)) -
                              static_cast<std::int32_t>(zero_points[i / p.group * n + column]));
        }
        for (dim_t g = 0; g < groups; g++)
            w.scales.push_back(scales[g * n + column]);
    }
    return w;
}

void run(const dynamic_matmul_problem &p, const arguments &args) {
    const dim_t k = p.k(), n = p.n(), groups = p.groups();
    const columns w = read(p, args);
    const quantized_rows x = quantize(p, args.get<const void>(OCTET_ARG_SRC));
    const auto *bias = args.get<const float>(OCTET_ARG_BIAS);
    const bound_epilogue out(p.out_stage, args);
    const bool is_bias_alone = facts_of(p.order).keeps_bias_of_zeros && x.is_zero;
    parallel_for(p.rows() * n, 1, [&](dim_t begin, dim_t end) {
        for (dim_t index = begin; index < end; index++) {
            const coordinates at = coordinates_of(index, p.dst);
            const dim_t row = index / n, column = index % n;
            const dim_t parameters =
                p.source.span == source_span::tensor ? 0 : row * (p.source_has_groups() ? groups : 1);
            const float *b = p.bias.ndims == 0 ? nullptr : bias + broadcast_offset(p.bias, at);
            const product_row source{&x.codes[row * k], &x.parameters[parameters], p.source_has_groups()};
            const product_column weights{&w.codes[column * k], &w.scales[column * groups]};
            out.finish(is_bias_alone ? (b ? *b : 0.f) : combine(p.order, k, p.group, source, weights, b), at);
        }
    });
}

class dynamic_reference : public reference_kernel<dynamic_matmul_problem> {
public:
    explicit dynamic_reference(const dynamic_matmul_problem &p) : reference_kernel(p, run), p_(p) {}
    std::string plan() const override {
        return text(p_.source_text(), ", combined as ", to_string(p_.order), ", by ",
                    reference_kernel::plan());
    }

private:
    const dynamic_matmul_problem p_;
};

} // namespace

std::shared_ptr<const kernel> create(const dynamic_matmul_problem &p) {
    return std::make_shared<dynamic_reference>(p);
}

} // namespace octet::impl::ref
