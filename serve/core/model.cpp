// Running. Requests of one batch lie one after the other in the inputs of a context; what fills up a batch to
// one of the sizes is zeros, and nobody reads their rows. How a model is made is in loading.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "core/model.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace octet::serve {
namespace {

constexpr std::size_t most_contexts = 12; ///< contexts of an instance; sizes beyond are made again
/// Bytes of an input from which on it is read where it lies: less is copied in less time than it takes to say
/// where it is.
constexpr std::size_t least_in_place = std::size_t(16) << 10;

} // namespace

served_model::bound_context::bound_context(network n, std::unique_ptr<open_sizes::share> r)
    : net(std::move(n)), room(std::move(r)) {
    for (std::size_t i = 0; i < net.input_count(); i++)
        inputs.push_back(static_cast<std::byte *>(net.input(i).data()));
    for (std::size_t i = 0; i < net.output_count(); i++) {
        outputs.push_back(static_cast<std::byte *>(net.output(i).data()));
        output_bytes.push_back(net.output(i).size_in_bytes());
    }
}

void served_model::set_shapes(job &j, const std::vector<memory::dims> &shapes) const {
    if (!sequences_ && (j.sequence.id != 0 || j.sequence.starts || j.sequence.ends))
        throw refusal(outcome::invalid, "parameters of a sequence are given, the model has no past");
    if (sequences_)
        return sequences_->check(j, shapes[0]);
    bool is_usual = true;
    for (std::size_t i = 0; i < inputs_.size(); i++) {
        const tensor_info &t = inputs_[i];
        const memory::dims &given = shapes[i];
        bool fits = given.size() == t.dims.size();
        // The past of a decoder's first step has no rows; a batch has one at least.
        for (std::size_t d = 0; fits && d < given.size(); d++)
            fits = t.is_open[d] ? given[d] >= (is_batching() ? 1 : 0) : given[d] == t.dims[d];
        if (!fits)
            throw refusal(outcome::invalid, "input '" + t.name + "' has shape " +
                                                shown(model::to_text(given)) + ", allowed is " +
                                                model::to_text(t.shown()));
        const auto from = static_cast<std::ptrdiff_t>(is_batching() ? 1 : 0);
        is_usual &= std::equal(given.begin() + from, given.end(), t.dims.begin() + from);
    }
    if (is_batching()) {
        j.rows = shapes[0][0];
        for (std::size_t i = 0; i < inputs_.size(); i++)
            if (shapes[i][0] != j.rows)
                throw refusal(outcome::invalid, "input '" + inputs_[i].name + "' has " +
                                                    std::to_string(shapes[i][0]) + " rows, the first one " +
                                                    std::to_string(j.rows));
        if (j.rows > most_rows_)
            throw refusal(outcome::invalid, std::to_string(j.rows) + " rows given, at most " +
                                                std::to_string(most_rows_) + " are allowed in a request");
    }
    j.shapes.clear();
    if (!is_usual)
        for (const memory::dims &d : shapes)
            j.shapes += model::to_text(d) + ' ';
}

std::int64_t served_model::size_for(std::int64_t rows) const {
    const auto &sizes = queue_options_.sizes;
    const auto found = std::lower_bound(sizes.begin(), sizes.end(), rows);
    return found == sizes.end() ? rows : *found;
}

network served_model::context_for(const instance &i, const std::string &shapes, std::int64_t rows) const {
    network net = i.made_of->new_context();
    network_sizes sizes{rows, i.made_of->options().shapes, i.made_of->options().dimensions};
    if (!shapes.empty()) {
        sizes = {};
        std::istringstream text(shapes);
        for (const tensor_info &t : inputs_) {
            memory::dims &dims = sizes.shapes[t.name];
            std::string one, number;
            text >> one;
            for (std::istringstream parts(one); std::getline(parts, number, 'x');)
                dims.push_back(std::stoll(number));
        }
    }
    try {
        if (!shapes.empty() || rows != 1)
            net.resize(sizes);
    } catch (const error &e) {
        if (shapes.empty())
            throw;
        throw refusal(e.status == status::out_of_memory ? outcome::too_large : outcome::invalid, e.what());
    }
    return net;
}

/// Room for a plan in sizes that a request chose; plans of this instance give up theirs, then those of other models.
std::unique_ptr<open_sizes::share> served_model::room_for(instance &i, std::size_t bytes) {
    for (;;) {
        auto room = std::make_unique<open_sizes::share>(bytes);
        if (room->has_room())
            return room;
        const auto last = std::find_if(i.contexts.rbegin(), i.contexts.rend(),
                                       [](const auto &p) { return p.second->room != nullptr; });
        if (last == i.contexts.rend())
            throw refusal(outcome::overloaded,
                          "it needs " + std::to_string(bytes) +
                              " bytes, and requests in other sizes fill the memory for them");
        i.contexts.erase(std::next(last).base());
    }
}

void served_model::drop_idle_plans() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto drop = [](instance &i) {
        i.contexts.erase(std::remove_if(i.contexts.begin(), i.contexts.end(),
                                        [](const auto &p) { return p.second->room != nullptr; }),
                         i.contexts.end());
    };
    for (const auto &i : free_)
        drop(*i);
    if (free_multi_threaded_)
        drop(*free_multi_threaded_);
}

