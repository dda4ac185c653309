#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, seventh part: recurrent networks, forward.

#include "octet/compat/dnnl_normalizations.hpp"

namespace dnnl {

namespace octet_detail {

/// Names the tensors of a recurrent network; the zero descriptor for those that it does not have.
template <typename Base> struct with_states : public Base {
    using Base::Base;
    /// None.
    with_states() = default;
    memory::desc src_layer_desc() const { return argument(DNNL_ARG_SRC_LAYER); }   ///< inputs
    memory::desc src_iter_desc() const { return argument(DNNL_ARG_SRC_ITER); }     ///< first states
    memory::desc src_iter_c_desc() const { return argument(DNNL_ARG_SRC_ITER_C); } ///< first cell states
    memory::desc weights_layer_desc() const { return argument(DNNL_ARG_WEIGHTS_LAYER); } ///< of inputs
    memory::desc weights_iter_desc() const { return argument(DNNL_ARG_WEIGHTS_ITER); }   ///< of states
    /// Of cell states.
    memory::desc weights_peephole_desc() const { return argument(DNNL_ARG_WEIGHTS_PEEPHOLE); }
    /// Of outputs.
    memory::desc weights_projection_desc() const { return argument(DNNL_ARG_WEIGHTS_PROJECTION); }
    memory::desc bias_desc() const { return argument(DNNL_ARG_BIAS); }             ///< of gates
    memory::desc dst_layer_desc() const { return argument(DNNL_ARG_DST_LAYER); }   ///< outputs
    memory::desc dst_iter_desc() const { return argument(DNNL_ARG_DST_ITER); }     ///< last states
    memory::desc dst_iter_c_desc() const { return argument(DNNL_ARG_DST_ITER_C); } ///< last cell states

protected:
    /// The tensor of an execution argument.
    memory::desc argument(int arg) const { return this->query_md(query::exec_arg_md, arg); }
};

/// The description of a vanilla RNN.
struct vanilla_rnn_desc {
    dnnl_rnn_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    vanilla_rnn_desc(prop_kind prop, algorithm activation, rnn_direction direction, tensor src_layer,
                     tensor src_iter, tensor weights_layer, tensor weights_iter, tensor bias,
                     tensor dst_layer, tensor dst_iter, rnn_flags flags = rnn_flags::undef, float alpha = 0.f,
                     float beta = 0.f) {
        check(dnnl_vanilla_rnn_forward_desc_init(
            &data, convert_to_c(prop), convert_to_c(activation), convert_to_c(direction), &src_layer.data,
            &src_iter.data, &weights_layer.data, &weights_iter.data, &bias.data, &dst_layer.data,
            &dst_iter.data, static_cast<unsigned>(flags), alpha, beta));
    }
};

/// The description of an LSTM.
struct lstm_desc {
    dnnl_rnn_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN: with peepholes and projection, with peepholes, with neither.
    ///@{
    lstm_desc(prop_kind prop, rnn_direction direction, tensor src_layer, tensor src_iter, tensor src_iter_c,
              tensor weights_layer, tensor weights_iter, tensor weights_peephole, tensor weights_projection,
              tensor bias, tensor dst_layer, tensor dst_iter, tensor dst_iter_c,
              rnn_flags flags = rnn_flags::undef) {
        check(dnnl_lstm_forward_desc_init_v3(&data, convert_to_c(prop), convert_to_c(direction),
                                             &src_layer.data, &src_iter.data, &src_iter_c.data,
                                             &weights_layer.data, &weights_iter.data, &weights_peephole.data,
                                             &weights_projection.data, &bias.data, &dst_layer.data,
                                             &dst_iter.data, &dst_iter_c.data, static_cast<unsigned>(flags)));
    }
    lstm_desc(prop_kind prop, rnn_direction direction, tensor src_layer, tensor src_iter, tensor src_iter_c,
              tensor weights_layer, tensor weights_iter, tensor weights_peephole, tensor bias,
              tensor dst_layer, tensor dst_iter, tensor dst_iter_c, rnn_flags flags = rnn_flags::undef)
        : lstm_desc(prop, direction, src_layer, src_iter, src_iter_c, weights_layer, weights_iter,
                    weights_peephole, memory::desc(), bias, dst_layer, dst_iter, dst_iter_c, flags) {}
    lstm_desc(prop_kind prop, rnn_direction direction, tensor src_layer, tensor src_iter, tensor src_iter_c,
              tensor weights_layer, tensor weights_iter, tensor bias, tensor dst_layer, tensor dst_iter,
              tensor dst_iter_c, rnn_flags flags = rnn_flags::undef)
        : lstm_desc(prop, direction, src_layer, src_iter, src_iter_c, weights_layer, weights_iter,
                    memory::desc(), memory::desc(), bias, dst_layer, dst_iter, dst_iter_c, flags) {}
    ///@}
};

/// The description of either GRU. `init` is the function of the C interface that fills it.
template <decltype(&dnnl_gru_forward_desc_init) init> struct gru_desc {
    dnnl_rnn_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    gru_desc(prop_kind prop, rnn_direction direction, tensor src_layer, tensor src_iter, tensor weights_layer,
             tensor weights_iter, tensor bias, tensor dst_layer, tensor dst_iter,
             rnn_flags flags = rnn_flags::undef) {
        check(init(&data, convert_to_c(prop), convert_to_c(direction), &src_layer.data, &src_iter.data,
                   &weights_layer.data, &weights_iter.data, &bias.data, &dst_layer.data, &dst_iter.data,
                   static_cast<unsigned>(flags)));
    }
};

/// The operation of a description.
template <typename Desc> using recurrent = operation<with_states<described<Desc, primitive::kind::rnn>>>;

} // namespace octet_detail

/// Vanilla RNN: octet::vanilla_rnn_forward.
struct vanilla_rnn_forward : public octet_detail::recurrent<octet_detail::vanilla_rnn_desc> {
    using operation::operation;
};

/// LSTM: octet::lstm_forward.
struct lstm_forward : public octet_detail::recurrent<octet_detail::lstm_desc> {
    using operation::operation;
};

/// GRU: octet::gru_forward.
struct gru_forward : public octet_detail::recurrent<octet_detail::gru_desc<dnnl_gru_forward_desc_init>> {
    using operation::operation;
};

/// GRU with linear-before-reset gates: octet::lbr_gru_forward.
struct lbr_gru_forward
    : public octet_detail::recurrent<octet_detail::gru_desc<dnnl_lbr_gru_forward_desc_init>> {
    using operation::operation;
};

} // namespace dnnl
