#pragma once // SPDX-License-Identifier: Apache-2.0

// Recurrent networks, forward: vanilla RNN, LSTM, GRU and GRU with linear-before-reset gates. One description
// and one set of formulas for all, which rnn_desc has; an operation's own `desc` has oneDNN's constructors.

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// A recurrent network of L layers over T steps. A cell computes gates g from its input x and its state h:
///
///   f32    g(k) = (Σ x(i) * w_layer(i, k) + Σ h(i) * w_iter(i, k)) + bias(k)
///          a sum is a chain of fused multiply-adds in ascending order, which begins with +0
///   int8   g(k) = f32(Σ …, both, exact) / B(k) + b(k),   B = weights scale * data scale
///          b(k) = bias(k) - ((f32(Σ w_iter) + f32(Σ w_layer)) * shift) / B(k), sums over the gate's inputs
///   code(h)  = round(min(max(h * scale + shift, 0), 255)), at most 127 if states are s8
///   value(c) = (f32(c) - shift) / scale
///
///   vanilla_rnn   h = activation(g): eltwise_relu (with slope alpha), eltwise_tanh, eltwise_logistic
///   vanilla_lstm  gates i, f, c~, o; with peepholes g_i = fma(P_i, c, g_i), g_f likewise, g_o of the new c
///                 c = fma(σ(g_i), tanh(g_c~), c * σ(g_f));   h = tanh(c) * σ(g_o)
///                 with a projection h = Σ h(i) * w_projection(i, k); int8: of code(h), and
///                 (f32(Σ …) - f32(Σ w_projection) * shift) / (projection scale * data scale)
///   vanilla_gru   gates u, r, o; u = σ(g_u), r = σ(g_r); o = tanh(g_o) with r * h in the place of h
///                 h = fma(1 - u, o, u * h); int8: p = value(h) for h, and code(r * p) in the product
///   lbr_gru       o = tanh(fma(r, Σ h * w_iter + bias_4, Σ x * w_layer) + bias_o), else as vanilla_gru; int8:
///                 each sum is divided by its B, and its own part of the shift is in its bias
///
/// σ and tanh are eltwise_logistic and eltwise_tanh. Each operation is rounded to f32. In int8 h is stored as
/// code(h), within a layer and between layers; c stays f32. LSTM and GRU without peepholes have oneDNN 2.6.3's
/// bytes with AVX512-VNNI (u8) or AMX (s8); int8 of the others is Octet's own, as oneDNN refuses it.
///
/// Shapes   src_layer {T, N, SLC}; dst_layer {T, N, DLC}, with bidirectional_concat DLC is twice DIC;
///          src_iter, dst_iter {L, D, N, DIC}; src_iter_c, dst_iter_c {L, D, N, DHC}; D is 1 or 2;
///          weights_layer {L, D, SLC, G, DHC}, weights_iter {L, D, DIC, G, DHC}; G is 1, 4 (i, f, c~, o) or 3
///          (u, r, o); bias {L, D, G, DHC}, of lbr_gru {L, D, 4, DHC};
///          weights_peephole {L, D, 3, DHC} (i, f, o); weights_projection {L, D, DHC, DIC}, without it DIC is
///          DHC. With several layers SLC is DIC: a direction's layers read the one below in that direction. With
///          one step src_iter and the inputs of weights_iter may have other channels than DIC, but in a GRU.
/// Optional bias, every state (src: zeros), peepholes, projection. dst_iter may be src_iter's memory, and
///          dst_iter_c that of src_iter_c, in the same layout.
/// Types    f32 throughout; or src_layer u8 or s8 with weights s8, dst_layer of src_layer's type or f32,
///          src_iter and dst_iter alike of src_layer's type or f32, and bias, peepholes and c in f32.
/// Attributes  set_rnn_data_qparams (shift 0 with s8), set_rnn_weights_qparams,
///          set_rnn_weights_projection_qparams: for int8 alone.
/// Results  bidirectional_sum: int8 adds codes, clip(a + b) to the type's range; to f32 it is
///          (f32(clip(a + b)) - 2 * shift) / scale. forward_training computes what forward_inference does:
///          there is no workspace.
struct OCTET_API rnn_desc {
    octet::prop_kind prop;   ///< forward_inference or forward_training
    algorithm cell;          ///< vanilla_rnn, vanilla_lstm, vanilla_gru, lbr_gru
    rnn_direction direction; ///< of the steps, and what becomes of both
    /// Absent tensors are zero descriptors.
    ///@{
    memory::desc src_layer, src_iter, src_iter_c;
    memory::desc weights_layer, weights_iter, weights_peephole, weights_projection;
    memory::desc bias, dst_layer, dst_iter, dst_iter_c;
    ///@}
    /// Of vanilla_rnn: the function of its cell, and relu's slope; beta has no meaning.
    ///@{
    algorithm activation = algorithm::undef;
    float alpha = 0.f, beta = 0.f;
    ///@}

    /// Checks it and chooses an implementation: what a primitive_desc is made of.
    friend OCTET_API impl::primitive_desc_ptr check(const rnn_desc &d, const primitive_attr &attr,
                                                    const engine &e, bool allow_empty);
};

