// ONNX Runtime's Resize on its own arithmetic: a coordinate for each index of an axis, in binary32, and from
// it the nearest element or, of images, the weights of four or 16. Tables of them are made here, plain loops
// use them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "loops/resize.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/ops/element_map_step.hpp"
#include "network/ops/slice_gather_extreme.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/node_shapes.hpp"

namespace octet::model {
namespace {

float f32(dim_t n) { return static_cast<float>(n); }

struct axis_sizes {
    dim_t in, out;
    float scale;
};

/// A coordinate within the source; also what scales at the ends of f32 make of it.
float inside(const axis_sizes &a, float x) { return x >= 0.f ? std::min(x, f32(a.in - 1)) : 0.f; }

/// Returns a source coordinate, moved at most `in` + 4 outside of the source on either side. Coordinates of
/// valid scales lie inside these limits; others would overflow the conversion to an integer.
float near_source(const axis_sizes &a, float x) {
    const float margin = f32(a.in) + 4.f;
    return x >= -margin ? std::min(x, f32(a.in) + margin) : -margin;
}

/// The place of index i in the source.
using coordinate_function = float (*)(const axis_sizes &, float i);

float half_pixel(const axis_sizes &a, float i) { return (i + 0.5f) / a.scale - 0.5f; }
float pytorch_half_pixel(const axis_sizes &a, float i) { return a.out > 1 ? half_pixel(a, i) : 0.f; }
float half_pixel_for_nearest(const axis_sizes &a, float i) { return (i + 0.5f) / a.scale; }
float asymmetric(const axis_sizes &a, float i) { return i / a.scale; }
float align_corners(const axis_sizes &a, float i) {
    return a.out == 1 ? 0.f : i * f32(a.in - 1) / f32(a.out - 1);
}
float half_pixel_symmetric(const axis_sizes &a, float i) {
    const float adjustment = f32(a.out) / (a.scale * f32(a.in)),
                offset = f32(a.in) / 2.f * (1.f - adjustment);
    const double position = static_cast<double>(i) + 0.5; // a constant of binary64 there
    return static_cast<float>(static_cast<double>(offset) + position / static_cast<double>(a.scale) - 0.5);
}

/// Rounds a coordinate to the nearest element.
using nearest_function = float (*)(const axis_sizes &, float x);

/// Halfway, as far as rounding errors of coordinates let one tell.
bool is_halfway(float x) { return std::fabs(x - std::floor(x) - 0.5f) < 1e-6f; }
float prefer_floor(const axis_sizes &, float x) { return is_halfway(x) ? std::floor(x) : std::round(x); }
float prefer_ceil(const axis_sizes &, float x) { return is_halfway(x) ? std::ceil(x) : std::round(x); }
float floor_of(const axis_sizes &, float x) { return std::floor(x); }
float ceil_of(const axis_sizes &, float x) { return std::ceil(x); }
float before_modes(const axis_sizes &a, float x) { return a.scale < 1.f ? std::ceil(x) : std::trunc(x); }

/// The value of a name in a list of them.
template <typename T>
T choose(const lowering &l, const char *attribute, const char *fallback,
         std::initializer_list<std::pair<const char *, T>> choices) {
    const std::string name = l.text(attribute, fallback);
    std::string allowed;
    for (const auto &[choice, value] : choices) {
        if (name == choice)
            return value;
        allowed += (allowed.empty() ? "" : ", ") + std::string(choice);
    }
    refuse_as_unimplemented("attribute '" + std::string(attribute) + "' is '" + name +
                            "', allowed: " + allowed);
}

coordinate_function coordinates_of(const lowering &l) {
    if (l.get_graph().opset < 11)
        return asymmetric;
    return choose<coordinate_function>(l, "coordinate_transformation_mode", "half_pixel",
                                       {{"half_pixel", half_pixel},
                                        {"half_pixel_symmetric", half_pixel_symmetric},
                                        {"pytorch_half_pixel", pytorch_half_pixel},
                                        {"tf_half_pixel_for_nn", half_pixel_for_nearest},
                                        {"align_corners", align_corners},
                                        {"asymmetric", asymmetric}});
}

nearest_function nearest_of(const lowering &l) {
    if (l.get_graph().opset < 11)
        return before_modes;
    return choose<nearest_function>(l, "nearest_mode", "round_prefer_floor",
                                    {{"round_prefer_floor", prefer_floor},
                                     {"round_prefer_ceil", prefer_ceil},
                                     {"floor", floor_of},
                                     {"ceil", ceil_of}});
}

/// The dimensions that scales and sizes are for: those of attribute "axes", or all.
std::vector<std::size_t> resized_dims(const std::vector<std::int64_t> &axes, std::size_t rank) {
    std::vector<std::size_t> result(axes.empty() ? rank : 0);
    std::iota(result.begin(), result.end(), std::size_t{0});
    for (const std::int64_t axis : axes) {
        const std::size_t d = axis_among(axis, rank);
        if (std::count(result.begin(), result.end(), d) != 0)
            refuse("attribute 'axes' names dimension " + std::to_string(d) + " twice");
        result.push_back(d);
    }
    return result;
}

/// Returns the dimensions that a policy resizes. ONNX Runtime compares the numbers in attribute "axes" with
/// those of dimensions, so a dimension that a negative number names stays as it is.
std::vector<std::size_t> kept_dims(const std::vector<std::int64_t> &axes, std::size_t rank) {
    std::vector<std::int64_t> counted(axes);
    counted.erase(std::remove_if(counted.begin(), counted.end(), [](std::int64_t axis) { return axis < 0; }),
                  counted.end());
    return counted.empty() && !axes.empty() ? std::vector<std::size_t>() : resized_dims(counted, rank);
}

/// Factors are an input, or follow from the sizes.
std::vector<axis_sizes> axes_of(const lowering &l) {
    const memory::dims &x = l.input(0).dims, &y = l.output().dims;
    const std::size_t place = l.get_graph().opset < 11 ? 1 : 2;
    const std::vector<std::size_t> resized = resized_dims(l.integers("axes", {}), x.size());
    std::vector<float> scales;
    if (l.has_input(place) && element_count(l.input(place).dims) > 0)
        scales = constant_scales(l, place);
    if (y.size() != x.size() || (!scales.empty() && scales.size() != resized.size()))
        refuse("input " + to_text(x) + " and output " + to_text(y) + " differ in rank");
    std::vector<axis_sizes> axes;
    for (std::size_t i = 0; i < x.size(); i++)
        axes.push_back({x[i], y[i], f32(y[i]) / f32(x[i])});
    const auto set_scale = [&](std::size_t d, float scale) {
        if (!(scale > 0.f && std::isfinite(scale)))
            refuse("a scale is " + std::to_string(scale) + ", allowed: above 0, finite");
        axes[d].scale = scale;
    };
    for (std::size_t i = 0; i < scales.size(); i++)
        set_scale(resized[i], scales[i]);
    if (scales.empty() && l.marks().aspect_factor)
        for (const std::size_t d : kept_dims(l.integers("axes", {}), x.size()))
            set_scale(d, *l.marks().aspect_factor);
    return axes;
}

// ---- the nearest element, along any axes

/// The elements of the source that each index of an axis takes.
element_map nearest_elements(const lowering &l, const std::vector<axis_sizes> &axes) {
    const coordinate_function coordinate = coordinates_of(l);
    const nearest_function nearest = nearest_of(l);
    dim_t stride = element_count(l.input(0).dims);
    element_map map;
    for (const axis_sizes &a : axes) {
        stride /= a.in;
        map.push_back(offsets_of(a.out, [&](dim_t i) {
            const float index = a.scale == 1.f ? f32(i) : nearest(a, coordinate(a, f32(i)));
            return static_cast<dim_t>(inside(a, index)) * stride;
        }));
    }
    return map;
}

// ---- bilinear

class linear_resize_step final : public loop_step {
public:
    linear_resize_step(const lowering &l, const axis_sizes &rows, const axis_sizes &columns)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), is_in_blocks_(l.marks().is_of_blocks),
          rows_(weights_of(l, rows)), columns_(weights_of(l, columns)), image_(rows.in * columns.in),
          row_(columns.in), images_(element_count(l.input(0).dims) / image_) {}

