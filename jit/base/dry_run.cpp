// Counts are remembered under a bounded number of keys.
// SPDX-License-Identifier: Apache-2.0
#include "jit/base/dry_run.hpp"

#include <mutex>
#include <optional>
#include <unordered_map>

#include "jit/base/key.hpp"
#include "octet/fork_guard.hpp"

namespace octet::impl::jit {

namespace {

constexpr std::size_t most_remembered = 1 << 12; // then all are forgotten: they can be counted again

class remembered_counts {
public:
    std::optional<int> find(const std::string &key) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = counts_.find(key);
        return found == counts_.end() ? std::nullopt : std::optional<int>(found->second);
    }
    void insert(const std::string &key, int count) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (counts_.size() == most_remembered)
            counts_.clear();
        counts_.emplace(key, count);
    }

private:
    std::mutex mutex_;
    const fork_guard at_fork_{mutex_};
    std::unordered_map<std::string, int> counts_;
};

} // namespace

int count_registers(instruction_set isa, const std::string &key, const std::function<void(emitter &)> &emit) {
    static remembered_counts counts;
    const std::string whole_key = key_writer().add(isa).key() + key;
    if (const std::optional<int> known = counts.find(whole_key))
        return *known;
    emitter dry(isa, emitter::purpose::dry_run);
    emit(dry);
    counts.insert(whole_key, dry.most_taken_vecs());
    return dry.most_taken_vecs();
}

} // namespace octet::impl::jit
