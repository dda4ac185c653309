#pragma once // SPDX-License-Identifier: Apache-2.0

// Cases of products whose source is quantized while they run, and their operands: the source by a quantizer of
// src/common, the weights as the case holds them. Sizes are checked against each other here.

#include <cstdint>
#include <optional>
#include <vector>

#include "check/check.hpp"
#include "check/vector_file.hpp"
#include "common/combination.hpp"
#include "common/layout/plain.hpp"

namespace octet::vectors {

/// A case with its tensors, by the names of the file.
class dynamic_case {
public:
    dynamic_case(const json_value &c, const std::vector<std::uint8_t> &blob) : case_(c), blob_(blob) {}

    std::string contract() const { return case_["contract"].text(); }
    std::string name() const { return case_["name"].text(); }
    json_value params() const { return case_["params"]; }
    json_value part(const char *name) const { return case_[name]; }
    bool has_input(const char *name) const { return part("inputs").has(name); }
    tensor_record tensor(const char *part, const char *name) const {
        tensor_record t = read_tensor(case_[part][name], blob_);
        t.name = name;
        return t;
    }
    /// An input of these sizes, each at least 1; those that are `any` come from the file.
    tensor_record input(const char *name, const memory::dims &sizes) const {
        tensor_record t = tensor("inputs", name);
        bool fits = t.dims.size() == sizes.size();
        for (std::size_t d = 0; fits && d < sizes.size(); d++)
            fits = t.dims[d] > 0 && (sizes[d] == any || sizes[d] == t.dims[d]);
        if (!fits)
            case_["inputs"][name]["dims"].fail("is " + model::to_text(t.dims) +
                                               ", which does not fit the other inputs and parameters");
        return t;
    }
    static constexpr dim_t any = -1;

private:
    const json_value &case_;
    const std::vector<std::uint8_t> &blob_;
};

/// All elements of a tensor.
///@{
std::vector<float> floats_of(const tensor_record &t);
std::vector<std::int32_t> codes_of(const tensor_record &t);
///@}
/// The only element of an input, 0 if it is absent.
std::int32_t optional_code(const dynamic_case &c, const char *name);

struct dynamic_source {
    source_quantization quantization;
    dim_t rows = 0, k = 0, group = 0; ///< elements of a row that share parameters
    std::vector<std::int32_t> codes;
    std::vector<impl::source_parameters> parameters;
    std::vector<float> sums;
    bool has_groups = false; ///< each with parameters of its own
    bool is_tensor = false;  ///< one set of parameters for all rows
    bool is_zero = false;

    dim_t groups() const { return impl::div_up(k, group); }
    impl::product_row row(dim_t m) const {
        const dim_t first = is_tensor ? 0 : m * groups();
        return {codes.data() + m * k, parameters.data() + first, has_groups,
                sums.empty() ? nullptr : sums.data() + first};
    }
};

struct dynamic_weights {
    dim_t columns = 0, k = 0, group = 0;
    std::vector<std::int32_t> codes; ///< [column][k], minus zero points
    std::vector<float> scales, offsets;
    data_type type = data_type::s8;        ///< of the file's codes
    std::vector<std::int32_t> zero_points; ///< one, or as many as scales

    std::int32_t zero_point_at(dim_t n, dim_t k_index) const {
        return zero_points[zero_points.size() == 1
                               ? 0
                               : static_cast<std::size_t>(n * impl::div_up(k, group) + k_index / group)];
    }

    impl::product_column column(dim_t n) const {
        const dim_t first = scales.size() == 1 ? 0 : n * impl::div_up(k, group);
        return {codes.data() + n * k, scales.data() + first,
                offsets.empty() ? nullptr : offsets.data() + first};
    }
};

enum class parameter_span { row, tensor };

/// The source "x" of the case, with mode, code and groups of its parameters.
dynamic_source quantized(const dynamic_case &c, source_quantizer by, parameter_span shared);

enum class weights_form {
    plain,        ///< [N][K] in 8 bits
    onnx,         ///< [K][N] in 8 bits
    nibbles,      ///< [N][K / 2], two per byte, minus 8
    by_parameters ///< as the parameter "weight" says
};
dynamic_weights weights_of(const dynamic_case &c, weights_form form, dim_t k);

/// The case as a network, where operators for it exist.
std::optional<operator_case> network_of(const dynamic_case &c);

} // namespace octet::vectors
