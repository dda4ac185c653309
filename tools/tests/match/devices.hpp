#pragma once // SPDX-License-Identifier: Apache-2.0

// Devices of unknown arithmetic for the contract finder: libraries, Octet itself, and some that have no
// contract at all.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "match/finder.hpp"

namespace octet::tests {

struct device {
    std::string name;
    std::string description; ///< JSON of the operator
    std::function<match::codes(const match::inputs &)> run;
    std::set<std::string>
        contracts; ///< one of these has to be found; none: no name may be given, unless it is right
};

/// Octet's matrix product and its own conversion of accumulators, under every rule, on the reference and on
/// generated code.
std::vector<device> octet_devices();
/// The same with a scale per output channel.
std::vector<device> octet_devices_of_channels();
/// gemmlowp's output stages; none where it is missing.
std::vector<device> gemmlowp_devices();
/// oneDNN 2.6.3's matmul, also with a scale per output channel, and its sums and products of codes; none
/// where it is missing.
std::vector<device> onednn_devices();
/// Roundings and limits that nobody has.
std::vector<device> impostors();

/// {"kind": …, "inputs": [{src}, {weights}], "output": {…}} of factor src_scale * weights_scale / dst_scale.
struct scales {
    float src;
    std::vector<float> weights; ///< one per output channel
    float dst;
    std::int32_t src_zero_point, dst_zero_point;
    std::string type; ///< type of the output
    double factor() const { return double{src} * double{weights[0]} / double{dst}; }
    std::string text(const std::string &kind) const;
};
const std::vector<scales> &many_scales();
std::vector<scales> scales_of_channels();

} // namespace octet::tests
