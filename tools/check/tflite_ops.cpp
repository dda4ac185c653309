// Operator vectors of TensorFlow Lite: each case becomes a network of one node.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "check/check.hpp"
#include "check/tflite_derivations.hpp"
#include "octet/profile.hpp"

namespace octet::vectors {
namespace {

/// Inputs that a model holds as constants, by position; the others are activations.
bool is_constant_input(const std::string &op, std::size_t position) {
    static const std::map<std::string, std::vector<std::size_t>> constants = {
        {"CONV_2D", {1, 2}},
        {"DEPTHWISE_CONV_2D", {1, 2}},
        {"FULLY_CONNECTED", {1, 2}},
        {"MEAN", {1}},
        {"PAD", {1}},
        {"PADV2", {1, 2}},
        {"RESIZE_BILINEAR", {1}},
        {"REDUCE_MAX", {1}},
        {"REDUCE_MIN", {1}},
        {"RESIZE_NEAREST_NEIGHBOR", {1}},
        {"SUM", {1}},
        {"TRANSPOSE", {1}},
        {"TRANSPOSE_CONV", {0, 1, 3}},
    };
    const auto found = constants.find(op);
    if (found == constants.end())
        return false;
    return std::find(found->second.begin(), found->second.end(), position) != found->second.end();
}

/// The parameters that are options of the operator. The others are what the framework derived.
std::map<std::string, model::attribute> read_attributes(const json_value &params) {
    std::map<std::string, model::attribute> attributes;
    for (const char *name : {"padding", "activation"})
        if (params.has(name))
            attributes[name] = params[name].text();
    for (const char *name : {"beta", "alpha"})
        if (params.has(name))
            attributes[name] = params[name].f32();
    for (const char *name : {"keep_dims", "adj_x", "adj_y", "align_corners", "half_pixel_centers"})
        if (params.has(name))
            attributes[name] = std::int64_t{params[name].boolean()};
    for (const char *name : {"stride_h", "stride_w", "dilation_h", "dilation_w", "filter_h", "filter_w",
                             "groups", "depth_multiplier", "axis"})
        if (params.has(name) && !params[name].is_array())
            attributes[name] = params[name].as<std::int64_t>();
    return attributes;
}

/// Other builds that a case may have results of, and under which profile they are right.
constexpr struct {
    const char *build, *profile;
} builds[] = {
    {"contraction_off", "litert-2026.08-arm64-gcc"},
    {"gcc", "litert-2026.08-arm64-gcc"},
    {"rndnu16", "litert-2026.08-arm64-a53"},
};

/// Returns the case's outputs under a profile: the result of the profile's build if the case has one, else
/// the common one.
std::vector<tensor_record> outputs_under(const std::string &profile, const operator_record &r) {
    const std::string name = find_profile(profile).name;
    for (const auto &[build, result] : r.variants)
        for (const auto &known : builds)
            if (build == known.build && name == known.profile)
                return {result};
    return r.outputs;
}

/// Returns the outputs that a case holds, each with the profile that gives them. A case of LiteRT's default
/// runtime names the kernel that made it, and may have a second output if AArch64 gives other codes; that
/// output is of a build without contraction.
std::vector<operator_case::expectation> expectations_of(const json_value &c, const operator_record &r,
                                                        const options &opt) {
    if (!c.has("path"))
        return {{opt.profile, r.outputs}};
    const auto without_delegate = [&](std::string profile) { // a substitute stays
        return profile.insert(std::min(profile.find('+'), profile.size()), "-builtin");
    };
    const std::string path = c["path"].text(),
                      profile = opt.profile.empty() ? "litert-2026.08-x86" : opt.profile;
    if (path != "xnnpack" && path != "builtin")
        c["path"].fail("is '" + path + "', known: xnnpack, builtin");
    if (path == "builtin")
        return {{without_delegate(profile), outputs_under(profile, r)}};
    const std::vector<tensor_record> on_x86{r.outputs.begin(), r.outputs.begin() + 1},
        on_arm{r.outputs.end() - 1, r.outputs.end()};
    if (opt.profile.empty())
        return {{profile, on_x86}, {"litert-2026.08-arm64-gcc", on_arm}};
    if (r.outputs.size() > 1)
        return {{profile, find_profile(profile).name.find("-arm64") != std::string::npos ? on_arm : on_x86}};
    return {{profile, outputs_under(profile, r)}};
}

operator_record read_record(const json_value &c, const std::vector<std::uint8_t> &blob) {
    operator_record r{c["op"].text(), c["params"], {}, {}, {}};
    for (const json_value &input : c["inputs"].items())
        r.inputs.push_back(read_tensor(input, blob));
    for (const json_value &output : c["outputs"].items())
        r.outputs.push_back(read_tensor(output, blob));
    if (c.has("variants"))
        for (const json_value &result : c["variants"].items()) {
            const std::string build = result["build"].text();
            if (std::none_of(std::begin(builds), std::end(builds),
                             [&](const auto &b) { return build == b.build; }))
                result["build"].fail("is '" + build + "', known: contraction_off, gcc, rndnu16");
            r.variants.emplace_back(build, read_tensor(result, blob));
        }
    return r;
}

operator_case make_case(const operator_record &r, const std::string &name,
                        std::vector<operator_case::expectation> expected) {
    operator_case c{r.op, name, {}, {}, std::move(expected)};
    c.graph.framework = "tflite";
    model::node node{r.op, {}, {}, read_attributes(r.params)};
    for (std::size_t i = 0; i < r.inputs.size(); i++)
        node.inputs.push_back(c.add_input(r.inputs[i], is_constant_input(r.op, i)));
    for (const tensor_record &output : c.expected.at(0).outputs)
        node.outputs.push_back(c.add(as_model_tensor(output, false)));
    c.graph.outputs = node.outputs;
    c.graph.nodes.push_back(std::move(node));
    return c;
}

void replay_case(const json_value &c, const operator_record &r, const std::string &name, const options &opt,
                 report &results) {
    std::string complaint;
    try {
        complaint =
            c.has("path") ? litert_derivation_complaint(r, c["path"].text()) : derivation_complaint(r);
    } catch (const malformed_file &) {
        throw;
    } catch (const error &e) {
        complaint = e.what();
    }
    if (!complaint.empty())
        return results.fail(r.op, name, complaint);
    if (!is_supported("tflite", r.op))
        return results.skip(r.op, name, "Octet does not execute this operator");
    replay(make_case(r, name, expectations_of(c, r, opt)), opt, results);
}

} // namespace

void replay_tflite_operators(const vector_file &file, const options &opt, report &results) {
    const std::vector<std::uint8_t> blob = file.read_blob();
    for_cases(file, results, [&](const json_value &c, const std::string &, const std::string &name) {
        replay_case(c, read_record(c, blob), name, opt, results);
    });
}

} // namespace octet::vectors
