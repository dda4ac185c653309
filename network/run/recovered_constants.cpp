// The addresses are reserved once: pages that nobody has written take no memory.
// SPDX-License-Identifier: Apache-2.0
#include "network/run/recovered_constants.hpp"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <new>
#include <set>

#include "network/graph/file.hpp"
#include "network/run/plan.hpp"

namespace octet::model {
namespace {

/// The plan's own bytes of a constant that it reads as it is, or a copy.
shared_bytes kept(const shared_bytes &elements, const buffer &own) {
    if (own && own.is_shared() && own.get_desc().get_size() == elements.size()) {
        const auto owner = std::make_shared<const memory>(own.get_memory());
        if (std::memcmp(owner->get_data_handle(), elements.data(), elements.size()) == 0)
            return {owner, owner->get_data_handle(), elements.size()};
    }
    return aligned_copy(elements.data(), elements.size());
}

} // namespace

recovered_constants::recovered_constants(graph &source, const std::vector<std::shared_ptr<const plan>> &plans,
                                         packed_weights &weights) {
    std::multimap<const std::uint8_t *, std::shared_ptr<const packed_constant>> packed;
    std::set<const packed_constant *> seen; // plans share them
    for (const auto &p : plans)
        for (const auto &w : p->weights)
            if (can_be_unpacked(*w) && seen.insert(w.get()).second)
                packed.emplace(w->original.data(), w);
    constexpr std::size_t page = 4096;
    std::map<const std::uint8_t *, std::size_t> offsets; // of elements, by where they were
    for (const tensor &t : source.tensors)
        if (is_borrowed(t.data) && packed.count(t.data.data()) != 0 &&
            offsets.emplace(t.data.data(), bytes_).second)
            bytes_ += (t.data.size() + page - 1) / page * page;
    if (bytes_ != 0) {
        region_ =
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (region_ == MAP_FAILED)
            throw std::bad_alloc();
    }
    std::map<const std::uint8_t *, shared_bytes> replaced;
    for (std::size_t i = 0; i < source.tensors.size(); i++) {
        tensor &t = source.tensors[i];
        if (!is_borrowed(t.data))
            continue;
        const shared_bytes lent = t.data;
        const std::uint8_t *const was = lent.data();
        if (const auto found = replaced.find(was); found != replaced.end()) {
            t.data = found->second;
            continue;
        }
        if (const auto offset = offsets.find(was); offset != offsets.end()) {
            std::uint8_t *const elements = static_cast<std::uint8_t *>(region_) + offset->second;
            t.data = borrowed(elements, t.data.size());
            const auto [from, to] = packed.equal_range(was);
            constants_.push_back({from->second, elements});
            for (auto w = from; w != to; ++w)
                weights.add(saved_constant{t.data, w->second->plain, w->second->packed.get_desc(),
                                           shared_bytes(w->second, w->second->packed.get_data_handle(),
                                                        w->second->packed.get_desc().get_size())});
        } else {
            t.data = kept(t.data, plans.front()->buffers.at(i));
        }
        weights.move(lent, t.data);
        replaced.emplace(was, t.data);
    }
}

recovered_constants::~recovered_constants() {
    if (region_)
        munmap(region_, bytes_);
}

void recovered_constants::unpack() {
    for (const constant &c : constants_) {
        const engine &cpu = c.packed->packed.get_engine();
        memory plain(c.packed->plain, cpu, c.elements);
        stream s(cpu);
        reorder(c.packed->packed, plain).execute(s, const_cast<memory &>(c.packed->packed), plain);
        s.wait();
    }
}

void recovered_constants::drop() {
    if (region_)
        madvise(region_, bytes_, MADV_DONTNEED);
}

} // namespace octet::model
