// octet bench: time, share of the machine's peak and of the bound, and with a baseline the ratio, of each
// layer of a shape table; the same of a problem in the words of verbose mode, and of a network. This file has
// the options; what is done is in bench_layers.cpp, bench_network.cpp and bench_compare.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "base/json.hpp"
#include "commands/bench.hpp"
#include "commands/commands.hpp"

namespace octet::tools {
namespace {

/// Each baseline runs one kind of thing.
void check_baseline(const bench_options &options) {
    const bool has_networks = !options.networks.empty();
    if (options.baseline == "onnxruntime" && !has_networks)
        throw CLI::ValidationError("--baseline onnxruntime", "needs --network");
    if (options.baseline == "onednn" && has_networks)
        throw CLI::ValidationError("--baseline onednn", "runs layers of --shapes; networks have onnxruntime");
    if ((options.baseline == "static") != !options.dynamic.empty() && !options.baseline.empty())
        throw CLI::ValidationError("--baseline " + options.baseline,
                                   "static goes with --dynamic, and no other baseline does");
}

void bench(const bench_options &options) {
    check_baseline(options);
    if (options.json)
        reserve_standard_output();
    if (!options.shapes.empty())
        bench_tables(options);
    else if (!options.problems.empty())
        bench_problems(options);
    else if (!options.networks.empty())
        bench_networks(options);
    else if (!options.compared.empty())
        bench_compare(options);
    else
        throw CLI::RequiredError("--shapes, --problem, --network or --compare");
}

} // namespace

void add_bench_command(CLI::App &app) {
    const auto options = std::make_shared<bench_options>();
    CLI::App *command = app.add_subcommand(
        "bench", "Time layers, problems and networks, also against oneDNN and ONNX Runtime");
    command->add_option("--shapes", options->shapes, "CSV tables of layers, see below")->type_name("FILE");
    CLI::Option *problem =
        command
            ->add_option(
                "--problem", options->problems,
                "Problems instead of tables: lines of verbose mode (OCTET_VERBOSE=1), each in quotes")
            ->type_name("LINE");
    CLI::Option *network =
        command
            ->add_option("--network", options->networks,
                         "Networks, whole and layer by layer: .tflite, .onnx or of octet save")
            ->type_name("MODEL");
    CLI::Option *conv = command->add_flag("--conv", options->conv, "The tables hold convolutions");
    CLI::Option *ip =
        command->add_flag("--ip", options->inner_product, "Time products as inner products")->excludes(conv);
    command->add_flag("--matmul", options->matrix, "Time products as matmuls (the default)")
        ->excludes(conv)
        ->excludes(ip);
    command->add_flag("--skip-depthwise", options->skip_depthwise, "Without depthwise convolutions");
    command->add_option("--only", options->only, "Only layers whose names contain this")->type_name("TEXT");
    CLI::Option *batch =
        command->add_option("--batch", options->batch, "Images per convolution or network, 1 to 1024")
            ->type_name("N")
            ->check(whole_number(1, 1024));
    CLI::Option *rule = add_rule_option(*command, options->rule,
                                        "Requantization rule; of networks by default their framework's");
    add_profile_option(*command, options->network.profile)->needs(network);
    for (const std::string &name : add_size_options(*command, options->network))
        command->get_option(name)->needs(network);
    command->add_option("--types", options->types, "Types of src:weights:dst")
        ->type_name("TYPES")
        ->capture_default_str();
    command
        ->add_option(
            "--dynamic", options->dynamic,
            "Products whose f32 source is quantized per row while they run, in Octet's order: type of the "
            "weights, s8, u8, s4 or u4, and with :GROUP how many neighbours share a scale")
        ->type_name("TYPE")
        ->excludes("--types")
        ->excludes(conv)
        ->excludes(rule);
    add_machine_options(*command, options->machine);
    command
        ->add_option("--samples", options->samples,
                     "Samples per layer, 1 to 1001: each the mean of as many runs as fill 0.3 ms, after a "
                     "warm-up; of a "
                     "network the runs of 0.1 s")
        ->type_name("N")
        ->check(whole_number(1, 1001))
        ->capture_default_str();
    command->add_flag(
        "--cold", options->cold,
        "Also with other bytes in the caches before each run, as after a network's other layers");
    command
        ->add_option("--baseline", options->baseline,
                     "Time this, too, sample by sample in turn: onednn for layers of tables, onnxruntime for "
                     "networks, static (the product of s8 codes) for those of --dynamic")
        ->type_name("NAME")
        ->check(word_of({"onednn", "onnxruntime", "static"}));
    command
        ->add_option(
            "--through", options->through,
            "Time the network in sessions of this library, in turn without and with Octet's provider "
            "in them, beside Octet itself; the baseline is that library")
        ->type_name("NAME")
        ->check(word_of({"onnxruntime"}))
        ->needs(network);
    command
        ->add_option(
            "--node-modules", options->node_modules,
            "Where Node.js finds the package onnxruntime-node, beside NODE_PATH and the working directory")
        ->type_name("DIR")
        ->needs(network);
    command
        ->add_option("--csv", options->csv, "Write the results to this file, each as soon as it is measured")
        ->type_name("FILE");
    command
        ->add_option("--history", options->history,
                     "Add the results to this file, which keeps those of earlier runs")
        ->type_name("FILE");
    add_json_option(*command, options->json);
    CLI::Option *compare =
        command
            ->add_option("--compare", options->compared,
                         "Instead of timing, compare two files of --csv or --history row by row; exit code 1 "
                         "if the second is slower")
            ->type_name("OLD NEW")
            ->expected(2);
    command
        ->add_option(
            "--by", options->by,
            "Column to compare: microseconds (the default, where both files have it) or share_of_peak, "
            "which the machine's clock does not change")
        ->type_name("COLUMN")
        ->check(word_of({"microseconds", "share_of_peak"}))
        ->needs(compare);
    command
        ->add_option("--tolerance", options->tolerance,
                     "Per cent by which a row of NEW may be slower, whatever its noise")
        ->type_name("NUMBER")
        ->capture_default_str()
        ->check(number_from_zero())
        ->needs(compare);
    command->footer(
        "Shape tables (samples in bench/shapes) start with a line of column names:\n"
        "  convolutions  name,mb,g,ic,ih,iw,oc,oh,ow,kh,kw,sh,sw,ph,pw,dh,dw,count\n"
        "  products      name,m,n,k,count          dst[m x n] = src[m x k] * weights[k x n]\n"
        "mb images, g groups, ic/oc channels of all groups, i/o/k height and width of source, "
        "destination and\n"
        "kernel, s strides, p padding above and left, d zeros between taps, count occurrences in "
        "the network.\n"
        "Results: min us, us (median), P90, P99: of the samples, in microseconds; % of peak: of the "
        "machine's\n"
        "multiply-add peak; % of read: time to read the weights of a one-row product / time; "
        "bound, % of it: what\n"
        "takes longest at best (compute, read, write), and that / time; ratio: the baseline's time / "
        "Octet's; with\n"
        "several threads cores: how many they had, trip: cycles of a cache line between them and "
        "back; disturbed: samples beside which loads from the first-level cache were slow, as another guest "
        "on the core\n"
        "makes them, and for which as many further ones found no quiet moment.\n"
        "doc/bench.md has all columns.");
    // Tables, problems and networks are not mixed.
    for (const char *option : {"--shapes", "--conv", "--ip", "--matmul", "--skip-depthwise", "--only",
                               "--types", "--dynamic", "--cold"})
        network->excludes(command->get_option(option));
    network->excludes(problem);
    // A problem says these itself, or does not depend on them.
    for (const char *option : {"--shapes", "--conv", "--ip", "--matmul", "--skip-depthwise", "--only",
                               "--batch", "--rule", "--types", "--dynamic", "--baseline"})
        problem->excludes(command->get_option(option));
    for (const CLI::Option *option : command->get_options())
        if (const std::string &name = option->get_single_name();
            name != "help" && name != "json" && name != "compare" && name != "by" && name != "tolerance")
            compare->excludes(command->get_option("--" + name));
    command->callback([=] {
        if (batch->count() > 0)
            options->network.batch = options->batch;
        if (rule->count() > 0)
            options->network.rule = options->rule;
        if (options->baseline.empty())
            options->baseline = options->through;
        bench(*options);
    });
}

} // namespace octet::tools
