// Looks at the runtime before anything else is called in it.
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime/runtime.hpp"

#include <cstdlib>

namespace octet::onnxruntime {
namespace {

/// "1.30.0" is 30. 0 for what is no version 1.
unsigned long minor_of(const std::string &version) {
    return version.rfind("1.", 0) == 0 ? std::strtoul(version.c_str() + 2, nullptr, 10) : 0;
}

} // namespace

runtime::runtime(const ort_api_base &base) : version_(base.version_text ? base.version_text() : "") {
    const std::string needed = "Octet's execution provider needs ONNX Runtime 1." +
                               std::to_string(api::version) + " or a later 1.x, this is " +
                               (version_.empty() ? "unknown" : version_);
    const unsigned long minor = minor_of(version_);
    tells_shapes_ = minor > api::version;
    if (minor < api::version) // asked for a version that it lacks, it would print a line
        throw error(status::unimplemented, needed);
    api_ = base.get_api(api::version);
    if (!api_)
        throw error(status::unimplemented,
                    needed + ", which has no table of version " + std::to_string(api::version));
    for (std::size_t i = 0; i <= api::last; i++)
        if (!api_[i])
            throw error(status::unimplemented, needed + ", whose table lacks function " + std::to_string(i));
    ep_api_ = (*this)(api::get_ep_api);
    if (!ep_api_ || !ep_api_[0] || !ep_api_[2] || !ep_api_[4])
        throw error(status::unimplemented, needed + ", which has no table of plugins");
    editor_api_ = (*this)(api::get_model_editor_api);
    // A status that tells its text again: positions are where they are expected.
    ort_status *const probe = failed(code::fail, "octet");
    if (!probe)
        throw error(status::unimplemented, needed + ", which makes no status");
    const std::string told = (*this)(api::get_error_message, probe);
    (*this)(api::release_status, probe);
    if (told != "octet")
        throw error(status::unimplemented, needed + ", whose functions are others than expected");
}

bool runtime::is_of_number(const ort_shape_info *shape) const {
    return tells_shapes_ && (*this)(api::has_shape, shape);
}

ort_status *runtime::failed(int code, const char *text) const noexcept {
    return (*this)(api::create_status, code, text);
}

void runtime::check(ort_status *status) const {
    if (!status)
        return;
    std::string text;
    try {
        text = (*this)(api::get_error_message, static_cast<const ort_status *>(status));
    } catch (...) {
        (*this)(api::release_status, status);
        throw;
    }
    (*this)(api::release_status, status);
    throw error(octet::status::runtime_error, "ONNX Runtime: " + text);
}

void runtime::warn(const ort_logger *logger, const std::string &message) const noexcept {
    if (!logger)
        return;
    const auto function = reinterpret_cast<decltype(api::log_message)::function>(
        const_cast<void *>(api_[decltype(api::log_message)::index]));
    if (ort_status *status =
            function(logger, log_warning, message.c_str(), "octet/onnxruntime", 0, "OctetExecutionProvider"))
        (*this)(api::release_status, status);
}

} // namespace octet::onnxruntime
