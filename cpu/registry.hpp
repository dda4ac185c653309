#pragma once

// One table of implementations per operation, best first. The first entry that the CPU can run and that does
// not refuse is used; the last one ("ref") takes everything the front accepts. A refusal is text for the
// user.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "common/arguments.hpp"
#include "common/problem.hpp"
#include "octet/settings.hpp"

namespace octet::impl {

/// Something that executes one problem. Immutable, shared by all primitives with an equal key.
class kernel {
public:
    virtual ~kernel() = default;
    virtual void execute(const arguments &args) const = 0;
    virtual std::size_t size_bytes() const = 0; ///< for the primitive cache
    /// How it runs, for people: tiles, copies, packed weights. Empty where there is nothing to plan.
    virtual std::string plan() const { return {}; }
};

template <typename Problem> struct implementation {
    const char *name;
    cpu_isa needs;
    std::string (*refuses)(const Problem &); ///< empty: takes it
    std::shared_ptr<const kernel> (*create)(const Problem &);
};

template <typename Problem> using implementation_list = std::vector<implementation<Problem>>;

/// The tables: cpu/registry.cpp.
template <typename Problem> const implementation_list<Problem> &implementations();
template <> const implementation_list<convolution_problem> &implementations();
template <> const implementation_list<matmul_problem> &implementations();
template <> const implementation_list<reorder_problem> &implementations();
template <> const implementation_list<pooling_problem> &implementations();
template <> const implementation_list<binary_problem> &implementations();
template <> const implementation_list<softmax_problem> &implementations();
template <> const implementation_list<prelu_problem> &implementations();
template <> const implementation_list<sum_problem> &implementations();
template <> const implementation_list<concat_problem> &implementations();
template <> const implementation_list<resampling_problem> &implementations();
template <> const implementation_list<deconvolution_problem> &implementations();
template <> const implementation_list<eltwise_problem> &implementations();

template <typename Problem> struct selection {
    const implementation<Problem> *chosen = nullptr;
    std::vector<std::string> refusals; ///< "name: reason", in table order
};

template <typename Problem> selection<Problem> select(const Problem &problem);

} // namespace octet::impl
