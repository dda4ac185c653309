#pragma once // SPDX-License-Identifier: Apache-2.0

// A shape function's view of its node: inputs, attributes, and a place for the shapes that it infers.
// Attributes and constants come from a file: every number is limited before it enters arithmetic.

#include <algorithm>
#include <limits>

#include "network/graph/descs.hpp"
#include "network/graph/node_marks.hpp"
#include "network/shapes/known_integers.hpp"

namespace octet::model {

/// Limit of attributes and of constants that stand for sizes, so that products of two stay inside 64 bits.
inline constexpr std::int64_t max_size = std::numeric_limits<std::int32_t>::max();

/// One node with its tensors; what an inference function sees.
class node_shapes {
public:
    node_shapes(graph &g, node &n) : g_(g), n_(n) {}

    const std::string &op() const { return n_.op; }
    std::size_t input_count() const { return n_.inputs.size(); }
    std::size_t output_count() const { return n_.outputs.size(); }
    bool has_input(std::size_t i) const { return input_of(n_, i).has_value(); }
    const tensor &input(std::size_t i) const {
        if (!has_input(i))
            refuse("input " + std::to_string(i) + " is missing");
        return tensor_at(g_, input_of(n_, i));
    }
    const memory::dims &dims(std::size_t i) const { return input(i).dims; }

    /// dims(i), which must have at least `rank` entries.
    const memory::dims &dims_of_rank(std::size_t i, std::size_t rank) const {
        if (dims(i).size() < rank)
            refuse("input " + std::to_string(i) + " (" + to_text(dims(i)) + ") has fewer than " +
                   std::to_string(rank) + " dimensions");
        return dims(i);
    }

    std::int64_t integer(const std::string &name, std::int64_t fallback) const {
        const auto *value = find<std::int64_t>(name, "an integer");
        return limited(value ? *value : fallback, "attribute '" + name + "'");
    }
    std::vector<std::int64_t> integers(const std::string &name,
                                       const std::vector<std::int64_t> &fallback) const {
        const auto *values = find<std::vector<std::int64_t>>(name, "a list of integers");
        if (values && !fallback.empty() && values->size() != fallback.size())
            refuse("attribute '" + name + "' has " + std::to_string(values->size()) +
                   " entries, allowed is " + std::to_string(fallback.size()));
        std::vector<std::int64_t> result = values ? *values : fallback;
        for (const std::int64_t v : result)
            limited(v, "attribute '" + name + "'");
        return result;
    }
    /// Places in a tensor, of which the largest integers mean "to the end"; none where the attribute is absent.
    std::vector<std::int64_t> places(const std::string &name) const {
        const auto *values = find<std::vector<std::int64_t>>(name, "a list of integers");
        std::vector<std::int64_t> result = values ? *values : std::vector<std::int64_t>();
        for (std::int64_t &v : result)
            v = std::clamp<std::int64_t>(v, -max_size, max_size);
        return result;
    }
    std::string text(const std::string &name, const std::string &fallback) const {
        const auto *value = find<std::string>(name, "a name");
        return value ? *value : fallback;
    }
    bool has_attribute(const std::string &name) const { return n_.attributes.count(name) != 0; }
    bool has_integer(const std::string &name) const {
        const auto found = n_.attributes.find(name);
        return found != n_.attributes.end() && std::holds_alternative<std::int64_t>(found->second);
    }
    bool has_real(const std::string &name) const {
        const auto found = n_.attributes.find(name);
        return found != n_.attributes.end() && std::holds_alternative<float>(found->second);
    }
    void set_attribute(const std::string &name, attribute value) { n_.attributes[name] = std::move(value); }

    const node_marks &marks() const { return marks_of(n_); }
    template <typename T, typename Value> void set_mark(T node_marks::*mark, Value &&value) {
        model::set_mark(n_, mark, std::forward<Value>(value));
    }

    /// Integers that say what is computed: a shape, axes, pads.
    std::vector<std::int64_t> constant(std::size_t i) const {
        const tensor &t = input(i);
        const auto values = known_integers(t);
        if (t.type != data_type::s32 || !values)
            refuse_as_unimplemented("input " + std::to_string(i) + " ('" + t.name +
                                    "') is computed, allowed are constant integers");
        return *values;
    }

    /// An index into `rank` dimensions; negative ones count from the end.
    std::size_t axis(std::int64_t given, std::size_t rank, std::size_t allowed_beyond = 0) const {
        const auto size = static_cast<std::int64_t>(rank);
        const std::int64_t a = given < 0 ? given + size : given;
        if (a < 0 || a >= size + static_cast<std::int64_t>(allowed_beyond))
            refuse("axis " + std::to_string(given) + " is outside the " + std::to_string(rank) +
                   " dimensions");
        return static_cast<std::size_t>(a);
    }

    void set_output(data_type type, const memory::dims &dims, std::size_t i = 0) {
        if (i >= n_.outputs.size())
            return;
        tensor &t = tensor_at(g_, output_of(n_, i));
        t.type = type;
        if (!stands_for(type, t.foreign_type))
            t.foreign_type.clear();
        t.dims = dims;
    }
    /// Sets the dimensions of an output whose type is known.
    void set_output_dims(const memory::dims &dims, std::size_t i = 0) {
        tensor_at(g_, output_of(n_, i)).dims = dims;
    }
    /// Sets the dimensions of the state that a recurrent operator keeps.
    void set_state_dims(std::size_t i, const memory::dims &dims) {
        if (has_input(i) && input(i).is_variable)
            tensor_at(g_, input_of(n_, i)).dims = dims;
    }
    void set_output_like(std::size_t i) {
        const tensor like = input(i);
        set_output(like.type, like.dims);
        if (like.type == data_type::undef)
            tensor_at(g_, output_of(n_)).foreign_type = like.foreign_type;
    }

private:
    template <typename T> const T *find(const std::string &name, const char *kind) const {
        const auto found = n_.attributes.find(name);
        if (found == n_.attributes.end())
            return nullptr;
        const T *value = std::get_if<T>(&found->second);
        if (!value)
            refuse("attribute '" + name + "' is not " + kind);
        return value;
    }
    static std::int64_t limited(std::int64_t value, const std::string &who) {
        if (value < -max_size || value > max_size)
            refuse(who + " is " + std::to_string(value) + ", allowed: -2^31 + 1 to 2^31 - 1");
        return value;
    }

    graph &g_;
    node &n_;
};

} // namespace octet::model