    void run(const stream &, const run_memory &m) const override {
        switch (dst_.get_desc().data_type()) {
        case data_type::f32:
            return resize<float>(m);
        case data_type::u8:
            return resize<std::uint8_t>(m);
        default:
            return resize<std::int8_t>(m);
        }
    }
    std::string explain() const override { return "a plain loop over four weighted elements"; }

private:
    std::vector<loops::between_two> weights_of(const lowering &l, const axis_sizes &a) const {
        const coordinate_function coordinate = coordinates_of(l);
        std::vector<loops::between_two> all;
        for (dim_t i = 0; i < a.out; i++) {
            const float place = a.scale == 1.f ? f32(i) : coordinate(a, f32(i)), x = inside(a, place);
            const auto near = static_cast<dim_t>(x), far = std::min(near + 1, a.in - 1);
            if (is_in_blocks_) {
                const float behind = std::max(0.f, place) - f32(near); // also behind the last
                all.push_back({near, far, 1.f - behind, behind});
            } else if (near == far)
                all.push_back({near, far, 0.5f, 0.5f});
            else
                all.push_back({near, far, std::fabs(x - f32(far)), std::fabs(x - f32(near))});
        }
        return all;
    }

    template <typename T> void resize(const run_memory &m) const {
        using loops::bilinear_order;
        loops::resize_bilinear(m.at<T>(src_), images_, image_, row_, rows_, columns_,
                               is_in_blocks_ ? bilinear_order::by_rows : bilinear_order::in_sequence,
                               m.at<T>(dst_));
    }

