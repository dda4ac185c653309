// The model of `octet serve --demo`, which is a part of the program, and the line that asks it.
// SPDX-License-Identifier: Apache-2.0
#include "demo.hpp"

namespace octet::serve {
namespace {

constexpr unsigned char network_bytes[] = {
#include "demo_model.inl"
};

/// The first test image of examples/digits, a zero: 8 * pixel - 128.
constexpr const char *zero = "-128,-128,-88,-24,-56,-120,-128,-128,-128,-128,-24,-8,-48,-8,-88,-128,-128,-"
                             "104,-8,-112,-128,-40,-64,-128,-128,-96,-32,-128,-128,-64,-64,-128,"
                             "-128,-88,-64,-128,-128,-56,-64,-128,-128,-96,-40,-128,-120,-32,-72,-128,-128,-"
                             "112,-16,-88,-48,-32,-128,-128,-128,-128,-80,-24,-48,-128,-128,-128";

} // namespace

model_source demo_model() {
    return {"digits", "1", "",
            std::string(reinterpret_cast<const char *>(network_bytes), sizeof network_bytes)};
}

std::string demo_greeting(const std::string &address) {
    return "A handwritten zero, for the model `digits`:\n\n"
           "curl -s " +
           address +
           "/v2/models/digits/infer -d "
           "'{\"inputs\":[{\"name\":\"image\",\"shape\":[1,8,8,1],\"datatype\":\"INT8\",\"data\":[" +
           zero +
           "]}]}'\n\n"
           "The ten outputs are probabilities of 0 to 9: 256 * p - 128.\n";
}

} // namespace octet::serve
