#pragma once

// Constants in the layouts that primitives chose. All plans of a network share them, so a plan for other sizes
// packs only what its primitives want in another layout; and they are packed while the next nodes are lowered.

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "network/graph/graph.hpp"

namespace octet::model {

/// A constant in a layout. It holds the original's bytes, too, by which it is found.
struct packed_constant {
    shared_bytes original;
    memory::desc plain; ///< of the original
    memory packed;
    std::shared_ptr<const void> owner; ///< of the packed bytes, where `packed` only sees them
};

/// A packed constant of a file: the layouts are what the file says and only good for comparisons.
struct saved_constant {
    shared_bytes original; ///< by which it is found
    memory::desc plain, chosen;
    shared_bytes packed; ///< aligned to 64 bytes
};

/// What some plan uses. May be used by several threads.
class packed_weights {
public:
    packed_weights() = default;
    /// With those of a saved plan.
    explicit packed_weights(const std::vector<saved_constant> &saved);

    /// Null if it is not there.
    std::shared_ptr<const packed_constant> find(const shared_bytes &original, const memory::desc &plain,
                                                const memory::desc &chosen) const;
    /// For as long as a plan holds it.
    void add(const std::shared_ptr<const packed_constant> &constant);
    void add(const saved_constant &constant);

private:
    mutable std::mutex mutex_;
    std::multimap<const std::uint8_t *, std::weak_ptr<const packed_constant>> constants_; ///< by the original
    std::size_t crowd_ = 64; ///< so many may have expired before they are dropped
    std::multimap<const std::uint8_t *, saved_constant> saved_; ///< by the original
};

/// Whether all elements of the original can be had from the packed ones, and the elements.
///@{
bool can_be_unpacked(const packed_constant &constant);
shared_bytes unpacked(const packed_constant &constant);
///@}

/// What one plan packs. Helpers, one less than threads, pack what is asked for while their caller goes on. Originals
/// in mapped files take no memory afterwards.
class packing {
public:
    /// Who packs: threads beside the caller's from the first constant on; all from `finish` on, so that one can ask for
    /// `bytes` before; or nobody, since there must be a saved one for each.
    enum class work { immediate, later, none };
    explicit packing(packed_weights &shared, work w = work::immediate);
    ~packing();
    packing(const packing &) = delete;
    packing &operator=(const packing &) = delete;

    /// The constant in layout `chosen`, whose bytes are there after `finish`.
    std::shared_ptr<const packed_constant> get(const shared_bytes &original, const memory::desc &plain,
                                               const memory::desc &chosen);
    std::size_t bytes() const { return bytes_; } ///< of all that was asked for, in their layouts
    /// What was asked for, in that order, each once.
    const std::vector<std::shared_ptr<const packed_constant>> &used() const { return used_; }

    /// Comes once, after the last `get`. `report` gets the part that is done, 1 in the end. Throws what packing or
    /// `report` threw.
    void finish(const std::function<void(double)> &report = {});

private:
    std::shared_ptr<const packed_constant> next(bool waits);
    void pack(const packed_constant &c);
    double part_taken();
    bool start_helper();
    void help();
    void stop();

    packed_weights &shared_;
    packed_weights own_; ///< also what is not packed yet
    const work work_;
    const std::size_t most_helpers_;
    std::size_t bytes_ = 0;
    std::vector<std::shared_ptr<const packed_constant>> used_;
    std::vector<std::thread> helpers_;

    std::mutex mutex_; ///< of the members below
    std::condition_variable changed_;
    std::vector<std::shared_ptr<const packed_constant>> asked_;
    std::size_t next_ = 0; ///< the first that nobody packs yet
    bool is_stopped_ = false;
    std::exception_ptr failure_;
};

} // namespace octet::model
