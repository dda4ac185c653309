// Reads a request in one pass, without a tree of its values, and appends a reply's numbers to its text.
// SPDX-License-Identifier: Apache-2.0
#include "http/infer_json.hpp"

#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "core/datatypes.hpp"
#include "core/outputs.hpp"
#include "core/small_json.hpp"

namespace octet::serve {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string &sentence) { throw refusal(outcome::invalid, sentence); }

/// Takes the events of the parser. A stack says where it is; whatever is no part of the protocol is `other`.
class reader : public nlohmann::json_sax<json> {
public:
    infer_request request;
    reply_form form;
    std::vector<std::int64_t> binary_sizes; ///< by input, -1: none

    reader(std::string_view text, receive_budget::share *held) : text_(text) {
        request.held = held;
        if (held)
            request.numbers_held = held->another();
    }

    bool null() override { return scalar_of_wrong_kind("null"); }
    bool boolean(bool v) override {
        switch (where()) {
        case section::data:
            return add(v);
        case section::parameters:
            if (key_ != "binary_data_output" && key_ != "profile" && key_ != "sequence_start" &&
                key_ != "sequence_end")
                return scalar_of_wrong_kind(v ? "true" : "false");
            (key_ == "profile"          ? request.wants_profile
             : key_ == "sequence_start" ? request.sequence.starts
             : key_ == "sequence_end"   ? request.sequence.ends
                                        : form.all_binary) = v;
            return true;
        case section::output_parameters:
            if (key_ != "binary_data")
                return scalar_of_wrong_kind(v ? "true" : "false");
            is_binary_ = v;
            return true;
        default:
            return scalar_of_wrong_kind(v ? "true" : "false");
        }
    }
    bool number_integer(std::int64_t v) override { return integer(v, static_cast<double>(v)); }
    bool number_unsigned(std::uint64_t v) override {
        constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (v > most && where() != section::data && where() != section::other)
            refuse("JSON: " + std::to_string(v) + " is beyond all limits");
        return integer(static_cast<std::int64_t>(std::min(v, most)), static_cast<double>(v));
    }
    bool number_float(double v, const std::string &text) override {
        if (where() != section::data)
            return scalar_of_wrong_kind(text);
        return add(v);
    }
    bool string(std::string &v) override {
        switch (where()) {
        case section::root:
            if (key_ == "id") {
                if (v.size() > most_id_bytes)
                    refuse("\"id\" has " + std::to_string(v.size()) + " bytes, at most " +
                           std::to_string(most_id_bytes) + " are taken");
                request.id = v;
            }
            return true;
        case section::input:
            (key_ == "name"       ? request.inputs.back().name
             : key_ == "datatype" ? request.inputs.back().datatype
                                  : ignored_) = v;
            return true;
        case section::output:
            if (key_ == "name")
                request.outputs.back().name = v;
            return true;
        case section::output_parameters:
            if (key_ != "datatype")
                return scalar_of_wrong_kind("a string");
            request.outputs.back().datatype = v;
            return true;
        default:
            return scalar_of_wrong_kind("a string");
        }
    }
    bool binary(json::binary_t &) override { return true; }
    bool key(std::string &v) override {
        key_ = v;
        if (where() == section::other)
            return true;
        constexpr std::size_t most_keys = 64;
        if (!keys_.back().insert(v).second)
            refuse("JSON: a key stands twice: \"" + shown(v) + '"');
        if (keys_.back().size() > most_keys)
            refuse("JSON: an object has more than " + std::to_string(most_keys) + " keys");
        if (where() == section::parameters)
            check_parameter(v, parameters_of_request);
        if (where() == section::input_parameters)
            check_parameter(v, {"binary_data_size"});
        if (where() == section::output_parameters)
            check_parameter(v, parameters_of_output);
        return true;
    }

