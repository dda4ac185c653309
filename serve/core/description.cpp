// The JSON texts about a model. Names of their keys are those of the protocol and of Triton's extensions.
// SPDX-License-Identifier: Apache-2.0
#include "core/description.hpp"

namespace octet::serve {
namespace {

using json = nlohmann::ordered_json;

/// With the scale and the zero point of codes: real = scale * (code - zero point).
json tensors(const std::vector<tensor_info> &all) {
    json list = json::array();
    for (const tensor_info &t : all) {
        list.push_back({{"name", t.name}, {"datatype", t.announced->name}, {"shape", t.shown()}});
        if (t.stands_for_reals())
            list.back()["quantization"] = {{"scale", t.quantization.scales[0]},
                                           {"zero_point", t.quantization.zero_points[0]}};
    }
    return list;
}

/// Texts, as gRPC's message has them: scales and zero points, "NAME.scale"; and whether rows are alike.
json properties(const served_model &m) {
    json all = json::object();
    if (const auto alike = m.has_rows_alike())
        all["rows_alike"] = *alike ? "true" : "false";
    for (const auto *list : {&m.inputs(), &m.outputs()})
        for (const tensor_info &t : *list)
            if (t.stands_for_reals()) {
                all[t.name + ".scale"] = json(t.quantization.scales[0]).dump();
                all[t.name + ".zero_point"] = std::to_string(t.quantization.zero_points[0]);
            }
    return all;
}

/// Without the dimension of the batch, which Triton has in "max_batch_size".
json configured_tensors(const std::vector<tensor_info> &all, bool is_batching) {
    json list = json::array();
    for (const tensor_info &t : all) {
        memory::dims dims = t.shown();
        if (is_batching)
            dims.erase(dims.begin());
        list.push_back(
            {{"name", t.name}, {"data_type", std::string("TYPE_") + t.announced->name}, {"dims", dims}});
    }
    return list;
}

json of_duration(const duration_sum &d) { return {{"count", d.count}, {"ns", d.nanoseconds}}; }

} // namespace

json describe(const served_model &m, const std::vector<std::string> &versions) {
    return {{"name", m.name()},
            {"versions", versions},
            {"platform", m.platform()},
            {"inputs", tensors(m.inputs())},
            {"outputs", tensors(m.outputs())},
            {"properties", properties(m)}};
}

json describe_configuration(const served_model &m) {
    json config = {{"name", m.name()},
                   {"platform", m.platform()},
                   {"backend", "octet"},
                   {"max_batch_size", m.is_batching() ? m.most_rows() : 0},
                   {"input", configured_tensors(m.inputs(), m.is_batching())},
                   {"output", configured_tensors(m.outputs(), m.is_batching())},
                   {"instance_group",
                    {{{"name", m.name()}, {"kind", "KIND_CPU"}, {"count", m.queue_settings().instances}}}}};
    if (m.is_batching())
        config["dynamic_batching"] = {{"preferred_batch_size", m.queue_settings().sizes},
                                      {"max_queue_delay_microseconds", m.queue_settings().delay.count()}};
    return config;
}

json describe_statistics(const std::vector<std::shared_ptr<served_model>> &models) {
    json list = json::array();
    for (const auto &m : models) {
        const model_statistics s = m->metrics()->statistics();
        json batches = json::array();
        const duration_sum none; // copying is a part of computing here
        for (const auto &[rows, computing] : s.batches)
            batches.push_back({{"batch_size", rows},
                               {"compute_input", of_duration(none)},
                               {"compute_infer", of_duration(computing)},
                               {"compute_output", of_duration(none)}});
        list.push_back({{"name", m->name()},
                        {"version", m->version()},
                        {"last_inference", s.last_milliseconds},
                        {"inference_count", s.rows},
                        {"execution_count", s.executions},
                        {"inference_stats",
                         {{"success", of_duration(s.success)},
                          {"fail", of_duration(s.failure)},
                          {"queue", of_duration(s.queue)},
                          {"compute_input", of_duration(none)},
                          {"compute_infer", of_duration(s.computing)},
                          {"compute_output", of_duration(none)}}},
                        {"batch_stats", batches}});
    }
    return {{"model_stats", list}};
}

} // namespace octet::serve
