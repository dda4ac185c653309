// The table. A row's arithmetic is that of ../doc/arithmetic.md; conditions are those of the delegate, read in its source.
// SPDX-License-Identifier: Apache-2.0
#include "network/profiles.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <string_view>

#include "network/operators.hpp"
#include "network/ops/tflite/tflite.hpp"
#include "network/profile_conditions.hpp"
#include "octet/fork_guard.hpp"

namespace octet::model {
namespace {

using rule = requantization_rule;
using derive = scale_derivation;

// ---- who computes a row: bits, since runtimes share rows

constexpr unsigned xnnpack_x86 = 1, xnnpack_arm = 2, optimized_x86 = 4, optimized_arm = 8, reference = 16,
                   micro = 32, onnxruntime = 64, onednn_2 = 128, onednn_3 = 256, qnnpack = 512, fbgemm = 1024,
                   evaluator = 2048, exact_floats = 4096;
constexpr unsigned xnnpack = xnnpack_x86 | xnnpack_arm, optimized = optimized_x86 | optimized_arm,
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
constexpr const char *s_f64 = "Q31(f64(s_x) * f64(s_w) / f64(s_y))",
                     *s_f32_product = "Q31(f64(f32(s_x * s_w)) / f64(s_y))",
                     *s_f32 = "f32(f32(s_x * s_w) / s_y)",
                     *s_f32_bits = "the 24 bits of f32(f32(s_x * s_w) / s_y)",
                     *ratio_f64 = "Q31(f64(s_x) / f64(s_y))", *ratio_f32 = "Q31(f64(f32(s_x / s_y)))",
                     *ratio_8_bits = "rne(f32(256 * f32(s_x / s_y)))", *by_reciprocal = "f32(1 / s_y)",
                     *sum_of_21_bits = "rne(f32(s_i / s_y) * 2^shift), shift = 20 - floor(log2(max))",
                     *sum_f64 = "s_1 / t, s_2 / t, t / (2^20 s_y) with t = 2 max(s_1, s_2), in f64";
constexpr const char *two_steps = "RDP(SRDHM(acc << max(e, 0), q), max(-e, 0)) + z_y, clamped",
                     *f32_product = "rne(clamp(f32(F(acc) * s), qmin - z_y, qmax - z_y)) + z_y",
                     *rndnu = "((acc * M + 2^(t-1)) >> t) + z_y, clamped",
                     *ruy = "((SRDHM(acc << max(e, 0), q) + 2^(r-1)) >> r) + z_y, r = max(-e, 0), clamped",
                     *one_shift = "((acc * q + 2^(30-e)) >> (31-e)) + z_y, clamped",
                     *weighted_sum = "((d_1 m_1 ± d_2 m_2 + 2^(shift-1)) >> shift) + z_y, clamped",
                     *rescaled_sum = "M(M_1(d_1 << 20) + M_2(d_2 << 20)) + z_y, clamped",
                     *eight_bits = "((d * m + 128) >> 8) + z_y, clamped",
                     *xnnpack_table = "clamp(rne(f32(f32(f(f32(d * s_x)) * f32(1 / s_y)) + z_y)))",
                     *litert_table = "clamp(rha(f32(f(f32(d * s_x)) * f32(1 / s_y))) + z_y)",
                     *f32_sum = "clamp(rne(f32(f32(F(S) * k) + o))), S the sum of codes",
                     *chain_of_floats =
                         "its results on floats depend on the instruction set and on the C library (between "
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
    on_floats("ABS"), on_floats("ADD"), on_floats("ELU"), on_floats("HARD_SWISH"), on_floats("LEAKY_RELU"), on_floats("LOGISTIC"),
    on_floats("MAXIMUM"), on_floats("MINIMUM"), on_floats("MUL"), on_floats("PRELU"), on_floats("RELU"), on_floats("RELU6"),
    on_floats("RELU_N1_TO_1"), on_floats("RSQRT"), on_floats("SQUARED_DIFFERENCE"), on_floats("SUB"), on_floats("TANH"),
    in_f32("ABS", "|x|"), in_f32("ADD", "f32(a + b)"), in_f32("ELU", "x < 0 ? f32(expm1(f64(x))) : x"),
    in_f32("HARD_SWISH", "f32(f32(x * min(6, max(0, f32(x + 3)))) / 6)"), in_f32("LEAKY_RELU", "x < 0 ? f32(x * alpha) : x"),
    in_f32("LOGISTIC", "f32(1 / (1 + exp(-f64(x))))"), in_f32("MAXIMUM", "max(a, b)"), in_f32("MINIMUM", "min(a, b)"), in_f32("MUL", "f32(a * b)"),
    in_f32("PRELU", "x < 0 ? f32(x * a) : x"), in_f32("RELU", "max(x, 0)"), in_f32("RELU6", "min(max(x, 0), 6)"),
    in_f32("RELU_N1_TO_1", "min(max(x, -1), 1)"), in_f32("RSQRT", "f32(1 / sqrt(f64(x)))"),
    in_f32("SQUARED_DIFFERENCE", "f32(f32(a - b) * f32(a - b))"), in_f32("SUB", "f32(a - b)"), in_f32("TANH", "f32(tanh(f64(x)))"),

