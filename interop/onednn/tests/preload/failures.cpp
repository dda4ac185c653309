// Unusual situations. failures_test.sh runs each mode with liboctet_dnnl in front, some with a library that
// is in the way:
//
// absent     the real library can't be loaded: a status and a sentence
// fork       a child of a process that has used the pool computes the same
// late       oneDNN comes with a plugin (handles.c) that is loaded after the start, RTLD_LOCAL as Python does it
// threads    many threads create and run at once
// pool N     work runs on the N threads of the client's OpenMP pool, and no other thread is started
// version    a library of another major version is handed everything
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <oneapi/dnnl/dnnl_types.h>

// Looked up, not linked: this program must start where oneDNN is absent.
#define FUNCTION(name, ...)                                                                                  \
    using name##_t = int (*)(__VA_ARGS__);                                                                   \
    static name##_t name() { return reinterpret_cast<name##_t>(dlsym(RTLD_DEFAULT, "dnnl_" #name)); }

namespace {

FUNCTION(engine_create, dnnl_engine_t *, int, std::size_t)
FUNCTION(engine_destroy, dnnl_engine_t)
FUNCTION(stream_create, dnnl_stream_t *, dnnl_engine_t, unsigned)
FUNCTION(stream_destroy, dnnl_stream_t)
FUNCTION(memory_desc_init_by_tag, dnnl_memory_desc_t *, int, const dnnl_dim_t *, int, int)
FUNCTION(memory_create, dnnl_memory_t *, const dnnl_memory_desc_t *, dnnl_engine_t, void *)
FUNCTION(memory_destroy, dnnl_memory_t)
FUNCTION(matmul_desc_init, dnnl_matmul_desc_t *, const dnnl_memory_desc_t *, const dnnl_memory_desc_t *,
         const dnnl_memory_desc_t *, const dnnl_memory_desc_t *)
FUNCTION(primitive_desc_create, dnnl_primitive_desc_t *, const void *, const void *, dnnl_engine_t,
         const void *)
FUNCTION(primitive_desc_clone, dnnl_primitive_desc_t *, const_dnnl_primitive_desc_t)
FUNCTION(primitive_desc_destroy, dnnl_primitive_desc_t)
FUNCTION(primitive_create, dnnl_primitive_t *, dnnl_primitive_desc_t)
FUNCTION(primitive_execute, const_dnnl_primitive_t, dnnl_stream_t, int, const dnnl_exec_arg_t *)
FUNCTION(primitive_destroy, dnnl_primitive_t)

/// A matrix product of u8 codes; true if every element of the result is right. Big enough for several threads.
bool multiply(int m) {
    const int n = 64, k = 96;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    if (engine_create()(&engine, dnnl_cpu, 0) || stream_create()(&stream, engine, dnnl_stream_default_flags))
        return false;
    const auto desc = [&](dnnl_dim_t rows, dnnl_dim_t columns, dnnl_data_type_t type) {
        dnnl_memory_desc_t md;
        const dnnl_dim_t dims[DNNL_MAX_NDIMS] = {rows, columns};
        memory_desc_init_by_tag()(&md, 2, dims, type, dnnl_ab);
        return md;
    };
    const dnnl_memory_desc_t a = desc(m, k, dnnl_u8), b = desc(k, n, dnnl_s8), c = desc(m, n, dnnl_s32);
    std::vector<std::uint8_t> a_data(static_cast<std::size_t>(m * k));
    std::vector<std::int8_t> b_data(static_cast<std::size_t>(n * k));
    std::vector<std::int32_t> c_data(static_cast<std::size_t>(m * n));
    for (std::size_t i = 0; i < a_data.size(); i++)
        a_data[i] = static_cast<std::uint8_t>(i % 7);
    for (std::size_t i = 0; i < b_data.size(); i++)
        b_data[i] = static_cast<std::int8_t>(static_cast<int>(i % 5) - 2);
    dnnl_matmul_desc_t d;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    dnnl_memory_t a_memory, b_memory, c_memory;
    if (matmul_desc_init()(&d, &a, &b, nullptr, &c) ||
        primitive_desc_create()(&pd, &d, nullptr, engine, nullptr) || primitive_create()(&primitive, pd) ||
        memory_create()(&a_memory, &a, engine, a_data.data()) ||
        memory_create()(&b_memory, &b, engine, b_data.data()) ||
        memory_create()(&c_memory, &c, engine, c_data.data()))
        return false;
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, a_memory}, {DNNL_ARG_WEIGHTS, b_memory}, {DNNL_ARG_DST, c_memory}};
    bool right = primitive_execute()(primitive, stream, 3, args) == dnnl_success;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            std::int32_t sum = 0;
            for (int l = 0; l < k; l++)
                sum +=
                    a_data[static_cast<std::size_t>(i * k + l)] * b_data[static_cast<std::size_t>(l * n + j)];
            right = right && c_data[static_cast<std::size_t>(i * n + j)] == sum;
        }
    for (const dnnl_memory_t memory : {a_memory, b_memory, c_memory})
        memory_destroy()(memory);
    primitive_destroy()(primitive);
    primitive_desc_destroy()(pd);
    stream_destroy()(stream);
    engine_destroy()(engine);
    return right;
}

