// The handle: what contexts share, and one of them.
// SPDX-License-Identifier: Apache-2.0
#include "octet/network.hpp"

#include "network/dialect.hpp"
#include "network/run/session.hpp"
#include "storage/replacement.hpp"

namespace octet {
inline namespace v0 {

namespace {

network_sizes sizes_of(const network_options &options) {
    return {options.batch, options.shapes, options.dimensions};
}

} // namespace

network::network(std::unique_ptr<model::session> s) : session_(std::move(s)) {}

network::network(model::graph g, const network_options &options)
    : session_(std::make_unique<model::session>(
          std::make_shared<model::shared_network>(std::move(g), options), sizes_of(options))) {}

network::~network() = default;
network::network(network &&) noexcept = default;
network &network::operator=(network &&) noexcept = default;

network network::new_context() const {
    return network(std::make_unique<model::session>(session_->get_shared(), sizes_of(options())));
}

void network::resize(const network_sizes &sizes) { session_->resize(sizes); }

void network::save(const std::string &path) const {
    const model::plan &p = session_->settled().get_plan();
    storage::replacement file(path);
    session_->shared().save([&](const void *bytes, std::size_t size) { file.write(bytes, size); }, p,
                            session_->sizes());
    file.commit();
}

std::vector<std::uint8_t> network::save() const {
    const model::plan &p = session_->settled().get_plan();
    std::vector<std::uint8_t> saved;
    session_->shared().save(
        [&](const void *bytes, std::size_t size) {
            const auto *first = static_cast<const std::uint8_t *>(bytes);
            saved.insert(saved.end(), first, first + size);
        },
        p, session_->sizes());
    return saved;
}

const network_options &network::options() const { return session_->shared().options(); }

const model::graph &network::get_graph() const { return session_->get_graph(); }

const std::vector<std::string> &network::passes() const {
    return session_->settled().get_plan().transformed.passes;
}
const std::vector<std::string> &network::operators_left() const {
    return session_->settled().get_plan().transformed.operators;
}

memory network::get_memory(int tensor) const {
    return session_->settled().get_memory(model::tensor_id(tensor));
}

std::string network::implementation(std::size_t node) const {
    return session_->settled().get_plan().steps.at(node)->implementation();
}

std::string network::explain(std::size_t node) const {
    return session_->settled().get_plan().steps.at(node)->explain();
}

std::pair<std::size_t, std::size_t> network::buffer_bytes() const {
    const model::memory_plan &plan = session_->settled().get_plan().memory;
    return {plan.arena_bytes, plan.unplanned_bytes};
}

std::size_t network::weight_bytes() const { return session_->shared().weight_bytes(); }

void network::bind_input(std::size_t index, const void *bytes, std::size_t size) {
    input_index(index); // refuses what is none
    session_->bind_input(index, bytes, size);
}

void network::bind_output(std::size_t index, void *bytes, std::size_t size) {
    output_index(index); // likewise
    session_->settled().bind_output(index, bytes, size);
}

void network::bind(const std::vector<source_buffer> &inputs, const std::vector<result_buffer> &outputs) {
    const auto check = [](const char *what, std::size_t given, std::size_t allowed) {
        if (given != allowed)
            model::refuse(std::to_string(given) + " buffers of " + what + " are given, allowed are " +
                          std::to_string(allowed) + ", one each");
    };
    check("inputs", inputs.size(), input_count());
    check("outputs", outputs.size(), output_count());
    session_->settled().bind(inputs, outputs);
}

void network::bind() {
    bind(std::vector<source_buffer>(input_count()), std::vector<result_buffer>(output_count()));
}

void network::forget_borrowed() { session_->shared().forget_borrowed(); }

void network::reset_state() { session_->settled().reset_state(); }

void network::run(const observer &after_node) {
    const num_threads_scope threads(options().threads);
    const parallel_phase phase;
    session_->settled().run(after_node);
}

std::vector<std::string> supported_operators(const std::string &framework) {
    return model::dialect_of(framework).operators().listed();
}

} // namespace v0
} // namespace octet
