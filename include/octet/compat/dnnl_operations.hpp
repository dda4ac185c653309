#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, fifth part: the operations that move, join and map elements.

#include "octet/compat/dnnl_products.hpp"

namespace dnnl {

/// Pooling: octet::pooling_forward.
struct pooling_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_pooling_desc_t data; ///< that of the C interface
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

/// Pooling with a dilation: octet::pooling_forward.
struct pooling_v2_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_pooling_v2_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
             const memory::dims &strides, const memory::dims &kernel, const memory::dims &dilation,
             const memory::dims &padding_l, const memory::dims &padding_r) {
            octet_detail::check(dnnl_pooling_v2_forward_desc_init(
                &data, convert_to_c(prop), convert_to_c(alg), &src.data, &dst.data,
                octet_detail::spatial(strides, src, "strides"), octet_detail::spatial(kernel, src, "kernel"),
                octet_detail::spatial(dilation, src, "dilation"),
                octet_detail::spatial(padding_l, src, "padding_l"),
                octet_detail::spatial(padding_r, src, "padding_r")));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::pooling_v2> {
        using described::described;
        primitive_desc() = default; ///< none
        /// oneDNN 3.x.
        ///@{
        primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                       const memory::desc &dst, const memory::dims &strides, const memory::dims &kernel,
                       const memory::dims &dilation, const memory::dims &padding_l,
                       const memory::dims &padding_r, const primitive_attr &attr = {},
                       bool allow_empty = false)
            : described(desc(prop, alg, src, dst, strides, kernel, dilation, padding_l, padding_r), attr, e,
                        allow_empty) {}
        ///@}
    };

    pooling_v2_forward() = default; ///< none
    /// Ready to run.
    ///@{
    pooling_v2_forward(const primitive_desc &pd) : primitive(pd) {}
    pooling_v2_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Function of each element: octet::eltwise_forward.
struct eltwise_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_eltwise_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(prop_kind prop, algorithm alg, const memory::desc &data_desc, float alpha = 0.f,
             float beta = 0.f) {
            octet_detail::check(dnnl_eltwise_forward_desc_init(&data, convert_to_c(prop), convert_to_c(alg),
                                                               &data_desc.data, alpha, beta));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::eltwise> {
        using described::described;
        primitive_desc() = default; ///< none
    };

    eltwise_forward() = default; ///< none
    /// Ready to run.
    ///@{
    eltwise_forward(const primitive_desc &pd) : primitive(pd) {}
    eltwise_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Softmax: octet::softmax_forward.
struct softmax_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_softmax_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(prop_kind prop, const memory::desc &data_desc, int axis) {
            octet_detail::check(
                dnnl_softmax_forward_desc_init(&data, convert_to_c(prop), &data_desc.data, axis));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::softmax> {
        using described::described;
        primitive_desc() = default; ///< none
    };

    softmax_forward() = default; ///< none
    /// Ready to run.
    ///@{
    softmax_forward(const primitive_desc &pd) : primitive(pd) {}
    softmax_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Its logarithm; the kind is softmax, as in oneDNN.
struct logsoftmax_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_logsoftmax_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(prop_kind prop, const memory::desc &data_desc, int axis) {
            octet_detail::check(
                dnnl_logsoftmax_forward_desc_init(&data, convert_to_c(prop), &data_desc.data, axis));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::softmax> {
        using described::described;
        primitive_desc() = default; ///< none
    };

    logsoftmax_forward() = default; ///< none
    /// Ready to run.
    ///@{
    logsoftmax_forward(const primitive_desc &pd) : primitive(pd) {}
    logsoftmax_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Both, with types of their own for source and destination.
struct softmax_v2_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_softmax_v2_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst, int axis) {
            octet_detail::check(dnnl_softmax_v2_forward_desc_init(
                &data, convert_to_c(prop), convert_to_c(alg), &src.data, &dst.data, axis));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::softmax_v2> {
        using described::described;
        primitive_desc() = default; ///< none
        /// oneDNN 3.x.
        ///@{
        primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                       const memory::desc &dst, int axis, const primitive_attr &attr = {},
                       bool allow_empty = false)
            : described(desc(prop, alg, src, dst, axis), attr, e, allow_empty) {}
        ///@}
    };

    softmax_v2_forward() = default; ///< none
    /// Ready to run.
    ///@{
    softmax_v2_forward(const primitive_desc &pd) : primitive(pd) {}
    softmax_v2_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Parametric ReLU: octet::prelu_forward.
struct prelu_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_prelu_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(prop_kind prop, const memory::desc &data_desc, const memory::desc &weights) {
            octet_detail::check(
                dnnl_prelu_forward_desc_init(&data, convert_to_c(prop), &data_desc.data, &weights.data));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::prelu> {
        using described::described;
        primitive_desc() = default; ///< none
    };

    prelu_forward() = default; ///< none
    /// Ready to run.
    ///@{
    prelu_forward(const primitive_desc &pd) : primitive(pd) {}
    prelu_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Element-wise operation of two tensors: octet::binary.
struct binary : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_binary_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(algorithm alg, const memory::desc &src0, const memory::desc &src1, const memory::desc &dst) {
            octet_detail::check(
                dnnl_binary_desc_init(&data, convert_to_c(alg), &src0.data, &src1.data, &dst.data));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::binary> {
        using described::described;
        primitive_desc() = default; ///< none
        /// oneDNN 3.x.
        ///@{
        primitive_desc(const engine &e, algorithm alg, const memory::desc &src0, const memory::desc &src1,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false)
            : described(desc(alg, src0, src1, dst), attr, e, allow_empty) {}
        ///@}
        /// The sources.
        ///@{
        memory::desc src0_desc() const { return src_desc(0); }
        memory::desc src1_desc() const { return src_desc(1); }
        ///@}
    };

    binary() = default; ///< none
    /// Ready to run.
    ///@{
    binary(const primitive_desc &pd) : primitive(pd) {}
    binary(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
};

/// Resizing: octet::resampling_forward.
struct resampling_forward : public primitive {
    /// What is to be computed.
    struct desc {
        dnnl_resampling_desc_t data; ///< that of the C interface
        /// Arguments as in oneDNN.
        ///@{
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst) {
            octet_detail::check(dnnl_resampling_forward_desc_init(
                &data, convert_to_c(prop), convert_to_c(alg), nullptr, &src.data, &dst.data));
        }
        desc(prop_kind prop, algorithm alg, const std::vector<float> &factors, const memory::desc &src) {
            octet_detail::check(dnnl_resampling_forward_desc_init(
                &data, convert_to_c(prop), convert_to_c(alg), factors.data(), &src.data, nullptr));
        }
        desc(prop_kind prop, algorithm alg, const std::vector<float> &factors, const memory::desc &src,
             const memory::desc &dst) {
            octet_detail::check(dnnl_resampling_forward_desc_init(
                &data, convert_to_c(prop), convert_to_c(alg), factors.data(), &src.data, &dst.data));
        }
        ///@}
    };

    /// The checked operation and its implementation.
    struct primitive_desc : public octet_detail::described<desc, kind::resampling> {
        using described::described;
        primitive_desc() = default; ///< none
        /// oneDNN 3.x.
        ///@{
        primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false)
            : described(desc(prop, alg, src, dst), attr, e, allow_empty) {}
        ///@}
    };

    resampling_forward() = default; ///< none
    /// Ready to run.
    ///@{
    resampling_forward(const primitive_desc &pd) : primitive(pd) {}
    resampling_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    ///@}
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

/// Copies a tensor into another layout and type: octet::reorder; blocked layouts too, where dimensions are whole blocks.
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
