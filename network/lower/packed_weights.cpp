// Finds a constant by its bytes and layout; packs it when the first primitive asks for it, and keeps it for all others.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/packed_weights.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "network/graph/descs.hpp"
#include "network/graph/file.hpp"

namespace octet::model {
namespace {

/// Smaller ones lie on pages with their neighbours.
constexpr std::size_t bytes_of_own_pages = std::size_t{1} << 15;

bool is_same(const shared_bytes &a, const shared_bytes &b) {
    return a.data() == b.data() && a.size() == b.size();
}

bool are_same(const std::vector<shared_bytes> &a, const std::vector<shared_bytes> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const shared_bytes &x, const shared_bytes &y) { return is_same(x, y); });
}

bool is_same(const packed_constant &c, const shared_bytes &original, const memory::desc &plain,
             const memory::desc &chosen) {
    return is_same(c.original, original) && c.plain == plain && c.packed.get_desc() == chosen;
}

} // namespace

packed_weights::packed_weights(const std::vector<saved_constant> &saved) {
    for (const saved_constant &s : saved)
        add(s);
}

void packed_weights::add(const saved_constant &constant) {
    const std::lock_guard<std::mutex> lock(mutex_);
    saved_.emplace(constant.original.data(), constant);
}

std::shared_ptr<const packed_constant> packed_weights::find(const shared_bytes &original,
                                                            const memory::desc &plain,
                                                            const memory::desc &chosen) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [first, last] = constants_.equal_range(original.data());
    for (auto i = first; i != last; ++i)
        if (const auto constant = i->second.lock(); constant && is_same(*constant, original, plain, chosen))
            return constant;
    const auto [first_saved, last_saved] = saved_.equal_range(original.data());
    for (auto i = first_saved; i != last_saved; ++i) {
        const saved_constant &s = i->second;
        if (s.original.size() == original.size() && s.plain == plain && s.chosen == chosen &&
            s.packed.size() == chosen.get_size())
            return std::make_shared<const packed_constant>(
                packed_constant{original, plain,
                                memory(chosen, engine(engine::kind::cpu, 0),
                                       const_cast<std::uint8_t *>(s.packed.data())), // nothing writes it
                                s.packed.owner()});
    }
    return nullptr;
}

bool packed_weights::has(const shared_bytes &original) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [first, last] = constants_.equal_range(original.data());
    return saved_.count(original.data()) != 0 ||
           std::any_of(first, last, [](const auto &entry) { return !entry.second.expired(); }) ||
           std::any_of(joint_.begin(), joint_.end(), [&](const auto &entry) {
               const auto c = entry.lock();
               return c && std::any_of(c->originals.begin(), c->originals.end(),
                                       [&](const shared_bytes &o) { return o.data() == original.data(); });
           });
}

std::shared_ptr<joint_constants> packed_weights::find(const std::vector<shared_bytes> &originals,
                                                      const std::string &form) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto &entry : joint_)
        if (const auto c = entry.lock(); c && are_same(c->originals, originals) && c->form == form)
            return c;
    return nullptr;
}

void packed_weights::add(const std::shared_ptr<joint_constants> &constants) {
    const std::lock_guard<std::mutex> lock(mutex_);
    joint_.erase(std::remove_if(joint_.begin(), joint_.end(), [](const auto &e) { return e.expired(); }),
                 joint_.end());
    joint_.push_back(constants);
}

void packed_weights::move(const shared_bytes &was, const shared_bytes &now) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto &entry : joint_)
        if (const auto c = entry.lock())
            for (shared_bytes &original : c->originals)
                if (is_same(original, was))
                    original = now;
}

void packed_weights::add(const std::shared_ptr<const packed_constant> &constant) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (constants_.size() >= crowd_) {
        for (auto i = constants_.begin(); i != constants_.end();)
            i = i->second.expired() ? constants_.erase(i) : std::next(i);
        crowd_ = 2 * constants_.size() + 64;
    }
    constants_.emplace(constant->original.data(), constant);
}

shared_bytes packed_weights::copy_of(const shared_bytes &lent) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::pair<const std::uint8_t *, std::size_t> key(lent.data(), lent.size());
    if (const auto found = copies_.find(key); found != copies_.end())
        return found->second;
    return copies_.emplace(key, aligned_copy(lent.data(), lent.size())).first->second;
}

