// Shapes of what slides a window: convolution and pooling. The padding that `auto_pad` stands for is found here
// and written back as plain `pads`, so nothing later meets a word for it. The word is kept for other sizes.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/shapes/shapes.hpp"

#include <algorithm>

namespace octet::model::shape {
namespace {

using dims = memory::dims;

struct window {
    dims kernel, strides, dilations, pads;
};

/// SAME gives ceil(size / stride) positions, fewer where pooling is dilated: ONNX Runtime pads it as if it
/// were not. UPPER puts the odd element of padding at the end.
dims same_pads(const dims &sizes, const window &w, bool is_upper, bool is_pooling) {
    const std::size_t rank = sizes.size();
    dims pads(2 * rank);
    for (std::size_t i = 0; i < rank; i++) {
        const dim_t positions = (sizes[i] + w.strides[i] - 1) / w.strides[i];
        const dim_t extent = (w.kernel[i] - 1) * (is_pooling ? 1 : w.dilations[i]) + 1;
        const dim_t total = std::max<dim_t>(0, (positions - 1) * w.strides[i] + extent - sizes[i]);
        pads[i] = is_upper ? total / 2 : total - total / 2;
        pads[rank + i] = total - pads[i];
    }
    return pads;
}

void need_positive(const dims &values, const std::string &who) {
    for (const dim_t v : values)
        if (v < 1)
            refuse(who + " is " + std::to_string(v) + ", allowed is 1 or more");
}

/// The word that a file has for its padding.
std::string automatic_padding(const node_shapes &n) {
    return n.marks().padding_word ? *n.marks().padding_word : n.text("auto_pad", "NOTSET");
}

void write_pads(node_shapes &n, const std::string &automatic, const dims &pads) {
    n.set_mark(&node_marks::padding_word, automatic);
    n.set_attribute("auto_pad", std::string("NOTSET"));
    n.set_attribute("pads", pads);
}

/// Reads the window and writes its padding back as plain `pads`.
window resolve_window(node_shapes &n, const dims &spatial, const dims &kernel, bool is_pooling) {
    const std::size_t rank = spatial.size();
    window w{n.integers("kernel_shape", kernel), n.integers("strides", dims(rank, 1)),
             n.integers("dilations", dims(rank, 1)), n.integers("pads", dims(2 * rank, 0))};
    if (w.kernel.size() != rank)
        refuse("attribute 'kernel_shape' has " + std::to_string(w.kernel.size()) + " entries, allowed is " +
               std::to_string(rank));
    need_positive(w.kernel, "a window's size");
    need_positive(w.strides, "a stride");
    need_positive(w.dilations, "a dilation");
    const std::string automatic = automatic_padding(n);
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
        w.pads = same_pads(spatial, w, automatic == "SAME_UPPER", is_pooling);
    else if (automatic == "VALID")
        w.pads.assign(2 * rank, 0);
    else if (automatic != "NOTSET" && !automatic.empty())
        refuse("attribute 'auto_pad' is '" + automatic + "', allowed: NOTSET, SAME_UPPER, SAME_LOWER, VALID");
    write_pads(n, automatic, w.pads);
    return w;
}

/// Positions of a window. Rounding up, one that would start behind the image does not count.
dims positions(const dims &spatial, const window &w, bool rounds_up) {
    dims result;
    for (std::size_t i = 0; i < spatial.size(); i++) {
        const dim_t before = w.pads[i], after = w.pads[spatial.size() + i], stride = w.strides[i];
        const dim_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
        const dim_t room = spatial[i] + before + after - extent;
        if (before < 0 || after < 0 || room < 0)
            refuse("a window of " + std::to_string(extent) + " elements does not fit into " +
                   std::to_string(spatial[i]) + " with padding " + std::to_string(before) + " and " +
                   std::to_string(after));
        dim_t count = room / stride + 1;
        if (rounds_up && room % stride != 0 && count * stride < spatial[i] + before)
            count++;
        result.push_back(count);
    }
    return result;
}

/// The places of an image's pixels among the dimensions.
struct image {
    dims spatial;
    bool is_channels_last;
    image(const dims &d, bool channels_last)
        : spatial(d.begin() + (channels_last ? 1 : 2), d.end() - (channels_last ? 1 : 0)),
          is_channels_last(channels_last) {}
    dims with(dim_t batch, dim_t channels, const dims &pixels) const {
        dims d = {batch};
        if (!is_channels_last)
            d.push_back(channels);
        d.insert(d.end(), pixels.begin(), pixels.end());
        if (is_channels_last)
            d.push_back(channels);
        return d;
    }
};

void convolution(node_shapes &n, std::size_t weights, data_type type) {
    const dims x = n.dims_of_rank(0, 3), w = n.dims_of_rank(weights, 3);
    if (w.size() != x.size())
        refuse("input " + to_text(x) + " and weights " + to_text(w) + " differ in rank");
    const image src(x, n.integer("channels_last", 0) != 0);
    const window win = resolve_window(n, src.spatial, dims(w.begin() + 2, w.end()), false);
    if (win.kernel != dims(w.begin() + 2, w.end()))
        refuse("attribute 'kernel_shape' is " + to_text(win.kernel) + ", but the weights are " + to_text(w));
    n.set_output(type, src.with(x[0], w[0], positions(src.spatial, win, false)));
}

} // namespace

void qlinear_conv(node_shapes &n) { convolution(n, 3, n.input(7).type); }

void conv_integer(node_shapes &n) { convolution(n, 1, data_type::s32); }

void conv(node_shapes &n) { convolution(n, 1, n.input(0).type); }

/// Writes the padding back as plain `pads`: given, or what an output of a certain size leaves.
void conv_transpose(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 3), w = n.dims_of_rank(1, 3);
    const std::int64_t groups = n.integer("group", 1);
    if (w.size() != x.size() || w[0] != x[1] || groups < 1 || x[1] % groups != 0)
        refuse("input " + to_text(x) + " and weights " + to_text(w) + " do not fit together in " +
               std::to_string(groups) + " groups");
    const std::size_t rank = x.size() - 2;
    const dims kernel(w.begin() + 2, w.end()), strides = n.integers("strides", dims(rank, 1)),
                                               dilations = n.integers("dilations", dims(rank, 1)),
                                               added = n.integers("output_padding", dims(rank, 0));
    need_positive(kernel, "a window's size");
    need_positive(strides, "a stride");
    need_positive(dilations, "a dilation");
    if (n.integers("kernel_shape", kernel) != kernel)
        refuse("attribute 'kernel_shape' is not that of the weights " + to_text(w));
    const std::string automatic = automatic_padding(n);
    const bool is_same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if (!is_same && automatic != "NOTSET" && automatic != "VALID")
        refuse("attribute 'auto_pad' is '" + automatic + "', allowed: NOTSET, SAME_UPPER, SAME_LOWER, VALID");
    dims pads = automatic == "NOTSET" ? n.integers("pads", dims(2 * rank, 0)) : dims(2 * rank, 0);
    const bool has_shape = n.has_attribute("output_shape");
    dims wanted = n.integers("output_shape", {});
    if (has_shape && wanted.size() == rank + 2)
        wanted.erase(wanted.begin(), wanted.begin() + 2);
    if (has_shape && wanted.size() != rank)
        refuse("attribute 'output_shape' has " + std::to_string(wanted.size()) + " entries, allowed is " +
               std::to_string(rank));
    dims y = {x[0], w[1] * groups};
    for (std::size_t i = 0; i < rank; i++) {
        const dim_t reached = (x[i + 2] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1,
                    whole = reached + added[i];
        if (added[i] < 0 || added[i] >= strides[i])
            refuse("attribute 'output_padding' has an entry of " + std::to_string(added[i]) +
                   ", allowed are 0 to less than the stride");
        if (is_same || has_shape) {
            const dim_t size = has_shape ? wanted[i] : x[i + 2] * strides[i];
            const dim_t total = std::max<dim_t>(whole - size, 0);
            pads[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
            pads[rank + i] = total - pads[i];
        }
        // Windows smaller than the stride leave less than SAME asks for. Elements that no window reaches have
        // the bias.
        y.push_back(has_shape ? wanted[i] : whole - pads[i] - pads[rank + i]);
        if (has_shape && wanted[i] >= reached + strides[i])
            refuse_as_unimplemented("attribute 'output_shape' has an entry of " + std::to_string(wanted[i]) +
                                    ", allowed is up to " + std::to_string(reached + strides[i] - 1));
        if (y.back() < 1 || pads[i] < 0 || pads[rank + i] < 0)
            refuse("padding " + std::to_string(pads[i]) + " and " + std::to_string(pads[rank + i]) +
                   " gives an output of " + to_text(y));
    }
    write_pads(n, automatic, pads);
    n.set_output(n.input(0).type, y);
}

void pooling(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 3);
    const image src(x, n.integer("channels_last", 0) != 0);
    const dim_t channels = src.is_channels_last ? x.back() : x[1];
    if (!n.has_attribute("kernel_shape"))
        refuse("attribute 'kernel_shape' is missing");
    const window w = resolve_window(n, src.spatial, dims(), true);
    n.set_output(n.input(0).type,
                 src.with(x[0], channels, positions(src.spatial, w, n.integer("ceil_mode", 0) != 0)));
}

void global_pooling(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 3);
    const image src(x, n.integer("channels_last", 0) != 0);
    n.set_output(n.input(0).type,
                 src.with(x[0], src.is_channels_last ? x.back() : x[1], dims(src.spatial.size(), 1)));
}

} // namespace octet::model::shape
