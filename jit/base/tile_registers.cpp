// The configuration that a thread has is a thread-local number, which the end of a scope sets back with tilerelease.
// SPDX-License-Identifier: Apache-2.0
#include "jit/base/tile_registers.hpp"

namespace octet::impl::jit {

std::uint64_t *tile_registers_scope::configured() {
    thread_local std::uint64_t key = 0;
    return &key;
}

tile_registers_scope::~tile_registers_scope() {
    if (*configured() == 0)
        return;
    asm volatile("tilerelease" : : : "memory");
    *configured() = 0;
}

} // namespace octet::impl::jit
