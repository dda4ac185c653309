#pragma once // SPDX-License-Identifier: Apache-2.0

// Tensors: what they look like (memory::desc) and where they are (memory). Descriptors are checked where they
// are made, so that whatever holds one holds a valid one; layouts that only Octet understands are opaque.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "octet/engine.hpp"
#include "octet/export.hpp"
#include "octet/types.hpp"

namespace octet {
inline namespace v0 {

/// The form of a layout: not chosen yet (`any`), strides (`plain`), or known to Octet alone (`packed`).
enum class format_kind { undef, any, plain, packed };

/// Roles of the dimensions of packed weights; they decide which dimension is the group, the output channel
/// and the reduction.
enum class packed_kind {
    none,
    convolution,
    grouped_convolution,
    matmul,
    deconvolution,
    grouped_deconvolution,
    matmul_with_scales, ///< the scales and zero points of groups lie beside the codes
    recurrent,          ///< {L, D, I, G, O}: a product for each layer and direction
};

/// The name of an enumerator, as for those of octet/types.hpp.
///@{
OCTET_API const char *to_string(format_kind kind);
OCTET_API const char *to_string(packed_kind kind);
///@}

/// Depthwise weights stored in patches of 4 taps, shifted for neighbouring outputs that share source bytes.
struct patch_order {
    dim_t height = 0; ///< rows of a patch: 1, 2 or 4; 0: not stored so
    /// Copies of a patch along rows and columns, and the number of taps by which each copy is shifted.
    ///@{
    dim_t row_phases = 1, row_shift = 1, column_phases = 1, column_shift = 1;
    ///@}

    /// True for the same order.
    friend bool operator==(const patch_order &a, const patch_order &b) {
        return a.height == b.height && a.row_phases == b.row_phases && a.row_shift == b.row_shift &&
               a.column_phases == b.column_phases && a.column_shift == b.column_shift;
    }
};

/// Shape, type and layout of a tensor: a plain value. Users build it through `memory::desc`.
///
/// `plain`: element (i0, i1, …) lies at `offset0 + Σ i * strides` elements from the start.
/// `packed`: an opaque layout that only `reorder` reads and writes; its size comes from
/// `memory::desc::get_size`.
struct memory_desc {
    int ndims = 0;                                              ///< 1 to max_ndims; 0: no tensor
    dim_t dims[max_ndims] = {};                                 ///< in elements, logical order
    octet::data_type data_type = octet::data_type::undef;       ///< the type of every element
    octet::format_kind format_kind = octet::format_kind::undef; ///< tells which of the fields below count
    dim_t offset0 = 0;                                          ///< plain: elements before the first one
    dim_t strides[max_ndims] = {};                              ///< plain: elements from index to index
    octet::packed_kind packed_kind = octet::packed_kind::none;  ///< packed; so are all below
    dim_t packed_groups = 1; ///< groups stored as one; with scales: elements of the reduction that share one
    dim_t packed_width = 1;  ///< kernel columns stored as part of the reduction
    patch_order packed_patches; ///< depthwise weights
    /// Deconvolution: taps with equal index % step are stored together. With scales: 2, not 1, if zero points
    /// of the weights are stored, if sums of weights are; the third is 1.
    /// Recurrent: the first is the number of gates in the first product, the others are in a second one.
    dim_t packed_steps[3] = {1, 1, 1};
};

/// A buffer with a description, as in oneDNN. Copies share the buffer.
class OCTET_API memory {
public:
    /// oneDNN's names for types of Octet.
    ///@{
    using dim = dim_t;
    using dims = std::vector<dim>;
    using data_type = octet::data_type;
    using format_tag = octet::format_tag;
    using format_kind = octet::format_kind;
    ///@}

    /// Bytes of an element, 0 for undef; 1 for a type whose elements share bytes, as in oneDNN 3: the size of
    /// a tensor is `desc::get_size`. Throws `invalid_arguments` for a value that names no type.
    static std::size_t data_type_size(data_type type);

    /// Description of a tensor. A default-constructed one is the zero descriptor ("no such tensor").
    struct OCTET_API desc {
        desc() = default;
        desc(const memory_desc &d) : data(d) {} ///< a copy

        /// Dense tensor in a plain layout, or `format_tag::any`. A dimension, or below a stride, may be
        /// OCTET_RUNTIME_DIM_VAL: it comes with the execution (octet/primitive.hpp); such a descriptor is for
        /// primitive descriptors alone. Throws `invalid_arguments`: more than 6 or no dimensions, a negative
        /// dimension, a tag of another rank, a size that overflows, and for s4, u4, s2 and u2 a stride, other
        /// than 1, or an offset that does not begin a byte: rows have whole bytes. With `allow_empty`, here
        /// and below, the result is the zero descriptor instead.
        desc(const dims &dimensions, data_type type, format_tag tag, bool allow_empty = false);

        /// Tensor with the given strides in elements (empty: dense, row-major).
        desc(const dims &dimensions, data_type type, const dims &strides, bool allow_empty = false);

        /// The part of this tensor that starts at `offsets`. Only for plain layouts.
        desc submemory_desc(const dims &dimensions, const dims &offsets, bool allow_empty = false) const;
        /// Returns a descriptor of the same elements under other dimensions. The layout must be dense and
        /// row-major, unless `dimensions` only adds or removes dimensions of size 1.
        desc reshape(const dims &dimensions, bool allow_empty = false) const;
        /// Dimension i of this tensor becomes dimension `permutation[i]` of the result; nothing moves in
        /// memory.
        desc permute_axes(const std::vector<int> &permutation, bool allow_empty = false) const;

        /// Bytes of a buffer that holds the tensor, rounded up to whole ones; 0 for the zero descriptor and
        /// for `any`, OCTET_RUNTIME_SIZE_VAL where a size comes with the execution.
        std::size_t get_size() const;
        /// Fields of `data`, in oneDNN 2.x's spelling and in 3.x's; strides mean something in plain layouts.
        ///@{
        memory::dims dims() const;
        memory::dims get_dims() const { return dims(); }
        memory::dims get_strides() const;
        int get_ndims() const { return data.ndims; }
        memory::data_type data_type() const { return data.data_type; }
        memory::data_type get_data_type() const { return data.data_type; }
        memory::format_kind get_format_kind() const { return data.format_kind; }
        ///@}
        bool is_zero() const { return data.ndims == 0; }      ///< no tensor
        explicit operator bool() const { return !is_zero(); } ///< a tensor
        /// "u8 1x64x56x56 nhwc"-like text, as used in messages and in verbose mode.
        std::string to_string() const;

        /// Equal tensors in equal layouts; the stride of a dimension of size 1 does not count.
        ///@{
        OCTET_API friend bool operator==(const desc &a, const desc &b);
        friend bool operator!=(const desc &a, const desc &b) { return !(a == b); }
        ///@}

        memory_desc data; ///< the description itself
    };

    memory() = default;
    /// Allocates a buffer, aligned to 64 bytes; contents undefined. `any` and null engines are refused.
    memory(const desc &d, const engine &e);
    /// Uses the caller's buffer of at least `d.get_size()` bytes (not owned; null may be set later).
    memory(const desc &d, const engine &e, void *handle);

    /// The constructor's arguments. All functions but `operator bool` throw `invalid_arguments` for a null
    /// handle.
    ///@{
    desc get_desc() const;
    engine get_engine() const;
    ///@}
    void *get_data_handle() const; ///< the buffer; null if it has none yet
    /// Uses another buffer of the caller's, for all copies of this handle; a buffer that was allocated here
    /// is freed.
    ///@{
    void set_data_handle(void *handle) const;
    void set_data_handle(void *handle, const stream &) const { set_data_handle(handle); }
    ///@}
    /// oneDNN's way to the elements: the buffer itself, which needs no unmapping.
    ///@{
    template <typename T = void> T *map_data() const { return static_cast<T *>(get_data_handle()); }
    void unmap_data(void *) const {}
    ///@}
    explicit operator bool() const { return static_cast<bool>(storage_); } ///< false for a null handle

private:
    struct storage;
    std::shared_ptr<storage> storage_;
};

} // namespace v0
} // namespace octet

/// Special handles for `memory(desc, engine, handle)`, as in oneDNN.
#define OCTET_MEMORY_NONE (nullptr)
#define OCTET_MEMORY_ALLOCATE (reinterpret_cast<void *>(~static_cast<::std::size_t>(0)))
