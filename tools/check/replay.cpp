// Runs one case on Octet and compares bytes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <sstream>

#include "base/tensor_text.hpp"
#include "check/check.hpp"
#include "common/small_floats.hpp"

namespace octet::vectors {
namespace {

/// An element in words: integers as they are, floats with all their digits.
std::string element_text(data_type type, const std::uint8_t *element) {
    const auto read = [&](auto value) {
        std::memcpy(&value, element, sizeof value);
        return value;
    };
    std::ostringstream text;
    text.precision(9);
    switch (type) {
    case data_type::f32:
        text << read(float{});
        break;
    case data_type::f16:
        text << impl::from_f16(read(std::uint16_t{}));
        break;
    case data_type::s32:
        text << read(std::int32_t{});
        break;
    case data_type::s16:
        text << read(std::int16_t{});
        break;
    case data_type::s8:
        text << int{read(std::int8_t{})};
        break;
    default:
        text << int{*element};
        break;
    }
    return text.str();
}

bool is_nan(data_type type, const std::uint8_t *element) {
    if (type == data_type::f16) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, element, sizeof bits);
        return std::isnan(impl::from_f16(bits));
    }
    float v = 0;
    std::memcpy(&v, element, sizeof v);
    return type == data_type::f32 && std::isnan(v);
}

/// The refusals in a step's explanation, in one line.
std::string refusals_in(const std::string &explanation) {
    std::istringstream lines(explanation);
    std::string refusals;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t start = line.find("refused by");
        if (start != std::string::npos)
            refusals += (refusals.empty() ? "" : "; ") + line.substr(start);
    }
    return refusals;
}

} // namespace

void write(const memory &m, byte_view bytes) {
    const std::size_t size = m.get_desc().get_size();
    if (size != bytes.size)
        throw error(status::invalid_arguments, "an input has " + std::to_string(bytes.size) +
                                                   " bytes, but its buffer " + std::to_string(size));
    if (size > 0)
        std::memcpy(m.get_data_handle(), bytes.data, size);
}

byte_view view_of(const memory &m) {
    return {static_cast<const std::uint8_t *>(m.get_data_handle()), m.get_desc().get_size()};
}

std::string first_difference(const std::string &name, data_type type, const memory::dims &dims,
                             byte_view expected, byte_view got, bool any_nan_is_equal) {
    if (got.size != expected.size)
        return name + ": expected " + std::to_string(expected.size) + " bytes, got " +
               std::to_string(got.size);
    const std::size_t element_size = memory::data_type_size(type), elements = expected.size / element_size;
    std::size_t first = elements, different = 0;
    for (std::size_t i = 0; i < elements; i++) {
        const std::uint8_t *const a = expected.data + i * element_size, *const b =
                                                                            got.data + i * element_size;
        if (std::memcmp(a, b, element_size) == 0 || (any_nan_is_equal && is_nan(type, a) && is_nan(type, b)))
            continue;
        if (different++ == 0)
            first = i;
    }
    if (different == 0)
        return {};
    std::ostringstream text;
    text << name << '[' << first << "] " << tools::coordinates_text(first, dims) << ": expected "
         << element_text(type, expected.data + first * element_size) << ", got "
         << element_text(type, got.data + first * element_size) << " (" << different << " of " << elements
         << " elements differ)";
    return text.str();
}

std::string implementation_complaint(implementation wanted, const std::string &name,
                                     const std::string &refusals) {
    const bool ran_on_ref = name.find("ref") != std::string::npos,
               ran_on_jit = name.find("jit") != std::string::npos;
    const bool satisfied = wanted == implementation::any || (wanted == implementation::ref && !ran_on_jit) ||
                           (wanted == implementation::jit && !ran_on_ref);
    if (satisfied)
        return {};
    const std::string asked = wanted == implementation::jit ? "jit" : "ref";
    return "runs on " + name + ", not on " + asked + "; " +
           (refusals.empty() ? "no other implementation" : refusals);
}

std::string implementation_complaint(implementation wanted, const network &net) {
    for (std::size_t i = 0; i < net.get_graph().nodes.size(); i++) {
        const std::string complaint =
            implementation_complaint(wanted, net.implementation(i), refusals_in(net.explain(i)));
        if (!complaint.empty())
            return model::node_text(net.get_graph(), i) + " " + complaint;
    }
    return {};
}

std::string implementation_names(const network &net) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < net.get_graph().nodes.size(); i++)
        names.insert(net.implementation(i));
    std::string text;
    for (const std::string &name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

bool is_supported(const std::string &framework, const std::string &op) {
    const std::vector<std::string> known = supported_operators(framework);
    return std::find(known.begin(), known.end(), op) != known.end();
}

namespace {

/// Runs the case; empty, or where its outputs first differ.
std::string difference_under(network &net, const operator_case &c, const operator_case::expectation &wanted) {
    for (const auto &[tensor, bytes] : c.inputs)
        write(net.get_memory(tensor), bytes);
    net.run();
    for (std::size_t i = 0; i < wanted.outputs.size(); i++) {
        const tensor_record &y = wanted.outputs[i];
        const byte_view got = view_of(net.get_memory(c.graph.outputs[i]));
        std::string difference = first_difference(y.name, y.type, y.dims, y.bytes, got, c.any_nan_is_equal);
        if (!difference.empty())
            return difference;
    }
    return {};
}

} // namespace

int operator_case::add(model::tensor t) {
    graph.tensors.push_back(std::move(t));
    return static_cast<int>(graph.tensors.size() - 1);
}

int operator_case::add_input(const tensor_record &t, bool is_constant) {
    const int index = add(as_model_tensor(t, is_constant));
    if (!is_constant) {
        graph.inputs.push_back(index);
        inputs.emplace_back(index, t.bytes);
    }
    return index;
}

int operator_case::add_output(const tensor_record &t) {
    expected.at(0).outputs.push_back(t);
    graph.outputs.push_back(add(as_model_tensor(t, false)));
    return graph.outputs.back();
}

void operator_case::add_node(model::node n) {
    while (!n.inputs.empty() && n.inputs.back() < 0)
        n.inputs.pop_back();
    graph.nodes.push_back(std::move(n));
}

void replay(const operator_case &c, const options &opt, report &results) {
    try {
        std::string implementations;
        for (const operator_case::expectation &wanted : c.expected) {
            network_options how = c.how;
            how.profile = wanted.profile;
            network net(c.graph, how);
            std::string complaint = implementation_complaint(opt.impl, net);
            if (complaint.empty())
                complaint = difference_under(net, c, wanted);
            if (!complaint.empty())
                return results.fail(c.op, c.name,
                                    wanted.profile.empty() ? complaint : wanted.profile + ": " + complaint);
            if (implementations.empty())
                implementations = implementation_names(net);
        }
        if (!c.refusal.empty())
            return results.fail(c.op, c.name, "is computed, but the runtime's result is wrong");
        results.pass(c.op, c.name, implementations);
    } catch (const error &e) {
        if (!c.refusal.empty() && std::string(e.what()).find(c.refusal) != std::string::npos)
            results.pass(c.op, c.name, "refused");
        else if (e.status == status::unimplemented)
            results.skip(c.op, c.name, e.what());
        else
            results.fail(c.op, c.name, e.what());
    }
}

} // namespace octet::vectors
