#pragma once // SPDX-License-Identifier: Apache-2.0

// Keys and values of one sequence: one range of addresses, in which each cache has room for the longest
// sequence. Only pages with tokens take memory. Sequences with a common beginning map one file of memory
// privately: the system copies the pages that one of them writes.

#include <memory>
#include <vector>

#include "octet/decoder.hpp"

namespace octet::model {

/// Where the caches of a sequence lie. Groups of a cache begin with a page.
class past_layout {
public:
    struct cache {
        dim_t groups;          ///< of heads
        std::size_t row_bytes; ///< of one token in a group
        std::size_t offset;    ///< of the cache
    };

    /// A multiple of `rows_of_pages` of each cache.
    explicit past_layout(dim_t capacity) : capacity_(capacity) {}
    void add(dim_t groups, std::size_t row_bytes);

    dim_t capacity() const { return capacity_; }
    const std::vector<cache> &caches() const { return caches_; }
    std::size_t group_bytes(const cache &c) const {
        return static_cast<std::size_t>(capacity_) * c.row_bytes;
    }
    std::size_t bytes() const { return bytes_; }       ///< of a full sequence
    std::size_t bytes_of(dim_t tokens) const;          ///< in whole pages
    static dim_t rows_of_pages(std::size_t row_bytes); ///< the fewest that fill pages
    static std::size_t whole_pages(std::size_t bytes); ///< rounded up

private:
    dim_t capacity_;
    std::vector<cache> caches_;
    std::size_t bytes_ = 0;
};

class sequence_memory {
public:
    /// Throws octet::error with status out_of_memory.
    explicit sequence_memory(std::shared_ptr<const past_layout> layout);
    ~sequence_memory();
    sequence_memory(const sequence_memory &) = delete;
    sequence_memory &operator=(const sequence_memory &) = delete;

    const std::shared_ptr<const past_layout> &layout() const { return layout_; }
    std::uint8_t *cache(std::size_t i) const { return first_ + layout_->caches()[i].offset; }

    dim_t size() const { return size_; }
    /// So many tokens have been written behind the present ones.
    void append(dim_t tokens);
    void truncate(dim_t size);
    std::unique_ptr<sequence_memory> fork();

private:
    /// A file of memory that nobody writes any more.
    class frozen;

    void freeze();
    void map_frozen();

    std::shared_ptr<const past_layout> layout_;
    std::uint8_t *first_ = nullptr;
    dim_t size_ = 0;
    std::shared_ptr<const frozen> frozen_; ///< null: nothing is shared
    bool is_as_frozen_ = false;            ///< all tokens are in it
};

} // namespace octet::model
