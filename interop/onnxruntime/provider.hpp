#pragma once // SPDX-License-Identifier: Apache-2.0

// The tables that ONNX Runtime gets and calls: the factory, the provider of one session, what runs its parts.
// Each begins with the version of the interface; ONNX Runtime then looks at no member that came later, but
// all have room for those.

#include <cstdint>
#include <memory>
#include <vector>

#include "onnxruntime/claims.hpp"

namespace octet::onnxruntime {

/// A table of `Words` functions behind a version. Objects derive from one, so that its address is theirs.
template <std::size_t Words> struct function_table {
    std::uint64_t of_version = api::version; ///< 32 bits, and as many of padding
    const void *functions[Words - 1] = {};
    template <typename R, typename... P> void set(std::size_t word, R (*function)(P...)) {
        functions[word - 1] = reinterpret_cast<const void *>(function);
    }
};

constexpr std::size_t room = 48; ///< words of a table; the largest has 26

/// The factory of this library. Throws octet::error for a runtime that does not fit.
class factory : public function_table<room> {
public:
    explicit factory(const ort_api_base &base);

private:
    ort_ep_device *device(const ort_hardware_device *hardware);
    function_table<room> *make_provider(const ort_session_options *options, const ort_logger *logger);

    runtime ort_;
};

} // namespace octet::onnxruntime
