#pragma once // SPDX-License-Identifier: Apache-2.0

// A problem for both libraries, in plain values: no type of either library appears here, so that one
// translation unit can hold a problem for the two clients that are compiled from client.inl.

#include <cstdint>
#include <string>
#include <vector>

namespace peers {

using dims = std::vector<std::int64_t>;
using bytes = std::vector<std::uint8_t>;

enum class operation {
    convolution,
    inner_product,
    matmul,
    reorder,
    pooling,
    binary,
    deconvolution,
    eltwise,
    softmax,
    prelu,
    resampling,
    sum,
    concat,
    lrn,
    shuffle,
    logsoftmax,
    fused_depthwise ///< 1x1 convolution with a depthwise one as its post-op
};
enum class type { none, f32, s32, s8, u8, bf16 };

/// A tensor with its elements in row-major order of `shape`; without a shape it is absent. `layout` is what
/// the client asks for: "any", "channels_last", letters as in oneDNN, or nothing for row-major. Elements are
/// reordered on the way.
struct tensor {
    dims shape;
    type element = type::none;
    std::string layout;
    bytes data;

    bool is_absent() const { return shape.empty(); }
};

/// Values of an attribute with their mask, given at creation or at execution.
template <typename T> struct masked {
    bool set = false;
    int mask = 0;
    std::vector<T> values;
    bool runtime = false;
};

/// One entry of a post-op chain: "sum", "prelu", "dw", "binary_add" and the like, or an eltwise algorithm's name.
struct post_op {
    std::string name;
    float scale = 1.f, alpha = 0.f, beta = 0.f; ///< sum has the first, eltwise all
    std::int32_t zero_point = 0;                ///< sum
    type sum_type = type::none;
    int mask = 0; ///< prelu
    tensor input; ///< binary: src1; prelu, dw: weights
    tensor bias;  ///< dw, as the rest
    std::int64_t kernel = 3, stride = 1, padding = 1;
    std::vector<float> scales;

    bool is_sum() const { return name == "sum"; }
    bool is_prelu() const { return name == "prelu"; }
    bool is_depthwise() const { return name == "dw"; }
    bool is_binary() const { return name.compare(0, 7, "binary_") == 0; }
    bool is_eltwise() const { return !is_sum() && !is_prelu() && !is_depthwise() && !is_binary(); }
};

struct attributes {
    masked<float> scales;
    masked<std::int32_t> src_zero_points, weights_zero_points, dst_zero_points;
    float src_scale = 1.f, src1_scale = 1.f; ///< binary
    std::vector<post_op> post_ops;
};

/// An operation's tensors and parameters; those that it does not have stay empty. `dst.data` is what lies in
/// the destination before the execution.
struct problem {
    operation op = operation::convolution;
    std::string algorithm; ///< pooling, binary, eltwise, softmax, resampling, lrn
    tensor src, src1, weights, bias, dst;
    std::vector<tensor> srcs;               ///< sum, concat
    std::vector<float> scales;              ///< scales of srcs
    float alpha = 0.f, beta = 0.f, k = 1.f; ///< eltwise; lrn has k, too
    int axis = 0;                           ///< softmax, logsoftmax, shuffle, concat
    std::int64_t size = 1;                  ///< of lrn's window, of shuffle's groups
    tensor between;                         ///< fused_depthwise: what the first convolution gives
    dims kernel, strides, dilates, padding_l, padding_r;
    attributes attr;
};

/// The result of one implementation: the destination in row-major order.
struct answer {
    std::string implementation;
    bytes dst;
};

/// One answer for each implementation that takes the problem, best first; none, and the reason, if nobody
/// does.
struct answers {
    std::vector<answer> list;
    std::string refusal;
};

/// Asked in a library of its own, which hides the rest of oneDNN's header.
namespace onednn {
__attribute__((visibility("default"))) answers ask(const problem &p);
__attribute__((visibility("default"))) std::string api_tour();
} // namespace onednn

namespace octet {
answers ask(const problem &p);
std::string api_tour();
} // namespace octet

} // namespace peers
