// Staging, and moving from one context to the next: inputs whose sizes stay keep their contents or their bound buffers.
// SPDX-License-Identifier: Apache-2.0
#include "network/run/session.hpp"

#include <algorithm>

#include "network/graph/descs.hpp"
#include "network/run/sizes.hpp"

namespace octet::model {
namespace {

/// The name that the reader gives a dimension without one is no other's.
bool has_name(const tensor &input, std::size_t dim) {
    return dim < input.dim_names.size() && !input.dim_names[dim].empty() &&
           input.dim_names[dim] != "dimension " + std::to_string(dim);
}

void check_dims(const tensor &input, const memory::dims &dims) {
    const std::string who = "input '" + input.name + "': ";
    if (dims.size() != input.dims.size())
        refuse(who + "shape " + to_text(dims) + " is given, allowed are " +
               std::to_string(input.dims.size()) + " dimensions");
    for (const dim_t d : dims)
        if (d < 0)
            refuse(who + "shape " + to_text(dims) + " is given, allowed are dimensions of 0 or more");
}

} // namespace

session::session(std::shared_ptr<shared_network> shared, network_sizes sizes)
    : shared_(std::move(shared)), sizes_(std::move(sizes)) {
    open_ = shared_->open_graph(sizes_);
    if (!open_)
        context_.emplace(shared_->at(sizes_));
}

const tensor &session::current(std::size_t input) const {
    return tensor_at(get_graph(), inputs_of(get_graph())[input]);
}

session::input_view session::input(std::size_t input) const {
    if (input < staged_.size() && staged_[input])
        return {&staged_graph_, &staged_graph_.tensors[input], staged_[input]};
    return {&get_graph(), &current(input),
            context_ ? context_->get_memory(inputs_of(get_graph())[input]) : memory()};
}

session::input_view session::resize_input(std::size_t input, const memory::dims &dims) {
    const input_view now = this->input(input);
    check_dims(*now.description, dims);
    if (now.bytes && now.description->dims == dims)
        return now;
    if (staged_.empty()) {
        const std::size_t count = get_graph().inputs.size();
        staged_graph_.framework = get_graph().framework;
        for (std::size_t i = 0; i < count; i++)
            staged_graph_.tensors.push_back(current(i)); // never moves afterwards
        staged_.resize(count);
    }
    tensor resized = current(input);
    resized.dims = dims;
    graph alone;
    alone.tensors = {resized};
    check_tensor(alone, tensor_id(0));
    staged_[input] = memory(dense_desc(resized), engine(engine::kind::cpu, 0));
    std::memset(staged_[input].get_data_handle(), 0, staged_[input].get_desc().get_size());
    staged_graph_.tensors[input] = std::move(resized);
    is_settled_ = false;
    return this->input(input);
}

network_sizes session::staged_sizes() const {
    std::map<std::string, dim_t> by_name;
    for (std::size_t i = 0; i < staged_.size(); i++)
        if (staged_[i])
            for (std::size_t d = 0; d < staged_graph_.tensors[i].dims.size(); d++)
                if (has_name(staged_graph_.tensors[i], d))
                    by_name[staged_graph_.tensors[i].dim_names[d]] = staged_graph_.tensors[i].dims[d];
    network_sizes sizes;
    for (std::size_t i = 0; i < staged_.size(); i++) {
        tensor t = staged_[i] ? staged_graph_.tensors[i] : current(i);
        if (!staged_[i])
            for (std::size_t d = 0; d < t.dims.size(); d++)
                if (const auto found = has_name(t, d) ? by_name.find(t.dim_names[d]) : by_name.end();
                    found != by_name.end())
                    t.dims[d] = found->second;
        if (std::all_of(t.dims.begin(), t.dims.end(), [](dim_t d) { return d >= 0; }))
            sizes.shapes[t.name] = t.dims;
    }
    const bool has_batch = std::all_of(sizes.shapes.begin(), sizes.shapes.end(), [&](const auto &shape) {
        return shape.second.empty() || shape.second.front() == sizes_.batch;
    });
    if (has_batch) // constants may name the old one
        sizes.batch = sizes_.batch;
    return sizes;
}

context &session::settled() {
    if (is_settled_ && context_)
        return *context_;
    if (is_settled_) {
        try {
            shared_->at(sizes_); // says which size is open
        } catch (const error &e) {
            throw error(e.status, std::string(e.what()) + "; resize of the input or the network gives one");
        }
    }
    const network_sizes sizes = staged_sizes();
    context next(shared_->at(sizes));
    if (context_)
        next.take_over(*context_, staged_);
    for (std::size_t i = 0; i < staged_.size(); i++)
        if (staged_[i])
            next.bind_input(inputs_of(next.get_graph())[i], staged_[i].get_data_handle(),
                            staged_[i].get_desc().get_size());
    context_ = std::move(next);
    open_.reset();
    sizes_ = sizes;
    is_settled_ = true;
    return *context_;
}

void session::resize(const network_sizes &sizes) {
    context_ = context(shared_->at(sizes));
    open_.reset();
    sizes_ = sizes;
    staged_.clear();
    staged_graph_ = {};
    is_settled_ = true;
}

void session::bind_input(std::size_t input, const void *bytes, std::size_t size) {
    settled().bind_input(inputs_of(get_graph())[input], bytes, size);
    if (input < staged_.size())
        staged_[input] = memory();
}

} // namespace octet::model
