// A slot can lie anywhere, so a bound buffer takes the place of the slot's own bytes. An output whose bytes are also
// an input's, a constant's, filled with padding or another output's cannot move, and is copied.
// SPDX-License-Identifier: Apache-2.0
#include "network/run/context.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>

#include "network/graph/descs.hpp"
#include "network/run/on_behalf_of.hpp"

namespace octet::model {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

run_memory allocated(const memory_plan &plan) {
    try {
        return run_memory(plan);
    } catch (const std::bad_alloc &) {
        throw error(status::out_of_memory, "not enough memory for the network's tensors");
    }
}

bool share_bytes(const void *a, std::size_t a_size, const void *b, std::size_t b_size) {
    const auto first_a = reinterpret_cast<std::uintptr_t>(a), first_b = reinterpret_cast<std::uintptr_t>(b);
    return first_a < first_b + b_size && first_b < first_a + a_size;
}

} // namespace

context::context(std::shared_ptr<const plan> p) : plan_(std::move(p)), memory_(allocated(plan_->memory)) {}

memory context::get_memory(tensor_id id) const {
    const buffer &b = plan_->buffers.at(id.index());
    for (const binding &bound : bindings_) // an input's before an output's that is the same tensor
        if (bound.tensor == id && (!bound.output || !is_bound_input(id)))
            return memory(b.get_desc(), stream_.get_engine(), bound.bytes);
    if (b)
        return memory(b.get_desc(), stream_.get_engine(), memory_.at(b));
    const model::tensor &t = tensor_at(get_graph(), id); // vanished, or used in its packed form only
    return t.is_constant ? constant_memory(dense_desc(t), t.data)
                         : memory(dense_desc(t), stream_.get_engine(), nullptr);
}

void context::run(const network::observer &after_node) {
    const auto run_step = [&](std::size_t i) { // contents can be wrong, too: an index that there is not
        on_behalf_of(get_graph(), i, [&] { plan_->steps[i]->run(stream_, memory_); });
    };
    for (std::size_t i = 0; i < plan_->steps.size(); i++) {
        if (!after_node) { // reading the clock takes as long as a small operator
            run_step(i);
            continue;
        }
        const auto start = std::chrono::steady_clock::now();
        run_step(i);
        after_node(i, seconds_since(start));
    }
    for (const binding &b : bindings_)
        if (b.is_copied)
            std::memcpy(b.bytes, memory_.at(plan_->buffers[b.tensor.index()]), b.size);
}

void context::check_binding(const binding &b) const {
    const model::tensor &t = tensor_at(get_graph(), b.tensor);
    const std::string who = "buffer of '" + t.name + "': ";
    const std::size_t expected = plan_->buffers[b.tensor.index()].get_desc().get_size(),
                      element = memory::data_type_size(t.type);
    if (b.size != expected)
        refuse(who + std::to_string(b.size) + " bytes are given, allowed is " + std::to_string(expected));
    if (reinterpret_cast<std::uintptr_t>(b.bytes) % element != 0)
        refuse(who + "its address is no multiple of " + std::to_string(element) +
               " bytes, the size of an element");
    for (const binding &other : bindings_)
        if (!other.is_of(b) && (other.output || b.output) &&
            share_bytes(b.bytes, b.size, other.bytes, other.size) && !are_appended(b, other) &&
            !are_appended(other, b))
            refuse(who + "it shares bytes with that of '" + tensor_at(get_graph(), other.tensor).name + "'");
}

/// One buffer of a past and what it becomes, which nothing else reads.
bool context::are_appended(const binding &past, const binding &present) const {
    if (past.output || !present.output || past.bytes != present.bytes || past.size != present.size ||
        present.is_copied)
        return false;
    return appending(past.tensor, present.tensor) != nullptr;
}

const appending_step *context::appending(tensor_id past, tensor_id present) const {
    std::ptrdiff_t readers = 0;
    for (const node &n : get_graph().nodes)
        readers += std::count(n.inputs.begin(), n.inputs.end(), static_cast<int>(past.index()));
    if (readers > 1)
        return nullptr;
    const buffer &from = plan_->buffers[past.index()], &to = plan_->buffers[present.index()];
    for (const auto &step : plan_->steps)
        if (const auto *const one = dynamic_cast<const appending_step *>(step.get());
            one && one->appends(from, to))
            return one;
    return nullptr;
}

