// oneDNN's matmul as devices.
// SPDX-License-Identifier: Apache-2.0
#include "match/devices.hpp"

#if OCTET_HAVE_DNNL

#include "match/onednn_device.hpp"
#include "octet/requantization.hpp"

namespace octet::tests {

std::vector<device> onednn_devices() {
    std::vector<device> devices;
    for (const scales &s : many_scales()) {
        const auto factor =
            static_cast<float>(real_multiplier(scale_derivation::ort_f32, s.src, s.weights, s.dst));
        devices.push_back(
            {"oneDNN's matmul, " + s.text("product"),
             s.text("product"),
             [s, factor](const match::inputs &given) {
                 std::vector<std::uint8_t> y(match::row_count(given));
                 onednn_device_matmul(reinterpret_cast<const std::int8_t *>(given[0].bytes.data()),
                                      given[0].dims[0], given[0].dims[1],
                                      reinterpret_cast<const std::int8_t *>(given[1].bytes.data()), factor,
                                      s.src_zero_point, s.dst_zero_point, s.type == "u8", y.data());
                 match::codes results;
                 for (const std::uint8_t code : y)
                     results.push_back(s.type == "u8" ? int{code} : int{static_cast<std::int8_t>(code)});
                 return results;
             },
             {"f32"}});
    }
    return devices;
}

} // namespace octet::tests

#else

namespace octet::tests {
std::vector<device> onednn_devices() { return {}; }
} // namespace octet::tests

#endif
