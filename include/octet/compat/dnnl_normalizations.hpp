#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, sixth part: normalizations and reductions.

#include "octet/compat/dnnl_operations.hpp"

namespace dnnl {

namespace octet_detail {

/// Normalizations have statistics, the zero descriptor if they are no arguments.
template <typename Base> struct with_statistics : public Base {
    using Base::Base;
    with_statistics() = default; ///< none
    /// The tensors that query_md names.
    ///@{
    memory::desc mean_desc() const { return this->query_md(query::exec_arg_md, DNNL_ARG_MEAN); }
    memory::desc variance_desc() const { return this->query_md(query::exec_arg_md, DNNL_ARG_VARIANCE); }
    ///@}
};

} // namespace octet_detail

namespace octet_detail {

/// The description of a batch normalization.
struct batch_normalization_desc {
    dnnl_batch_normalization_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    batch_normalization_desc(prop_kind prop, const memory::desc &data_desc, float epsilon,
                             normalization_flags flags) {
        check(dnnl_batch_normalization_forward_desc_init(&data, convert_to_c(prop), &data_desc.data, epsilon,
                                                         static_cast<unsigned>(flags)));
    }
};

/// The operation of batch_normalization_desc.
using batch_normalization =
    operation<with_statistics<described<batch_normalization_desc, primitive::kind::batch_normalization>>>;

} // namespace octet_detail

/// Batch normalization with given statistics: octet::batch_normalization_forward.
struct batch_normalization_forward : public octet_detail::batch_normalization {
    using operation::operation;
};

namespace octet_detail {

/// The description of a layer normalization.
struct layer_normalization_desc {
    dnnl_layer_normalization_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    layer_normalization_desc(prop_kind prop, const memory::desc &data_desc, const memory::desc &stat_desc,
                             float epsilon, normalization_flags flags) {
        check(dnnl_layer_normalization_forward_desc_init(&data, convert_to_c(prop), &data_desc.data,
                                                         &stat_desc.data, epsilon,
                                                         static_cast<unsigned>(flags)));
    }
    layer_normalization_desc(prop_kind prop, const memory::desc &data_desc, float epsilon,
                             normalization_flags flags)
        : layer_normalization_desc(prop, data_desc, memory::desc(), epsilon, flags) {}
    ///@}
};

/// The operation of layer_normalization_desc.
using layer_normalization =
    operation<with_statistics<described<layer_normalization_desc, primitive::kind::layer_normalization>>>;

} // namespace octet_detail

/// Layer normalization: octet::layer_normalization_forward.
struct layer_normalization_forward : public octet_detail::layer_normalization {
    using operation::operation;
};

namespace octet_detail {

/// The description of a reduction.
struct reduction_desc {
    dnnl_reduction_desc_t data;  ///< the same for the C interface
    reduction_desc() : data() {} ///< nothing yet
    /// Arguments as in oneDNN.
    reduction_desc(algorithm alg, const memory::desc &src, const memory::desc &dst, float p, float eps) {
        check(dnnl_reduction_desc_init(&data, convert_to_c(alg), &src.data, &dst.data, p, eps));
    }
};

/// The operation of reduction_desc.
using reduction = operation<described<reduction_desc, primitive::kind::reduction>>;

} // namespace octet_detail

/// Reduction over the dimensions that are 1 in dst: octet::reduction.
struct reduction : public octet_detail::reduction {
    using operation::operation;
};

namespace octet_detail {

/// The description of a local response normalization.
struct lrn_desc {
    dnnl_lrn_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    lrn_desc(prop_kind prop, algorithm alg, const memory::desc &data_desc, memory::dim local_size,
             float alpha, float beta, float k = 1.f) {
        check(dnnl_lrn_forward_desc_init(&data, convert_to_c(prop), convert_to_c(alg), &data_desc.data,
                                         local_size, alpha, beta, k));
    }
};

/// The operation of lrn_desc.
using lrn = operation<described<lrn_desc, primitive::kind::lrn>>;

} // namespace octet_detail

/// Local response normalization: octet::lrn_forward.
struct lrn_forward : public octet_detail::lrn {
    using operation::operation;
};

namespace octet_detail {

/// The description of a channel shuffle.
struct shuffle_desc {
    dnnl_shuffle_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    shuffle_desc(prop_kind prop, const memory::desc &data_desc, int axis, int group_size) {
        check(dnnl_shuffle_forward_desc_init(&data, convert_to_c(prop), &data_desc.data, axis, group_size));
    }
};

/// The operation of shuffle_desc.
using shuffle = operation<described<shuffle_desc, primitive::kind::shuffle>>;

} // namespace octet_detail

/// Channel shuffle: octet::shuffle_forward.
struct shuffle_forward : public octet_detail::shuffle {
    using operation::operation;
};

} // namespace dnnl