    buffer src_, dst_;
    bool is_in_blocks_; ///< ONNX Runtime computes blocks of channels
    std::vector<loops::between_two> rows_, columns_;
    dim_t image_, row_, images_;
};

// ---- bicubic

class cubic_step final : public loop_step {
public:
    cubic_step(const lowering &l, const axis_sizes &rows, const axis_sizes &columns)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()),
          loop_(rows.in, columns.in, weights_of(l, rows), weights_of(l, columns)),
          images_(element_count(l.input(0).dims) / (rows.in * columns.in)),
          narrow_(l.scratch(memory::desc({loop_.scratch_size(images_)}, data_type::f32, format_tag::x))) {}

    void run(const stream &, const run_memory &m) const override {
        loop_.run(m.at<float>(src_), images_, m.at<float>(narrow_), m.at<float>(dst_));
    }
    std::string explain() const override { return "plain loops over four weighted elements, twice"; }

private:
    using weighted = loops::among_four;
    static constexpr std::size_t taps = weighted::taps;

    /// Keys' polynomials at distance s from the second element.
    static void set_weights(weighted &w, float a, float s) {
        const auto far = [a](float d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
        const auto near = [a](float d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
        w.weight[0] = far(s + 1);
        w.weight[1] = near(s);
        w.weight[2] = near(1 - s);
        w.weight[3] = far(2 - s);
    }

    /// Elements outside are those at the edge, or weigh nothing.
    static std::vector<weighted> weights_of(const lowering &l, const axis_sizes &axis) {
        const coordinate_function coordinate = coordinates_of(l);
        const float a = l.real("cubic_coeff_a", -0.75f);
        const bool excludes = l.integer("exclude_outside", 0) != 0;
        std::vector<weighted> all;
        for (dim_t i = 0; i < axis.out; i++) {
            const float x = near_source(axis, axis.scale == 1.f ? f32(i) : coordinate(axis, f32(i)));
            const float whole = std::floor(x);
            weighted w = {};
            set_weights(w, a, x - whole);
            for (std::size_t k = 0; k < taps; k++) {
                const dim_t place = static_cast<dim_t>(whole) - 1 + static_cast<dim_t>(k);
                w.at[k] = std::clamp<dim_t>(place, 0, axis.in - 1);
                if (excludes && place != w.at[k])
                    w.weight[k] = 0.f;
                w.sum += w.weight[k];
            }
            if (!excludes)
                w.sum = 1.f;
            all.push_back(w);
        }
        return all;
    }

    buffer src_, dst_;
    loops::bicubic loop_;
    dim_t images_;
    buffer narrow_; ///< rows of the source, as wide as the output
};

enum class resize_mode { nearest, linear, cubic };

std::unique_ptr<step> lower_resize(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32, data_type::s32, data_type::u8, data_type::s8});
    l.output({x.type});
    if (l.integer("antialias", 0) != 0)
        refuse_as_unimplemented("attribute 'antialias' is not 0");
    const std::vector<axis_sizes> axes = axes_of(l);
    const auto mode = choose<resize_mode>(
        l, "mode", "nearest",
        {{"nearest", resize_mode::nearest}, {"linear", resize_mode::linear}, {"cubic", resize_mode::cubic}});
    if (axes.empty() || element_count(x.dims) == 0)
        refuse("input " + to_text(x.dims) + " has no elements to resize");
    const std::size_t rank = axes.size();
    const auto stays = [&](std::size_t d) { return axes[d].scale == 1.f && axes[d].in == axes[d].out; };
    bool is_copy = !l.marks().is_of_blocks; // in blocks weights of 0 count, too
    for (std::size_t d = 0; d < rank; d++)
        is_copy = is_copy && stays(d);
    if (mode == resize_mode::nearest || is_copy)
        return rearranged(l, nearest_elements(l, axes));
    const bool is_image = rank == 2 || (rank == 4 && stays(0) && stays(1));
    const bool is_cubic = mode == resize_mode::cubic;
    if (!is_image || x.type == data_type::s32 || (is_cubic && x.type != data_type::f32))
        refuse_as_unimplemented(std::string("mode ") + (is_cubic ? "cubic" : "linear") + " of " +
                                to_text(x.type) + " " + to_text(x.dims) +
                                ", allowed are the last two of 2 or 4 dimensions of f32" +
                                (is_cubic ? "" : ", u8 or s8"));
    if (is_cubic)
        return std::make_unique<cubic_step>(l, axes[rank - 2], axes[rank - 1]);
    return std::make_unique<linear_resize_step>(l, axes[rank - 2], axes[rank - 1]);
}

