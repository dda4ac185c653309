#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, third part: what all operations have in common: primitives, their attributes, their descriptors.

#include "octet/compat/dnnl_memory.hpp"
#include "octet/primitive_attr.hpp"

namespace dnnl {

/// Something that runs.
struct primitive : public handle<dnnl_primitive_t> {
    /// Operations, by oneDNN's numbers.
    enum class kind {
        undef = dnnl_undefined_primitive,
#define OCTET_DNNL_KIND(name, number) name = number,
        OCTET_DNNL_PRIMITIVE_KINDS(OCTET_DNNL_KIND)
#undef OCTET_DNNL_KIND
    };

    using handle::handle;
    primitive() = default; ///< none
    /// Makes the primitive of a primitive descriptor. There are no cache blobs: such a call throws
    /// `unimplemented`.
    ///@{
    primitive(const_dnnl_primitive_desc_t pd) {
        dnnl_primitive_t result = nullptr;
        octet_detail::check(dnnl_primitive_create(&result, pd));
        reset(result);
    }
    primitive(const handle<dnnl_primitive_desc_t> &pd) : primitive(const_dnnl_primitive_desc_t(pd.get())) {}
    primitive(const_dnnl_primitive_desc_t pd, const std::vector<std::uint8_t> &cache_blob) {
        dnnl_primitive_t result = nullptr;
        octet_detail::check(
            dnnl_primitive_create_from_cache_blob(&result, pd, cache_blob.size(), cache_blob.data()));
        reset(result);
    }
    primitive(const handle<dnnl_primitive_desc_t> &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(const_dnnl_primitive_desc_t(pd.get()), cache_blob) {}
    std::vector<std::uint8_t> get_cache_blob() const {
        std::size_t size = 0;
        octet_detail::check(dnnl_primitive_get_cache_blob(get(), &size, nullptr));
        return {};
    }
    ///@}

    /// The descriptor that the primitive was made of.
    const_dnnl_primitive_desc_t get_primitive_desc() const {
        const_dnnl_primitive_desc_t result = nullptr;
        octet_detail::check(dnnl_primitive_get_primitive_desc(get(), &result));
        return result;
    }
    kind get_kind() const { ///< the operation
        dnnl_primitive_kind_t result;
        octet_detail::check(
            dnnl_primitive_desc_query(get_primitive_desc(), dnnl_query_primitive_kind, 0, &result));
        return static_cast<kind>(result);
    }
    /// Runs to completion; arguments are keyed by DNNL_ARG_*.
    void execute(const stream &s, const std::unordered_map<int, memory> &args) const {
        std::vector<dnnl_exec_arg_t> list;
        list.reserve(args.size());
        for (const auto &[arg, m] : args)
            list.push_back({arg, m.get(true)});
        octet_detail::check(
            dnnl_primitive_execute(get(), s.get(), static_cast<int>(list.size()), list.data()));
    }
};
inline dnnl_primitive_kind_t convert_to_c(primitive::kind k) {
    return static_cast<dnnl_primitive_kind_t>(k);
} ///< the number

/// A chain of operations on the destination. Copies share one chain.
struct post_ops : public handle<dnnl_post_ops_t> {
    using handle::handle;
    post_ops() { ///< an empty chain
        dnnl_post_ops_t result = nullptr;
        octet_detail::check(dnnl_post_ops_create(&result));
        reset(result);
    }

    int len() const { return dnnl_post_ops_len(get()); } ///< entries of the chain
    primitive::kind kind(int index) const {              ///< the kind of an entry
        octet_detail::check(index >= 0 && index < len() ? dnnl_success : dnnl_invalid_arguments);
        return static_cast<primitive::kind>(dnnl_post_ops_get_kind(get(), index));
    }

