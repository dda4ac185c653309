// liboctet_onnxruntime_preload.so, for programs that cannot choose a provider, as those of Node.js: loaded
// before ONNX Runtime's own library (LD_PRELOAD) it stands in front of its one function, and gives every
// session Octet's provider. A table of ONNX Runtime's functions is copied, and those that make sessions are
// replaced; all others are called as they are.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "onnxruntime/slots.hpp"

namespace {

using namespace octet::onnxruntime;

// The functions that programs of ONNX Runtime call; environments, sessions and their options are addresses.
constexpr slot<7, may_fail(void *, const char *, const void *, void **)> create_session{};
constexpr slot<8, may_fail(void *, const void *, std::size_t, const void *, void **)>
    create_session_from_array{};
constexpr slot<10, may_fail(void **)> create_options{};
constexpr slot<12, may_fail(const void *, void **)> clone_options{};
constexpr slot<100, void(void *)> release_options{};
constexpr slot<301, may_fail(void *, const char *, const char *)> register_library{};
constexpr slot<303, may_fail(const void *, const void *const **, std::size_t *)> get_ep_devices{};
constexpr slot<304, may_fail(void *, void *, const void *const *, std::size_t, const char *const *,
                             const char *const *, std::size_t)>
    append_provider{};
constexpr slot<312, const char *(const void *)> device_provider{};

constexpr const char *provider = "OctetExecutionProvider";
constexpr std::size_t most_functions = 1024; ///< bound for the functions of a table; version 1.30 has 428

using table = const void *const *;

template <std::size_t I, typename F, typename... Arguments>
auto call(table functions, slot<I, F>, Arguments... arguments) {
    return reinterpret_cast<typename slot<I, F>::function>(const_cast<void *>(functions[I]))(arguments...);
}

// ---- ONNX Runtime's library in this process

struct loaded {
    std::string path;
    const ort_api_base *base = nullptr;
};

/// The first one that is loaded; its symbols may be local to who loaded it.
const loaded &real() {
    static const loaded found = [] {
        loaded l;
        dl_iterate_phdr(
            [](dl_phdr_info *info, std::size_t, void *result) {
                const char *const name = std::strrchr(info->dlpi_name, '/');
                if (!name || std::strncmp(name, "/libonnxruntime.so", 18) != 0)
                    return 0;
                static_cast<loaded *>(result)->path = info->dlpi_name;
                return 1;
            },
            &l);
        if (void *library = l.path.empty() ? nullptr : dlopen(l.path.c_str(), RTLD_NOW | RTLD_NOLOAD))
            if (const auto get = reinterpret_cast<const ort_api_base *(*)()>(dlsym(library, "OrtGetApiBase")))
                l.base = get();
        return l;
    }();
    return found;
}

/// Functions from `functions` to the end of the memory that the library's file fills there, which is behind
/// the table's end.
std::size_t readable(table functions) {
    struct search {
        std::uintptr_t at;
        std::size_t bytes;
    } s{reinterpret_cast<std::uintptr_t>(functions), 0};
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *result) {
            auto &wanted = *static_cast<search *>(result);
            for (int i = 0; i < info->dlpi_phnum; i++) {
                const std::uintptr_t first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
                                     last = first + info->dlpi_phdr[i].p_memsz;
                if (info->dlpi_phdr[i].p_type == PT_LOAD && wanted.at >= first && wanted.at < last) {
                    wanted.bytes = last - wanted.at;
                    return 1;
                }
            }
            return 0;
        },
        &s);
    return s.bytes / sizeof(void *);
}

// ---- Sessions

void tell(table functions, const char *what, ort_status *status) {
    std::fprintf(stderr, "octet: %s: %s\n", what, call(functions, api::get_error_message, status));
    call(functions, api::release_status, status);
}

/// Beside this library.
std::string provider_path() {
    Dl_info here{};
    dladdr(reinterpret_cast<const void *>(&provider_path), &here);
    const std::string own = here.dli_fname ? here.dli_fname : "";
    return own.substr(0, own.rfind('/') + 1) + "liboctet_onnxruntime.so";
}

/// OCTET_ONNXRUNTIME_OPTIONS: "threads=1,log=1".
struct provider_options {
    std::vector<std::string> words; ///< names and values in turn
    provider_options() {
        const char *given = std::getenv("OCTET_ONNXRUNTIME_OPTIONS");
        std::string rest = given ? given : "";
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find(','), rest.size()),
                              middle = std::min(rest.find('='), end);
            words.push_back(rest.substr(0, middle));
            words.push_back(middle < end ? rest.substr(middle + 1, end - middle - 1) : "");
            rest.erase(0, end + 1);
        }
    }
};

