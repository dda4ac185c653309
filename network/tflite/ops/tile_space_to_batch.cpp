// TFLite's operators that put elements elsewhere: between channels, neighbours and images of a batch,
// mirrored, reversed.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/graph/element_map.hpp"
#include "network/ops/element_map_step.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"

namespace octet::model {
namespace {

/// NHWC as {N, C, H, W}.
blocked_image blocked(const lowering &l) {
    const tensor &x = any_input(l, 0);
    l.output({x.type});
    need_rank(x, "input 0", 4);
    const memory::dims &d = x.dims, s = dense_desc(x).get_strides();
    return {{{d[0], d[3], d[1], d[2]}, {s[0], s[3], s[1], s[2]}}, l.integer("block_size")};
}

/// {N, C, H, W} as {N, H, W, C}.
template <typename T> T as_nhwc(T nchw) {
    std::rotate(nchw.begin() + 1, nchw.begin() + 2, nchw.end());
    return nchw;
}

// ---- Images of a batch that are every other position of a larger one

/// Sizes of blocks and padding (or cropping) along the spatial dimensions of SPACE_TO_BATCH_ND and
/// BATCH_TO_SPACE_ND; dimension 1 is the first of them.
struct batch_blocks {
    std::vector<std::int64_t> sizes, before;

    explicit batch_blocks(const lowering &l) : sizes(l.constant_integers(1)) {
        const std::size_t rank = any_input(l, 0).dims.size();
        const std::vector<std::int64_t> around = l.constant_integers(2);
        if (sizes.empty() || sizes.size() >= rank || around.size() != 2 * sizes.size())
            refuse("there are " + std::to_string(sizes.size()) + " block sizes and " +
                   std::to_string(around.size()) + " numbers of padding or cropping for an input " +
                   to_text(l.input(0).dims));
        for (std::size_t i = 0; i < around.size(); i++) {
            if (sizes[i / 2] < 1 || sizes[i / 2] > 1 << 10 || around[i] < 0)
                refuse("a block of " + std::to_string(sizes[i / 2]) + " with " + std::to_string(around[i]) +
                       " elements around it, allowed: blocks of 1 to 1024 and 0 or more elements");
            if (i % 2 == 0)
                before.push_back(around[i]);
        }
        if (sizes.size() > 3 || count() > 1 << 12)
            refuse_as_unimplemented("blocks of " + to_text(sizes) + ", supported are up to 4096 elements");
    }

    dim_t count() const { return element_count(sizes); } ///< each is a copy of its own
};

/// The image's positions that one block has: in both tensors where they begin, and how many there are.
struct block_part {
    memory::dims in_image, in_block, sizes;

    /// `image` and `block` are both tensors' dimensions; the block's images begin at `index` * image[0].
    block_part(const batch_blocks &b, const memory::dims &image, const memory::dims &block, dim_t index)
        : in_image(image.size(), 0), in_block(image.size(), 0), sizes(image) {
        in_block[0] = index * image[0];
        for (std::size_t k = b.sizes.size(); k-- > 0; index /= b.sizes[k]) {
            const dim_t shift = index % b.sizes[k] - b.before[k], size = b.sizes[k];
            const std::size_t d = k + 1;
            // Position p of the block is p * size + shift of the image.
            const dim_t first = shift < 0 ? (-shift + size - 1) / size : 0,
                        last = image[d] - 1 - shift < 0
                                   ? -1
                                   : std::min(block[d] - 1, (image[d] - 1 - shift) / size);
            sizes[d] = std::max<dim_t>(last - first + 1, 0);
            in_block[d] = sizes[d] == 0 ? 0 : first;
            in_image[d] = sizes[d] == 0 ? 0 : first * size + shift;
        }
    }

