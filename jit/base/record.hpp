#pragma once // SPDX-License-Identifier: Apache-2.0

// Makes generated code visible to tools: files with its bytes (OCTET_JIT_DUMP, for a disassembler), and
// perf's map of symbols (OCTET_JIT_PROFILE=perf).

#include <cstddef>
#include <string>

namespace octet::impl::jit {

/// True if a tool wants to know of code.
bool is_recorded();
/// Called once for each piece of finished code, from any thread.
void record_code(const std::string &name, const void *code, std::size_t bytes);

} // namespace octet::impl::jit
