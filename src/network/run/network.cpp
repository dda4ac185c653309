// The handle: what contexts share, and one of them.

#include "octet/network.hpp"

#include "network/operators.hpp"
#include "network/run/context.hpp"
#include "network/run/shared_network.hpp"

namespace octet {
inline namespace v0 {

struct network::state {
    explicit state(std::shared_ptr<model::shared_network> s, network_sizes wanted)
        : shared(std::move(s)), sizes(std::move(wanted)), context(shared->at(sizes)) {}

    std::shared_ptr<model::shared_network> shared;
    network_sizes sizes; ///< as they were asked for
    model::context context;
};

namespace {

/// What makes a network of `g`, whose errors begin with the name of its file.
template <typename Make> auto named(const std::string &name, const Make &make) {
    try {
        return make();
    } catch (const error &e) {
        throw error(e.status, name + ": " + e.what());
    }
}

network_sizes sizes_of(const network_options &options) {
    return {options.batch, options.shapes, options.dimensions};
}

} // namespace

network::network(std::unique_ptr<state> s) : state_(std::move(s)) {}

network::network(model::graph g, const network_options &options)
    : state_(std::make_unique<state>(std::make_shared<model::shared_network>(std::move(g), options),
                                     sizes_of(options))) {}

network::network(const std::string &path, const network_options &options) {
    model::graph g = model::read_network(path);
    *this = named(path, [&] { return network(std::move(g), options); });
}

network::network(const void *bytes, std::size_t size, const std::string &name,
                 const network_options &options) {
    model::graph g = model::read_network(static_cast<const std::uint8_t *>(bytes), size, name);
    *this = named(name, [&] { return network(std::move(g), options); });
}

network::~network() = default;
network::network(network &&) noexcept = default;
network &network::operator=(network &&) noexcept = default;

network network::new_context() const {
    return network(std::make_unique<state>(state_->shared, sizes_of(options())));
}

void network::resize(const network_sizes &sizes) {
    state_->context = model::context(state_->shared->at(sizes));
    state_->sizes = sizes;
}

void network::save(const std::string &path) const {
    state_->shared->save(path, state_->context.get_plan(), state_->sizes);
}

const network_options &network::options() const { return state_->shared->options(); }

const model::graph &network::get_graph() const { return state_->context.get_graph(); }

const std::vector<std::string> &network::passes() const { return state_->context.get_plan().fired; }

memory network::get_memory(int tensor) const { return state_->context.get_memory(tensor); }

std::string network::implementation(std::size_t node) const {
    return state_->context.get_plan().steps.at(node)->implementation();
}

std::string network::explain(std::size_t node) const {
    return state_->context.get_plan().steps.at(node)->explain();
}

std::pair<std::size_t, std::size_t> network::buffer_bytes() const {
    const model::memory_plan &plan = state_->context.get_plan().memory;
    return {plan.arena_bytes, plan.unplanned_bytes};
}

std::size_t network::weight_bytes() const { return state_->shared->weight_bytes(); }

void network::bind_input(std::size_t index, const void *bytes, std::size_t size) {
    state_->context.bind_input(input_index(index), bytes, size);
}

void network::bind_output(std::size_t index, void *bytes, std::size_t size) {
    output_index(index); // refuses what is none
    state_->context.bind_output(index, bytes, size);
}

void network::reset_state() { state_->context.reset_state(); }

void network::run(const observer &after_node) {
    const num_threads_scope threads(options().threads);
    const parallel_phase phase;
    state_->context.run(after_node);
}

std::vector<std::string> supported_operators(const std::string &framework) {
    return model::listed_operators(framework);
}

} // namespace v0
} // namespace octet
