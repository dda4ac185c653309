#include "network/lower/lowering.hpp"

#include <algorithm>
#include <cstring>

#include "network/passes/fusion.hpp"

namespace octet::model {
namespace {

const tensor &checked(const tensor &t, const std::string &who, std::initializer_list<data_type> types) {
    if (std::find(types.begin(), types.end(), t.type) != types.end())
        return t;
    std::string allowed;
    for (const data_type type : types)
        allowed += (allowed.empty() ? "" : ", ") + to_text(type);
    refuse(who + " ('" + t.name + "') is " + type_text(t) + ", allowed: " + allowed);
}

/// "a" or "a + b" when launches differ.
void append_distinct(std::string &list, const std::string &name) {
    if (list.empty())
        list = name;
    else if (list.find(name) == std::string::npos)
        list += " + " + name;
}

} // namespace

void refuse(const std::string &reason) { throw error(status::invalid_arguments, reason); }
void refuse_as_unimplemented(const std::string &reason) { throw error(status::unimplemented, reason); }

void primitive_step::add(const primitive_desc_base &pd, arguments args) {
    launches_.push_back({pd, primitive(pd), std::move(args)});
}

void primitive_step::run(const stream &s) {
    for (const launch &l : launches_)
        l.what.execute(s, l.args);
}

std::string primitive_step::implementation() const {
    std::string names;
    for (const launch &l : launches_)
        append_distinct(names, l.pd.impl_info_str());
    return names;
}

std::string primitive_step::explain() const {
    std::string lines;
    for (const launch &l : launches_) {
        lines += (lines.empty() ? "" : "\n") + l.pd.problem_str() + "\n  runs on " + l.pd.impl_info_str();
        const std::string plan = l.what.plan_str();
        if (!plan.empty())
            lines += "\n  plan: " + plan;
        for (const std::string &refusal : l.pd.refusals())
            lines += "\n  refused by " + refusal;
    }
    return lines;
}

std::unique_ptr<step> one_step(const primitive_desc_base &pd, arguments args) {
    auto result = std::make_unique<primitive_step>();
    result->add(pd, std::move(args));
    return result;
}

int lowering::input_index(std::size_t i) const {
    if (!has_input(i))
        refuse("input " + std::to_string(i) + " is missing");
    return node_.inputs[i];
}

int lowering::output_index() const {
    if (node_.outputs.size() != 1)
        refuse("has " + std::to_string(node_.outputs.size()) + " outputs, allowed is 1");
    return node_.outputs[0];
}

int lowering::output_index(std::size_t i) const {
    if (i >= node_.outputs.size())
        refuse("output " + std::to_string(i) + " is missing");
    return node_.outputs[i];
}

const tensor &lowering::input(std::size_t i) const {
    return graph_.tensors.at(static_cast<std::size_t>(input_index(i)));
}

const tensor &lowering::input(std::size_t i, std::initializer_list<data_type> types) const {
    return checked(input(i), "input " + std::to_string(i), types);
}

const tensor &lowering::output() const { return graph_.tensors.at(static_cast<std::size_t>(output_index())); }

const tensor &lowering::result() const {
    return node_.fused.empty()
               ? output()
               : graph_.tensors.at(static_cast<std::size_t>(fused_value(node_, node_.fused.front())));
}

const tensor &lowering::output(std::initializer_list<data_type> types) const {
    return checked(output(), "the output", types);
}

const tensor &lowering::output(std::size_t i, std::initializer_list<data_type> types) const {
    const tensor &t = graph_.tensors.at(static_cast<std::size_t>(output_index(i)));
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
std::string lowering::text(const std::string &name) const {
    return attribute_as<std::string>(name, "a name");
}
std::string lowering::text(const std::string &name, const std::string &fallback) const {
    return has_attribute(name) ? text(name) : fallback;
}

memory lowering::input_memory(std::size_t i) const { return buffers_.get(input_index(i)); }
memory lowering::output_memory() const { return buffers_.get(output_index()); }
memory lowering::output_memory(std::size_t i) const { return buffers_.get(output_index(i)); }
memory lowering::kept_output_memory() const { return buffers_.keep(output_index()); }

memory lowering::input_memory(std::size_t i, const memory::desc &d) const {
    return buffers_.get(input_index(i), d);
}
memory lowering::output_memory(const memory::desc &d) const { return buffers_.get(output_index(), d); }

memory lowering::packed_input(std::size_t i, const memory::desc &plain, const memory::desc &chosen) const {
    const memory user = input_memory(i, plain);
    if (plain == chosen)
        return user;
    const memory packed(chosen, engine_);
    reorder(user, packed).execute(stream(engine_), user, packed);
    return packed;
}

void lowering::alias_output_to_input(std::size_t i) const { buffers_.alias(output_index(), input_index(i)); }

memory::desc dense_desc(const tensor &t) {
    constexpr format_tag channels_last[] = {format_tag::nwc, format_tag::nhwc, format_tag::ndhwc};
    if (t.is_channels_last)
        return memory::desc(t.dims, t.type, channels_last[t.dims.size() - 3]);
    return memory::desc(t.dims.empty() ? memory::dims{1} : t.dims, t.type, memory::dims());
}

memory::desc padded_desc(const tensor &t, std::size_t rank) {
    if (t.dims.size() == rank)
        return dense_desc(t);
    memory::dims dims(rank - std::min(rank, t.dims.size()), 1);
    dims.insert(dims.end(), t.dims.begin(), t.dims.end());
    return memory::desc(dims, t.type, memory::dims());
}

memory::dims broadcast_dims(const memory::desc &a, const memory::desc &b) {
    memory::dims dims = a.dims();
    for (std::size_t i = 0; i < dims.size(); i++) {
        if (dims[i] != b.dims()[i] && dims[i] != 1 && b.dims()[i] != 1)
            refuse("inputs " + to_text(a.dims()) + " and " + to_text(b.dims()) + " do not broadcast");
        if (dims[i] == 1)
            dims[i] = b.dims()[i];
    }
    return dims;
}

memory::desc matrices_desc(const memory::dims &matrix_dims, data_type type, std::size_t rank,
                           bool is_transposed) {
    memory::dims dims(rank - matrix_dims.size(), 1);
    dims.insert(dims.end(), matrix_dims.begin(), matrix_dims.end());
    memory::dims strides(rank, 1);
    for (std::size_t i = rank - 1; i-- > 0;)
        strides[i] = strides[i + 1] * dims[i + 1];
    if (is_transposed) {
        std::swap(dims[rank - 2], dims[rank - 1]);
        std::swap(strides[rank - 2], strides[rank - 1]);
    }
    return memory::desc(dims, type, strides);
}

memory::desc planned_weights(const memory::desc &plain, const tensor &weights) {
    return weights.is_constant ? memory::desc(plain.dims(), plain.data_type(), format_tag::any) : plain;
}

memory::desc checked_desc(const tensor &t) {
    if (t.type == data_type::undef)
        refuse_as_unimplemented("tensor '" + t.name + "' is " + type_text(t) +
                                "; Octet has f32, s32, s16, s8 and u8");
    if (element_count(t.dims) == 0)
        refuse_as_unimplemented("tensor '" + t.name + "' has no elements (" + to_text(t.dims) + ")");
    return dense_desc(t);
}

} // namespace octet::model
