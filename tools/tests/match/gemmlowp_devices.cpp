// gemmlowp's output stages as devices.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tests/match/devices.hpp"

#if OCTET_HAVE_GEMMLOWP

#include <gemmlowp/public/gemmlowp.h>

#include "octet/requantization.hpp"

namespace octet::tests {
namespace {

template <typename Stage> std::int32_t run_stage(const Stage &stage, std::int32_t acc) {
    using block = gemmlowp::RegisterBlock<std::int32_t, 1, 1>;
    block input;
    input.buf.reg[0] = acc;
    std::int32_t result = 0;
    gemmlowp::MatrixMap<std::int32_t, gemmlowp::MapOrder::ColMajor> dst(&result, 1, 1, 1);
    const std::tuple<Stage> stages(stage);
    const gemmlowp::OutputPipelineExecutor<std::tuple<Stage>, block> pipeline(stages);
    pipeline.Execute(input, &dst, 0, 0, 0, 0);
    return result;
}

template <typename Stage> match::codes run(const scales &s, const Stage &stage, const match::inputs &given) {
    match::codes results;
    for (std::size_t i = 0; i < given[0].count(); i++) {
        const std::int32_t low = s.type == "u8" ? 0 : -128;
        results.push_back(std::min(std::max(run_stage(stage, given[0].integer(i)), low), low + 255));
    }
    return results;
}

} // namespace

std::vector<device> gemmlowp_devices() {
    std::vector<device> devices;
    for (const scales &s : many_scales()) {
        const auto right = from_double(requantization_rule::gemmlowp_fixedpoint, s.factor());
        const gemmlowp::OutputStageQuantizeDownInt32ByFixedPoint fixed{right.multiplier, right.shift,
                                                                       s.dst_zero_point};
        devices.push_back({"gemmlowp, by fixed point, " + s.text("requantize"),
                           s.text("requantize"),
                           [s, fixed](const match::inputs &given) { return run(s, fixed, given); },
                           {"gemmlowp_fixedpoint"}});
        const auto left = from_double(requantization_rule::gemmlowp_fixedpoint_exponent, s.factor());
        const gemmlowp::OutputStageScaleInt32ByFixedPointAndExponent exponent{left.multiplier, left.shift,
                                                                              s.dst_zero_point};
        devices.push_back({"gemmlowp, by fixed point and exponent, " + s.text("requantize"),
                           s.text("requantize"),
                           [s, exponent](const match::inputs &given) { return run(s, exponent, given); },
                           {"gemmlowp_fixedpoint_exponent"}});
    }
    return devices;
}

} // namespace octet::tests

#else

namespace octet::tests {
std::vector<device> gemmlowp_devices() { return {}; }
} // namespace octet::tests

#endif