    // XNNPACK, what the delegate gives it. Arm rounds products of u8 codes, and MUL, otherwise than x86.
    {"CONV_2D",           xnnpack_arm, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, derive::caffe2_f32}, rndnu, s_f32_bits},
    {"DEPTHWISE_CONV_2D", xnnpack_arm, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, derive::caffe2_f32}, rndnu, s_f32_bits},
    {"FULLY_CONNECTED",   xnnpack_arm, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, derive::caffe2_f32}, rndnu, s_f32_bits},
    {"TRANSPOSE_CONV",    xnnpack_arm, delegated_u8_product, nullptr, {rule::xnnpack_rndnu, derive::caffe2_f32}, rndnu, s_f32_bits},
    {"CONV_2D",           xnnpack, delegated_product,  nullptr, {rule::xnnpack_f32, derive::ort_f32}, f32_product, s_f32},
    {"DEPTHWISE_CONV_2D", xnnpack, delegated_product,  nullptr, {rule::xnnpack_f32, derive::ort_f32}, f32_product, s_f32},
    {"FULLY_CONNECTED",   xnnpack, delegated_product,  nullptr, {rule::xnnpack_f32, derive::ort_f32}, f32_product, s_f32},
    {"TRANSPOSE_CONV",    xnnpack, delegated_product,  nullptr, {rule::xnnpack_f32, derive::ort_f32}, f32_product, s_f32},
    {"BATCH_MATMUL",      xnnpack, delegated_matmul,   nullptr, {rule::xnnpack_f32, derive::ort_f32}, f32_product, s_f32},
    {"ADD", xnnpack, delegated_sum, nullptr, {rule::xnnpack_f32, {}}, weighted_sum, sum_of_21_bits},
    {"SUB", xnnpack, delegated_sum, nullptr, {rule::xnnpack_f32, {}}, weighted_sum, sum_of_21_bits},
    {"MUL", xnnpack_arm, delegated_mul, nullptr, {rule::xnnpack_rndnu, {}}, rndnu, s_f32_bits},
    {"MUL", xnnpack_x86, delegated_mul, nullptr, {rule::xnnpack_f32, {}}, f32_product, s_f32},
    {"QUANTIZE",   xnnpack, from_floats,          lower_xnnpack_quantize,   {rule::xnnpack_f32, {}}, "rne(clamp(f32(x * i), lo - z_y, hi - z_y)) + z_y", by_reciprocal},
    {"QUANTIZE",   xnnpack, delegated_requantize, lower_xnnpack_quantize,   {rule::xnnpack_f32, {}}, eight_bits, ratio_8_bits},
    {"LEAKY_RELU", xnnpack, delegated_leaky_relu, lower_xnnpack_leaky_relu, {rule::xnnpack_f32, {}}, eight_bits, "rne(f32(256 p)), rne(f32(256 f32(p * alpha))), p = f32(s_x / s_y)"},
    {"LOGISTIC",   xnnpack, delegated_codes,      lower_xnnpack_logistic,   {rule::xnnpack_f32, {}}, xnnpack_table, by_reciprocal},
    {"TANH",       xnnpack, delegated_codes,      lower_xnnpack_tanh,       {rule::xnnpack_f32, {}}, xnnpack_table, by_reciprocal},
    {"ELU",        xnnpack, delegated_s8,         lower_xnnpack_elu,        {rule::xnnpack_f32, {}}, xnnpack_table, by_reciprocal},
    {"MEAN",       xnnpack, constant_axes, nullptr, {rule::xnnpack_f32, {}}, f32_sum, "k = f32(f32(s_x / s_y) * f32(1 / n)), o = f32(z_y - f32(f32(n * z_x) * k))"},
    {"SUM",        xnnpack, constant_axes, nullptr, {rule::xnnpack_f32, {}}, f32_sum, "k = f32(s_x / s_y), o = f32(z_y - f32(f32(n * z_x) * k))"},
    {"MAX_POOL_2D",     xnnpack, delegated_max_pool, nullptr, {rule::xnnpack_f32, {}}, "the largest code, clamped", ""},
    {"RESIZE_BILINEAR", xnnpack, constant_size,      nullptr, {rule::xnnpack_f32, {}}, "11-bit weights, (sum + 2^21) >> 22", "rne(f32(f32(p - trunc(p)) * 2048))"},

    // LiteRT's own kernels, for what is not delegated: ruy in the optimized ones, the reference kernels' two steps.
    {"CONV_2D",           optimized_x86, always, nullptr, {rule::ruy_2step, derive::tflite_f64}, ruy, s_f64},
    {"CONV_2D",           optimized_arm, always, nullptr, {rule::tflite_1step, derive::tflite_f64}, one_shift, s_f64},
    {"CONV_2D",           reference | micro,     always, nullptr, {rule::tflite_2step, derive::tflite_f64}, two_steps, s_f64},
    {"FULLY_CONNECTED",   optimized_x86, always, nullptr, {rule::ruy_2step, {}}, ruy, "Q31(f64(f32(s_x * s_w)) / f64(s_y)), per channel in f64"},
    {"FULLY_CONNECTED",   optimized_arm, always, nullptr, {rule::tflite_1step, {}}, one_shift, "Q31(f64(f32(s_x * s_w)) / f64(s_y)), per channel in f64"},
    {"FULLY_CONNECTED",   reference | micro,     always, nullptr, {rule::tflite_2step, {}}, two_steps, "Q31(f64(f32(s_x * s_w)) / f64(s_y)), per channel in f64"},
    {"DEPTHWISE_CONV_2D", plain, always, nullptr, {rule::tflite_2step, derive::tflite_f64}, two_steps, s_f64},
    {"TRANSPOSE_CONV",    plain, always, nullptr, {rule::tflite_2step, derive::tflite_f64}, two_steps, s_f64},
    {"BATCH_MATMUL",      plain, always, nullptr, {rule::tflite_2step, {}}, two_steps, s_f32_product},
    {"ADD",        plain, always, nullptr,             {rule::tflite_2step, {}}, rescaled_sum, sum_f64},
    {"SUB",        desktop, always, lower_litert_sub,    {rule::tflite_2step, {}}, "the same, M_2 negated", sum_f64},
    {"MUL",        desktop, always, lower_litert_mul,    {rule::tflite_2step, {}}, two_steps, "Q31(f64(f32(f32(s_1 * s_2) / s_y)))"},
    {"QUANTIZE",   plain, always, nullptr,             {rule::tflite_2step, {}}, two_steps, ratio_f64},
    {"LEAKY_RELU", plain, always, nullptr,             {rule::tflite_2step, {}}, two_steps, ratio_f32},
    {"PRELU",      desktop, always, lower_litert_prelu,  {rule::tflite_2step, {}}, two_steps, "Q31(f64(f32(s_x / s_y))), Q31(f64(f32(f32(s_x * s_a) / s_y)))"},
    {"RELU",       plain, always, nullptr,             {rule::tflite_2step, {}}, two_steps, ratio_f32},
    {"RELU6",      desktop, always, lower_litert_relu6,  {rule::tflite_2step, {}}, two_steps, ratio_f32},
    {"RELU_N1_TO_1", desktop, always, nullptr,           {rule::tflite_2step, {}}, two_steps, ratio_f32},
    {"LOGISTIC",   desktop, always, lower_litert_logistic, {rule::tflite_2step, {}}, litert_table, by_reciprocal},
    {"TANH",       desktop, always, lower_litert_tanh,   {rule::tflite_2step, {}}, litert_table, by_reciprocal},
    {"ELU",        desktop, always, nullptr,             {rule::tflite_2step, {}}, litert_table, by_reciprocal},
    {"HARD_SWISH", plain, always, nullptr,             {rule::tflite_2step, {}}, "in 16 bits, rounded at each step", "16 bits of Q31(f64(f32(f32(s_x / 128) / s_y)))"},
    {"MEAN",       plain, always, nullptr,             {rule::tflite_2step, {}}, two_steps, "Q31(f64(s_x) / f64(s_y)) divided by n"},
    {"SUM",        plain, always, nullptr,             {rule::tflite_2step, {}}, two_steps, ratio_f64},
    {"MAX_POOL_2D",     plain, always, nullptr,        {rule::tflite_2step, {}}, "the largest code, clamped", ""},
    {"AVERAGE_POOL_2D", plain, always, nullptr,        {rule::tflite_2step, {}}, "S / n, ties away from code 0", ""},
    {"RESIZE_BILINEAR", plain, always, nullptr,        {rule::tflite_2step, {}}, "10-bit weights, ties away from code 0", ""},
    {"CONCATENATION",   desktop, u8_of_other_scales, lower_litert_concatenation, {rule::tflite_2step, {}}, "clamp(rha(f32(f32(q * s) + k)) + z_y)", "s = f32(s_i * f32(1 / s_y)), k = f32(-z_i * s)"},
    {"SOFTMAX",    optimized, to_s16, nullptr,           {rule::tflite_2step, {}}, "", "", "the arithmetic of a 16-bit result is not specified"},
    {"SOFTMAX",    optimized_x86, always, lower_litert_softmax, {rule::tflite_2step, {}}, "rha(f32(T[m - q] * f32(1 / f32(sum * s_y)))) + z_y", "T[j] = expf(f32(f32(-s_x * beta) * j))"},
    {"SOFTMAX",    optimized_arm, always, nullptr,       {rule::tflite_2step, {}}, "", "", "AArch64 builds have another kernel, of 16-bit tables"},
    {"SOFTMAX",    reference | micro,     always, nullptr,       {rule::tflite_2step, {}}, "fixed-point exponentials (gemmlowp)", "Q31(min(beta s_x 2^26, 2^31 - 1))"},
    {"ABS",                plain, always, nullptr, {rule::tflite_2step, {}}, two_steps, ratio_f32},
    {"RSQRT",              plain, always, nullptr, {rule::tflite_2step, {}}, "in 20 more bits, by Newton's steps", "Q31(1 / f64(f32(f32(sqrt(s_x)) * s_y)))"},
    {"SQUARED_DIFFERENCE", plain, always, nullptr, {rule::tflite_2step, {}}, "M((M_1(d_1 << 7) - M_2(d_2 << 7))^2) + z_y, clamped", "s_1 / t, s_2 / t, t^2 / (2^14 s_y) with t = 2 max(s_1, s_2), in f64"},

    // TensorFlow Lite Micro where it differs. Nothing is lowered by its rows: each operator's own lowering is its.
    {"SUB", micro, always, nullptr, {rule::tflite_2step, {}}, rescaled_sum, "as ADD, in f32"},
    {"MUL", micro, always, nullptr, {rule::tflite_2step, {}}, two_steps, "Q31(f64(s_1) * f64(s_2) / f64(s_y))"},
    {"PRELU", micro, always, nullptr, {rule::tflite_2step, {}}, two_steps, "Q31(f64(s_x) / f64(s_y)), Q31(f64(s_x) * f64(s_a) / f64(s_y))"},
    {"RELU6", micro, always, nullptr, {rule::tflite_2step, {}}, "clamp(q, z_x, rha(6 / s_x) + z_x)", ""},
    {"LOGISTIC", micro, always, nullptr, {rule::tflite_2step, {}}, "gemmlowp's logistic of Q4.27", "Q31(f64(s_x) * 2^27)"},
    {"TANH", micro, always, nullptr, {rule::tflite_2step, {}}, "gemmlowp's tanh of Q4.27", "Q31(f64(s_x) * 2^27)"},
    {"ELU", micro, always, nullptr, {rule::tflite_2step, {}}, litert_table, by_reciprocal},

    // Libraries without networks of their own here.
    {"QLinearConv",   onnxruntime, always, nullptr, {rule::ort_f32, derive::ort_f32}, f32_product, s_f32},
    {"QLinearMatMul", onnxruntime, always, nullptr, {rule::ort_f32, derive::ort_f32}, f32_product, s_f32},
    {"QGemm",         onnxruntime, always, nullptr, {rule::ort_f32, derive::ort_f32}, f32_product, s_f32},
    {"QLinearConv",   evaluator, always, nullptr, {rule::onnx_f64, derive::ort_f32}, "clamp(rne(f64(f64(acc) * s) + z_y))", s_f32},
    {"QLinearMatMul", evaluator, always, nullptr, {rule::onnx_f64, derive::ort_f32}, "clamp(rne(f64(f64(acc) * s) + z_y))", s_f32},
    {"convolution",   onednn_2, always, nullptr, {rule::f32, {}}, "rne(clamp(post_ops((F(acc) + bias) * scale) + z_y))", "the caller's"},
    {"inner_product", onednn_2, always, nullptr, {rule::f32, {}}, "rne(clamp(post_ops((F(acc) + bias) * scale)))", "the caller's"},
    {"matmul",        onednn_2, always, nullptr, {rule::f32, {}}, "rne(clamp(post_ops((F(acc) + bias) * scale) + z_y))", "the caller's"},
    {"convolution",   onednn_3, always, nullptr, {rule::f32_v3, {}}, "rne(clamp(post_ops(F(acc) * s + bias) * f32(1 / s_y) + z_y))", "s = f32(s_x * s_w)"},
    {"inner_product", onednn_3, always, nullptr, {rule::f32_v3, {}}, "rne(clamp(post_ops(F(acc) * s + bias) * f32(1 / s_y) + z_y))", "s = f32(s_x * s_w)"},
    {"matmul",        onednn_3, always, nullptr, {rule::f32_v3, {}}, "rne(clamp(post_ops(F(acc) * s_x * s_w + bias) * f32(1 / s_y) + z_y))", "s_x, s_w one after the other"},
    {"quantized::conv2d", qnnpack, always, nullptr, {rule::caffe2_2step, derive::caffe2_f32}, "RDP(SRDHM(acc, q), r) + z_y, clamped", "the 24 bits of f32(f32(s_x * s_w) / s_y), 7 zeros behind"},
    {"quantized::linear", qnnpack, always, nullptr, {rule::caffe2_2step, derive::caffe2_f32}, "RDP(SRDHM(acc, q), r) + z_y, clamped", "the 24 bits of f32(f32(s_x * s_w) / s_y), 7 zeros behind"},
    {"quantized::conv2d", fbgemm, always, nullptr, {rule::fbgemm_f32, derive::ort_f32}, "rne(f32(f32(F(acc) + b) * s)) + z_y, clamped; b the real bias over f32(s_x * s_w)", s_f32},
    {"quantized::linear", fbgemm, always, nullptr, {rule::fbgemm_f32, derive::ort_f32}, "rne(f32(f32(F(acc) + b) * s)) + z_y, clamped; b the real bias over f32(s_x * s_w)", s_f32},
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
    {evaluator, "ONNX's reference evaluator", "onnx/onnx, onnx/reference/ops/op_qlinear_*.py"},
    {onednn_2, "oneDNN", "oneapi-src/oneDNN 2.6.3"},
    {onednn_3, "oneDNN", "uxlfoundation/oneDNN 3.8"},
    {qnnpack, "QNNPACK", "pytorch/pytorch 1.13"},
    {fbgemm, "FBGEMM", "pytorch/pytorch 1.13"},
    {exact_floats, "Octet", "IEEE 754"},
};

} // namespace

