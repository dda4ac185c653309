#pragma once // SPDX-License-Identifier: Apache-2.0

// An .onnx file with its weights left where they are. protobuf copies every field that it parses, and nine tenths
// of a network's file are the `raw_data` of its initialisers: those are found by walking over the message, and
// protobuf parses the rest.

#include <deque>
#include <optional>

#include <onnx/onnx_pb.h>

#include "octet/shared_bytes.hpp"

namespace octet::model {

/// An initialiser; its `raw_data`, if the file has some, is here and not in the message.
struct onnx_initializer {
    onnx::TensorProto tensor;
    std::optional<shared_bytes> raw_data;
};

struct onnx_file {
    onnx::ModelProto model;                    ///< its graph without initialisers
    std::deque<onnx_initializer> initializers; ///< messages are slow to move
};

/// Nothing for bytes that are no such message. Data of initialisers is a part of `bytes`.
std::optional<onnx_file> parse_onnx(const shared_bytes &bytes);

} // namespace octet::model