served_model::bound_context &served_model::bound_context_for(instance &i, const std::string &shapes,
                                                             std::int64_t rows) const {
    const std::string key = shapes + std::to_string(rows);
    const auto found =
        std::find_if(i.contexts.begin(), i.contexts.end(), [&](const auto &p) { return p.first == key; });
    if (found != i.contexts.end()) {
        std::rotate(i.contexts.begin(), found, found + 1);
        return *i.contexts.front().second;
    }
    network net = context_for(i, shapes, rows);
    const std::size_t own = net.buffer_bytes().first, most = i.made_of->options().memory_limit;
    std::size_t bytes = own;
    for (const auto &[ignored, p] : i.contexts)
        bytes += p->net.buffer_bytes().first;
    while (!i.contexts.empty() && (i.contexts.size() >= most_contexts || (!shapes.empty() && bytes > most))) {
        bytes -= i.contexts.back().second->net.buffer_bytes().first;
        i.contexts.pop_back();
    }
    auto room = shapes.empty() ? nullptr : room_for(i, own);
    i.contexts.insert(i.contexts.begin(),
                      {key, std::make_unique<bound_context>(std::move(net), std::move(room))});
    return *i.contexts.front().second;
}

/// Inputs that a network reads where a request has them, for the time of a run.
class served_model::inputs_in_place {
public:
    explicit inputs_in_place(network &n) : net_(n) {}
    ~inputs_in_place() {
        for (const std::size_t i : bound_)
            net_.bind_input(i, nullptr, 0);
    }
    inputs_in_place(const inputs_in_place &) = delete;
    inputs_in_place &operator=(const inputs_in_place &) = delete;
    /// False for one that has to be copied.
    bool take(std::size_t i, const byte_range &bytes, std::size_t alignment) {
        if (bytes.size < least_in_place || reinterpret_cast<std::uintptr_t>(bytes.data) % alignment != 0)
            return false;
        net_.bind_input(i, bytes.data, bytes.size);
        bound_.push_back(i);
        return true;
    }

private:
    network &net_;
    std::vector<std::size_t> bound_;
};

void served_model::run_in(bound_context &p, const std::vector<std::shared_ptr<job>> &batch,
                          std::int64_t size) const {
    const bool is_whole = batch.size() == 1 && (!is_batching() || batch.front()->rows == size);
    inputs_in_place in_place(p.net);
    for (std::size_t i = 0; i < inputs_.size(); i++) {
        if (is_whole && in_place.take(i, batch.front()->inputs[i], inputs_[i].own->size))
            continue;
        std::byte *to = p.inputs[i];
        for (const auto &j : batch)
            to = std::copy_n(j->inputs[i].data, j->inputs[i].size, to);
        if (is_batching())
            std::memset(to, 0,
                        static_cast<std::size_t>(p.inputs[i] +
                                                 inputs_[i].bytes * static_cast<std::size_t>(size) - to));
    }
    if (has_state_)
        p.net.reset_state(); // an answer depends on no other request
    if (batch.front()->wants_profile) {
        std::string &text = batch.front()->profile;
        const auto &nodes = p.net.get_graph().nodes;
        p.net.run([&](std::size_t node, double seconds) {
            std::ostringstream row;
            row << (text.empty() ? "[" : ",") << "{\"node\":" << model::node_number(p.net.get_graph(), node)
                << ",\"op\":\"" << model::operator_text(nodes[node]) << "\",\"runs_on\":\""
                << p.net.implementation(node) << "\",\"seconds\":" << seconds << '}';
            text += row.str();
        });
        text += text.empty() ? "[]" : "]";
    } else {
        p.net.run();
    }
    std::int64_t row = 0;
    for (const auto &j : batch) {
        std::size_t total = 0, at = 0;
        const auto bytes_of = [&](std::size_t o) {
            return is_batching() ? outputs_[o].bytes * static_cast<std::size_t>(j->rows) : p.output_bytes[o];
        };
        for (const wanted_output &w : j->wanted)
            total += bytes_of(w.index);
        if (j->reply_held && !j->reply_held->grow(total)) {
            j->result = outcome::overloaded;
            j->sentence = "replies fill the memory for requests";
            row += j->rows;
            continue;
        }
        j->storage.resize(total);
        for (const auto &[o, type, classes] : j->wanted) {
            const tensor_view out = p.net.output(o); // may share an input's bytes
            std::memcpy(j->storage.data() + at,
                        static_cast<const std::byte *>(out.data()) +
                            (is_batching() ? outputs_[o].bytes * static_cast<std::size_t>(row) : 0),
                        bytes_of(o));
            j->outputs.push_back({j->storage.data() + at, bytes_of(o)});
            j->output_dims.push_back(out.dims());
            if (is_batching())
                j->output_dims.back()[0] = j->rows;
            at += bytes_of(o);
        }
        row += j->rows;
    }
}

void served_model::run(const std::vector<std::shared_ptr<job>> &batch, bool is_alone) {
    if (sequences_)
        return sequences_->run(batch);
    std::int64_t rows = 0;
    for (const auto &j : batch)
        rows += j->rows;
    for (const auto &j : batch)
        j->batch = rows;
    std::unique_ptr<instance> mine;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (is_alone && rows == 1 && free_multi_threaded_)
            mine = std::move(free_multi_threaded_);
        else {
            mine = std::move(free_.back());
            free_.pop_back();
        }
    }
    const auto give_back = [&] {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (mine->made_of == multi_threaded_.get())
            free_multi_threaded_ = std::move(mine);
        else
            free_.push_back(std::move(mine));
    };
    try {
        const std::int64_t size = is_batching() ? size_for(rows) : 1;
        run_in(bound_context_for(*mine, batch.front()->shapes, size), batch, size);
    } catch (...) {
        give_back();
        throw;
    }
    give_back();
}

void served_model::ran(const std::vector<std::shared_ptr<job>> &batch, double seconds) {
    if (!metrics_)
        return;
    metrics_->ran(batch.front()->batch, batch.size(), seconds);
}

} // namespace octet::serve