struct runtime {
    const char *name, *framework, *summary;
    unsigned has;              ///< rows with one of these bits
    unsigned without_delegate; ///< the same where the delegate fails
    bool has_substitute = false;
    const runtime *substitute = nullptr; ///< for what has no contract; null: the operator's own
};

namespace {

constexpr runtime runtimes[] = {
    {"tflm-90b983c", "tflite",
     "TensorFlow Lite Micro, reference kernels: what networks get without a profile", micro, micro},
    {"litert-2026.08-x86", "tflite",
     "LiteRT's default on x86: XNNPACK where the delegate takes the operator, else LiteRT's optimized "
     "kernels",
     xnnpack_x86 | optimized_x86, optimized_x86},
    {"litert-2026.08-x86-builtin", "tflite",
     "LiteRT on x86 without its default delegate: the optimized kernels", optimized_x86, optimized_x86},
    {"litert-2026.08-arm64", "tflite",
     "LiteRT's default on AArch64: as on x86, with Arm's rounding of u8 products and MUL",
     xnnpack_arm | optimized_arm, optimized_arm},
    {"litert-2026.08-arm64-builtin", "tflite",
     "LiteRT on AArch64 without its default delegate: the optimized kernels", optimized_arm, optimized_arm},
    {"litert-builtin-ref", "tflite", "LiteRT with its reference kernels (BuiltinRefOpResolver)", reference,
     reference},
    {"ort-1.30", "onnx", "ONNX Runtime on x86: what networks of ONNX get", onnxruntime, onnxruntime},
    {"onnx-reference", "", "ONNX's specification, as its reference evaluator computes it", evaluator,
     evaluator},
    {"onednn-2.6.3", "", "oneDNN 2: output scales, the bias before them", onednn_2, onednn_2},
    {"onednn-3", "", "oneDNN 3: scales of the arguments, the bias behind them", onednn_3, onednn_3},
    {"pytorch-1.13-qnnpack", "", "PyTorch with its engine qnnpack", qnnpack, qnnpack},
    {"pytorch-1.13-onednn", "", "PyTorch with its engine onednn", onednn_2, onednn_2},
    {"exact-f32", "",
     "no runtime: operators on floats with one rounding each, for NAME+exact-f32 where NAME has no contract "
     "for them",
     exact_floats, exact_floats},
};

bool has_rows_of(const contract_row &r, const std::string &op, unsigned runs_in) {
    return (r.runs_in & runs_in) != 0 && r.op == op;
}

/// The row that counts for a node; null: the runtime says nothing of the operator, which moves codes or is the same in
/// all of them.
const contract_row *row_of(const runtime &r, const lowering &node) {
    for (const contract_row &each : rows)
        if (has_rows_of(each, node.get_node().op, r.has) && (!each.when.holds || each.when.holds(node)))
            return &each;
    return nullptr;
}

/// Whether networks of `framework` get a contract from a runtime under the condition of a row; the operator's own is one.
bool has_contract(const runtime &r, const std::string &framework, const std::string &op,
                  const named_condition &when) {
    for (const contract_row &each : rows)
        if (has_rows_of(each, op, r.has) && each.when.holds == when.holds)
            return !each.unknown;
    return r.framework == framework;
}

[[noreturn]] void refuse_without_contract(const runtime &r, const contract_row &without,
                                          const std::string &op) {
    std::string others;
    for (const runtime &other : runtimes)
        if (std::string_view(other.name) != r.name && has_contract(other, r.framework, op, without.when))
            others += (others.empty() ? "" : ", ") + std::string(other.name);
    const std::string condition = without.when.holds ? std::string(" (") + without.when.text + ")" : "",
                      way = others.empty() ? "; no profile has one"
                                           : "; profiles with one: " + others + "; " + r.name +
                                                 "+NAME takes it from one of them";
    refuse_as_unimplemented(std::string("profile ") + r.name + " has no contract for " + op + condition +
                            ": " + without.unknown + way);
}

/// Changes of one letter between two names, and of their order.
std::size_t distance(const std::string &a, const std::string &b) {
    std::vector<std::size_t> line(b.size() + 1);
    std::iota(line.begin(), line.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); i++) {
        std::size_t diagonal = line[0]++;
        for (std::size_t k = 0; k < b.size(); k++) {
            const std::size_t replaced = diagonal + (a[i] != b[k]);
            diagonal = line[k + 1];
            line[k + 1] = std::min({replaced, line[k] + 1, diagonal + 1});
        }
    }
    return line.back();
}

