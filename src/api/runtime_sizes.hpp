#pragma once // SPDX-License-Identifier: Apache-2.0

// Primitives whose sizes come with the execution (OCTET_RUNTIME_DIM_VAL), for every operation from one place. Such a
// primitive has no kernel: at execution it puts the sizes of the tensors it is given into its description, takes the
// same way through the front and the primitive cache as a user would with known sizes, and keeps the primitives that
// it gets. Problems, plans and kernels never see an unknown size.
//
// Its primitive descriptor is made at two trial sizes, which checks everything and resolves `any`; what differs
// between the two (sizes, strides that follow from them, lengths of lists) comes with the execution. Weights that are
// packed are packed as for known sizes, since neither trial sees anything else.
//
// Start reading at make_at_any_size; the execution is at the end of runtime_sizes.cpp.

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "api/operation.hpp"
#include "common/layout/runtime.hpp"
#include "octet/fork_guard.hpp"

namespace octet::impl {

/// The tensors of an operation's description, by execution argument; those that it does not have are zero descriptors.
using described_tensors = std::vector<std::pair<int, memory_desc>>;

/// An operation that can be described again with other tensors.
struct resizable {
    const char *operation;
    described_tensors tensors;
    primitive_attr attr;
    engine where;
    std::function<primitive_desc_ptr(const described_tensors &, const request &)> front;
};

bool has_runtime_sizes(const primitive_attr &attr);

/// A primitive descriptor whose sizes come with the execution.
primitive_desc_ptr make_with_runtime_sizes(const resizable &description, bool allow_empty);

/// `front`, or what puts it off if a size is unknown.
template <typename Description>
primitive_desc_ptr make_at_any_size(const Description &d, const request &r,
                                    primitive_desc_ptr (*front)(const Description &, const request &)) {
    bool is_known = !has_runtime_sizes(r.attr);
    for_each_tensor(d,
                    [&](int, const memory::desc &md) { is_known = is_known && !has_runtime_sizes(md.data); });
    if (is_known)
        return front(d, r);
    resizable description{r.operation, {}, r.attr, r.where, {}};
    for_each_tensor(d,
                    [&](int arg, const memory::desc &md) { description.tensors.emplace_back(arg, md.data); });
    description.front = [d, front](const described_tensors &tensors, const request &sized) {
        Description described = d;
        auto next = tensors.begin();
        for_each_tensor(described, [&](int, memory::desc &md) { md = (next++)->second; });
        return front(described, sized);
    };
    return make_with_runtime_sizes(description, r.allow_empty);
}

// ---- a description's row

/// Completes the row of an operation: its parameters, visited as operation.hpp explains, and how it is read
/// from a text, starting from `blank`, a descriptor without tensors that has the values of parameters that a
/// text leaves out.
template <typename Description, typename Parameters>
described_operation described(const operation_facts &facts, Description blank, const Parameters &parameters,
                              primitive_desc_ptr (*front)(const Description &, const request &)) {
    described_operation row{facts, {}, {}};
    parameters(blank, parameter_names(row.parameters));
    row.read = [facts, blank = std::move(blank), parameters, front](const problem_tokens &tokens,
                                                                    const request &r) {
        Description d = blank;
        members::set_source_count(d, described_sources(tokens), 0);
        for_each_tensor(d, [&](int arg, memory::desc &md) { md = described_tensor(tokens, facts, arg); });
        parameters(d, parameter_reader(tokens));
        return make_at_any_size(d, r, front);
    };
    return row;
}

// ---- execution

/// The description that a primitive descriptor with unknown sizes keeps, to describe the operation again.
class runtime_problem {
public:
    runtime_problem(resizable description, const std::map<int, memory::desc> &args);

    /// A tensor with sizes that come with the execution, as the primitive descriptor describes it.
    struct open_tensor {
        int arg;
        memory_desc md;
    };
    const std::vector<open_tensor> &open_tensors() const { return open_; }
    const char *operation() const { return description_.operation; }

    /// The operation with these descriptors in the order of `open_tensors`, which must have their ranks and known
    /// sizes.
    primitive_desc_ptr at(const std::vector<memory_desc> &given) const;

private:
    resizable description_; ///< with resolved layouts
    std::vector<open_tensor> open_;
};

/// The primitives that a primitive with unknown sizes has made, by their sizes: a few, the least recently
/// used one makes room. Shared by threads; the lock is held for a look at the list.
class primitives_by_size {
public:
    explicit primitives_by_size(std::shared_ptr<const runtime_problem> problem)
        : problem_(std::move(problem)) {}

    /// The primitive for the tensors that `desc_of(argument)` describes. Allocates nothing if there is one already.
    template <typename DescOf> std::shared_ptr<const primitive_data> at(const DescOf &desc_of) {
        thread_local std::vector<dim_t> sizes;
        sizes.clear();
        for (const runtime_problem::open_tensor &open : problem_->open_tensors())
            append_sizes(open, desc_of(open.arg).data, sizes);
        if (auto found = find(sizes))
            return found;
        std::vector<memory_desc> given;
        for (const runtime_problem::open_tensor &open : problem_->open_tensors())
            given.push_back(desc_of(open.arg).data);
        return make(sizes, given);
    }

private:
    struct entry {
        std::vector<dim_t> sizes;
        std::shared_ptr<const primitive_data> made;
        std::uint64_t used; ///< when
    };
    static constexpr std::size_t capacity = 64;

    void append_sizes(const runtime_problem::open_tensor &open, const memory_desc &given,
                      std::vector<dim_t> &sizes) const;
    std::shared_ptr<const primitive_data> find(const std::vector<dim_t> &sizes);
    std::shared_ptr<const primitive_data> make(const std::vector<dim_t> &sizes,
                                               const std::vector<memory_desc> &given);

    const std::shared_ptr<const runtime_problem> problem_;
    std::mutex mutex_;
    const fork_guard at_fork_{mutex_};
    std::vector<entry> entries_;
    std::uint64_t now_ = 0;
};

} // namespace octet::impl
