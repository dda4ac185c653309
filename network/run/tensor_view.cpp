// The tensors of a network as its user sees them: found by place or name, filled and read with the size and type
// checked.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "network/run/session.hpp"
#include "octet/network.hpp"
#include "octet/quantize.hpp"

namespace octet {
inline namespace v0 {
namespace {

using model::refuse;

std::string names_of(const model::graph &g, model::tensor_ids tensors) {
    std::string names;
    for (const model::tensor_id t : tensors)
        names += (names.empty() ? "'" : ", '") + tensor_at(g, t).name + "'";
    return names.empty() ? "none" : names;
}

/// One of the network's inputs or outputs; `kind` is "input" or "output".
int at(const model::graph &g, model::tensor_ids tensors, std::size_t index, const char *kind) {
    if (index >= tensors.size())
        refuse(std::string(kind) + " " + std::to_string(index) + ": the network has " +
               std::to_string(tensors.size()) + " (" + names_of(g, tensors) + ")");
    return tensors[index];
}

std::size_t place_of(const model::graph &g, model::tensor_ids tensors, const std::string &name,
                     const char *kind) {
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](model::tensor_id t) { return tensor_at(g, t).name == name; });
    if (found == tensors.end())
        refuse(std::string(kind) + " '" + name + "': the network has " + names_of(g, tensors));
    return static_cast<std::size_t>(found - tensors.begin());
}

} // namespace

tensor_view network::tensor(int index) const {
    const auto &tensors = get_graph().tensors;
    if (index < 0 || static_cast<std::size_t>(index) >= tensors.size())
        refuse("tensor " + std::to_string(index) + ": the network has " + std::to_string(tensors.size()));
    const memory bytes = get_memory(index); // may settle the sizes, and so make another graph
    return {index, get_graph(), bytes};
}

int network::input_index(std::size_t i) const { return at(get_graph(), inputs_of(get_graph()), i, "input"); }
int network::output_index(std::size_t i) const {
    return at(get_graph(), outputs_of(get_graph()), i, "output");
}

tensor_view network::input_at(std::size_t place) const {
    const model::session::input_view input = session_->input(place);
    tensor_view view(get_graph().inputs[place], *input.of, *input.description, input.bytes);
    view.session_ = session_.get();
    view.place_ = place;
    return view;
}

tensor_view network::output_at(std::size_t place) const {
    if (session_->has_sizes())
        session_->settled();
    const model::graph &g = get_graph();
    const int index = g.outputs[place];
    return {index, g, tensor_at(g, model::tensor_id(index)),
            session_->has_sizes() ? get_memory(index) : memory()};
}

tensor_view network::input(std::size_t index) const {
    input_index(index); // refuses what is none
    return input_at(index);
}
tensor_view network::input(const std::string &name) const {
    return input_at(place_of(get_graph(), inputs_of(get_graph()), name, "input"));
}
tensor_view network::output(std::size_t index) const {
    output_index(index); // refuses what is none
    return output_at(index);
}
tensor_view network::output(const std::string &name) const {
    return output_at(place_of(get_graph(), outputs_of(get_graph()), name, "output"));
}

void tensor_view::resize(const memory::dims &dims) {
    if (!session_)
        refuse("tensor " + text() + ": only inputs take other sizes, what is computed follows");
    const model::session::input_view input = session_->resize_input(place_, dims);
    graph_ = input.of;
    tensor_ = input.description;
    memory_ = input.bytes;
}

void tensor_view::need_sizes() const {
    if (!memory_)
        refuse("tensor " + text() + " has an open size: resize of the input or the network gives it one");
}

void *tensor_view::data() const {
    need_sizes();
    return memory_.get_data_handle();
}

std::size_t tensor_view::element_count() const {
    need_sizes();
    return static_cast<std::size_t>(model::element_count(dims()));
}

std::size_t tensor_view::size_in_bytes() const {
    need_sizes();
    return memory_.get_desc().get_size();
}

std::string tensor_view::text() const {
    return std::to_string(index_) + " ('" + name() + "') " + model::type_text(*tensor_) + " " +
           model::to_text(dims());
}

void tensor_view::check_type(octet::data_type type) const {
    if (type != data_type())
        refuse("tensor " + text() + ": its elements are used as " + model::to_text(type));
}

void tensor_view::need_one_scale(const char *what) const {
    if (quantization().scales.size() != 1)
        refuse("tensor " + text() + ": " + what + " need one scale, the tensor has " +
               std::to_string(quantization().scales.size()));
}

void tensor_view::check_count(std::size_t count) const {
    if (count != element_count())
        refuse("tensor " + text() + " takes " + std::to_string(element_count()) + " elements, given are " +
               std::to_string(count));
}

bool tensor_view::stands_for_reals() const {
    const bool has_codes = model::is_code(data_type()) || data_type() == octet::data_type::s16;
    return has_codes && quantization().is_set();
}

void tensor_view::copy_bytes_from(const void *bytes, std::size_t size) const {
    if (size != size_in_bytes())
        refuse("tensor " + text() + " takes " + std::to_string(size_in_bytes()) + " bytes, given are " +
               std::to_string(size));
    if (size != 0) // of no elements, nothing lies anywhere
        std::memcpy(data(), bytes, size);
}

void tensor_view::copy_from(const std::int64_t *values, std::size_t count) const {
    check_count(count);
    if (data_type() != octet::data_type::s32)
        refuse("tensor " + text() + ": its elements are used as 64-bit integers");
    const auto fits = [](std::int64_t v) { return v == static_cast<std::int32_t>(v); };
    if (const auto *wrong = std::find_if_not(values, values + count, fits); wrong != values + count)
        refuse("tensor " + text() + ": element " + std::to_string(wrong - values) + " is " +
               std::to_string(*wrong) + ", allowed are 32-bit integers");
    std::copy(values, values + count, static_cast<std::int32_t *>(data()));
}

void tensor_view::copy_from(const void *values, octet::data_type type, std::size_t count) const {
    check_count(count);
    if (type == data_type() || type != octet::data_type::f32 || !stands_for_reals()) {
        check_type(type);
        std::copy_n(reinterpret_cast<const std::byte *>(values), size_in_bytes(),
                    static_cast<std::byte *>(data()));
        return;
    }
    need_one_scale("codes");
    model::quantize(graph_->framework, data_type(), quantization(), static_cast<const float *>(values), count,
                    data());
}

void tensor_view::copy_to(void *values, octet::data_type type) const {
    if (type == data_type() || type != octet::data_type::f32 || !stands_for_reals()) {
        check_type(type);
        std::copy_n(static_cast<const std::byte *>(data()), size_in_bytes(),
                    reinterpret_cast<std::byte *>(values));
        return;
    }
    need_one_scale("real numbers");
    model::dequantize(data_type(), quantization(), data(), element_count(), static_cast<float *>(values));
}

} // namespace v0
} // namespace octet
