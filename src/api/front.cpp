// The beginning and the end of every front (front.hpp). Messages of this part are the same for all operations, so
// that "src has type" or "no implementation takes this problem" reads alike wherever it comes from.
// SPDX-License-Identifier: Apache-2.0
#include "api/front.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "api/attributes/arguments.hpp"
#include "api/attributes/checks.hpp"
#include "api/key.hpp"
#include "api/tensors/format_tag.hpp"
#include "api/tensors/memory_desc_checks.hpp"
#include "api/verbose.hpp"
#include "common/names.hpp"
#include "common/text.hpp"
#include "octet/float_environment.hpp"
#include "octet/settings.hpp"

namespace octet::impl {

namespace {

void reject_rnn_parameters(const char *operation, const primitive_attr &attr) {
    if (!attr.rnn_data().empty() || attr.rnn_weights_scales().is_set() ||
        attr.rnn_projection_scales().is_set())
        throw_invalid(operation, ": set_rnn_data_qparams or set_rnn_weights_qparams is used, allowed: in ",
                      "attributes of recurrent networks and of reorders");
}

} // namespace

primitive_desc_ptr run_front(const request &r, const std::function<primitive_desc_ptr()> &front) {
    const default_float_environment environment;
    try {
        if (!r.where)
            throw_invalid(r.operation, ": engine is a null handle");
        if (!r.is_of_dynamic_source)
            reject_dynamic_attributes(r.operation, r.attr);
        if (!r.takes_rnn_parameters)
            reject_rnn_parameters(r.operation, r.attr);
        return out_of_memory_is_an_error(r.operation, front);
    } catch (const error &e) {
        if (r.allow_empty && e.status == status::unimplemented)
            return nullptr;
        throw;
    }
}

void require_forward(const char *operation, prop_kind prop) {
    if (prop != prop_kind::forward_inference && prop != prop_kind::forward_training)
        throw_invalid(operation, ": prop_kind is ", name_or_number(prop),
                      ", allowed: forward_inference, forward_training");
}

void require_algorithm(const char *operation, algorithm given, algorithm first, algorithm last,
                       const char *allowed) {
    if (given < first || given > last)
        throw_invalid(operation, ": algorithm is ", name_or_number(given), ", allowed: ", allowed);
}

void require_algorithm(const char *operation, algorithm given, const char *family) {
    if (!is_of_family(given, family))
        throw_invalid(operation, ": algorithm is ", name_or_number(given), ", allowed: ", family, "*");
}

void require_tensor(const char *operation, const char *name, const memory_desc &md, int min_ndims,
                    int max_ndims) {
    check_descriptor(operation, name, md);
    if (md.ndims < min_ndims || md.ndims > max_ndims)
        throw_invalid(operation, ": ", name, " has ", md.ndims, " dimensions, allowed: ", min_ndims, " to ",
                      max_ndims);
    if (md.format_kind == format_kind::undef)
        throw_invalid(operation, ": ", name, " has no layout");
}

void require_type(const char *operation, const char *name, const memory_desc &md,
                  std::initializer_list<data_type> allowed) {
    if (std::find(allowed.begin(), allowed.end(), md.data_type) != allowed.end())
        return;
    std::string list;
    for (const data_type t : allowed)
        list += text(list.empty() ? "" : ", ", to_string(t));
    throw_unimplemented(operation, ": ", name, " has type ", to_string(md.data_type),
                        ", implemented: ", list);
}

void require_numbers(const char *operation, const char *name, const memory_desc &md) {
    require_type(
        operation, name, md,
        {data_type::f32, data_type::bf16, data_type::f16, data_type::s32, data_type::s8, data_type::u8});
}

void require_plain(const char *operation, const char *name, const memory_desc &md) {
    if (md.format_kind == format_kind::packed)
        throw_invalid(operation, ": ", name, " has layout ", layout_name(md),
                      ", allowed: plain layouts or any");
}

void require_no_overlap(const char *operation, const memory_desc &dst) {
    if (dst.format_kind != format_kind::plain)
        return;
    // Sorted by stride, each dimension must step over everything the faster ones cover.
    std::vector<std::pair<dim_t, dim_t>> dims; // stride, size
    for (int d = 0; d < dst.ndims; d++)
        if (dst.dims[d] > 1)
            dims.emplace_back(dst.strides[d], dst.dims[d]);
    std::sort(dims.begin(), dims.end());
    dim_t covered = 1;
    for (const auto &[stride, size] : dims) {
        if (stride < covered)
            throw_invalid(operation, ": dst ", memory::desc(dst).to_string(),
                          " has overlapping elements (stride ", stride,
                          "), allowed: strides that keep elements apart");
        covered = stride * (size - 1) + covered;
    }
}

void resolve_activation_layout(memory_desc &md) {
    if (md.format_kind != format_kind::any)
        return;
    constexpr format_tag tags[] = {format_tag::undef, format_tag::a,    format_tag::ab,
                                   format_tag::acb,   format_tag::acdb, format_tag::acdeb};
    if (md.ndims <= 5)
        set_layout(md, tags[md.ndims]);
    else
        set_row_major(md);
}

primitive_desc_ptr make_primitive_desc(const request &r, const tensor_map &tensors, std::string parameters,
                                       chosen_implementation chosen) {
    if (!chosen.name) {
        if (r.allow_empty)
            return nullptr;
        std::string reasons;
        for (const std::string &refusal : chosen.refusals)
            reasons += "\n  " + refusal;
        throw_unimplemented(r.operation, ": no implementation takes this problem:", reasons);
    }
    auto data = std::make_shared<primitive_description>();
    data->operation = r.operation;
    data->attr = r.attr;
    for (const auto &[arg, md] : tensors)
        data->args[arg] = memory::desc(*md);
    add_attribute_arguments(r.attr, tensors, data->args);
    for (const auto &[arg, md] : data->args)
        if (!is_hint(arg))
            data->extents[arg] = extent_of(md.data);
    data->ranges = ranges_of(data->extents);
    data->parameters = std::move(parameters);
    data->implementation = chosen.name;
    data->refusals = std::move(chosen.refusals);
    data->described_dst = chosen.described_dst;

    key_builder key;
    key.add(data->operation)
        .add(data->parameters)
        .add(data->implementation)
        .add(data->attr)
        .add(chosen.here.threads)
        .add(chosen.here.fork_cycles);
    for (const auto &[arg, md] : data->args)
        if (!is_hint(arg) || chosen.here.isa.has_amx()) // others ignore it
            key.add(arg).add(md.data);
    key.add(data->described_dst.data);

    if (!r.is_trial)
        log_creation(*data);
    return std::make_shared<const primitive_desc_data>(
        primitive_desc_data{std::move(data), key.take(), std::move(chosen.create), nullptr});
}

void log_creation(const primitive_description &data) {
    if (get_verbose() < 2)
        return;
    log_event("create", data.implementation, problem_text(data));
    for (const std::string &refusal : data.refusals) { // "name: reason"
        const std::size_t colon = refusal.find(": ");
        log_event("refused", refusal.substr(0, colon), refusal.substr(std::min(colon + 2, refusal.size())));
    }
}

} // namespace octet::impl
