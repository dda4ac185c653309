#pragma once // SPDX-License-Identifier: Apache-2.0

// Bytes that nobody changes and many may hold: a graph is copied without its weights, and weights can lie
// where they were found, in a mapped file or in a buffer of the caller's.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace octet {
inline namespace v0 {
namespace model {

/// A range of immutable bytes and a share in what keeps them there. A light value; copies see the same bytes
/// and may be used by several threads.
class shared_bytes {
public:
    using value_type = std::uint8_t;             ///< as a container needs it
    using const_iterator = const std::uint8_t *; ///< as a container needs it
    using iterator = const_iterator;             ///< nothing is written through it

    shared_bytes() = default; ///< none
    /// Takes over a vector's bytes. Implicit, so that a constant can be filled like a vector.
    shared_bytes(std::vector<std::uint8_t> bytes) {
        const auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
        data_ = owner->data();
        size_ = owner->size();
        owner_ = owner;
    }
    /// `size` bytes from `data`, which stay there as long as `owner` lives. They need no alignment.
    shared_bytes(std::shared_ptr<const void> owner, const void *data, std::size_t size)
        : owner_(std::move(owner)), data_(static_cast<const std::uint8_t *>(data)), size_(size) {}

    const std::uint8_t *data() const { return data_; }                  ///< the first byte
    std::size_t size() const { return size_; }                          ///< in bytes
    bool empty() const { return size_ == 0; }                           ///< no bytes
    const_iterator begin() const { return data_; }                      ///< the first byte
    const_iterator end() const { return data_ + size_; }                ///< behind the last one
    std::uint8_t operator[](std::size_t i) const { return data_[i]; }   ///< one byte, unchecked
    const std::shared_ptr<const void> &owner() const { return owner_; } ///< null only if there are no bytes
    std::vector<std::uint8_t> copy() const { return {begin(), end()}; } ///< bytes that can be changed
    /// A range of these bytes with the same owner, unchecked.
    shared_bytes part(std::size_t offset, std::size_t size) const { return {owner_, data_ + offset, size}; }

    /// Compare the bytes.
    ///@{
    friend bool operator==(const shared_bytes &a, const shared_bytes &b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
    friend bool operator!=(const shared_bytes &a, const shared_bytes &b) { return !(a == b); }
    ///@}

private:
    std::shared_ptr<const void> owner_;
    const std::uint8_t *data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace model
} // namespace v0
} // namespace octet
