#pragma once // SPDX-License-Identifier: Apache-2.0

// The table of profiles: who computes a row, under which condition, and how. A row's arithmetic is that of
// ../../doc/arithmetic.md; conditions are those of the delegate, read in its source. profiles.cpp alone reads
// it.

#include "network/dialect.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/profiles/conditions.hpp"

namespace octet::model::profile_rows {

using rule = requantization_rule;
using derive = scale_derivation;

// ---- who computes a row: bits, since runtimes share rows

constexpr unsigned xnnpack_x86 = 1, xnnpack_clang = 2, optimized_x86 = 4, optimized_clang = 8, reference = 16,
                   micro = 32, onnxruntime = 64, onednn_2 = 128, onednn_3 = 256, qnnpack = 512, fbgemm = 1024,
                   onnx_evaluator = 2048, exact_floats = 4096, xnnpack_gcc = 8192, optimized_gcc = 16384,
                   xnnpack_a53 = 32768, xnnpack_wasm = 65536;
// AArch64 by its compilers: Clang contracts a * b + c of floats in XNNPACK, too. a53: where u8 products have 16 bits.
constexpr unsigned xnnpack_contracted = xnnpack_clang | xnnpack_a53,
                   xnnpack_arm = xnnpack_contracted | xnnpack_gcc, xnnpack_fused = xnnpack_x86 | xnnpack_arm,
                   xnnpack_plain = xnnpack_x86 | xnnpack_wasm | xnnpack_gcc,
                   optimized_arm = optimized_clang | optimized_gcc;
constexpr unsigned xnnpack = xnnpack_fused | xnnpack_wasm, optimized = optimized_x86 | optimized_arm,
                   desktop = optimized | reference,
                   plain = desktop | micro; ///< plain: as the micro version, too

struct contract_row {
    const char *op;
    unsigned runs_in;
    named_condition when;
    operator_facts::lowering_function lower; ///< null: the operator's own
    contract numbers;
    const char *arithmetic, *derivation;
    const char *unknown = nullptr; ///< why there is no contract: nothing runs
};

constexpr named_condition always{"", nullptr};
constexpr element_groups groups_of(dim_t size) { return {size, false}; }
constexpr element_groups channel_groups_of(dim_t size) { return {size, true}; }
constexpr const char *s_f64 = "Q31(f64(s_x) * f64(s_w) / f64(s_y))",
                     *s_by_type =
                         "Q31(f64(s_x) * f64(s_w) / f64(s_y)), u8: Q31(f64(f32(s_x * s_w)) / f64(s_y))",
                     *s_f32_product = "Q31(f64(f32(s_x * s_w)) / f64(s_y))",
                     *s_f32 = "f32(f32(s_x * s_w) / s_y)",
                     *s_f32_bits = "the 24 bits of f32(f32(s_x * s_w) / s_y)",
                     *ratio_f64 = "Q31(f64(s_x) / f64(s_y))", *ratio_f32 = "Q31(f64(f32(s_x / s_y)))",
                     *ratio_8_bits = "rne(f32(256 * f32(s_x / s_y)))", *by_reciprocal = "f32(1 / s_y)",
                     *sum_of_21_bits = "rne(f32(s_i / s_y) * 2^shift), shift = 20 - floor(log2(max))",
                     *sum_f64 = "s_1 / t, s_2 / t, t / (2^20 s_y) with t = 2 max(s_1, s_2), in f64";
constexpr const char *
    two_steps = "RDP(SRDHM(acc << max(e, 0), q), max(-e, 0)) + z_y, clamped",
   *f32_product = "rne(clamp(f32(F(acc) * s), qmin - z_y, qmax - z_y)) + z_y",
   *rndnu = "((acc * M + 2^(t-1)) >> t) + z_y, clamped",
   *ruy = "((SRDHM(acc << max(e, 0), q) + 2^(r-1)) >> r) + z_y, r = max(-e, 0), clamped",
   *one_shift = "((acc * q + 2^(30-e)) >> (31-e)) + z_y, clamped",
   *weighted_sum = "((d_1 m_1 ± d_2 m_2 + 2^(shift-1)) >> shift) + z_y, clamped",
   *rescaled_sum = "M(M_1(d_1 << 20) + M_2(d_2 << 20)) + z_y, clamped",
   *eight_bits = "((d * m + 128) >> 8) + z_y, clamped",
   *xnnpack_table = "clamp(rne(f32(f32(f(f32(d * s_x)) * f32(1 / s_y)) + z_y)))",
   *litert_table = "clamp(rha(f32(f(f32(d * s_x)) * f32(1 / s_y))) + z_y)",
   *contracted_table = "clamp(rne(fma(f(f32(d * s_x)), f32(1 / s_y), z_y)))",
   *f32_sum = "clamp(rne(f32(f32(F(S) * k) + o))), S the sum of codes",
   *contracted_sum = "clamp(rne(fma(F(S), k, o))), S the sum of codes",
   *rescaled_mean = "RDP(SRDHM(S << max(e, 0), q), max(-e, 0)) + z, clamped, S the sum of codes; "
                    "z = z_y - trunc(f32(v ± 0.5)), v = f32(f32(z_x * s_x) / s_y)",
   *hybrid_fma = "fma(f32(F(acc) * s_x), s_w, b), codes and s_x of each row as XNNPACK's qd8",
   *hybrid_unfused = "f32(f32(f32(F(acc) * s_x) * s_w) + b), codes and s_x of each row as "
                     "XNNPACK's qd8",
   *hybrid_conv_fma = "fma(f32(F(acc) * s_x), s_w, b), codes and s_x as XNNPACK's qd8: of each pixel for 1x1 "
                      "with strides of 1 and more than one channel, else of each image",
   *hybrid_conv_unfused =
       "f32(f32(f32(F(acc) * s_x) * s_w) + b), codes and s_x as XNNPACK's qd8: of each pixel "
       "for 1x1 with strides of 1 and more than one channel, else of each image",
   *hybrid_images_fma = "fma(f32(F(acc) * s_x), s_w, b), codes and s_x of each image as XNNPACK's qd8",
   *hybrid_images_unfused =
       "f32(f32(f32(F(acc) * s_x) * s_w) + b), codes and s_x of each image as XNNPACK's qd8",
   *hybrid_conv_litert = "f32(b + f32(F(acc) * f32(s_x * s_w))), codes and s_x of each image as LiteRT's: "
                         "asymmetric, with one s_w symmetric",
   *hybrid_depthwise_litert =
       "f32(f32(f32(F(acc) * s_x) * s_w) + b), codes and s_x of each image as LiteRT's, "
       "asymmetric",
   *hybrid_litert = "f32(b + f32(F(acc) * f32(s_x * s_w))), codes and s_x of each row as LiteRT's",
   *compilers_choose = "whether the last addition is an fma is the compiler's choice there",
   *not_recorded = "no arithmetic of built-in kernels is recorded for it",
   *not_recorded_bits = "no arithmetic of weights of 4 bits is recorded for it",
   *not_in_products = "TensorFlow Lite Micro does not quantize within a product",
   *of_few_bits = "XNNPACK has a multiplier of 16 bits there",
   *chain_of_floats = "its results on floats depend on the instruction set and on the C library (between "
                      "DEQUANTIZE and QUANTIZE XNNPACK makes a table with such kernels)";

/// An element-wise operator on f32, which no runtime has a contract for, and the substitute's.
constexpr contract_row on_floats(const char *op) {
    return {op, xnnpack | plain, floats_to_floats, nullptr, {rule::xnnpack_f32, {}}, "", "", chain_of_floats};
}
constexpr contract_row in_f32(const char *op, const char *arithmetic) {
    return {op, exact_floats, floats_to_floats, lower_exact_floats, {rule::none, {}}, arithmetic, ""};
}

// clang-format off
constexpr contract_row rows[] = {
    on_floats("ABS"), on_floats("ADD"), on_floats("ELU"), on_floats("HARD_SWISH"), on_floats("LEAKY_RELU"),
    on_floats("LOGISTIC"), on_floats("MAXIMUM"), on_floats("MINIMUM"), on_floats("MUL"), on_floats("PRELU"),
    on_floats("RELU"), on_floats("RELU6"),
    on_floats("RELU_N1_TO_1"), on_floats("RSQRT"), on_floats("SQUARED_DIFFERENCE"), on_floats("SUB"), on_floats("TANH"),
    in_f32("ABS", "|x|"), in_f32("ADD", "f32(a + b)"), in_f32("ELU", "x < 0 ? f32(expm1(f64(x))) : x"),
    in_f32("HARD_SWISH", "f32(f32(x * min(6, max(0, f32(x + 3)))) / 6)"),
    in_f32("LEAKY_RELU", "x < 0 ? f32(x * alpha) : x"),
    in_f32("LOGISTIC", "f32(1 / (1 + exp(-f64(x))))"), in_f32("MAXIMUM", "max(a, b)"), in_f32("MINIMUM", "min(a, b)"),
    in_f32("MUL", "f32(a * b)"),
    in_f32("PRELU", "x < 0 ? f32(x * a) : x"), in_f32("RELU", "max(x, 0)"), in_f32("RELU6", "min(max(x, 0), 6)"),
    in_f32("RELU_N1_TO_1", "min(max(x, -1), 1)"), in_f32("RSQRT", "f32(1 / sqrt(f64(x)))"),
    in_f32("SQUARED_DIFFERENCE", "f32(f32(a - b) * f32(a - b))"), in_f32("SUB", "f32(a - b)"),
    in_f32("TANH", "f32(tanh(f64(x)))"),

    // Products of floats with weights of codes.
    {"FULLY_CONNECTED", xnnpack_fused, delegated_hybrid, lower_hybrid_xnnpack, {rule::none, {}}, hybrid_fma, ""},
    {"BATCH_MATMUL",    xnnpack_fused, delegated_hybrid, lower_hybrid_xnnpack, {rule::none, {}}, hybrid_fma, ""},
    {"CONV_2D",         xnnpack_fused, delegated_hybrid, lower_hybrid_xnnpack, {rule::none, {}}, hybrid_conv_fma, ""},
    {"TRANSPOSE_CONV",  xnnpack_fused, delegated_hybrid, lower_hybrid_xnnpack, {rule::none, {}}, hybrid_images_fma, ""},
    {"FULLY_CONNECTED", xnnpack_wasm, delegated_hybrid, lower_hybrid_xnnpack_unfused, {rule::none, {}},
     hybrid_unfused, ""},
    {"BATCH_MATMUL",    xnnpack_wasm, delegated_hybrid, lower_hybrid_xnnpack_unfused, {rule::none, {}},
     hybrid_unfused, ""},
    {"CONV_2D",         xnnpack_wasm, delegated_hybrid, lower_hybrid_xnnpack_unfused, {rule::none, {}},
     hybrid_conv_unfused, ""},
    {"TRANSPOSE_CONV",  xnnpack_wasm, delegated_hybrid, lower_hybrid_xnnpack_unfused, {rule::none, {}},
     hybrid_images_unfused, ""},
    {"CONV_2D",         xnnpack_wasm, hybrid, lower_hybrid_conv_litert, {rule::none, {}}, hybrid_conv_litert, ""},
    {"DEPTHWISE_CONV_2D", xnnpack_wasm, hybrid, lower_hybrid_depthwise_litert, {rule::none, {}},
     hybrid_depthwise_litert, ""},
    {"FULLY_CONNECTED", optimized_x86 | reference, hybrid, lower_hybrid_litert, {rule::none, {}}, hybrid_litert, ""},
    {"FULLY_CONNECTED", optimized_arm, hybrid, nullptr, {rule::none, {}}, "", "", compilers_choose},
    {"BATCH_MATMUL",    desktop, hybrid, nullptr, {rule::none, {}}, "", "", not_recorded},
    {"CONV_2D",         desktop, hybrid, nullptr, {rule::none, {}}, "", "", not_recorded},
    {"DEPTHWISE_CONV_2D", desktop, hybrid, nullptr, {rule::none, {}}, "", "", not_recorded},
    {"TRANSPOSE_CONV",  desktop, hybrid, nullptr, {rule::none, {}}, "", "", not_recorded},
    {"FULLY_CONNECTED", micro, hybrid, nullptr, {rule::none, {}}, "", "", not_in_products},
    {"BATCH_MATMUL",    micro, hybrid, nullptr, {rule::none, {}}, "", "", not_in_products},
    {"CONV_2D",         micro, hybrid, nullptr, {rule::none, {}}, "", "", not_in_products},
    {"DEPTHWISE_CONV_2D", micro, hybrid, nullptr, {rule::none, {}}, "", "", not_in_products},
    {"TRANSPOSE_CONV",  micro, hybrid, nullptr, {rule::none, {}}, "", "", not_in_products},

    // Weights of 4 bits. LiteRT widens them, for WebAssembly in front of ruy's plain code.
    {"FULLY_CONNECTED", xnnpack_x86 | xnnpack_wasm, delegated_few_bits, nullptr, {rule::xnnpack_f32, derive::ort_f32},
     f32_product, s_f32},
    {"FULLY_CONNECTED", xnnpack | optimized_arm, few_bits, nullptr, {rule::none, {}}, "", "", not_recorded_bits},
    {"CONV_2D", xnnpack_wasm, few_bits, nullptr, {rule::tflite_1step, {}}, one_shift, s_by_type},
    {"CONV_2D", xnnpack_arm | optimized_arm, few_bits, nullptr, {rule::none, {}}, "", "", not_recorded_bits},
    {"DEPTHWISE_CONV_2D", xnnpack_arm | optimized_arm, few_bits, nullptr, {rule::none, {}}, "", "", not_recorded_bits},

    // XNNPACK, what the delegate gives it. Arm rounds products of u8 codes, and MUL, otherwise than x86.
    {"CONV_2D",           xnnpack_a53, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, {}}, "", "", of_few_bits},
    {"DEPTHWISE_CONV_2D", xnnpack_a53, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, {}}, "", "", of_few_bits},
    {"FULLY_CONNECTED",   xnnpack_a53, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, {}}, "", "", of_few_bits},
    {"TRANSPOSE_CONV",    xnnpack_a53, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, {}}, "", "", of_few_bits},
    {"CONV_2D",           xnnpack_arm, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, derive::caffe2_f32},
     rndnu, s_f32_bits},
    {"DEPTHWISE_CONV_2D", xnnpack_arm, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, derive::caffe2_f32},
     rndnu, s_f32_bits},
    {"FULLY_CONNECTED",   xnnpack_arm, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, derive::caffe2_f32},
     rndnu, s_f32_bits},
    {"TRANSPOSE_CONV",    xnnpack_arm, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, derive::caffe2_f32},
     rndnu, s_f32_bits},
    {"CONV_2D",           xnnpack, delegated_product,  nullptr, {rule::xnnpack_f32, derive::ort_f32},
     f32_product, s_f32},
    {"DEPTHWISE_CONV_2D", xnnpack, delegated_product,  nullptr, {rule::xnnpack_f32, derive::ort_f32},
     f32_product, s_f32},
    {"FULLY_CONNECTED",   xnnpack, delegated_product,  nullptr, {rule::xnnpack_f32, derive::ort_f32},
     f32_product, s_f32},
    {"TRANSPOSE_CONV",    xnnpack, delegated_product,  nullptr, {rule::xnnpack_f32, derive::ort_f32},
     f32_product, s_f32},
    {"BATCH_MATMUL",      xnnpack, delegated_matmul,   nullptr, {rule::xnnpack_f32, derive::ort_f32},
     f32_product, s_f32},
    {"ADD", xnnpack, delegated_sum, nullptr, {rule::xnnpack_f32, {}}, weighted_sum, sum_of_21_bits},
    {"SUB", xnnpack, delegated_sum, nullptr, {rule::xnnpack_f32, {}}, weighted_sum, sum_of_21_bits},
    {"MUL", xnnpack_arm, delegated_mul, nullptr, {rule::xnnpack_rndnu, {}}, rndnu, s_f32_bits},
    {"MUL", xnnpack_x86 | xnnpack_wasm, delegated_mul, nullptr, {rule::xnnpack_f32, {}}, f32_product, s_f32},
    {"QUANTIZE",   xnnpack, from_floats,          lower_xnnpack_quantize,   {rule::xnnpack_f32, {}},
     "rne(clamp(f32(x * i), lo - z_y, hi - z_y)) + z_y", by_reciprocal},
    {"QUANTIZE",   xnnpack, delegated_requantize, lower_xnnpack_quantize,   {rule::xnnpack_f32, {}},
     eight_bits, ratio_8_bits},
    {"LEAKY_RELU", xnnpack, delegated_leaky_relu, lower_xnnpack_leaky_relu, {rule::xnnpack_f32, {}},
     eight_bits, "rne(f32(256 p)), rne(f32(256 f32(p * alpha))), p = f32(s_x / s_y)"},
    {"LOGISTIC", xnnpack_plain, delegated_codes, lower_xnnpack_logistic, {rule::xnnpack_f32, {}},
     xnnpack_table, by_reciprocal},
    {"LOGISTIC", xnnpack_contracted, delegated_codes, lower_xnnpack_logistic, {rule::xnnpack_rndnu, {}},
     contracted_table, by_reciprocal},
    {"TANH", xnnpack_plain, delegated_codes, lower_xnnpack_tanh, {rule::xnnpack_f32, {}}, xnnpack_table, by_reciprocal},
    {"TANH", xnnpack_contracted, delegated_codes, lower_xnnpack_tanh, {rule::xnnpack_rndnu, {}},
     contracted_table, by_reciprocal},
    {"ELU", xnnpack_plain, delegated_s8, lower_xnnpack_elu, {rule::xnnpack_f32, {}}, xnnpack_table, by_reciprocal},
    {"ELU", xnnpack_contracted, delegated_s8, lower_xnnpack_elu, {rule::xnnpack_rndnu, {}},
     contracted_table, by_reciprocal},
    {"MEAN", xnnpack_plain,      constant_axes, nullptr, {rule::xnnpack_f32, {}},
     f32_sum, "k = f32(f32(s_x / s_y) * f32(1 / n)), o = f32(z_y - f32(f32(n * z_x) * k))"},
    {"MEAN", xnnpack_contracted, constant_axes, nullptr, {rule::xnnpack_rndnu, {}},
     contracted_sum, "k = f32(f32(s_x / s_y) * f32(1 / n)), o = fma(-f32(n * z_x), k, z_y)"},
    {"SUM",  xnnpack_plain,      constant_axes, nullptr, {rule::xnnpack_f32, {}},
     f32_sum, "k = f32(s_x / s_y), o = f32(z_y - f32(f32(n * z_x) * k))"},
    {"SUM",  xnnpack_contracted, constant_axes, nullptr, {rule::xnnpack_rndnu, {}},
     contracted_sum, "k = f32(s_x / s_y), o = fma(-f32(n * z_x), k, z_y)"},
    {"MAX_POOL_2D",     xnnpack, delegated_max_pool, nullptr, {rule::xnnpack_f32, {}}, "the largest code, clamped", ""},
    {"RESIZE_BILINEAR", xnnpack_plain,      constant_size, nullptr, {rule::xnnpack_f32, {}},
     "11-bit weights, (sum + 2^21) >> 22", "rne(f32(f32(p - trunc(p)) * 2048))"},
    {"RESIZE_BILINEAR", xnnpack_contracted, constant_size, nullptr, {rule::xnnpack_rndnu, {}},
     "11-bit weights, (sum + 2^21) >> 22", "rne(f32(f32(p - trunc(p)) * 2048)), p of half pixels by fma"},

    // LiteRT's own kernels, for what is not delegated: ruy in the optimized ones, the reference kernels' two steps.
    {"CONV_2D",           optimized_x86, always, nullptr, {rule::ruy_2step, {}}, ruy, s_by_type},
    {"CONV_2D",           optimized_arm, always, nullptr, {rule::tflite_1step, {}}, one_shift, s_by_type},
    {"CONV_2D",           reference | micro,     always, nullptr, {rule::tflite_2step, {}}, two_steps, s_by_type},
    {"FULLY_CONNECTED",   optimized_x86, always, nullptr, {rule::ruy_2step, {}},
     ruy, "Q31(f64(f32(s_x * s_w)) / f64(s_y)), per channel in f64"},
    {"FULLY_CONNECTED",   optimized_arm, always, nullptr, {rule::tflite_1step, {}},
     one_shift, "Q31(f64(f32(s_x * s_w)) / f64(s_y)), per channel in f64"},
    {"FULLY_CONNECTED",   reference | micro,     always, nullptr, {rule::tflite_2step, {}},
     two_steps, "Q31(f64(f32(s_x * s_w)) / f64(s_y)), per channel in f64"},
    {"DEPTHWISE_CONV_2D", optimized_arm, to_s8, nullptr, {rule::ruy_2step, {}, channel_groups_of(8)}, ruy, s_f64},
    {"DEPTHWISE_CONV_2D", plain, always, nullptr, {rule::tflite_2step, {}}, two_steps, s_by_type},
    {"TRANSPOSE_CONV",    optimized_arm, to_s8,  nullptr, {rule::ruy_2step, {}, channel_groups_of(8)}, ruy, s_f64},
    {"TRANSPOSE_CONV",    optimized_arm, always, nullptr, {rule::ruy_2step, {}, groups_of(16)}, ruy, s_by_type},
    {"TRANSPOSE_CONV",    desktop | micro, always, nullptr, {rule::tflite_2step, {}}, two_steps, s_by_type},
    {"BATCH_MATMUL",      plain, always, nullptr, {rule::tflite_2step, {}}, two_steps, s_f32_product},
    {"ADD",        plain, always, nullptr,             {rule::tflite_2step, {}}, rescaled_sum, sum_f64},
    {"SUB",        desktop, always, lower_litert_sub,    {rule::tflite_2step, {}}, "the same, M_2 negated", sum_f64},
    {"MUL",        desktop, always, lower_litert_mul,    {rule::tflite_2step, {}},
     two_steps, "Q31(f64(f32(f32(s_1 * s_2) / s_y)))"},
    {"QUANTIZE",   optimized_arm, of_8_bits, nullptr, {rule::ruy_2step, {}, groups_of(16)}, ruy, ratio_f64},
    {"QUANTIZE",   plain, always, nullptr,             {rule::tflite_2step, {}}, two_steps, ratio_f64},
    {"LEAKY_RELU", plain, always, nullptr,             {rule::tflite_2step, {}}, two_steps, ratio_f32},
    {"PRELU",      desktop, always, lower_litert_prelu,  {rule::tflite_2step, {}},
     two_steps, "Q31(f64(f32(s_x / s_y))), Q31(f64(f32(f32(s_x * s_a) / s_y)))"},
    {"RELU",       plain, always, nullptr,             {rule::tflite_2step, {}}, two_steps, ratio_f32},
    {"RELU6",      desktop, always, lower_litert_relu6,  {rule::tflite_2step, {}}, two_steps, ratio_f32},
    {"RELU_N1_TO_1", desktop, always, nullptr,           {rule::tflite_2step, {}}, two_steps, ratio_f32},
    {"LOGISTIC",   desktop, always, lower_litert_logistic, {rule::tflite_2step, {}}, litert_table, by_reciprocal},
    {"TANH",       desktop, always, lower_litert_tanh,   {rule::tflite_2step, {}}, litert_table, by_reciprocal},
    {"ELU",        desktop, always, nullptr,             {rule::tflite_2step, {}}, litert_table, by_reciprocal},
    {"HARD_SWISH", optimized_arm, always, lower_litert_hard_swish, {rule::ruy_2step, {}, groups_of(8)},
     "in 16 bits, rounded at each step, halves up", "16 bits of Q31(f64(f32(f32(s_x / 128) / s_y)))"},
    {"HARD_SWISH", plain, always, nullptr,             {rule::tflite_2step, {}},
     "in 16 bits, rounded at each step", "16 bits of Q31(f64(f32(f32(s_x / 128) / s_y)))"},
    {"MEAN", optimized_arm, spatial_mean_of_s8, lower_litert_mean, {rule::ruy_2step, {}, channel_groups_of(16)},
     "((SRDHM(S << max(e, 0), q) + 2^(r-1)) >> r) + z, r = max(-e, 0), clamped, S and z as for u8",
     "Q31(f64(f32(s_x / f32(n * s_y))))"},
    {"MEAN", optimized,     spatial_mean, lower_litert_mean, {rule::tflite_2step, {}},
     rescaled_mean, "Q31(f64(f32(s_x / f32(n * s_y))))"},
    {"MEAN", plain,         always, nullptr, {rule::tflite_2step, {}},
     two_steps, "Q31(f64(s_x) / f64(s_y)) divided by n"},
    {"SUM",  optimized_arm, always, lower_litert_sum, {rule::ruy_2step, {}},
     "clamp(rha(fma(F(S), k, b)) + z_y), S the sum of codes", "k = f32(s_x / s_y), b = f32(f32(-z_x * k) * n)"},
    {"SUM",  optimized_x86, always, lower_litert_sum, {rule::tflite_2step, {}},
     "clamp(rha(f32(f32(F(S) * k) + b)) + z_y), S the sum of codes",
     "k = f32(s_x / s_y), b = f32(f32(-z_x * k) * n)"},
    {"SUM",  reference | micro, always, nullptr, {rule::tflite_2step, {}}, two_steps, ratio_f64},
    {"MAX_POOL_2D",     plain, always, nullptr,        {rule::tflite_2step, {}}, "the largest code, clamped", ""},
    {"AVERAGE_POOL_2D", plain, always, nullptr,        {rule::tflite_2step, {}}, "S / n, ties away from code 0", ""},
    {"RESIZE_BILINEAR", plain, always, nullptr,        {rule::tflite_2step, {}},
     "10-bit weights, ties away from code 0", ""},
    {"CONCATENATION",   optimized_arm, u8_of_other_scales, lower_litert_concatenation, {rule::ruy_2step, {}},
     "clamp(rha(fma(q, s, k)) + z_y)", "s = f32(s_i * f32(1 / s_y)), k = f32(-z_i * s)"},
    {"CONCATENATION",   desktop, u8_of_other_scales, lower_litert_concatenation, {rule::tflite_2step, {}},
     "clamp(rha(f32(f32(q * s) + k)) + z_y)", "s = f32(s_i * f32(1 / s_y)), k = f32(-z_i * s)"},
    {"SOFTMAX", optimized_clang, of_8_bits, lower_litert_softmax, {rule::ruy_2step, {}},
     "RDP(SRDHM(T[m - q], q_r), -e_r) + z_y, clamped, (q_r, e_r) = Q31(f64(f32(1 / f32(sum * s_y))))",
     "T[j] = trunc(f32(65535 * expf(f32(f32(s_x * beta) * -j))) + 0.5)"},
    {"SOFTMAX", optimized_arm,   always, lower_litert_softmax, {rule::xnnpack_rndnu, {}},
     "rha(f32(T[m - q] * f32(1 / f32(sum * s_y)))) + z_y", "T[j] = expf(f32(f32(-s_x * beta) * j))"},
    {"SOFTMAX", optimized_x86,   always, lower_litert_softmax, {rule::xnnpack_f32, {}},
     "rha(f32(T[m - q] * f32(1 / f32(sum * s_y)))) + z_y, u8: trunc(f32(… + 0.5))",
     "T[j] = expf(f32(f32(-s_x * beta) * j))"},
    {"SOFTMAX",    reference | micro,     always, nullptr,       {rule::tflite_2step, {}},
     "fixed-point exponentials (gemmlowp)", "Q31(min(beta s_x 2^26, 2^31 - 1))"},
    {"ABS",                plain, always, nullptr, {rule::tflite_2step, {}}, two_steps, ratio_f32},
    {"RSQRT",              plain, always, nullptr, {rule::tflite_2step, {}},
     "in 20 more bits, by Newton's steps", "Q31(1 / f64(f32(f32(sqrt(s_x)) * s_y)))"},
    {"SQUARED_DIFFERENCE", plain, always, nullptr, {rule::tflite_2step, {}},
     "M((M_1(d_1 << 7) - M_2(d_2 << 7))^2) + z_y, clamped",
     "s_1 / t, s_2 / t, t^2 / (2^14 s_y) with t = 2 max(s_1, s_2), in f64"},

    // TensorFlow Lite Micro where it differs. Nothing is lowered by its rows: each operator's own lowering is its.
    {"SUB", micro, always, nullptr, {rule::tflite_2step, {}}, rescaled_sum, "as ADD, in f32"},
    {"MUL", micro, always, nullptr, {rule::tflite_2step, {}}, two_steps, "Q31(f64(s_1) * f64(s_2) / f64(s_y))"},
    {"PRELU", micro, always, nullptr, {rule::tflite_2step, {}},
     two_steps, "Q31(f64(s_x) / f64(s_y)), Q31(f64(s_x) * f64(s_a) / f64(s_y))"},
    {"RELU6", micro, always, nullptr, {rule::tflite_2step, {}}, "clamp(q, z_x, rha(6 / s_x) + z_x)", ""},
    {"LOGISTIC", micro, always, nullptr, {rule::tflite_2step, {}},
     "gemmlowp's logistic of Q4.27", "Q31(f64(s_x) * 2^27)"},
    {"TANH", micro, always, nullptr, {rule::tflite_2step, {}}, "gemmlowp's tanh of Q4.27", "Q31(f64(s_x) * 2^27)"},
    {"ELU", micro, always, nullptr, {rule::tflite_2step, {}}, litert_table, by_reciprocal},

    // Libraries without networks of their own here.
    {"QLinearConv",   onnxruntime, always, nullptr, {rule::ort_f32, derive::ort_f32}, f32_product, s_f32},
    {"QLinearMatMul", onnxruntime, always, nullptr, {rule::ort_f32, derive::ort_f32}, f32_product, s_f32},
    {"QGemm",         onnxruntime, always, nullptr, {rule::ort_f32, derive::ort_f32}, f32_product, s_f32},
    {"QLinearConv",   onnx_evaluator, always, nullptr, {rule::onnx_f64, derive::ort_f32},
     "clamp(rne(f64(f64(acc) * s) + z_y))", s_f32},
    {"QLinearMatMul", onnx_evaluator, always, nullptr, {rule::onnx_f64, derive::ort_f32},
     "clamp(rne(f64(f64(acc) * s) + z_y))", s_f32},
    {"convolution",   onednn_2, always, nullptr, {rule::f32, {}},
     "rne(clamp(post_ops((F(acc) + bias) * scale) + z_y))", "the caller's"},
    {"inner_product", onednn_2, always, nullptr, {rule::f32, {}},
     "rne(clamp(post_ops((F(acc) + bias) * scale)))", "the caller's"},
    {"matmul",        onednn_2, always, nullptr, {rule::f32, {}},
     "rne(clamp(post_ops((F(acc) + bias) * scale) + z_y))", "the caller's"},
    {"convolution",   onednn_3, always, nullptr, {rule::f32_v3, {}},
     "rne(clamp(post_ops(F(acc) * s + bias) * f32(1 / s_y) + z_y))", "s = f32(s_x * s_w)"},
    {"inner_product", onednn_3, always, nullptr, {rule::f32_v3, {}},
     "rne(clamp(post_ops(F(acc) * s + bias) * f32(1 / s_y) + z_y))", "s = f32(s_x * s_w)"},
    {"matmul",        onednn_3, always, nullptr, {rule::f32_v3, {}},
     "rne(clamp(post_ops(F(acc) * s_x * s_w + bias) * f32(1 / s_y) + z_y))", "s_x, s_w one after the other"},
    {"quantized::conv2d", qnnpack, always, nullptr, {rule::caffe2_2step, derive::caffe2_f32},
     "RDP(SRDHM(acc, q), r) + z_y, clamped", "the 24 bits of f32(f32(s_x * s_w) / s_y), 7 zeros behind"},
    {"quantized::linear", qnnpack, always, nullptr, {rule::caffe2_2step, derive::caffe2_f32},
     "RDP(SRDHM(acc, q), r) + z_y, clamped", "the 24 bits of f32(f32(s_x * s_w) / s_y), 7 zeros behind"},
    {"quantized::conv2d", fbgemm, always, nullptr, {rule::fbgemm_f32, derive::ort_f32},
     "rne(f32(f32(F(acc) + b) * s)) + z_y, clamped; b the real bias over f32(s_x * s_w)", s_f32},
    {"quantized::linear", fbgemm, always, nullptr, {rule::fbgemm_f32, derive::ort_f32},
     "rne(f32(f32(F(acc) + b) * s)) + z_y, clamped; b the real bias over f32(s_x * s_w)", s_f32},
};
// clang-format on

