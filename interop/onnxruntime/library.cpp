// liboctet_onnxruntime.so: the two functions that ONNX Runtime looks for in a library of execution providers.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <memory>

#include "onnxruntime/provider.hpp"

namespace {

using namespace octet::onnxruntime;

/// A status of a runtime whose newer tables may not be there: the first function of the first table makes it.
ort_status *failed(const ort_api_base *base, const char *text) {
    using create = decltype(api::create_status)::function;
    const void *const *const oldest = base && base->get_api ? base->get_api(1) : nullptr;
    return oldest ? reinterpret_cast<create>(const_cast<void *>(oldest[0]))(code::fail, text) : nullptr;
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) ort_status *CreateEpFactories(const char *, const ort_api_base *base,
                                                                     const ort_logger *,
                                                                     octet::onnxruntime::factory **factories,
                                                                     std::size_t most, std::size_t *count) {
    if (!base || !base->get_api || !factories || !count)
        return nullptr;
    *count = 0;
    try {
        if (most == 0)
            refuse("there is no room for a factory");
        factories[0] = std::make_unique<factory>(*base).release();
        *count = 1;
        return nullptr;
    } catch (const std::exception &e) {
        return failed(base, e.what());
    } catch (...) {
        return failed(base, "unknown failure");
    }
}

__attribute__((visibility("default"))) ort_status *ReleaseEpFactory(octet::onnxruntime::factory *made) {
    delete made;
    return nullptr;
}
}
