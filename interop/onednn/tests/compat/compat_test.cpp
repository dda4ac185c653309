// octet/compat without oneDNN, so that the sanitizers see it: every idiom runs, refusals say what is not
// there, and what only Octet has works through oneDNN's interface.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "idioms.hpp"
#include "octet/compat/dnnl.hpp"
#include "octet/compat/dnnl_debug.h"
#include "octet/octet.hpp"

using namespace dnnl;

extern "C" int compat_c_client(int32_t *result);

namespace {

using dt = memory::data_type;
using tag = memory::format_tag;
using dims = memory::dims;

const engine &cpu() {
    static const engine e(engine::kind::cpu, 0);
    return e;
}

/// Expects `call` to fail with this status and a sentence that has all of these parts.
template <typename Call>
void expect_refusal(dnnl_status_t status, const std::vector<std::string> &parts, Call call) {
    try {
        call();
        ADD_FAILURE() << "no error";
    } catch (const error &e) {
        EXPECT_EQ(e.status, status) << e.what();
        EXPECT_STREQ(e.what(), e.message);
        for (const std::string &part : parts)
            EXPECT_NE(std::string(e.what()).find(part), std::string::npos)
                << e.what() << "\n  has no: " << part;
    }
}

convolution_forward::desc convolution(const memory::desc &src, const memory::desc &dst) {
    return {prop_kind::forward_inference,
            algorithm::convolution_direct,
            src,
            memory::desc({16, 16, 1, 1}, dt::s8, tag::any),
            dst,
            {1, 1},
            {0, 0},
            {0, 0}};
}

TEST(compat, idioms_run_without_onednn) {
    const idioms::results all = idioms::octet::run();
    EXPECT_GE(all.size(), 120u);
    for (const auto &[line, output] : all)
        EXPECT_NE(output, "error: runtime_error ") << line;
}

TEST(compat, operations_that_octet_does_not_have_are_named) {
    const memory::desc md({2, 8, 4, 4}, dt::f32, tag::nchw);
    expect_refusal(dnnl_unimplemented, {"convolution", "backward_data", "no backward pass"}, [&] {
        const convolution_backward_data::desc d(algorithm::convolution_direct, md, md, md, {1, 1}, {0, 0},
                                                {0, 0});
        convolution_backward_data::primitive_desc(d, cpu(), convolution_forward::primitive_desc());
    });
    expect_refusal(dnnl_unimplemented, {"vanilla_augru", "Octet does not have"}, [&] {
        const augru_forward::desc d(prop_kind::forward_inference, rnn_direction::unidirectional, md, md, md,
                                    md, md, md, md, md);
        augru_forward::primitive_desc(d, cpu());
    });
    expect_refusal(dnnl_unimplemented, {"rnn", "no backward pass"}, [&] {
        const lstm_backward::desc d(prop_kind::backward, rnn_direction::unidirectional, md, md, md);
        lstm_backward::primitive_desc(d, cpu(), lstm_forward::primitive_desc());
    });

    dnnl_pooling_v2_desc_t backward;
    EXPECT_EQ(dnnl_pooling_v2_backward_desc_init(&backward, dnnl_pooling_max, &md.data, &md.data, nullptr,
                                                 nullptr, nullptr, nullptr, nullptr),
              dnnl_success);
    dnnl_primitive_desc_t pd = nullptr;
    EXPECT_EQ(dnnl_primitive_desc_create(&pd, &backward, nullptr, cpu().get(), nullptr), dnnl_unimplemented);
    EXPECT_EQ(pd, nullptr);
    EXPECT_NE(std::string(octet_dnnl_last_error()).find("pooling_v2"), std::string::npos)
        << octet_dnnl_last_error();
}

TEST(compat, layouts_and_types_that_octet_does_not_have_are_named) {
    const memory::desc plain({1, 16, 4, 4}, dt::u8, tag::nhwc);
    expect_refusal(dnnl_unimplemented, {"src", "blocked layout", "any"}, [&] {
        convolution_forward::primitive_desc(convolution({{1, 16, 4, 4}, dt::u8, tag::nChw16c}, plain), cpu());
    });
    expect_refusal(dnnl_unimplemented, {"7 dimensions"}, [&] {
        const memory::desc seven(dims(7, 2), dt::f32, dims());
        eltwise_forward::primitive_desc({prop_kind::forward_inference, algorithm::eltwise_relu, seven},
                                        cpu());
    });
    expect_refusal(dnnl_unimplemented, {"reorder", "33 elements", "blocks of 16"}, [&] {
        reorder::primitive_desc(cpu(), {{1, 33, 4}, dt::f32, tag::ncw}, cpu(),
                                {{1, 33, 4}, dt::f32, tag::nCw16c});
    });
    // A number that a client wrote itself; Octet's own interface has 4-bit codes behind it.
    expect_refusal(dnnl_unimplemented, {"data type", "Octet does not have"}, [&] {
        memory::desc codes({2, 16}, dt::u8, tag::ab);
        codes.data.data_type = static_cast<dnnl_data_type_t>(11);
        reorder::primitive_desc(cpu(), codes, cpu(), codes);
    });
    expect_refusal(dnnl_unimplemented, {"masks"}, [&] {
        primitive_attr attr;
        attr.set_output_scales(2, std::vector<float>(32, 2.f));
        reorder::primitive_desc(cpu(), {{1, 32, 4}, dt::f32, tag::ncw}, cpu(),
                                {{1, 32, 4}, dt::f32, tag::nCw16c}, attr);
    });
    expect_refusal(dnnl_unimplemented, {"second depthwise"}, [&] {
        post_ops ops;
        ops.append_dw_k3s1p1(dt::s8, dt::f32, dt::u8, 0, {});
        ops.append_dw_k3s1p1(dt::s8, dt::f32, dt::u8, 0, {});
        primitive_attr attr;
        attr.set_post_ops(ops);
        convolution_forward::primitive_desc(convolution(plain, plain), attr, cpu());
    });
    expect_refusal(dnnl_invalid_arguments, {"ab", "2", "4"}, [] {
        memory::desc({1, 2, 3, 4}, dt::f32, tag::ab);
    });
    expect_refusal(dnnl_invalid_arguments, {"strides", "1 values"}, [&] {
        convolution_forward::desc(prop_kind::forward_inference, algorithm::convolution_direct, plain, plain,
                                  plain, {1}, {0, 0}, {0, 0});
    });
    EXPECT_EQ(set_jit_profiling_flags(DNNL_JIT_PROFILE_VTUNE), status::unimplemented);
    EXPECT_EQ(set_max_cpu_isa(static_cast<cpu_isa>(5)), status::invalid_arguments);
}

TEST(compat, packed_weights_are_described_and_found_again) {
    const memory::desc plain({1, 16, 4, 4}, dt::u8, tag::nhwc);
    const convolution_forward::primitive_desc pd(convolution(plain, plain), cpu());
    const memory::desc packed = pd.weights_desc();
    EXPECT_EQ(packed.data.format_kind, dnnl_format_kind_octet);
    EXPECT_EQ(packed.get_format_kind(), memory::format_kind::octet);
    EXPECT_GE(packed.get_size(), 256u);
    EXPECT_EQ(packed, convolution_forward::primitive_desc(convolution(plain, plain), cpu()).weights_desc());
    EXPECT_NE(packed, memory::desc({16, 16, 1, 1}, dt::s8, tag::oihw));

    memory from({{16, 16, 1, 1}, dt::s8, tag::oihw}, cpu()), there(packed, cpu()),
        back(from.get_desc(), cpu());
    for (int i = 0; i < 256; i++)
        from.map_data<std::int8_t>()[i] = static_cast<std::int8_t>(i);
    stream s(cpu());
    reorder(from, there).execute(s, from, there);
    reorder(there, back).execute(s, there, back);
    EXPECT_EQ(std::memcmp(from.get_data_handle(), back.get_data_handle(), 256), 0);
    expect_refusal(dnnl_invalid_arguments, {"octet"}, [&] { packed.reshape({256}); });
}

TEST(compat, rules_of_other_frameworks_are_behind_the_attributes) {
    const memory::desc src({1, 4}, dt::s8, tag::ab), weights({4, 1}, dt::s8, tag::ab),
        dst({1, 1}, dt::s8, tag::ab);
    primitive_attr attr;
    attr.octet().set_requantization(octet::requantization_rule::tflite_2step, 0,
                                    {octet::from_double(octet::requantization_rule::tflite_2step, 1 / 6.)});
    attr.set_zero_points(DNNL_ARG_DST, 0, {-3});
    std::int8_t x[] = {1, -2, 3, 4}, w[] = {1, 2, 3, 4}, y = 0;
    matmul(matmul::primitive_desc({src, weights, dst}, attr, cpu()))
        .execute(stream(cpu()), {{DNNL_ARG_SRC, memory(src, cpu(), x)},
                                 {DNNL_ARG_WEIGHTS, memory(weights, cpu(), w)},
                                 {DNNL_ARG_DST, memory(dst, cpu(), &y)}});
    EXPECT_EQ(y, 1); // 22 / 6, rounded, - 3
}

TEST(compat, forms_of_onednn_3) {
    const memory::desc src({1, 16, 4, 4}, dt::u8, tag::nhwc), weights({16, 16, 1, 1}, dt::s8, tag::any);
    EXPECT_EQ(src.get_dims(), src.dims());
    EXPECT_EQ(src.get_ndims(), 4);
    EXPECT_EQ(src.get_strides(), (dims{256, 1, 64, 16}));
    EXPECT_EQ(src.get_data_type(), dt::u8);
    const convolution_forward::primitive_desc pd(cpu(), prop_kind::forward_inference,
                                                 algorithm::convolution_direct, src, weights, src, {1, 1},
                                                 {0, 0}, {0, 0});
    EXPECT_EQ(pd.dst_desc(), src);
    EXPECT_TRUE(matmul::primitive_desc(cpu(), {{2, 3}, dt::u8, tag::ab}, {{3, 4}, dt::s8, tag::ab},
                                       {{2, 4}, dt::f32, tag::ab}));
    EXPECT_TRUE(binary::primitive_desc(cpu(), algorithm::binary_add, src, src, src));
    EXPECT_TRUE(concat::primitive_desc(cpu(), 1, {src, src}));
    EXPECT_TRUE(sum::primitive_desc(cpu(), std::vector<float>{1.f, 2.f}, {src, src}));
    EXPECT_FALSE(pooling_forward::primitive_desc(cpu(), prop_kind::forward_inference, algorithm::pooling_max,
                                                 src, src, {7, 7}, {2, 2}, {0, 0}, {0, 0}, {0, 0},
                                                 primitive_attr(), true));
}

TEST(compat, null_pointers_are_refused) {
    EXPECT_EQ(dnnl_engine_create(nullptr, dnnl_cpu, 0), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_stream_create(nullptr, nullptr, 0), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_memory_create(nullptr, nullptr, nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_memory_get_data_handle(nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_memory_desc_reshape(nullptr, nullptr, 0, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_memory_desc_permute_axes(nullptr, nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_memory_desc_init_submemory(nullptr, nullptr, nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_post_ops_append_sum(nullptr, 1.f), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_post_ops_append_binary(nullptr, dnnl_binary_add, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_primitive_attr_set_output_scales(nullptr, 1, 0, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_convolution_forward_desc_init(nullptr, dnnl_forward, dnnl_convolution_direct, nullptr,
                                                 nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
              dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_primitive_desc_create(nullptr, nullptr, nullptr, nullptr, nullptr),
              dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_primitive_desc_query(nullptr, dnnl_query_engine, 0, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_primitive_desc_query_md(nullptr, dnnl_query_src_md, 0), nullptr);
    EXPECT_EQ(dnnl_primitive_desc_iterator_fetch(nullptr), nullptr);
    EXPECT_EQ(dnnl_primitive_create(nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_primitive_execute(nullptr, nullptr, 0, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_primitive_destroy(nullptr), dnnl_success);
    EXPECT_NE(std::string(octet_dnnl_last_error()).find("null pointer"), std::string::npos);
}

TEST(compat, a_client_in_c) {
    std::int32_t result = 0;
    EXPECT_EQ(compat_c_client(&result), 0) << octet_dnnl_last_error();
    EXPECT_EQ(result, 1 - 2 + 3 - 4 + 5 - 6 + 7 - 8 - 255 * 128);
}

} // namespace
