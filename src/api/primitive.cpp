// The common life of all primitives: a checked problem gets an implementation and a key
// (make_primitive_desc), the key gets a kernel from the cache (primitive), the kernel gets checked buffers
// (execute). All that can fail with valid arguments fails in the first step, with a message; `execute` checks
// that buffers are those the primitive was made for before a byte is written.

#include "octet/primitive.hpp"

#include <algorithm>

#include "api/format_tag.hpp"
#include "api/primitive_cache.hpp"
#include "api/primitive_desc.hpp"
#include "api/verbose.hpp"
#include "common/layout/check.hpp"
#include "common/text.hpp"
#include "octet/float_environment.hpp"
#include "octet/settings.hpp"

namespace octet {

namespace impl {

std::string primitive_desc_data::to_string() const {
    std::string tensors;
    for (const auto &[arg, md] : args) {
        const bool is_source = is_multiple_source(arg);
        if (arg >= OCTET_ARG_SCRATCHPAD && !is_source)
            continue; // attributes have a text of their own
        const std::string name = is_source                  ? argument_name(arg)
                                 : arg == OCTET_ARG_SRC_0   ? "src"
                                 : arg == OCTET_ARG_SRC_1   ? "src1"
                                 : arg == OCTET_ARG_WEIGHTS ? "wei"
                                 : arg == OCTET_ARG_BIAS    ? "bia"
                                                            : "dst";
        const std::string described = md.to_string();
        tensors += (tensors.empty() ? "" : " ") + name + "_" + described.substr(0, described.find(' ')) +
                   ":" + layout_name(md.data);
    }
    return operation + "," + implementation + "," + tensors + "," + attribute_text(attr) + "," + shape;
}

template <typename Problem>
std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data> data,
                                                               const Problem &problem, bool allow_empty) {
    selection<Problem> choice = select(problem);
    data->refusals = std::move(choice.refusals);
    if (!choice.chosen) {
        if (allow_empty)
            return nullptr;
        std::string reasons;
        for (const std::string &r : data->refusals)
            reasons += "\n  " + r;
        throw error(status::unimplemented,
                    data->operation + ": no implementation takes this problem:" + reasons);
    }
    data->implementation = choice.chosen->name;
    data->create = [create = choice.chosen->create, problem] { return create(problem); };

    key_builder key;
    key.add(data->operation).add(data->shape).add(data->implementation).add(data->attr);
    for (const auto &[arg, md] : data->args)
        key.add(arg).add(md.data);
    data->key = key.take();

    if (get_verbose() >= 2) {
        print_verbose("create", data->to_string());
        for (const std::string &r : data->refusals)
            print_verbose("refused", r);
    }
    return data;
}

template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const convolution_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const matmul_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const reorder_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const pooling_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const binary_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const softmax_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const prelu_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const sum_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const concat_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const resampling_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const deconvolution_problem &, bool);
template std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data>,
                                                                        const eltwise_problem &, bool);

std::shared_ptr<const primitive_desc_data>
guarded(bool allow_empty, const std::function<std::shared_ptr<const primitive_desc_data>()> &front) {
    const default_float_environment environment;
    try {
        return front();
    } catch (const error &e) {
        if (allow_empty && e.status == status::unimplemented)
            return nullptr;
        throw;
    }
}

void require_engine(const char *operation, const engine &e) {
    if (!e)
        throw_invalid(operation, ": engine is a null handle");
}

