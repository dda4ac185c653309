// Operators as networks of one node and as element-wise primitives, and the inputs that are worth asking about.
// Start reading at operator_subject.
// SPDX-License-Identifier: Apache-2.0
#include "match/operators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "common/element.hpp"
#include "common/text.hpp"
#include "match/accumulators.hpp"
#include "match/contenders.hpp"
#include "match/dynamic.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::match {
namespace {

using form = enum kind_facts::form;

memory::dims with_rows(dim_t rows, const memory::dims &row) {
    memory::dims dims = row;
    dims.insert(dims.begin(), rows);
    return dims;
}

/// True for pooling, whose rows are images of one line.
bool is_pool(const description &d) {
    return std::string(d.kind->tflite).find("_POOL_2D") != std::string::npos;
}

memory::dims source_row(const description &d) {
    switch (d.kind->form) {
    case form::row:
        return is_pool(d) ? memory::dims{1, d.count, 1} : memory::dims{d.count};
    case form::codes:
        return {d.count};
    case form::image:
        return {d.size[0], d.size[1], 1};
    default:
        return {};
    }
}

memory::dims result_row(const description &d) {
    switch (d.kind->form) {
    case form::row:
        return is_pool(d) ? memory::dims{1, 1, 1} : memory::dims{};
    case form::codes:
        return {d.count};
    case form::image:
        return {d.to[0], d.to[1], 1};
    default:
        return {};
    }
}

// ---- networks of one operator

class one_operator {
public:
    explicit one_operator(const std::string &framework, const std::string &op) {
        graph.framework = framework;
        graph.nodes.push_back({op, {}, {}, {}});
    }
    int add(const std::string &name, const operand &o, const memory::dims &dims) {
        model::tensor t;
        t.name = name;
        t.type = o.type;
        t.dims = dims;
        if (o.type != data_type::f32 && graph.framework == "tflite")
            t.quant = {{o.scale}, {o.zero_point}, 0};
        graph.tensors.push_back(std::move(t));
        return static_cast<int>(graph.tensors.size()) - 1;
    }
    void input(const std::string &name, const operand &o, const memory::dims &dims) {
        graph.inputs.push_back(add(name, o, dims));
        graph.nodes[0].inputs.push_back(graph.inputs.back());
    }
    void output(const operand &o, const memory::dims &dims) {
        graph.outputs.push_back(add("y", o, dims));
        graph.nodes[0].outputs = graph.outputs;
    }
    void constant(const values &v) {
        const int index = add(v.name, {v.type, 0, 0}, v.dims);
        model::tensor &t = graph.tensors[static_cast<std::size_t>(index)];
        t.quant = {};
        t.is_constant = true;
        t.data = v.bytes;
        graph.nodes[0].inputs.push_back(index);
    }
    std::map<std::string, model::attribute> &attributes() { return graph.nodes[0].attributes; }

