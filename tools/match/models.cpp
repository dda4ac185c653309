// A file with one operator: its contracts are what networks can be made of it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "common/element.hpp"
#include "common/text.hpp"
#include "match/contenders.hpp"
#include "match/dynamic.hpp"
#include "match/subject.hpp"
#include "octet/network.hpp"

namespace octet::match {
namespace {

std::int32_t code_at(const tensor_view &y, std::size_t i) {
    const auto offset = static_cast<dim_t>(i);
    return y.data_type() == data_type::f32 ? bits_of(impl::load_f32(y.data(), data_type::f32, offset))
                                           : impl::load_s32(y.data(), y.data_type(), offset);
}

/// Runs a network once per row, since its batch may be any.
codes run_rows(network &net, const inputs &given) {
    codes results;
    for (std::size_t row = 0; row < row_count(given); row++) {
        for (std::size_t i = 0; i < given.size(); i++) {
            const std::size_t size = given[i].bytes.size() / row_count(given);
            net.input(i).copy_bytes_from(given[i].bytes.data() + row * size, size);
        }
        net.run();
        const tensor_view y = net.output(0);
        for (std::size_t i = 0; i < y.element_count(); i++)
            results.push_back(code_at(y, i));
    }
    return results;
}

void add_contract(subject &s, const std::string &name, const model::graph &g,
                  const network_options &options) {
    try {
        const auto net = std::make_shared<network>(g, options);
        s.contracts.push_back({name, "", [net](const inputs &given) { return run_rows(*net, given); }});
    } catch (const error &e) {
        s.refused.push_back({name, e.what()});
    }
}

void require_one_operator(const model::graph &g, const std::string &path) {
    if (g.nodes.size() != 1 || g.outputs.size() != 1 || g.inputs.empty())
        impl::throw_invalid(path, ": has ", g.nodes.size(), " operators, ", g.inputs.size(), " inputs and ",
                            g.outputs.size(), " outputs, allowed: one operator with inputs and one output");
    const auto require_rows = [&](const model::tensor &t, const std::string &what) {
        const bool is_known = t.type == data_type::s8 || t.type == data_type::u8 || t.type == data_type::f32;
        if (t.dims.empty() || t.dims[0] != 1 || !is_known)
            impl::throw_invalid(
                path, ": ", what, " is ", model::type_text(t), ' ', model::to_text(t.dims),
                ", allowed: s8, u8 or f32 with a first dimension of 1, in which rows are counted");
    };
    for (const int t : g.inputs) {
        const model::tensor &x = g.tensors[static_cast<std::size_t>(t)];
        require_rows(x, impl::text("input '", x.name, '\''));
    }
    require_rows(g.tensors[static_cast<std::size_t>(g.outputs[0])], "the output");
}

/// Codes of all sorts: from the whole range, near the zero point, at the ends.
inputs random_rows(const model::graph &g, std::size_t rows) {
    generator random(4);
    inputs all;
    for (const int t : g.inputs) {
        const model::tensor &x = g.tensors[static_cast<std::size_t>(t)];
        if (x.type == data_type::f32) {
            const auto count = static_cast<dim_t>(model::element_count(x.dims));
            all.push_back(rows_to_quantize(static_cast<dim_t>(rows), count, 0)[0]);
            all.back().name = x.name;
            all.back().dims = x.dims;
            all.back().dims[0] = static_cast<dim_t>(rows);
            continue;
        }
        const impl::type_range range = impl::range_of(x.type);
        const std::int32_t centre =
            x.quant.zero_points.size() == 1 ? x.quant.zero_points[0] : (range.low + range.high) / 2;
        const auto size = static_cast<std::size_t>(model::element_count(x.dims));
        std::vector<std::int32_t> codes;
        for (std::size_t row = 0; row < rows; row++)
            for (std::size_t i = 0; i < size; i++) {
                const std::int64_t width = row % 4 == 0 ? 255 : row % 4 == 1 ? 40 : row % 4 == 2 ? 8 : 2;
                const std::int64_t code = row % 16 == 15 ? (random.between(0, 1) ? range.low : range.high)
                                                         : centre + random.between(-width, width);
                codes.push_back(
                    static_cast<std::int32_t>(impl::clamp<std::int64_t>(code, range.low, range.high)));
            }
        memory::dims dims = x.dims;
        dims[0] = static_cast<dim_t>(rows);
        all.push_back(values_of(x.name, x.type, dims, codes));
    }
    return all;
}

} // namespace

subject make_subject(const std::string &path) {
    const model::graph g = model::read_network(path);
    require_one_operator(g, path);
    subject s;
    const model::tensor &y = g.tensors[static_cast<std::size_t>(g.outputs[0])];
    s.dst = y.type;
    s.dst_row = {y.dims.begin() + 1, y.dims.end()};
    s.pool = random_rows(g, 512);
    for (const contender &c : contenders(g.framework))
        add_contract(s, c.name, g, c.options);
    return s;
}

} // namespace octet::match