void require_type(const char *operation, const char *name, const memory_desc &md,
                  std::initializer_list<data_type> allowed) {
    if (std::find(allowed.begin(), allowed.end(), md.data_type) != allowed.end())
        return;
    static const char *const names[] = {"undef", "f32", "s32", "s8", "u8", "s16"};
    std::string list;
    for (const data_type t : allowed)
        list += (list.empty() ? "" : ", ") + std::string(names[static_cast<int>(t)]);
    throw_unimplemented(operation, ": ", name, " has type ", names[static_cast<int>(md.data_type)],
                        ", implemented: ", list);
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

void require_forward(const char *operation, prop_kind prop) {
    if (prop != prop_kind::forward_inference && prop != prop_kind::forward_training)
        throw_invalid(operation, ": prop_kind ", static_cast<int>(prop),
                      ", allowed: forward_inference, forward_training");
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

} // namespace impl

inline namespace v0 {

using impl::throw_invalid;

namespace {

const impl::primitive_desc_data &checked(const std::shared_ptr<const impl::primitive_desc_data> &data) {
    if (!data)
        throw_invalid("primitive_desc: empty");
    return *data;
}

primitive_kind kind_of(const impl::primitive_desc_data &data) {
    static const std::map<std::string, primitive_kind> kinds{{"reorder", primitive_kind::reorder},
                                                             {"convolution", primitive_kind::convolution},
                                                             {"inner_product", primitive_kind::inner_product},
                                                             {"matmul", primitive_kind::matmul},
                                                             {"pooling", primitive_kind::pooling},
                                                             {"softmax", primitive_kind::softmax},
                                                             {"eltwise", primitive_kind::eltwise},
                                                             {"deconvolution", primitive_kind::deconvolution},
                                                             {"resampling", primitive_kind::resampling},
                                                             {"concat", primitive_kind::concat},
                                                             {"sum", primitive_kind::sum},
                                                             {"prelu", primitive_kind::prelu},
                                                             {"binary", primitive_kind::binary}};
    return kinds.at(data.operation);
}

} // namespace

primitive_desc_base::primitive_desc_base(std::shared_ptr<const impl::primitive_desc_data> data)
    : data_(std::move(data)) {}

memory::desc primitive_desc_base::arg_desc(int arg) const {
    const auto &args = checked(data_).args;
    const auto found = args.find(arg);
    return found == args.end() ? memory::desc() : found->second;
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
        throw_invalid("query_md: query ", static_cast<int>(what), ", allowed: query::*_md");
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
std::string primitive_desc_base::impl_info_str() const { return checked(data_).implementation; }
std::vector<std::string> primitive_desc_base::refusals() const { return checked(data_).refusals; }
std::string primitive_desc_base::problem_str() const { return checked(data_).to_string(); }

primitive::primitive(const primitive_desc_base &pd) {
    if (!pd)
        throw_invalid("primitive: primitive_desc is empty");
    const default_float_environment environment;
    data_ = std::make_shared<const impl::primitive_data>(
        impl::primitive_data{pd.data_, impl::cached_kernel(pd.data_->key, pd.data_->create)});
}

namespace {

/// A list of an attribute's values may have any shape with as many elements: clients of oneDNN write {n}, {1,
/// n, 1, 1}, …
bool fits(int arg, const memory::desc &given, const memory::desc &expected) {
    return given == expected ||
           (arg > OCTET_ARG_SCRATCHPAD && given.reshape(expected.dims(), true) == expected);
}

/// Arguments that the primitive doesn't take are ignored, as in oneDNN.
void check_arguments(const impl::primitive_desc_data &desc, const std::unordered_map<int, memory> &args) {
    for (const auto &[arg, md] : desc.args) {
        const auto found = args.find(arg);
        if (found == args.end() || !found->second)
            throw_invalid(desc.operation, ": execute: argument ", arg, " (", md.to_string(), ") is missing");
        const memory::desc given = found->second.get_desc();
        if (!fits(arg, given, md))
            throw_invalid(desc.operation, ": execute: argument ", arg, " is ", given.to_string(),
                          ", allowed: ", md.to_string());
        if (!found->second.get_data_handle() && md.get_size() > 0)
            throw_invalid(desc.operation, ": execute: argument ", arg, " (", md.to_string(),
                          ") has a null data handle");
    }
}

} // namespace

std::string primitive::plan_str() const {
    if (!data_)
        throw_invalid("primitive::plan_str: empty primitive");
    return data_->code->plan();
}

primitive_kind primitive::get_kind() const {
    if (!data_)
        throw_invalid("primitive::get_kind: empty primitive");
    return kind_of(*data_->desc);
}

void primitive::execute(const stream &s, const std::unordered_map<int, memory> &args) const {
    if (!data_)
        throw_invalid("primitive::execute: empty primitive");
    if (!s)
        throw_invalid(data_->desc->operation, ": execute: stream is a null handle");
    check_arguments(*data_->desc, args);
    const default_float_environment environment;
    if (get_verbose() == 0) {
        data_->code->execute(impl::arguments(args));
        return;
    }
    const double start = impl::now_ms();
    data_->code->execute(impl::arguments(args));
    impl::print_verbose("exec", data_->desc->to_string() + "," + impl::text(impl::now_ms() - start));
}

} // namespace v0
} // namespace octet
