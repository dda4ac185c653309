#pragma once // SPDX-License-Identifier: Apache-2.0

// From a graph's tensors to Octet's memory descriptors: dimensions as frameworks write them, layouts as the
// primitives want them told.

#include "network/graph/graph.hpp"

namespace octet::model {

/// Dense descriptor of a tensor in its layout; a scalar gets one dimension.
memory::desc dense_desc(const tensor &t);
/// Dense descriptor of a tensor that needs a buffer. Throws for a type that Octet lacks and for a tensor without
/// elements.
memory::desc checked_desc(const tensor &t);
/// The same of a constant. Codes that share bytes are bytes, which an operator sees through its own descriptor.
memory::desc constant_desc(const tensor &t);

/// The tensor's descriptor with leading dimensions of size 1 up to `rank`, as broadcasting needs it.
memory::desc padded_desc(const tensor &t, std::size_t rank);

/// Memory over a constant's bytes, which nothing writes; over a copy where they are not aligned for their type.
/// The bytes must outlive it.
memory constant_memory(const memory::desc &d, const shared_bytes &bytes);

/// The dimensions that two tensors of any ranks give element by element; throws if they do not broadcast.
memory::dims broadcast(const memory::dims &a, const memory::dims &b);

/// Row-major matrices, transposed by strides. Missing leading dimensions are 1.
memory::desc matrices_desc(const memory::dims &matrix_dims, data_type type, std::size_t rank,
                           bool is_transposed);

/// Weights to plan with: a constant may take any layout, others stay as they are.
memory::desc planned_weights(const memory::desc &plain, const tensor &weights);

} // namespace octet::model
