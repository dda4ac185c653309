// Memory descriptors and buffers. A descriptor is a value that is checked where it is made: sizes that do not
// fit 64 bits, unknown dimensions and negative strides never get further. Views (submemory, reshape, permuted
// axes) only change the descriptor; where that cannot be done without moving data they say so.
//
// Buffers are aligned to 64 bytes, a cache line and the widest vector, so that no vector of an aligned tensor
// touches two lines.
// SPDX-License-Identifier: Apache-2.0
#include "octet/memory.hpp"

#include <algorithm>
#include <new>

#include "api/tensors/format_tag.hpp"
#include "api/tensors/memory_desc_checks.hpp"
#include "common/layout/layout.hpp"
#include "common/layout/runtime.hpp"
#include "common/names.hpp"
#include "common/text.hpp"

namespace octet {
inline namespace v0 {

using impl::throw_invalid;

std::size_t memory::data_type_size(data_type type) {
    switch (type) {
    case data_type::f32:
    case data_type::s32:
        return 4;
    case data_type::s16:
    case data_type::f16:
    case data_type::bf16:
        return 2;
    case data_type::s8:
    case data_type::u8:
    case data_type::s4:
    case data_type::u4:
    case data_type::s2:
    case data_type::u2:
        return 1;
    case data_type::undef:
        return 0;
    }
    throw_invalid("memory::data_type: value ", static_cast<int>(type),
                  ", allowed: ", impl::data_type_names());
}

namespace {

memory_desc checked_shape(const memory::dims &dimensions, data_type type) {
    memory_desc md;
    if (dimensions.empty() || dimensions.size() > static_cast<std::size_t>(max_ndims))
        throw_invalid("memory::desc: ", dimensions.size(), " dimensions, allowed: 1 to ", max_ndims);
    if (memory::data_type_size(type) == 0)
        throw_invalid("memory::desc: data_type undef, allowed: ", impl::data_type_names());
    md.ndims = static_cast<int>(dimensions.size());
    std::copy(dimensions.begin(), dimensions.end(), md.dims);
    md.data_type = type;
    for (int d = 0; d < md.ndims; d++)
        if (md.dims[d] < 0 && !impl::is_runtime(md.dims[d]))
            throw_invalid("memory::desc: dimension ", d, " is ", md.dims[d],
                          ", allowed: 0 and above, OCTET_RUNTIME_DIM_VAL");
    impl::element_count(impl::at_size(md, 1)); // throws on overflow
    return md;
}

/// Throws where the size overflows, and where a row begins within a byte.
void check_layout(const memory_desc &md) {
    impl::size_in_bytes(impl::at_size(md, 1));
    impl::check_bytes("memory::desc", "layout", md);
}

/// Returns what `make` does, or the zero descriptor if it throws and the caller allows that.
template <typename Make> memory::desc or_empty(bool allow_empty, Make make) {
    try {
        return make();
    } catch (const error &) {
        if (!allow_empty)
            throw;
        return {};
    }
}

} // namespace

memory::desc::desc(const memory::dims &dimensions, memory::data_type type, format_tag tag, bool allow_empty)
    : desc(or_empty(allow_empty, [&] {
          memory_desc md = checked_shape(dimensions, type);
          if (tag == format_tag::any) {
              md.format_kind = format_kind::any;
              return desc(md);
          }
          impl::set_layout(md, tag);
          check_layout(md);
          return desc(md);
      })) {}

memory::desc::desc(const memory::dims &dimensions, memory::data_type type, const memory::dims &strides,
                   bool allow_empty)
    : desc(or_empty(allow_empty, [&] {
          memory_desc md = checked_shape(dimensions, type);
          impl::set_row_major(md);
          if (strides.empty()) {
              check_layout(md);
              return desc(md);
          }
          if (strides.size() != dimensions.size())
              throw_invalid("memory::desc: ", strides.size(), " strides for ", dimensions.size(),
                            " dimensions");
          for (int d = 0; d < md.ndims; d++) {
              if (strides[d] < 0 && !impl::is_runtime(strides[d]))
                  throw_invalid("memory::desc: stride ", d, " is ", strides[d],
                                ", allowed: 0 and above, OCTET_RUNTIME_DIM_VAL");
              md.strides[d] = strides[d];
          }
          check_layout(md);
          return desc(md);
      })) {}

memory::desc memory::desc::submemory_desc(const memory::dims &dimensions, const memory::dims &offsets,
                                          bool allow_empty) const {
    return or_empty(allow_empty, [&] {
        impl::check_descriptor("submemory_desc", "descriptor", data);
        if (data.format_kind != format_kind::plain)
            throw_invalid("submemory_desc: layout ", impl::layout_name(data), ", allowed: plain layouts");
        if (static_cast<int>(dimensions.size()) != data.ndims ||
            static_cast<int>(offsets.size()) != data.ndims)
            throw_invalid("submemory_desc: ", dimensions.size(), " dims and ", offsets.size(),
                          " offsets for ", data.ndims, " dimensions");
        desc result = *this;
        for (int d = 0; d < data.ndims; d++) {
            if (dimensions[d] < 0 || offsets[d] < 0 || dimensions[d] > data.dims[d] ||
                offsets[d] > data.dims[d] - dimensions[d])
                throw_invalid("submemory_desc: dimension ", d, " from ", offsets[d], " with length ",
                              dimensions[d], ", allowed: inside 0 to ", data.dims[d]);
            result.data.dims[d] = dimensions[d];
            result.data.offset0 += offsets[d] * data.strides[d];
        }
        impl::check_bytes("submemory_desc", "result", result.data);
        return result;
    });
}

memory::desc memory::desc::reshape(const memory::dims &dimensions, bool allow_empty) const {
    return or_empty(allow_empty, [&] {
        impl::check_descriptor("reshape", "descriptor", data);
        desc result(checked_shape(dimensions, data.data_type));
        if (data.format_kind == format_kind::any) {
            result.data.format_kind = format_kind::any;
            return result;
        }
        if (impl::element_count(result.data) != impl::element_count(data))
            throw_invalid("reshape: ", impl::dims_text(data), " to ", impl::dims_text(result.data),
                          ", allowed: an equal number of elements");
        impl::set_row_major(result.data);
        result.data.offset0 = data.offset0;

        memory_desc dense = data;
        if (data.format_kind == format_kind::plain)
            impl::set_row_major(dense);
        bool row_major = data.format_kind == format_kind::plain;
        for (int d = 0; d < data.ndims; d++)
            row_major = row_major && (data.dims[d] == 1 || data.strides[d] == dense.strides[d]);
        if (row_major) {
            impl::check_bytes("reshape", "result", result.data);
            return result;
        }

        // Otherwise only dimensions of size 1 may come and go.
        int from = 0;
        for (int to = 0; to < result.data.ndims; to++) {
            if (result.data.dims[to] == 1)
                continue;
            while (from < data.ndims && data.dims[from] == 1)
                from++;
            if (data.format_kind != format_kind::plain || from == data.ndims ||
                data.dims[from] != result.data.dims[to])
                throw_invalid("reshape: ", impl::dims_text(data), " in layout ", impl::layout_name(data),
                              " to ", impl::dims_text(result.data),
                              ", allowed: row-major tensors, or adding dimensions of size 1");
            result.data.strides[to] = data.strides[from++];
        }
        impl::check_bytes("reshape", "result", result.data);
        return result;
    });
}

memory::desc memory::desc::permute_axes(const std::vector<int> &permutation, bool allow_empty) const {
    return or_empty(allow_empty, [&] {
        impl::check_description("permute_axes", "descriptor", data);
        std::vector<int> sorted = permutation;
        std::sort(sorted.begin(), sorted.end());
        for (int d = 0; d < data.ndims; d++)
            if (static_cast<int>(sorted.size()) != data.ndims || sorted[d] != d)
                throw_invalid("permute_axes: allowed is a permutation of 0 to ", data.ndims - 1);
        if (data.format_kind == format_kind::packed)
            throw_invalid("permute_axes: layout packed, allowed: plain layouts or any");
        desc result = *this;
        for (int d = 0; d < data.ndims; d++) {
            result.data.dims[permutation[d]] = data.dims[d];
            result.data.strides[permutation[d]] = data.strides[d];
        }
        return result;
    });
}

std::size_t memory::desc::get_size() const {
    if (impl::has_runtime_sizes(data)) {
        impl::check_description("memory::desc", "get_size", data);
        return OCTET_RUNTIME_SIZE_VAL;
    }
    impl::check_descriptor("memory::desc", "get_size", data);
    return impl::size_in_bytes(data);
}

namespace {

void check_ndims(const memory_desc &md) {
    if (md.ndims < 0 || md.ndims > max_ndims)
        throw_invalid("memory::desc: ndims is ", md.ndims, ", allowed: 0 to ", max_ndims);
}

} // namespace

memory::dims memory::desc::dims() const {
    check_ndims(data);
    return {data.dims, data.dims + data.ndims};
}
memory::dims memory::desc::get_strides() const {
    check_ndims(data);
    return {data.strides, data.strides + data.ndims};
}

std::string memory::desc::to_string() const {
    if (is_zero())
        return "none";
    check_ndims(data);
    std::string s = octet::to_string(data.data_type);
    return s + " " + impl::joined(data.dims, static_cast<std::size_t>(data.ndims)) + " " +
           impl::layout_name(data);
}

bool operator==(const memory::desc &a, const memory::desc &b) {
    const memory_desc &x = a.data, &y = b.data;
    check_ndims(x);
    if (x.ndims != y.ndims || x.data_type != y.data_type || x.format_kind != y.format_kind ||
        x.packed_kind != y.packed_kind || x.packed_groups != y.packed_groups ||
        x.packed_width != y.packed_width || !(x.packed_patches == y.packed_patches) ||
        !std::equal(x.packed_steps, x.packed_steps + 3, y.packed_steps) || x.offset0 != y.offset0 ||
        !std::equal(x.dims, x.dims + x.ndims, y.dims))
        return false;
    if (x.format_kind != format_kind::plain)
        return true;
    for (int d = 0; d < x.ndims; d++) // the stride of a dimension of size 1 is never used
        if (x.dims[d] != 1 && x.strides[d] != y.strides[d])
            return false;
    return true;
}

struct memory::storage {
    memory::desc description;
    octet::engine engine;
    void *handle = nullptr;
    bool owned = false;

    ~storage() {
        if (owned)
            ::operator delete (handle, std::align_val_t{64});
    }
};

memory::memory(const desc &d, const octet::engine &e, void *handle) {
    if (!e)
        throw_invalid("memory: engine is a null handle");
    impl::check_descriptor("memory", "descriptor", d.data);
    if (d.data.format_kind == format_kind::any)
        throw_invalid("memory: descriptor has layout any, allowed: a concrete layout");
    storage_ = std::make_shared<storage>();
    storage_->description = d;
    storage_->engine = e;
    storage_->handle = handle;
    if (handle != OCTET_MEMORY_ALLOCATE)
        return;
    storage_->handle = nullptr;
    try {
        storage_->handle = ::operator new (d.get_size(), std::align_val_t{64});
    } catch (const std::bad_alloc &) {
        throw error(status::out_of_memory,
                    impl::text("memory: cannot allocate ", d.get_size(), " bytes for ", d.to_string()));
    }
    storage_->owned = true;
}

memory::memory(const desc &d, const octet::engine &e) : memory(d, e, OCTET_MEMORY_ALLOCATE) {}

memory::desc memory::get_desc() const {
    if (!storage_)
        throw_invalid("memory::get_desc: null handle");
    return storage_->description;
}
engine memory::get_engine() const {
    if (!storage_)
        throw_invalid("memory::get_engine: null handle");
    return storage_->engine;
}
void *memory::get_data_handle() const {
    if (!storage_)
        throw_invalid("memory::get_data_handle: null handle");
    return storage_->handle;
}
void memory::set_data_handle(void *handle) const {
    if (!storage_)
        throw_invalid("memory::set_data_handle: null handle");
    if (storage_->owned)
        ::operator delete (storage_->handle, std::align_val_t{64});
    storage_->owned = false;
    storage_->handle = handle;
}

} // namespace v0
} // namespace octet
