// Two traces of a network compared tensor by tensor, and the page about them. Start reading at compare_networks.
// SPDX-License-Identifier: Apache-2.0
#include "match/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/element.hpp"
#include "common/text.hpp"
#include "match/networks.hpp"

namespace octet::match {
namespace {

bool is_comparable(const model::tensor &t) {
    return !t.is_channels_last &&
           (t.type == data_type::s8 || t.type == data_type::u8 || t.type == data_type::s16 ||
            t.type == data_type::s32 || t.type == data_type::f32);
}

/// A network, and a copy of everything that its operators wrote.
struct traced {
    network net;
    std::map<int, values> tensors;
};

traced trace(const contender &c, const model::graph &g, const inputs &given) {
    network_options options = c.options;
    options.fusion = false; // fused operators hide tensors
    traced t{network(g, options), {}};
    for (std::size_t i = 0; i < given.size(); i++)
        t.net.input(i).copy_bytes_from(given[i].bytes.data(), given[i].bytes.size());
    t.net.run([&](std::size_t node, double) {
        for (const int index : t.net.get_graph().nodes[node].outputs) {
            const tensor_view view = t.net.tensor(index);
            if (!is_comparable(tensor_of(t.net.get_graph(), index)))
                continue;
            const auto *bytes = static_cast<const std::uint8_t *>(view.data());
            t.tensors[index] = {
                view.name(), view.data_type(), view.dims(), {bytes, bytes + view.size_in_bytes()}, false};
        }
    });
    return t;
}

/// Cells of the map: an image's places, at most 16 on a side, or the last dimension in at most 64 parts.
struct cells {
    std::size_t height = 1, width = 1, inner = 1, rows, columns;

    explicit cells(const memory::dims &dims) {
        if (dims.size() == 4) {
            height = static_cast<std::size_t>(dims[1]);
            width = static_cast<std::size_t>(dims[2]);
            inner = static_cast<std::size_t>(dims[3]);
        } else if (!dims.empty()) {
            width = static_cast<std::size_t>(dims.back());
        }
        rows = std::min<std::size_t>(height, 16);
        columns = std::min<std::size_t>(width, dims.size() == 4 ? 16 : 64);
    }
    std::size_t of(std::size_t element) const {
        const std::size_t x = element / inner % width, y = element / inner / width % height;
        return y * rows / height * columns + x * columns / width;
    }
};

operator_difference difference_of(const values &a, const values &b, const std::string &op) {
    operator_difference d;
    d.op = op;
    d.tensor = a.name;
    d.dims = a.dims;
    d.elements = a.count();
    const cells places(a.dims);
    d.rows = places.rows;
    d.columns = places.columns;
    d.map.assign(d.rows * d.columns, 0.f);
    std::vector<std::size_t> all(d.map.size());
    for (std::size_t i = 0; i < d.elements; i++) {
        const std::size_t cell = places.of(i);
        all[cell]++;
        if (std::memcmp(&a.bytes[i * a.element_size()], &b.bytes[i * a.element_size()], a.element_size()) ==
            0)
            continue;
        d.different++;
        d.map[cell]++;
        const double delta = a.type == data_type::f32 ? double{b.real(i)} - double{a.real(i)}
                                                      : double{b.integer(i) * 1.} - a.integer(i);
        d.largest = std::max(d.largest, std::abs(delta));
        if (a.type != data_type::f32)
            d.histogram[static_cast<int>(impl::clamp(delta, -5., 5.))]++;
    }
    for (std::size_t cell = 0; cell < all.size(); cell++)
        d.map[cell] /= static_cast<float>(std::max<std::size_t>(all[cell], 1));
    return d;
}

/// The largest element of each row of the last dimension, the first of equal ones.
std::vector<std::int64_t> classes(const values &v) {
    std::vector<std::int64_t> found;
    const auto width = v.dims.empty() ? 1 : static_cast<std::size_t>(v.dims.back());
    for (std::size_t row = 0; width > 0 && row < v.count() / width; row++) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < width; i++)
            if (v.type == data_type::f32 ? v.real(row * width + i) > v.real(row * width + best)
                                         : v.integer(row * width + i) > v.integer(row * width + best))
                best = i;
        found.push_back(static_cast<std::int64_t>(best));
    }
    return found;
}

std::size_t equal_count(const std::vector<std::int64_t> &a, const std::vector<std::int64_t> &b) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); i++)
        count += a[i] == b[i];
    return count;
}

// ---- HTML

std::string escaped(const std::string &text) {
    std::string out;
    for (const char c : text)
        out += c == '&'   ? "&amp;"
               : c == '<' ? "&lt;"
               : c == '>' ? "&gt;"
               : c == '"' ? "&quot;"
                          : std::string(1, c);
    return out;
}

