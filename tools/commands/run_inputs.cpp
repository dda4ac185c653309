// From the words behind --input to the bytes of every input.
// SPDX-License-Identifier: Apache-2.0
#include "commands/run_inputs.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include <CLI/CLI.hpp>

#include "base/files.hpp"
#include "base/options.hpp"
#include "base/print.hpp"
#include "base/tensor_text.hpp"
#include "files/npy.hpp"
#include "files/npz.hpp"

namespace octet::tools {
namespace {

[[noreturn]] void refuse(const std::string &complaint) { throw error(status::invalid_arguments, complaint); }

const model::tensor &tensor_of(const model::graph &g, std::size_t input) {
    return g.tensors[static_cast<std::size_t>(g.inputs[input])];
}

target target_of(const model::graph &g, std::size_t input) {
    return {tensor_of(g, input), g.framework, "input " + tensor_text(g, g.inputs[input])};
}

std::string input_names(const model::graph &g) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < g.inputs.size(); i++)
        names.push_back("'" + tensor_of(g, i).name + "'");
    return list_text(names);
}

/// The number of an input, or that there is none.
std::optional<std::size_t> find_input(const model::graph &g, const std::string &name) {
    for (std::size_t i = 0; i < g.inputs.size(); i++)
        if (tensor_of(g, i).name == name)
            return i;
    return {};
}

/// "NAME=FILE"; the name of an input, or empty. A file whose own name has a '=' is meant where it exists.
std::pair<std::string, std::string> split(const model::graph &g, const std::string &word) {
    const std::size_t sign = word.find('=');
    std::error_code ignored;
    if (sign == std::string::npos)
        return {"", word};
    if (const std::string name = word.substr(0, sign); find_input(g, name))
        return {name, word.substr(sign + 1)};
    if (std::filesystem::exists(word, ignored))
        return {"", word};
    refuse("--input: '" + word.substr(0, sign) + "' names no input, they are " + input_names(g));
}

std::string ending_of(const std::string &path) {
    std::string ending = std::filesystem::path(path).extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return ending;
}

bool is_image(const std::string &path) {
    const std::string ending = ending_of(path);
    return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

std::size_t byte_count(const model::tensor &t) {
    return static_cast<std::size_t>(model::element_count(t.dims)) * memory::data_type_size(t.type);
}

/// The array of an archive that a tensor gets by its own name: the one called so, or the only one.
std::size_t array_for(const named_arrays &arrays, const std::string &name, const std::string &path) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < arrays.size(); i++) {
        if (arrays[i].first == name || arrays.size() == 1)
            return i;
        names.push_back("'" + arrays[i].first + "'");
    }
    refuse(path + ": has no array '" + name + "', but " + list_text(names));
}

/// An array of an archive, which is unpacked only if it fits.
tensor_values unpacked_values(const std::vector<std::uint8_t> &archive, std::size_t index,
                              const array &described, const target &to, const std::string &path,
                              const std::string &source) {
    check_fits(described, to, source);
    return values_for(unpacked(archive, index, path), to, source);
}

/// A file that is for one input, by the ending of its name; raw bytes where that is not known.
tensor_values read_values(const std::string &path, const target &to, const pixel_options &pixels) {
    const std::string ending = ending_of(path);
    if (ending != ".npy" && ending != ".npz" && !is_image(path))
        return {read_file_of_size(path, byte_count(to.tensor), to.text + " takes"), {}};
    const std::vector<std::uint8_t> bytes = read_file(path);
    if (ending == ".npy")
        return values_for(parse_npy(bytes, path), to, path);
    if (ending == ".npz") {
        const named_arrays arrays = described_npz(bytes, path);
        const std::size_t index = array_for(arrays, to.tensor.name, path);
        return unpacked_values(bytes, index, arrays[index].second, to, path, path);
    }
    return values_for(ending == ".png" ? parse_png(bytes, path) : parse_jpeg(bytes, path), to, pixels, path);
}

/// Codes over their whole range, f32 in [-1, 1), s32 0 or 1, which is right for ids and masks: the same bytes in every
/// process.
std::vector<std::uint8_t> pseudo_random(const model::tensor &t) {
    std::mt19937 random(1); // its sequence is the same everywhere
    std::vector<std::uint8_t> bytes(byte_count(t));
    const auto fill = [&](auto next) {
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(next())) {
            const auto value = next();
            std::memcpy(&bytes[at], &value, sizeof value);
        }
    };
    if (t.type == data_type::f32)
        fill([&] { return static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.f; });
    else if (t.type == data_type::s32)
        fill([&] { return static_cast<std::int32_t>(random() >> 31); });
    else
        fill([&] { return static_cast<std::uint8_t>(random() >> 24); });
    return bytes;
}

/// Options that describe images need one.
void check_pixel_options(const input_options &options) {
    const pixel_options &p = options.pixels;
    const char *given = p.resize ? "--resize" : p.scale ? "--scale" : !p.mean.empty() ? "--mean" : "--std";
    const bool is_any = p.resize || p.are_reals();
    if (is_any && std::none_of(options.files.begin(), options.files.end(), is_image))
        refuse(std::string(given) + ": no image (.png, .jpg, .jpeg) is among the files of --input");
}

