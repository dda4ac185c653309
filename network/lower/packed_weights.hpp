#pragma once // SPDX-License-Identifier: Apache-2.0

// Constants in the layouts that primitives chose. All plans of a network share them, so a plan for other sizes
// packs only what its primitives want in another layout; and they are packed while the next nodes are lowered.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "network/graph/graph.hpp"
#include "network/lower/jobs.hpp"
#include "network/lower/weight_memory.hpp"
#include "octet/fork_guard.hpp"

namespace octet::model {

/// A constant in a layout. It holds the original's bytes, too, by which it is found.
struct packed_constant {
    shared_bytes original;
    memory::desc plain; ///< of the original
    memory packed;
    std::shared_ptr<const void> owner; ///< of the packed bytes, where `packed` only sees them
};

/// Constants of one node together, in a form of its step's own.
struct joint_constants {
    std::vector<shared_bytes> originals; ///< by which it is found, and `form`; some may be empty
    std::string form;
    std::shared_ptr<void> bytes; ///< at a multiple of 64
    std::size_t size;
};

/// A packed constant of a file: the layouts are what the file says and only good for comparisons.
struct saved_constant {
    shared_bytes original; ///< by which it is found
    memory::desc plain, chosen;
    shared_bytes packed; ///< aligned to 64 bytes
};

/// The packed constants that some plan uses. May be used by several threads.
class packed_weights {
public:
    packed_weights() = default;
    /// Begins with the packed constants of a saved plan.
    explicit packed_weights(const std::vector<saved_constant> &saved);

    /// Null if it is not there.
    std::shared_ptr<const packed_constant> find(const shared_bytes &original, const memory::desc &plain,
                                                const memory::desc &chosen) const;
    /// Whether a constant is there, in whatever layout.
    bool has(const shared_bytes &original) const;
    /// For as long as a plan holds it.
    void add(const std::shared_ptr<const packed_constant> &constant);
    void add(const saved_constant &constant);

    /// The same for several constants together.
    ///@{
    std::shared_ptr<joint_constants> find(const std::vector<shared_bytes> &originals,
                                          const std::string &form) const;
    void add(const std::shared_ptr<joint_constants> &constants);
    ///@}
    /// Lets those that are found by the first bytes be found by the second, which have the same elements.
    void move(const shared_bytes &was, const shared_bytes &now);

    /// A copy of a constant that somebody lends, one for all plans.
    shared_bytes copy_of(const shared_bytes &lent);
    /// Lenders may put other elements at their addresses from now on; plans keep their copies.
    void forget_lent();

private:
    mutable std::mutex mutex_;
    const fork_guard at_fork_{mutex_};
    std::multimap<const std::uint8_t *, std::weak_ptr<const packed_constant>> constants_; ///< by the original
    std::size_t crowd_ = 64; ///< so many may have expired before they are dropped
    std::vector<std::weak_ptr<joint_constants>> joint_;
    std::multimap<const std::uint8_t *, saved_constant> saved_;                   ///< by the original
    std::map<std::pair<const std::uint8_t *, std::size_t>, shared_bytes> copies_; ///< by what was lent
};

/// Whether all elements of the original can be had from the packed ones, and the elements.
///@{
bool can_be_unpacked(const packed_constant &constant);
shared_bytes unpacked(const packed_constant &constant);
///@}

/// The constants that one plan packs, a job for each. Originals in mapped files take no memory afterwards.
class packing {
public:
    /// About so many bytes will be packed. Without `is_allowed` there must be a saved one for each.
    packing(packed_weights &shared, jobs &work, std::size_t expected, bool is_allowed = true);

    /// The constant in layout `chosen`, whose bytes are there when the jobs are finished.
    std::shared_ptr<const packed_constant> get(const shared_bytes &original, const memory::desc &plain,
                                               const memory::desc &chosen);
    /// Constants together, in `size` bytes that `fill` writes on one thread.
    std::shared_ptr<const joint_constants> get(const std::vector<shared_bytes> &originals,
                                               const std::string &form, std::size_t size,
                                               const std::function<void(void *)> &fill);
    std::size_t bytes() const { return bytes_; } ///< of all that was asked for, in their layouts
    shared_bytes copy_of(const shared_bytes &lent) { return shared_.copy_of(lent); } ///< as there
    /// The constants that were asked for, in that order, each once.
    const std::vector<std::shared_ptr<const packed_constant>> &used() const { return used_; }
    const std::vector<std::shared_ptr<const joint_constants>> &used_jointly() const { return used_jointly_; }

    /// Lets other plans have them, when the jobs are finished: who finds one finds it packed.
    void share();

private:
    packed_weights &shared_;
    jobs &work_;
    const bool is_allowed_;
    weight_memory memory_;
    packed_weights own_; ///< also what is not packed yet
    std::size_t bytes_ = 0;
    std::vector<std::shared_ptr<const packed_constant>> used_, new_;
    std::vector<std::shared_ptr<const joint_constants>> used_jointly_;
    std::vector<std::shared_ptr<joint_constants>> new_jointly_;
};

} // namespace octet::model
