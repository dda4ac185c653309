// octet info: the version, what this machine offers, and which implementation each operation gets on it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "commands/commands.hpp"
#include "commands/json.hpp"
#include "commands/options.hpp"
#include "commands/print.hpp"
#include "commands/reference.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

struct cache {
    const char *name;
    int parameter;
};
const cache caches[] = {
    {"L1d", _SC_LEVEL1_DCACHE_SIZE}, {"L2", _SC_LEVEL2_CACHE_SIZE}, {"L3", _SC_LEVEL3_CACHE_SIZE}};

std::string caches_text() {
    std::vector<std::string> texts;
    for (const cache &c : caches) {
        const long bytes = sysconf(c.parameter);
        texts.push_back(std::string(c.name) + ' ' +
                        (bytes > 0 ? bytes_text(static_cast<std::size_t>(bytes)) : "unknown"));
    }
    return list_text(texts);
}

// A small u8 x s8 problem of each operation: the implementation that a usual layer gets.

constexpr prop_kind inference = prop_kind::forward_inference;

memory::desc any(const memory::dims &dims, data_type type) {
    return memory::desc(dims, type, format_tag::any);
}

primitive_desc_base convolution(const engine &e) {
    return convolution_forward::primitive_desc({inference,
                                                algorithm::convolution_direct,
                                                any({1, 64, 14, 14}, data_type::u8),
                                                any({64, 64, 3, 3}, data_type::s8),
                                                any({1, 64, 14, 14}, data_type::u8),
                                                {1, 1},
                                                {1, 1},
                                                {1, 1}},
                                               e);
}

primitive_desc_base depthwise(const engine &e) {
    return convolution_forward::primitive_desc({inference,
                                                algorithm::convolution_direct,
                                                any({1, 64, 14, 14}, data_type::u8),
                                                any({64, 1, 1, 3, 3}, data_type::s8),
                                                any({1, 64, 14, 14}, data_type::u8),
                                                {1, 1},
                                                {1, 1},
                                                {1, 1}},
                                               e);
}

primitive_desc_base inner_product(const engine &e) {
    return inner_product_forward::primitive_desc(
        {inference, any({1, 256}, data_type::u8), any({64, 256}, data_type::s8), any({1, 64}, data_type::u8)},
        e);
}

primitive_desc_base matrix_product(const engine &e) {
    return matmul::primitive_desc(
        {any({64, 64}, data_type::u8), any({64, 64}, data_type::s8), any({64, 64}, data_type::u8)}, e);
}

primitive_desc_base reordering(const engine &e) {
    return reorder::primitive_desc(e, {{1, 64, 14, 14}, data_type::f32, format_tag::nchw}, e,
                                   {{1, 64, 14, 14}, data_type::u8, format_tag::nhwc});
}

primitive_desc_base pooling(const engine &e) {
    return pooling_forward::primitive_desc({inference,
                                            algorithm::pooling_max,
                                            {{1, 64, 14, 14}, data_type::u8, format_tag::nhwc},
                                            {{1, 64, 7, 7}, data_type::u8, format_tag::nhwc},
                                            {2, 2},
                                            {2, 2},
                                            {0, 0},
                                            {0, 0}},
                                           e);
}

primitive_desc_base addition(const engine &e) {
    const memory::desc d({1, 64, 14, 14}, data_type::s8, format_tag::nhwc);
    return binary::primitive_desc({algorithm::binary_add, d, d, d}, e);
}

primitive_desc_base softmax(const engine &e) {
    const memory::desc d({1, 1000}, data_type::s8, format_tag::nc);
    primitive_attr attr;
    attr.set_requantization(requantization_rule::tflite_2step);
    attr.set_input_multiplier(OCTET_ARG_SRC, from_double(requantization_rule::tflite_2step, 1 << 20));
    return softmax_forward::primitive_desc({inference, d, d, 1}, attr, e);
}

primitive_desc_base deconvolution(const engine &e) {
    return deconvolution_forward::primitive_desc({inference,
                                                  algorithm::deconvolution_direct,
                                                  any({1, 64, 7, 7}, data_type::u8),
                                                  any({64, 64, 2, 2}, data_type::s8),
                                                  any({1, 64, 14, 14}, data_type::u8),
                                                  {2, 2},
                                                  {0, 0},
                                                  {0, 0}},
                                                 e);
}

memory::desc image(dim_t size) { return {{1, 64, size, size}, data_type::s8, format_tag::nhwc}; }

primitive_desc_base eltwise(const engine &e) {
    return eltwise_forward::primitive_desc({inference, algorithm::eltwise_relu, image(14)}, e);
}

primitive_desc_base prelu(const engine &e) {
    const memory::desc weights({1, 64, 1, 1}, data_type::f32, format_tag::nhwc);
    return prelu_forward::primitive_desc({inference, image(14), weights}, e);
}

primitive_desc_base resampling(const engine &e) {
    return resampling_forward::primitive_desc({inference, algorithm::resampling_linear, image(14), image(28)},
                                              e);
}