/// The primitive descriptor of a recurrent network, with its tensors by name; a zero descriptor for what it
/// does not have.
template <typename Desc> struct rnn_primitive_desc : public primitive_desc_of<Desc> {
    using primitive_desc_of<Desc>::primitive_desc_of;
    rnn_primitive_desc() = default; ///< an empty one
    /// The tensor of OCTET_ARG_ and that name.
    ///@{
    memory::desc src_layer_desc() const { return this->arg_desc(OCTET_ARG_SRC_LAYER); }
    memory::desc src_iter_desc() const { return this->arg_desc(OCTET_ARG_SRC_ITER); }
    memory::desc src_iter_c_desc() const { return this->arg_desc(OCTET_ARG_SRC_ITER_C); }
    memory::desc weights_layer_desc() const { return this->arg_desc(OCTET_ARG_WEIGHTS_LAYER); }
    memory::desc weights_iter_desc() const { return this->arg_desc(OCTET_ARG_WEIGHTS_ITER); }
    memory::desc weights_peephole_desc() const { return this->arg_desc(OCTET_ARG_WEIGHTS_PEEPHOLE); }
    memory::desc weights_projection_desc() const { return this->arg_desc(OCTET_ARG_WEIGHTS_PROJECTION); }
    memory::desc bias_desc() const { return this->arg_desc(OCTET_ARG_BIAS); }
    memory::desc dst_layer_desc() const { return this->arg_desc(OCTET_ARG_DST_LAYER); }
    memory::desc dst_iter_desc() const { return this->arg_desc(OCTET_ARG_DST_ITER); }
    memory::desc dst_iter_c_desc() const { return this->arg_desc(OCTET_ARG_DST_ITER_C); }
    ///@}
};

/// Vanilla RNN: see rnn_desc.
struct OCTET_API vanilla_rnn_forward : public primitive {
    /// The operation as the caller describes it.
    struct OCTET_API desc : public rnn_desc {
        /// Arguments as in oneDNN 2.x.
        desc(prop_kind prop, algorithm activation, rnn_direction direction, const memory::desc &src_layer,
             const memory::desc &src_iter, const memory::desc &weights_layer,
             const memory::desc &weights_iter, const memory::desc &bias, const memory::desc &dst_layer,
             const memory::desc &dst_iter, rnn_flags = rnn_flags::undef, float alpha = 0.f, float beta = 0.f);
    };
    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    using primitive_desc = rnn_primitive_desc<desc>;

    vanilla_rnn_forward() = default;
    vanilla_rnn_forward(const primitive_desc &pd) : primitive(pd) {} ///< ready to run
};

/// LSTM: see rnn_desc.
struct OCTET_API lstm_forward : public primitive {
    /// The operation as the caller describes it.
    struct OCTET_API desc : public rnn_desc {
        /// Arguments as in oneDNN 2.x, with peepholes and projection, with peepholes, with neither.
        ///@{
        desc(prop_kind prop, rnn_direction direction, const memory::desc &src_layer,
             const memory::desc &src_iter, const memory::desc &src_iter_c, const memory::desc &weights_layer,
             const memory::desc &weights_iter, const memory::desc &weights_peephole,
             const memory::desc &weights_projection, const memory::desc &bias, const memory::desc &dst_layer,
             const memory::desc &dst_iter, const memory::desc &dst_iter_c, rnn_flags = rnn_flags::undef);
        desc(prop_kind prop, rnn_direction direction, const memory::desc &src_layer,
             const memory::desc &src_iter, const memory::desc &src_iter_c, const memory::desc &weights_layer,
             const memory::desc &weights_iter, const memory::desc &weights_peephole, const memory::desc &bias,
             const memory::desc &dst_layer, const memory::desc &dst_iter, const memory::desc &dst_iter_c,
             rnn_flags = rnn_flags::undef);
        desc(prop_kind prop, rnn_direction direction, const memory::desc &src_layer,
             const memory::desc &src_iter, const memory::desc &src_iter_c, const memory::desc &weights_layer,
             const memory::desc &weights_iter, const memory::desc &bias, const memory::desc &dst_layer,
             const memory::desc &dst_iter, const memory::desc &dst_iter_c, rnn_flags = rnn_flags::undef);
        ///@}
    };
    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    using primitive_desc = rnn_primitive_desc<desc>;

    lstm_forward() = default;
    lstm_forward(const primitive_desc &pd) : primitive(pd) {} ///< ready to run
};

/// The description of either GRU.
template <algorithm of_gru> struct OCTET_API gru_desc : public rnn_desc {
    /// Arguments as in oneDNN 2.x.
    gru_desc(prop_kind prop, rnn_direction direction, const memory::desc &src_layer,
             const memory::desc &src_iter, const memory::desc &weights_layer,
             const memory::desc &weights_iter, const memory::desc &bias, const memory::desc &dst_layer,
             const memory::desc &dst_iter, rnn_flags = rnn_flags::undef);
};

/// GRU: see rnn_desc.
struct OCTET_API gru_forward : public primitive {
    using desc = gru_desc<algorithm::vanilla_gru>; ///< the operation as the caller describes it
    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    using primitive_desc = rnn_primitive_desc<desc>;

    gru_forward() = default;
    gru_forward(const primitive_desc &pd) : primitive(pd) {} ///< ready to run
};

/// GRU whose reset gate comes behind the recurrent product (linear before reset): see rnn_desc.
struct OCTET_API lbr_gru_forward : public primitive {
    using desc = gru_desc<algorithm::lbr_gru>; ///< the operation as the caller describes it
    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    using primitive_desc = rnn_primitive_desc<desc>;

    lbr_gru_forward() = default;
    lbr_gru_forward(const primitive_desc &pd) : primitive(pd) {} ///< ready to run
};

} // namespace v0
} // namespace octet
