#pragma once // SPDX-License-Identifier: Apache-2.0

// Makes graphs as the readers make them, without a file, with random constants.

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "octet/network.hpp"

namespace octet::tests {

/// A graph with random constants.
class graph_builder {
public:
    graph_builder(const std::string &framework, data_type type, std::uint32_t seed = 7)
        : type_(type), random_(seed) {
        g.framework = framework;
    }

    int tensor(const memory::dims &dims, float scale, std::int32_t zero_point) {
        model::tensor t;
        t.name = "t" + std::to_string(g.tensors.size());
        t.type = type_;
        t.dims = dims;
        t.quant = {{scale}, {zero_point}, 0};
        g.tensors.push_back(t);
        return static_cast<int>(g.tensors.size() - 1);
    }
    /// Random values below `limit` in magnitude.
    int weights(const memory::dims &dims, data_type type, float scale, int limit = 127) {
        const int index = tensor(dims, scale, 0);
        std::uniform_int_distribution<int> value(-limit, limit);
        std::vector<std::int32_t> values(static_cast<std::size_t>(model::element_count(dims)));
        for (std::int32_t &v : values)
            v = value(random_);
        return constant(index, type, values);
    }
    int integers(const memory::dims &dims, const std::vector<std::int32_t> &values) {
        return constant(tensor(dims, 1.f, 0), data_type::s32, values, false);
    }
    int scale(float value) {
        const int index = constant(tensor({}, 1.f, 0), data_type::f32, {}, false);
        model::tensor &t = g.tensors[static_cast<std::size_t>(index)];
        const auto *p = reinterpret_cast<const std::uint8_t *>(&value);
        t.data = std::vector<std::uint8_t>(p, p + sizeof value);
        return index;
    }
    int zero_point(std::int32_t value) { return constant(tensor({}, 1.f, 0), type_, {value}, false); }

    void node(const std::string &op, const std::vector<int> &inputs, int output,
              const std::map<std::string, model::attribute> &attributes = {}) {
        g.nodes.push_back({op, inputs, {output}, attributes});
    }

    model::graph g;

private:
    int constant(int index, data_type type, const std::vector<std::int32_t> &values, bool has_scale = true) {
        model::tensor &t = g.tensors[static_cast<std::size_t>(index)];
        t.type = type;
        t.is_constant = true;
        if (!has_scale)
            t.quant = {};
        std::vector<std::uint8_t> data;
        for (const std::int32_t v : values) {
            const auto *p = reinterpret_cast<const std::uint8_t *>(&v); // little-endian: the low bytes
            data.insert(data.end(), p, p + memory::data_type_size(type));
        }
        t.data = std::move(data);
        return index;
    }

    data_type type_;
    std::mt19937 random_;
};

} // namespace octet::tests
