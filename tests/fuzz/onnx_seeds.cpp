// Seeds in ONNX: encoders on floats and integers, and networks that lie about sizes and indices.

#include "fuzz/seeds.hpp"
#include "model/onnx_encoder.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;

/// x u8 {2, 3} through one node with constant integers, to y.
template <typename... Attributes>
fuzz_seed one_node(const char *name, fuzz_outcome expected, const char *op,
                   const std::vector<std::pair<b::dims, b::dims>> &constants,
                   const Attributes &...attributes) {
    b m;
    m.input<std::uint8_t>("x", {2, 3});
    b::names names = {"x"};
    for (const auto &[shape, values] : constants) {
        names.push_back("c" + std::to_string(names.size()));
        m.constant<std::int64_t>(names.back(), shape, values);
    }
    onnx::NodeProto &n = m.node(op, names, {"y"});
    (b::set(n, attributes.first, attributes.second), ...);
    m.output("y");
    return {name, m.finish(), expected};
}

/// Range of constants.
fuzz_seed range(const char *name, fuzz_outcome expected, std::int64_t start, std::int64_t limit,
                std::int64_t step) {
    b m;
    m.input<std::uint8_t>("x", {2, 3});
    m.scalar<std::int64_t>("start", start), m.scalar<std::int64_t>("limit", limit),
        m.scalar<std::int64_t>("step", step);
    m.node("Range", {"start", "limit", "step"}, {"y"});
    m.node("Identity", {"x"}, {"z"});
    m.output("y"), m.output("z");
    return {name, m.finish(), expected};
}

} // namespace

std::vector<fuzz_seed> onnx_seeds() {
    constexpr auto ran = fuzz_outcome::ran, refused = fuzz_outcome::refused;
    using number = std::pair<const char *, std::int64_t>;
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    return {
        {"encoder_dynamic", encoder(true, 5).finish(), ran},
        {"encoder_static", encoder(false, 5).finish(), ran},
        one_node("gather_inside", ran, "Gather", {{{2}, {1, -2}}}),
        one_node("gather_outside", refused, "Gather", {{{2}, {1, 2}}}),
        one_node("gather_far_outside", refused, "Gather", {{{1}, {-huge}}}),
        one_node("gather_axis", refused, "Gather", {{{1}, {0}}}, number("axis", -huge)),
        one_node("slice_far", ran, "Slice", {{{1}, {-huge}}, {{1}, {huge}}, {{1}, {1}}, {{1}, {1}}}),
        one_node("slice_backwards", ran, "Slice", {{{1}, {huge}}, {{1}, {-huge}}, {{1}, {1}}, {{1}, {-2}}}),
        one_node("slice_step_of_minimum", ran, "Slice",
                 {{{1}, {2}}, {{1}, {-huge}}, {{1}, {1}}, {{1}, {-huge}}}),
        one_node("slice_nothing", refused, "Slice", {{{1}, {2}}, {{1}, {1}}}),
        one_node("expand_huge", refused, "Expand", {{{3}, {huge, 1, 3}}}),
        one_node("reshape_huge", refused, "Reshape", {{{3}, {huge, huge, -1}}}),
        range("range_short", ran, 3, 0, -1),
        range("range_huge", refused, -huge, huge, 1),
        range("range_step_of_zero", refused, 0, 1, 0),
    };
}

} // namespace octet::tests
