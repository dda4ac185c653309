// Every function of octet/compat/dnnl.h that returns a status, with each of its pointers null while the
// others are good: a refusal, unless the interface lets the pointer be left out. Start at the list at the
// end.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "octet/compat/dnnl.h"
#include "octet/compat/dnnl_debug.h"

namespace {

/// One valid object of every type that functions take.
struct objects {
    dnnl_engine_t engine = nullptr;
    dnnl_stream_t stream = nullptr;
    dnnl_memory_desc_t md{};
    dnnl_memory_t memory = nullptr;
    dnnl_primitive_attr_t attr = nullptr;
    dnnl_post_ops_t ops = nullptr;
    dnnl_eltwise_desc_t relu{};
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_primitive_t primitive = nullptr;
    dnnl_primitive_desc_iterator_t iterator = nullptr;
    dnnl_dims_t dims = {1, 1};
    alignas(64) char bytes[1 << 14] = {}; ///< memory for results, and for plain numbers

    objects() {
        const dnnl_dims_t shape = {2, 3};
        dnnl_memory_desc_init_by_tag(&md, 2, shape, dnnl_f32, dnnl_ab);
        dnnl_engine_create(&engine, dnnl_cpu, 0);
        dnnl_stream_create(&stream, engine, dnnl_stream_default_flags);
        dnnl_memory_create(&memory, &md, engine, bytes);
        dnnl_primitive_attr_create(&attr);
        dnnl_post_ops_create(&ops);
        dnnl_eltwise_forward_desc_init(&relu, dnnl_forward_inference, dnnl_eltwise_relu, &md, 0, 0);
        dnnl_primitive_desc_create(&pd, &relu, attr, engine, nullptr);
        dnnl_primitive_create(&primitive, pd);
        dnnl_primitive_desc_iterator_create(&iterator, &relu, attr, engine, nullptr);
    }
    ~objects() {
        dnnl_primitive_desc_iterator_destroy(iterator);
        dnnl_primitive_destroy(primitive);
        dnnl_primitive_desc_destroy(pd);
        dnnl_post_ops_destroy(ops);
        dnnl_primitive_attr_destroy(attr);
        dnnl_memory_destroy(memory);
        dnnl_stream_destroy(stream);
        dnnl_engine_destroy(engine);
    }
    objects(const objects &) = delete;
    objects &operator=(const objects &) = delete;
};

/// A good argument of type T: an object, room for a result, or 1.
template <typename T> T good(objects &o) {
    const auto handles =
        std::make_tuple(o.engine, o.stream, o.memory, o.attr, o.ops, o.pd, o.primitive, o.iterator,
                        static_cast<const dnnl_memory_desc_t *>(&o.md),
                        static_cast<const dnnl_dim_t *>(o.dims), static_cast<const void *>(&o.relu));
    T found{};
    bool is_handle = false;
    const auto take = [&](auto handle) {
        using H = decltype(handle);
        constexpr bool is_mine =
            std::is_pointer_v<T> &&
            (std::is_same_v<T, H> || std::is_same_v<T, const std::remove_pointer_t<H> *>);
        if constexpr (is_mine) {
            found = handle;
            is_handle = true;
        }
    };
    std::apply([&](auto... each) { (take(each), ...); }, handles);
    if constexpr (std::is_pointer_v<T>)
        return is_handle ? found : reinterpret_cast<T>(o.bytes);
    else
        return static_cast<T>(1);
}

/// Calls `f` with each pointer null in turn, but for those at the places `optional`.
template <typename... Args, std::size_t... I>
void call_with_nulls(const char *name, dnnl_status_t (*f)(Args...), const std::vector<std::size_t> &optional,
                     std::index_sequence<I...>) {
    objects o;
    constexpr bool is_pointer[] = {std::is_pointer_v<Args>...};
    for (std::size_t null = 0; null < sizeof...(Args); null++) {
        if (!is_pointer[null] || std::find(optional.begin(), optional.end(), null) != optional.end())
            continue;
        const dnnl_status_t status =
            f((I == null ? std::remove_const_t<Args>{} : good<std::remove_const_t<Args>>(o))...);
        EXPECT_NE(status, dnnl_success) << name << ", argument " << null;
        EXPECT_STRNE(octet_dnnl_last_error(), "") << name << ", argument " << null;
    }
}

template <typename... Args>
void expect_refusals(const char *name, dnnl_status_t (*f)(Args...),
                     const std::vector<std::size_t> &optional) {
    call_with_nulls(name, f, optional, std::index_sequence_for<Args...>{});
}

#define REFUSES(function, ...) expect_refusals(#function, function, {__VA_ARGS__})

/// Functions of backward passes keep what they are given, and are refused when a primitive descriptor is made.
TEST(null_pointers, are_refused_by_every_function) {
    REFUSES(dnnl_memory_desc_init_by_strides, 4);
    REFUSES(dnnl_memory_desc_init_by_tag);
    REFUSES(dnnl_memory_desc_init_submemory);
    REFUSES(dnnl_memory_desc_reshape);
    REFUSES(dnnl_memory_desc_permute_axes);
    REFUSES(dnnl_engine_create);
    REFUSES(dnnl_engine_get_kind);
    REFUSES(dnnl_stream_create);
    REFUSES(dnnl_stream_get_engine);
    REFUSES(dnnl_stream_wait);
    REFUSES(dnnl_memory_create, 3);
    REFUSES(dnnl_memory_get_memory_desc);
    REFUSES(dnnl_memory_get_engine);
    REFUSES(dnnl_memory_map_data);
    REFUSES(dnnl_memory_unmap_data, 1);
    REFUSES(dnnl_memory_get_data_handle);
    REFUSES(dnnl_memory_set_data_handle, 1);
    REFUSES(dnnl_memory_set_data_handle_v2, 1, 2);
    REFUSES(dnnl_post_ops_create);
    REFUSES(dnnl_post_ops_append_sum);
    REFUSES(dnnl_post_ops_append_sum_v2);
    REFUSES(dnnl_post_ops_append_sum_v3);
    REFUSES(dnnl_post_ops_get_params_sum);
    REFUSES(dnnl_post_ops_get_params_sum_v2);
    REFUSES(dnnl_post_ops_get_params_sum_v3);
    REFUSES(dnnl_post_ops_append_eltwise);
    REFUSES(dnnl_post_ops_get_params_eltwise);
    REFUSES(dnnl_post_ops_append_binary);
    REFUSES(dnnl_post_ops_get_params_binary);
    REFUSES(dnnl_post_ops_append_prelu);
    REFUSES(dnnl_post_ops_get_params_prelu);
    REFUSES(dnnl_post_ops_append_dw);
    REFUSES(dnnl_post_ops_get_params_dw);
    REFUSES(dnnl_primitive_attr_create);
    REFUSES(dnnl_primitive_attr_clone);
    REFUSES(dnnl_primitive_attr_get_fpmath_mode);
    REFUSES(dnnl_primitive_attr_set_fpmath_mode);
    REFUSES(dnnl_primitive_attr_get_scratchpad_mode);
    REFUSES(dnnl_primitive_attr_set_scratchpad_mode);
    REFUSES(dnnl_primitive_attr_get_output_scales);
    REFUSES(dnnl_primitive_attr_set_output_scales);
    REFUSES(dnnl_primitive_attr_get_scales);
    REFUSES(dnnl_primitive_attr_set_scales);
    REFUSES(dnnl_primitive_attr_get_zero_points);
    REFUSES(dnnl_primitive_attr_set_zero_points);
    REFUSES(dnnl_primitive_attr_get_post_ops);
    REFUSES(dnnl_primitive_attr_set_post_ops);
    REFUSES(dnnl_convolution_forward_desc_init, 5, 9);
    REFUSES(dnnl_dilated_convolution_forward_desc_init, 5, 8, 10);
    REFUSES(dnnl_deconvolution_forward_desc_init, 5, 9);
    REFUSES(dnnl_dilated_deconvolution_forward_desc_init, 5, 8, 10);
    REFUSES(dnnl_inner_product_forward_desc_init, 4);
    REFUSES(dnnl_matmul_desc_init, 3);
    REFUSES(dnnl_pooling_forward_desc_init, 8);
    REFUSES(dnnl_pooling_v2_forward_desc_init, 7, 9);
    REFUSES(dnnl_eltwise_forward_desc_init);
    REFUSES(dnnl_softmax_forward_desc_init);
    REFUSES(dnnl_logsoftmax_forward_desc_init);
    REFUSES(dnnl_softmax_v2_forward_desc_init);
    REFUSES(dnnl_prelu_forward_desc_init);
    REFUSES(dnnl_binary_desc_init);
    REFUSES(dnnl_resampling_forward_desc_init, 3, 5);
    REFUSES(dnnl_reduction_desc_init);
    REFUSES(dnnl_batch_normalization_forward_desc_init);
    REFUSES(dnnl_layer_normalization_forward_desc_init, 3);
    REFUSES(dnnl_lrn_forward_desc_init);
    REFUSES(dnnl_shuffle_forward_desc_init);
    REFUSES(dnnl_primitive_desc_iterator_create, 2, 4);
    REFUSES(dnnl_primitive_desc_iterator_next);
    REFUSES(dnnl_primitive_desc_create, 2, 4);
    REFUSES(dnnl_reorder_primitive_desc_create, 5);
    REFUSES(dnnl_concat_primitive_desc_create, 1, 5);
    REFUSES(dnnl_sum_primitive_desc_create, 1, 5);
    REFUSES(dnnl_primitive_desc_clone);
    REFUSES(dnnl_primitive_desc_get_attr);
    REFUSES(dnnl_primitive_desc_query);
    REFUSES(dnnl_primitive_create);
    REFUSES(dnnl_primitive_create_from_cache_blob);
    REFUSES(dnnl_primitive_get_cache_blob);
    REFUSES(dnnl_primitive_get_primitive_desc);
    REFUSES(dnnl_primitive_execute);
    REFUSES(dnnl_set_jit_profiling_jitdumpdir);
    REFUSES(dnnl_get_default_fpmath_mode);
    REFUSES(dnnl_get_primitive_cache_capacity);
    REFUSES(dnnl_sgemm);
    REFUSES(dnnl_gemm_u8s8s32);
    REFUSES(dnnl_gemm_s8s8s32);
}

TEST(submemory, lies_in_its_parent) {
    objects o;
    const dnnl_dim_t largest = std::numeric_limits<dnnl_dim_t>::max();
    dnnl_memory_desc_t part;
    const dnnl_dims_t one = {1, 1}, inside = {1, 2}, all = {2, 3}, behind = {largest, 0},
                      too_many = {largest, 1};
    EXPECT_EQ(dnnl_memory_desc_init_submemory(&part, &o.md, one, inside), dnnl_success);
    EXPECT_EQ(dnnl_memory_desc_init_submemory(&part, &o.md, all, inside), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_memory_desc_init_submemory(&part, &o.md, one, behind), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_memory_desc_init_submemory(&part, &o.md, too_many, inside), dnnl_invalid_arguments);
}

} // namespace
