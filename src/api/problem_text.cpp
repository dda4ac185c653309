// Problems as text, and back: operation, tensors, the operation's parameters, attributes
// (attributes/text.cpp). What differs between operations stands in their descriptions (operation.hpp). Commas
// do not occur, so that the whole is one field of a verbose line.
// SPDX-License-Identifier: Apache-2.0
#include "octet/problem.hpp"

#include <algorithm>

#include "api/attributes/text.hpp"
#include "api/operation.hpp"
#include "api/primitive_desc.hpp"
#include "api/tensors/format_tag.hpp"
#include "api/tensors/tensor_from_text.hpp"
#include "common/names.hpp"
#include "common/tokens.hpp"
#include "octet/problem_parts.hpp"

namespace octet {

namespace impl {

namespace {

/// How users spell the layout of a tensor in this place.
spelling spelling_of(const described_operation &row, const primitive_description &data, int arg,
                     const memory_desc &md) {
    const bool has_channels = row.roles == tensor_roles::channels;
    if (row.roles == tensor_roles::letters)
        return spelling::letters;
    if (arg == OCTET_ARG_WEIGHTS && has_channels)
        return md.ndims > data.args.at(OCTET_ARG_SRC).data.ndims ? spelling::grouped_weights
                                                                 : spelling::weights;
    return has_channels || md.ndims >= 3 || arg == OCTET_ARG_BIAS ? spelling::activations : spelling::letters;
}

} // namespace

std::string problem_text(const primitive_description &data) {
    const described_operation &row = operation_named(data.operation);
    std::string s = data.operation;
    const auto add_tensor = [&](int arg) {
        const auto found = data.args.find(arg);
        if (found == data.args.end())
            return;
        const bool is_other = arg == OCTET_ARG_DST && !data.described_dst.is_zero();
        const memory_desc &md = (is_other ? data.described_dst : found->second).data;
        s += text(" ", argument_name(arg), ":", tensor_text(md, spelling_of(row, data, arg, md)));
    };
    add_tensor(OCTET_ARG_SRC);
    add_tensor(OCTET_ARG_SRC_1);
    add_tensor(OCTET_ARG_SRC_2);
    for (int arg = OCTET_ARG_MULTIPLE_SRC; data.args.count(arg); arg++)
        add_tensor(arg);
    if (!row.has(flags_tell_operands))
        add_tensor(OCTET_ARG_WEIGHTS);
    for (const int arg : {OCTET_ARG_WEIGHTS_1, OCTET_ARG_WEIGHTS_2, OCTET_ARG_WEIGHTS_3, OCTET_ARG_BIAS,
                          OCTET_ARG_DST, OCTET_ARG_DST_1, OCTET_ARG_DST_2})
        add_tensor(arg);
    for (const std::string &part : {data.parameters, attribute_text(data.attr)})
        s += part.empty() ? "" : " " + part;
    return s;
}

// ---- tensors and parameters from a text

memory::desc described_tensor(const problem_tokens &tokens, const operation_facts &facts, int arg) {
    if (arg == OCTET_ARG_MEAN) // flags tell of statistics
        return {};
    const auto found = tokens.tensors.find(arg);
    if (found != tokens.tensors.end())
        return found->second;
    const bool is_required = (facts.traits & has_optional_states) != 0
                                 ? arg == OCTET_ARG_SRC || arg == OCTET_ARG_WEIGHTS ||
                                       arg == OCTET_ARG_WEIGHTS_1 || arg == OCTET_ARG_DST
                                 : arg != OCTET_ARG_BIAS;
    if (is_required)
        throw_invalid("problem: ", facts.name, " needs ", argument_name(arg), ":type:dims:layout");
    return {};
}

std::size_t described_sources(const problem_tokens &tokens) {
    int n = 0;
    while (tokens.tensors.count(OCTET_ARG_MULTIPLE_SRC + n))
        n++;
    return static_cast<std::size_t>(n);
}

namespace {

template <typename Enum> void read_name(const char *name, const std::string &given, Enum &value) {
    if (!from_name(given, value))
        throw_invalid("problem: ", name, " '", given, "' does not exist");
}

} // namespace

void read_parameter(const char *, const std::string &given, float &value) { value = number_of<float>(given); }
void read_parameter(const char *, const std::string &given, int &value) { value = number_of<int>(given); }
void read_parameter(const char *, const std::string &given, dim_t &value) { value = number_of<dim_t>(given); }
void read_parameter(const char *name, const std::string &given, algorithm &value) {
    read_name(name, given, value);
}
void read_parameter(const char *name, const std::string &given, resampling_coordinates &value) {
    read_name(name, given, value);
}
void read_parameter(const char *name, const std::string &given, rnn_direction &value) {
    read_name(name, given, value);
}

/// Training gives statistics.
void read_parameter(const char *name, const std::string &given, prop_kind &value) {
    if (given != "forward_inference" && given != "forward_training")
        throw_invalid("problem: ", name, " '", given, "', allowed: forward_inference, forward_training");
    read_name(name, given, value);
}

/// The set of names.
void read_parameter(const char *name, const std::string &given, normalization_flags &value) {
    using flags = normalization_flags;
    constexpr flags every_flag[] = {flags::use_global_stats, flags::use_scale_shift, flags::fuse_norm_relu,
                                    flags::use_scale, flags::use_shift};
    value = flags::none;
    for (const std::string &word : split(given, '+')) {
        const flags before = value;
        for (const flags flag : every_flag)
            if (to_string(flag) == word)
                value = value | flag;
        if (value == before && word != "none")
            throw_invalid("problem: ", name, " '", given, "', allowed: none or names joined by +: ",
                          to_string(flags::use_global_stats | flags::use_scale_shift | flags::fuse_norm_relu |
                                    flags::use_scale | flags::use_shift));
    }
}

const std::string *parameter_reader::find(const char *name) const {
    const auto found = tokens_.parameters.find(name);
    return found == tokens_.parameters.end() ? nullptr : &found->second;
}

memory::dims parameter_reader::padding_left_by(const sliding_windows &w) {
    memory::dims padding;
    for (std::size_t i = 0;
         i < w.kernel.size() && i < w.strides.size() && i < w.dilates.size() && i < w.padding_l.size(); i++) {
        const std::size_t d = i + 2;
        if (d >= static_cast<std::size_t>(std::min(w.image.get_ndims(), w.positions.get_ndims())))
            break;
        __extension__ using wide = __int128; // numbers of a text may be anything
        const wide covered = (wide{w.kernel[i]} - 1) * (wide{w.dilates[i]} + 1) + 1;
        const wide needed = (wide{w.positions.data.dims[d]} - 1) * w.strides[i] + covered -
                            w.image.data.dims[d] - w.padding_l[i];
        constexpr wide limit = wide{1} << 40; // the operation refuses less
        padding.push_back(static_cast<dim_t>(std::clamp<wide>(needed, -limit, limit)));
    }
    return padding;
}

// ---- the whole

namespace {

bool has_parameter(const described_operation &row, const std::string &name) {
    return std::find(row.parameters.begin(), row.parameters.end(), name) != row.parameters.end();
}

/// The problem's field of a line of verbose mode, or the text itself.
std::string problem_of(const std::string &given) {
    constexpr std::size_t field = 4; // octet_verbose,event,engine,implementation,problem
    const std::vector<std::string> fields = split(given, ',');
    return fields[0] == "octet_verbose" && fields.size() > field ? fields[field] : given;
}

primitive_desc_ptr read_problem(const std::string &problem, const engine &e, bool allow_empty) {
    std::vector<std::string> words = split(problem_of(problem), ' ');
    words.erase(std::remove(words.begin(), words.end(), ""), words.end());
    if (words.empty())
        throw_invalid("problem: the text is empty, allowed: operation src:type:dims:layout …");
    const described_operation &row = operation_named(words[0]);
    std::map<int, memory::desc> tensors;
    std::map<std::string, std::string> parameters;
    std::vector<std::string> attributes;
    for (std::size_t i = 1; i < words.size(); i++) {
        const std::size_t colon = words[i].find(':');
        const std::string key = words[i].substr(0, colon);
        const std::string value = colon == std::string::npos ? "" : words[i].substr(colon + 1);
        const bool is_tensor = key.rfind("src", 0) == 0 || key.rfind("weights", 0) == 0 || key == "bias" ||
                               key.rfind("dst", 0) == 0;
        if (is_tensor) {
            tensors[argument_of(key, row.has(has_numbered_sources))] = tensor_from_text(value);
        } else if (has_parameter(row, key)) {
            parameters[key] = value;
        } else {
            attributes.push_back(words[i]);
        }
    }
    const primitive_attr attr = attributes_from_text(attributes, row.has(has_numbered_sources), tensors);
    return row.read({tensors, parameters}, {row.name, attr, e, allow_empty});
}

/// Reads like the primitive descriptor of any operation.
struct read_primitive_desc : primitive_desc {
    explicit read_primitive_desc(primitive_desc_ptr data) : primitive_desc(std::move(data)) {}
};

} // namespace
} // namespace impl

inline namespace v0 {

primitive_desc primitive_desc_from_string(const std::string &problem, const engine &e, bool allow_empty) {
    return impl::read_primitive_desc(impl::read_problem(problem, e, allow_empty));
}

primitive_desc primitive_desc_from_parts(const std::string &operation,
                                         const std::map<int, memory::desc> &tensors,
                                         const std::map<std::string, std::string> &parameters,
                                         const primitive_attr &attr, const engine &e, bool allow_empty) {
    const impl::described_operation &row = impl::operation_named(operation);
    for (const auto &[name, value] : parameters)
        if (!impl::has_parameter(row, name)) {
            std::string allowed;
            for (const std::string &known : row.parameters)
                allowed += (allowed.empty() ? "" : ", ") + known;
            impl::throw_invalid(operation, ": parameter '", name,
                                "', allowed: ", allowed.empty() ? "none" : allowed);
        }
    return impl::read_primitive_desc(row.read({tensors, parameters}, {row.name, attr, e, allow_empty}));
}

} // namespace v0
} // namespace octet
