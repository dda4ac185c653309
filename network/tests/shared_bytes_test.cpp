// Networks have no s4, u4 and u2: every operator of both frameworks refuses such tensors by a sentence, whether they
// are constants or come from outside.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

/// One node with tensors of this type alone, 4 x 8 each.
model::graph node_of(const std::string &framework, const std::string &op, data_type type, int inputs,
                     bool are_constant) {
    model::graph g;
    g.framework = framework;
    for (int i = 0; i <= inputs; i++) {
        model::tensor t;
        t.name = "t" + std::to_string(i);
        t.type = type;
        t.dims = {4, 8};
        t.quant = {{0.5f}, {1}, 0};
        t.is_constant = i > 0 && i < inputs && are_constant;
        if (t.is_constant)
            t.data = std::vector<std::uint8_t>(static_cast<std::size_t>(32 / elements_per_byte(type)), 0x12);
        g.tensors.push_back(t);
    }
    g.nodes.push_back({op, {}, {inputs}, {}});
    for (int i = 0; i < inputs; i++)
        g.nodes[0].inputs.push_back(i);
    g.inputs = {0};
    g.outputs = {inputs};
    return g;
}

TEST(SharedBytes, NoOperatorTakesThem) {
    int named = 0;
    for (const char *framework : {"onnx", "tflite"})
        for (const std::string &op : supported_operators(framework))
            for (const data_type type : {data_type::s4, data_type::u4, data_type::u2})
                for (const int inputs : {1, 2, 3, 5})
                    for (const bool are_constant : {false, true}) {
                        SCOPED_TRACE(op + " of " + to_string(type) + ", " + std::to_string(inputs) +
                                     " inputs");
                        try {
                            network net(node_of(framework, op, type, inputs, are_constant));
                            ADD_FAILURE() << "is taken";
                        } catch (const error &e) {
                            named += std::string(e.what()).find(to_string(type)) != std::string::npos;
                        }
                    }
    EXPECT_GT(named, 1000);
}

TEST(SharedBytes, ConstantsHaveAsManyBytesAsTheyNeed) {
    model::graph g = node_of("onnx", "Add", data_type::s4, 2, true);
    g.tensors[1].data = std::vector<std::uint8_t>(32);
    try {
        network net(g);
        ADD_FAILURE() << "is taken";
    } catch (const error &e) {
        EXPECT_NE(std::string(e.what()).find("holds 32 bytes of constant data, but s4 4x8 takes 16"),
                  std::string::npos)
            << e.what();
    }
}

} // namespace
} // namespace octet::tests
