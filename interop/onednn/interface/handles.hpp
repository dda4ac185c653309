#pragma once // SPDX-License-Identifier: Apache-2.0

// Handles that clients hold: Octet's and the real library's go through the same functions. Ours begin with a
// word that no object of the real library begins with: its primitive descriptors begin with a pointer to a
// table of functions, which is a canonical address, its primitives and iterators with a bool and, in bytes 4
// to 7, a small number. The word is erased when the object is destroyed.

#include <cstdint>
#include <cstring>
#include <memory>

#include "octet/compat/dnnl_types.h"

#include "onednn/interface/problem.hpp"

namespace octet::onednn {

/// The first member of every object of ours.
template <unsigned char Kind> class tag {
public:
    tag() = default;
    tag(const tag &) {}
    tag &operator=(const tag &) { return *this; }
    ~tag() { *const_cast<volatile std::uint64_t *>(&word_) = 0; }

    static bool marks(const void *handle) {
        std::uint64_t first;
        std::memcpy(&first, handle, sizeof first);
        return first == value;
    }

private:
    static constexpr std::uint64_t value = 0xb5c3744f4f437000u | Kind;
    std::uint64_t word_ = value;
};

/// dnnl_primitive_desc_t.
struct taken_desc {
    onednn::tag<0x44> tag;
    std::shared_ptr<const problem> what;
};

/// dnnl_primitive_t. Its descriptor is the one that dnnl_primitive_get_primitive_desc lends.
struct taken_primitive {
    onednn::tag<0x52> tag;
    taken_desc desc;
    octet::primitive code;
};

/// dnnl_primitive_desc_iterator_t: Octet first, then, made when it is asked for, oneDNN's list.
struct taken_iterator {
    onednn::tag<0x49> tag;
    std::shared_ptr<const problem> what;
    dnnl_primitive_desc_iterator_t rest = nullptr; ///< the real library's iterator, after the first `next`
    bool at_end = false;
};

/// The object behind a handle if it is of type T, null if it is the real library's or null.
template <typename T, typename Handle> T *ours(Handle handle) {
    return handle && decltype(T::tag)::marks(handle)
               ? reinterpret_cast<T *>(const_cast<char *>(reinterpret_cast<const char *>(handle)))
               : nullptr;
}

/// The handle that a client gets.
template <typename Handle, typename T> Handle handle_of(T *object) {
    return reinterpret_cast<Handle>(object);
}

} // namespace octet::onednn
