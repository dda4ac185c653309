#pragma once // SPDX-License-Identifier: Apache-2.0

// The REST form of an inference: JSON, optionally followed by the bytes of tensors ("binary data extension").

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/service.hpp"

namespace octet::serve {

/// The form that the client wants the reply in.
struct reply_form {
    bool all_binary = false;               ///< "binary_data_output"
    std::map<std::string, bool> binary_of; ///< by output
    bool is_binary(const std::string &output) const {
        const auto found = binary_of.find(output);
        return found == binary_of.end() ? all_binary : found->second;
    }
};

/// Reads a body of which the first `json_size` bytes are JSON. Numbers go straight into arrays, nesting is
/// limited, what is not known is skipped. Inputs point into the body: `keep` is the caller's to set. Throws
/// refusal. Numbers take of `held`, if there is one.
infer_request read_infer_request(std::string_view body, std::size_t json_size, reply_form &form,
                                 receive_budget::share *held = nullptr);

/// The JSON part of a reply. Throws refusal where an output has no JSON form.
std::string infer_reply_json(const service::call &c, const reply_form &form, bool &has_binary);

} // namespace octet::serve
