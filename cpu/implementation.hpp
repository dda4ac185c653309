#pragma once // SPDX-License-Identifier: Apache-2.0

// The types of an implementation: a family answers a problem with a candidate, from which a kernel is made.
// For those who write implementations; cpu/choice/registry.hpp chooses among them.
//
// A family is asked once: its candidate is a refusal, which is text for the user, or holds what it has found out about
// the problem until the kernel is wanted, which may be never (the primitive cache has it).

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "common/arguments.hpp"
#include "common/machine.hpp"
#include "common/problem.hpp"

namespace octet::impl {

/// Something that executes one problem. Immutable, shared by all primitives with an equal key.
class kernel {
public:
    virtual ~kernel() = default;
    virtual void execute(const arguments &args) const = 0;
    virtual std::size_t size_bytes() const = 0; ///< for the primitive cache
    /// How it runs, for people, on one line: tiles, copies, packed weights, what its parts do, and what it leaves to
    /// another kernel.
    virtual std::string plan() const = 0;
};

/// Adds the plan of a part to those of the parts before it; phases that are alike are told once.
inline void append_plan(std::string &plans, const kernel &part) {
    const std::string plan = part.plan();
    if (plans.find(plan) == std::string::npos)
        plans += (plans.empty() ? "" : "; ") + plan;
}

/// A family's answer to a problem on a machine.
class candidate {
public:
    using maker = std::function<std::shared_ptr<const kernel>()>;

    /// Takes the problem; `make` plans the rest and generates code.
    explicit candidate(maker make) : make_(std::make_shared<const maker>(std::move(make))) {}
    static candidate refused(std::string reason) { return candidate(std::move(reason)); }

    bool is_refused() const { return !make_; }
    const std::string &reason() const { return reason_; } ///< one for users, where it is refused
    std::shared_ptr<const kernel> make() const { return (*make_)(); }

private:
    explicit candidate(std::string reason) : reason_(std::move(reason)) {}
    std::string reason_;
    std::shared_ptr<const maker>
        make_; ///< shared: candidates are copied into the candidates that are made of them
};

template <typename Problem> using plan_function = candidate (*)(const Problem &, const machine &);

} // namespace octet::impl
