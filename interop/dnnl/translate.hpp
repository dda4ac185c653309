#pragma once

// From a request in oneDNN's words to a problem of Octet's: a function per operation, in the file of its family.

#include <memory>

#include "dnnl/problem.hpp"

namespace octet::interop {

/// True for what Octet might take, by operation and types: a look that costs next to nothing, since every float problem of
/// a client comes by.
bool is_candidate(const request &r);

/// The problem, complete. Throws `refusal` or octet::error with the reason why it is not Octet's.
std::shared_ptr<const problem> translate(const request &r);

/// The part of an operation: Octet's primitive descriptor and the tensors of `p`. Attributes are read already; an empty
/// primitive descriptor is not returned.
///@{
void translate_convolution(const dnnl_convolution_desc_t &d, const octet::primitive_attr &attr, problem &p);
void translate_deconvolution(const dnnl_deconvolution_desc_t &d, const octet::primitive_attr &attr,
                             problem &p);
void translate_inner_product(const dnnl_inner_product_desc_t &d, const octet::primitive_attr &attr,
                             problem &p);
void translate_matmul(const dnnl_matmul_desc_t &d, const octet::primitive_attr &attr, problem &p);

void translate_pooling(const dnnl_pooling_v2_desc_t &d, const octet::primitive_attr &attr, problem &p);
void translate_binary(const dnnl_binary_desc_t &d, const octet::primitive_attr &attr, problem &p);
void translate_eltwise(const dnnl_eltwise_desc_t &d, const octet::primitive_attr &attr, problem &p);
void translate_softmax(const dnnl_softmax_desc_t &d, dnnl_alg_kind_t alg, const octet::primitive_attr &attr,
                       problem &p);
void translate_softmax(const dnnl_softmax_v2_desc_t &d, const octet::primitive_attr &attr, problem &p);
void translate_resampling(const dnnl_resampling_desc_t &d, const octet::primitive_attr &attr, problem &p);
void translate_prelu(const dnnl_prelu_desc_t &d, const octet::primitive_attr &attr, problem &p);

void translate_reorder(const request &r, const octet::primitive_attr &attr, problem &p);
void translate_sum(const request &r, const octet::primitive_attr &attr, problem &p);
void translate_concat(const request &r, const octet::primitive_attr &attr, problem &p);
///@}

/// The one engine that Octet has.
inline octet::engine octet_engine() { return octet::engine(octet::engine::kind::cpu, 0); }

} // namespace octet::interop
