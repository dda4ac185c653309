#pragma once // SPDX-License-Identifier: Apache-2.0

// Recurrent networks: octet/rnn.hpp.

#include "common/problem.hpp"

namespace octet::impl {

struct rnn_problem {
    algorithm cell = algorithm::undef, activation = algorithm::undef;
    rnn_direction direction = rnn_direction::unidirectional;
    float alpha = 0.f; ///< of the activation
    /// Absent tensors have no dimensions.
    ///@{
    memory_desc src_layer, src_iter, src_iter_c;
    memory_desc weights_layer, weights_iter, weights_peephole, weights_projection, bias;
    memory_desc dst_layer, dst_iter, dst_iter_c;
    ///@}
    float scale = 1.f, shift = 0.f; ///< of states
    masked_values<float> weights_scales, projection_scales;

    bool is_int8() const { return src_layer.data_type != data_type::f32; }
    dim_t steps() const { return src_layer.dims[0]; }
    dim_t batch() const { return src_layer.dims[1]; }
    dim_t layers() const { return weights_layer.dims[0]; }
    dim_t directions() const { return weights_layer.dims[1]; }
    dim_t inputs() const { return weights_layer.dims[2]; } ///< channels of a layer's input
    dim_t gates() const { return weights_layer.dims[3]; }
    dim_t channels() const { return weights_layer.dims[4]; } ///< of c, and of h before the projection
    /// Of h: what a cell gives, and what it reads, which is the same unless there is one step.
    ///@{
    dim_t state_channels() const { return has_projection() ? weights_projection.dims[3] : channels(); }
    dim_t state_inputs() const { return weights_iter.dims[2]; }
    ///@}
    dim_t bias_gates() const { return gates() + (cell == algorithm::lbr_gru ? 1 : 0); }
    bool has_projection() const { return weights_projection.ndims != 0; }
    /// True for a direction that begins with the last step.
    bool is_reverse(dim_t d) const { return d == 1 || direction == rnn_direction::unidirectional_right2left; }
    /// Weights scale times data scale, of a gate and channel.
    float weights_factor(dim_t gate, dim_t channel) const {
        return factor_of(weights_scales, gate * channels() + channel);
    }
    float projection_factor(dim_t channel) const { return factor_of(projection_scales, channel); }

private:
    float factor_of(const masked_values<float> &scales, dim_t index) const {
        if (!scales.is_set())
            return scale;
        return scales.values[static_cast<std::size_t>(scales.mask == 0 ? 0 : index)] * scale;
    }
};

} // namespace octet::impl
