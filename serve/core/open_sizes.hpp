#pragma once // SPDX-License-Identifier: Apache-2.0

// Memory for plans in sizes that requests choose. All models of the process share it: together they take no
// more than one of them may.

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <set>

#include "core/usable_memory.hpp"

namespace octet::serve {

/// A model that keeps plans in such sizes for the next request.
class keeps_plans {
public:
    virtual ~keeps_plans() = default;
    virtual void drop_idle_plans() = 0;
};

class open_sizes {
public:
    static open_sizes &of_process() {
        static open_sizes one;
        return one;
    }

    /// A model whose plans may take up to `limit` bytes, until `remove`.
    void add(keeps_plans *model, std::size_t limit) {
        const std::lock_guard<std::mutex> models(models_mutex_);
        models_.insert(model);
        const std::lock_guard<std::mutex> lock(mutex_);
        most_ = std::max({most_, limit, usable_memory() / 4});
    }
    void remove(keeps_plans *model) {
        const std::lock_guard<std::mutex> models(models_mutex_);
        models_.erase(model);
    }
    std::size_t taken() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return taken_;
    }
    /// Returns the bytes that plans may still take; 0 if no model has open sizes.
    std::size_t left() {
        const std::lock_guard<std::mutex> models(models_mutex_);
        const std::lock_guard<std::mutex> lock(mutex_);
        return models_.empty() ? 0 : most_ - taken_;
    }

    /// The bytes of a plan, given back with the object. Without room, plans that wait for another request of
    /// their sizes make some.
    class share {
    public:
        explicit share(std::size_t bytes) {
            open_sizes &all = of_process();
            if (!all.take(bytes)) {
                all.drop_idle_plans();
                if (!all.take(bytes))
                    return;
            }
            bytes_ = bytes;
            has_room_ = true;
        }
        ~share() {
            const std::lock_guard<std::mutex> lock(of_process().mutex_);
            of_process().taken_ -= bytes_;
        }
        share(const share &) = delete;
        share &operator=(const share &) = delete;
        bool has_room() const { return has_room_; }

    private:
        std::size_t bytes_ = 0;
        bool has_room_ = false;
    };

private:
    bool take(std::size_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const bool fits = bytes <= most_ && taken_ <= most_ - bytes;
        taken_ += fits ? bytes : 0;
        return fits;
    }
    void drop_idle_plans() {
        const std::lock_guard<std::mutex> models(models_mutex_);
        for (keeps_plans *m : models_)
            m->drop_idle_plans();
    }

    std::mutex models_mutex_; ///< guards `models_`; locked before the other mutex and those of models
    std::set<keeps_plans *> models_;
    std::mutex mutex_; ///< guards the members below
    std::size_t most_ = 0, taken_ = 0;
};

} // namespace octet::serve
