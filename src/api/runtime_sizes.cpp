// First the descriptor, from what two trial sizes have in common; then the primitives that executions have
// made, by size.
// SPDX-License-Identifier: Apache-2.0
#include "api/runtime_sizes.hpp"

#include "api/attributes/post_op_tensors.hpp"
#include "api/primitive_desc.hpp"
#include "common/names.hpp"
#include "common/text.hpp"

namespace octet::impl {

bool has_runtime_sizes(const primitive_attr &attr) {
    bool has = false;
    post_op_tensors::for_each(attr.get_post_ops(),
                              [&](int, const memory_desc &src1) { has = has || has_runtime_sizes(src1); });
    return has;
}

namespace {

// ---- the primitive descriptor

/// Two batches that no plan treats differently in what a user sees.
constexpr dim_t trial_sizes[] = {16, 24};

/// Throws unless all sizes but the batch are known: windows and weights tie the sizes of tensors to each
/// other.
void require_known_sizes_but_the_batch(const resizable &description) {
    for (const auto &[arg, md] : description.tensors)
        for (int d = 0; d < std::min(md.ndims, max_ndims); d++) {
            const bool is_batch = d == 0 && (arg == OCTET_ARG_SRC || arg == OCTET_ARG_DST);
            if (is_runtime(md.dims[d]) && !is_batch)
                throw_unimplemented(description.operation, ": dimension ", d, " of ", argument_name(arg),
                                    " is OCTET_RUNTIME_DIM_VAL, implemented: the batch of src and dst");
        }
}

primitive_desc_ptr at_trial_size(const resizable &description, dim_t size, bool allow_empty) {
    described_tensors tensors = description.tensors;
    for (auto &[arg, md] : tensors)
        md = at_size(md, size);
    const primitive_attr attr = post_op_tensors::replaced(
        description.attr, [&](int, const memory_desc &src1) { return memory::desc(at_size(src1, size)); });
    try {
        return description.front(tensors,
                                 {description.operation, attr, description.where, allow_empty, true});
    } catch (const error &e) {
        throw error(e.status, text(e.what(), " (OCTET_RUNTIME_DIM_VAL stands as ", size,
                                   ", equal wherever it is given)"));
    }
}

/// Returns the description that two trials agree about, with OCTET_RUNTIME_DIM_VAL where they differ. `given`
/// may leave strides open that do not follow from sizes.
memory_desc common_part(const std::string &operation, int arg, const memory_desc &a, const memory_desc &b,
                        const memory_desc *given) {
    memory_desc common = a, other = b;
    for (int d = 0; d < a.ndims; d++) {
        if (a.dims[d] != b.dims[d])
            common.dims[d] = other.dims[d] = OCTET_RUNTIME_DIM_VAL;
        const bool is_open =
            given && given->format_kind == format_kind::plain && is_runtime(given->strides[d]);
        if (a.format_kind == format_kind::plain && (is_open || a.strides[d] != b.strides[d]))
            common.strides[d] = other.strides[d] = OCTET_RUNTIME_DIM_VAL;
    }
    if (memory::desc(common) != memory::desc(other))
        throw_unimplemented(operation, ": the layout of ", argument_name(arg),
                            " depends on sizes that come with the execution");
    return common;
}

const memory_desc *find(const described_tensors &tensors, int arg) {
    for (const auto &[described, md] : tensors)
        if (described == arg)
            return &md;
    return nullptr;
}

} // namespace

primitive_desc_ptr make_with_runtime_sizes(const resizable &given, bool allow_empty) {
    request all{given.operation, given.attr, given.where, allow_empty};
    all.is_of_dynamic_source = true; // the trials tell
    return run_front(all, [&]() -> primitive_desc_ptr {
        if (operation_named(given.operation).has(ties_sizes))
            require_known_sizes_but_the_batch(given);
        resizable description = given;
        for (auto &[arg, md] : description.tensors)
            if (arg == OCTET_ARG_WEIGHTS && md.format_kind == format_kind::any && has_runtime_sizes(md) &&
                md.ndims <= max_ndims)
                set_row_major(md); // a packed layout needs known sizes
        const primitive_desc_ptr a = at_trial_size(description, trial_sizes[0], allow_empty),
                                 b = at_trial_size(description, trial_sizes[1], allow_empty);
        if (!a || !b)
            return nullptr;
        const auto data = std::make_shared<primitive_description>(*a->is);
        data->attr = given.attr;
        data->extents.clear();
        data->ranges.clear();
        for (auto &[arg, md] : data->args)
            md = common_part(data->operation, arg, a->is->args.at(arg).data, b->is->args.at(arg).data,
                             find(description.tensors, arg));
        for (auto &[arg, md] : description.tensors)
            if (data->args.count(arg))
                md = data->args.at(arg).data;
        log_creation(*data);
        auto runtime = std::make_shared<const runtime_problem>(std::move(description), data->args);
        return std::make_shared<const primitive_desc_data>(
            primitive_desc_data{data, {}, nullptr, std::move(runtime)});
    });
}

// ---- the execution

runtime_problem::runtime_problem(resizable description, const std::map<int, memory::desc> &args)
    : description_(std::move(description)) {
    const auto add = [&](int arg) {
        const auto found = args.find(arg);
        if (found != args.end() && has_runtime_sizes(found->second.data))
            open_.push_back({arg, found->second.data});
    };
    for (const auto &[arg, md] : description_.tensors)
        add(arg);
    post_op_tensors::for_each(description_.attr.get_post_ops(),
                              [&](int arg, const memory_desc &) { add(arg); });
}

primitive_desc_ptr runtime_problem::at(const std::vector<memory_desc> &given) const {
    const auto resolved = [&](int arg, const memory_desc &otherwise) {
        memory_desc md = otherwise;
        for (std::size_t i = 0; i < open_.size(); i++)
            if (open_[i].arg == arg)
                for (int d = 0; d < md.ndims; d++) {
                    md.dims[d] = is_runtime(md.dims[d]) ? given[i].dims[d] : md.dims[d];
                    md.strides[d] = is_runtime(md.strides[d]) ? given[i].strides[d] : md.strides[d];
                }
        return md;
    };
    described_tensors tensors = description_.tensors;
    for (auto &[arg, md] : tensors)
        md = resolved(arg, md);
    const primitive_attr attr =
        post_op_tensors::replaced(description_.attr, [&](int arg, const memory_desc &src1) {
            return memory::desc(resolved(arg, src1));
        });
    return description_.front(tensors, {description_.operation, attr, description_.where, false});
}

void primitives_by_size::append_sizes(const runtime_problem::open_tensor &open, const memory_desc &given,
                                      std::vector<dim_t> &sizes) const {
    if (given.ndims != open.md.ndims || given.format_kind != format_kind::plain)
        throw_invalid(problem_->operation(), ": execute: ", argument_to_string(open.arg), " is ",
                      memory::desc(given).to_string(), ", allowed: ", memory::desc(open.md).to_string());
    for (int d = 0; d < given.ndims; d++) {
        if (is_runtime(open.md.dims[d]))
            sizes.push_back(given.dims[d]);
        if (is_runtime(open.md.strides[d]))
            sizes.push_back(given.strides[d]);
    }
}

std::shared_ptr<const primitive_data> primitives_by_size::find(const std::vector<dim_t> &sizes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (entry &e : entries_)
        if (e.sizes == sizes) {
            e.used = ++now_;
            return e.made;
        }
    return nullptr;
}

std::shared_ptr<const primitive_data> primitives_by_size::make(const std::vector<dim_t> &sizes,
                                                               const std::vector<memory_desc> &given) {
    std::shared_ptr<const primitive_data> made = make_primitive(problem_->at(given));
    if (auto other = find(sizes)) // another thread was faster
        return other;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (entries_.size() < capacity) {
        entries_.push_back({sizes, made, ++now_});
        return made;
    }
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                         [](const entry &a, const entry &b) { return a.used < b.used; });
    *oldest = {sizes, made, ++now_};
    return made;
}

} // namespace octet::impl
