// Contexts and the sizes that they have: `take` finds or makes one for a call, `resize` changes those of all
// later calls.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network.hpp"

namespace octet::python {
namespace {

bool has_state(const network &net) {
    const auto &tensors = net.get_graph().tensors;
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const model::tensor &t) { return t.is_variable && !t.is_constant; });
}

network_sizes sizes_of(const network_options &o) { return {o.batch, o.shapes, o.dimensions}; }

} // namespace

python_network::python_network(network first)
    : first_(std::move(first)), framework_(first_.get_graph().framework), has_state_(has_state(first_)),
      description_(describe(first_, sizes_of(first_.options()))), free_{{description_->key, &first_}} {}

std::shared_ptr<const python_network::description> python_network::describe(const network &net,
                                                                            const network_sizes &sizes) {
    const model::graph &g = net.get_graph();
    const auto port_of = [&](const tensor_view &t) {
        port p{t.name(), t.dims(), t.data_type(), t.quantization(),
               g.tensors[static_cast<std::size_t>(t.index())].dim_names};
        p.axes.resize(p.dims.size());
        return p;
    };
    auto d = std::make_shared<description>();
    d->sizes = sizes;
    for (std::size_t i = 0; i < net.input_count(); i++) {
        d->inputs.push_back(port_of(net.input(i)));
        d->key += model::to_text(d->inputs[i].dims) + ' ';
    }
    for (std::size_t i = 0; i < net.output_count(); i++)
        d->outputs.push_back(port_of(net.output(i)));
    return d;
}

bool python_network::port::takes(const memory::dims &given) const {
    if (given.size() != dims.size())
        return false;
    for (std::size_t d = 0; d < dims.size(); d++)
        if (!is_open(d) && given[d] != dims[d])
            return false;
    return true;
}

std::string python_network::port::allowed() const {
    std::string text;
    for (std::size_t d = 0; d < dims.size(); d++)
        text += (d ? "x" : "") + (is_open(d) ? "*" : std::to_string(dims[d]));
    return text.empty() ? "scalar" : text;
}

bool python_network::description::has_open_sizes() const {
    return std::any_of(inputs.begin(), inputs.end(), [](const port &p) {
        return std::any_of(p.dims.begin(), p.dims.end(), [](dim_t d) { return d < 0; });
    });
}

bool python_network::description::has_dims_of(const description &other) const {
    const auto have_equal_dims = [](const std::vector<port> &a, const std::vector<port> &b) {
        return std::equal(a.begin(), a.end(), b.begin(),
                          [](const port &p, const port &q) { return p.dims == q.dims; });
    };
    return this == &other ||
           (have_equal_dims(inputs, other.inputs) && have_equal_dims(outputs, other.outputs));
}

/// In a turn. Of contexts in other sizes the one that was not used for longest gets these, once there are many.
network *python_network::take(const network_sizes &sizes, const std::string &key) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (has_state_)
        returned_.wait(lock, [&] { return !free_.empty(); });
    const auto fits = [&](const auto &context) { return context.first == key; };
    if (const auto found = std::find_if(free_.rbegin(), free_.rend(), fits); found != free_.rend()) {
        network *const context = found->second;
        free_.erase(std::next(found).base());
        return context;
    }
    const auto oldest = std::find_if(free_.begin(), free_.end(),
                                     [&](const auto &context) { return context.second != &first_; });
    network *context = nullptr;
    if (oldest != free_.end() && others_.size() >= most_contexts) {
        context = oldest->second;
        free_.erase(oldest);
    } else {
        others_.push_back(std::make_unique<network>(first_.new_context()));
        context = others_.back().get();
    }
    lock.unlock(); // a plan for other sizes may tell `progress`, which waits for Python's lock
    try {
        context->resize(sizes);
    } catch (...) {
        give_back(context, "");
        throw;
    }
    return context;
}

void python_network::give_back(network *context, const std::string &key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.emplace_back(key, context);
    returned_.notify_one();
}

void python_network::resize(const network_sizes &sizes) {
    open_description();
    const py::gil_scoped_release release;
    const turns::change turn(turns_);
    first_.resize(sizes);
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        others_.clear();
        free_ = {{"", &first_}};
    }
    auto now = describe(first_, sizes);
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        free_.front().first = now->key;
    }
    const py::gil_scoped_acquire python;
    description_ = std::move(now);
}

void python_network::reset_state() {
    const py::gil_scoped_release release;
    const turns::change turn(turns_);
    first_.reset_state();
}

/// Waits for calls that run; what is left is a network of nothing, which no call reaches.
void python_network::close() {
    is_closed_ = true;
    const py::gil_scoped_release release;
    const turns::change turn(turns_);
    model::graph nothing;
    nothing.framework = "tflite";
    first_ = network(std::move(nothing));
    const std::lock_guard<std::mutex> lock(mutex_);
    others_.clear();
    free_ = {{"", &first_}};
}

void python_network::save(const std::string &path) {
    open_description();
    const py::gil_scoped_release release;
    const turns::call turn(turns_);
    first_.save(path);
}

std::size_t python_network::buffer_bytes() {
    const py::gil_scoped_release release;
    const turns::call turn(turns_);
    return first_.buffer_bytes().first;
}

/// Throws ValueError for a network that was closed.
const std::shared_ptr<const python_network::description> &python_network::open_description() const {
    if (is_closed_)
        throw py::value_error("the network is closed");
    return description_;
}

} // namespace octet::python
