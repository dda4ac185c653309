#pragma once // SPDX-License-Identifier: Apache-2.0

// Writes small .onnx models in memory, valid ones and, by changing `model` at will, others.

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <onnx/onnx_pb.h>

namespace octet::tests {

class onnx_builder {
public:
    using dims = std::vector<std::int64_t>;
    using names = std::vector<std::string>;
    static constexpr const char *microsoft = "com.microsoft";

    explicit onnx_builder(std::int64_t opset = 13) {
        model.set_ir_version(7);
        add_opset("", opset);
        add_opset(microsoft, 1);
    }

    template <typename T> static int type_of() {
        if (std::is_same_v<T, float>)
            return onnx::TensorProto::FLOAT;
        if (std::is_same_v<T, std::int64_t>)
            return onnx::TensorProto::INT64;
        if (std::is_same_v<T, std::int32_t>)
            return onnx::TensorProto::INT32;
        return std::is_same_v<T, std::int8_t> ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
    }

    template <typename T> std::string input(const std::string &name, const dims &shape) {
        declare(*graph().add_input(), name, type_of<T>(), shape);
        return name;
    }
    template <typename T> void output(const std::string &name, const dims &shape) {
        declare(*graph().add_output(), name, type_of<T>(), shape);
    }
    void output(const std::string &name) { graph().add_output()->set_name(name); }

    template <typename T>
    std::string constant(const std::string &name, const dims &shape, const std::vector<T> &values) {
        onnx::TensorProto &t = *graph().add_initializer();
        t.set_name(name);
        t.set_data_type(type_of<T>());
        for (const std::int64_t d : shape)
            t.add_dims(d);
        t.set_raw_data(values.data(), values.size() * sizeof(T));
        return name;
    }
    template <typename T> std::string scalar(const std::string &name, T value) {
        return constant<T>(name, {}, {value});
    }

    /// Returns the node, for attributes; its output has the name given.
    onnx::NodeProto &node(const std::string &op, const names &inputs, const names &outputs,
                          const std::string &domain = "") {
        onnx::NodeProto &n = *graph().add_node();
        n.set_op_type(op);
        n.set_domain(domain);
        for (const std::string &name : inputs)
            n.add_input(name);
        for (const std::string &name : outputs)
            n.add_output(name);
        return n;
    }

    static onnx::AttributeProto &attribute(onnx::NodeProto &n, const std::string &name,
                                           onnx::AttributeProto::AttributeType type) {
        onnx::AttributeProto &a = *n.add_attribute();
        a.set_name(name);
        a.set_type(type);
        return a;
    }
    static void set(onnx::NodeProto &n, const std::string &name, std::int64_t value) {
        attribute(n, name, onnx::AttributeProto::INT).set_i(value);
    }
    static void set(onnx::NodeProto &n, const std::string &name, const char *value) {
        attribute(n, name, onnx::AttributeProto::STRING).set_s(value);
    }
    static void set(onnx::NodeProto &n, const std::string &name, float value) {
        attribute(n, name, onnx::AttributeProto::FLOAT).set_f(value);
    }
    static void set(onnx::NodeProto &n, const std::string &name, const dims &values) {
        onnx::AttributeProto &a = attribute(n, name, onnx::AttributeProto::INTS);
        for (const std::int64_t v : values)
            a.add_ints(v);
    }

    std::vector<std::uint8_t> finish() const {
        const std::string text = model.SerializeAsString();
        return {text.begin(), text.end()};
    }

    onnx::GraphProto &graph() { return *model.mutable_graph(); }
    onnx::ModelProto model;

private:
    void add_opset(const std::string &domain, std::int64_t version) {
        onnx::OperatorSetIdProto &set = *model.add_opset_import();
        set.set_domain(domain);
        set.set_version(version);
    }
    /// -1 is a dimension that has only a name.
    static void declare(onnx::ValueInfoProto &value, const std::string &name, int type, const dims &shape) {
        value.set_name(name);
        onnx::TypeProto::Tensor &t = *value.mutable_type()->mutable_tensor_type();
        t.set_elem_type(type);
        t.mutable_shape();
        for (const std::int64_t d : shape) {
            auto &dim = *t.mutable_shape()->add_dim();
            if (d == -1)
                dim.set_dim_param("n");
            else
                dim.set_dim_value(d);
        }
    }
};

} // namespace octet::tests