/// Tells `octet preload` that a session came by. One that does not get the provider has its own line on
/// stderr, or an error.
void report() {
    if (const char *path = std::getenv("OCTET_ONNXRUNTIME_REPORT"))
        if (const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC); file >= 0) {
            if (write(file, "1", 1) < 0) { // then the parent says that nothing happened
            }
            close(file);
        }
}

/// The provider's device, null where there is none.
const void *const *find_device(table functions, const void *env) {
    const void *const *devices = nullptr;
    std::size_t count = 0;
    if (ort_status *status = call(functions, get_ep_devices, env, &devices, &count)) {
        tell(functions, "no devices", status);
        return nullptr;
    }
    const auto *const end = devices + count, *const found = std::find_if(devices, end, [&](const void *d) {
                                                 return std::strcmp(call(functions, device_provider, d),
                                                                    provider) == 0;
                                             });
    return found == end ? nullptr : found;
}

/// As `find_device`; the provider is registered where the program has not done it, also after an environment
/// was made anew.
const void *const *registered_device(table functions, void *env) {
    static std::mutex mutex; // this library has nothing of Octet's, no fork_guard either
    const std::lock_guard<std::mutex> lock(mutex);
    if (const void *const *const found = find_device(functions, env))
        return found;
    if (ort_status *status = call(functions, register_library, env, "octet", provider_path().c_str())) {
        tell(functions, "the provider cannot be registered", status);
        return nullptr;
    }
    return find_device(functions, env);
}

/// The session's options with the provider in front; null, and a line on stderr, where that fails.
void *with_provider(table functions, void *env, const void *given) {
    const void *const *const device = registered_device(functions, env);
    if (!device)
        return nullptr;
    void *options = nullptr;
    if (ort_status *status = given ? call(functions, clone_options, given, &options)
                                   : call(functions, create_options, &options)) {
        tell(functions, "the session's options cannot be copied", status);
        return nullptr;
    }
    static const provider_options own;
    std::vector<const char *> names, values;
    for (std::size_t i = 0; i < own.words.size(); i += 2)
        names.push_back(own.words[i].c_str()), values.push_back(own.words[i + 1].c_str());
    if (ort_status *status = call(functions, append_provider, options, env, device, 1, names.data(),
                                  values.data(), names.size())) {
        tell(functions, "the session does not get the provider", status);
        call(functions, release_options, options);
        return nullptr;
    }
    return options;
}

table real_functions = nullptr; ///< the newest version that was asked for; tables of all versions are one

template <typename Create> ort_status *create(void *env, const void *options, const Create &make) {
    report();
    void *const own = with_provider(real_functions, env, options);
    if (!own)
        return make(options);
    ort_status *const status = make(own);
    call(real_functions, release_options, own);
    if (!status)
        return nullptr;
    ort_status *const without = make(options); // the options may have the provider already
    if (without)
        call(real_functions, api::release_status, status);
    else
        tell(real_functions, "the session is made as the program has it", status);
    return without;
}

const void *const *get_api(std::uint32_t version) {
    static std::mutex mutex;
    static const void *copy[most_functions];
    const table functions = real().base->get_api(version);
    if (!functions || version < api::version)
        return functions;
    const std::lock_guard<std::mutex> lock(mutex);
    if (real_functions == functions)
        return copy;
    if (real_functions || readable(functions) <= append_provider.index)
        return functions; // another table than expected
    std::memcpy(copy, functions, std::min(readable(functions), most_functions) * sizeof(void *));
    real_functions = functions;
    copy[create_session.index] = reinterpret_cast<const void *>(
        +[](void *env, const char *path, const void *options, void **made) -> ort_status * {
            return create(env, options, [&](const void *o) {
                return call(real_functions, create_session, env, path, o, made);
            });
        });
    copy[create_session_from_array.index] =
        reinterpret_cast<const void *>(+[](void *env, const void *bytes, std::size_t size,
                                           const void *options, void **made) -> ort_status * {
            return create(env, options, [&](const void *o) {
                return call(real_functions, create_session_from_array, env, bytes, size, o, made);
            });
        });
    return copy;
}

} // namespace

/// ONNX Runtime's only entry.
extern "C" __attribute__((visibility("default"))) const ort_api_base *OrtGetApiBase() {
    static const ort_api_base base{&get_api, real().base ? real().base->version_text : nullptr};
    return real().base ? &base : nullptr;
}
