#pragma once // SPDX-License-Identifier: Apache-2.0

// What LSTM, GRU, RNN and DynamicQuantizeLSTM share: their sizes and attributes, the way through a sequence
// in either direction, and the matrix products of gates. An operator adds a cell (one time step of one
// direction). Inputs of all four: X [steps, batch, inputs], W, R, B [directions, 2 gates units],
// sequence_lens [batch], initial_h [directions, batch, units].

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loops/gates.hpp"
#include "loops/parallel.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/shapes/node_shapes.hpp"

namespace octet::model {

namespace recurrent_inputs {
constexpr std::size_t x = 0, w = 1, r = 2, bias = 3, lengths = 4, hidden = 5, cell = 6, peepholes = 7;
}

struct recurrent_sizes {
    dim_t steps, batch, inputs, units, directions;
};

/// Weights are [directions, gates units, inputs], `transposed` [directions, inputs, gates units].
enum class gate_weights { usual, transposed };

/// Refuses attributes and inputs that do not fit together, and outputs of which there are more than
/// `outputs`.
recurrent_sizes recurrent_sizes_of(const lowering &l, dim_t gates, std::size_t outputs,
                                   gate_weights form = gate_weights::usual);

/// The functions of all directions, one behind the other: attributes `activations`, `activation_alpha` and
/// `activation_beta`, or `usual` ones in each direction.
std::vector<loops::gate_activation> activations_of(const lowering &l, dim_t directions,
                                                   const std::vector<loops::gate_function> &usual,
                                                   bool is_case_sensitive);

/// Attribute `clip` of LSTM and GRU, which is above 0; FLT_MAX without one.
float positive_clip(const lowering &l);

/// Buffers of one direction, which the other one uses again; row-major floats.
struct recurrent_buffers {
    buffer products; ///< [steps batch, gates units]: W x of all steps
    buffer sums;     ///< [batch, gates units]: those of a step
    buffer hidden;   ///< [batch, units]
    buffer cell;     ///< the same, of LSTM; else none
    buffer bias;     ///< [gates units]: see gate_biases; none without bias
};

/// Both biases of a direction.
class gate_biases {
public:
    gate_biases(const lowering &l, const recurrent_buffers &b, dim_t width, dim_t direction);
    /// Makes Wb + Rb; behind the first `summed` ones Wb alone.
    void sum(const run_memory &m, dim_t summed) const;
    const float *sums(const run_memory &m) const { return given_ ? m.at<float>(sums_) : nullptr; }
    /// Rb, or null.
    const float *recurrent(const run_memory &m) const {
        return given_ ? m.at<float>(*given_) + (direction_ * 2 + 1) * width_ : nullptr;
    }

private:
    std::optional<buffer> given_;
    buffer sums_;
    dim_t width_, direction_;
};

/// The rows of a batch whose sequences have a step `step`.
struct live_rows {
    const std::int32_t *lengths; ///< null: all
    dim_t step;
    bool have(dim_t row) const { return !lengths || step < lengths[row]; }
};

/// One direction of an operator.
class recurrent_cell {
public:
    virtual ~recurrent_cell() = default;
    virtual void make_primitives() = 0;
    /// Computes `products` of the first `rows` rows of X, and more if it likes.
    virtual void multiply_inputs(const stream &s, const run_memory &m, dim_t rows) const = 0;
    /// Computes the next state of the rows from `sums`.
    virtual void advance(const stream &s, const run_memory &m, const live_rows &rows) const = 0;
    virtual std::string implementation() const = 0;
    virtual std::string explain() const = 0;
};
using cell_maker = std::function<std::unique_ptr<recurrent_cell>(const recurrent_buffers &, dim_t direction)>;

/// Calls work(row, first unit, count) for parts of all rows, on the threads of primitives.
template <typename Work>
void for_units(const recurrent_sizes &z, const live_rows &rows, dim_t work, const Work &body) {
    constexpr dim_t part = 256;
    const dim_t parts = (z.units + part - 1) / part;
    loops::parallel_for(z.batch * parts, std::min(part, z.units) * work, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++)
            if (const dim_t first = i % parts * part; rows.have(i / parts))
                body(i / parts, first, std::min(part, z.units - first));
    });
}

/// The operator: a cell for each direction.
std::unique_ptr<step> recurrent_step(const lowering &l, const recurrent_sizes &z, dim_t gates, bool has_cell,
                                     const cell_maker &make);

// ---- Products

/// X as a matrix whose rows are those of all steps.
buffer rows_of_x(const lowering &l, const recurrent_sizes &z);

/// A part of the columns of dst = src times weights, or of dst += that.
struct gate_product_place {
    buffer src;          ///< f32 [rows, inner]
    std::size_t weights; ///< the input
    dim_t first, count;  ///< columns among those of all directions
    buffer dst;          ///< f32 [rows, all]
    dim_t dst_first;     ///< its first column
    bool adds;
};

class gate_product {
public:
    virtual ~gate_product() = default;
    virtual void make_primitives() = 0;
    virtual void run(const stream &s, const run_memory &m, dim_t rows) const = 0;
    virtual std::string implementation() const = 0;
    virtual std::string explain() const = 0;
};

/// Whether ONNX Runtime packs W or R ahead of a run: constants of the file. A W that was dequantized tells it
/// of R, too.
bool are_packed_ahead(const lowering &l, std::size_t weights);

/// Floats with ONNX Runtime's order of sums: that of weights packed ahead, or that of others, where one row
/// has another order than several.
std::unique_ptr<gate_product> float_gate_product(const lowering &l, const gate_product_place &p,
                                                 bool is_packed);

/// Y and the last states of so many units, by default those of R [directions, gates units, units].
///@{
void recurrent_shape(node_shapes &n, dim_t units);
void recurrent_shape(node_shapes &n);
///@}

} // namespace octet::model
