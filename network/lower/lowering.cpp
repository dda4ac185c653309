// Answers the questions that lowering functions ask of a node, each with its refusal, and gives them the
// buffers behind its tensors.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/lowering.hpp"

#include <algorithm>
#include <cstring>

namespace octet::model {
namespace {

const tensor &checked(const tensor &t, const std::string &who, std::initializer_list<data_type> types) {
    if (std::find(types.begin(), types.end(), t.type) != types.end())
        return t;
    std::string allowed;
    for (const data_type type : types)
        allowed += (allowed.empty() ? "" : ", ") + to_text(type);
    const bool has_type = t.type != data_type::undef || !t.foreign_type.empty();
    refuse(who + " ('" + t.name + "') " + (has_type ? "is " + type_text(t) : "has no element type") +
           ", allowed: " + allowed);
}

} // namespace

tensor_id lowering::input_id(std::size_t i) const {
    if (!has_input(i))
        refuse("input " + std::to_string(i) + " is missing");
    return input_of(node_, i);
}

tensor_id lowering::output_id() const {
    if (node_.outputs.size() != 1)
        refuse("has " + std::to_string(node_.outputs.size()) + " outputs, allowed is 1");
    return output_of(node_);
}

tensor_id lowering::output_id(std::size_t i) const {
    if (i >= node_.outputs.size())
        refuse("output " + std::to_string(i) + " is missing");
    return output_of(node_, i);
}

const tensor &lowering::input(std::size_t i) const { return tensor_at(graph_, input_id(i)); }

const tensor &lowering::input(std::size_t i, std::initializer_list<data_type> types) const {
    return checked(input(i), "input " + std::to_string(i), types);
}

const tensor &lowering::output() const { return tensor_at(graph_, output_id()); }

const tensor &lowering::result() const {
    if (node_.fused.empty())
        return output();
    const node &first = node_.fused.front();
    return tensor_at(graph_, input_of(first, static_cast<std::size_t>(first.result_input)));
}

const tensor &lowering::output(std::initializer_list<data_type> types) const {
    return checked(output(), "the output", types);
}

const tensor &lowering::output(std::size_t i, std::initializer_list<data_type> types) const {
    const tensor &t = tensor_at(graph_, output_id(i));
    return checked(t, "output " + std::to_string(i), types);
}

std::vector<std::int64_t> lowering::constant_integers(std::size_t i) const {
    const tensor &t = input(i, {data_type::s32});
    if (!t.is_constant && element_count(t.dims) != 0)
        refuse_as_unimplemented("input " + std::to_string(i) + " ('" + t.name +
                                "') is computed, allowed is a constant");
    std::vector<std::int64_t> values;
    for (std::size_t offset = 0; offset < t.data.size(); offset += sizeof(std::int32_t)) {
        std::int32_t value;
        std::memcpy(&value, t.data.data() + offset, sizeof value);
        values.push_back(value);
    }
    return values;
}

template <typename T> const T &lowering::attribute_as(const std::string &name, const char *kind) const {
    const auto found = node_.attributes.find(name);
    if (found == node_.attributes.end())
        refuse("attribute '" + name + "' is missing");
    const T *value = std::get_if<T>(&found->second);
    if (!value)
        refuse("attribute '" + name + "' is not " + kind);
    return *value;
}

std::int64_t lowering::integer(const std::string &name) const {
    return attribute_as<std::int64_t>(name, "an integer");
}
std::int64_t lowering::integer(const std::string &name, std::int64_t fallback) const {
    return has_attribute(name) ? integer(name) : fallback;
}
std::vector<std::int64_t> lowering::integers(const std::string &name,
                                             const std::vector<std::int64_t> &fallback) const {
    return has_attribute(name) ? attribute_as<std::vector<std::int64_t>>(name, "a list of integers")
                               : fallback;
}
float lowering::real(const std::string &name) const { return attribute_as<float>(name, "a real number"); }
float lowering::real(const std::string &name, float fallback) const {
    return has_attribute(name) ? real(name) : fallback;
}
std::string lowering::text(const std::string &name) const {
    return attribute_as<std::string>(name, "a name");
}
std::string lowering::text(const std::string &name, const std::string &fallback) const {
    return has_attribute(name) ? text(name) : fallback;
}

buffer lowering::input_buffer(std::size_t i) const { return buffers_.get(input_id(i)); }
buffer lowering::input_buffer(std::size_t i, const memory::desc &d) const {
    return buffers_.get(input_id(i), d);
}
buffer lowering::output_buffer() const { return buffers_.get(output_id()); }
buffer lowering::output_buffer(const memory::desc &d) const { return buffers_.get(output_id(), d); }
buffer lowering::output_buffer(std::size_t i) const { return buffers_.get(output_id(i)); }

void lowering::fill_output(std::vector<std::uint8_t> element) const {
    buffers_.fill(output_id(), std::move(element));
}

buffer lowering::packed_input(std::size_t i, const memory::desc &plain, const memory::desc &chosen) const {
    return buffers_.packed(input_id(i), plain, chosen);
}

std::shared_ptr<const joint_constants>
lowering::packed_inputs(const std::vector<std::size_t> &inputs, const std::string &form, std::size_t size,
                        const std::function<void(void *)> &fill) const {
    std::vector<shared_bytes> originals;
    for (const std::size_t i : inputs)
        originals.push_back(has_input(i) ? input(i).data : shared_bytes());
    return buffers_.packed(originals, form, size, fill);
}

void lowering::overwrite_input(std::size_t i) const { buffers_.overwrite(output_id(), input_id(i)); }
void lowering::alias_output_to_input(std::size_t i) const { buffers_.alias(output_id(), input_id(i)); }

} // namespace octet::model