    /// Each appends an operation of that kind, or reads the parameters of entry `index`. The forms of eltwise
    /// without a scale are oneDNN 3.x's.
    ///@{
    void append_sum(float scale = 1.f, memory::data_type type = memory::data_type::undef) {
        append_sum(scale, 0, type);
    }
    void append_sum(float scale, std::int32_t zero_point, memory::data_type type = memory::data_type::undef) {
        octet_detail::check(
            dnnl_post_ops_append_sum_v3(get(), scale, zero_point, memory::convert_to_c(type)));
    }
    void get_params_sum(int index, float &scale) const {
        octet_detail::check(dnnl_post_ops_get_params_sum(get(), index, &scale));
    }
    void get_params_sum(int index, float &scale, memory::data_type &type) const {
        std::int32_t zero_point;
        get_params_sum(index, scale, zero_point, type);
    }
    void get_params_sum(int index, float &scale, std::int32_t &zero_point, memory::data_type &type) const {
        dnnl_data_type_t number;
        octet_detail::check(dnnl_post_ops_get_params_sum_v3(get(), index, &scale, &zero_point, &number));
        type = static_cast<memory::data_type>(number);
    }
    void append_eltwise(float scale, algorithm alg, float alpha, float beta) {
        octet_detail::check(dnnl_post_ops_append_eltwise(get(), scale, convert_to_c(alg), alpha, beta));
    }
    void append_eltwise(algorithm alg, float alpha, float beta) { append_eltwise(1.f, alg, alpha, beta); }
    void get_params_eltwise(int index, float &scale, algorithm &alg, float &alpha, float &beta) const {
        dnnl_alg_kind_t number;
        octet_detail::check(dnnl_post_ops_get_params_eltwise(get(), index, &scale, &number, &alpha, &beta));
        alg = static_cast<algorithm>(number);
    }
    void append_binary(algorithm alg, const memory::desc &src1) {
        octet_detail::check(dnnl_post_ops_append_binary(get(), convert_to_c(alg), &src1.data));
    }
    void get_params_binary(int index, algorithm &alg, memory::desc &src1) const {
        dnnl_alg_kind_t number;
        const dnnl_memory_desc_t *md = nullptr;
        octet_detail::check(dnnl_post_ops_get_params_binary(get(), index, &number, &md));
        alg = static_cast<algorithm>(number);
        src1 = memory::desc(*md);
    }
    void append_prelu(int mask) { octet_detail::check(dnnl_post_ops_append_prelu(get(), mask)); }
    void get_params_prelu(int index, int &mask) const {
        octet_detail::check(dnnl_post_ops_get_params_prelu(get(), index, &mask));
    }
    ///@}

    /// A fused depthwise convolution: kept, and `unimplemented` where a primitive descriptor is made with it.
    ///@{
    void append_dw(memory::data_type weights, memory::data_type bias, memory::data_type dst,
                   memory::dim kernel, memory::dim stride, memory::dim padding, int mask,
                   const std::vector<float> &scales) {
        octet_detail::check(dnnl_post_ops_append_dw(
            get(), memory::convert_to_c(weights), memory::convert_to_c(bias), memory::convert_to_c(dst),
            kernel, stride, padding, static_cast<memory::dim>(scales.size()), mask, scales.data()));
    }
    void append_dw_k3s1p1(memory::data_type weights, memory::data_type bias, memory::data_type dst, int mask,
                          const std::vector<float> &scales) {
        append_dw(weights, bias, dst, 3, 1, 1, mask, scales);
    }
    void append_dw_k3s2p1(memory::data_type weights, memory::data_type bias, memory::data_type dst, int mask,
                          const std::vector<float> &scales) {
        append_dw(weights, bias, dst, 3, 2, 1, mask, scales);
    }
    void get_params_dw(int index, memory::data_type &weights, memory::data_type &bias, memory::data_type &dst,
                       memory::dim &kernel, memory::dim &stride, memory::dim &padding, int &mask,
                       std::vector<float> &scales) const {
        dnnl_data_type_t types[3];
        dnnl_dim_t count = 0;
        const float *values = nullptr;
        octet_detail::check(dnnl_post_ops_get_params_dw(get(), index, &types[0], &types[1], &types[2],
                                                        &kernel, &stride, &padding, &count, &mask, &values));
        weights = static_cast<memory::data_type>(types[0]);
        bias = static_cast<memory::data_type>(types[1]);
        dst = static_cast<memory::data_type>(types[2]);
        scales.assign(values, values + count);
    }
    void get_params_dw_k3s1p1(int index, memory::data_type &weights, memory::data_type &bias,
                              memory::data_type &dst, int &mask, std::vector<float> &scales) const {
        memory::dim kernel, stride, padding;
        get_params_dw(index, weights, bias, dst, kernel, stride, padding, mask, scales);
    }
    void get_params_dw_k3s2p1(int index, memory::data_type &weights, memory::data_type &bias,
                              memory::data_type &dst, int &mask, std::vector<float> &scales) const {
        get_params_dw_k3s1p1(index, weights, bias, dst, mask, scales);
    }
    ///@}
};

/// How a primitive treats its numbers. Copies share one object.
struct primitive_attr : public handle<dnnl_primitive_attr_t> {
    using handle::handle;
    primitive_attr() { ///< all defaults
        dnnl_primitive_attr_t result = nullptr;
        octet_detail::check(dnnl_primitive_attr_create(&result));
        reset(result);
    }
    primitive_attr(dnnl_primitive_attr_t attr) : handle(attr) {} ///< takes it over

