// A cache of decisions in front of the decision itself. The key of a request has everything that decides:
// kind, tensors, parameters, attributes.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/interface/decision.hpp"

#include <list>
#include <mutex>
#include <unordered_map>

#include "octet/fork_guard.hpp"
#include "onednn/interface/behind.hpp"
#include "onednn/interface/failures.hpp"
#include "onednn/op_descs.hpp"
#include "onednn/preload/attributes.hpp"
#include "onednn/preload/policy.hpp"
#include "onednn/preload/real_library.hpp"
#include "onednn/preload/take.hpp"
#include "onednn/preload/tally.hpp"
#include "onednn/preload/threads.hpp"

namespace octet::onednn {
namespace {

/// Decisions by the bytes of their requests, as many as oneDNN keeps primitives, the least recently used dropped first.
class decision_cache {
public:
    bool find(const std::string &key, decision &found) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto entry = index_.find(key);
        if (entry == index_.end())
            return false;
        entries_.splice(entries_.begin(), entries_, entry->second);
        found = entry->second->second;
        return true;
    }

    void insert(const std::string &key, const decision &made) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (index_.count(key))
            return;
        entries_.emplace_front(key, made);
        index_.emplace(key, entries_.begin());
        if (entries_.size() > capacity) {
            index_.erase(entries_.back().first);
            entries_.pop_back();
        }
    }

private:
    static constexpr std::size_t capacity = 1024;
    using entry = std::pair<std::string, decision>;

    std::mutex mutex_;
    const fork_guard at_fork_{mutex_};
    std::list<entry> entries_; ///< most recently used first
    std::unordered_map<std::string, std::list<entry>::iterator> index_;
};

decision_cache &cache() {
    static decision_cache &all = *new decision_cache; // used until the last thread ends
    return all;
}

template <typename T> void append(std::string &key, const T &value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// Requests with equal keys get the same answer. The number of threads is a part of it: plans divide work among them.
std::string key_of(const request &r) {
    std::string key;
    key.reserve(2048);
    append(key, r.kind);
    append(key, r.engine);
    append(key, r.dst_engine);
    append(key, octet::get_num_threads());
    append_parameters(key, r);
    for (const named_tensor &tensor : tensors_of(r)) {
        append(key, tensor.arg);
        append_key(key, *tensor.md);
    }
    append(key, r.attr != nullptr);
    append_key(key, r.attr);
    return key;
}

bool runs_on_cpu(dnnl_engine_t engine) {
    dnnl_engine_kind_t kind = dnnl_any_engine;
    return engine && real().dnnl_engine_get_kind(engine, &kind) == dnnl_success && kind == dnnl_cpu;
}

/// Not Octet's: the real library's, unless it can't be.
decision not_taken(const request &r, bool was_candidate, const std::string &why) {
    if (has_packed_tensor(r)) {
        if (is_verbose())
            tell("refused: " + text_of(r) + ": " + why +
                 "; a tensor is packed by Octet, which oneDNN can't read");
        return {nullptr, dnnl_unimplemented, why};
    }
    const bool is_error = was_candidate && policy_in_force() == policy::only;
    if (is_verbose() || is_error)
        tell((is_error ? "refused (OCTET_DNNL=only): " : "falls back to oneDNN: ") + text_of(r) + ": " + why);
    return {nullptr, is_error ? dnnl_unimplemented : dnnl_success, why};
}

decision decide_anew(const request &r) {
    try {
        decision made{take(r), dnnl_success, {}};
        if (is_verbose())
            tell("taken: " + made.taken->pd.problem_str() + " " + made.taken->info);
        return made;
    } catch (const std::exception &e) { // onednn::refusal, octet::error
        return not_taken(r, true, e.what());
    }
}

decision decide_uncounted(const request &r) {
    if (!is_candidate(r))
        return not_taken(r, false, "no 8-bit source");
    if (!runs_on_cpu(r.engine) || (r.dst_engine && !runs_on_cpu(r.dst_engine)))
        return not_taken(r, false, "another engine than the CPU");
    static const bool threads_are_shared = (use_clients_threads(), true);
    (void)threads_are_shared;
    const std::string key = key_of(r);
    decision found;
    if (cache().find(key, found))
        return found;
    found = decide_anew(r);
    cache().insert(key, found);
    return found;
}

} // namespace

bool may_take() { return policy_in_force() != policy::off && real().is_known; }

decision decide(const request &r) noexcept {
    try {
        const decision made = decide_uncounted(r);
        if (is_tallied()) {
            const std::string text = text_of(r);
            tally(text.substr(0, text.find(' ')), made.reason);
        }
        return made;
    } catch (...) {
        return {nullptr, status_of_exception(), {}};
    }
}

/// Weights packed by Octet are read by nobody else.
bool can_serve_behind(const request &r) { return !has_packed_tensor(r); }

void report(const char *sentence) noexcept {
    if (is_verbose())
        tell(std::string("failed: ") + sentence);
}

} // namespace octet::onednn