// ---- Shapes, and whether rows of a batch stay apart

/// A size as floats give it, or 0 for one that no tensor has.
dim_t size_of(float size) {
    return size >= 1.f && size < static_cast<float>(max_size) ? static_cast<dim_t>(size) : 0;
}

/// One factor for all: the smallest or the largest of those that the sizes ask for.
void keep_aspect(node_shapes &n, memory::dims &sizes) {
    const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
    const memory::dims x = n.dims(0);
    const std::vector<std::size_t> kept = kept_dims(n.integers("axes", {}), x.size());
    if (policy == "stretch")
        return;
    if (policy != "not_larger" && policy != "not_smaller")
        refuse("attribute 'keep_aspect_ratio_policy' is '" + policy +
               "', allowed: stretch, not_larger, not_smaller");
    const memory::dims asked = std::exchange(sizes, x);
    if (kept.empty())
        return;
    std::vector<float> factors(kept.size());
    std::transform(kept.begin(), kept.end(), factors.begin(),
                   [&](std::size_t d) { return f32(asked[d]) / f32(x[d]); });
    const auto [smallest, largest] = std::minmax_element(factors.begin(), factors.end());
    const float factor = policy == "not_larger" ? *smallest : *largest;
    n.set_mark(&node_marks::aspect_factor, factor);
    for (const std::size_t d : kept)
        sizes[d] = size_of(std::round(factor * f32(x[d])));
}

