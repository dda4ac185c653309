// Convolutions and pools of whole blocks begin; what reads only images in blocks goes on with them. Which
// operators do, and on which conditions, is ONNX Runtime's rule. Start at `blocked_images::visit`.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/layouts/images_in_blocks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "network/onnx/rewrites/transformers.hpp"
#include "network/onnx/shapes/images.hpp"

namespace octet::model {
namespace {

constexpr std::size_t image_rank = 4, first_spatial = 2;

/// Says where the sizes of an image come from: dimension d is that of tensor source[d], halved halved[d]
/// times.
struct image_shape {
    std::array<tensor_id, image_rank> source;
    std::array<std::int64_t, image_rank> halved{};

    explicit image_shape(tensor_id t) { source.fill(t); }
    bool is_equal(const image_shape &other, std::size_t d) const {
        return source[d] == other.source[d] && halved[d] == other.halved[d];
    }
};

/// How a tensor in blocks was computed last, as far as it matters to a sum behind it: a product per channel
/// is a convolution, too.
enum class writer_kind { other, convolution, factors, normalization };

struct blocked_image {
    image_shape shape;
    writer_kind kind = writer_kind::other;
};

class blocked_images {
public:
    explicit blocked_images(ort_graph &g) : g_(g) {}

    void note() {
        g_.for_each([&](node_id i) { visit(i); });
    }

private:
    void visit(node_id i) {
        switch (g_.facts(i).blocks) {
        case block_use::none:
            return;
        case block_use::convolve:
            return convolve(i);
        case block_use::pool:
            return pool(i);
        case block_use::pool_whole:
            return pool_whole(i);
        case block_use::normalize:
            return normalize(i);
        case block_use::activate:
            return activate(i);
        case block_use::multiply:
            return multiply(i);
        case block_use::sum:
            return sum(i);
        case block_use::join:
            return join(i);
        case block_use::enlarge:
            return enlarge(i);
        }
    }

    // ---- Questions

    bool is_blocked(tensor_id t) const { return blocked_.count(t) != 0; }
    bool are_blocked(node_id i) const {
        const tensor_ids inputs = g_.inputs(i);
        return all_of(inputs, [&](tensor_id t) { return is_blocked(t); });
    }
    const image_shape &shape(tensor_id t) const { return blocked_.at(t).shape; }
    dim_t channels(tensor_id t) const { return g_.size(t, 1); }
    bool has_whole_blocks(tensor_id t) const {
        return g_.is_float(t) && g_.rank(t) == image_rank && g_.is_known(t, 1) &&
               channels(t) % channels_of_block == 0;
    }
    /// {c,1,1} or {1,c,1,1}.
    bool are_channel_factors(tensor_id t, dim_t channels) const {
        return g_.is_float_constant(t) &&
               (g_.dims(t) == memory::dims{channels, 1, 1} || g_.dims(t) == memory::dims{1, channels, 1, 1});
    }
    bool have_equal_sizes(tensor_id a, tensor_id b) const {
        for (std::size_t d = 0; d < image_rank; d++)
            if (!shape(a).is_equal(shape(b), d) && !g_.are_equal(a, d, b, d))
                return false;
        return true;
    }

    void keep(node_id i, const image_shape &shape, writer_kind kind = writer_kind::other) {
        blocked_.insert_or_assign(g_.output(i), blocked_image{shape, kind});
    }

    /// Sizes of what windows give, of which those are known that padding keeps, or halves with a stride of 2.
    image_shape behind_windows(node_id i, const memory::dims &kernel) const {
        image_shape y(g_.output(i));
        const tensor_id x = g_.input(i, 0);
        if (!is_blocked(x))
            return y;
        y.source[0] = shape(x).source[0];
        const auto list = [&](const char *name, std::size_t count, std::int64_t absent) {
            const auto given = g_.attribute(i, name, std::vector<std::int64_t>{});
            return given.size() == count ? given : std::vector<std::int64_t>(count, absent);
        };
        const auto strides = list("strides", 2, 1), dilations = list("dilations", 2, 1),
                   pads = list("pads", 4, 0);
        for (std::size_t d = 0; d < kernel.size() && d < 2; d++)
            if (dilations[d] == 1 && (strides[d] == 1 || strides[d] == 2) &&
                (pads[d] + pads[d + 2] + 1 == kernel[d] || pads_to_same(i))) {
                y.source[first_spatial + d] = shape(x).source[first_spatial + d];
                y.halved[first_spatial + d] = shape(x).halved[first_spatial + d] + strides[d] - 1;
            }
        return y;
    }
    bool pads_to_same(node_id i) const {
        return marks_of(g_.at(i)).padding_word.value_or("").compare(0, 4, "SAME") == 0;
    }

