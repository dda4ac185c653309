// Attributes and post-ops of the C interface. Setters check as Octet's do; what getters point to is kept in the handle.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "onednn/library/handles.hpp"

using namespace octet::onednn;
using octet::status;

namespace {

template <typename T> std::vector<T> copied(const T *values, dnnl_dim_t count, const char *name) {
    if (count < 0)
        refuse(status::invalid_arguments, std::string(name) + ": " + std::to_string(count) + " values");
    return std::vector<T>(needed(values, name), values + count);
}

/// Fills what a getter returns from `kept`, where the values stay.
template <typename T> void give(const std::vector<T> &kept, dnnl_dim_t *count, const T **values) {
    *needed(count, "count") = static_cast<dnnl_dim_t>(kept.size());
    *needed(values, "values") = kept.data();
}

/// Keys of scales that belong to no argument among an attribute's kept scales.
///@{
constexpr int output_scales = DNNL_ARG_ATTR_OUTPUT_SCALES;
constexpr int rnn_weights = -1, rnn_projection = -2;
///@}

/// The scales that were set under the key, or the default.
const std::vector<float> &kept_scales(const_dnnl_primitive_attr_t attr, int key) {
    static const std::vector<float> one{1.f};
    const auto kept = attr->scales.find(key);
    return kept == attr->scales.end() ? one : kept->second;
}

void check_index(const_dnnl_post_ops_t ops, int index) {
    if (index < 0 || index >= needed(ops, "post_ops")->value.len())
        refuse(status::invalid_arguments,
               "post_ops: index " + std::to_string(index) + " of " + std::to_string(ops->value.len()));
}

} // namespace

dnnl_status_t dnnl_post_ops_create(dnnl_post_ops_t *ops) {
    return guarded([&] { create(ops, "post_ops", [&] { return dnnl_post_ops{}; }); });
}
dnnl_status_t dnnl_post_ops_destroy(dnnl_post_ops_t ops) {
    delete ops;
    return dnnl_success;
}
int dnnl_post_ops_len(const_dnnl_post_ops_t ops) { return ops == nullptr ? -1 : ops->value.len(); }

dnnl_primitive_kind_t dnnl_post_ops_get_kind(const_dnnl_post_ops_t ops, int index) {
    if (ops == nullptr || index < 0 || index >= ops->value.len())
        return dnnl_undefined_primitive;
    return kind_of(ops->value.kind(index));
}

dnnl_status_t dnnl_post_ops_append_sum(dnnl_post_ops_t ops, float scale) {
    return dnnl_post_ops_append_sum_v3(ops, scale, 0, dnnl_data_type_undef);
}
dnnl_status_t dnnl_post_ops_append_sum_v2(dnnl_post_ops_t ops, float scale, dnnl_data_type_t type) {
    return dnnl_post_ops_append_sum_v3(ops, scale, 0, type);
}
dnnl_status_t dnnl_post_ops_append_sum_v3(dnnl_post_ops_t ops, float scale, int32_t zero_point,
                                          dnnl_data_type_t type) {
    return guarded([&] { needed(ops, "post_ops")->value.append_sum(scale, zero_point, type_of(type)); });
}
dnnl_status_t dnnl_post_ops_get_params_sum(const_dnnl_post_ops_t ops, int index, float *scale) {
    return dnnl_post_ops_get_params_sum_v3(ops, index, scale, nullptr, nullptr);
}
dnnl_status_t dnnl_post_ops_get_params_sum_v2(const_dnnl_post_ops_t ops, int index, float *scale,
                                              dnnl_data_type_t *type) {
    return dnnl_post_ops_get_params_sum_v3(ops, index, scale, nullptr, type);
}
dnnl_status_t dnnl_post_ops_get_params_sum_v3(const_dnnl_post_ops_t ops, int index, float *scale,
                                              int32_t *zero_point, dnnl_data_type_t *type) {
    return guarded([&] {
        check_index(ops, index);
        std::int32_t zero = 0;
        octet::data_type of = octet::data_type::undef;
        ops->value.get_params_sum(index, *needed(scale, "scale"), zero, of);
        if (zero_point != nullptr)
            *zero_point = zero;
        if (type != nullptr)
            *type = type_of(of);
    });
}

