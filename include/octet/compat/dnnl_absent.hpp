#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, last part: operations of oneDNN that Octet does not have. Their names are here so that programs
// which mention them compile; creating a primitive descriptor throws `unimplemented` with the operation's
// name (or gives none, with `allow_empty`), which is how programs find out about an implementation anyway.

#include "octet/compat/dnnl_rnn.hpp"

namespace dnnl {

namespace octet_detail {

/// The first member of every operation's description; Octet reads no more of an operation that it does not
/// have.
struct beginning_of_desc {
    dnnl_primitive_kind_t primitive_kind; ///< the operation
    dnnl_prop_kind_t prop_kind;           ///< direction
};

/// The description of a GRU with attention, whole, since Octet has other cells of its operation.
struct attention_gru_desc : public dnnl_rnn_desc_t {
    /// Of either cell; both are absent.
    attention_gru_desc(dnnl_primitive_kind_t kind, dnnl_prop_kind_t prop) : dnnl_rnn_desc_t() {
        primitive_kind = kind;
        prop_kind = prop;
        cell_kind = dnnl_vanilla_augru;
    }
};

/// An operation that Octet does not have.
template <primitive::kind operation, prop_kind prop, typename Data = beginning_of_desc>
struct absent : public primitive {
    /// Takes what oneDNN's takes; the overloads are for arguments in braces.
    struct desc {
        Data data{convert_to_c(operation), convert_to_c(prop)}; ///< says which it is

        /// Arguments as in oneDNN.
        ///@{
        template <typename... Arguments> desc(const Arguments &...) {}
        using md = const memory::desc &;
        using dims = const memory::dims &;
        desc(algorithm, md, md, dims, dims, dims, dims) {}
        desc(algorithm, md, md, dims, dims, dims, dims, dims) {}
        desc(algorithm, md, md, md, dims, dims, dims) {}
        desc(algorithm, md, md, md, dims, dims, dims, dims) {}
        desc(algorithm, md, md, md, md, dims, dims, dims) {}
        desc(algorithm, md, md, md, md, dims, dims, dims, dims) {}
        ///@}
    };

    /// Cannot be made.
    struct primitive_desc : public with_states<dnnl::primitive_desc> {
        primitive_desc() = default; ///< none
        /// Throw, or give none with `allow_empty`. A backward primitive's have a hint.
        ///@{
        primitive_desc(const desc &d, const engine &e, bool allow_empty = false)
            : with_states(&d.data, nullptr, e, nullptr, allow_empty) {}
        primitive_desc(const desc &d, const primitive_attr &attr, const engine &e, bool allow_empty = false)
            : with_states(&d.data, &attr, e, nullptr, allow_empty) {}
        primitive_desc(const desc &d, const engine &e, const dnnl::primitive_desc &, bool allow_empty = false)
            : primitive_desc(d, e, allow_empty) {}
        primitive_desc(const desc &d, const primitive_attr &attr, const engine &e,
                       const dnnl::primitive_desc &, bool allow_empty = false)
            : primitive_desc(d, attr, e, allow_empty) {}
        ///@}

        /// Tensors by the names that oneDNN's descriptors of these operations have.
        ///@{
        memory::desc diff_bias_desc() const { return argument(DNNL_ARG_DIFF_BIAS); }
        memory::desc mean_desc() const { return argument(DNNL_ARG_MEAN); }
        memory::desc variance_desc() const { return argument(DNNL_ARG_VARIANCE); }
        memory::desc augru_attention_desc() const { return argument(DNNL_ARG_AUGRU_ATTENTION); }
        memory::desc diff_augru_attention_desc() const { return argument(DNNL_ARG_DIFF_AUGRU_ATTENTION); }
        memory::desc diff_src_layer_desc() const { return argument(DNNL_ARG_DIFF_SRC_LAYER); }
        memory::desc diff_src_iter_desc() const { return argument(DNNL_ARG_DIFF_SRC_ITER); }
        memory::desc diff_src_iter_c_desc() const { return argument(DNNL_ARG_DIFF_SRC_ITER_C); }
        memory::desc diff_weights_layer_desc() const { return argument(DNNL_ARG_DIFF_WEIGHTS_LAYER); }
        memory::desc diff_weights_iter_desc() const { return argument(DNNL_ARG_DIFF_WEIGHTS_ITER); }
        memory::desc diff_weights_peephole_desc() const { return argument(DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE); }
        memory::desc diff_weights_projection_desc() const {
            return argument(DNNL_ARG_DIFF_WEIGHTS_PROJECTION);
        }
        memory::desc diff_dst_layer_desc() const { return argument(DNNL_ARG_DIFF_DST_LAYER); }
        memory::desc diff_dst_iter_desc() const { return argument(DNNL_ARG_DIFF_DST_ITER); }
        memory::desc diff_dst_iter_c_desc() const { return argument(DNNL_ARG_DIFF_DST_ITER_C); }
        ///@}

