#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, fourth part: sums of products. Each operation is a description (`desc`), a primitive descriptor made of it with
// attributes, and the primitive; oneDNN 3.x's form, a primitive descriptor in one call, is there for each as well.

#include "octet/compat/dnnl_attributes.hpp"

namespace dnnl {

namespace octet_detail {

/// The primitive descriptor of an operation with a description.
template <typename Desc, primitive::kind operation> struct described : public primitive_desc {
    described() = default; ///< none
    /// From a description, with default attributes. With `allow_empty` it is none where it would throw.
    described(const Desc &d, const engine &e, bool allow_empty = false)
        : primitive_desc(&d.data, nullptr, e, nullptr, allow_empty) {}
    /// The same with attributes.
    described(const Desc &d, const primitive_attr &attr, const engine &e, bool allow_empty = false)
        : primitive_desc(&d.data, &attr, e, nullptr, allow_empty) {}
    /// Takes over one of the C interface, which must be of this operation.
    explicit described(dnnl_primitive_desc_t pd) {
        if (pd == nullptr)
            return;
        reset(pd);
        if (get_kind() != operation)
            throw error(dnnl_invalid_arguments, "primitive descriptor of another operation");
    }
};

/// One value per spatial dimension, checked before the C interface reads them.
inline const dnnl_dim_t *spatial(const memory::dims &v, const memory::desc &tensor, const char *name) {
    if (static_cast<int>(v.size()) != std::max(tensor.data.ndims - 2, 0))
        throw error(dnnl_invalid_arguments, std::string(name) + ": " + std::to_string(v.size()) +
                                                " values, allowed: one per spatial dimension, " +
                                                std::to_string(std::max(tensor.data.ndims - 2, 0)));
    return v.data();
}

} // namespace octet_detail

namespace octet_detail {

/// What a convolution or a deconvolution computes: `init` is its function of the C interface, with dilates.
template <decltype(&dnnl_dilated_convolution_forward_desc_init) init> struct convolution_desc {
    dnnl_convolution_desc_t data; ///< that of the C interface
    /// Arguments as in oneDNN.
    ///@{
    convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &weights,
                     const memory::desc &bias, const memory::desc &dst, const memory::dims &strides,
                     const memory::dims &padding_l, const memory::dims &padding_r) {
        set(prop, alg, src, weights, &bias.data, dst, strides, nullptr, padding_l, padding_r);
    }
    convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &weights,
                     const memory::desc &dst, const memory::dims &strides, const memory::dims &padding_l,
                     const memory::dims &padding_r) {
        set(prop, alg, src, weights, nullptr, dst, strides, nullptr, padding_l, padding_r);
    }
    convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &weights,
                     const memory::desc &bias, const memory::desc &dst, const memory::dims &strides,
                     const memory::dims &dilates, const memory::dims &padding_l,
                     const memory::dims &padding_r) {
        set(prop, alg, src, weights, &bias.data, dst, strides, spatial(dilates, src, "dilates"), padding_l,
            padding_r);
    }
    convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &weights,
                     const memory::desc &dst, const memory::dims &strides, const memory::dims &dilates,
                     const memory::dims &padding_l, const memory::dims &padding_r) {
        set(prop, alg, src, weights, nullptr, dst, strides, spatial(dilates, src, "dilates"), padding_l,
            padding_r);
    }
    ///@}

private:
    void set(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &weights,
             const dnnl_memory_desc_t *bias, const memory::desc &dst, const memory::dims &strides,
             const dnnl_dim_t *dilates, const memory::dims &padding_l, const memory::dims &padding_r) {
        check(init(&data, convert_to_c(prop), convert_to_c(alg), &src.data, &weights.data, bias, &dst.data,
                   spatial(strides, src, "strides"), dilates, spatial(padding_l, src, "padding_l"),
                   spatial(padding_r, src, "padding_r")));
    }
};

/// Its primitive descriptor.
template <typename Desc, primitive::kind operation>
struct convolution_pd : public described<Desc, operation> {
    using base = described<Desc, operation>; ///< from a description
    using base::base;
    convolution_pd() = default; ///< none
    /// oneDNN 3.x, with bias, without dilates.
    convolution_pd(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                   const memory::desc &weights, const memory::desc &bias, const memory::desc &dst,
                   const memory::dims &strides, const memory::dims &padding_l, const memory::dims &padding_r,
                   const primitive_attr &attr = {}, bool allow_empty = false)
        : base(Desc(prop, alg, src, weights, bias, dst, strides, padding_l, padding_r), attr, e,
               allow_empty) {}
    /// oneDNN 3.x, without bias, without dilates.
    convolution_pd(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                   const memory::desc &weights, const memory::desc &dst, const memory::dims &strides,
                   const memory::dims &padding_l, const memory::dims &padding_r,
                   const primitive_attr &attr = {}, bool allow_empty = false)
        : base(Desc(prop, alg, src, weights, dst, strides, padding_l, padding_r), attr, e, allow_empty) {}
    /// oneDNN 3.x, with bias, with dilates.
    convolution_pd(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                   const memory::desc &weights, const memory::desc &bias, const memory::desc &dst,
                   const memory::dims &strides, const memory::dims &dilates, const memory::dims &padding_l,
                   const memory::dims &padding_r, const primitive_attr &attr = {}, bool allow_empty = false)
        : base(Desc(prop, alg, src, weights, bias, dst, strides, dilates, padding_l, padding_r), attr, e,
               allow_empty) {}
    /// oneDNN 3.x, without bias, with dilates.
    convolution_pd(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                   const memory::desc &weights, const memory::desc &dst, const memory::dims &strides,
                   const memory::dims &dilates, const memory::dims &padding_l, const memory::dims &padding_r,
                   const primitive_attr &attr = {}, bool allow_empty = false)
        : base(Desc(prop, alg, src, weights, dst, strides, dilates, padding_l, padding_r), attr, e,
               allow_empty) {}
    memory::desc bias_desc() const { return this->weights_desc(1); } ///< the zero descriptor without a bias
};

} // namespace octet_detail

