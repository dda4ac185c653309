// Seeds of TFLite's operators that move codes or choose among them: one network of each kind as it should be,
// and single numbers that are not.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "network/tests/fuzz/seeds.hpp"
#include "network/tflite/tests/tflite_builder.hpp"

namespace octet::tests {
namespace {

using b = tflite_builder;
constexpr int lowest = std::numeric_limits<std::int32_t>::min(),
              highest = std::numeric_limits<std::int32_t>::max();

/// Codes of one scale, so that all operators take them.
struct codes : b {
    int codes_of(const dims &shape) { return s8(shape, 0.5f, 3); }
    int list(const std::vector<std::int32_t> &values) {
        return constant_s32({static_cast<std::int32_t>(values.size())}, values);
    }
};

/// Slices and their kin, of x {1, 4, 6, 8}: `begin` and `stride` of the width are the file's.
std::vector<std::uint8_t> slices(std::int32_t begin, std::int32_t stride, std::int32_t axis,
                                 std::int32_t index) {
    codes m;
    const int x = m.codes_of({1, 4, 6, 8}), part = m.codes_of({1, 4, 3, 8}), left = m.codes_of({1, 4, 3, 4}),
              right = m.codes_of({1, 4, 3, 4}), row = m.codes_of({1, 4, 3, 4}),
              rows = m.codes_of({2, 1, 4, 3, 4}), taken = m.codes_of({2, 1, 4, 2, 4});
    m.node(format::BuiltinOperator_STRIDED_SLICE,
           {x, m.list({0, 0, begin, 0}), m.list({1, 4, highest, 8}), m.list({1, 1, stride, 1})}, {part},
           format::CreateStridedSliceOptions(m.fbb));
    m.node(format::BuiltinOperator_SPLIT, {m.list({axis}), part}, {left, right});
    m.node(format::BuiltinOperator_MAXIMUM, {left, right}, {row});
    m.node(format::BuiltinOperator_PACK, {row, row}, {rows}, format::CreatePackOptions(m.fbb, 2, 0));
    m.node(format::BuiltinOperator_GATHER, {rows, m.list({0, index})}, {taken},
           format::CreateGatherOptions(m.fbb, 3));
    return m.finish({x}, {taken});
}

/// Blocks and mirrors, of x {1, 4, 6, 8}.
std::vector<std::uint8_t> blocks(std::int32_t block, std::int32_t padding, std::int32_t batch_block,
                                 std::int32_t multiple) {
    codes m;
    const int x = m.codes_of({1, 4, 6, 8}), wide = m.codes_of({1, 8, 12, 2}),
              mirrored = m.codes_of({1, 10, 12, 2}), batch = m.codes_of({4, 6, 6, 2}),
              tiled = m.codes_of({4, 12, 6, 2});
    m.node(format::BuiltinOperator_DEPTH_TO_SPACE, {x}, {wide},
           format::CreateDepthToSpaceOptions(m.fbb, block));
    m.node(format::BuiltinOperator_MIRROR_PAD, {wide, m.constant_s32({4, 2}, {0, 0, 1, padding, 0, 0, 0, 0})},
           {mirrored}, format::CreateMirrorPadOptions(m.fbb, format::MirrorPadMode_SYMMETRIC));
    m.node(format::BuiltinOperator_SPACE_TO_BATCH_ND,
           {mirrored, m.list({batch_block, 2}), m.constant_s32({2, 2}, {1, 1, 0, 0})}, {batch});
    m.node(format::BuiltinOperator_TILE, {batch, m.list({1, multiple, 1, 1})}, {tiled});
    return m.finish({x}, {tiled});
}

} // namespace

std::vector<fuzz_seed> move_seeds() {
    constexpr auto ran = fuzz_outcome::ran, refused = fuzz_outcome::refused;
    return {
        {"slices", slices(1, 2, 3, 2), ran},
        {"slices_of_stride_0", slices(1, 0, 3, 2), refused},
        {"slices_of_lowest_stride", slices(1, lowest, 3, 2), refused},
        {"slices_from_the_lowest", slices(lowest, 2, 3, 2), ran}, // 0: so do Python's
        {"slices_from_the_highest", slices(highest, 2, 3, 2), refused},
        {"split_along_no_dimension", slices(1, 2, highest, 2), refused},
        {"split_along_the_lowest_dimension", slices(1, 2, lowest, 2), refused},
        {"gather_outside", slices(1, 2, 3, 3), refused},
        {"gather_far_outside", slices(1, 2, 3, lowest), refused},

        {"blocks", blocks(2, 1, 2, 2), ran},
        {"blocks_of_0", blocks(0, 1, 2, 2), refused},
        {"blocks_of_lowest", blocks(lowest, 1, 2, 2), refused},
        {"blocks_of_highest", blocks(highest, 1, 2, 2), refused},
        {"mirror_of_lowest", blocks(2, lowest, 2, 2), refused},
        {"mirror_of_highest", blocks(2, highest, 2, 2), refused},
        {"batch_blocks_of_0", blocks(2, 1, 0, 2), refused},
        {"batch_blocks_of_highest", blocks(2, 1, highest, 2), refused},
        {"tile_of_highest", blocks(2, 1, 2, highest), refused},
        {"tile_of_lowest", blocks(2, 1, 2, lowest), refused},
    };
}

} // namespace octet::tests
