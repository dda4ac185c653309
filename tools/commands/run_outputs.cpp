// Both directions between the outputs of a network and files.
// SPDX-License-Identifier: Apache-2.0
#include "commands/run_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/print.hpp"
#include "base/tensor_text.hpp"
#include "files/npy.hpp"
#include "files/npz.hpp"
#include "storage/replacement.hpp"

namespace octet::tools {
namespace {

namespace fs = std::filesystem;

const model::tensor &tensor_of(const model::graph &g, std::size_t output) {
    return g.tensors[static_cast<std::size_t>(g.outputs[output])];
}

std::string numbered(std::size_t output) { return "output_" + std::to_string(output); }

[[noreturn]] void refuse(const std::string &complaint) { throw error(status::invalid_arguments, complaint); }

// ---- What to compare with

target target_of(const model::graph &g, std::size_t output) {
    return {tensor_of(g, output), g.framework, "output " + tensor_text(g, g.outputs[output])};
}

/// The elements of an output in its own type, whatever integers the file has.
std::vector<std::uint8_t> bytes_for(const array &a, const model::graph &g, std::size_t output,
                                    const std::string &source) {
    const target to = target_of(g, output);
    const tensor_values values = values_for(a, to, source);
    if (!values.reals.empty())
        refuse(source + ": holds " + a.text() + ", but " + to.text + " gives codes");
    return values.bytes;
}

std::vector<std::uint8_t> read_output(const std::string &path, const model::graph &g, std::size_t output) {
    if (fs::path(path).extension() == ".npy")
        return bytes_for(parse_npy(read_file(path), path), g, output, path);
    const model::tensor &t = tensor_of(g, output);
    const std::size_t expected =
        static_cast<std::size_t>(model::element_count(t.dims)) * memory::data_type_size(t.type);
    return read_file_of_size(path, expected, "output " + tensor_text(g, g.outputs[output]) + " gives");
}

/// By the output's name, or by its number as this command writes archives.
std::vector<std::uint8_t> read_output(const std::vector<std::uint8_t> &archive, const named_arrays &described,
                                      const std::string &path, const model::graph &g, std::size_t output) {
    const std::string name = output_names(g)[output];
    std::vector<std::string> present;
    for (std::size_t i = 0; i < described.size(); i++) {
        const auto &[key, a] = described[i];
        if (key == name || key == numbered(output) || described.size() * g.outputs.size() == 1) {
            const std::string source = path + ", array '" + key + "'";
            check_fits(a, target_of(g, output), source);
            return bytes_for(unpacked(archive, i, path), g, output, source);
        }
        present.push_back("'" + key + "'");
    }
    refuse(path + ": has no array '" + name + "', but " + list_text(present));
}

std::string file_in(const std::string &directory, const model::graph &g, std::size_t output) {
    std::error_code ignored;
    for (const std::string &stem : {numbered(output), output_names(g)[output]})
        for (const char *ending : {".npy", ".bin"})
            if (const fs::path path = fs::path(directory) / (stem + ending); fs::exists(path, ignored))
                return path.string();
    refuse(directory + ": has neither " + numbered(output) + ".npy nor " + numbered(output) + ".bin");
}

// ---- Comparing

template <typename T> T element(const void *bytes, std::size_t index) {
    T value;
    std::memcpy(&value, static_cast<const char *>(bytes) + index * sizeof(T), sizeof(T));
    return value;
}

bool are_equal(float ours, float theirs, float tolerance) {
    if (std::memcmp(&ours, &theirs, sizeof ours) == 0)
        return true;
    if (tolerance == 0)
        return false;
    if (std::isnan(ours) || std::isnan(theirs))
        return std::isnan(ours) && std::isnan(theirs);
    return ours == theirs || std::fabs(ours - theirs) <= tolerance * std::max(1.f, std::fabs(theirs));
}
bool are_equal(std::int32_t ours, std::int32_t theirs, float) { return ours == theirs; }

template <typename T>
difference compare_as(const void *ours, const void *theirs, std::size_t count, float tolerance) {
    difference d;
    d.elements = count;
    d.is_exact = std::is_integral_v<T>;
    for (std::size_t i = 0; i < count; i++) {
        const T a = element<T>(ours, i), b = element<T>(theirs, i);
        const auto x = static_cast<double>(a), y = static_cast<double>(b);
        if (const double distance = std::fabs(x - y); distance > 0) {
            d.absolute = std::max(d.absolute, distance);
            if (y != 0)
                d.relative = std::max(d.relative, distance / std::fabs(y));
        }
        if (are_equal(a, b, tolerance) || d.different++ > 0)
            continue;
        d.first = i;
        d.ours = x;
        d.theirs = y;
    }
    return d;
}

} // namespace

array array_of(const tensor_view &output) {
    const auto *bytes = static_cast<const std::uint8_t *>(output.data());
    return {element_type_of(output.data_type()), output.dims(), {bytes, bytes + output.size_in_bytes()}};
}

std::vector<std::string> output_names(const model::graph &g) {
    std::vector<std::string> names;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < g.outputs.size(); i++) {
        const std::string &name = tensor_of(g, i).name;
        names.push_back(name.empty() || !seen.insert(name).second ? numbered(i) : name);
    }
    return names;
}

