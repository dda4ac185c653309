#pragma once // SPDX-License-Identifier: Apache-2.0

// What ONNX Runtime's transformers make of a small graph. A suite of tests is called after the file of ONNX
// Runtime whose rewrite it shows: GeluFusion after gelu_fusion.cc.

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace octet::tests {

constexpr int usual_opset = 17;

/// Returns the steps that change a graph, then the operators that they leave: "L2.1 GeluFusionL2: Neg Gelu".
/// Of a graph that no step changes it returns the operators alone.
///
/// The graph is in ONNX's textual syntax without a name:
/// "(float[2,n] x) => (float[] y) <float two = {2}> { y = Mul(x, two) }". Constants without values get some.
std::string rewritten(const std::string &graph, int opset = usual_opset, bool is_int8_allowed = false);

/// The graph with values in the places of $1, $2 and so on.
std::string filled(std::string graph, const std::vector<std::string> &values);

} // namespace octet::tests
