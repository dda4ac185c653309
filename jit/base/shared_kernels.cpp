// One table of weak pointers. Those of kernels that are gone are dropped whenever it has doubled.
// SPDX-License-Identifier: Apache-2.0
#include "jit/base/shared_kernels.hpp"

#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "common/keys_in_work.hpp"
#include "octet/fork_guard.hpp"

namespace octet::impl::jit {
namespace {

class kernel_table {
public:
    using name = std::pair<std::type_index, std::string>;

    /// Primitives of static objects may be made and go after it would, so it stays.
    static kernel_table &instance() {
        static kernel_table *const table = new kernel_table;
        return *table;
    }

    /// Null if the caller is to make it, and to end that.
    std::shared_ptr<const void> find(const name &wanted) {
        std::unique_lock<std::mutex> lock(mutex_);
        being_made_.wait_for(lock, wanted);
        const auto entry = kernels_.find(wanted);
        std::shared_ptr<const void> found = entry == kernels_.end() ? nullptr : entry->second.lock();
        if (!found)
            being_made_.begin(wanted);
        return found;
    }

    /// Null where it could not be made.
    void end(const name &wanted, const std::shared_ptr<const void> &made) {
        const std::lock_guard<std::mutex> lock(mutex_);
        being_made_.end(wanted); // first: the table may find no memory
        if (!made)
            return;
        if (kernels_.size() >= crowd_)
            drop_those_gone();
        kernels_.insert_or_assign(wanted, made);
    }

private:
    void drop_those_gone() {
        for (auto i = kernels_.begin(); i != kernels_.end();)
            i = i->second.expired() ? kernels_.erase(i) : std::next(i);
        crowd_ = 2 * kernels_.size() + 64;
    }

    std::mutex mutex_;
    std::map<name, std::weak_ptr<const void>> kernels_;
    std::size_t crowd_ = 64;
    keys_in_work<name> being_made_;
    const fork_guard at_fork_{mutex_, [this](fork_guard::process where) {
                                  if (where == fork_guard::process::child)
                                      being_made_.forget();
                              }};
};

} // namespace

std::shared_ptr<const void> find_or_make_kernel(std::type_index kernel_class, const std::string &key,
                                                const std::function<std::shared_ptr<const void>()> &make) {
    kernel_table &table = kernel_table::instance();
    const kernel_table::name wanted(kernel_class, key);
    if (std::shared_ptr<const void> found = table.find(wanted))
        return found;
    std::shared_ptr<const void> made;
    try {
        made = make();
    } catch (...) {
        table.end(wanted, nullptr);
        throw;
    }
    table.end(wanted, made);
    return made;
}

} // namespace octet::impl::jit