/// The three of the most alike names; what begins with it is most alike.
std::string closest(const std::string &name) {
    std::vector<std::pair<std::size_t, std::string>> all;
    for (const runtime &r : runtimes)
        all.emplace_back(std::string(r.name).rfind(name, 0) == 0 ? 0 : distance(name, r.name), r.name);
    std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    return all[0].second + ", " + all[1].second + ", " + all[2].second;
}

profile profile_of(const runtime &r) {
    profile result{r.name, r.framework, r.summary, {}};
    for (const contract_row &each : rows) {
        if ((each.runs_in & r.has) == 0)
            continue;
        const auto &from = *std::find_if(std::begin(sources), std::end(sources), [&](const kernel_source &s) {
            return (s.runs_in & each.runs_in & r.has) != 0;
        });
        profile_entry entry{each.op,         each.when.text,  from.kernel, {},
                            each.arithmetic, each.derivation, from.source};
        if (each.unknown)
            entry.arithmetic = std::string("none: ") + each.unknown;
        else
            entry.rule = each.numbers.rule;
        result.entries.push_back(std::move(entry));
    }
    return result;
}

} // namespace

namespace {

/// The runtime with a substitute. Each pair is made once and stays, since plans point to it; find_profile bounds how many
/// there can be.
const runtime &paired(const runtime &first, const runtime *substitute) {
    static std::mutex mutex;
    static const fork_guard at_fork(mutex);
    static std::map<std::pair<const char *, const runtime *>, runtime> pairs;
    const std::lock_guard<std::mutex> lock(mutex);
    runtime pair = first;
    pair.has_substitute = true;
    pair.substitute = substitute;
    return pairs.try_emplace({first.name, substitute}, pair).first->second;
}

/// That of a name in the table, for networks of a framework.
const runtime &listed(const std::string &name, const std::string &framework, bool is_substitute) {
    const std::string of = find_profile(name).framework;
    const runtime &found = *std::find_if(std::begin(runtimes), std::end(runtimes),
                                         [&](const runtime &r) { return r.name == name; });
    if (of == framework || (is_substitute && found.has == exact_floats))
        return found;
    std::string allowed;
    for (const runtime &r : runtimes)
        if (r.framework == framework)
            allowed += (allowed.empty() ? "" : ", ") + std::string(r.name);
    refuse("profile " + name +
           (found.has == exact_floats ? " stands behind another with a +"
            : of.empty()              ? " is a library of single operations"
                                      : " is of " + of + " networks") +
           ", allowed for this " + framework + " network: " + allowed);
}

/// Rows that nothing is lowered by: the operators' own lowerings are these runtimes'.
constexpr unsigned defaults = micro | onnxruntime;

/// Null for what has the operators' own lowerings and no substitute.
const runtime *found_runtime(const std::string &name, const std::string &framework, bool is_substitute) {
    const std::size_t plus = name.find('+');
    const runtime &first = listed(name.substr(0, plus), framework, is_substitute);
    if (plus != std::string::npos)
        return &paired(first, found_runtime(name.substr(plus + 1), framework, true));
    return first.has == (first.has & defaults) ? nullptr : &first;
}

} // namespace

