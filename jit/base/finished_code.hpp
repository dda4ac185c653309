#pragma once // SPDX-License-Identifier: Apache-2.0

// Generated code as its callers see it: a function that takes a pointer to its arguments. Nothing here knows
// the assembler, so that whoever plans and drives kernels is compiled without it; generated.hpp makes such
// code.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace octet::impl::jit {

/// Code that can be called. Args: what a call points to; const unless the code changes it.
template <typename Args> class finished_code {
public:
    using function_type = void (*)(Args *);
    finished_code(std::shared_ptr<const void> code, std::size_t bytes)
        : code_(std::move(code)), bytes_(bytes),
          function_(reinterpret_cast<function_type>(reinterpret_cast<std::uintptr_t>(code_.get()))) {}

    function_type function() const { return function_; }
    std::size_t code_bytes() const { return bytes_; }

private:
    std::shared_ptr<const void> code_;
    std::size_t bytes_;
    function_type function_;
};

/// Code that all primitives with equal needs share.
template <typename Args> using shared_code = std::shared_ptr<const finished_code<Args>>;

} // namespace octet::impl::jit