/// White to red; small shares are visible.
std::string colour(float share) {
    const int other =
        255 - static_cast<int>(std::lround(220 * std::pow(impl::clamp(share, 0.f, 1.f), 0.35f)));
    return impl::text("rgb(255,", other, ",", other, ")");
}

std::string map_html(const operator_difference &d) {
    std::string svg = impl::text("<svg width=\"", d.columns * 6, "\" height=\"", d.rows * 6, "\">");
    for (std::size_t i = 0; i < d.map.size(); i++)
        if (d.map[i] > 0)
            svg += impl::text("<rect x=\"", i % d.columns * 6, "\" y=\"", i / d.columns * 6,
                              "\" width=\"6\" height=\"6\" fill=\"", colour(d.map[i]), "\"/>");
    return svg + "</svg>";
}

std::string histogram_html(const operator_difference &d) {
    std::string text;
    for (const auto &[delta, count] : d.histogram)
        text += impl::text(text.empty() ? "" : ", ", delta > 0 ? "+" : "", delta,
                           std::abs(delta) == 5 ? " and beyond" : "", ": ", count);
    return text;
}

} // namespace

comparison compare_networks(const model::graph &g, const contender &a, const contender &b,
                            const inputs &given, const std::vector<std::int64_t> &labels) {
    const traced first = trace(a, g, given), second = trace(b, g, given);
    comparison c;
    c.a = a.name;
    c.b = b.name;
    const model::graph &ran = first.net.get_graph();
    for (std::size_t node = 0; node < ran.nodes.size(); node++)
        for (const int index : ran.nodes[node].outputs) {
            const auto ours = first.tensors.find(index), theirs = second.tensors.find(index);
            if (ours == first.tensors.end() || theirs == second.tensors.end() ||
                ours->second.bytes.size() != theirs->second.bytes.size())
                continue;
            c.operators.push_back(difference_of(ours->second, theirs->second, model::node_text(ran, node)));
        }
    const auto ours = first.tensors.find(ran.outputs.at(0)), theirs = second.tensors.find(ran.outputs.at(0));
    if (ours != first.tensors.end() && theirs != second.tensors.end()) {
        const std::vector<std::int64_t> classes_a = classes(ours->second),
                                        classes_b = classes(theirs->second);
        c.rows = classes_a.size();
        c.agreeing = equal_count(classes_a, classes_b);
        if (!labels.empty()) {
            if (labels.size() != c.rows)
                impl::throw_invalid("labels: ", labels.size(), " given, allowed: ", c.rows,
                                    ", one for each row of the output");
            c.right_a = equal_count(classes_a, labels);
            c.right_b = equal_count(classes_b, labels);
        }
    }
    return c;
}

std::string to_html(const comparison &c, const std::string &model) {
    std::string page = impl::text(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", escaped(c.a), " and ",
        escaped(c.b),
        "</title>\n<style>body{font:14px "
        "sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:3px "
        "8px;text-align:left}td.n{text-align:right}svg{background:#f4f4f4;display:block}</style></"
        "head>\n<body><h1>",
        escaped(model), "</h1>\n<p>Codes of <b>", escaped(c.b), "</b> that differ from those of <b>",
        escaped(c.a),
        "</b>, operator by operator. Each network ran from its inputs on, so an operator shows what earlier "
        "ones passed on, too.</p>\n<p>",
        c.agreeing, " of ", c.rows, " rows of the first output have the same largest element.");
    if (c.right_a)
        page += impl::text(" It is the label's in ", *c.right_a, " rows under ", escaped(c.a), " and in ",
                           *c.right_b, " under ", escaped(c.b), ".");
    page += "</p>\n<table><tr><th>operator</th><th>tensor</th><th>dimensions</th><th>elements</"
            "th><th>differ</th><th>%</th><th>largest</th>"
            "<th>how often by how much</th><th>where</th></tr>\n";
    for (const operator_difference &d : c.operators) {
        const double share =
            d.elements ? 100. * static_cast<double>(d.different) / static_cast<double>(d.elements) : 0;
        page += impl::text(
            "<tr><td>", escaped(d.op), "</td><td>", escaped(d.tensor), "</td><td>", model::to_text(d.dims),
            "</td><td class=\"n\">", d.elements, "</td><td class=\"n\">", d.different,
            "</td><td class=\"n\" style=\"background:", colour(static_cast<float>(share / 100)), "\">",
            std::round(share * 1000) / 1000, "</td><td class=\"n\">", d.largest, "</td><td>",
            histogram_html(d), "</td><td>", map_html(d), "</td></tr>\n");
    }
    return page + "</table></body></html>\n";
}

} // namespace octet::match
