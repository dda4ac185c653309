// Parameters follow from the smallest and the largest element and from whether all are finite, so that is what vectors
// look for; quantizers that multiply and round to even have codes by vectors, too.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/group_products/quantize.hpp"

#include <algorithm>
#include <cmath>

#include "common/element.hpp"
#include "common/layout/layout.hpp"
#include "cpu/group_products/quantize_vectors.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"

namespace octet::impl {

namespace {

constexpr dim_t elements_of_task = 16384; ///< at least

extremes extremes_of(const float *x, dim_t count, instruction_set isa) {
    if (isa.has_vectors())
        return extremes_by_vectors(x, count);
    extremes e{};
    for (dim_t i = 0; i < count; i++) {
        e[0] = std::min(e[0], x[i]);
        e[1] = std::max(e[1], x[i]);
        e[2] = std::isfinite(x[i]) ? e[2] : std::nanf("");
    }
    return e;
}

class row_quantizer {
public:
    row_quantizer(const dynamic_matmul_problem &p, instruction_set isa)
        : q_(p.source), isa_(isa), k_(p.k()),
          group_(p.source_has_groups() ? p.group : std::max<dim_t>(p.k(), 1)) {}

    dim_t groups() const { return div_up(k_, group_); }

    source_parameters parameters(const float *x, dim_t count) const {
        const extremes e = extremes_of(x, count, isa_);
        return rounded(parameters_of(q_, e.data(), static_cast<dim_t>(e.size())));
    }
    void codes(const float *x, dim_t count, const source_parameters &p, std::uint8_t *to) const {
        if (p.inverse == 0.f) {
            std::fill_n(to, count, static_cast<std::uint8_t>(p.zero_point));
            return;
        }
        const bool is_symmetric = q_.mode == source_mode::symmetric;
        dim_t i = isa_.has_vectors() && multiplies_and_rounds_to_even(q_.by)
                      ? store_codes(x, count, p, is_symmetric ? -127 : -128, 127,
                                    q_.code == data_type::u8 ? 128 : 0, to)
                      : 0;
        for (; i < count; i++)
            store_s32(to, q_.code, i, code_of(q_, p, x[i]));
    }
    void row(const float *x, std::uint8_t *to, source_parameters *parameters_of_groups) const {
        for (dim_t first = 0; first < k_; first += group_) {
            const dim_t count = std::min(group_, k_ - first);
            *parameters_of_groups = parameters(x + first, count);
            codes(x + first, count, *parameters_of_groups++, to + first);
        }
    }

private:
    source_parameters rounded(source_parameters p) const {
        if (stores_f16_scales(q_.by))
            p.scale = from_f16(to_f16(p.scale));
        return p;
    }

    const source_quantization q_;
    const instruction_set isa_;
    const dim_t k_, group_;
};

/// A row of the source as f32, in its place or in `copy`.
const float *row_of(const memory_desc &src, const void *base, dim_t row, dim_t k, float *copy) {
    if (k == 0)
        return copy;
    const dim_t first = plain_offset(src, coordinates_of(row * k, src)), step = src.strides[src.ndims - 1];
    if (src.data_type == data_type::f32 && (step == 1 || k == 1))
        return static_cast<const float *>(base) + first;
    for (dim_t i = 0; i < k; i++)
        copy[i] = load_f32(base, src.data_type, first + i * step);
    return copy;
}

} // namespace

void quantize_rows(const dynamic_matmul_problem &p, instruction_set isa, const void *src, std::uint8_t *codes,
                   source_parameters *parameters) {
    const row_quantizer q(p, isa);
    const dim_t k = p.k(), rows = p.rows(), grain = 1 + elements_of_task / std::max<dim_t>(k, 1);
    const auto for_each_row = [&](const auto &body) {
        parallel_for(rows, grain, [&](dim_t begin, dim_t end) {
            auto *copy = scratch_of<float>(scratch_slot::source_copy, k);
            for (dim_t r = begin; r < end; r++)
                body(r, row_of(p.src, src, r, k, copy));
        });
    };
    if (p.source.span != source_span::tensor) {
        for_each_row([&](dim_t r, const float *x) { q.row(x, codes + r * k, parameters + r * q.groups()); });
        return;
    }
    // All elements share what their extremes say.
    auto *ends = scratch_of<extremes>(scratch_slot::row_extremes, rows);
    for_each_row([&](dim_t r, const float *x) { ends[r] = extremes_of(x, k, isa); });
    const source_parameters all = q.parameters(ends[0].data(), rows * static_cast<dim_t>(ends[0].size()));
    std::fill_n(parameters, rows, all);
    for_each_row([&](dim_t r, const float *x) { q.codes(x, k, all, codes + r * k); });
}

} // namespace octet::impl
