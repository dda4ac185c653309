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

memory context::get_memory(int tensor) const {
    const buffer &b = plan_->buffers.at(at(tensor));
    for (const binding &bound : bindings_) // an input's before an output's that is the same tensor
        if (bound.tensor == tensor && (bound.output < 0 || !is_bound_input(tensor)))
            return memory(b.get_desc(), stream_.get_engine(), bound.bytes);
    if (b)
        return memory(b.get_desc(), stream_.get_engine(), memory_.at(b));
    const model::tensor &t = get_graph().tensors[at(tensor)]; // vanished, or used in its packed form only
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
            std::memcpy(b.bytes, memory_.at(plan_->buffers[at(b.tensor)]), b.size);
}

void context::check_binding(const binding &b) const {
    const model::tensor &t = get_graph().tensors[at(b.tensor)];
    const std::string who = "buffer of '" + t.name + "': ";
    const std::size_t expected = plan_->buffers[at(b.tensor)].get_desc().get_size(),
                      element = memory::data_type_size(t.type);
    if (b.size != expected)
        refuse(who + std::to_string(b.size) + " bytes are given, allowed is " + std::to_string(expected));
    if (reinterpret_cast<std::uintptr_t>(b.bytes) % element != 0)
        refuse(who + "its address is no multiple of " + std::to_string(element) +
               " bytes, the size of an element");
    for (const binding &other : bindings_)
        if (!other.is_of(b) && (other.output >= 0 || b.output >= 0) &&
            share_bytes(b.bytes, b.size, other.bytes, other.size))
            refuse(who + "it shares bytes with that of '" + get_graph().tensors[at(other.tensor)].name + "'");
}

void context::bind(const binding &b) {
    if (b.bytes)
        check_binding(b);
    bindings_.erase(
        std::remove_if(bindings_.begin(), bindings_.end(), [&](const binding &old) { return old.is_of(b); }),
        bindings_.end());
    if (!b.is_copied)
        memory_.bind(plan_->buffers[at(b.tensor)].slot(), b.bytes);
    if (b.bytes)
        bindings_.push_back(b);
}

void context::bind_input(int tensor, const void *bytes, std::size_t size) {
    bind({tensor, -1, const_cast<void *>(bytes), size, false}); // no step writes to an input
}

void context::bind_output(std::size_t output, void *bytes, std::size_t size) {
    const int tensor = get_graph().outputs[output];
    bind({tensor, static_cast<int>(output), bytes, size, !has_bytes_of_its_own(tensor)});
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
                add({get_graph().inputs[i], -1, const_cast<void *>(inputs[i].bytes), inputs[i].size, false});
        for (std::size_t o = 0; o < outputs.size(); o++)
            if (const int tensor = get_graph().outputs[o]; outputs[o].bytes)
                add({tensor, static_cast<int>(o), outputs[o].bytes, outputs[o].size,
                     !has_bytes_of_its_own(tensor)});
    } catch (...) {
        bindings_.swap(before);
        throw;
    }
    for (const binding &b : before)
        if (!b.is_copied)
            memory_.bind(plan_->buffers[at(b.tensor)].slot(), nullptr);
    for (const binding &b : bindings_)
        if (!b.is_copied)
            memory_.bind(plan_->buffers[at(b.tensor)].slot(), b.bytes);
}

bool context::is_bound_input(int tensor) const {
    return std::any_of(bindings_.begin(), bindings_.end(),
                       [&](const binding &b) { return b.tensor == tensor && b.output < 0; });
}

bool context::has_bytes_of_its_own(int output) const {
    const buffer &b = plan_->buffers[at(output)];
    if (b.is_shared() || plan_->memory.slots[at(b.slot())].is_separate)
        return false;
    const auto &outputs = get_graph().outputs;
    return std::count_if(outputs.begin(), outputs.end(),
                         [&](int other) { return plan_->buffers[at(other)].slot() == b.slot(); }) == 1;
}

void context::take_over(const context &old, const std::vector<memory> &staged) {
    const std::vector<int> &inputs = get_graph().inputs, &old_inputs = old.get_graph().inputs;
    for (const binding &b : old.bindings_)
        if (b.output >= 0)
            bind_output(at(b.output), b.bytes, b.size);
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
