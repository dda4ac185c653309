// SPDX-License-Identifier: Apache-2.0
#include "deviations.hpp"

#include <algorithm>
#include <cmath>

#include "random.hpp"

namespace peers {

namespace {

bool starts_with(const std::string &name, const char *prefix) { return name.rfind(prefix, 0) == 0; }
bool contains(const std::string &name, const char *part) { return name.find(part) != std::string::npos; }

template <typename Predicate> bool any_post_op(const problem &p, Predicate matches) {
    return std::any_of(p.attr.post_ops.begin(), p.attr.post_ops.end(), matches);
}

/// Two sums with different parameters, or an eltwise algorithm that occurs twice.
bool repeats_a_post_op(const problem &p) {
    for (const post_op &a : p.attr.post_ops)
        for (const post_op &b : p.attr.post_ops)
            if (&a < &b && a.name == b.name &&
                (a.is_eltwise() || (a.is_sum() && (a.scale != b.scale || a.zero_point != b.zero_point ||
                                                   a.sum_type != b.sum_type))))
                return true;
    return false;
}

/// Functions that are a few exact operations in any compiler's code.
bool is_exact_function(const std::string &name) {
    static const char *const exact[] = {"relu", "square", "abs", "bounded_relu", "clip", "clip_v2", "round"};
    return std::any_of(std::begin(exact), std::end(exact), [&](const char *e) { return name == e; });
}

/// The reference code is portable C++: it has no fused multiply-add and takes its functions from the C
/// library.
bool rounds_otherwise_in_cpp(const post_op &op) {
    if (op.is_sum())
        return op.scale != 1.f;
    return op.is_eltwise() && !is_exact_function(op.name);
}

template <typename Predicate> bool any_f32(const tensor &t, Predicate matches) {
    if (t.element != type::f32)
        return false;
    for (std::size_t i = 0; i < t.data.size() / sizeof(float); i++)
        if (matches(element<float>(t.data, i)))
            return true;
    return false;
}
bool has_non_finite(const tensor &t) {
    return any_f32(t, [](float x) { return !std::isfinite(x); });
}
bool exceeds_s32(const tensor &t) {
    return any_f32(t, [](float x) { return !(std::abs(x) < 2147483648.f); });
}

/// Tensors with infinities or NaN, or functions that are not defined everywhere.
bool may_see_nan(const problem &p) {
    static const char *const partial[] = {"binary_div", "sqrt", "log", "pow"};
    const auto is_partial = [](const std::string &name) {
        return std::find(std::begin(partial), std::end(partial), name) != std::end(partial);
    };
    return has_non_finite(p.src) || has_non_finite(p.src1) || has_non_finite(p.bias) ||
           is_partial(p.algorithm) ||
           any_post_op(p, [&](const post_op &op) { return is_partial(op.name) || has_non_finite(op.input); });
}

bool calls_the_c_library(const post_op &op) {
    return op.name == "pow" && op.beta != 0.f && op.beta != 1.f && op.beta != 2.f && op.beta != 0.5f &&
           op.beta != -1.f;
}

const char *pooling_deviation(const problem &p) {
    // The product differs from the documented quotient in the last bit, which without post-ops shows at few
    // sizes: 14, 26, 28, …
    if (p.algorithm != "pooling_max" && !p.attr.post_ops.empty())
        return "averages are products with the reciprocal";
    if (may_see_nan(p) || any_post_op(p, [](const post_op &op) { return op.name == "exp"; }))
        return "NaN and values beyond s32 become the lowest code";
    return nullptr;
}

/// Some output position along an axis has all its taps in the padding.
bool has_empty_window(const problem &p) {
    const std::size_t first_dim = p.src.shape.size() - p.strides.size(),
                      first_weights_dim = p.weights.shape.size() - p.strides.size();
    for (std::size_t a = 0; a < p.strides.size(); a++)
        for (std::int64_t o = 0; o < p.dst.shape[first_dim + a]; o++) {
            bool empty = true;
            for (std::int64_t k = 0; k < p.weights.shape[first_weights_dim + a]; k++) {
                const std::int64_t i = o * p.strides[a] - p.padding_l[a] + k * (p.dilates[a] + 1);
                empty = empty && (i < 0 || i >= p.src.shape[first_dim + a]);
            }
            if (empty)
                return true;
        }
    return false;
}

bool is_strided_1x1(const problem &p) {
    const auto taps = p.weights.shape.end() - static_cast<std::ptrdiff_t>(p.strides.size());
    return std::all_of(taps, p.weights.shape.end(), [](std::int64_t k) { return k == 1; }) &&
           std::any_of(p.strides.begin(), p.strides.end(), [](std::int64_t s) { return s != 1; });
}

/// Two or more adjacent masked dimensions, then one that is not masked, then another that is: 0b1011, but not
/// 0b1101.
bool has_gap_after_two(int mask) {
    for (int run = 0; mask != 0; mask >>= 1) {
        if (mask & 1)
            run++;
        else if (run >= 2)
            return true;
        else
            run = 0;
    }
    return false;
}

/// Some destination position along an axis gets nothing: the stride is larger than what the kernel covers.
bool has_position_without_taps(const problem &p) {
    const std::size_t first_dim = p.dst.shape.size() - p.strides.size(),
                      first_weights_dim = p.weights.shape.size() - p.strides.size();
    for (std::size_t a = 0; a < p.strides.size(); a++)
        for (std::int64_t o = 0; o < p.dst.shape[first_dim + a]; o++) {
            bool empty = true;
            for (std::int64_t k = 0; k < p.weights.shape[first_weights_dim + a]; k++) {
                const std::int64_t i = o + p.padding_l[a] - k * (p.dilates[a] + 1);
                empty = empty &&
                        (i < 0 || i % p.strides[a] != 0 || i / p.strides[a] >= p.src.shape[first_dim + a]);
            }
            if (empty)
                return true;
        }
    return false;
}

const char *deconvolution_deviation(const problem &p, const std::string &implementation) {
    if (contains(implementation, "gemm") && any_post_op(p, rounds_otherwise_in_cpp))
        return "the gemm-based deconvolution finishes in portable C++";
    if (may_see_nan(p))
        return "NaN becomes another code than in convolutions";
    if (starts_with(implementation, "jit") && has_position_without_taps(p))
        return "destination positions that no tap reaches";
    return nullptr;
}

const char *elementwise_deviation(const problem &p, const std::string &implementation) {
    const bool is_cpp = starts_with(implementation, "ref") || starts_with(implementation, "simple");
    const bool has_fma = contains(implementation, "avx2") || contains(implementation, "avx512");
    if (p.op == operation::eltwise && !has_fma && !is_exact_function(p.algorithm))
        return "no fused multiply-add; the reference also calls the C library";
    if (p.op == operation::resampling && p.algorithm == "resampling_linear" &&
        (is_cpp || p.src.layout != "channels_last"))
        return "other layouts add the products of the corners in another order";
    return nullptr;
}

const char *reorder_deviation(const problem &p, const std::string &implementation) {
    const bool zero_points = p.attr.src_zero_points.set || p.attr.dst_zero_points.set;
    const bool eights =
        std::any_of(p.src.shape.begin(), p.src.shape.end(), [](std::int64_t d) { return d % 8 == 0; });
    if (p.src.element == type::s32 && p.dst.element == type::s32 && !p.attr.scales.set)
        return "s32 to s32 goes through f32";
    if (starts_with(implementation, "jit:uni")) {
        if (p.attr.scales.set && has_gap_after_two(p.attr.scales.mask))
            return "the scales of a mask with a gap are mixed up";
        if (eights && zero_points)
            return "the kernel that transposes blocks of 8 x 8 ignores zero points";
        if (eights && p.src.element == type::s32)
            return "the kernel for blocks of 8 x 8 saturates its s32 source";
        if (!p.attr.scales.set && p.dst.element == type::s32 && exceeds_s32(p.src))
            return "copies from f32 to s32 without scales do not saturate";
        return nullptr;
    }
    if (may_see_nan(p))
        return "NaN becomes another code than in the vectorised reorder";
    if (!p.attr.post_ops.empty() && p.attr.dst_zero_points.set)
        return "the destination zero point is added before the sum";
    return nullptr;
}

/// Octet gives the bytes of the kernels that oneDNN chooses with AVX-512.
const char *lrn_deviation(const problem &p, const std::string &implementation) {
    const bool is_ref = contains(implementation, "ref"), is_f32 = p.src.element == type::f32;
    const std::int64_t channels = p.src.shape[1];
    const bool in_vectors = channels % 16 == 0 && channels >= 32,
               in_half_vectors = channels % 8 == 0 && channels >= 16 && is_f32;
    const bool is_nhwc = p.src.layout == "channels_last", is_across = p.algorithm == "lrn_across_channels";
    const bool has_kernel =
        is_across
            ? is_nhwc ? p.beta == 0.75f || p.beta == 1.f : p.beta == 0.75f && p.size == 5 && in_half_vectors
            : is_nhwc && p.beta == 0.75f && p.size <= 5 && p.src.shape[2] >= p.size &&
                  p.src.shape[3] >= p.size && (in_vectors || in_half_vectors);
    if (is_ref && has_kernel)
        return "the reference has another order of operations than the kernel for AVX-512";
    if (!is_ref && (!has_kernel || !contains(implementation, "avx512")))
        return "a kernel of a level below has another order than what AVX-512 runs";
    return nullptr;
}

const char *logsoftmax_deviation(const problem &p, const std::string &implementation) {
    bool is_innermost = true;
    for (std::size_t d = static_cast<std::size_t>(p.axis) + 1; d < p.src.shape.size(); d++)
        is_innermost = is_innermost && p.src.shape[d] == 1;
    if (is_innermost && !contains(implementation, "avx512"))
        return "sums of rows have the lanes of AVX-512";
    return nullptr;
}

} // namespace

const char *deviation(const problem &p, const std::string &implementation) {
    if (p.op == operation::lrn)
        return lrn_deviation(p, implementation);
    if (p.op == operation::logsoftmax)
        return logsoftmax_deviation(p, implementation);
    if (p.op == operation::shuffle || p.op == operation::fused_depthwise)
        return nullptr;
    if (p.op == operation::reorder)
        return reorder_deviation(p, implementation);
    if (p.op == operation::eltwise || p.op == operation::resampling)
        return elementwise_deviation(p, implementation);
    if (starts_with(implementation, "ref")) {
        if (any_post_op(p, rounds_otherwise_in_cpp))
            return "the reference has no fused multiply-add and calls the C library";
        if (may_see_nan(p))
            return "the reference converts NaN otherwise than the vector instructions";
        return nullptr;
    }
    if (contains(implementation, "avx2") || contains(implementation, "sse41"))
        return "weights are halved without VNNI, and sums are not fused";
    if (any_post_op(p, calls_the_c_library))
        return "pow is the C library's, which does not round correctly";
    if (p.op == operation::pooling)
        return pooling_deviation(p);
    if (p.op == operation::deconvolution)
        if (const char *reason = deconvolution_deviation(p, implementation))
            return reason;
    if (repeats_a_post_op(p))
        return "the kernels keep one set of parameters per eltwise algorithm and one for all sums";
    if (p.op == operation::convolution && contains(implementation, "gemm")) {
        if (any_post_op(p, [](const post_op &op) { return op.is_binary(); }))
            return "binary with the channels of another thread";
        if (is_strided_1x1(p))
            return "wrong rows of a strided 1x1 convolution";
    }
    if (starts_with(implementation, "brgconv") &&
        any_post_op(p, [](const post_op &op) { return op.is_sum(); }) && has_empty_window(p))
        return "sum where a window lies wholly in the padding";
    return nullptr;
}

} // namespace peers
