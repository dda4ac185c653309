#pragma once

// What a lowered node is: something that runs on a stream and can say how.

#include <memory>
#include <string>
#include <unordered_map>

#include "network/graph/graph.hpp"

namespace octet::model {

/// One lowered node: knows its buffers and what runs it.
class step {
public:
    virtual ~step() = default;
    virtual void run(const stream &s) = 0;
    virtual std::string implementation() const = 0; ///< e.g. "ref", "view", "copy"
    virtual std::string explain() const = 0;        ///< problem, plan and refusals, one per line
};

using arguments = std::unordered_map<int, memory>;

/// Primitives that run one after the other.
class primitive_step final : public step {
public:
    void add(const primitive_desc_base &pd, arguments args);
    void run(const stream &s) override;
    std::string implementation() const override;
    std::string explain() const override;

private:
    struct launch {
        primitive_desc_base pd;
        primitive what;
        arguments args;
    };
    std::vector<launch> launches_;
};

/// A step of one primitive.
std::unique_ptr<step> one_step(const primitive_desc_base &pd, arguments args);

/// The output is the input's buffer under other dimensions.
class view_step final : public step {
public:
    void run(const stream &) override {}
    std::string implementation() const override { return "view"; }
    std::string explain() const override { return "the input's buffer under other dimensions; nothing runs"; }
};

} // namespace octet::model
