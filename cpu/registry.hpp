#pragma once

// Who computes a problem. cpu/registry.cpp has one table of families per operation, best first; a family of
// generated code has an entry for each instruction set ("jit:dot/avx512_vnni"), best first too. The first
// entry that the CPU can run and that does not refuse is used; the last one ("ref") takes everything the
// front accepts. A refusal is text for the user.
//
// A family is asked once: its offer is a refusal, or holds what it has found out about the problem until the
// kernel is wanted, which may be never (the primitive cache has it).

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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
    /// How it runs, for people: tiles, copies, packed weights. Empty where there is nothing to plan.
    virtual std::string plan() const { return {}; }
};

/// A family's answer to a problem on a machine.
class offer {
public:
    using maker = std::function<std::shared_ptr<const kernel>()>;

    /// Takes the problem; `make` plans the rest and generates code.
    explicit offer(maker make) : make_(std::make_shared<const maker>(std::move(make))) {}
    static offer refused(std::string reason) { return offer(std::move(reason)); }

    bool is_refused() const { return !make_; }
    const std::string &reason() const { return reason_; } ///< one for users, where it is refused
    std::shared_ptr<const kernel> make() const { return (*make_)(); }

private:
    explicit offer(std::string reason) : reason_(std::move(reason)) {}
    std::string reason_;
    std::shared_ptr<const maker> make_; ///< shared: offers are copied into the offers that are made of them
};

template <typename Problem> using plan_function = offer (*)(const Problem &, const machine &);

/// A family, or what it is on one instruction set.
template <typename Problem> struct implementation {
    std::string name;
    cpu_isa needs;
    plan_function<Problem> plan;
};

template <typename Problem> struct selection {
    const implementation<Problem> *chosen = nullptr;
    offer taken = offer::refused({});  ///< by `chosen`
    machine here;                      ///< that it plans for
    std::vector<std::string> refusals; ///< "name: reason", in table order
};

template <typename Problem> selection<Problem> select(const Problem &problem);

} // namespace octet::impl