/// Convolution: octet::convolution_forward.
struct convolution_forward : public primitive {
    using desc = octet_detail::convolution_desc<
        dnnl_dilated_convolution_forward_desc_init>; ///< what is to be computed
    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::convolution_pd<desc, kind::convolution> {
        using convolution_pd::convolution_pd;
        primitive_desc() = default; ///< none
    };

    convolution_forward() = default; ///< none
    /// Ready to run.
    ///@{
    convolution_forward(const primitive_desc &pd) : primitive(pd) {}
    convolution_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Deconvolution: octet::deconvolution_forward.
struct deconvolution_forward : public primitive {
    using desc = octet_detail::convolution_desc<
        dnnl_dilated_deconvolution_forward_desc_init>; ///< what is to be computed
    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::convolution_pd<desc, kind::deconvolution> {
        using convolution_pd::convolution_pd;
        primitive_desc() = default; ///< none
    };

    deconvolution_forward() = default; ///< none
    /// Ready to run.
    ///@{
    deconvolution_forward(const primitive_desc &pd) : primitive(pd) {}
    deconvolution_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Inner product: octet::inner_product_forward.
struct inner_product_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_inner_product_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(prop_kind prop, const memory::desc &src, const memory::desc &weights, const memory::desc &bias,
             const memory::desc &dst) {
            octet_detail::check(dnnl_inner_product_forward_desc_init(&data, convert_to_c(prop), &src.data,
                                                                     &weights.data, &bias.data, &dst.data));
        }
        desc(prop_kind prop, const memory::desc &src, const memory::desc &weights, const memory::desc &dst) {
            octet_detail::check(dnnl_inner_product_forward_desc_init(&data, convert_to_c(prop), &src.data,
                                                                     &weights.data, nullptr, &dst.data));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::inner_product> {
        using described::described;
        primitive_desc() = default; ///< none
        /// oneDNN 3.x.
        ///@{
        primitive_desc(const engine &e, prop_kind prop, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &bias, const memory::desc &dst, const primitive_attr &attr = {},
                       bool allow_empty = false)
            : described(desc(prop, src, weights, bias, dst), attr, e, allow_empty) {}
        primitive_desc(const engine &e, prop_kind prop, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false)
            : described(desc(prop, src, weights, dst), attr, e, allow_empty) {}
        ///@}
        memory::desc bias_desc() const { return weights_desc(1); } ///< the zero descriptor without a bias
    };

    inner_product_forward() = default; ///< none
    /// Ready to run.
    ///@{
    inner_product_forward(const primitive_desc &pd) : primitive(pd) {}
    inner_product_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Matrix product: octet::matmul.
struct matmul : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_matmul_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(const memory::desc &src, const memory::desc &weights, const memory::desc &bias,
             const memory::desc &dst) {
            octet_detail::check(
                dnnl_matmul_desc_init(&data, &src.data, &weights.data, &bias.data, &dst.data));
        }
        desc(const memory::desc &src, const memory::desc &weights, const memory::desc &dst) {
            octet_detail::check(dnnl_matmul_desc_init(&data, &src.data, &weights.data, nullptr, &dst.data));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::matmul> {
        using described::described;
        primitive_desc() = default; ///< none
        /// oneDNN 3.x.
        ///@{
        primitive_desc(const engine &e, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &bias, const memory::desc &dst, const primitive_attr &attr = {},
                       bool allow_empty = false)
            : described(desc(src, weights, bias, dst), attr, e, allow_empty) {}
        primitive_desc(const engine &e, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false)
            : described(desc(src, weights, dst), attr, e, allow_empty) {}
        ///@}
        memory::desc bias_desc() const { return weights_desc(1); } ///< the zero descriptor without a bias
    };

    matmul() = default; ///< none
    /// Ready to run.
    ///@{
    matmul(const primitive_desc &pd) : primitive(pd) {}
    matmul(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

} // namespace dnnl