    /// Octet's own attributes, for what oneDNN has no word for: the rules of other frameworks. For instance
    /// `attr.octet().set_requantization(octet::requantization_rule::ort_f32)`.
    ::octet::primitive_attr &octet() const {
        return *static_cast<::octet::primitive_attr *>(octet_dnnl_primitive_attr(get()));
    }

    /// As their names say; masks select dimensions of the tensor that the values belong to. The last two are
    /// oneDNN 3.x's, for values that come at execution.
    ///@{
    fpmath_mode get_fpmath_mode() const {
        dnnl_fpmath_mode_t result;
        octet_detail::check(dnnl_primitive_attr_get_fpmath_mode(get(), &result));
        return static_cast<fpmath_mode>(result);
    }
    void set_fpmath_mode(fpmath_mode mode) {
        octet_detail::check(dnnl_primitive_attr_set_fpmath_mode(get(), convert_to_c(mode)));
    }
    scratchpad_mode get_scratchpad_mode() const {
        dnnl_scratchpad_mode_t result;
        octet_detail::check(dnnl_primitive_attr_get_scratchpad_mode(get(), &result));
        return static_cast<scratchpad_mode>(result);
    }
    void set_scratchpad_mode(scratchpad_mode mode) {
        octet_detail::check(dnnl_primitive_attr_set_scratchpad_mode(get(), convert_to_c(mode)));
    }
    void get_output_scales(int &mask, std::vector<float> &scales) const {
        dnnl_dim_t count = 0;
        const float *values = nullptr;
        octet_detail::check(dnnl_primitive_attr_get_output_scales(get(), &count, &mask, &values));
        scales.assign(values, values + count);
    }
    void set_output_scales(int mask, const std::vector<float> &scales) {
        octet_detail::check(dnnl_primitive_attr_set_output_scales(
            get(), static_cast<dnnl_dim_t>(scales.size()), mask, scales.data()));
    }
    void get_scales(int arg, int &mask, std::vector<float> &scales) const {
        dnnl_dim_t count = 0;
        const float *values = nullptr;
        octet_detail::check(dnnl_primitive_attr_get_scales(get(), arg, &count, &mask, &values));
        scales.assign(values, values + count);
    }
    void set_scales(int arg, int mask, const std::vector<float> &scales) {
        octet_detail::check(dnnl_primitive_attr_set_scales(get(), arg, static_cast<dnnl_dim_t>(scales.size()),
                                                           mask, scales.data()));
    }
    void get_zero_points(int arg, int &mask, std::vector<std::int32_t> &zero_points) const {
        dnnl_dim_t count = 0;
        const std::int32_t *values = nullptr;
        octet_detail::check(dnnl_primitive_attr_get_zero_points(get(), arg, &count, &mask, &values));
        zero_points.assign(values, values + count);
    }
    void set_zero_points(int arg, int mask, const std::vector<std::int32_t> &zero_points) {
        octet_detail::check(dnnl_primitive_attr_set_zero_points(
            get(), arg, static_cast<dnnl_dim_t>(zero_points.size()), mask, zero_points.data()));
    }
    const post_ops get_post_ops() const {
        const_dnnl_post_ops_t result = nullptr;
        octet_detail::check(dnnl_primitive_attr_get_post_ops(get(), &result));
        return post_ops(const_cast<dnnl_post_ops_t>(result), true);
    }
    void set_post_ops(const post_ops ops) {
        octet_detail::check(dnnl_primitive_attr_set_post_ops(get(), ops.get()));
    }
    void set_scales_mask(int arg, int mask) { octet().set_scales_mask(arg, mask); }
    void set_zero_points_mask(int arg, int mask) { octet().set_zero_points_mask(arg, mask); }
    ///@}

    /// Quantization of recurrent networks and of reorders that prepare their tensors.
    ///@{
    void set_rnn_data_qparams(float scale, float shift) {
        octet_detail::check(dnnl_primitive_attr_set_rnn_data_qparams(get(), scale, shift));
    }
    void get_rnn_data_qparams(float &scale, float &shift) {
        octet_detail::check(dnnl_primitive_attr_get_rnn_data_qparams(get(), &scale, &shift));
    }
    void set_rnn_weights_qparams(int mask, const std::vector<float> &scales) {
        octet_detail::check(dnnl_primitive_attr_set_rnn_weights_qparams(
            get(), static_cast<dnnl_dim_t>(scales.size()), mask, scales.data()));
    }
    void get_rnn_weights_qparams(int &mask, std::vector<float> &scales) {
        dnnl_dim_t count = 0;
        const float *values = nullptr;
        octet_detail::check(dnnl_primitive_attr_get_rnn_weights_qparams(get(), &count, &mask, &values));
        scales.assign(values, values + count);
    }
    void set_rnn_weights_projection_qparams(int mask, const std::vector<float> &scales) {
        octet_detail::check(dnnl_primitive_attr_set_rnn_weights_projection_qparams(
            get(), static_cast<dnnl_dim_t>(scales.size()), mask, scales.data()));
    }
    void get_rnn_weights_projection_qparams(int &mask, std::vector<float> &scales) {
        dnnl_dim_t count = 0;
        const float *values = nullptr;
        octet_detail::check(
            dnnl_primitive_attr_get_rnn_weights_projection_qparams(get(), &count, &mask, &values));
        scales.assign(values, values + count);
    }
    ///@}
};

/// A checked problem with the implementation chosen for it.
struct primitive_desc_base : public handle<dnnl_primitive_desc_t> {
    using handle::handle;
    primitive_desc_base() = default; ///< none

