// A map and a list in order of use under one lock; kernels are made outside of it.
// SPDX-License-Identifier: Apache-2.0
#include "api/primitive_cache.hpp"

#include <list>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "common/environment.hpp"
#include "common/keys_in_work.hpp"
#include "cpu/machine/parallel.hpp"
#include "octet/fork_guard.hpp"
#include "octet/primitive_cache.hpp"
#include "octet/settings.hpp"

namespace octet {

namespace impl {
namespace {

/// A list in order of use and an index into it, behind one lock that is held for a lookup or an insertion and
/// never while a kernel is made, which takes some hundred microseconds.
class primitive_cache {
public:
    static primitive_cache &instance() {
        static primitive_cache cache;
        return cache;
    }

    /// Null if the caller is to make it, and to say so by `insert` or `give_up`.
    std::shared_ptr<const kernel> find(const std::string &key) {
        std::unique_lock<std::mutex> lock(mutex_);
        being_made_.wait_for(lock, key);
        const auto found = index_.find(key);
        (found == index_.end() ? misses_ : hits_)++;
        if (found == index_.end()) {
            if (capacity_ > 0)
                being_made_.begin(key);
            return nullptr;
        }
        entries_.splice(entries_.begin(), entries_, found->second);
        return found->second->code;
    }

    void insert(const std::string &key, const std::shared_ptr<const kernel> &code) {
        const std::size_t bytes = code->size_bytes() + key.size() + sizeof(entry);
        const std::lock_guard<std::mutex> lock(mutex_);
        // Larger than all of the cache: it would push out every other kernel and then itself.
        if (bytes <= capacity_ && index_.count(key) == 0) {
            entries_.push_front({key, code, bytes});
            index_[entries_.front().key] = entries_.begin();
            bytes_ += bytes;
            shrink();
        }
        being_made_.end(key);
    }

    void give_up(const std::string &key) {
        const std::lock_guard<std::mutex> lock(mutex_);
        being_made_.end(key);
    }

    void set_capacity(std::size_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        capacity_ = bytes;
        shrink();
    }
    std::size_t capacity() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return capacity_;
    }
    primitive_cache_usage usage() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return {entries_.size(), bytes_, hits_, misses_};
    }

private:
    struct entry {
        std::string key;
        std::shared_ptr<const kernel> code;
        std::size_t bytes;
    };

    void shrink() {
        while (bytes_ > capacity_) {
            bytes_ -= entries_.back().bytes;
            index_.erase(entries_.back().key);
            entries_.pop_back();
        }
    }

    static constexpr std::int64_t default_capacity = 64 << 20;

    std::mutex mutex_;
    keys_in_work<std::string> being_made_;
    std::list<entry> entries_;                                               ///< most recently used first
    std::unordered_map<std::string_view, std::list<entry>::iterator> index_; ///< by the entries' own keys
    std::size_t bytes_ = 0;
    std::uint64_t hits_ = 0, misses_ = 0;
    std::size_t capacity_ = static_cast<std::size_t>(
        environment_number("OCTET_PRIMITIVE_CACHE_CAPACITY", 0, std::int64_t{1} << 40, default_capacity));
    const fork_guard at_fork_{mutex_, [this](fork_guard::process where) {
                                  if (where == fork_guard::process::child)
                                      being_made_.forget();
                              }};
};

} // namespace

std::shared_ptr<const kernel> cached_kernel(const std::string &key,
                                            const std::function<std::shared_ptr<const kernel>()> &create) {
    primitive_cache &cache = primitive_cache::instance();
    if (std::shared_ptr<const kernel> found = cache.find(key))
        return found;
    try {
        const sequential_scope alone;
        auto made = create();
        cache.insert(key, made);
        return made;
    } catch (...) {
        cache.give_up(key);
        throw;
    }
}

} // namespace impl

inline namespace v0 {

void set_primitive_cache_capacity(std::size_t bytes) {
    impl::primitive_cache::instance().set_capacity(bytes);
}
primitive_cache_usage get_primitive_cache_usage() { return impl::primitive_cache::instance().usage(); }
std::size_t get_primitive_cache_capacity() { return impl::primitive_cache::instance().capacity(); }

} // namespace v0
} // namespace octet
