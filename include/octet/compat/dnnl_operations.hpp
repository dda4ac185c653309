#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, fifth part: the operations that move, join and map elements.

#include "octet/compat/dnnl_products.hpp"

namespace dnnl {

/// Pooling: octet::pooling_forward.
struct pooling_forward : public primitive {
    /// The description of a pooling without dilation.
    struct desc {
        dnnl_pooling_desc_t data; ///< the same for the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
             const memory::dims &strides, const memory::dims &kernel, const memory::dims &padding_l,
             const memory::dims &padding_r) {
            octet_detail::check(dnnl_pooling_forward_desc_init(
                &data, convert_to_c(prop), convert_to_c(alg), &src.data, &dst.data,
                octet_detail::spatial(strides, src, "strides"), octet_detail::spatial(kernel, src, "kernel"),
                octet_detail::spatial(padding_l, src, "padding_l"),
                octet_detail::spatial(padding_r, src, "padding_r")));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::pooling> {
        using described::described;
        primitive_desc() = default; ///< none
        /// oneDNN 3.x, which has a dilation; it must be 0 here, pooling_v2_forward takes others.
        primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                       const memory::desc &dst, const memory::dims &strides, const memory::dims &kernel,
                       const memory::dims &dilation, const memory::dims &padding_l,
                       const memory::dims &padding_r, const primitive_attr &attr = {},
                       bool allow_empty = false)
            : described(desc(prop, alg, src, dst, strides, kernel, padding_l, padding_r), attr, e,
                        allow_empty) {
            if (!allow_empty &&
                std::any_of(dilation.begin(), dilation.end(), [](memory::dim d) { return d != 0; }))
                throw error(dnnl_unimplemented,
                            "pooling_forward: dilation is not 0, pooling_v2_forward takes it");
        }
    };

    pooling_forward() = default; ///< none
    /// Ready to run.
    ///@{
    pooling_forward(const primitive_desc &pd) : primitive(pd) {}
    pooling_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

namespace octet_detail {

/// The description of a pooling, with dilation.
struct pooling_v2_desc {
    dnnl_pooling_v2_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    pooling_v2_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
                    const memory::dims &strides, const memory::dims &kernel, const memory::dims &dilation,
                    const memory::dims &padding_l, const memory::dims &padding_r) {
        check(dnnl_pooling_v2_forward_desc_init(
            &data, convert_to_c(prop), convert_to_c(alg), &src.data, &dst.data,
            spatial(strides, src, "strides"), spatial(kernel, src, "kernel"),
            spatial(dilation, src, "dilation"), spatial(padding_l, src, "padding_l"),
            spatial(padding_r, src, "padding_r")));
    }
    ///@}
};

/// The operation of pooling_v2_desc.
using pooling_v2 =
    operation<in_one_call<pooling_v2_desc, primitive::kind::pooling_v2,
                          void(prop_kind, algorithm, tensor, tensor, sizes, sizes, sizes, sizes, sizes)>>;

} // namespace octet_detail

/// Pooling with a dilation: octet::pooling_forward.
struct pooling_v2_forward : public octet_detail::pooling_v2 {
    using operation::operation;
};

namespace octet_detail {

/// The description of a function of each element.
struct eltwise_desc {
    dnnl_eltwise_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    eltwise_desc(prop_kind prop, algorithm alg, const memory::desc &data_desc, float alpha = 0.f,
                 float beta = 0.f) {
        check(dnnl_eltwise_forward_desc_init(&data, convert_to_c(prop), convert_to_c(alg), &data_desc.data,
                                             alpha, beta));
    }
    ///@}
};

/// The operation of eltwise_desc.
using eltwise = operation<described<eltwise_desc, primitive::kind::eltwise>>;

} // namespace octet_detail

/// Function of each element: octet::eltwise_forward.
struct eltwise_forward : public octet_detail::eltwise {
    using operation::operation;
};

namespace octet_detail {

/// The description of a softmax.
struct softmax_desc {
    dnnl_softmax_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    softmax_desc(prop_kind prop, const memory::desc &data_desc, int axis) {
        check(dnnl_softmax_forward_desc_init(&data, convert_to_c(prop), &data_desc.data, axis));
    }
    ///@}
};

/// The operation of softmax_desc.
using softmax = operation<described<softmax_desc, primitive::kind::softmax>>;

} // namespace octet_detail

/// Softmax: octet::softmax_forward.
struct softmax_forward : public octet_detail::softmax {
    using operation::operation;
};

namespace octet_detail {

/// The description of a logarithm of softmax.
struct logsoftmax_desc {
    dnnl_logsoftmax_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    logsoftmax_desc(prop_kind prop, const memory::desc &data_desc, int axis) {
        check(dnnl_logsoftmax_forward_desc_init(&data, convert_to_c(prop), &data_desc.data, axis));
    }
    ///@}
};

/// The operation of logsoftmax_desc.
using logsoftmax = operation<described<logsoftmax_desc, primitive::kind::softmax>>;

} // namespace octet_detail

/// The logarithm of softmax: octet::softmax_forward; the kind is softmax, as in oneDNN.
struct logsoftmax_forward : public octet_detail::logsoftmax {
    using operation::operation;
};

namespace octet_detail {

/// The description of a softmax of either algorithm, with a destination of its own.
struct softmax_v2_desc {
    dnnl_softmax_v2_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    softmax_v2_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
                    int axis) {
        check(dnnl_softmax_v2_forward_desc_init(&data, convert_to_c(prop), convert_to_c(alg), &src.data,
                                                &dst.data, axis));
    }
    ///@}
};

/// The operation of softmax_v2_desc.
using softmax_v2 = operation<in_one_call<softmax_v2_desc, primitive::kind::softmax_v2,
                                         void(prop_kind, algorithm, tensor, tensor, int)>>;

} // namespace octet_detail

