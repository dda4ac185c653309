// Looks for a library that is loaded already, then opens one by name, and fills the table of functions.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/preload/real_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "onednn/preload/policy.hpp"

namespace octet::onednn {
namespace {

/// The file name of a loaded libdnnl, that of major version 2 if there are several.
std::string loaded_library() {
    std::string found;
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *result) {
            const char *slash = std::strrchr(info->dlpi_name, '/');
            const std::string name = slash ? slash + 1 : info->dlpi_name;
            std::string &best = *static_cast<std::string *>(result);
            if (name.compare(0, 11, "libdnnl.so.") == 0 &&
                (best.empty() || name.compare(0, 12, "libdnnl.so.2") == 0))
                best = info->dlpi_name;
            return 0;
        },
        &found);
    return found.empty() ? "libdnnl.so.2" : found;
}

real_library open() {
    report_call();
    real_library library;
    const std::string name = loaded_library();
    library.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library.handle) {
        const char *why = dlerror();
        std::fprintf(stderr,
                     "octet: oneDNN (libdnnl.so.2) is not there, so nothing can fall back to it: %s\n",
                     why ? why : name.c_str());
        return library;
    }
    bool complete = true;
#define OCTET_REAL_LOOKUP(name)                                                                              \
    library.name = reinterpret_cast<decltype(library.name)>(dlsym(library.handle, #name));                   \
    complete = complete && library.name;
    OCTET_REAL_FUNCTIONS(OCTET_REAL_LOOKUP)
#undef OCTET_REAL_LOOKUP
    if (!library.dnnl_version)
        return library;
    const dnnl_version_t *version = library.dnnl_version(); // begins alike in all versions
    library.is_known = complete && version->major == 2 && version->minor == DNNL_VERSION_MINOR;
    if (library.is_known)
        library.cpu_runtime = version->cpu_runtime;
    else
        std::fprintf(stderr,
                     "octet: %s is oneDNN %d.%d, but only 2.%d is understood: everything falls back to it\n",
                     name.c_str(), version->major, version->minor, DNNL_VERSION_MINOR);
    return library;
}

} // namespace

const real_library &real() {
    static const real_library &library = *new real_library(open()); // used until the last thread ends
    return library;
}

const functions_behind &behind() { return real(); }

bool knows_structures() { return real().is_known; }

dnnl_status_t nobody_behind(const char *) { return dnnl_runtime_error; }

} // namespace octet::onednn