    memory::desc image_desc(const batch_blocks &b, const tensor &image) const {
        memory::desc d = dense_desc(image).submemory_desc(sizes, in_image);
        for (std::size_t k = 0; k < b.sizes.size(); k++)
            d.data.strides[k + 1] *= b.sizes[k];
        return d;
    }
    memory::desc block_desc(const tensor &block) const {
        return dense_desc(block).submemory_desc(sizes, in_block);
    }
};

/// Throws unless `block` has what an image gives with `around` more elements.
void need_blocks(const batch_blocks &b, const memory::dims &image, const memory::dims &block,
                 const std::vector<std::int64_t> &around) {
    memory::dims expected = image;
    expected[0] *= b.count();
    for (std::size_t k = 0; k < b.sizes.size(); k++) {
        const dim_t size = image[k + 1] + around[2 * k] + around[2 * k + 1];
        if (size % b.sizes[k] != 0)
            refuse(std::to_string(size) + " elements are no multiple of the block's " +
                   std::to_string(b.sizes[k]));
        expected[k + 1] = size / b.sizes[k];
    }
    if (block != expected)
        refuse("images " + to_text(image) + " have blocks " + to_text(expected) + ", not " + to_text(block));
}

std::unique_ptr<step> lower_tflite_depth_to_space(const lowering &l) {
    const blocked_image x = blocked(l);
    need_output_dims(l, as_nhwc(x.wide_dims()));
    return rearranged(l, as_nhwc(depth_to_space(x, false)));
}

std::unique_ptr<step> lower_tflite_space_to_depth(const lowering &l) {
    const blocked_image x = blocked(l);
    need_output_dims(l, as_nhwc(x.deep_dims()));
    return rearranged(l, as_nhwc(space_to_depth(x)));
}

std::unique_ptr<step> lower_space_to_batch_nd(const lowering &l) {
    const tensor &image = any_input(l, 0), &block = l.output({image.type});
    const batch_blocks b(l);
    need_blocks(b, image.dims, block.dims, l.constant_integers(2));
    if (element_count(block.dims) != element_count(image.dims))
        l.fill_output(code_of_zero(block)); // once: running writes only what is not padding
    auto result = std::make_unique<primitive_step>();
    for (dim_t i = 0; i < b.count(); i++) {
        const block_part part(b, image.dims, block.dims, i);
        if (element_count(part.sizes) > 0)
            add_copy(*result, l.input_buffer(0, part.image_desc(b, image)),
                     l.output_buffer(part.block_desc(block)));
    }
    return result;
}

std::unique_ptr<step> lower_batch_to_space_nd(const lowering &l) {
    const tensor &block = any_input(l, 0), &image = l.output({block.type});
    const batch_blocks b(l);
    if (image.dims.size() != block.dims.size())
        refuse("input " + to_text(block.dims) + " and output " + to_text(image.dims) + " differ in rank");
    need_blocks(b, image.dims, block.dims, l.constant_integers(2));
    auto result = std::make_unique<primitive_step>();
    for (dim_t i = 0; i < b.count(); i++) {
        const block_part part(b, image.dims, block.dims, i);
        if (element_count(part.sizes) > 0)
            add_copy(*result, l.input_buffer(0, part.block_desc(block)),
                     l.output_buffer(part.image_desc(b, image)));
    }
    return result;
}

std::unique_ptr<step> lower_mirror_pad(const lowering &l) {
    const tensor &x = any_input(l, 0);
    const paddings p = read_paddings(l, x.dims.size());
    const std::string mode = l.text("mode");
    if (mode != "REFLECT" && mode != "SYMMETRIC")
        refuse("attribute 'mode' is '" + mode + "', allowed: REFLECT, SYMMETRIC");
    return make_any_padding(l, p.before, p.after, mode == "REFLECT" ? "reflect" : "symmetric", {});
}

std::unique_ptr<step> lower_reverse(const lowering &l) {
    const tensor &x = any_input(l, 0);
    l.output({x.type});
    need_output_dims(l, x.dims);
    const std::vector<bool> is_reversed = named_dims(l, 1, x.dims.size());
    return rearranged(l, reversed(placed_dims(x.dims), is_reversed));
}

/// TILE repeats dimension d of input 0 multiples[d] times; the multiples are input 1.
std::unique_ptr<step> lower_tflite_tile(const lowering &l) {
    memory::dims expected = any_input(l, 0).dims;
    const std::vector<std::int64_t> multiples = l.constant_integers(1);
    if (multiples.size() != expected.size())
        refuse("there are " + std::to_string(multiples.size()) + " multiples, allowed are " +
               std::to_string(expected.size()));
    for (std::size_t d = 0; d < expected.size(); d++)
        expected[d] *= multiples[d];
    need_output_dims(l, expected);
    return rearranged(l, tiled(placed_input(l), l.output({l.input(0).type}).dims));
}

// ---- Shapes, and whether rows of a batch stay apart

/// Gives the dimensions of SPACE_TO_BATCH_ND (`makes_blocks`) and BATCH_TO_SPACE_ND.
void change_blocks(node_shapes &n, bool makes_blocks) {
    memory::dims y = n.dims_of_rank(0, 2);
    const std::vector<std::int64_t> sizes = n.constant(1), around = n.constant(2);
    if (sizes.size() >= y.size() || around.size() != 2 * sizes.size())
        refuse("there are " + std::to_string(sizes.size()) + " block sizes and " +
               std::to_string(around.size()) + " numbers around them for an input " + to_text(y));
    for (std::size_t k = 0; k < sizes.size(); k++) {
        const dim_t size = sizes[k], sum = around[2 * k] + around[2 * k + 1];
        if (size < 1 || size > 1 << 10 || y[0] > max_size)
            refuse("a block size is " + std::to_string(size) + " for an input " + to_text(n.dims(0)) +
                   ", allowed: 1 to 1024");
        y[0] = makes_blocks ? y[0] * size : y[0] / size;
        y[k + 1] = makes_blocks ? (y[k + 1] + sum) / size : y[k + 1] * size - sum;
    }
    n.set_output_dims(y);
}

/// NHWC as {N, C, H, W}, whose strides nobody asks for.
blocked_image tflite_image_in_blocks(const node_shapes &n) {
    const memory::dims x = tflite_shape::image(n, 0);
    return {{{x[0], x[3], x[1], x[2]}, {}}, n.integer("block_size", 0)};
}

void tflite_tile_shape(node_shapes &n) {
    memory::dims y = n.dims(0);
    const std::vector<std::int64_t> multiples = n.constant(1);
    if (multiples.size() != y.size())
        refuse("there are " + std::to_string(multiples.size()) + " multiples, allowed are " +
               std::to_string(y.size()));
    for (std::size_t i = 0; i < y.size(); i++) {
        if (multiples[i] < 0 || (y[i] > 0 && multiples[i] > max_size / y[i]))
            refuse("a multiple is " + std::to_string(multiples[i]));
        y[i] *= multiples[i];
    }
    n.set_output_dims(y);
}

void tflite_depth_to_space_shape(node_shapes &n) {
    const memory::dims y = tflite_image_in_blocks(n).wide_dims();
    n.set_output_dims({y[0], y[2], y[3], y[1]});
}

void tflite_space_to_depth_shape(node_shapes &n) {
    const memory::dims y = tflite_image_in_blocks(n).deep_dims();
    n.set_output_dims({y[0], y[2], y[3], y[1]});
}

void space_to_batch_nd_shape(node_shapes &n) { change_blocks(n, true); }

void batch_to_space_nd_shape(node_shapes &n) { change_blocks(n, false); }

bool names_first_axis(const graph &g, const node &n) {
    if (!input_of(n, 0))
        return false;
    const auto rank = static_cast<std::int64_t>(tensor_at(g, input_of(n, 0)).dims.size());
    const std::vector<std::int64_t> axes = known_integers_of(g, n, 1);
    return std::any_of(axes.begin(), axes.end(), [&](std::int64_t a) { return a == 0 || a == -rank; });
}

using namespace row_words;

constexpr row tflite_tile_space_to_batch_rows[] = {
    row("BATCH_TO_SPACE_ND", 3, lower_batch_to_space_nd, batch_to_space_nd_shape, rows::never),
    row("DEPTH_TO_SPACE", 1, lower_tflite_depth_to_space, tflite_depth_to_space_shape, rows::windows),
    row("MIRROR_PAD", 2, lower_mirror_pad, tflite_shape::pad, rows::tflite_pad),
    row("REVERSE_V2", 2, lower_reverse, tflite_shape::same, rows::reduce).couples_batch(names_first_axis),
    row("SPACE_TO_BATCH_ND", 3, lower_space_to_batch_nd, space_to_batch_nd_shape, rows::never)
        .use(aliased_or_persistent),
    row("SPACE_TO_DEPTH", 1, lower_tflite_space_to_depth, tflite_space_to_depth_shape, rows::windows),
    row("TILE", 2, lower_tflite_tile, tflite_tile_shape, rows::tile),
};

} // namespace

operator_rows tflite_tile_space_to_batch_operators() { return tflite_tile_space_to_batch_rows; }

} // namespace octet::model