/// Both, with types of their own for source and destination.
struct softmax_v2_forward : public octet_detail::softmax_v2 {
    using operation::operation;
};

namespace octet_detail {

/// The description of a PReLU.
struct prelu_desc {
    dnnl_prelu_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    prelu_desc(prop_kind prop, const memory::desc &data_desc, const memory::desc &weights) {
        check(dnnl_prelu_forward_desc_init(&data, convert_to_c(prop), &data_desc.data, &weights.data));
    }
    ///@}
};

/// The operation of prelu_desc.
using prelu = operation<described<prelu_desc, primitive::kind::prelu>>;

} // namespace octet_detail

/// Parametric ReLU: octet::prelu_forward.
struct prelu_forward : public octet_detail::prelu {
    using operation::operation;
};

namespace octet_detail {

/// Both have names of their own.
template <typename Base> struct with_two_sources : public Base {
    using Base::Base;
    with_two_sources() = default;                                ///< none
    memory::desc src0_desc() const { return this->src_desc(0); } ///< the first
    memory::desc src1_desc() const { return this->src_desc(1); } ///< the second
};

/// The description of an operation on two tensors.
struct binary_desc {
    dnnl_binary_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    binary_desc(algorithm alg, const memory::desc &src0, const memory::desc &src1, const memory::desc &dst) {
        check(dnnl_binary_desc_init(&data, convert_to_c(alg), &src0.data, &src1.data, &dst.data));
    }
    ///@}
};

/// The operation of binary_desc.
using binary = operation<with_two_sources<
    in_one_call<binary_desc, primitive::kind::binary, void(algorithm, tensor, tensor, tensor)>>>;

} // namespace octet_detail

/// Element-wise operation of two tensors: octet::binary.
struct binary : public octet_detail::binary {
    using operation::operation;
};

