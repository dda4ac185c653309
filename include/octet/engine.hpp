#pragma once // SPDX-License-Identifier: Apache-2.0

// Handles that oneDNN's interface asks for. There is one engine, and a stream only says that it is
// synchronous.

#include <cstddef>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// The device that primitives run on. Octet has one engine: the CPU, index 0. A default-constructed engine is
/// a null handle.
class OCTET_API engine {
public:
    /// `any` stands for the CPU; a GPU is known by name only.
    enum class kind { any, cpu, gpu };

    engine() = default;
    /// Throws `invalid_arguments` for anything but `kind::cpu` (or `any`) and index 0.
    engine(kind k, std::size_t index);

    /// Engines of this kind: 1, or 0 for a GPU.
    static std::size_t get_count(kind k) { return k == kind::gpu ? 0 : 1; }
    kind get_kind() const { return kind_; }           ///< cpu
    explicit operator bool() const { return valid_; } ///< false for a null handle
    /// All engines are the same one; null handles equal each other.
    ///@{
    friend bool operator==(const engine &a, const engine &b) { return a.valid_ == b.valid_; }
    friend bool operator!=(const engine &a, const engine &b) { return !(a == b); }
    ///@}

private:
    bool valid_ = false;
    kind kind_ = kind::cpu;
};

/// An execution queue. Execution is synchronous: when `execute` returns, the result is in memory and `wait`
/// has nothing to do. A stream holds no state, so one stream may be used from many threads.
class OCTET_API stream {
public:
    /// Accepted and without effect, because every execution is complete when it returns.
    enum class flags : unsigned { in_order = 1, out_of_order = 2, default_flags = in_order };

    stream() = default;
    /// Throws `invalid_arguments` for a null engine.
    stream(const engine &e, flags f = flags::default_flags);

    engine get_engine() const { return engine_; }                         ///< as given
    stream &wait() { return *this; }                                      ///< returns at once
    explicit operator bool() const { return static_cast<bool>(engine_); } ///< false for a null handle

private:
    engine engine_;
};

/// The name of an enumerator, as for those of octet/types.hpp.
///@{
OCTET_API const char *to_string(engine::kind kind);
OCTET_API const char *to_string(stream::flags flags);
///@}

} // namespace v0
} // namespace octet