dnnl_status_t dnnl_post_ops_append_eltwise(dnnl_post_ops_t ops, float scale, dnnl_alg_kind_t alg, float alpha,
                                           float beta) {
    return guarded(
        [&] { needed(ops, "post_ops")->value.append_eltwise(scale, algorithm_of(alg), alpha, beta); });
}
dnnl_status_t dnnl_post_ops_get_params_eltwise(const_dnnl_post_ops_t ops, int index, float *scale,
                                               dnnl_alg_kind_t *alg, float *alpha, float *beta) {
    return guarded([&] {
        check_index(ops, index);
        octet::algorithm of;
        ops->value.get_params_eltwise(index, *needed(scale, "scale"), of, *needed(alpha, "alpha"),
                                      *needed(beta, "beta"));
        *needed(alg, "alg") = algorithm_of(of);
    });
}

dnnl_status_t dnnl_post_ops_append_binary(dnnl_post_ops_t ops, dnnl_alg_kind_t alg,
                                          const dnnl_memory_desc_t *src1) {
    return guarded([&] {
        needed(ops, "post_ops")
            ->value.append_binary(algorithm_of(alg), desc_of(src1, "post_ops: binary src1"));
        ops->binary_descs[ops->value.len() - 1] = *src1;
    });
}
dnnl_status_t dnnl_post_ops_get_params_binary(const_dnnl_post_ops_t ops, int index, dnnl_alg_kind_t *alg,
                                              const dnnl_memory_desc_t **src1) {
    return guarded([&] {
        check_index(ops, index);
        octet::algorithm of;
        octet::memory::desc desc;
        ops->value.get_params_binary(index, of, desc);
        *needed(alg, "alg") = algorithm_of(of);
        *needed(src1, "src1") = &ops->binary_descs.at(index);
    });
}

dnnl_status_t dnnl_post_ops_append_prelu(dnnl_post_ops_t ops, int mask) {
    return guarded([&] { needed(ops, "post_ops")->value.append_prelu(mask); });
}
dnnl_status_t dnnl_post_ops_get_params_prelu(const_dnnl_post_ops_t ops, int index, int *mask) {
    return guarded([&] {
        check_index(ops, index);
        ops->value.get_params_prelu(index, *needed(mask, "mask"));
    });
}

dnnl_status_t dnnl_post_ops_append_dw(dnnl_post_ops_t ops, dnnl_data_type_t weights, dnnl_data_type_t bias,
                                      dnnl_data_type_t dst, dnnl_dim_t kernel, dnnl_dim_t stride,
                                      dnnl_dim_t padding, dnnl_dim_t count, int mask, const float *scales) {
    return guarded([&] {
        const std::vector<float> values = count == 0 ? std::vector<float>() : copied(scales, count, "scales");
        needed(ops, "post_ops")
            ->value.append_dw(type_of(weights), type_of(bias), type_of(dst), kernel, stride, padding, mask,
                              values);
        ops->scales[ops->value.len() - 1] = values;
    });
}
dnnl_status_t dnnl_post_ops_get_params_dw(const_dnnl_post_ops_t ops, int index, dnnl_data_type_t *weights,
                                          dnnl_data_type_t *bias, dnnl_data_type_t *dst, dnnl_dim_t *kernel,
                                          dnnl_dim_t *stride, dnnl_dim_t *padding, dnnl_dim_t *count,
                                          int *mask, const float **scales) {
    return guarded([&] {
        check_index(ops, index);
        octet::data_type types[3];
        octet::dim_t sizes[3];
        int mask_of = 0;
        std::vector<float> values;
        ops->value.get_params_dw(index, types[0], types[1], types[2], sizes[0], sizes[1], sizes[2], mask_of,
                                 values);
        const auto set = [](auto *to, auto value) {
            if (to != nullptr)
                *to = value;
        };
        set(weights, type_of(types[0]));
        set(bias, type_of(types[1]));
        set(dst, type_of(types[2]));
        set(kernel, sizes[0]);
        set(stride, sizes[1]);
        set(padding, sizes[2]);
        const std::vector<float> &kept = ops->scales.at(index);
        set(count, static_cast<dnnl_dim_t>(kept.size()));
        set(mask, mask_of);
        set(scales, kept.data());
    });
}

