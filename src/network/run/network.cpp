// A network is a plan and memory to run it in.

#include "octet/network.hpp"

#include <chrono>
#include <new>

#include "network/operators.hpp"
#include "network/run/plan.hpp"

namespace octet {
inline namespace v0 {
namespace {

using namespace model;

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

struct network::state {
    explicit state(std::shared_ptr<const model::plan> p) : plan(std::move(p)), memory(plan->memory) {}

    std::shared_ptr<const model::plan> plan;
    run_memory memory;
    octet::stream stream{engine(engine::kind::cpu, 0)};
};

network::network(model::graph g, const network_options &options) {
    if (options.batch != 0)
        set_batch(g, options.batch);
    auto plan = make_plan(std::move(g), options);
    try {
        state_ = std::make_unique<state>(std::move(plan));
    } catch (const std::bad_alloc &) {
        throw error(status::out_of_memory, "not enough memory for the network's tensors");
    }
}

network::network(const std::string &path, const network_options &options) {
    model::graph g = read_network(path);
    try {
        *this = network(std::move(g), options);
    } catch (const error &e) {
        throw error(e.status, path + ": " + e.what());
    }
}

network::network(const void *bytes, std::size_t size, const std::string &name,
                 const network_options &options) {
    model::graph g = read_network(static_cast<const std::uint8_t *>(bytes), size, name);
    try {
        *this = network(std::move(g), options);
    } catch (const error &e) {
        throw error(e.status, name + ": " + e.what());
    }
}

network::~network() = default;
network::network(network &&) noexcept = default;
network &network::operator=(network &&) noexcept = default;

const model::graph &network::get_graph() const { return state_->plan->graph; }

memory network::get_memory(int tensor) const {
    const auto t = static_cast<std::size_t>(tensor);
    const buffer &b = state_->plan->buffers.at(t);
    if (b)
        return memory(b.get_desc(), state_->stream.get_engine(), state_->memory.at(b));
    return memory(memory::desc(get_graph().tensors[t].dims, get_graph().tensors[t].type, memory::dims()),
                  state_->stream.get_engine(), nullptr);
}

std::string network::implementation(std::size_t node) const {
    return state_->plan->steps.at(node)->implementation();
}

std::string network::explain(std::size_t node) const { return state_->plan->steps.at(node)->explain(); }

std::pair<std::size_t, std::size_t> network::buffer_bytes() const {
    return {state_->plan->memory.arena_bytes, state_->plan->memory.unplanned_bytes};
}

void network::run(const observer &after_node) {
    const auto &steps = state_->plan->steps;
    for (std::size_t i = 0; i < steps.size(); i++) {
        const auto start = std::chrono::steady_clock::now();
        steps[i]->run(state_->stream, state_->memory);
        state_->stream.wait();
        if (after_node)
            after_node(i, seconds_since(start));
    }
}

std::vector<std::string> supported_operators(const std::string &framework) {
    return executable_operators(framework);
}

} // namespace v0
} // namespace octet