int say(bool right, const char *what) {
    std::printf("%s: %s\n", what, right ? "right" : "WRONG");
    return right ? 0 : 1;
}

int absent() {
    dnnl_primitive_desc_t clone = nullptr;
    return say(primitive_desc_clone()(&clone, nullptr) == dnnl_runtime_error, "absent");
}

int version() {
    dnnl_primitive_desc_t clone = nullptr;
    return say(primitive_desc_clone()(&clone, nullptr) == 77, "another version"); // the stand-in's status
}

int after_fork() {
    const pid_t early = fork(); // before there is a pool: the child makes its own
    if (early == 0)
        _exit(multiply(500) ? 0 : 1);
    int early_state = 0;
    waitpid(early, &early_state, 0);
    if (!WIFEXITED(early_state) || WEXITSTATUS(early_state) != 0 || !multiply(500))
        return say(false, "before fork");
    const pid_t child = fork();
    if (child == 0)
        _exit(multiply(500) && multiply(300) ? 0 : 1);
    int state = 0;
    waitpid(child, &state, 0);
    return say(WIFEXITED(state) && WEXITSTATUS(state) == 0, "fork");
}

int late(const char *plugin) {
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    const auto entry = library ? reinterpret_cast<int (*)()>(dlsym(library, "plugin_main")) : nullptr;
    return say(entry && entry() == 0, "loaded late");
}

int threads() {
    std::vector<std::thread> all;
    std::vector<char> right(8, 1);
    for (std::size_t t = 0; t < right.size(); t++)
        all.emplace_back([&, t] {
            for (int i = 0; i < 40; i++)
                right[t] = right[t] && multiply(1 + (i * 13 + static_cast<int>(t)) % 60);
        });
    for (std::thread &thread : all)
        thread.join();
    return say(std::string(right.begin(), right.end()) == std::string(right.size(), 1), "threads");
}

int pool(const char *threads) {
    if (!multiply(2000))
        return say(false, "a large product");
    std::size_t count = 0;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task"))
        count += !task.path().empty();
    std::printf("%zu threads\n", count);
    return say(std::to_string(count) == threads, "pool");
}

} // namespace

int main(int argc, char **argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "absent")
        return absent();
    if (mode == "late")
        return late(argv[2]);
    if (mode == "version")
        return version();
    if (!dlopen("libdnnl.so.2", RTLD_NOW | RTLD_GLOBAL)) // after the start, for all to see
        return say(false, "libdnnl.so.2");
    if (mode == "pool")
        return pool(argv[2]);
    return mode == "fork" ? after_fork() : mode == "threads" ? threads() : 2;
}