primitive_desc_base sum_of_two(const engine &e) {
    return sum::primitive_desc({1.f, 1.f}, {image(14), image(14)}, e);
}

primitive_desc_base concat_of_two(const engine &e) {
    return concat::primitive_desc(1, {image(14), image(14)}, e);
}

const memory::desc rows{{64, 256}, data_type::f32, format_tag::ab};

primitive_desc_base batch_normalization(const engine &e) {
    return batch_normalization_forward::primitive_desc({inference,
                                                        {{1, 64, 14, 14}, data_type::f32, format_tag::nhwc},
                                                        1e-5f,
                                                        normalization_flags::use_global_stats},
                                                       e);
}

primitive_desc_base layer_normalization(const engine &e) {
    return layer_normalization_forward::primitive_desc({inference, rows, 1e-5f, normalization_flags::none},
                                                       e);
}

primitive_desc_base reduction_of_rows(const engine &e) {
    return reduction::primitive_desc(
        {algorithm::reduction_sum, rows, {{64, 1}, data_type::f32, format_tag::ab}, 0.f, 0.f}, e);
}

struct probe {
    const char *name;
    primitive_desc_base (*make)(const engine &);
};

const probe probes[] = {
    {"convolution", convolution},
    {"depthwise convolution", depthwise},
    {"inner product", inner_product},
    {"matmul", matrix_product},
    {"reorder", reordering},
    {"pooling", pooling},
    {"binary", addition},
    {"softmax", softmax},
    {"deconvolution", deconvolution},
    {"eltwise", eltwise},
    {"prelu", prelu},
    {"batch normalization", batch_normalization},
    {"layer normalization", layer_normalization},
    {"reduction", reduction_of_rows},
    {"resampling", resampling},
    {"sum", sum_of_two},
    {"concat", concat_of_two},
};

void print_implementations() {
    const engine cpu(engine::kind::cpu, 0);
    std::cout << "\nimplementations, each for a small problem\n";
    for (const probe &p : probes) {
        const primitive_desc_base pd = p.make(cpu);
        std::cout << "  " << p.name << ": " << pd.impl_info_str() << '\n';
        for (const std::string &refusal : pd.refusals())
            std::cout << "    refused by " << refusal << '\n';
    }
}

void print_info() {
    std::cout << "octet " << version() << '\n'
              << "  instruction sets  " << isa_names(get_available_cpu_isas()) << "; highest "
              << to_string(get_machine_cpu_isa()) << ", used " << to_string(get_effective_cpu_isa())
              << " (OCTET_MAX_CPU_ISA)\n"
              << "  threads           " << get_num_threads() << " (OCTET_NUM_THREADS)\n"
              << "  caches            " << caches_text() << '\n'
              << "  primitive cache   " << bytes_text(get_primitive_cache_capacity())
              << " (OCTET_PRIMITIVE_CACHE_CAPACITY)\n"
              << "  verbose           " << get_verbose() << " (OCTET_VERBOSE)\n"
              << "\nrequantization rules\n  " << rule_names() << '\n';
    print_implementations();
}

json info_json() {
    json levels = json::array(), rules = json::array(), sizes, implementations = json::array();
    for (const cpu_isa level : get_available_cpu_isas())
        levels.push_back(to_string(level));
    for (const requantization_rule rule : all_requantization_rules())
        rules.push_back(to_string(rule));
    for (const cache &c : caches)
        sizes[c.name] = std::max(0L, sysconf(c.parameter));
    const engine cpu(engine::kind::cpu, 0);
    for (const probe &p : probes) {
        const primitive_desc_base pd = p.make(cpu);
        implementations.push_back(
            {{"operation", p.name}, {"implementation", pd.impl_info_str()}, {"refusals", pd.refusals()}});
    }
    return {{"version", version()},
            {"isas", levels},
            {"machine_isa", to_string(get_machine_cpu_isa())},
            {"isa", to_string(get_effective_cpu_isa())},
            {"threads", get_num_threads()},
            {"cache_bytes", sizes},
            {"primitive_cache_bytes", get_primitive_cache_capacity()},
            {"verbose", get_verbose()},
            {"rules", rules},
            {"implementations", implementations}};
}

struct info_options {
    machine_options machine;
    bool reference = false, json = false;
};

void info(const info_options &options) {
    if (options.json)
        reserve_standard_output();
    apply(options.machine);
    if (options.json)
        print(options.reference ? reference_json() : info_json());
    else
        options.reference ? print_reference() : print_info();
}

} // namespace

void add_info_command(CLI::App &app) {
    CLI::App *command =
        app.add_subcommand("info", "Version, instruction sets, threads, caches, implementations");
    const auto options = std::make_shared<info_options>();
    command->add_flag(
        "--reference", options->reference,
        "Instead: problems that are left for the reference implementation, and who refused them why");
    add_machine_options(*command, options->machine);
    add_json_option(*command, options->json);
    command->callback([options] { info(*options); });
}

} // namespace octet::tools
