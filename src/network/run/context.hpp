#pragma once

// A place where a network runs: memory as its plan says, and the buffers that the caller bound instead.

#include <optional>

#include "network/run/plan.hpp"

namespace octet::model {

class context {
public:
    /// Throws octet::error with status out_of_memory.
    explicit context(std::shared_ptr<const plan> p);

    const plan &get_plan() const { return *plan_; }
    const graph &get_graph() const { return plan_->graph; }
    memory get_memory(int tensor) const;

    void run(const network::observer &after_node);
    void bind_input(int tensor, const void *bytes, std::size_t size);
    void bind_output(int tensor, void *bytes, std::size_t size);
    void reset_state();

private:
    struct binding {
        int tensor;
        void *bytes;
        std::size_t size;
        bool is_written; ///< an output; inputs may share their bytes
        bool is_copied;  ///< after each run
    };

    void check_binding(int tensor, const void *bytes, std::size_t size, bool is_written) const;
    void bind(int tensor, void *bytes, std::size_t size, bool is_written, bool is_copied);
    bool has_bytes_of_its_own(int output) const;

    std::shared_ptr<const plan> plan_;
    run_memory memory_;
    std::vector<binding> bindings_;
    stream stream_{engine(engine::kind::cpu, 0)};
};

} // namespace octet::model