void packed_weights::forget_lent() {
    const std::lock_guard<std::mutex> lock(mutex_);
    copies_.clear();
}

bool can_be_unpacked(const packed_constant &c) {
    const auto elements = static_cast<std::size_t>(element_count(c.plain.dims()));
    return c.plain.get_size() == c.original.size() &&
           elements * memory::data_type_size(c.plain.data_type()) == c.original.size();
}

shared_bytes unpacked(const packed_constant &c) {
    if (!can_be_unpacked(c))
        refuse("packed weights of " + std::to_string(c.original.size()) +
               " bytes do not hold all elements of their tensor");
    memory plain(c.plain, c.packed.get_engine());
    stream s(c.packed.get_engine());
    reorder(c.packed, plain).execute(s, c.packed, plain);
    s.wait();
    const auto owner = std::make_shared<const memory>(plain);
    return {owner, owner->get_data_handle(), c.original.size()};
}

namespace {

/// Asks for the memory of a constant at once, since all of it will be written: that takes two thirds of the time of
/// a fault for each page. Older systems refuse.
void take_pages(const void *packed, std::size_t size) {
#ifdef MADV_POPULATE_WRITE
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(packed);
    const std::uintptr_t begin = (first + page - 1) / page * page, end = (first + size) / page * page;
    if (end > begin && end - begin >= bytes_of_own_pages)
        madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_WRITE);
#else
    static_cast<void>(packed), static_cast<void>(size);
#endif
}

/// What is packed is read no more.
void release_original(const shared_bytes &original) {
    if (original.size() >= bytes_of_own_pages)
        release_pages(original);
}

void pack(const packed_constant &c) {
    const num_threads_scope alone(1); // threads share the constants, not the parts of one
    const memory original = constant_memory(c.plain, c.original);
    take_pages(c.packed.get_data_handle(), c.packed.get_desc().get_size());
    stream s(c.packed.get_engine());
    reorder(original, c.packed).execute(s, original, c.packed);
    s.wait();
    release_original(c.original);
}

void pack(const joint_constants &c, const std::function<void(void *)> &fill) {
    const num_threads_scope alone(1);
    take_pages(c.bytes.get(), c.size);
    fill(c.bytes.get());
    std::for_each(c.originals.begin(), c.originals.end(), release_original);
}

} // namespace

packing::packing(packed_weights &shared, jobs &work, std::size_t expected, bool is_allowed)
    : shared_(shared), work_(work), is_allowed_(is_allowed), memory_(expected) {}

std::shared_ptr<const packed_constant> packing::get(const shared_bytes &original, const memory::desc &plain,
                                                    const memory::desc &chosen) {
    if (auto constant = own_.find(original, plain, chosen))
        return constant;
    bytes_ += chosen.get_size();
    auto constant = shared_.find(original, plain, chosen);
    const bool is_new = !constant;
    if (is_new && !is_allowed_)
        refuse("the weights are saved in other layouts than the primitives of this library choose; save the "
               "network again");
    if (is_new) {
        const std::shared_ptr<void> bytes = memory_.take(chosen.get_size());
        constant = std::make_shared<const packed_constant>(packed_constant{
            original, plain, memory(chosen, engine(engine::kind::cpu, 0), bytes.get()), bytes});
    }
    own_.add(constant);
    used_.push_back(constant);
    if (is_new) {
        new_.push_back(constant);
        work_.add([constant] { pack(*constant); });
    }
    return constant;
}

std::shared_ptr<const joint_constants> packing::get(const std::vector<shared_bytes> &originals,
                                                    const std::string &form, std::size_t size,
                                                    const std::function<void(void *)> &fill) {
    if (const auto constants = own_.find(originals, form))
        return constants;
    bytes_ += size;
    auto constants = shared_.find(originals, form);
    if (!constants) {
        constants =
            std::make_shared<joint_constants>(joint_constants{originals, form, memory_.take(size), size});
        new_jointly_.push_back(constants);
        work_.add([constants, fill] { pack(*constants, fill); });
    }
    own_.add(constants);
    used_jointly_.push_back(constants);
    return constants;
}

void packing::share() {
    for (const auto &constant : new_)
        shared_.add(constant);
    for (const auto &constants : new_jointly_)
        shared_.add(constants);
}

} // namespace octet::model
