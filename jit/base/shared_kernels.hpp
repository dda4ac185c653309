#pragma once

// Kernels by what decides their code: shared by all primitives that need the same code, dropped when none
// does.

#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <xbyak/xbyak.h>

#include "octet/error.hpp"

namespace octet::impl::jit {

template <typename Kernel> class shared_kernels {
public:
    /// The kernel of this key, made by `make()` unless it exists.
    template <typename Make> std::shared_ptr<const Kernel> get(const std::string &key, const Make &make) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (std::shared_ptr<const Kernel> found = kernels_[key].lock())
            return found;
        for (auto it = kernels_.begin(); it != kernels_.end();)
            it = it->second.expired() ? kernels_.erase(it) : std::next(it);
        std::shared_ptr<const Kernel> made;
        try {
            made = make();
        } catch (const Xbyak::Error &e) {
            throw error(status::runtime_error, std::string("code generation: ") + e.what() +
                                                   "; OCTET_MAX_CPU_ISA=ref needs no executable memory");
        }
        kernels_[key] = made;
        return made;
    }

private:
    std::mutex mutex_;
    std::unordered_map<std::string, std::weak_ptr<const Kernel>> kernels_;
};

} // namespace octet::impl::jit
