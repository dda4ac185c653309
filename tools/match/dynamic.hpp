#pragma once // SPDX-License-Identifier: Apache-2.0

// Devices that quantize their source by themselves: each quantizer, and each order in which a product combines sums
// and scales, evaluated by the definitions in src/common. Every row is quantized alone.

#include <string>
#include <vector>

#include "match/subject.hpp"
#include "octet/source_quantization.hpp"

namespace octet::match {

/// Every quantizer with each mode and each type of codes that it has.
const std::vector<source_quantization> &all_source_quantizations();
/// All but those whose weights have offsets.
const std::vector<combination> &all_combinations();

/// The codes of rows {N, K}, of which each `group` of elements shares a scale; 0: each row.
codes quantized(const source_quantization &q, const values &x, dim_t group);
/// Results of `given`, which is the pool of `own_codes_subject`.
codes products(const source_quantization &q, combination order, dim_t group, const inputs &given);

/// Rows with ties, of all signs and magnitudes.
inputs rows_to_quantize(dim_t rows, dim_t count, dim_t group);

subject quantizer_subject(const description &d);
/// Weights, their scales and the bias are chosen here, and given to the device.
subject own_codes_subject(const description &d);

/// The section of doc/contracts.md: how many codes and results differ.
std::string dynamic_page();

} // namespace octet::match
