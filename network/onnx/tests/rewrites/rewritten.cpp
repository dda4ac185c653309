// Reads a graph's text with ONNX's own parser, then as a file.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

#include <set>

#include <onnx/defs/parser.h>

#include "octet/network.hpp"

namespace octet::tests {
namespace {

/// Tensors that are declared, but that no node writes, become constants: numbers from -0.5 to 0.75, or codes.
void fill_constants(onnx::GraphProto &g) {
    std::set<std::string> written;
    for (const onnx::NodeProto &n : g.node())
        written.insert(n.output().begin(), n.output().end());
    for (const onnx::ValueInfoProto &v : g.value_info()) {
        if (written.count(v.name()) != 0)
            continue;
        const onnx::TypeProto_Tensor &type = v.type().tensor_type();
        onnx::TensorProto &t = *g.add_initializer();
        t.set_name(v.name());
        t.set_data_type(type.elem_type());
        std::int64_t count = 1;
        for (const auto &d : type.shape().dim()) {
            t.add_dims(d.dim_value());
            count *= d.dim_value();
        }
        for (std::int64_t i = 0; i < count; i++)
            if (type.elem_type() == onnx::TensorProto::FLOAT)
                t.add_float_data(static_cast<float>(i * 37 % 11) / 8.f - 0.5f);
            else
                t.add_int32_data(static_cast<std::int32_t>(i * 37 % 101));
    }
    g.clear_value_info();
}

onnx::ModelProto parsed(const std::string &graph, int opset) {
    const std::string text = "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
                             ", \"com.microsoft\" : 1]> agraph " + graph;
    onnx::ModelProto m;
    const auto status = onnx::OnnxParser(text.c_str()).Parse(m);
    EXPECT_TRUE(status.IsOK()) << status.ErrorMessage() << " in\n" << text;
    fill_constants(*m.mutable_graph());
    return m;
}

/// Sizes that a file leaves open are all 3.
network_options options_of(const onnx::GraphProto &g) {
    network_options options;
    for (const onnx::ValueInfoProto &x : g.input())
        for (const auto &d : x.type().tensor_type().shape().dim())
            if (d.has_dim_param())
                options.dimensions[d.dim_param()] = 3;
    return options;
}

std::string joined(const std::vector<std::string> &words, const char *between) {
    std::string text;
    for (const std::string &w : words)
        text += (text.empty() ? "" : between) + w;
    return text;
}

} // namespace

std::string rewritten(const std::string &graph, int opset, bool is_int8_allowed) {
    const onnx::ModelProto m = parsed(graph, opset);
    network_options options = options_of(m.graph());
    options.qdq_is_int8_allowed = is_int8_allowed;
    const std::string file = m.SerializeAsString();
    const network net(file.data(), file.size(), "graph.onnx", options);
    const std::string steps = joined(net.passes(), ", ");
    return steps + (steps.empty() ? "" : ": ") + joined(net.operators_left(), " ");
}

std::string filled(std::string graph, const std::vector<std::string> &values) {
    for (std::size_t i = 0; i < values.size(); i++) {
        const std::string place = "$" + std::to_string(i + 1);
        for (std::size_t at = 0; (at = graph.find(place, at)) != std::string::npos; at += values[i].size())
            graph.replace(at, place.size(), values[i]);
    }
    return graph;
}

} // namespace octet::tests
