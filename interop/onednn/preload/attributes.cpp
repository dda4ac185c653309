// Getters of the real library as values, their translation to Octet's attributes, and the key by which a
// decision is remembered.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/preload/attributes.hpp"

#include <algorithm>
#include <vector>

#include "onednn/convert.hpp"
#include "onednn/packed_descriptor.hpp"
#include "onednn/preload/descriptors.hpp"
#include "onednn/preload/real_library.hpp"

namespace octet::onednn {
namespace {

/// A list of values with its mask, as oneDNN's getters give it; it stays the attribute's.
template <typename T> struct listed {
    dnnl_dim_t count = 0;
    int mask = 0;
    const T *values = nullptr;

    /// oneDNN has no unset attributes, but defaults.
    bool is_default(T value) const { return count == 0 || (count == 1 && mask == 0 && *values == value); }
    std::vector<T> vector() const { return {values, values + count}; }
};

// With arguments that exist these getters cannot fail; an argument that doesn't leaves the list empty.
listed<float> output_scales(const_dnnl_primitive_attr_t attr) {
    listed<float> l;
    real().dnnl_primitive_attr_get_output_scales(attr, &l.count, &l.mask, &l.values);
    return l;
}
listed<float> scales(const_dnnl_primitive_attr_t attr, int arg) {
    listed<float> l;
    real().dnnl_primitive_attr_get_scales(attr, arg, &l.count, &l.mask, &l.values);
    return l;
}
listed<std::int32_t> zero_points(const_dnnl_primitive_attr_t attr, int arg) {
    listed<std::int32_t> l;
    real().dnnl_primitive_attr_get_zero_points(attr, arg, &l.count, &l.mask, &l.values);
    return l;
}

listed<float> rnn_weights(const_dnnl_primitive_attr_t attr) {
    listed<float> l;
    real().dnnl_primitive_attr_get_rnn_weights_qparams(attr, &l.count, &l.mask, &l.values);
    return l;
}
listed<float> rnn_projection(const_dnnl_primitive_attr_t attr) {
    listed<float> l;
    real().dnnl_primitive_attr_get_rnn_weights_projection_qparams(attr, &l.count, &l.mask, &l.values);
    return l;
}
struct rnn_data {
    float scale = 1.f, shift = 0.f;
    bool is_default() const { return scale == 1.f && shift == 0.f; }
};
rnn_data rnn_data_of(const_dnnl_primitive_attr_t attr) {
    rnn_data data;
    real().dnnl_primitive_attr_get_rnn_data_qparams(attr, &data.scale, &data.shift);
    return data;
}

constexpr int zero_point_args[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
constexpr int scale_args[] = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1};

/// A post-op with what its kind has; the rest keeps its defaults.
struct given_post_op {
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    float scale = 1.f, alpha = 0.f, beta = 0.f;
    std::int32_t zero_point = 0;
    int mask = 0;
    dnnl_data_type_t type = dnnl_data_type_undef;
    dnnl_alg_kind_t alg = dnnl_alg_kind_undef;
    const dnnl_memory_desc_t *src1 = nullptr;
    /// Of a depthwise convolution.
    ///@{
    dnnl_data_type_t weights = dnnl_data_type_undef, bias = dnnl_data_type_undef;
    dnnl_dim_t kernel = 0, stride = 0, padding = 0;
    std::vector<float> scales;
    ///@}
};

void read_depthwise(const real_library &r, const_dnnl_post_ops_t ops, int index, given_post_op &op) {
    dnnl_dim_t count = 0;
    const float *scales = nullptr;
    r.dnnl_post_ops_get_params_dw(ops, index, &op.weights, &op.bias, &op.type, &op.kernel, &op.stride,
                                  &op.padding, &count, &op.mask, &scales);
    op.scales.assign(scales, scales + count);
}

std::vector<given_post_op> given_post_ops(const_dnnl_primitive_attr_t attr) {
    const real_library &r = real();
    const_dnnl_post_ops_t ops = nullptr;
    r.dnnl_primitive_attr_get_post_ops(attr, &ops);
    std::vector<given_post_op> all(static_cast<std::size_t>(r.dnnl_post_ops_len(ops)));
    for (int i = 0; i < static_cast<int>(all.size()); i++) {
        given_post_op &op = all[static_cast<std::size_t>(i)];
        op.kind = r.dnnl_post_ops_get_kind(ops, i);
        if (op.kind == dnnl_sum)
            r.dnnl_post_ops_get_params_sum_v3(ops, i, &op.scale, &op.zero_point, &op.type);
        else if (op.kind == dnnl_eltwise)
            r.dnnl_post_ops_get_params_eltwise(ops, i, &op.scale, &op.alg, &op.alpha, &op.beta);
        else if (op.kind == dnnl_binary)
            r.dnnl_post_ops_get_params_binary(ops, i, &op.alg, &op.src1);
        else if (op.kind == dnnl_prelu)
            r.dnnl_post_ops_get_params_prelu(ops, i, &op.mask);
        else if (op.kind == dnnl_convolution)
            read_depthwise(r, ops, i, op);
    }
    return all;
}

octet::post_ops to_octet(const std::vector<given_post_op> &ops) {
    octet::post_ops result;
    for (const given_post_op &op : ops) {
        switch (op.kind) {
        case dnnl_sum:
            result.append_sum(op.scale, op.zero_point, onednn::to_octet(op.type));
            break;
        case dnnl_eltwise:
            result.append_eltwise(op.scale, algorithm_of(op.alg), op.alpha, op.beta);
            break;
        case dnnl_binary:
            if (op.src1->format_kind == dnnl_format_kind_any)
                throw refusal("a binary post-op whose tensor has layout any");
            result.append_binary(algorithm_of(op.alg), onednn::to_octet(*op.src1));
            break;
        case dnnl_prelu:
            result.append_prelu(op.mask);
            break;
        default:
            result.append_dw(onednn::to_octet(op.weights), onednn::to_octet(op.bias),
                             onednn::to_octet(op.type), op.kernel, op.stride, op.padding, op.mask, op.scales);
            break;
        }
    }
    return result;
}

/// Bytes of values without holes.
class key_writer {
public:
    explicit key_writer(std::string &key) : key_(key) {}
    template <typename T> key_writer &add(const T &value) {
        static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>);
        key_.append(reinterpret_cast<const char *>(&value), sizeof value);
        return *this;
    }
    template <typename T> key_writer &add(const T *values, dnnl_dim_t count) {
        key_.append(reinterpret_cast<const char *>(values), sizeof(T) * static_cast<std::size_t>(count));
        return *this;
    }
    template <typename T> key_writer &add(const listed<T> &l) {
        return add(l.count).add(l.mask).add(l.values, l.count);
    }

private:
    std::string &key_;
};

} // namespace