dnnl_status_t dnnl_primitive_attr_create(dnnl_primitive_attr_t *attr) {
    return guarded([&] { create(attr, "attr", [&] { return dnnl_primitive_attr{}; }); });
}
dnnl_status_t dnnl_primitive_attr_clone(dnnl_primitive_attr_t *attr, const_dnnl_primitive_attr_t from) {
    return guarded([&] { create(attr, "attr", [&] { return dnnl_primitive_attr(*needed(from, "attr")); }); });
}
dnnl_status_t dnnl_primitive_attr_destroy(dnnl_primitive_attr_t attr) {
    delete attr;
    return dnnl_success;
}

void *octet_dnnl_primitive_attr(dnnl_primitive_attr_t attr) {
    return attr == nullptr ? nullptr : &attr->value;
}

dnnl_status_t dnnl_primitive_attr_get_fpmath_mode(const_dnnl_primitive_attr_t attr,
                                                  dnnl_fpmath_mode_t *mode) {
    return guarded([&] { *needed(mode, "mode") = needed(attr, "attr")->fpmath_mode; });
}
dnnl_status_t dnnl_primitive_attr_set_fpmath_mode(dnnl_primitive_attr_t attr, dnnl_fpmath_mode_t mode) {
    return guarded([&] { needed(attr, "attr")->fpmath_mode = mode; });
}
dnnl_status_t dnnl_primitive_attr_get_scratchpad_mode(const_dnnl_primitive_attr_t attr,
                                                      dnnl_scratchpad_mode_t *mode) {
    return guarded([&] {
        *needed(mode, "mode") =
            static_cast<dnnl_scratchpad_mode_t>(needed(attr, "attr")->value.get_scratchpad_mode());
    });
}
dnnl_status_t dnnl_primitive_attr_set_scratchpad_mode(dnnl_primitive_attr_t attr,
                                                      dnnl_scratchpad_mode_t mode) {
    return guarded([&] {
        if (mode != dnnl_scratchpad_mode_library && mode != dnnl_scratchpad_mode_user)
            refuse(status::invalid_arguments,
                   "scratchpad mode " + std::to_string(mode) + ", allowed: library, user");
        needed(attr, "attr")->value.set_scratchpad_mode(static_cast<octet::scratchpad_mode>(mode));
    });
}

dnnl_status_t dnnl_primitive_attr_get_output_scales(const_dnnl_primitive_attr_t attr, dnnl_dim_t *count,
                                                    int *mask, const float **scales) {
    return guarded([&] {
        std::vector<float> unused;
        needed(attr, "attr")->value.get_output_scales(*needed(mask, "mask"), unused);
        give(kept_scales(attr, output_scales), count, scales);
    });
}
dnnl_status_t dnnl_primitive_attr_set_output_scales(dnnl_primitive_attr_t attr, dnnl_dim_t count, int mask,
                                                    const float *scales) {
    return guarded([&] {
        const std::vector<float> values = copied(scales, count, "scales");
        needed(attr, "attr")->value.set_output_scales(mask, values);
        attr->scales[output_scales] = values;
    });
}
dnnl_status_t dnnl_primitive_attr_get_scales(const_dnnl_primitive_attr_t attr, int arg, dnnl_dim_t *count,
                                             int *mask, const float **scales) {
    return guarded([&] {
        std::vector<float> unused;
        needed(attr, "attr")->value.get_scales(arg, *needed(mask, "mask"), unused);
        give(kept_scales(attr, arg), count, scales);
    });
}
dnnl_status_t dnnl_primitive_attr_set_scales(dnnl_primitive_attr_t attr, int arg, dnnl_dim_t count, int mask,
                                             const float *scales) {
    return guarded([&] {
        const std::vector<float> values = copied(scales, count, "scales");
        needed(attr, "attr")->value.set_scales(arg, mask, values);
        attr->scales[arg] = values;
    });
}
dnnl_status_t dnnl_primitive_attr_get_zero_points(const_dnnl_primitive_attr_t attr, int arg,
                                                  dnnl_dim_t *count, int *mask, const int32_t **zero_points) {
    return guarded([&] {
        static const std::vector<std::int32_t> zero{0};
        std::vector<std::int32_t> unused;
        const auto kept = needed(attr, "attr")->zero_points.find(arg);
        attr->value.get_zero_points(arg, *needed(mask, "mask"), unused);
        give(kept == attr->zero_points.end() ? zero : kept->second, count, zero_points);
    });
}
dnnl_status_t dnnl_primitive_attr_set_zero_points(dnnl_primitive_attr_t attr, int arg, dnnl_dim_t count,
                                                  int mask, const int32_t *zero_points) {
    return guarded([&] {
        const std::vector<std::int32_t> values = copied(zero_points, count, "zero_points");
        needed(attr, "attr")->value.set_zero_points(arg, mask, values);
        attr->zero_points[arg] = values;
    });
}