    bool start_object(std::size_t) override {
        switch (where()) {
        case section::nowhere:
            return enter(section::root);
        case section::root:
            return enter(key_ == "parameters" ? section::parameters : section::other);
        case section::inputs:
            request.inputs.emplace_back();
            binary_sizes.push_back(-1);
            check_count(request.inputs.size());
            return enter(section::input);
        case section::input:
            return enter(key_ == "parameters" ? section::input_parameters : section::other);
        case section::outputs:
            request.outputs.emplace_back();
            is_binary_.reset();
            check_count(request.outputs.size());
            return enter(section::output);
        case section::output:
            return enter(key_ == "parameters" ? section::output_parameters : section::other);
        case section::data:
        case section::shape:
            refuse("JSON: an object in \"data\" or \"shape\"");
        default:
            return enter(section::other);
        }
    }
    bool end_object() override {
        if (where() == section::output && is_binary_)
            form.binary_of[request.outputs.back().name] = *is_binary_;
        return leave();
    }
    bool start_array(std::size_t) override {
        switch (where()) {
        case section::nowhere:
            refuse("JSON: an array, allowed is an object");
        case section::root:
            return enter(key_ == "inputs"    ? section::inputs
                         : key_ == "outputs" ? section::outputs
                                             : section::other);
        case section::input:
            return enter(key_ == "shape" ? section::shape : key_ == "data" ? section::data : section::other);
        case section::data:
            return enter(section::data);
        case section::shape:
            refuse("JSON: an array in \"shape\"");
        default:
            return enter(section::other);
        }
    }
    bool end_array() override { return leave(); }
    bool parse_error(std::size_t byte, const std::string &, const nlohmann::detail::exception &e) override {
        const bool is_overflow = dynamic_cast<const json::out_of_range *>(&e) != nullptr;
        refuse(is_overflow ? "JSON, byte " + std::to_string(byte) + ": the number is beyond all limits"
                           : json_complaint(text_, byte));
    }

private:
    enum class section {
        nowhere,
        root,
        parameters,
        inputs,
        input,
        input_parameters,
        shape,
        data,
        outputs,
        output,
        output_parameters,
        other
    };

    section where() const { return path_.empty() ? section::nowhere : path_.back(); }
    bool enter(section p) {
        constexpr std::size_t deepest = 32;
        if (path_.size() == deepest)
            refuse("JSON is nested deeper than " + std::to_string(deepest) + " levels");
        const section now = where();
        if (now == section::parameters || now == section::input_parameters ||
            now == section::output_parameters)
            return scalar_of_wrong_kind("a list or an object");
        path_.push_back(p);
        keys_.emplace_back();
        return true;
    }
    bool leave() {
        path_.pop_back();
        keys_.pop_back();
        return true;
    }
    static void check_count(std::size_t count) {
        constexpr std::size_t most = 1024;
        if (count > most)
            refuse("more than " + std::to_string(most) + " tensors");
    }
    /// Text of two bytes becomes a number of eight, and twice that while their array grows.
    bool add(double v) {
        constexpr std::size_t piece = 4096;
        if (++count_ % piece == 0 && request.numbers_held &&
            !request.numbers_held->grow(piece * 2 * sizeof(double)))
            throw refusal(outcome::overloaded, "requests fill the memory for them");
        request.inputs.back().numbers.push_back(v);
        return true;
    }
    bool integer(std::int64_t v, double value) {
        switch (where()) {
        case section::data:
            return add(value);
        case section::shape:
            if (request.inputs.back().shape.size() == 32)
                refuse("input '" + shown(request.inputs.back().name) + "' has more than 32 dimensions");
            request.inputs.back().shape.push_back(v);
            return true;
        case section::parameters:
            if (key_ != "timeout" && key_ != "priority" && key_ != "sequence_id")
                return scalar_of_wrong_kind(std::to_string(v));
            (key_ == "timeout"    ? request.timeout_us
             : key_ == "priority" ? request.priority
                                  : request.sequence.id) = v;
            return true;
        case section::input_parameters:
            binary_sizes.back() = v;
            return true;
        case section::output_parameters:
            if (key_ != "classification")
                return scalar_of_wrong_kind(std::to_string(v));
            request.outputs.back().classes = v;
            return true;
        default:
            return scalar_of_wrong_kind(std::to_string(v));
        }
    }
    /// Only where the protocol says what stands there.
    bool scalar_of_wrong_kind(const std::string &what) const {
        const section p = where();
        const bool is_known =
            p == section::nowhere || p == section::shape || p == section::data || p == section::inputs ||
            p == section::outputs ||
            (p == section::root && (key_ == "inputs" || key_ == "outputs" || key_ == "id")) ||
            (p == section::input &&
             (key_ == "name" || key_ == "datatype" || key_ == "shape" || key_ == "data")) ||
            (p == section::output && key_ == "name") || p == section::parameters ||
            p == section::input_parameters || p == section::output_parameters;
        if (is_known)
            refuse("JSON: " + what.substr(0, 40) +
                   (p == section::shape  ? " in \"shape\""
                    : p == section::data ? " in \"data\""
                                         : " where \"" + shown(key_) + "\" is expected"));
        return true;
    }

