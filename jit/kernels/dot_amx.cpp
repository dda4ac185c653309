// Steps of a reduction and registers of rows, as the code of tiles (dot_amx_generator.cpp) and plans count them.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/dot_amx.hpp"

namespace octet::impl::jit {

tile_shapes amx_shapes(int tile_rows, std::int64_t quads) {
    const std::int64_t fewest = (quads + most_amx_quads - 1) / most_amx_quads;
    for (std::int64_t steps = fewest; steps <= fewest + fewest / 4; steps++)
        if (quads % steps == 0)
            return {tile_rows, static_cast<int>(quads / steps), 0};
    return {tile_rows, most_amx_quads, static_cast<int>(quads % most_amx_quads)};
}

tile_shapes amx_shapes_of_gathered(int tile_rows, std::int64_t quads) {
    if (quads <= most_amx_quads)
        return {tile_rows, static_cast<int>(quads), 0};
    return {tile_rows, most_amx_quads, static_cast<int>(quads % most_amx_quads)};
}

std::int64_t amx_fetching_steps(std::int64_t taps, std::int64_t quads) {
    return taps * (quads / amx_shapes(1, quads).quads) - 1;
}

row_tiles amx_row_tiles(int rows, int tile_rows, int lines, int distance) {
    if (lines == 1)
        return {(rows + tile_rows - 1) / tile_rows, 1, 0};
    const int line_rows = rows / lines;
    const int together = tile_rows > line_rows ? 1 + (tile_rows - line_rows) / distance : 1;
    return {(lines + together - 1) / together, together, together > 1 ? distance : line_rows};
}

} // namespace octet::impl::jit
