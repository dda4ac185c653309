#pragma once // SPDX-License-Identifier: Apache-2.0

// A lowered node is a step: something that runs on a stream and can say how.

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "network/lower/run_memory.hpp"

namespace octet::model {

/// One lowered node: knows its buffers and what runs it. It holds no state, so that several threads can run it at
/// once, each with memory of its own.
class step {
public:
    virtual ~step() = default;
    /// Generates what is only planned; comes once, on any thread, before all else.
    virtual void make_primitives() {}
    /// Comes once, when all primitives and constants are there. It computes ahead what primitives with s32
    /// biases would compute in their first run.
    virtual void prepare() const {}
    virtual void run(const stream &s, const run_memory &m) const = 0;
    virtual std::string implementation() const = 0; ///< e.g. "ref", "view", "copy"
    virtual std::string explain() const = 0;        ///< problem, plan and refusals, one per line
};

/// A step that is a loop of its own.
class loop_step : public step {
public:
    std::string implementation() const override { return "loop"; }
};

using arguments = std::unordered_map<int, buffer>; ///< by OCTET_ARG_*

/// Primitives that run one after the other.
class primitive_step final : public step {
public:
    void add(const primitive_desc_base &pd, const arguments &args);
    /// Weights that it multiplies and all runs share; none if there are no such.
    buffer weights() const;
    /// True if it can fetch the weights that the network multiplies next. Then `fetch` may come once, before
    /// `make_primitives`.
    bool can_fetch() const;
    void fetch(const buffer &next);
    void make_primitives() override;
    void prepare() const override;
    void run(const stream &s, const run_memory &m) const override;
    std::string implementation() const override;
    std::string explain() const override;

private:
    /// The facts about a buffer that a run needs.
    struct operand {
        int arg;
        slot_id slot;
        void *shared; ///< without a slot
    };
    struct launch {
        primitive_desc_base plan; ///< empty once the primitive is there
        primitive what;
        std::vector<std::pair<int, buffer>> args; ///< owners of shared bytes
        std::vector<operand> operands;            ///< the same, side by side

        std::size_t fetched_bytes() const { return plan.arg_desc(OCTET_ARG_ATTR_PREFETCH).get_size(); }
        bool has_biases_for_a_second_kernel() const;
        void execute_once() const;
    };
    std::vector<launch> launches_;
};

/// A reorder between two buffers.
reorder::primitive_desc reorder_desc(const buffer &src, const buffer &dst, const primitive_attr &attr);

/// A step of one primitive.
std::unique_ptr<step> one_step(const primitive_desc_base &pd, const arguments &args);

/// The output is the input's buffer under other dimensions.
class view_step final : public step {
public:
    void run(const stream &, const run_memory &) const override {}
    std::string implementation() const override { return "view"; }
    std::string explain() const override { return "the input's buffer under other dimensions; nothing runs"; }
};

} // namespace octet::model