octet::primitive_attr to_octet(dnnl_primitive_kind_t kind, const_dnnl_primitive_attr_t attr) {
    octet::primitive_attr result;
    if (!attr)
        return result;
    if (has_test_functions(attr))
        throw refusal("functions of gates that oneDNN's own tests replace");
    if (const listed<float> l = output_scales(attr); !l.is_default(1.f))
        result.set_output_scales(l.mask, l.vector());
    for (const int arg : scale_args)
        if (const listed<float> l = scales(attr, arg); !l.is_default(1.f)) {
            if (kind != dnnl_binary)
                throw refusal("scales of a source");
            result.set_scales(arg, l.mask, l.vector());
        }
    for (const int arg : zero_point_args)
        if (const listed<std::int32_t> l = zero_points(attr, arg); !l.is_default(0))
            result.set_zero_points(arg, l.mask, l.vector());
    if (const rnn_data data = rnn_data_of(attr); !data.is_default())
        result.set_rnn_data_qparams(data.scale, data.shift);
    if (const listed<float> l = rnn_weights(attr); !l.is_default(1.f))
        result.set_rnn_weights_qparams(l.mask, l.vector());
    if (const listed<float> l = rnn_projection(attr); !l.is_default(1.f))
        result.set_rnn_weights_projection_qparams(l.mask, l.vector());
    result.set_post_ops(to_octet(given_post_ops(attr)));
    return result;
}

bool has_packed_tensor(const request &r) {
    for (const named_tensor &tensor : tensors_of(r))
        if (is_packed(*tensor.md))
            return true;
    if (!r.attr)
        return false;
    const std::vector<given_post_op> ops = given_post_ops(r.attr);
    return std::any_of(ops.begin(), ops.end(),
                       [](const given_post_op &op) { return op.src1 && is_packed(*op.src1); });
}

void append_key(std::string &key, const dnnl_memory_desc_t &md) {
    key_writer out(key);
    out.add(md.ndims)
        .add(md.dims, md.ndims)
        .add(md.data_type)
        .add(md.format_kind)
        .add(md.offset0)
        .add(md.extra.flags);
    if (md.format_kind == dnnl_blocked) {
        const dnnl_blocking_desc_t &blocks = md.format_desc.blocking;
        out.add(md.padded_dims, md.ndims).add(md.padded_offsets, md.ndims).add(blocks.strides, md.ndims);
        out.add(blocks.inner_nblks);
        out.add(blocks.inner_blks, blocks.inner_nblks).add(blocks.inner_idxs, blocks.inner_nblks);
    }
    // A packed layout; what clients keep in their part of it comes back with the descriptors, so it counts too.
    out.add(md.extra.reserved, sizeof md.extra.reserved);
}

void append_key(std::string &key, const_dnnl_primitive_attr_t attr) {
    key_writer out(key);
    if (!attr)
        return;
    dnnl_scratchpad_mode_t mode = dnnl_scratchpad_mode_library;
    real().dnnl_primitive_attr_get_scratchpad_mode(attr, &mode);
    out.add(mode).add(has_test_functions(attr)).add(output_scales(attr));
    for (const int arg : scale_args)
        out.add(scales(attr, arg));
    for (const int arg : zero_point_args)
        out.add(zero_points(attr, arg));
    const rnn_data data = rnn_data_of(attr);
    out.add(data.scale).add(data.shift).add(rnn_weights(attr)).add(rnn_projection(attr));
    for (const given_post_op &op : given_post_ops(attr)) {
        out.add(op.kind).add(op.scale).add(op.zero_point).add(op.type).add(op.alg);
        out.add(op.alpha).add(op.beta).add(op.mask);
        out.add(op.weights).add(op.bias).add(op.kernel).add(op.stride).add(op.padding);
        for (const float scale : op.scales)
            out.add(scale);
        if (op.src1)
            append_key(key, *op.src1);
    }
}

} // namespace octet::onednn
