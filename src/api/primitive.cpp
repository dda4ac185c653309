// The common life of all primitives: a checked problem gets an implementation and a key
// (front.cpp), the key gets a kernel from the cache (primitive), the kernel gets checked buffers
// (execute). All that can fail with valid arguments fails in the first step, with a message; `execute` checks
// that buffers are those the primitive was made for before a byte is written.
// SPDX-License-Identifier: Apache-2.0
#include "octet/primitive.hpp"

#include "api/aliasing.hpp"
#include "api/primitive_cache.hpp"
#include "api/primitive_desc.hpp"
#include "api/runtime_sizes.hpp"
#include "api/verbose.hpp"
#include "common/names.hpp"
#include "common/text.hpp"
#include "octet/float_environment.hpp"
#include "octet/settings.hpp"

namespace octet {

namespace impl {

std::shared_ptr<const primitive_data> make_primitive(std::shared_ptr<const primitive_desc_data> desc) {
    const default_float_environment environment;
    return out_of_memory_is_an_error(desc->is->operation, [&] {
        primitive_data made{desc->is, nullptr, nullptr, desc->runtime};
        if (desc->runtime)
            made.sizes = std::make_shared<primitives_by_size>(desc->runtime);
        else
            made.code = desc->key.empty() ? desc->create() : cached_kernel(desc->key, desc->create);
        return std::make_shared<const primitive_data>(std::move(made));
    });
}

} // namespace impl

inline namespace v0 {

using impl::throw_invalid;

namespace {

const impl::primitive_description &checked(const std::shared_ptr<const impl::primitive_desc_data> &data) {
    if (!data)
        throw_invalid("primitive_desc: empty");
    return *data->is;
}

primitive_kind kind_of(const impl::primitive_description &data) {
    primitive_kind kind = primitive_kind::undef;
    impl::from_name(data.operation, kind);
    return kind;
}

} // namespace

primitive_desc_base::primitive_desc_base(std::shared_ptr<const impl::primitive_desc_data> data)
    : data_(std::move(data)) {}

memory::desc primitive_desc_base::arg_desc(int arg) const {
    const auto &args = checked(data_).args;
    const auto found = args.find(arg);
    return found == args.end() ? memory::desc() : found->second;
}
std::vector<int> primitive_desc_base::args() const {
    std::vector<int> all;
    for (const auto &[arg, md] : checked(data_).args)
        all.push_back(arg);
    return all;
}
memory::desc primitive_desc_base::src_desc(int index) const {
    const auto &args = checked(data_).args;
    if (index >= 0 && args.count(OCTET_ARG_MULTIPLE_SRC))
        return arg_desc(OCTET_ARG_MULTIPLE_SRC + index);
    return arg_desc(index == 1 ? OCTET_ARG_SRC_1 : index == 0 ? OCTET_ARG_SRC_0 : -1);
}
memory::desc primitive_desc_base::weights_desc(int index) const {
    return arg_desc(index == 0 ? OCTET_ARG_WEIGHTS : index == 1 ? OCTET_ARG_BIAS : -1);
}
memory::desc primitive_desc_base::dst_desc(int index) const {
    return arg_desc(index == 0 ? OCTET_ARG_DST : -1);
}
memory::desc primitive_desc_base::query_md(query what, int index) const {
    switch (what) {
    case query::src_md:
        return src_desc(index);
    case query::weights_md:
        return weights_desc(index);
    case query::dst_md:
        return dst_desc(index);
    case query::workspace_md:
        return workspace_desc();
    case query::scratchpad_md:
        return scratchpad_desc();
    case query::exec_arg_md:
        return arg_desc(index);
    default:
        throw_invalid("query_md: query is ", impl::name_or_number(what), ", allowed: query::*_md");
    }
}
memory::dim primitive_desc_base::query_s64(query what) const {
    return what == query::memory_consumption_s64 ? static_cast<memory::dim>(scratchpad_desc().get_size()) : 0;
}
memory::desc primitive_desc_base::scratchpad_desc() const { return arg_desc(OCTET_ARG_SCRATCHPAD); }
engine primitive_desc_base::get_engine() const {
    checked(data_);
    return engine(engine::kind::cpu, 0);
}
primitive_kind primitive_desc_base::get_kind() const { return kind_of(checked(data_)); }
primitive_attr primitive_desc_base::get_primitive_attr() const { return checked(data_).attr; }
const char *primitive_desc_base::impl_info_str() const { return checked(data_).implementation.c_str(); }
std::vector<std::string> primitive_desc_base::refusals() const { return checked(data_).refusals; }
std::string primitive_desc_base::problem_str() const { return impl::problem_text(checked(data_)); }

primitive::primitive(const primitive_desc_base &pd) {
    if (!pd)
        throw_invalid("primitive: primitive_desc is empty");
    data_ = impl::make_primitive(pd.data_);
}

namespace {

/// A list of an attribute's values may have any shape with as many elements: clients of oneDNN write {n}, {1,
/// n, 1, 1}, …
bool fits(int arg, const memory::desc &given, const memory::desc &expected) {
    return given == expected ||
           (arg > OCTET_ARG_SCRATCHPAD && given.reshape(expected.dims(), true) == expected);
}

std::string described(int arg, const memory::desc &md) {
    return impl::text(argument_to_string(arg), " (", md.to_string(), ")");
}

void check_hint(const impl::primitive_description &desc, int arg, const memory::desc &given,
                const memory::desc &md) {
    if (given.get_size() < md.get_size())
        throw_invalid(desc.operation, ": execute: ", argument_to_string(arg), " has ", given.get_size(),
                      " bytes, allowed: at least ", md.get_size());
}

/// Arguments that the primitive doesn't take are ignored, as in oneDNN.
void check_arguments(const impl::primitive_description &desc, const std::unordered_map<int, memory> &args) {
    for (const auto &[arg, md] : desc.args) {
        const auto found = args.find(arg);
        if (found == args.end() && impl::is_hint(arg))
            continue;
        if (found == args.end() || !found->second)
            throw_invalid(desc.operation, ": execute: ", described(arg, md), " is missing");
        const memory::desc given = found->second.get_desc();
        if (impl::is_hint(arg)) {
            check_hint(desc, arg, given, md);
            continue;
        }
        if (!fits(arg, given, md))
            throw_invalid(desc.operation, ": execute: ", argument_to_string(arg), " is ", given.to_string(),
                          ", allowed: ", md.to_string());
        if (!found->second.get_data_handle() && md.get_size() > 0)
            throw_invalid(desc.operation, ": execute: ", described(arg, md), " has a null data handle");
    }
}

void check_arguments(const impl::primitive_description &desc, const impl::arguments &args) {
    for (const impl::byte_range &r : desc.ranges)
        if (!args.get(r.arg) && r.size > 0)
            throw_invalid(desc.operation, ": execute: ", described(r.arg, desc.args.at(r.arg)),
                          " is missing or null");
}

/// True if no input has a byte between the first and the last of dst: nearly always, and soon answered.
bool are_apart_from_dst(const std::vector<impl::byte_range> &ranges, const impl::arguments &args) {
    std::intptr_t dst_start = 0, dst_end = 0;
    for (const impl::byte_range &r : ranges) {
        const auto start = reinterpret_cast<std::intptr_t>(args.get(r.arg)) + r.first;
        if (&r == &ranges.front()) {
            dst_start = start;
            dst_end = start + r.size;
        } else if (start < dst_end && dst_start < start + r.size) {
            return false;
        }
    }
    return true;
}

/// Checks what octet/primitive.hpp says about inputs that share bytes with dst.
void check_aliasing(const impl::primitive_description &desc, const impl::arguments &args) {
    if (are_apart_from_dst(desc.ranges, args))
        return;
    const auto &dst = desc.extents.at(OCTET_ARG_DST);
    const void *dst_handle = args.get(OCTET_ARG_DST);
    for (const auto &[arg, input] : desc.extents) {
        if (arg == OCTET_ARG_DST)
            continue;
        const impl::sharing shared = share_bytes(input, args.get(arg), dst, dst_handle);
        if (shared == impl::sharing::nothing || (shared == impl::sharing::every_element &&
                                                 impl::operation_named(desc.operation).runs_in_place(arg)))
            continue;
        throw_invalid(desc.operation, ": execute: ", described(arg, desc.args.at(arg)), " and ",
                      described(OCTET_ARG_DST, desc.args.at(OCTET_ARG_DST)),
                      " share bytes, allowed: separate buffers",
                      impl::operation_named(desc.operation).runs_in_place(arg)
                          ? ", or the same elements (equal dims, strides and size of an element)"
                          : "");
    }
}

} // namespace

std::string primitive::plan_str() const {
    if (!data_)
        throw_invalid("primitive::plan_str: empty primitive");
    return data_->code ? data_->code->plan() : "";
}

primitive_desc_base primitive::get_primitive_desc() const {
    if (!data_)
        throw_invalid("primitive::get_primitive_desc: empty primitive");
    return primitive_desc_base(std::make_shared<const impl::primitive_desc_data>(
        impl::primitive_desc_data{data_->desc, {}, [code = data_->code] { return code; }, data_->runtime}));
}

primitive_kind primitive::get_kind() const {
    if (!data_)
        throw_invalid("primitive::get_kind: empty primitive");
    return kind_of(*data_->desc);
}

namespace {

void run(const impl::primitive_data &data, const impl::arguments &args) {
    check_aliasing(*data.desc, args);
    const default_float_environment environment;
    if (get_verbose() == 0) {
        data.code->execute(args);
        return;
    }
    const double start = impl::now_ms();
    data.code->execute(args);
    const std::string milliseconds = impl::milliseconds_text(impl::now_ms() - start);
    impl::log_event("exec", data.desc->implementation,
                    impl::text(impl::problem_text(*data.desc), ",", milliseconds));
}

} // namespace

void primitive::execute(const stream &s, const std::unordered_map<int, memory> &args) const {
    if (!data_)
        throw_invalid("primitive::execute: empty primitive");
    if (!s)
        throw_invalid(data_->desc->operation, ": execute: stream is a null handle");
    const impl::primitive_data *data = data_.get();
    std::shared_ptr<const impl::primitive_data> sized;
    if (data->sizes) {
        sized = data->sizes->at([&](int arg) {
            const auto found = args.find(arg);
            if (found == args.end() || !found->second)
                throw_invalid(data->desc->operation, ": execute: ", described(arg, data->desc->args.at(arg)),
                              " is missing");
            return found->second.get_desc();
        });
        data = sized.get();
    }
    check_arguments(*data->desc, args);
    run(*data, impl::arguments(args));
}

void primitive::execute(const stream &s, const argument *args, std::size_t count) const {
    if (!data_)
        throw_invalid("primitive::execute: empty primitive");
    if (!s)
        throw_invalid(data_->desc->operation, ": execute: stream is a null handle");
    if (data_->sizes)
        throw_invalid(data_->desc->operation,
                      ": execute: sizes come with the execution, but buffers have none, ",
                      "allowed: the primitive of at_sizes");
    const impl::arguments buffers(args, count);
    check_arguments(*data_->desc, buffers);
    run(*data_, buffers);
}

primitive primitive::at_sizes(const std::vector<std::pair<int, memory::desc>> &tensors) const {
    if (!data_)
        throw_invalid("primitive::at_sizes: empty primitive");
    if (!data_->sizes)
        return *this;
    return primitive(data_->sizes->at([&](int arg) {
        for (const auto &[given, md] : tensors)
            if (given == arg)
                return md;
        throw_invalid(data_->desc->operation, ": at_sizes: ", described(arg, data_->desc->args.at(arg)),
                      " is missing");
    }));
}

} // namespace v0
} // namespace octet