dnnl_status_t dnnl_primitive_attr_set_rnn_data_qparams(dnnl_primitive_attr_t attr, float scale, float shift) {
    return guarded([&] { needed(attr, "attr")->value.set_rnn_data_qparams(scale, shift); });
}
dnnl_status_t dnnl_primitive_attr_get_rnn_data_qparams(const_dnnl_primitive_attr_t attr, float *scale,
                                                       float *shift) {
    return guarded([&] {
        needed(attr, "attr")->value.get_rnn_data_qparams(*needed(scale, "scale"), *needed(shift, "shift"));
    });
}
dnnl_status_t dnnl_primitive_attr_set_rnn_weights_qparams(dnnl_primitive_attr_t attr, dnnl_dim_t count,
                                                          int mask, const float *scales) {
    return guarded([&] {
        const std::vector<float> values = copied(scales, count, "scales");
        needed(attr, "attr")->value.set_rnn_weights_qparams(mask, values);
        attr->scales[rnn_weights] = values;
    });
}
dnnl_status_t dnnl_primitive_attr_get_rnn_weights_qparams(const_dnnl_primitive_attr_t attr, dnnl_dim_t *count,
                                                          int *mask, const float **scales) {
    return guarded([&] {
        std::vector<float> unused;
        needed(attr, "attr")->value.get_rnn_weights_qparams(*needed(mask, "mask"), unused);
        give(kept_scales(attr, rnn_weights), count, scales);
    });
}
dnnl_status_t dnnl_primitive_attr_set_rnn_weights_projection_qparams(dnnl_primitive_attr_t attr,
                                                                     dnnl_dim_t count, int mask,
                                                                     const float *scales) {
    return guarded([&] {
        const std::vector<float> values = copied(scales, count, "scales");
        needed(attr, "attr")->value.set_rnn_weights_projection_qparams(mask, values);
        attr->scales[rnn_projection] = values;
    });
}
dnnl_status_t dnnl_primitive_attr_get_rnn_weights_projection_qparams(const_dnnl_primitive_attr_t attr,
                                                                     dnnl_dim_t *count, int *mask,
                                                                     const float **scales) {
    return guarded([&] {
        std::vector<float> unused;
        needed(attr, "attr")->value.get_rnn_weights_projection_qparams(*needed(mask, "mask"), unused);
        give(kept_scales(attr, rnn_projection), count, scales);
    });
}

dnnl_status_t dnnl_primitive_attr_get_post_ops(const_dnnl_primitive_attr_t attr, const_dnnl_post_ops_t *ops) {
    return guarded([&] { *needed(ops, "post_ops") = &needed(attr, "attr")->post_ops; });
}
dnnl_status_t dnnl_primitive_attr_set_post_ops(dnnl_primitive_attr_t attr, const_dnnl_post_ops_t ops) {
    return guarded([&] {
        needed(attr, "attr")->post_ops = *needed(ops, "post_ops");
        attr->value.set_post_ops(ops->value);
    });
}
