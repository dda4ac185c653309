// Fields of the messages to requests, and answers to fields. Outputs are always raw.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/infer_message.hpp"

#include <algorithm>

#include "core/outputs.hpp"

namespace octet::serve {

using inference::ModelInferRequest;
using inference::ModelInferResponse;

namespace {

template <typename Field> void append(std::vector<double> &numbers, const Field &field) {
    numbers.insert(numbers.end(), field.begin(), field.end());
}

std::vector<double> numbers_of(const inference::InferTensorContents &c) {
    if (c.uint64_contents_size() + c.fp64_contents_size() + c.bytes_contents_size() > 0)
        throw refusal(outcome::invalid,
                      "no model has inputs of 64-bit floats, unsigned 64-bit integers or strings");
    std::vector<double> numbers;
    append(numbers, c.bool_contents());
    append(numbers, c.int_contents());
    append(numbers, c.int64_contents());
    append(numbers, c.uint_contents());
    append(numbers, c.fp32_contents());
    return numbers;
}

std::int64_t whole_number(const std::string &name, const inference::InferParameter &value) {
    constexpr std::uint64_t most = std::uint64_t(1) << 62;
    if (value.has_uint64_param())
        return static_cast<std::int64_t>(std::min(value.uint64_param(), most));
    if (!value.has_int64_param())
        throw refusal(outcome::invalid, "parameter '" + name + "' is no whole number");
    return value.int64_param();
}

} // namespace

infer_request request_of(const ModelInferRequest &r, const std::vector<byte_range> &raw) {
    infer_request request;
    request.model = r.model_name();
    request.version = r.model_version();
    if (r.id().size() > most_id_bytes)
        throw refusal(outcome::invalid, "id has " + std::to_string(r.id().size()) + " bytes, at most " +
                                            std::to_string(most_id_bytes) + " are taken");
    request.id = r.id();
    const bool is_raw = !raw.empty();
    if (is_raw && raw.size() != static_cast<std::size_t>(r.inputs_size()))
        throw refusal(outcome::invalid, std::to_string(raw.size()) + " raw_input_contents for " +
                                            std::to_string(r.inputs_size()) + " inputs");
    for (int i = 0; i < r.inputs_size(); i++) {
        given_tensor t;
        t.name = r.inputs(i).name();
        t.datatype = r.inputs(i).datatype();
        t.shape.assign(r.inputs(i).shape().begin(), r.inputs(i).shape().end());
        for (const auto &[name, value] : r.inputs(i).parameters())
            check_parameter(name, {});
        if (is_raw && r.inputs(i).has_contents())
            throw refusal(outcome::invalid,
                          "input '" + shown(t.name) + "' has contents beside raw_input_contents");
        if (is_raw)
            t.bytes = raw[static_cast<std::size_t>(i)];
        else
            t.numbers = numbers_of(r.inputs(i).contents());
        request.inputs.push_back(std::move(t));
    }
    for (const auto &output : r.outputs()) {
        asked_output asked;
        asked.name = output.name();
        for (const auto &[name, value] : output.parameters()) {
            check_parameter(name, parameters_of_output);
            if (name == "classification")
                asked.classes = whole_number(name, value);
            else if (name == "datatype" ? !value.has_string_param() : !value.has_bool_param())
                throw refusal(outcome::invalid, "parameter '" + name + "' of an output is " +
                                                    (name == "datatype" ? "no text" : "no bool"));
            else if (name == "datatype")
                asked.datatype = value.string_param();
        }
        request.outputs.push_back(std::move(asked));
    }
    for (const auto &[name, value] : r.parameters()) {
        check_parameter(name, parameters_of_request);
        if (name == "timeout")
            request.timeout_us = whole_number(name, value);
        else if (name == "priority")
            request.priority = whole_number(name, value);
        else if (name == "sequence_id")
            request.sequence.id = whole_number(name, value);
        else if (!value.has_bool_param())
            throw refusal(outcome::invalid, "parameter '" + name + "' is no bool");
        else if (name == "profile")
            request.wants_profile = value.bool_param();
        else if (name == "sequence_start")
            request.sequence.starts = value.bool_param();
        else if (name == "sequence_end")
            request.sequence.ends = value.bool_param();
    }
    return request;
}

ModelInferResponse response_of(const service::call &c) {
    ModelInferResponse r;
    const job &j = *c.work;
    r.set_model_name(c.model->name());
    r.set_model_version(c.model->version());
    r.set_id(c.id);
    if (!j.profile.empty())
        (*r.mutable_parameters())["profile"].set_string_param(j.profile);
    for (std::size_t i = 0; i < j.wanted.size(); i++) {
        const tensor_info &t = c.model->outputs()[j.wanted[i].index];
        auto &output = *r.add_outputs();
        output.set_name(t.name);
        output.set_datatype(name_of_datatype(j.wanted[i]));
        for (const std::int64_t d : j.output_dims[i])
            output.add_shape(d);
    }
    return r;
}

} // namespace octet::serve
