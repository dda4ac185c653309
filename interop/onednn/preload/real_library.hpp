#pragma once // SPDX-License-Identifier: Apache-2.0

// oneDNN itself, behind a table of pointers. This library stands in front of the real one under the same
// names, so it may not refer to any of them: an undefined dnnl_* symbol would be its own, or missing where
// the client's library is loaded with RTLD_LOCAL (Python does that). The real library is looked for by name
// at the first call that needs it.

#include "onednn/interface/behind.hpp"

namespace octet::onednn {

struct real_library : functions_behind {
    void *handle = nullptr; ///< for dlsym
    bool is_known =
        false; ///< oneDNN 2.x with all these functions: the structures are those of this library's headers
    unsigned cpu_runtime = 0; ///< DNNL_RUNTIME_*
};

/// The library that the process has loaded, or libdnnl.so.2. Without either all pointers are null.
const real_library &real();

} // namespace octet::onednn
