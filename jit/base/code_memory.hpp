#pragma once // SPDX-License-Identifier: Apache-2.0

// Memory for finished code, which many kernels share: a page and an mprotect for each would cost more time and memory
// than their code. Code is written to a file in memory (memfd) of which the process has one view, read and execute:
// code memory is W^X, and putting a kernel there touches no page table. Where a system has no such files, or a tool
// wants to know of the code (perf takes names for anonymous memory only), each kernel has pages of its own, written as
// read-write and made read-execute.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace octet::impl::jit {

/// Copies code that does not depend on its address to executable memory, at a multiple of 64 bytes. Throws
/// Xbyak::Error where the system gives none.
std::shared_ptr<const void> make_executable(const std::uint8_t *code, std::size_t bytes,
                                            bool on_pages_of_its_own);

/// Memory to emit code into, aligned as finished code is; a thread gets the same again. Never executed.
class code_buffer {
public:
    static constexpr std::size_t size = 256 * 1024;
    code_buffer();
    ~code_buffer();
    code_buffer(const code_buffer &) = delete;
    code_buffer &operator=(const code_buffer &) = delete;
    std::uint8_t *bytes() const { return bytes_; }

private:
    std::uint8_t *bytes_;
};

} // namespace octet::impl::jit
