#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, sixth part: normalizations and reductions.

#include "octet/compat/dnnl_operations.hpp"

namespace dnnl {

namespace octet_detail {

/// The primitive descriptor of a normalization.
template <typename Desc, primitive::kind operation>
struct normalization_pd : public described<Desc, operation> {
    using base = described<Desc, operation>; ///< from a description
    using base::base;
    normalization_pd() = default; ///< none
    memory::desc mean_desc() const {
        return this->query_md(query::exec_arg_md, DNNL_ARG_MEAN);
    } ///< {} if none
    /// The zero descriptor if it is no argument.
    memory::desc variance_desc() const { return this->query_md(query::exec_arg_md, DNNL_ARG_VARIANCE); }
};

} // namespace octet_detail

/// Batch normalization with given statistics: octet::batch_normalization_forward.
struct batch_normalization_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_batch_normalization_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        desc(prop_kind prop, const memory::desc &data_desc, float epsilon, normalization_flags flags) {
            octet_detail::check(dnnl_batch_normalization_forward_desc_init(
                &data, convert_to_c(prop), &data_desc.data, epsilon, static_cast<unsigned>(flags)));
        }
    };
    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::normalization_pd<desc, kind::batch_normalization> {
        using normalization_pd::normalization_pd;
        primitive_desc() = default; ///< none
    };

    batch_normalization_forward() = default; ///< none
    /// Ready to run.
    ///@{
    batch_normalization_forward(const primitive_desc &pd) : primitive(pd) {}
    batch_normalization_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Layer normalization: octet::layer_normalization_forward.
struct layer_normalization_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_layer_normalization_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(prop_kind prop, const memory::desc &data_desc, const memory::desc &stat_desc, float epsilon,
             normalization_flags flags) {
            octet_detail::check(dnnl_layer_normalization_forward_desc_init(
                &data, convert_to_c(prop), &data_desc.data, &stat_desc.data, epsilon,
                static_cast<unsigned>(flags)));
        }
        desc(prop_kind prop, const memory::desc &data_desc, float epsilon, normalization_flags flags)
            : desc(prop, data_desc, memory::desc(), epsilon, flags) {}
        ///@}
    };
    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::normalization_pd<desc, kind::layer_normalization> {
        using normalization_pd::normalization_pd;
        primitive_desc() = default; ///< none
    };

    layer_normalization_forward() = default; ///< none
    /// Ready to run.
    ///@{
    layer_normalization_forward(const primitive_desc &pd) : primitive(pd) {}
    layer_normalization_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Reduction over the dimensions that are 1 in dst: octet::reduction.
struct reduction : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_reduction_desc_t data; ///< that of the C interface
        desc() : data() {}          ///< nothing yet
        /// Arguments as in oneDNN.
        desc(algorithm alg, const memory::desc &src, const memory::desc &dst, float p, float eps) {
            octet_detail::check(
                dnnl_reduction_desc_init(&data, convert_to_c(alg), &src.data, &dst.data, p, eps));
        }
    };
    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::reduction> {
        using described::described;
        primitive_desc() = default; ///< none
    };

    reduction() = default; ///< none
    /// Ready to run.
    ///@{
    reduction(const primitive_desc &pd) : primitive(pd) {}
    reduction(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

} // namespace dnnl
