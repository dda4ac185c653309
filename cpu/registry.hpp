#pragma once

// Who computes a problem. cpu/registry.cpp has one table of families per operation, best first; a family of
// generated code has an entry for each instruction set ("jit:dot/avx512_vnni"), best first too. The first
// entry that the CPU can run and that does not refuse is used; the last one ("ref") takes everything the
// front accepts. A refusal is text for the user.

#include <cstddef>
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

/// Empty: takes it.
template <typename Problem> using refuses_function = std::string (*)(const Problem &, const machine &);
template <typename Problem>
using create_function = std::shared_ptr<const kernel> (*)(const Problem &, const machine &);

/// A family, or what it is on one instruction set.
template <typename Problem> struct implementation {
    std::string name;
    cpu_isa needs;
    refuses_function<Problem> refuses;
    create_function<Problem> create;
};

template <typename Problem> struct selection {
    const implementation<Problem> *chosen = nullptr;
    machine here;                      ///< what `chosen` plans for
    std::vector<std::string> refusals; ///< "name: reason", in table order

    std::shared_ptr<const kernel> create(const Problem &problem) const {
        return chosen->create(problem, here);
    }
};

template <typename Problem> selection<Problem> select(const Problem &problem);

} // namespace octet::impl
