// The static product has neither zero points of the source nor scales: acc - z_x Σ w and the order come after it.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/dynamic_columns.hpp"

#include <algorithm>

#include "common/combination.hpp"
#include "common/element.hpp"
#include "common/layout/layout.hpp"
#include "common/matmul_problem.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"
#include "cpu/dot/drive.hpp"
#include "cpu/group_products/drive.hpp"
#include "cpu/group_products/quantize.hpp"
#include "cpu/machine/avx2.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"

namespace octet::impl::dynamic_columns {

namespace {

constexpr dim_t results_of_task = 16384; ///< at least

/// The weights {K, N} of a product whose other dimensions are 1.
memory_desc matrix_of(const memory_desc &md) {
    memory_desc matrix = md;
    matrix.ndims = 2;
    for (int d = 0; d < 2; d++) {
        matrix.dims[d] = md.dims[md.ndims - 2 + d];
        matrix.strides[d] = md.strides[md.ndims - 2 + d];
    }
    return matrix;
}

matmul_problem static_product(const dynamic_matmul_problem &p) {
    matmul_problem s;
    s.src = memory::desc({p.rows(), p.k()}, p.source.code, format_tag::ab).data;
    s.weights = matrix_of(p.weights);
    s.dst = memory::desc({p.rows(), p.n()}, data_type::s32, format_tag::ab).data;
    s.out_stage.rule = unchanged(false);
    s.out_stage.dst = s.dst;
    return s;
}

/// Σ w of each column.
void sum_columns(const memory_desc &weights, const void *base, std::int32_t *sums) {
    const dim_t k = weights.dims[0], n = weights.dims[1];
    parallel_for(n, 1 + results_of_task / k, [&](dim_t begin, dim_t end) {
        for (dim_t column = begin; column < end; column++) {
            std::int32_t sum = 0;
            for (dim_t i = 0; i < k; i++)
                sum += load_weight(base, weights, element_offset(weights, {i, column}));
            sums[column] = sum;
        }
    });
}
/// Packed ones have them, of what is stored.
void read_sums(const memory_desc &weights, const void *base, std::int32_t *sums) {
    const packed_geometry g = packed_geometry_of(weights);
    const auto *stored =
        reinterpret_cast<const std::int32_t *>(static_cast<const std::uint8_t *>(base) + g.sums_offset());
    const auto offset =
        static_cast<std::int32_t>(weights.data_type == data_type::u8 ? 128 * weights.dims[0] : 0);
    for (dim_t column = 0; column < weights.dims[1]; column++)
        sums[column] = stored[column] + offset;
}

/// What all rows read.
struct columns {
    dim_t n;
    const float *scales, *bias; ///< bias: null, or n
    const std::int32_t *sums;   ///< Σ w; null if rows have no zero points
};

template <combination order, bool has_bias>
OCTET_AVX2 void combine_row(const columns &c, const std::int32_t *acc, const source_parameters &p, float *y) {
    for (dim_t n = 0; n < c.n; n++) {
        const std::int32_t exact = c.sums ? acc[n] - p.zero_point * c.sums[n] : acc[n];
        y[n] = combine_sum<order>({static_cast<float>(exact), p.scale, c.scales[n]},
                                  has_bias ? &c.bias[n] : nullptr);
    }
}

using row_function = void (*)(const columns &, const std::int32_t *, const source_parameters &, float *);
struct row_functions {
    combination order;
    row_function with_bias, without_bias;
};
template <combination order> constexpr row_functions functions_of() {
    return {order, combine_row<order, true>, combine_row<order, false>};
}
constexpr row_functions table[] = {
    functions_of<combination::dynamic_row>(),     functions_of<combination::xnnpack>(),
    functions_of<combination::xnnpack_unfused>(), functions_of<combination::kleidiai>(),
    functions_of<combination::litert>(),          functions_of<combination::onnxruntime>(),
    functions_of<combination::qnnpack>()};

row_function function_of(combination order, bool has_bias) {
    for (const row_functions &row : table)
        if (row.order == order)
            return has_bias ? row.with_bias : row.without_bias;
    return nullptr;
}

class column_kernel : public kernel {
public:
    column_kernel(const dynamic_matmul_problem &p, instruction_set isa,
                  std::shared_ptr<const kernel> products)
        : p_(p), operation_(text(p.operation, ": execute")), weights_(matrix_of(p.weights)), isa_(isa),
          products_(std::move(products)), combine_(function_of(p.order, p.bias.ndims != 0)) {}

