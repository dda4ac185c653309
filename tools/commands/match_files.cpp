// Arrays of unknown devices in .npy files, one per input.
// SPDX-License-Identifier: Apache-2.0
#include "commands/match_files.hpp"

#include "base/files.hpp"
#include "files/npy.hpp"
#include "octet/error.hpp"
#include "octet/graph.hpp"
#include "storage/replacement.hpp"

namespace octet::tools {
namespace {

/// Names of tensors come from files: what is no letter, digit, dot or dash becomes a line.
std::string path_of(const std::string &directory, const std::string &name) {
    std::string file = name;
    for (char &c : file)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
              c == '_'))
            c = '_';
    return directory + '/' + (file.empty() ? "x" : file) + ".npy";
}

data_type type_of(const element_type &type, const std::string &path) {
    for (const data_type t : {data_type::s8, data_type::u8, data_type::s16, data_type::s32, data_type::f32})
        if (element_type_of(t) == type)
            return t;
    throw error(status::invalid_arguments,
                path + ": holds " + type.text() + ", allowed: int8, uint8, int16, int32, float32");
}

bool has_row(const match::values &v, const match::values &expected) {
    return v.dims.size() == expected.dims.size() &&
           (expected.is_shared ? v.dims == expected.dims
                               : std::equal(v.dims.begin() + 1, v.dims.end(), expected.dims.begin() + 1));
}

} // namespace

match::values read_values(const std::string &path) {
    const array a = parse_npy(read_file(path), path);
    return {path, type_of(a.type, path), a.dims, a.bytes, false};
}

std::vector<std::string> write_inputs(const match::inputs &all, const std::string &directory) {
    std::vector<std::string> paths;
    for (const match::values &v : all) {
        paths.push_back(path_of(directory, v.name));
        storage::require_replaceable(paths.back());
    }
    for (std::size_t i = 0; i < all.size(); i++) {
        const std::string text = npy_text({element_type_of(all[i].type), all[i].dims, all[i].bytes});
        storage::replace_file(paths[i], text.data(), text.size());
    }
    return paths;
}

match::inputs read_inputs(const match::subject &s, const std::string &directory) {
    match::inputs all;
    for (const match::values &expected : s.pool) {
        const std::string path = path_of(directory, expected.name);
        match::values v = read_values(path);
        v.name = expected.name;
        v.is_shared = expected.is_shared;
        if (v.type != expected.type || v.dims.empty() || !has_row(v, expected) ||
            (!v.is_shared && !all.empty() && !all[0].is_shared && v.dims[0] != all[0].dims[0])) {
            memory::dims dims = expected.dims;
            throw error(status::invalid_arguments,
                        path + ": holds " + model::to_text(v.type) + ' ' + model::to_text(v.dims) +
                            ", allowed: " + model::to_text(expected.type) + ' ' + model::to_text(dims) +
                            (v.is_shared ? "" : " or another first dimension, the same for all inputs"));
        }
        all.push_back(std::move(v));
    }
    return all;
}

} // namespace octet::tools
