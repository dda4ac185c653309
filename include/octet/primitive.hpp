#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of all operations: a primitive descriptor, which is the checked problem with the
// implementation chosen for it, and a primitive, which runs. The operations themselves are in headers of
// their own; start at convolution.hpp.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "octet/engine.hpp"
#include "octet/export.hpp"
#include "octet/memory.hpp"
#include "octet/primitive_attr.hpp"

namespace octet {
namespace impl {
struct primitive_desc_data;
struct primitive_data;
using primitive_desc_ptr = std::shared_ptr<const primitive_desc_data>;
} // namespace impl
inline namespace v0 {

/// The questions that `primitive_desc::query_md` and `query_s64` answer.
enum class query {
    undef,
    src_md,
    weights_md,
    dst_md,
    workspace_md,
    scratchpad_md,
    exec_arg_md,
    memory_consumption_s64
};

/// The name of an enumerator, as for those of octet/types.hpp.
OCTET_API const char *to_string(query what);

/// A checked problem with the implementation chosen for it. Immutable and cheap to copy; a
/// default-constructed one, or one made with `allow_empty` for a problem nobody takes, is empty (`false`).
class OCTET_API primitive_desc_base {
public:
    primitive_desc_base() = default;

    /// Tensors with the layouts that `any` became; the zero descriptor where the primitive has none. Weights
    /// of index 1 are the bias. An empty primitive descriptor answers no question: `invalid_arguments`.
    ///@{
    memory::desc src_desc(int index = 0) const;
    memory::desc weights_desc(int index = 0) const;
    memory::desc bias_desc() const { return weights_desc(1); }
    memory::desc dst_desc(int index = 0) const;
    memory::desc src0_desc() const { return src_desc(0); }
    memory::desc src1_desc() const { return src_desc(1); }
    ///@}
    /// Descriptor of the argument OCTET_ARG_SCRATCHPAD, with scratchpad_mode::user.
    memory::desc scratchpad_desc() const;
    memory::desc workspace_desc() const { return {}; } ///< Octet keeps nothing for a backward pass
    /// Descriptor of any execution argument; the zero descriptor if the primitive doesn't take it.
    memory::desc arg_desc(int arg) const;
    /// Every execution argument that the primitive takes, in ascending order. All must be given but
    /// OCTET_ARG_ATTR_PREFETCH.
    std::vector<int> args() const;
    /// oneDNN's one call for all of the above; `index` is the argument for `query::exec_arg_md`.
    memory::desc query_md(query what, int index = 0) const;
    /// `query::memory_consumption_s64`: bytes of scratchpad; 0 for anything else.
    memory::dim query_s64(query what) const;

    /// Engine, operation and attributes of the problem.
    ///@{
    engine get_engine() const;
    primitive_kind get_kind() const;
    primitive_attr get_primitive_attr() const;
    ///@}
    /// Name of the implementation, e.g. "ref". As in oneDNN, the string lives as long as any descriptor or
    /// primitive made of this one.
    const char *impl_info_str() const;
    /// The choice is already the best implementation: there is no next one to try.
    bool next_impl() const { return false; }
    /// Each implementation that was asked before and refused: "name: reason".
    std::vector<std::string> refusals() const;
    /// The problem in one line, as verbose mode prints it and `primitive_desc_from_string` reads it
    /// (octet/problem.hpp).
    std::string problem_str() const;

    explicit operator bool() const { return static_cast<bool>(data_); } ///< false for an empty one

protected:
    /// Called by the operations' own primitive descriptors.
    explicit primitive_desc_base(impl::primitive_desc_ptr data);
    impl::primitive_desc_ptr data_; ///< shared by copies and by primitives made of it
    friend class primitive;
};
/// oneDNN 2.x's name.
using primitive_desc = primitive_desc_base;

/// The primitive descriptor of an operation that `Desc` describes. With `allow_empty` it is empty where it
/// would throw.
template <typename Desc> class primitive_desc_of : public primitive_desc_base {
public:
    primitive_desc_of() = default; ///< an empty one
    /// From a descriptor, as in oneDNN 2.x; all attributes have their defaults.
    primitive_desc_of(const Desc &d, const engine &e, bool allow_empty = false)
        : primitive_desc_of(d, primitive_attr(), e, allow_empty) {}
    /// From a descriptor and attributes, as in oneDNN 2.x.
    primitive_desc_of(const Desc &d, const primitive_attr &attr, const engine &e, bool allow_empty = false)
        : primitive_desc_base(check(d, attr, e, allow_empty)) {}
};

/// Something that runs. Creation goes through the primitive cache; execution on valid arguments does not
/// fail, is re-entrant and may happen from many threads on one primitive.
class OCTET_API primitive {
public:
    using kind = primitive_kind; ///< oneDNN's name

    primitive() = default;
    /// From a primitive descriptor of any operation; an empty one is refused (`invalid_arguments`).
    primitive(const primitive_desc_base &pd);

    /// Runs to completion. Arguments are keyed by OCTET_ARG_*; each must have the descriptor that the
    /// primitive descriptor names, but that of OCTET_ARG_ATTR_PREFETCH (primitive_attr::set_prefetched_bytes).
    /// Throws `invalid_arguments` before anything is written.
    ///
    /// Nothing is allocated once a thread has its working memory, but for new sizes (below) and for s32
    /// biases beyond ±2^24, which can take a kernel of their own: it is made when they first come.
    ///
    /// A dimension or stride that is OCTET_RUNTIME_DIM_VAL in that descriptor is taken from the memory. The
    /// primitive for these sizes is made at their first execution, which takes as long as a creation, and the
    /// last 64 are kept. Sizes that must be equal (M of src and dst) are compared; all that a creation with
    /// known sizes would throw is thrown here.
    ///
    /// In place: eltwise, binary, prelu and batch normalization (their src), softmax, sum and reorder may
    /// have dst in the memory of an input that has the same elements: equal dims, strides and size of an
    /// element. Any other input that shares bytes with dst, and every such input of the other operations, is
    /// refused. Tensors that are interleaved in one buffer (channels 0 … 31 and 32 … 63 of the same pixels)
    /// share no bytes.
    void execute(const stream &s, const std::unordered_map<int, memory> &args) const;
    /// One argument of an execution: a bare pointer to a buffer with the descriptor that the primitive
    /// descriptor names.
    struct argument {
        int arg;      ///< OCTET_ARG_*
        void *handle; ///< the buffer
    };
    /// Executes for callers that keep buffers themselves, without a map and without comparing descriptors: an
    /// argument that is missing or null is still refused, and so are inputs that share bytes with dst, but
    /// sizes are not checked. With run-time sizes, call it on the primitive that `at_sizes(…)` returns.
    void execute(const stream &s, const argument *args, std::size_t count) const;
    /// The primitive that `execute` takes for tensors of these descriptors, by argument: without run-time
    /// sizes this one. Only tensors with run-time sizes need be given.
    primitive at_sizes(const std::vector<std::pair<int, memory::desc>> &tensors) const;
    kind get_kind() const; ///< the operation
    /// The descriptor that the primitive was made of; another primitive of it runs the same code.
    primitive_desc_base get_primitive_desc() const;
    /// The plan, for people: tiles, copies, bytes of packed weights. Empty where nothing is planned, or where
    /// sizes come with the execution.
    std::string plan_str() const;

    explicit operator bool() const { return static_cast<bool>(data_); } ///< false for an empty one

private:
    explicit primitive(std::shared_ptr<const impl::primitive_data> data) : data_(std::move(data)) {}
    std::shared_ptr<const impl::primitive_data> data_;
};

} // namespace v0
} // namespace octet