/// Numbers between commas, for CLI::Option::check: `--mean 0.485,0.456,0.406`.
CLI::Validator finite_number(bool may_be_zero) {
    return CLI::Validator(
        [=](const std::string &text) {
            char *end = nullptr;
            const float value = std::strtof(text.c_str(), &end);
            const bool is_number = !text.empty() && *end == '\0' && std::isfinite(value);
            return is_number && (may_be_zero || value != 0)
                       ? std::string()
                       : "'" + text + "' given, allowed: a number" + (may_be_zero ? "" : " that is not 0");
        },
        "");
}

} // namespace

void add_input_options(CLI::App &command, input_options &options) {
    command
        .add_option(
            "--input", options.files,
            "A file per input, in their order or with their names: .npy, .npz (each array for the input "
            "of its name), .png, .jpg, or raw bytes (little-endian, row-major); without it numbers are "
            "made up. Sizes that the network leaves open are those of the arrays")
        ->type_name("[NAME=]FILE");
    pixel_options &pixels = options.pixels;
    command.add_flag("--resize", pixels.resize,
                     "Images of another size are stretched to the tensor's (linear)");
    command
        .add_option(
            "--scale", pixels.scale,
            "Pixels of images become (pixel * scale - mean) / std; by default 1/255 where the tensor takes "
            "floats, and codes are the pixels themselves (s8: pixel - 128)")
        ->type_name("NUMBER")
        ->check(finite_number(false));
    command.add_option("--mean", pixels.mean, "Of images, one number or one per channel: 0.485,0.456,0.406")
        ->type_name("LIST")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(finite_number(true));
    command.add_option("--std", pixels.std, "Of images, as --mean")
        ->type_name("LIST")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(finite_number(false));
}

network_sizes sizes_of_arrays(const model::graph &g, const input_options &options) {
    network_sizes sizes;
    const auto take = [&](const model::tensor &input, const memory::dims &dims) {
        if (!input.dim_names.empty() && dims.size() == input.dims.size())
            sizes.shapes[input.name] = dims;
    };
    std::vector<bool> has_file(g.inputs.size());
    std::vector<std::string> unnamed;
    for (const std::string &word : options.files) {
        const auto [name, file] = split(g, word);
        const auto input = find_input(g, name);
        if (!name.empty() && input)
            has_file[*input] = true;
        if (ending_of(file) == ".npz") {
            for (const auto &[key, a] : described_npz(read_file(file), file))
                if (const auto found = name.empty() ? find_input(g, key) : input) {
                    take(tensor_of(g, *found), a.dims);
                    has_file[*found] = true;
                }
        } else if (name.empty()) {
            unnamed.push_back(file);
        } else if (ending_of(file) == ".npy") {
            take(tensor_of(g, *input), parse_npy(read_file(file), file).dims);
        }
    }
    auto next = unnamed.begin();
    for (std::size_t i = 0; i < g.inputs.size() && next != unnamed.end(); i++)
        if (!has_file[i]) {
            if (ending_of(*next) == ".npy")
                take(tensor_of(g, i), parse_npy(read_file(*next), *next).dims);
            ++next;
        }
    return sizes;
}

run_inputs::run_inputs(const model::graph &g, const std::string &path, const input_options &options)
    : is_made_up_(options.files.empty()), values_(g.inputs.size()), sources_(g.inputs.size()) {
    check_pixel_options(options);
    if (!is_made_up_)
        read(g, path, options);
    else
        for (std::size_t i = 0; i < g.inputs.size(); i++)
            values_[i].bytes = pseudo_random(tensor_of(g, i));
}

void run_inputs::read(const model::graph &g, const std::string &path, const input_options &options) {
    std::vector<std::string> unnamed;
    for (const std::string &word : options.files) {
        const auto [name, file] = split(g, word);
        if (!name.empty()) {
            const std::size_t input = *find_input(g, name);
            set(g, input, file, read_values(file, target_of(g, input), options.pixels));
        } else if (ending_of(file) == ".npz") {
            const std::vector<std::uint8_t> archive = read_file(file);
            const named_arrays arrays = described_npz(archive, file);
            for (std::size_t i = 0; i < arrays.size(); i++) {
                const auto &[key, described] = arrays[i];
                const std::optional<std::size_t> input = find_input(g, key);
                if (!input)
                    refuse(file + ": array '" + key + "' is for no input, they are " + input_names(g));
                const std::string source = file + ", array '" + key + "'";
                set(g, *input, source,
                    unpacked_values(archive, i, described, target_of(g, *input), file, source));
            }
        } else {
            unnamed.push_back(file);
        }
    }
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < sources_.size(); i++)
        if (sources_[i].empty())
            open.push_back(i);
    if (open.size() != unnamed.size())
        refuse("--input: " + std::to_string(unnamed.size()) + " files given, the inputs of " + path +
               (open.size() == sources_.size() ? "" : " that have none yet") + " are " +
               std::to_string(open.size()));
    for (std::size_t i = 0; i < open.size(); i++)
        set(g, open[i], unnamed[i], read_values(unnamed[i], target_of(g, open[i]), options.pixels));
}

void run_inputs::set(const model::graph &g, std::size_t input, const std::string &source,
                     tensor_values values) {
    if (!sources_[input].empty())
        refuse("--input: " + sources_[input] + " and " + source + " are both for input " +
               tensor_text(g, g.inputs[input]));
    sources_[input] = source;
    values_[input] = std::move(values);
}

void run_inputs::write_to(const network &net) const {
    for (std::size_t i = 0; i < values_.size(); i++)
        if (values_[i].reals.empty())
            net.input(i).copy_bytes_from(values_[i].bytes.data(), values_[i].bytes.size());
        else
            net.input(i).copy_from(values_[i].reals);
}

} // namespace octet::tools