    model::graph graph;
};

model::graph tflite_graph(const description &d, dim_t rows) {
    one_operator g("tflite", d.kind->tflite);
    for (std::size_t i = 0; i < d.inputs.size(); i++)
        g.input(i == 0 ? "x" : "y", d.inputs[i], with_rows(rows, source_row(d)));
    if (d.kind->form == form::row && source_row(d).size() == 1)
        g.constant(values_of("axis", data_type::s32, {1}, {1}));
    if (d.kind->form == form::image)
        g.constant(values_of("size", data_type::s32, {2},
                             {static_cast<std::int32_t>(d.to[0]), static_cast<std::int32_t>(d.to[1])}));
    g.output(d.output, with_rows(rows, result_row(d)));
    g.attributes() = {{"activation", d.activation},
                      {"alpha", d.alpha},
                      {"beta", d.beta},
                      {"keep_dims", std::int64_t{0}},
                      {"padding", std::string("VALID")},
                      {"stride_h", std::int64_t{1}},
                      {"stride_w", std::int64_t{1}},
                      {"filter_h", std::int64_t{1}},
                      {"filter_w", std::int64_t{std::max<dim_t>(d.count, 1)}},
                      {"align_corners", std::int64_t{d.align_corners}},
                      {"half_pixel_centers", std::int64_t{d.half_pixel_centers}}};
    return g.graph;
}

/// The quantized operators of ONNX Runtime have scales and zero points among their inputs.
model::graph onnx_graph(const description &d, dim_t rows) {
    one_operator g("onnx", d.kind->onnx);
    const auto add_quantization = [&](const std::string &name, const operand &o) {
        g.constant(values_of(name + "_scale", {}, std::vector<float>{o.scale}));
        g.constant(values_of(name + "_zero_point", o.type, {}, {o.zero_point}));
    };
    for (std::size_t i = 0; i < d.inputs.size(); i++) {
        const std::string name = i == 0 ? "x" : "y";
        g.input(name, d.inputs[i], {rows});
        if (d.inputs[i].type != data_type::f32)
            add_quantization(name, d.inputs[i]);
    }
    add_quantization("dst", d.output);
    g.output(d.output, {rows});
    if (std::string(d.kind->onnx) == "QLinearLeakyRelu")
        g.attributes() = {{"alpha", d.alpha}};
    model::infer_shapes(g.graph);
    return g.graph;
}

codes results_of(const memory &m, data_type type, std::size_t count) {
    codes results(count);
    for (std::size_t i = 0; i < count; i++)
        results[i] = impl::load_s32(m.get_data_handle(), type, static_cast<dim_t>(i));
    return results;
}

codes run(network net, const inputs &given) {
    for (std::size_t i = 0; i < given.size(); i++)
        net.input(i).copy_bytes_from(given[i].bytes.data(), given[i].bytes.size());
    net.run();
    const tensor_view y = net.output(0);
    return results_of(y.get_memory(), y.data_type(), y.element_count());
}

// ---- element-wise primitives under a rule

memory memory_of(const values &v, const engine &cpu) {
    const memory m({{static_cast<dim_t>(v.count())}, v.type, format_tag::a}, cpu);
    std::copy(v.bytes.begin(), v.bytes.end(), static_cast<std::uint8_t *>(m.get_data_handle()));
    return m;
}

void set_quantization(primitive_attr &attr, int arg, const operand &o) {
    if (o.type == data_type::f32)
        return;
    attr.set_scales(arg, 0, {o.scale});
    if (o.zero_point != 0)
        attr.set_zero_points(arg, 0, {o.zero_point});
}

std::optional<algorithm> binary_algorithm(const description &d) {
    const std::string kind = d.kind->name;
    if (kind == "add")
        return algorithm::binary_add;
    if (kind == "sub")
        return algorithm::binary_sub;
    if (kind == "mul")
        return algorithm::binary_mul;
    return {};
}

codes run_primitive(const description &d, requantization_rule rule, const inputs &given) {
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    const memory x = memory_of(given.at(0), cpu);
    const memory dst({{static_cast<dim_t>(given[0].count())}, d.output.type, format_tag::a}, cpu);
    primitive_attr attr;
    attr.set_requantization(rule);
    if (const auto algorithm = binary_algorithm(d)) {
        const memory y = memory_of(given.at(1), cpu);
        set_quantization(attr, OCTET_ARG_SRC_0, d.inputs[0]);
        set_quantization(attr, OCTET_ARG_SRC_1, d.inputs[1]);
        set_quantization(attr, OCTET_ARG_DST, d.output);
        const binary::primitive_desc pd({*algorithm, x.get_desc(), y.get_desc(), dst.get_desc()}, attr, cpu);
        binary(pd).execute(s, {{OCTET_ARG_SRC_0, x}, {OCTET_ARG_SRC_1, y}, {OCTET_ARG_DST, dst}});
    } else {
        set_quantization(attr, OCTET_ARG_SRC, d.inputs[0]);
        set_quantization(attr, OCTET_ARG_DST, d.output);
        reorder(reorder::primitive_desc(cpu, x.get_desc(), cpu, dst.get_desc(), attr)).execute(s, x, dst);
    }
    codes results = results_of(dst, d.output.type, given[0].count());
    for (std::int32_t &code : results)
        code = impl::clamp(code, d.low(), d.high());
    return results;
}

// ---- pools

/// Codes of one type in a row of `size`: any, then rows that are nearly constant, whose sums differ by little.
std::vector<std::int32_t> code_rows(data_type type, std::size_t rows, std::size_t size) {
    const impl::type_range range = impl::range_of(type);
    generator random(2);
    std::vector<std::int32_t> codes;
    for (std::size_t row = 0; row < rows; row++) {
        const std::int64_t centre = random.between(range.low, range.high),
                           width = row % 4 == 0 ? 255 : row % 4 * 3;
        const std::int64_t odd = random.between(0, static_cast<std::int64_t>(size) - 1);
        for (std::size_t i = 0; i < size; i++) {
            const bool is_raised = row % 2 == 1 && static_cast<std::int64_t>(i) < odd;
            const std::int64_t code =
                row % 2 == 1 ? centre + is_raised : centre + random.between(-width, width);
            codes.push_back(
                static_cast<std::int32_t>(impl::clamp<std::int64_t>(code, range.low, range.high)));
        }
    }
    return codes;
}

/// Real numbers around the boundaries between codes, far away, and in between.
std::vector<float> reals_for(const operand &dst) {
    const impl::type_range range = impl::range_of(dst.type);
    std::vector<float> reals = {0.f,
                                -0.f,
                                1e-38f,
                                -1e-38f,
                                1e9f,
                                -1e9f,
                                std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::lowest()};
    generator random(3);
    for (std::int32_t code = range.low - 1; code <= range.high; code++) {
        const float boundary = (static_cast<float>(code - dst.zero_point) + 0.5f) * dst.scale;
        const float up = std::numeric_limits<float>::infinity();
        const float above = std::nextafter(boundary, up), below = std::nextafter(boundary, -up);
        for (const float x : {boundary, above, below, std::nextafter(above, up), std::nextafter(below, -up),
                              boundary + dst.scale * static_cast<float>(random.between(-50, 50)) / 100.f})
            reals.push_back(x);
    }
    std::sort(reals.begin(), reals.end());
    return reals;
}

inputs pool_of(const description &d) {
    const operand &x = d.inputs[0];
    if (x.type == data_type::f32) {
        const std::vector<float> reals = reals_for(d.output);
        return {values_of("x", {static_cast<dim_t>(reals.size())}, reals)};
    }
    const impl::type_range a = impl::range_of(x.type), b = impl::range_of(d.inputs.back().type);
    std::vector<std::int32_t> first, second;
    if (d.kind->form == form::elements) {
        for (std::int32_t i = a.low; i <= a.high; i++)
            if (d.inputs.size() == 1)
                first.push_back(i);
            else
                for (std::int32_t j = b.low; j <= b.high; j++) {
                    first.push_back(i);
                    second.push_back(j);
                }
        inputs all = {values_of("x", x.type, {static_cast<dim_t>(first.size())}, first)};
        if (d.inputs.size() > 1)
            all.push_back(values_of("y", d.inputs[1].type, {static_cast<dim_t>(second.size())}, second));
        return all;
    }
    const memory::dims row = source_row(d);
    const auto size = static_cast<std::size_t>(model::element_count(row));
    const std::size_t rows =
        std::max<std::size_t>(64, std::min<std::size_t>(4096, (std::size_t{1} << 18) / size));
    return {values_of("x", x.type, with_rows(static_cast<dim_t>(rows), row), code_rows(x.type, rows, size))};
}

/// Keeps a contract that runs on the first rows of the pool; the reason of one that does not.
void add_contract(subject &s, contract c) {
    try {
        c.compute(rows_of(s.pool, {0}));
        s.contracts.push_back(std::move(c));
    } catch (const error &e) {
        s.refused.push_back({c.name, e.what()});
    }
}

} // namespace

