// oneDNN's matmul and its binary as devices.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tests/match/devices.hpp"

#if OCTET_HAVE_DNNL

#include <sstream>

#include "octet/requantization.hpp"
#include "tools/tests/match/onednn_device.hpp"

namespace octet::tests {

namespace {

match::codes codes_of(const std::vector<std::uint8_t> &bytes, bool is_u8) {
    match::codes results;
    for (const std::uint8_t code : bytes)
        results.push_back(is_u8 ? int{code} : int{static_cast<std::int8_t>(code)});
    return results;
}

device product_device(const scales &s) {
    const std::vector<double> factors = real_multipliers(scale_derivation::ort_f32, s.src, s.weights, s.dst);
    return {"oneDNN's matmul, " + s.text("product"),
            s.text("product"),
            [s, factors = std::vector<float>(factors.begin(), factors.end())](const match::inputs &given) {
                std::vector<std::uint8_t> y(match::row_count(given) * factors.size());
                onednn_device_matmul(reinterpret_cast<const std::int8_t *>(given[0].bytes.data()),
                                     given[0].dims[0], given[0].dims[1],
                                     reinterpret_cast<const std::int8_t *>(given[1].bytes.data()),
                                     factors.data(), given[1].dims[0], s.src_zero_point, s.dst_zero_point,
                                     s.type == "u8", y.data());
                return codes_of(y, s.type == "u8");
            },
            {"f32"}};
}

/// Its results have a scale of 1.
device element_device(bool multiplies, float a, float b, bool is_u8) {
    std::ostringstream json;
    json.precision(9);
    const char *type = is_u8 ? "u8" : "s8";
    json << R"({"kind": ")" << (multiplies ? "mul" : "add") << R"(", "inputs": [{"type": ")" << type
         << R"(", "scale": )" << a << R"(}, {"type": ")" << type << R"(", "scale": )" << b
         << R"(}], "output": {"type": ")" << type << R"(", "scale": 1}})";
    return {"oneDNN's binary, " + json.str(),
            json.str(),
            [=](const match::inputs &given) {
                std::vector<std::uint8_t> y(match::row_count(given));
                onednn_device_binary(multiplies, given[0].bytes.data(), given[1].bytes.data(),
                                     given[0].dims[0], a, b, is_u8, y.data());
                return codes_of(y, is_u8);
            },
            {"f32"}};
}

} // namespace

std::vector<device> onednn_devices() {
    std::vector<device> devices;
    for (const scales &s : many_scales())
        devices.push_back(product_device(s));
    for (const scales &s : scales_of_channels())
        devices.push_back(product_device(s));
    for (const bool is_u8 : {false, true}) {
        devices.push_back(element_device(false, 0.5f, 0.25f, is_u8));
        devices.push_back(element_device(false, 0.3f, 0.77f, is_u8));
        devices.push_back(element_device(true, 0.25f, 0.125f, is_u8));
        devices.push_back(element_device(true, 0.11f, 0.07f, is_u8));
    }
    return devices;
}

} // namespace octet::tests

#else

namespace octet::tests {
std::vector<device> onednn_devices() { return {}; }
} // namespace octet::tests

#endif
