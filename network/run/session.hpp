#pragma once // SPDX-License-Identifier: Apache-2.0

// One `network` object: its share of a network, the sizes that it has, and a context to run in. Sizes that
// the file leaves open may be unknown until an input gets them; then there is no context yet, and the graph
// is the one that was read. An input that is resized has memory of its own from then on (it is staged), so
// that inputs can be filled one after the other; the plan for their sizes is made when somebody needs it, at
// the latest by a run.

#include <optional>
#include <vector>

#include "network/run/context.hpp"
#include "network/run/shared_network.hpp"

namespace octet::model {

class session {
public:
    session(std::shared_ptr<shared_network> shared, network_sizes sizes);

    shared_network &shared() const { return *shared_; }
    const std::shared_ptr<shared_network> &get_shared() const { return shared_; }
    /// As they were asked for last.
    const network_sizes &sizes() const { return sizes_; }
    /// The graph that runs, or as it was read while there are no sizes.
    const graph &get_graph() const { return context_ ? context_->get_graph() : *open_; }

    /// Whether all sizes are known: those of the context, and of the staged inputs.
    bool has_sizes() const { return context_ || !is_settled_; }
    /// In the sizes of the staged inputs. Throws octet::error where these do not fit, or a size is still open.
    context &settled();
    void resize(const network_sizes &sizes);
    /// Binds the input with this place among the inputs to bytes of the caller.
    void bind_input(std::size_t input, const void *bytes, std::size_t size);

    /// An input in the sizes that it will have: its description, and its bytes or a null memory where they are unknown.
    struct input_view {
        const graph *of;
        const tensor *description;
        memory bytes;
    };
    input_view input(std::size_t input) const;
    input_view resize_input(std::size_t input, const memory::dims &dims);

private:
    /// Sizes of all inputs as the staged ones say; dimensions of one name have one size.
    network_sizes staged_sizes() const;
    const tensor &current(std::size_t input) const;

    std::shared_ptr<shared_network> shared_;
    network_sizes sizes_;
    std::optional<graph> open_; ///< as read; there is no context
    std::optional<context> context_;

    graph staged_graph_;         ///< holds descriptions of inputs, by their place
    std::vector<memory> staged_; ///< by the place of the input; null: not staged
    bool is_settled_ = true;     ///< the context has the staged sizes
};

} // namespace octet::model