const runtime *find_runtime(const std::string &name, const std::string &framework) {
    if (name.empty())
        return nullptr;
    find_profile(name); // an unknown part is told with the whole name
    return found_runtime(name, framework, false);
}

const runtime &runtime_of(const runtime &r, const graph &g, const std::function<lowering(std::size_t)> &at) {
    if (r.has == r.without_delegate)
        return r;
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        if (fails_in_xnnpack(at(i))) {
            const runtime &rest =
                *std::find_if(std::begin(runtimes), std::end(runtimes),
                              [&](const runtime &other) { return other.has == r.without_delegate; });
            return r.has_substitute ? paired(rest, r.substitute) : rest;
        }
    return r;
}

namespace {

/// The substitute that computes what `r` has no contract for. A profile of no framework has its rows alone.
const runtime *substitute_of(const runtime &r, const contract_row &without, const lowering &node) {
    const runtime *s = &r;
    do {
        if (!s->has_substitute)
            refuse_without_contract(r, without, node.get_node().op);
        s = s->substitute;
    } while (s && s->framework != node.get_graph().framework && !row_of(*s, node));
    return s;
}

} // namespace

std::unique_ptr<step> lower_under(const runtime *r, const lowering &node) {
    const auto own = facts_of(node.get_graph().framework, node.get_node().op).lower;
    const contract_row *found = r ? row_of(*r, node) : nullptr;
    if (!found)
        return own(node);
    if (found->unknown)
        return lower_under(substitute_of(*r, *found, node), node);
    if ((found->runs_in & r->has & ~defaults) == 0)
        return own(node);
    const contract_finder others = [r](const lowering &other) -> std::optional<contract> {
        const contract_row *row = row_of(*r, other);
        if (!row || (row->runs_in & r->has & ~defaults) == 0)
            return {};
        return row->numbers;
    };
    return (found->lower ? found->lower : own)(node.under(found->numbers, others));
}

} // namespace octet::model