namespace octet_detail {

/// The description of a resizing.
struct resampling_desc {
    dnnl_resampling_desc_t data; ///< the same for the C interface
    /// Arguments as in oneDNN.
    ///@{
    resampling_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst) {
        check(dnnl_resampling_forward_desc_init(&data, convert_to_c(prop), convert_to_c(alg), nullptr,
                                                &src.data, &dst.data));
    }
    resampling_desc(prop_kind prop, algorithm alg, const std::vector<float> &factors,
                    const memory::desc &src) {
        check(dnnl_resampling_forward_desc_init(&data, convert_to_c(prop), convert_to_c(alg), factors.data(),
                                                &src.data, nullptr));
    }
    resampling_desc(prop_kind prop, algorithm alg, const std::vector<float> &factors, const memory::desc &src,
                    const memory::desc &dst) {
        check(dnnl_resampling_forward_desc_init(&data, convert_to_c(prop), convert_to_c(alg), factors.data(),
                                                &src.data, &dst.data));
    }
    ///@}
};

/// The operation of resampling_desc.
using resampling = operation<
    in_one_call<resampling_desc, primitive::kind::resampling, void(prop_kind, algorithm, tensor, tensor)>>;

} // namespace octet_detail

/// Resizing: octet::resampling_forward.
struct resampling_forward : public octet_detail::resampling {
    using operation::operation;
};

/// Joins tensors along one dimension: octet::concat.
struct concat : public primitive {
    /// The checked operation and its implementation.
    struct primitive_desc : public primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        primitive_desc() = default; ///< none
        /// Without a destination, it has the first source's type and layout. An engine in front: oneDNN 3.x.
        ///@{
        primitive_desc(const memory::desc &dst, int dimension, const std::vector<memory::desc> &srcs,
                       const engine &e, const primitive_attr &attr = primitive_attr(),
                       bool allow_empty = false) {
            make(&dst.data, dimension, srcs, e, attr, allow_empty);
        }
        primitive_desc(int dimension, const std::vector<memory::desc> &srcs, const engine &e,
                       const primitive_attr &attr = primitive_attr(), bool allow_empty = false) {
            make(nullptr, dimension, srcs, e, attr, allow_empty);
        }
        primitive_desc(const engine &e, const memory::desc &dst, int dimension,
                       const std::vector<memory::desc> &srcs, const primitive_attr &attr = primitive_attr(),
                       bool allow_empty = false) {
            make(&dst.data, dimension, srcs, e, attr, allow_empty);
        }
        primitive_desc(const engine &e, int dimension, const std::vector<memory::desc> &srcs,
                       const primitive_attr &attr = primitive_attr(), bool allow_empty = false) {
            make(nullptr, dimension, srcs, e, attr, allow_empty);
        }
        ///@}
    private:
        void make(const dnnl_memory_desc_t *dst, int dimension, const std::vector<memory::desc> &srcs,
                  const engine &e, const primitive_attr &attr, bool allow_empty) {
            const std::vector<dnnl_memory_desc_t> descs = convert_to_c(srcs);
            dnnl_primitive_desc_t result = nullptr;
            const dnnl_status_t status = dnnl_concat_primitive_desc_create(
                &result, dst, static_cast<int>(descs.size()), dimension, descs.data(), attr.get(), e.get());
            if (!allow_empty)
                octet_detail::check(status);
            if (status == dnnl_success)
                reset(result);
        }
    };

    concat() = default; ///< none
    /// Ready to run.
    ///@{
    concat(const primitive_desc &pd) : primitive(pd) {}
    concat(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Sum of tensors, each with a scale: octet::sum.
struct sum : public primitive {
    /// The checked operation and its implementation.
    struct primitive_desc : public primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        primitive_desc() = default; ///< none
        /// Without a destination, it has the first source's type and layout. An engine in front: oneDNN 3.x.
        ///@{
        primitive_desc(const memory::desc &dst, const std::vector<float> &scales,
                       const std::vector<memory::desc> &srcs, const engine &e,
                       const primitive_attr &attr = primitive_attr(), bool allow_empty = false) {
            make(&dst.data, scales, srcs, e, attr, allow_empty);
        }
        primitive_desc(const std::vector<float> &scales, const std::vector<memory::desc> &srcs,
                       const engine &e, const primitive_attr &attr = primitive_attr(),
                       bool allow_empty = false) {
            make(nullptr, scales, srcs, e, attr, allow_empty);
        }
        primitive_desc(const engine &e, const memory::desc &dst, const std::vector<float> &scales,
                       const std::vector<memory::desc> &srcs, const primitive_attr &attr = primitive_attr(),
                       bool allow_empty = false) {
            make(&dst.data, scales, srcs, e, attr, allow_empty);
        }
        primitive_desc(const engine &e, const std::vector<float> &scales,
                       const std::vector<memory::desc> &srcs, const primitive_attr &attr = primitive_attr(),
                       bool allow_empty = false) {
            make(nullptr, scales, srcs, e, attr, allow_empty);
        }
        ///@}
    private:
        void make(const dnnl_memory_desc_t *dst, const std::vector<float> &scales,
                  const std::vector<memory::desc> &srcs, const engine &e, const primitive_attr &attr,
                  bool allow_empty) {
            if (scales.size() != srcs.size())
                throw error(dnnl_invalid_arguments, "sum: " + std::to_string(scales.size()) + " scales of " +
                                                        std::to_string(srcs.size()) + " sources");
            const std::vector<dnnl_memory_desc_t> descs = convert_to_c(srcs);
            dnnl_primitive_desc_t result = nullptr;
            const dnnl_status_t status =
                dnnl_sum_primitive_desc_create(&result, dst, static_cast<int>(descs.size()), scales.data(),
                                               descs.data(), attr.get(), e.get());
            if (!allow_empty)
                octet_detail::check(status);
            if (status == dnnl_success)
                reset(result);
        }
    };

    sum() = default; ///< none
    /// Ready to run.
    ///@{
    sum(const primitive_desc &pd) : primitive(pd) {}
    sum(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob) : primitive(pd, cache_blob) {}
    ///@}
};