    std::string_view text_;
    std::vector<section> path_;
    std::vector<std::set<std::string>> keys_; ///< as `path_`, of what is no `other`
    std::size_t count_ = 0;                   ///< numbers so far
    std::string key_, ignored_;
    std::optional<bool> is_binary_;
};

std::string quoted(const std::string &text) {
    return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace

infer_request read_infer_request(std::string_view body, std::size_t json_size, reply_form &form,
                                 receive_budget::share *held) {
    if (json_size > body.size())
        refuse("Inference-Header-Content-Length is " + std::to_string(json_size) + ", the body has " +
               std::to_string(body.size()) + " bytes");
    reader r(body.substr(0, json_size), held);
    json::sax_parse(body.data(), body.data() + json_size, &r);
    std::size_t at = json_size;
    for (std::size_t i = 0; i < r.request.inputs.size(); i++) {
        if (r.binary_sizes[i] == -1)
            continue;
        given_tensor &t = r.request.inputs[i];
        if (!t.numbers.empty())
            refuse("input '" + shown(t.name) + "' has \"data\" and \"binary_data_size\"");
        const std::size_t left = body.size() - at;
        if (r.binary_sizes[i] < 0 || static_cast<std::uint64_t>(r.binary_sizes[i]) > left)
            refuse("input '" + shown(t.name) + "': binary_data_size is " + std::to_string(r.binary_sizes[i]) +
                   ", " + std::to_string(left) + " bytes are left in the body");
        const auto size = static_cast<std::size_t>(r.binary_sizes[i]);
        t.bytes = byte_range{reinterpret_cast<const std::byte *>(body.data()) + at, size};
        at += size;
    }
    if (at != body.size())
        refuse(std::to_string(body.size() - at) + " bytes follow the last tensor");
    form = std::move(r.form);
    return std::move(r.request);
}

std::string infer_reply_json(const service::call &c, const reply_form &form, bool &has_binary) {
    const job &j = *c.work;
    std::string text =
        "{\"model_name\":" + quoted(c.model->name()) + ",\"model_version\":\"" + c.model->version() + '"';
    if (!c.id.empty())
        text += ",\"id\":" + quoted(c.id);
    if (!j.profile.empty())
        text += ",\"parameters\":{\"profile\":" + quoted(j.profile) + '}';
    text += ",\"outputs\":[";
    for (std::size_t i = 0; i < j.wanted.size(); i++) {
        const tensor_info &t = c.model->outputs()[j.wanted[i].index];
        text += (i > 0 ? ",{\"name\":" : "{\"name\":") + quoted(t.name) + ",\"datatype\":\"" +
                name_of_datatype(j.wanted[i]) + "\",\"shape\":[";
        for (std::size_t d = 0; d < j.output_dims[i].size(); d++)
            text += (d > 0 ? "," : "") + std::to_string(j.output_dims[i][d]);
        if (form.is_binary(t.name)) {
            has_binary = true;
            text += "],\"parameters\":{\"binary_data_size\":" + std::to_string(j.outputs[i].size) + "}}";
        } else {
            text += "],\"data\":[";
            if (j.wanted[i].classes > 0)
                for (const std::string &one : texts_of(j.outputs[i]))
                    text += (text.back() == '[' ? "" : ",") + quoted(one);
            else
                append_json(text, t.name, *j.wanted[i].type, j.outputs[i]);
            text += "]}";
        }
    }
    return text += "]}";
}

} // namespace octet::serve