namespace octet {
inline namespace v0 {

const std::vector<profile> &all_profiles() {
    static const std::vector<profile> all = [] {
        std::vector<profile> result;
        for (const model::runtime &r : model::runtimes)
            result.push_back(model::profile_of(r));
        return result;
    }();
    return all;
}

namespace {

/// A name may come from a file, and every chain of them that was asked for is kept.
constexpr std::size_t most_parts = 4;

const profile &listed_profile(const std::string &name) {
    for (const profile &p : all_profiles())
        if (p.name == name)
            return p;
    throw error(status::invalid_arguments,
                "there is no profile '" + name + "'; the closest are " + model::closest(name));
}

} // namespace

const profile &find_profile(const std::string &name) {
    const auto parts = static_cast<std::size_t>(std::count(name.begin(), name.end(), '+')) + 1;
    if (parts > most_parts)
        throw error(status::invalid_arguments, "profile '" + name.substr(0, 64) + "...' has " +
                                                   std::to_string(parts) + " parts, allowed: up to " +
                                                   std::to_string(most_parts));
    const profile *first = nullptr;
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
        end = name.find('+', begin);
        const std::string part = name.substr(begin, end - begin);
        if (part.empty() && parts > 1)
            throw error(status::invalid_arguments,
                        "there is no profile '" + name +
                            "', a name stands on either side of a +; the closest are " +
                            model::closest(name));
        const profile &found = listed_profile(part);
        first = first ? first : &found;
    }
    return *first;
}

} // namespace v0
} // namespace octet