    private:
        memory::desc argument(int arg) const { return this->query_md(query::exec_arg_md, arg); }
    };

    absent() = default;                                 ///< none
    absent(const primitive_desc &pd) : primitive(pd) {} ///< never reached: there is no such descriptor
    /// Never reached, since there is no such descriptor.
    absent(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

} // namespace octet_detail

/// Backward passes, by oneDNN's names.
///@{
struct convolution_backward_data
    : public octet_detail::absent<primitive::kind::convolution, prop_kind::backward_data> {
    using absent::absent;
};
struct convolution_backward_weights
    : public octet_detail::absent<primitive::kind::convolution, prop_kind::backward_weights> {
    using absent::absent;
};
struct deconvolution_backward_data
    : public octet_detail::absent<primitive::kind::deconvolution, prop_kind::backward_data> {
    using absent::absent;
};
struct deconvolution_backward_weights
    : public octet_detail::absent<primitive::kind::deconvolution, prop_kind::backward_weights> {
    using absent::absent;
};
struct inner_product_backward_data
    : public octet_detail::absent<primitive::kind::inner_product, prop_kind::backward_data> {
    using absent::absent;
};
struct inner_product_backward_weights
    : public octet_detail::absent<primitive::kind::inner_product, prop_kind::backward_weights> {
    using absent::absent;
};
struct pooling_backward : public octet_detail::absent<primitive::kind::pooling, prop_kind::backward> {
    using absent::absent;
};
struct pooling_v2_backward : public octet_detail::absent<primitive::kind::pooling_v2, prop_kind::backward> {
    using absent::absent;
};
struct eltwise_backward : public octet_detail::absent<primitive::kind::eltwise, prop_kind::backward> {
    using absent::absent;
};
struct softmax_backward : public octet_detail::absent<primitive::kind::softmax, prop_kind::backward> {
    using absent::absent;
};
struct softmax_v2_backward : public octet_detail::absent<primitive::kind::softmax_v2, prop_kind::backward> {
    using absent::absent;
};
struct logsoftmax_backward : public octet_detail::absent<primitive::kind::logsoftmax, prop_kind::backward> {
    using absent::absent;
};
struct batch_normalization_backward
    : public octet_detail::absent<primitive::kind::batch_normalization, prop_kind::backward> {
    using absent::absent;
};
struct layer_normalization_backward
    : public octet_detail::absent<primitive::kind::layer_normalization, prop_kind::backward> {
    using absent::absent;
};
struct lrn_backward : public octet_detail::absent<primitive::kind::lrn, prop_kind::backward> {
    using absent::absent;
};
struct prelu_backward : public octet_detail::absent<primitive::kind::prelu, prop_kind::backward> {
    using absent::absent;
};
struct resampling_backward : public octet_detail::absent<primitive::kind::resampling, prop_kind::backward> {
    using absent::absent;
};
struct shuffle_backward : public octet_detail::absent<primitive::kind::shuffle, prop_kind::backward> {
    using absent::absent;
};
///@}

/// Operations that are missing altogether.
///@{
struct vanilla_rnn_backward : public octet_detail::absent<primitive::kind::rnn, prop_kind::backward> {
    using absent::absent;
};
struct lstm_backward : public octet_detail::absent<primitive::kind::rnn, prop_kind::backward> {
    using absent::absent;
};
struct gru_backward : public octet_detail::absent<primitive::kind::rnn, prop_kind::backward> {
    using absent::absent;
};
struct lbr_gru_backward : public octet_detail::absent<primitive::kind::rnn, prop_kind::backward> {
    using absent::absent;
};
struct augru_forward : public octet_detail::absent<primitive::kind::rnn, prop_kind::forward_inference,
                                                   octet_detail::attention_gru_desc> {
    using absent::absent;
};
struct augru_backward : public octet_detail::absent<primitive::kind::rnn, prop_kind::backward> {
    using absent::absent;
};
struct lbr_augru_forward : public octet_detail::absent<primitive::kind::rnn, prop_kind::forward_inference,
                                                       octet_detail::attention_gru_desc> {
    using absent::absent;
};
struct lbr_augru_backward : public octet_detail::absent<primitive::kind::rnn, prop_kind::backward> {
    using absent::absent;
};
///@}

} // namespace dnnl