subject operator_subject(const description &d) {
    subject s;
    s.dst = d.output.type;
    s.dst_row = result_row(d);
    s.pool = pool_of(d);
    const auto add_network = [&](const contender &c, model::graph (*graph)(const description &, dim_t)) {
        add_contract(s, {c.name, "", [d, c, graph](const inputs &given) {
                             return run(network(graph(d, static_cast<dim_t>(row_count(given))), c.options),
                                        given);
                         }});
    };
    for (const contender &c : runtimes("tflite"))
        add_network(c, tflite_graph);
    const bool is_rescaling = std::string(d.kind->name) == "quantize" && d.inputs[0].type != data_type::f32;
    if (d.kind->onnx && d.activation == "NONE" && !is_rescaling)
        for (const contender &c : runtimes("onnx"))
            add_network(c, onnx_graph);
    if (binary_algorithm(d) || std::string(d.kind->name) == "quantize")
        for (const requantization_rule rule : all_requantization_rules())
            if (rule != requantization_rule::automatic && rule != requantization_rule::none)
                add_contract(s, {to_string(rule), "",
                                 [d, rule](const inputs &given) { return run_primitive(d, rule, given); }});
    return s;
}

subject make_subject(const description &d) {
    switch (d.kind->form) {
    case form::accumulators:
        return accumulator_subject(d);
    case form::product:
        return product_subject(d);
    case form::quantizer:
        return quantizer_subject(d);
    case form::own_codes:
        return own_codes_subject(d);
    default:
        return operator_subject(d);
    }
}

} // namespace octet::match
