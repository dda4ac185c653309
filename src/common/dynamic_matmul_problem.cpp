// Scales and zero points of weights in the one shape that kernels read: f32, {G, N}.
// SPDX-License-Identifier: Apache-2.0
#include "common/dynamic_matmul_problem.hpp"

#include <cmath>

#include "common/element.hpp"
#include "common/text.hpp"

namespace octet::impl {

void weight_values::bind(const arguments &args, dim_t all_groups, dim_t n, float *to) const {
    const void *given = type == data_type::undef ? nullptr : args.get<const void>(arg);
    for (dim_t g = 0; g < all_groups; g++)
        for (dim_t column = 0; column < n; column++) {
            const dim_t row = groups == 1 ? 0 : g;
            const dim_t index = !has_columns        ? row
                                : has_columns_first ? column * groups + row
                                                    : row * n + column;
            *to++ = given ? load_f32(given, type, index) : values[static_cast<std::size_t>(index)];
        }
}

std::string dynamic_matmul_problem::source_text() const {
    return text("source quantized by ", to_string(source.by), " (", to_string(source.mode), ", ",
                to_string(source.code), ", per ", to_string(source.span), ")");
}

void check_scales(const char *operation, const char *what, const float *values, std::size_t count,
                  scale_signs signs) {
    const bool may_be_negative = signs == scale_signs::any;
    for (std::size_t i = 0; i < count; i++)
        if (!std::isfinite(values[i]) || (values[i] < 0.f && !may_be_negative))
            throw_invalid(operation, ": ", what, ": value ", i, " is ", values[i], ", allowed: finite",
                          may_be_negative ? "" : ", not negative");
}

void check_weight_zero_points(const char *operation, const char *what, const float *values, std::size_t count,
                              data_type type) {
    const type_range codes = range_of(type);
    for (std::size_t i = 0; i < count; i++)
        if (!(values[i] >= static_cast<float>(codes.low) && values[i] <= static_cast<float>(codes.high)))
            throw_invalid(operation, ": ", what, ": value ", i, " is ", values[i], ", allowed: ", codes.low,
                          " to ", codes.high, ", the codes of ", to_string(type));
}

} // namespace octet::impl