    // ---- Operators

    void convolve(node_id i) {
        if (!computes_in_blocks(g_.get_graph(), g_.at(i)))
            return;
        const memory::dims &w = g_.dims(g_.input(i, conv_weights));
        const bool reads_plain = w[1] < channels_of_block && g_.attribute<std::int64_t>(i, "group", 1) == 1;
        keep(i, reads_plain ? image_shape(g_.output(i)) : behind_windows(i, {w.begin() + 2, w.end()}),
             writer_kind::convolution);
    }

    /// Sums in blocks are in the order of the window; kernels for vectors have others.
    void pool(node_id i) {
        constexpr std::int64_t plain_opset = 19; ///< from which on ONNX Runtime has a loop instead
        const bool is_average = g_.is(i, "AveragePool"),
                   counts_what_is_outside = g_.attribute<std::int64_t>(i, "ceil_mode", 0) == 1 &&
                                            g_.attribute<std::int64_t>(i, "count_include_pad", 0) != 0;
        if (has_whole_blocks(g_.input(i, 0)) && g_.at(i).outputs.size() == 1 &&
            !(is_average && counts_what_is_outside))
            keep(i, behind_windows(i, g_.attribute(i, "kernel_shape", memory::dims{})));
        else if (is_average && !counts_what_is_outside && g_.get_graph().opset < plain_opset)
            g_.set_mark(i, &node_marks::pools_by_vectors, true);
    }

    /// The input is in blocks, or it is the network's input.
    void pool_whole(node_id i) {
        const tensor_id x = g_.input(i, 0);
        if (!has_whole_blocks(x) || (!is_blocked(x) && g_.producer(x)))
            return;
        keep(i, image_shape(g_.output(i)));
        if (g_.is(i, "GlobalAveragePool"))
            g_.set_mark(i, &node_marks::is_of_blocks, true);
    }

    /// Clip and LeakyRelu only as a convolution's own activation; of FastGelu there is no such form.
    void activate(node_id i) {
        const tensor_id x = g_.input(i, 0);
        const bool is_own = marks_of(g_.at(i)).is_own_activation;
        if (is_blocked(x) && (is_own || !(g_.is(i, "Clip") || g_.is(i, "LeakyRelu"))) &&
            !marks_of(g_.at(i)).was_fast_gelu)
            keep(i, shape(x));
    }

    /// Along the channels, by that number of their axis.
    void join(node_id i) {
        const tensor_ids inputs = g_.inputs(i);
        if (g_.attribute<std::int64_t>(i, "axis", 0) != 1 || !are_blocked(i) ||
            any_of(inputs, [&](tensor_id t) { return channels(t) % channels_of_block != 0; }))
            return;
        image_shape y = shape(inputs[0]);
        y.source[1] = g_.output(i);
        keep(i, y);
    }

    void multiply(node_id i) {
        const tensor_id a = g_.input(i, 0), b = g_.input(i, 1);
        if (is_blocked(a) && is_blocked(b)) {
            if (channels(a) == channels(b) && have_equal_sizes(a, b))
                keep(i, shape(a));
            return;
        }
        const tensor_id x = is_blocked(a) ? a : b;
        if (is_blocked(x) && are_channel_factors(g_.other(i, x), channels(x)))
            scale(i, x);
    }

    /// A product with a factor per channel is a depthwise convolution, whose sum begins with 0, so that no
    /// product is -0.
    void scale(node_id i, tensor_id x) {
        node n = g_.at(i);
        n.outputs = {g_.add_like(g_.output(i))};
        const tensor_id product = output_of(n);
        g_.insert_before(i, std::move(n));
        g_.become(i, "Add", {product, g_.add_floats("zero", {}, {0.f})});
        keep(i, shape(x), writer_kind::factors);
    }

    /// A depthwise convolution there: the product is rounded before the sum.
    void normalize(node_id i) {
        const tensor_id x = g_.input(i, 0);
        if (!is_blocked(x) || marks_of(g_.at(i)).has_dequantized)
            return;
        const auto folded = ort::folded_normalization(g_, i, channels(x));
        for (std::size_t k = 1; k <= 4; k++)
            if (!folded || g_.dims(g_.input(i, k)) != memory::dims{channels(x)})
                return;
        const memory::dims of_channels = {1, channels(x), 1, 1};
        const tensor_id product = g_.add_like(g_.output(i));
        g_.insert_before(i,
                         {"Mul", {x, g_.add_floats("factors", of_channels, folded->factors)}, {product}, {}});
        g_.become(i, "Add", {product, g_.add_floats("terms", of_channels, folded->terms)});
        keep(i, shape(x), writer_kind::normalization);
    }

