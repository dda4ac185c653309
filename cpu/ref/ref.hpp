#pragma once // SPDX-License-Identifier: Apache-2.0

// Reference kernels: each reads like its formula and is the meaning of the operation. They take every problem
// that the front accepts, in any layout, and run in parallel over destination elements.

#include <memory>

#include "cpu/implementation.hpp"

namespace octet::impl {

struct convolution_problem;
struct matmul_problem;
struct dynamic_matmul_problem;
struct reorder_problem;
struct pooling_problem;
struct binary_problem;
struct softmax_problem;
struct lrn_problem;
struct prelu_problem;
struct sum_problem;
struct resampling_problem;
struct deconvolution_problem;
struct eltwise_problem;
struct batch_normalization_problem;
struct layer_normalization_problem;
struct reduction_problem;
struct rnn_problem;

} // namespace octet::impl

namespace octet::impl::ref {

std::shared_ptr<const kernel> create(const convolution_problem &p);
std::shared_ptr<const kernel> create(const matmul_problem &p);
std::shared_ptr<const kernel> create(const dynamic_matmul_problem &p);
std::shared_ptr<const kernel> create(const reorder_problem &p);
std::shared_ptr<const kernel> create(const pooling_problem &p);
std::shared_ptr<const kernel> create(const binary_problem &p);
std::shared_ptr<const kernel> create(const softmax_problem &p);
std::shared_ptr<const kernel> create(const lrn_problem &p);
std::shared_ptr<const kernel> create(const prelu_problem &p);
std::shared_ptr<const kernel> create(const sum_problem &p);
std::shared_ptr<const kernel> create(const resampling_problem &p);
std::shared_ptr<const kernel> create(const deconvolution_problem &p);
std::shared_ptr<const kernel> create(const eltwise_problem &p);
std::shared_ptr<const kernel> create(const batch_normalization_problem &p);
std::shared_ptr<const kernel> create(const layer_normalization_problem &p);
std::shared_ptr<const kernel> create(const reduction_problem &p);
std::shared_ptr<const kernel> create(const rnn_problem &p);

/// A reference kernel is a function of problem and arguments.
template <typename Problem> class reference_kernel : public kernel {
public:
    using function = void (*)(const Problem &, const arguments &);
    reference_kernel(const Problem &problem, function run) : problem_(problem), run_(run) {}

    void execute(const arguments &args) const override { run_(problem_, args); }
    std::size_t size_bytes() const override { return sizeof *this; }
    std::string plan() const override { return "the definition, element by element"; }

private:
    const Problem problem_;
    const function run_;
};

} // namespace octet::impl::ref
