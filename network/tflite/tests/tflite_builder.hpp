#pragma once // SPDX-License-Identifier: Apache-2.0

// Writes small .tflite models in memory, valid ones and, by handing in what no converter would write, others.

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tflite_generated.h"

namespace octet::tests {

namespace format = octet::tflite;

template <typename T> std::vector<std::uint8_t> bytes_of(const std::vector<T> &values) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
    if (!bytes.empty())
        std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

struct tflite_quantization {
    std::vector<float> scales;
    std::vector<std::int64_t> zero_points;
    int axis = 0;
};

class tflite_builder {
public:
    using dims = std::vector<std::int32_t>;
    using quantization = tflite_quantization;

    tflite_builder() { add_buffer({}); }

    /// A computed tensor; returns its index.
    int tensor(const dims &shape, format::TensorType type, const quantization &q = {}) {
        return add_tensor(shape, type, 0, q);
    }
    int s8(const dims &shape, float scale, std::int64_t zero_point) {
        return tensor(shape, format::TensorType_INT8, {{scale}, {zero_point}, 0});
    }
    int constant(const dims &shape, format::TensorType type, const std::vector<std::uint8_t> &data,
                 const quantization &q = {}) {
        return add_tensor(shape, type, add_buffer(data), q);
    }
    /// State: keeps its contents from run to run.
    int variable(const dims &shape, format::TensorType type, const quantization &q) {
        return add_tensor(shape, type, 0, q, true);
    }
    int constant_s8(const dims &shape, const std::vector<std::int8_t> &codes, const quantization &q) {
        return constant(shape, format::TensorType_INT8, bytes_of(codes), q);
    }
    int constant_s32(const dims &shape, const std::vector<std::int32_t> &values) {
        return constant(shape, format::TensorType_INT32, bytes_of(values));
    }

    std::uint32_t add_buffer(const std::vector<std::uint8_t> &data) {
        buffers_.push_back(format::CreateBuffer(fbb, data.empty() ? 0 : fbb.CreateVector(data)));
        return static_cast<std::uint32_t>(buffers_.size() - 1);
    }
    /// Data at a place of the file that the FlatBuffer does not cover.
    std::uint32_t add_outside_buffer(std::uint64_t offset, std::uint64_t size) {
        buffers_.push_back(format::CreateBuffer(fbb, 0, offset, size));
        return static_cast<std::uint32_t>(buffers_.size() - 1);
    }
    int add_tensor(const dims &shape, format::TensorType type, std::uint32_t buffer, const quantization &q,
                   bool is_variable = false) {
        const auto parameters = format::CreateQuantizationParameters(
            fbb, 0, 0, fbb.CreateVector(q.scales), fbb.CreateVector(q.zero_points),
            format::QuantizationDetails_NONE, 0, q.axis);
        tensors_.push_back(format::CreateTensor(fbb, fbb.CreateVector(shape), type, buffer,
                                                fbb.CreateString("t" + std::to_string(tensors_.size())),
                                                parameters, is_variable));
        return static_cast<int>(tensors_.size() - 1);
    }

    /// A node; `options` comes from format::Create…Options(builder.fbb, …).
    template <typename Options>
    void node(format::BuiltinOperator op, const std::vector<int> &inputs, const std::vector<int> &outputs,
              flatbuffers::Offset<Options> options) {
        add_node(op, inputs, outputs, format::BuiltinOptionsTraits<Options>::enum_value, options.Union());
    }
    void node(format::BuiltinOperator op, const std::vector<int> &inputs, const std::vector<int> &outputs) {
        add_node(op, inputs, outputs, format::BuiltinOptions_NONE, 0);
    }
    void node_of_code(std::uint32_t opcode_index, const std::vector<int> &inputs,
                      const std::vector<int> &outputs) {
        nodes_.push_back(
            format::CreateOperator(fbb, opcode_index, fbb.CreateVector(inputs), fbb.CreateVector(outputs)));
    }
    std::uint32_t add_code(format::BuiltinOperator op, const char *custom_name = nullptr) {
        const auto old = static_cast<std::int8_t>(op > 127 ? 127 : op);
        codes_.push_back(
            format::CreateOperatorCode(fbb, old, custom_name ? fbb.CreateString(custom_name) : 0, 1, op));
        return static_cast<std::uint32_t>(codes_.size() - 1);
    }

    /// The file. `outputs` empty: those of the last node.
    std::vector<std::uint8_t> finish(const std::vector<int> &inputs, const std::vector<int> &outputs,
                                     std::uint32_t version = 3) {
        const auto subgraph =
            format::CreateSubGraph(fbb, fbb.CreateVector(tensors_), fbb.CreateVector(inputs),
                                   fbb.CreateVector(outputs), fbb.CreateVector(nodes_));
        const auto subgraphs = fbb.CreateVector(&subgraph, 1);
        const auto codes = fbb.CreateVector(codes_);
        const auto buffers = fbb.CreateVector(buffers_);
        format::FinishModelBuffer(fbb, format::CreateModel(fbb, version, codes, subgraphs, 0, buffers));
        return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
    }

    flatbuffers::FlatBufferBuilder fbb;
    std::vector<flatbuffers::Offset<format::Tensor>> &tensors() { return tensors_; }

private:
    void add_node(format::BuiltinOperator op, const std::vector<int> &inputs, const std::vector<int> &outputs,
                  format::BuiltinOptions type, flatbuffers::Offset<void> options) {
        const std::uint32_t code = add_code(op);
        nodes_.push_back(format::CreateOperator(fbb, code, fbb.CreateVector(inputs),
                                                fbb.CreateVector(outputs), type, options));
    }

    std::vector<flatbuffers::Offset<format::Buffer>> buffers_;
    std::vector<flatbuffers::Offset<format::Tensor>> tensors_;
    std::vector<flatbuffers::Offset<format::OperatorCode>> codes_;
    std::vector<flatbuffers::Offset<format::Operator>> nodes_;
};

} // namespace octet::tests