    void execute(const arguments &args) const override {
        const dim_t rows = p_.rows(), k = p_.k(), n = p_.n();
        if (rows == 0)
            return;
        auto *codes = scratch_of<std::uint8_t>(scratch_slot::source_codes, rows * k);
        auto *parameters = scratch_of<source_parameters>(scratch_slot::source_parameters, rows);
        auto *scales = scratch_of<float>(scratch_slot::column_scales, n);
        auto *acc = scratch_of<std::int32_t>(scratch_slot::column_sums, rows * n + n), *sums = acc + rows * n;
        p_.scales.bind(args, 1, n, scales);
        check_scales(operation_.c_str(), "scales of weights", scales, static_cast<std::size_t>(n),
                     scale_signs::not_negative);
        quantize_rows(p_, isa_, args.get<const void>(OCTET_ARG_SRC), codes, parameters);
        const arguments with_codes(args, OCTET_ARG_SRC, codes);
        products_->execute(arguments(with_codes, OCTET_ARG_DST, acc));
        if (p_.has_source_zero_points())
            bind_sums(args.get<const void>(OCTET_ARG_WEIGHTS), sums);
        const float *bias =
            p_.bias.ndims == 0 ? nullptr : args.get<const float>(OCTET_ARG_BIAS) + p_.bias.offset0;
        auto *y = args.get<float>(OCTET_ARG_DST) + p_.dst.offset0;
        const dim_t stride = p_.dst.strides[p_.dst.ndims - 2];
        if (facts_of(p_.order).keeps_bias_of_zeros && is_zero(parameters, rows))
            return fill(bias, y, stride);
        const columns c{n, scales, bias, p_.has_source_zero_points() ? sums : nullptr};
        parallel_for(rows, 1 + results_of_task / n, [&](dim_t begin, dim_t end) {
            for (dim_t r = begin; r < end; r++)
                combine_(c, acc + r * n, parameters[r], y + r * stride);
        });
    }
    std::size_t size_bytes() const override { return sizeof *this + products_->size_bytes(); }
    std::string plan() const override {
        return text(p_.source_text(), "; ", products_->plan(), "; combined as ", to_string(p_.order));
    }

private:
    void bind_sums(const void *weights, std::int32_t *sums) const {
        if (weights_.format_kind == format_kind::packed)
            read_sums(weights_, weights, sums);
        else
            sum_columns(weights_, weights, sums);
    }
    static bool is_zero(const source_parameters *p, dim_t rows) {
        return std::all_of(p, p + rows, [](const source_parameters &s) { return s.inverse == 0.f; });
    }
    void fill(const float *bias, float *y, dim_t stride) const {
        for (dim_t r = 0; r < p_.rows(); r++)
            for (dim_t n = 0; n < p_.n(); n++)
                y[r * stride + n] = bias ? bias[n] : 0.f;
    }

    const dynamic_matmul_problem p_;
    const std::string operation_;
    const memory_desc weights_;
    const instruction_set isa_;
    const std::shared_ptr<const kernel> products_;
    const row_function combine_;
};

candidate plan_floats(const dynamic_matmul_problem &p, const machine &m) {
    const candidate products = dot::plan(static_product(p), m);
    if (products.is_refused())
        return products;
    return candidate([=] { return std::make_shared<column_kernel>(p, m.isa, products.make()); });
}

} // namespace

candidate plan(const dynamic_matmul_problem &p, const machine &m) {
    if (function_of(p.order, false) == nullptr)
        return candidate::refused(text("combination ", to_string(p.order)));
    // Parameters tell of a source of zeros where they are those of this quantizer.
    if (facts_of(p.order).keeps_bias_of_zeros && p.source.by != source_quantizer::litert)
        return candidate::refused(
            text("quantizer ", to_string(p.source.by), " with combination ", to_string(p.order)));
    if (!is_code(p.weights.data_type))
        return candidate::refused(text("weights of type ", to_string(p.weights.data_type)));
    if (is_packed_with_scales(p.weights))
        return candidate::refused("weights packed with scales");
    if (p.zero_points.is_set)
        return candidate::refused("zero points of weights");
    return groups::in_floats(p, m, plan_floats);
}

} // namespace octet::impl::dynamic_columns
