#pragma once // SPDX-License-Identifier: Apache-2.0

// The layers that `octet bench` times: rows of a shape table, as a convolution, an inner product or a matmul.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "octet/octet.hpp"

namespace octet::tools {

enum class layer_kind { convolution, inner_product, matmul };

struct layer {
    layer_kind kind = layer_kind::convolution;
    std::string name;
    std::int64_t count = 1; ///< occurrences in the network
    /// Convolution; dilation counts the zeros between taps, padding is top and left.
    std::int64_t mb = 1, g = 1, ic = 1, ih = 1, iw = 1, oc = 1, oh = 1, ow = 1, kh = 1, kw = 1, sh = 1,
                 sw = 1, ph = 0, pw = 0, dh = 0, dw = 0;
    /// Inner product and matmul: dst[m x n] = src[m x k] * weights[k x n].
    std::int64_t m = 1, n = 1, k = 1;

    bool is_depthwise() const { return kind == layer_kind::convolution && g > 1 && g == ic; }
    std::int64_t channels() const { return kind == layer_kind::convolution ? oc : n; }
    std::int64_t reduction() const { return kind == layer_kind::convolution ? ic / g * kh * kw : k; }
    std::int64_t weights() const { return channels() * reduction(); }
    std::int64_t needed_source() const; ///< elements that some output needs
    std::int64_t destination() const;   ///< elements
    double elements() const;            ///< elements of all its tensors
    double operations() const {         ///< a multiplication and an addition count as two
        const std::int64_t rows = kind == layer_kind::convolution ? mb * oh * ow : m;
        return 2.0 * static_cast<double>(rows) * static_cast<double>(channels() * reduction());
    }
};

/// Reads a table of convolutions or of products; the header tells which (doc/bench.md has the columns, samples
/// are in bench/shapes). Products become `product_kind`. Throws octet::error with file and line.
std::vector<layer> read_layers(const std::string &path, layer_kind product_kind);

/// Weights of products whose source is quantized per row while they run.
struct dynamic_weights {
    data_type type = data_type::s8; ///< or u8, s4, u4
    std::int64_t group = 0;         ///< neighbours along k that share a scale; 0: all
};

struct bench_contract {
    requantization_rule rule = requantization_rule::f32;
    data_type src = data_type::u8, weights = data_type::s8, dst = data_type::u8;
    std::optional<dynamic_weights> dynamic{}; ///< then src and dst are f32

    bool is_f32() const { return src == data_type::f32 && !dynamic; } ///< products of floats
};

/// A layer with its memory, ready to be executed again and again: `any` weights packed beforehand,
/// channels-last activations, per-channel scales, relu after convolutions.
class workload {
public:
    virtual ~workload() = default;
    virtual void run() = 0;
    virtual std::string implementation() const = 0;
};

std::unique_ptr<workload> make_octet_workload(const layer &l, const bench_contract &contract);

/// A product whose source is quantized while it runs, and the contract of the product of codes beside it.
///@{
std::unique_ptr<workload> make_dynamic_workload(const layer &l, const dynamic_weights &d);
bench_contract static_contract();
///@}

/// The layer in oneDNN with at most the instruction set that Octet uses; the rule is oneDNN's own. Throws
/// octet::error where this build has no oneDNN.
std::unique_ptr<workload> make_onednn_workload(const layer &l, const bench_contract &contract);

/// oneDNN's worker threads spin for a while after each run, which would slow whatever runs next: ends them.
void rest_onednn();
void set_onednn_threads(int threads);

/// Scales that spread the results of uniformly random operands over 8 bits.
std::vector<float> layer_scales(const layer &l);
/// Codes or floats that look random, the same in every run.
void fill(void *values, data_type type, std::size_t bytes, std::uint32_t seed);

} // namespace octet::tools