void context::bind_sequences(tensor_id past, tensor_id present, const std::vector<sequence_place> &places) {
    for (const tensor_id t : {past, present})
        memory_.bind_sequences(plan_->buffers[t.index()].slot(), places);
}

void context::bind(const binding &b) {
    if (b.bytes)
        check_binding(b);
    bindings_.erase(
        std::remove_if(bindings_.begin(), bindings_.end(), [&](const binding &old) { return old.is_of(b); }),
        bindings_.end());
    if (!b.is_copied)
        memory_.bind(plan_->buffers[b.tensor.index()].slot(), b.bytes);
    if (b.bytes)
        bindings_.push_back(b);
}

void context::bind_input(tensor_id t, const void *bytes, std::size_t size) {
    bind({t, {}, const_cast<void *>(bytes), size, false}); // no step writes to an input
}

void context::bind_output(std::size_t output, void *bytes, std::size_t size) {
    const tensor_id t = outputs_of(get_graph())[output];
    bind({t, output, bytes, size, !has_bytes_of_its_own(t)});
}

void context::bind(const std::vector<network::source_buffer> &inputs,
                   const std::vector<network::result_buffer> &outputs) {
    std::vector<binding> before;
    before.swap(bindings_);
    try {
        const auto add = [&](const binding &b) {
            check_binding(b);
            bindings_.push_back(b);
        };
        for (std::size_t i = 0; i < inputs.size(); i++)
            if (inputs[i].bytes)
                add({inputs_of(get_graph())[i],
                     {},
                     const_cast<void *>(inputs[i].bytes),
                     inputs[i].size,
                     false});
        for (std::size_t o = 0; o < outputs.size(); o++)
            if (const tensor_id t = outputs_of(get_graph())[o]; outputs[o].bytes)
                add({t, o, outputs[o].bytes, outputs[o].size, !has_bytes_of_its_own(t)});
    } catch (...) {
        bindings_.swap(before);
        throw;
    }
    for (const binding &b : before)
        if (!b.is_copied)
            memory_.bind(plan_->buffers[b.tensor.index()].slot(), nullptr);
    for (const binding &b : bindings_)
        if (!b.is_copied)
            memory_.bind(plan_->buffers[b.tensor.index()].slot(), b.bytes);
}

bool context::is_bound_input(tensor_id t) const {
    return std::any_of(bindings_.begin(), bindings_.end(),
                       [&](const binding &b) { return b.tensor == t && !b.output; });
}

bool context::has_bytes_of_its_own(tensor_id output) const {
    const buffer &b = plan_->buffers[output.index()];
    if (b.is_shared() || plan_->memory.slots[b.slot().index()].is_separate)
        return false;
    const tensor_ids outputs = outputs_of(get_graph());
    return std::count_if(outputs.begin(), outputs.end(), [&](tensor_id other) {
               return plan_->buffers[other.index()].slot() == b.slot();
           }) == 1;
}

void context::take_over(const context &old, const std::vector<memory> &staged) {
    const tensor_ids inputs = inputs_of(get_graph()), old_inputs = inputs_of(old.get_graph());
    for (const binding &b : old.bindings_)
        if (b.output)
            bind_output(*b.output, b.bytes, b.size);
    for (std::size_t i = 0; i < inputs.size(); i++) {
        const memory from = old.get_memory(old_inputs[i]), to = get_memory(inputs[i]);
        if (staged[i] || from.get_desc() != to.get_desc())
            continue;
        if (old.is_bound_input(old_inputs[i]))
            bind_input(inputs[i], from.get_data_handle(), from.get_desc().get_size());
        else
            std::memcpy(to.get_data_handle(), from.get_data_handle(), from.get_desc().get_size());
    }
}

void context::reset_state() {
    for (std::size_t t = 0; t < get_graph().tensors.size(); t++)
        if (get_graph().tensors[t].is_variable && plan_->buffers[t])
            memory_.refill(plan_->buffers[t].slot());
}

} // namespace octet::model