constexpr const char *xnnpack_source = "google/XNNPACK 75db3c0, google-ai-edge/LiteRT f674577",
                     *litert_source = "google-ai-edge/LiteRT f674577, google/ruy 2af8886",
                     *micro_source = "tensorflow/tflite-micro 90b983c";

struct kernel_source {
    unsigned runs_in;
    const char *kernel, *source;
};
constexpr kernel_source sources[] = {
    {xnnpack, "XNNPACK", xnnpack_source},
    {optimized, "LiteRT's optimized kernel", litert_source},
    {reference, "LiteRT's reference kernel", litert_source},
    {micro, "TensorFlow Lite Micro", micro_source},
    {onnxruntime, "MLAS", "microsoft/onnxruntime 1.30"},
    {onnx_evaluator, "ONNX's reference evaluator", "onnx/onnx, onnx/reference/ops/op_qlinear_*.py"},
    {onednn_2, "oneDNN", "oneapi-src/oneDNN 2.6.3"},
    {onednn_3, "oneDNN", "uxlfoundation/oneDNN 3.8"},
    {qnnpack, "QNNPACK", "pytorch/pytorch 1.13"},
    {fbgemm, "FBGEMM", "pytorch/pytorch 1.13"},
    {exact_floats, "Octet", "IEEE 754"},
};

} // namespace octet::model::profile_rows
