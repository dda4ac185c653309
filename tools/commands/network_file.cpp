// From a file and sizes to a graph and a network.
// SPDX-License-Identifier: Apache-2.0
#include "commands/network_file.hpp"

#include <algorithm>
#include <charconv>

#include <CLI/CLI.hpp>

#include "base/options.hpp"
#include "base/print.hpp"

namespace octet::tools {
namespace {

constexpr dim_t largest_size =
    1'000'000'000; ///< rules out slips of the finger; products are checked by networks

[[noreturn]] void refuse(const std::string &complaint) { throw error(status::invalid_arguments, complaint); }

/// Runs what may complain about the file, whose name comes first then.
template <typename Function> auto naming(const std::string &path, const Function &work) {
    try {
        return work();
    } catch (const error &e) {
        throw error(e.status, path + ": " + e.what());
    }
}

dim_t read_size(const std::string &option, const std::string &given, const std::string &text) {
    dim_t size = 0;
    const char *end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, size);
    if (stop != end || failure != std::errc() || size < 0 || size > largest_size)
        refuse(option + ": '" + given + "' given, the form is " +
               (option == "--shape" ? "NAME=1x128, sizes from 0 to " : "NAME=128, sizes from 0 to ") +
               std::to_string(largest_size));
    return size;
}

/// "NAME=…"; names of tensors may have a '=' themselves, sizes don't.
std::pair<std::string, std::string> split(const std::string &given) {
    const std::size_t sign = given.rfind('=');
    return sign == std::string::npos ? std::pair<std::string, std::string>("", given)
                                     : std::pair(given.substr(0, sign), given.substr(sign + 1));
}

memory::dims read_dims(const std::string &given, const std::string &text) {
    memory::dims dims;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('x', at), text.size());
        dims.push_back(read_size("--shape", given, text.substr(at, end - at)));
        at = end + 1;
    }
    return dims;
}

/// Without a name the only input is meant.
network_sizes read_sizes(const model::graph &g, const network_file_options &options) {
    network_sizes sizes;
    sizes.batch = options.batch;
    for (const std::string &given : options.shapes) {
        auto [name, text] = split(given);
        if (name.empty()) {
            if (g.inputs.size() != 1)
                refuse("--shape: '" + given + "' given, but " + options.model + " has " +
                       std::to_string(g.inputs.size()) + " inputs: NAME=" + text);
            name = g.tensors[static_cast<std::size_t>(g.inputs[0])].name;
        }
        sizes.shapes[name] = read_dims(given, text);
    }
    for (const std::string &given : options.dimensions) {
        const auto [name, text] = split(given);
        sizes.dimensions[name] = read_size("--dimension", given, text);
    }
    return sizes;
}

} // namespace

std::vector<std::string> add_network_options(CLI::App &command, network_file_options &options) {
    command.add_option("MODEL", options.model, "A .tflite or .onnx file, or one of octet save")
        ->type_name("");
    add_rule_option(command, options.rule,
                    "Requantization rule of the accumulating operators of a .tflite network; an .onnx "
                    "network has ONNX Runtime's");
    add_profile_option(command, options.profile);
    command.add_option("--batch", options.batch, "Number of images at once, instead of the file's")
        ->type_name("N")
        ->check(whole_number(1, 1'000'000));
    std::vector<std::string> names = add_size_options(command, options);
    names.insert(names.begin(), {"MODEL", "--rule", "--profile", "--batch"});
    return names;
}

std::vector<std::string> add_size_options(CLI::App &command, network_file_options &options) {
    command
        .add_option("--shape", options.shapes,
                    "Size of an input, instead of the file's: image=1x3x320x320; the name can be left out "
                    "where there "
                    "is one input")
        ->type_name("[NAME=]DIMS");
    command
        .add_option("--dimension", options.dimensions, "Size that an .onnx file leaves open: sequence=128")
        ->type_name("NAME=N");
    command.add_flag("--no-fusion", options.no_fusion,
                     "Run every operator by itself; joining them changes no output");
    command.add_flag(
        "--rows-alike", options.rows_alike,
        "Give a row of an .onnx network the same bits alone as among others; ONNX Runtime sums up "
        "some single rows in an order of their own");
    return {"--shape", "--dimension", "--no-fusion", "--rows-alike"};
}

model::graph read_graph(const network_file_options &options) {
    model::graph g = model::read_network(options.model);
    const network_sizes sizes = read_sizes(g, options);
    naming(options.model, [&] { model::set_sizes(g, sizes); });
    return g;
}

void set_open_sizes(model::graph &g, const network_sizes &sizes, const network_file_options &options) {
    if (options.batch == 0 && options.shapes.empty() && options.dimensions.empty() && !sizes.shapes.empty())
        naming(options.model, [&] { model::set_sizes(g, sizes); });
}

void require_sizes(const model::graph &g, const network_file_options &options) {
    for (const int t : g.inputs) {
        const model::tensor &input = g.tensors[static_cast<std::size_t>(t)];
        if (!input.dims.empty() && input.dims[0] < 0)
            naming(options.model, [&] { network(g).resize({}); }); // says why it is not 1
        for (std::size_t d = 0; d < input.dims.size(); d++)
            if (input.dims[d] < 0)
                refuse(options.model + ": input '" + input.name + "' has an open size" +
                       (d < input.dim_names.size() ? " '" + input.dim_names[d] + "'" : "") +
                       ": --shape or --dimension sets it");
    }
}

std::string arithmetic_of(const network &net) {
    const network_options &options = net.options();
    return (options.profile.empty() ? std::string("rule ") + to_string(options.rule)
                                    : "profile " + options.profile) +
           (net.get_graph().framework != "onnx" ? ""
            : options.rows_alike                ? ", rows alike"
                                                : ", single rows as in ONNX Runtime");
}

network_options arithmetic_of(const network_file_options &options) {
    network_options how{requantization_rule_from_string(options.rule.c_str()), !options.no_fusion};
    how.profile = options.profile;
    how.rows_alike = options.rows_alike;
    return how;
}

network make_network(model::graph g, const network_file_options &options) {
    require_sizes(g, options);
    const progress_line progress;
    network_options how = arithmetic_of(options);
    how.progress = [&](double done, const std::string &next) {
        progress.show(std::to_string(static_cast<int>(done * 100)) + " % " + next);
    };
    return naming(options.model, [&] { return network(std::move(g), how); });
}

} // namespace octet::tools