/// Copies a tensor into another layout and type: octet::reorder; blocked layouts too, where dimensions are
/// whole blocks.
struct reorder : public primitive {
    /// The checked operation and its implementation.
    struct primitive_desc : public primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        primitive_desc() = default; ///< none
        /// From two tensors, or from memory that has their descriptors.
        ///@{
        primitive_desc(const engine &src_engine, const memory::desc &src, const engine &dst_engine,
                       const memory::desc &dst, const primitive_attr &attr = primitive_attr(),
                       bool allow_empty = false) {
            dnnl_primitive_desc_t result = nullptr;
            const dnnl_status_t status = dnnl_reorder_primitive_desc_create(
                &result, &src.data, src_engine.get(), &dst.data, dst_engine.get(), attr.get());
            if (!allow_empty)
                octet_detail::check(status);
            if (status == dnnl_success)
                reset(result);
        }
        primitive_desc(const memory &src, const memory &dst, const primitive_attr &attr = primitive_attr(),
                       bool allow_empty = false)
            : primitive_desc(src.get_engine(), src.get_desc(), dst.get_engine(), dst.get_desc(), attr,
                             allow_empty) {}
        ///@}
        /// The CPU, both.
        ///@{
        engine get_src_engine() const { return get_engine(); }
        engine get_dst_engine() const { return get_engine(); }
        ///@}
    };

    reorder() = default; ///< none
    /// Ready to run.
    ///@{
    reorder(const primitive_desc &pd) : primitive(pd) {}
    reorder(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    reorder(const memory &src, const memory &dst, const primitive_attr &attr = primitive_attr())
        : primitive(primitive_desc(src, dst, attr)) {}
    ///@}

    using primitive::execute;
    /// Without run-time attributes: the two tensors are all the arguments.
    void execute(const stream &s, const memory &src, const memory &dst) const {
        primitive::execute(s, {{DNNL_ARG_FROM, src}, {DNNL_ARG_TO, dst}});
    }
};

} // namespace dnnl
