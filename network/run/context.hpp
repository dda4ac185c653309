#pragma once // SPDX-License-Identifier: Apache-2.0

// A place where a network runs: memory as its plan says, and the buffers that the caller bound instead.

#include <optional>

#include "network/lower/appending.hpp"
#include "network/run/plan.hpp"

namespace octet::model {

class context {
public:
    /// Throws octet::error with status out_of_memory.
    explicit context(std::shared_ptr<const plan> p);

    const plan &get_plan() const { return *plan_; }
    const graph &get_graph() const { return plan_->graph; }
    memory get_memory(tensor_id t) const;

    void run(const network::observer &after_node);
    void bind_input(tensor_id t, const void *bytes, std::size_t size);
    /// Binds one of the network's outputs, which may have one tensor several times.
    void bind_output(std::size_t output, void *bytes, std::size_t size);
    /// All of them, with null bytes for those that are not bound; one for each input and output.
    void bind(const std::vector<network::source_buffer> &inputs,
              const std::vector<network::result_buffer> &outputs);
    /// The step that appends to the input and gives the output, if nothing else reads the input; else null.
    const appending_step *appending(tensor_id past, tensor_id present) const;
    /// Lets each sequence of a batch have its past, and what this becomes, in bytes of its own. Both are lent.
    void bind_sequences(tensor_id past, tensor_id present, const std::vector<sequence_place> &places);
    void reset_state();
    /// Inputs as they are in `old`, a context of the same network in other sizes, but those that `staged`
    /// has, and buffers bound to outputs. Throws octet::error where such a buffer has not the size of its
    /// output.
    void take_over(const context &old, const std::vector<memory> &staged);

private:
    struct binding {
        tensor_id tensor;
        std::optional<std::size_t> output; ///< among the network's; none: an input, which may share bytes
        void *bytes;
        std::size_t size;
        bool is_copied; ///< after each run

        bool is_of(const binding &other) const { return tensor == other.tensor && output == other.output; }
    };

    void check_binding(const binding &b) const;
    bool are_appended(const binding &past, const binding &present) const;
    void bind(const binding &b);
    bool is_bound_input(tensor_id t) const;
    bool has_bytes_of_its_own(tensor_id output) const;

    std::shared_ptr<const plan> plan_;
    run_memory memory_;
    std::vector<binding> bindings_;
    stream stream_{engine(engine::kind::cpu, 0)};
};

} // namespace octet::model