output_files::output_files(const model::graph &g, const std::string &directory, const std::string &format)
    : format_(format), names_(output_names(g)) {
    make_directory(directory);
    const auto add = [&](const std::string &name) {
        paths_.push_back((fs::path(directory) / name).string());
        storage::require_replaceable(paths_.back());
    };
    if (format == "npz")
        add("outputs.npz");
    else
        for (std::size_t i = 0; i < names_.size(); i++)
            add(numbered(i) + (format == "npy" ? ".npy" : ".bin"));
}

void output_files::write(const network &net) {
    named_arrays arrays;
    for (std::size_t i = 0; i < names_.size(); i++)
        arrays.emplace_back(names_[i], array_of(net.output(i)));
    const auto write = [&](std::size_t i, const auto &bytes) {
        storage::replace_file(paths_[i], bytes.data(), bytes.size());
    };
    if (format_ == "npz")
        return write(0, npz_text(arrays));
    for (std::size_t i = 0; i < paths_.size(); i++)
        if (format_ == "npy")
            write(i, npy_text(arrays[i].second));
        else
            write(i, arrays[i].second.bytes);
}

expected_outputs::expected_outputs(const model::graph &g, const std::string &path) {
    std::error_code ignored;
    const bool is_directory = fs::is_directory(path, ignored),
               is_archive = fs::path(path).extension() == ".npz";
    if (!is_directory && !is_archive && g.outputs.size() != 1)
        refuse("--against: " + path + " is one file, but the outputs are " +
               std::to_string(g.outputs.size()) + "; allowed: an .npz file, a directory");
    std::vector<std::uint8_t> archive;
    named_arrays described;
    if (is_archive && !is_directory) {
        archive = read_file(path);
        described = described_npz(archive, path);
    }
    for (std::size_t i = 0; i < g.outputs.size(); i++)
        bytes_.push_back(is_directory ? read_output(file_in(path, g, i), g, i)
                         : is_archive ? read_output(archive, described, path, g, i)
                                      : read_output(path, g, i));
}

difference expected_outputs::compare(const network &net, std::size_t output, float tolerance) const {
    const tensor_view got = net.output(output);
    const void *theirs = bytes_[output].data();
    const std::size_t count = got.element_count();
    switch (got.data_type()) {
    case data_type::f32:
        return compare_as<float>(got.data(), theirs, count, tolerance);
    case data_type::s32:
        return compare_as<std::int32_t>(got.data(), theirs, count, 0);
    case data_type::s16:
        return compare_as<std::int16_t>(got.data(), theirs, count, 0);
    case data_type::s8:
        return compare_as<std::int8_t>(got.data(), theirs, count, 0);
    default:
        return compare_as<std::uint8_t>(got.data(), theirs, count, 0);
    }
}

std::string to_text(const difference &d, const memory::dims &dims) {
    const auto number = [&](double value) {
        char text[40];
        std::snprintf(text, sizeof text, d.is_exact ? "%.0f" : "%.9g", value); // 9 digits tell floats apart
        return std::string(text);
    };
    const std::string largest =
        "largest difference " + number(d.absolute) + (d.is_exact ? "" : ", relative " + number(d.relative));
    if (d.different == 0)
        return "equal (" + std::to_string(d.elements) + " elements" + (d.absolute > 0 ? "; " + largest : "") +
               ")";
    return std::to_string(d.different) + " of " + std::to_string(d.elements) +
           " elements differ, the first at [" + std::to_string(d.first) + "] " +
           coordinates_text(d.first, dims) + ": " + number(d.ours) + " instead of " + number(d.theirs) +
           "; " + largest;
}

json to_json(const difference &d) {
    return {{"elements", d.elements},
            {"different", d.different},
            {"first",
             d.different == 0 ? json() : json{{"index", d.first}, {"ours", d.ours}, {"theirs", d.theirs}}},
            {"largest_absolute", d.absolute},
            {"largest_relative", d.relative}};
}

} // namespace octet::tools