/// Sizes are given, or factors of the old ones.
void resize_shape(node_shapes &n) {
    const memory::dims x = n.dims(0);
    memory::dims result = x;
    const std::vector<std::size_t> resized = resized_dims(n.integers("axes", {}), x.size());
    if (n.marks().aspect_factor)
        n.set_mark(&node_marks::aspect_factor, std::nullopt);
    if (n.has_input(3)) {
        const std::vector<std::int64_t> sizes = n.constant(3);
        if (sizes.size() != resized.size())
            refuse("input " + to_text(x) + " cannot be resized to " + to_text(sizes));
        for (std::size_t i = 0; i < resized.size(); i++)
            result[resized[i]] = sizes[i];
        keep_aspect(n, result);
    } else {
        const tensor &scales = n.input(n.has_input(2) ? 2 : 1);
        if (scales.type != data_type::f32 ||
            scales.data.size() != resized.size() * sizeof(float)) // or computed
            refuse_as_unimplemented("the scales are not " + std::to_string(resized.size()) + " constant f32");
        const std::vector<float> factors = values_of<float>(scales);
        for (std::size_t i = 0; i < resized.size(); i++) {
            dim_t &size = result[resized[i]];
            size = size_of(factors[i] * f32(size)); // rounded to f32, as ONNX Runtime does
            if (size == 0)
                refuse("a scale is " + std::to_string(factors[i]));
        }
    }
    if (std::any_of(result.begin(), result.end(), [](dim_t d) { return d < 1; }))
        refuse("input " + to_text(x) + " cannot be resized to " + to_text(result));
    n.set_output(n.input(0).type, result);
}

/// The place of the batch among scales and sizes.
std::optional<std::size_t> place_of_batch(const std::vector<std::int64_t> &axes, std::size_t rank) {
    const std::vector<std::size_t> resized = resized_dims(axes, rank);
    const auto found = std::find(resized.begin(), resized.end(), std::size_t{0});
    return found == resized.end() ? std::nullopt
                                  : std::optional(static_cast<std::size_t>(found - resized.begin()));
}

bool resize_keeps_rows(const node_rows &o) {
    const std::vector<std::int64_t> axes = o.list("axes", o.count()).value_or(std::vector<std::int64_t>());
    const auto batch = place_of_batch(axes, o.rank());
    if (batch && o.marks().aspect_factor)
        return false;
    for (std::size_t i = 1; batch && i < o.count(); i++) // scales, in the place of their operator set
        if (o.has(i) && o.input(i).type == data_type::f32 &&
            o.input(i).data.size() >= (*batch + 1) * sizeof(float)) {
            float scale = 0;
            std::memcpy(&scale, o.input(i).data.data() + *batch * sizeof(float), sizeof scale);
            const std::size_t scales = axes.empty() ? o.rank() : axes.size();
            if (o.input(i).dims == memory::dims{static_cast<dim_t>(scales)} && scale != 1.f)
                return false;
        }
    return rows::windows(o);
}

/// Sizes that keep the aspect ratio of images and batch.
bool resizes_batch(const graph &g, const node &n) {
    const auto rank = tensor_at(g, input_of(n, 0)).dims.size();
    return marks_of(n).aspect_factor &&
           place_of_batch(attribute_or(n, "axes", std::vector<std::int64_t>()), rank).has_value();
}

using namespace row_words;

constexpr row onnx_resize_rows[] = {
    row("Resize", {2, 4}, lower_resize, resize_shape, resize_keeps_rows)
        .couples_batch(resizes_batch)
        .dims_from(1)
        .sizes(flow::resized)
        .transposed(passing_kind::none)
        .blocked(block_use::enlarge)
        .becomes(form::moved),
};

} // namespace

operator_rows onnx_resize_operators() { return onnx_resize_rows; }

} // namespace octet::model
