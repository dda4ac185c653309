// octet info: the version, what this machine offers, and which implementation each operation gets on it.

#include <CLI/CLI.hpp>
#include <iostream>
#include <unistd.h>

#include "commands/commands.hpp"
#include "commands/print.hpp"
#include "commands/reference.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

std::string cache_text(const char *name, int parameter) {
    const long bytes = sysconf(parameter);
    return std::string(name) + " " + (bytes > 0 ? bytes_text(static_cast<std::size_t>(bytes)) : "unknown");
}

std::string caches_text() {
    return cache_text("L1d", _SC_LEVEL1_DCACHE_SIZE) + ", " + cache_text("L2", _SC_LEVEL2_CACHE_SIZE) + ", " +
           cache_text("L3", _SC_LEVEL3_CACHE_SIZE);
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

void info() {
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

} // namespace

void add_info_command(CLI::App &app) {
    CLI::App *command =
        app.add_subcommand("info", "Version, instruction sets, threads, caches, implementations");
    const auto only_reference = std::make_shared<bool>(false);
    command->add_flag(
        "--reference", *only_reference,
        "Instead: problems that are left for the reference implementation, and who refused them why");
    command->callback([only_reference] { *only_reference ? print_reference() : info(); });
}

} // namespace octet::tools