    /// If two images have sizes that are known to be equal, the sum is computed by a convolution that begins
    /// with the other image: by the writer of the first of them that only this sum reads.
    void sum(node_id i) {
        const tensor_ids inputs = g_.inputs(i);
        if (!are_blocked(i))
            return;
        bool are_equal = true;
        for (const tensor_id t : inputs) {
            if (channels(t) != channels(inputs[0]))
                return;
            are_equal = are_equal && have_equal_sizes(inputs[0], t);
        }
        if (!are_equal)
            return keep(i, image_shape(g_.output(i)));
        const image_shape y = shape(inputs[0]);
        for (std::size_t k = 0; inputs.size() == 2 && k < 2; k++)
            if (const writer_kind kind = blocked_.at(inputs[k]).kind;
                kind != writer_kind::other && g_.only_consumer(inputs[k]) == i) {
                begin_with(i, kind, g_.producer(inputs[k]), inputs[1 - k]);
                break;
            }
        keep(i, y);
    }

    void begin_with(node_id sum, writer_kind kind, node_id writer, tensor_id summand) {
        if (kind == writer_kind::factors)
            return; // the sum of one product and 0 is the same
        node n = g_.at(writer);
        if (kind == writer_kind::convolution) {
            n.op = "ConvAdd";
            n.inputs.resize(conv_summand + 1, tensor_id());
            n.inputs[conv_summand] = summand;
        } else {
            const tensor_id begun = g_.add_like(g_.output(sum));
            g_.insert_before(sum, {"Add", {n.inputs[0], summand}, {begun}, {}});
            n = node{"Add", {begun, n.inputs[1]}, {}, {}};
        }
        g_.remove(writer);
        g_.become(sum, std::move(n));
    }

    /// Whether node i enlarges height and width by whole factors that the file has: it names them, or all
    /// sizes are fixed.
    bool has_whole_factors(node_id i) const {
        const memory::dims &x = g_.dims(g_.input(i, 0)), &y = g_.dims(g_.output(i));
        if (x.size() != 4 || y.size() != 4 || element_count(x) == 0 || x[0] != y[0] || x[1] != y[1] ||
            y[2] % x[2] != 0 || y[3] % x[3] != 0)
            return false;
        if (const tensor_id sizes = g_.input(i, 3); sizes)
            return g_.is_constant(sizes) && element_count(g_.dims(sizes)) == image_rank &&
                   g_.is_known(g_.input(i, 0)) &&
                   g_.attribute<std::string>(i, "keep_aspect_ratio_policy", "stretch") == "stretch";
        const tensor_id scales = g_.input(i, g_.get_graph().opset < 11 ? 1 : 2);
        const dim_t rows = y[2] / x[2], columns = y[3] / x[3];
        const std::vector<float> factors = {1.f, 1.f, static_cast<float>(rows), static_cast<float>(columns)};
        return g_.is_float_constant(scales) && g_.values(scales) == factors;
    }

    /// The nearest element before a place, or sums of four, in an order of their own.
    void enlarge(node_id i) {
        if (!is_blocked(g_.input(i, 0)) || !has_whole_factors(i))
            return;
        const std::string place =
            g_.get_graph().opset < 11
                ? "asymmetric"
                : g_.attribute<std::string>(i, "coordinate_transformation_mode", "half_pixel");
        const std::string mode = g_.attribute<std::string>(i, "mode", "nearest");
        const std::string nearest = g_.attribute<std::string>(i, "nearest_mode", "round_prefer_floor");
        if (mode == "linear" && (place == "asymmetric" || place == "align_corners" || place == "half_pixel"))
            g_.set_mark(i, &node_marks::is_of_blocks, true);
        else if (mode != "nearest" || place != "asymmetric" ||
                 (nearest != "floor" && g_.get_graph().opset >= 11))
            return;
        keep(i, image_shape(g_.output(i)));
    }

    ort_graph &g_;
    std::map<tensor_id, blocked_image> blocked_; ///< by tensor
};

} // namespace

void note_images_in_blocks(ort_graph &g) { blocked_images(g).note(); }

} // namespace octet::model