    engine get_engine() const { return engine::query(*this); } ///< as given
    const char *impl_info_str() const {                        ///< "octet:" and the implementation's name
        const char *result = nullptr;
        octet_detail::check(dnnl_primitive_desc_query(get(), dnnl_query_impl_info_str, 0, &result));
        return result;
    }
    memory::dim query_s64(query what) const { ///< 0 for what has no answer
        memory::dim result = 0;
        return dnnl_primitive_desc_query(get(), convert_to_c(what), 0, &result) == dnnl_success ? result : 0;
    }
    /// Tensors with the layouts that `any` became; the zero descriptor where the primitive has none.
    ///@{
    memory::desc query_md(query what, int index = 0) const {
        const dnnl_memory_desc_t *result = dnnl_primitive_desc_query_md(get(), convert_to_c(what), index);
        if (result == nullptr)
            throw error(dnnl_invalid_arguments, "memory descriptor query is invalid");
        return *result;
    }
    memory::desc src_desc(int index = 0) const { return query_md(query::src_md, index); }
    memory::desc dst_desc(int index = 0) const { return query_md(query::dst_md, index); }
    memory::desc weights_desc(int index = 0) const { return query_md(query::weights_md, index); }
    memory::desc diff_src_desc(int index = 0) const { return query_md(query::diff_src_md, index); }
    memory::desc diff_dst_desc(int index = 0) const { return query_md(query::diff_dst_md, index); }
    memory::desc diff_weights_desc(int index = 0) const { return query_md(query::diff_weights_md, index); }
    memory::desc workspace_desc() const { return query_md(query::workspace_md); }
    memory::desc scratchpad_desc() const { return query_md(query::scratchpad_md); }
    ///@}
    engine scratchpad_engine() const { return get_engine(); } ///< the CPU
    primitive_attr get_primitive_attr() const {               ///< a copy
        const_dnnl_primitive_attr_t kept = nullptr;
        octet_detail::check(dnnl_primitive_desc_get_attr(get(), &kept));
        dnnl_primitive_attr_t result = nullptr;
        octet_detail::check(dnnl_primitive_attr_clone(&result, kept));
        return primitive_attr(result);
    }
    primitive::kind get_kind() const { ///< the operation
        dnnl_primitive_kind_t result;
        octet_detail::check(dnnl_primitive_desc_query(get(), dnnl_query_primitive_kind, 0, &result));
        return static_cast<primitive::kind>(result);
    }
    std::vector<std::uint8_t> get_cache_blob_id() const { return {}; } ///< none, as in oneDNN on CPUs

protected:
    /// A copy of another's object, which must be of this kind.
    void take_clone(const_dnnl_primitive_desc_t pd, primitive::kind kind) {
        if (pd == nullptr)
            return;
        dnnl_primitive_desc_t clone = nullptr;
        octet_detail::check(dnnl_primitive_desc_clone(&clone, pd));
        reset(clone);
        if (get_kind() != kind)
            throw error(dnnl_invalid_arguments, "primitive descriptor of another operation");
    }
};

/// The primitive descriptor of an operation with a description.
struct primitive_desc : public primitive_desc_base {
    using primitive_desc_base::primitive_desc_base;
    primitive_desc() = default; ///< none
    /// From a description of the C interface; without `attr` all attributes have their defaults. With
    /// `allow_empty` it is none where it would throw.
    primitive_desc(const_dnnl_op_desc_t desc, const primitive_attr *attr, const engine &e,
                   const_dnnl_primitive_desc_t hint, bool allow_empty = false) {
        dnnl_primitive_desc_t result = nullptr;
        const dnnl_status_t status =
            dnnl_primitive_desc_create(&result, desc, attr != nullptr ? attr->get() : nullptr, e.get(), hint);
        if (!allow_empty)
            octet_detail::check(status);
        if (status == dnnl_success)
            reset(result);
    }
    bool next_impl() { return false; } ///< there is one implementation for a problem
};

} // namespace dnnl
