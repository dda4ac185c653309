#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, fourth part: sums of products. Each operation is a description (`desc`), a primitive descriptor
// made of it with attributes, and the primitive; oneDNN 3.x's form, a primitive descriptor in one call, is
// there for each as well.

#include "octet/compat/dnnl_attributes.hpp"

namespace dnnl {

namespace octet_detail {

/// Argument types of the constructors of oneDNN 3.x's form.
///@{
using tensor = const memory::desc &;
using sizes = const memory::dims &;
///@}

/// The primitive descriptor of an operation with a description.
template <typename Desc, primitive::kind operation> struct described : public primitive_desc {
    using desc = Desc;     ///< the description
    described() = default; ///< none
    /// From a description, with default attributes. With `allow_empty` it is none where it would throw.
    described(const Desc &d, const engine &e, bool allow_empty = false)
        : primitive_desc(&d.data, nullptr, e, nullptr, allow_empty) {}
    /// From a description with attributes.
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

/// A primitive descriptor with oneDNN 3.x's constructors, too: each of `Forms`, a type void(arguments of a
/// description), adds one that takes an engine, these arguments, attributes and allow_empty.
template <typename Desc, primitive::kind operation, typename... Forms>
struct in_one_call : public described<Desc, operation> {
    using base = described<Desc, operation>; ///< from a description
    using base::base;
    in_one_call() = default; ///< none
};
/// Adds one constructor to those of `Others`.
template <typename Desc, primitive::kind operation, typename... Args, typename... Others>
struct in_one_call<Desc, operation, void(Args...), Others...>
    : public in_one_call<Desc, operation, Others...> {
    using base = in_one_call<Desc, operation, Others...>; ///< the other forms
    using base::base;
    in_one_call() = default; ///< none
    in_one_call(const engine &e, Args... args, const primitive_attr &attr = {}, bool allow_empty = false)
        : base(Desc(args...), attr, e, allow_empty) {} ///< described and checked
};

/// Adds the query of the bias, which products have.
template <typename Base> struct with_bias : public Base {
    using Base::Base;
    with_bias() = default;                                           ///< none
    memory::desc bias_desc() const { return this->weights_desc(1); } ///< the zero descriptor without a bias
};

/// A primitive, ready to run, of a primitive descriptor of its own.
template <typename Pd> struct operation : public primitive {
    using desc = typename Pd::desc;            ///< the description
    using primitive_desc = Pd;                 ///< the checked operation and its implementation
    operation() = default;                     ///< none
    operation(const Pd &pd) : primitive(pd) {} ///< its kernel comes from the cache, or is made
    operation(const Pd &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {} ///< refused: there are no cache blobs
};

/// One value per spatial dimension, checked before the C interface reads them.
inline const dnnl_dim_t *spatial(const memory::dims &v, tensor md, const char *name) {
    if (static_cast<int>(v.size()) != std::max(md.data.ndims - 2, 0))
        throw error(dnnl_invalid_arguments, std::string(name) + ": " + std::to_string(v.size()) +
                                                " values, allowed: one per spatial dimension, " +
                                                std::to_string(std::max(md.data.ndims - 2, 0)));
    return v.data();
}

} // namespace octet_detail

namespace octet_detail {

/// The description of a convolution or a deconvolution. `init` is the function of the C interface that fills
/// it, with dilates.
template <decltype(&dnnl_dilated_convolution_forward_desc_init) init> struct convolution_desc {
    dnnl_convolution_desc_t data; ///< the same for the C interface
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

/// The primitive of such a description, with bias or without, with dilates or without.
template <decltype(&dnnl_dilated_convolution_forward_desc_init) init, primitive::kind kind>
using convolution = operation<with_bias<
    in_one_call<convolution_desc<init>, kind,
                void(prop_kind, algorithm, tensor, tensor, tensor, tensor, sizes, sizes, sizes),
                void(prop_kind, algorithm, tensor, tensor, tensor, sizes, sizes, sizes),
                void(prop_kind, algorithm, tensor, tensor, tensor, tensor, sizes, sizes, sizes, sizes),
                void(prop_kind, algorithm, tensor, tensor, tensor, sizes, sizes, sizes, sizes)>>>;

} // namespace octet_detail

/// Convolution: octet::convolution_forward.
struct convolution_forward : public octet_detail::convolution<dnnl_dilated_convolution_forward_desc_init,
                                                              primitive::kind::convolution> {
    using operation::operation;
};

/// Deconvolution: octet::deconvolution_forward.
struct deconvolution_forward : public octet_detail::convolution<dnnl_dilated_deconvolution_forward_desc_init,
                                                                primitive::kind::deconvolution> {
    using operation::operation;
};

namespace octet_detail {

/// The description of an inner product.
struct inner_product_desc {
    dnnl_inner_product_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    inner_product_desc(prop_kind prop, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &bias, const memory::desc &dst) {
        check(dnnl_inner_product_forward_desc_init(&data, convert_to_c(prop), &src.data, &weights.data,
                                                   &bias.data, &dst.data));
    }
    inner_product_desc(prop_kind prop, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &dst) {
        check(dnnl_inner_product_forward_desc_init(&data, convert_to_c(prop), &src.data, &weights.data,
                                                   nullptr, &dst.data));
    }
    ///@}
};

/// The operation of inner_product_desc.
using inner_product = operation<with_bias<
    in_one_call<inner_product_desc, primitive::kind::inner_product,
                void(prop_kind, tensor, tensor, tensor, tensor), void(prop_kind, tensor, tensor, tensor)>>>;

} // namespace octet_detail

/// Inner product: octet::inner_product_forward.
struct inner_product_forward : public octet_detail::inner_product {
    using operation::operation;
};

namespace octet_detail {

/// The description of a matrix product.
struct matmul_desc {
    dnnl_matmul_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    matmul_desc(const memory::desc &src, const memory::desc &weights, const memory::desc &bias,
                const memory::desc &dst) {
        check(dnnl_matmul_desc_init(&data, &src.data, &weights.data, &bias.data, &dst.data));
    }
    matmul_desc(const memory::desc &src, const memory::desc &weights, const memory::desc &dst) {
        check(dnnl_matmul_desc_init(&data, &src.data, &weights.data, nullptr, &dst.data));
    }
    ///@}
};

/// The operation of matmul_desc.
using matmul =
    operation<with_bias<in_one_call<matmul_desc, primitive::kind::matmul,
                                    void(tensor, tensor, tensor, tensor), void(tensor, tensor, tensor)>>>;

} // namespace octet_detail

/// Matrix product: octet::matmul.
struct matmul : public octet_detail::matmul {
    using operation::operation;
};

} // namespace dnnl
