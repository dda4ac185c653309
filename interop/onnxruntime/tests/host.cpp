// Slots here are those of programs; those of plugins are the provider's own.
// SPDX-License-Identifier: Apache-2.0
#include "interop/onnxruntime/tests/host.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include <dlfcn.h>

#include "interop/onnxruntime/tests/program_slots.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

using namespace onnxruntime;
namespace api = onnxruntime::api;

using namespace program;

std::mutex log_mutex;
std::vector<std::string> log_lines;

void keep_line(void *, int, const char *, const char *, const char *, const char *message) {
    const std::lock_guard<std::mutex> lock(log_mutex);
    log_lines.push_back(message);
}

std::size_t element_bytes(int type) {
    switch (type) {
    case element::f32:
    case element::s32:
        return 4;
    case element::s64:
        return 8;
    case element::s16:
        return 2;
    default:
        return 1;
    }
}

struct values {
    const runtime &ort;
    std::vector<ort_value *> all;
    ~values() {
        for (ort_value *v : all)
            if (v)
                ort(api::release_value, v);
    }
};

/// Type and dimensions, without elements.
ort_tensor described(const runtime &ort, const ort_shape_info *shape) {
    ort_tensor t;
    std::size_t rank = 0;
    ort(api::get_element_type, shape, &t.type);
    ort(api::get_dimensions_count, shape, &rank);
    t.dims.resize(rank);
    if (rank != 0)
        ort(api::get_dimensions, shape, t.dims.data(), rank);
    return t;
}

} // namespace

ort_tensor random_reals(std::vector<std::int64_t> dims, unsigned seed, float limit) {
    std::size_t count = 1;
    for (const std::int64_t d : dims)
        count *= static_cast<std::size_t>(d);
    std::vector<float> values(count);
    for (float &v : values) {
        seed = seed * 1664525 + 1013904223;
        v = limit * (static_cast<float>(seed >> 8) / 8388608.f - 1.f);
    }
    const auto *bytes = reinterpret_cast<const std::uint8_t *>(values.data());
    return {onnxruntime::element::f32, std::move(dims), {bytes, bytes + count * sizeof(float)}};
}

host::host(const ort_api_base &base) : ort_(base) {
    ort_(create_env_with_logger, &keep_line, nullptr, 2, "octet tests", &env_);
    add_provider();
}

std::string host::provider_path() {
    const char *given = std::getenv("OCTET_PROVIDER"); // the library of another build
    return given ? given : program_path("../interop/onnxruntime/liboctet_onnxruntime.so");
}

host *host::get() {
    static const std::unique_ptr<host> only = []() -> std::unique_ptr<host> {
        const char *path = std::getenv("OCTET_ONNXRUNTIME");
        if (!path || !*path) // dlopen takes "" for the program itself
            return nullptr;
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return nullptr;
        const auto base = reinterpret_cast<const ort_api_base *(*)()>(dlsym(library, "OrtGetApiBase"));
        return std::unique_ptr<host>(new host(*base()));
    }();
    return only.get();
}

void host::add_provider() {
    ort_(register_library, env_, "octet", provider_path().c_str());
    const void *const *devices = nullptr;
    std::size_t count = 0;
    ort_(get_ep_devices, static_cast<const void *>(env_), &devices, &count);
    for (std::size_t i = 0; i < count; i++)
        if (std::string(ort_(device_provider, devices[i])) == "OctetExecutionProvider")
            device_ = devices[i];
    if (!device_)
        throw error(status::runtime_error, "ONNX Runtime shows no device of Octet's provider");
}

void host::remove_provider() {
    device_ = nullptr;
    ort_(unregister_library, env_, "octet");
}

std::vector<std::string> host::take_log() {
    const std::lock_guard<std::mutex> lock(log_mutex);
    return std::exchange(log_lines, {});
}

session::session(const std::vector<std::uint8_t> &model, const session_options &how) {
    make(how, [&](const runtime &ort, const void *env, const void *made) {
        ort(create_session, env, static_cast<const void *>(model.data()), model.size(), made, &session_);
    });
}

session::session(const std::filesystem::path &model, const session_options &how) {
    make(how, [&](const runtime &ort, const void *env, const void *made) {
        ort(create_session_of_file, env, model.c_str(), made, &session_);
    });
}

template <typename Create> void session::make(const session_options &how, const Create &create) {
    const host &h = *host::get();
    const runtime &ort = h.ort();
    struct owned {
        const runtime &ort;
        void *options = nullptr;
        ~owned() { ort(release_options, options); }
    } made{ort};
    ort(create_options, &made.options);
    ort(set_level, made.options, how.level);
    ort(set_threads, made.options, how.threads);
    ort(add_entry, made.options, "session.record_ep_graph_assignment_info", "1");
    for (const auto &[key, value] : how.entries)
        ort(add_entry, made.options, key.c_str(), value.c_str());
    if (how.who == by::octet) {
        std::vector<const char *> keys, texts;
        for (const auto &[key, value] : how.provider)
            keys.push_back(key.c_str()), texts.push_back(value.c_str());
        const void *device = h.device();
        ort(append_provider, made.options, h.env(), &device, 1, keys.data(), texts.data(), keys.size());
    }
    create(ort, h.env(), made.options);
    void *allocator = nullptr;
    ort(default_allocator, &allocator);
    const auto names = [&](auto count, auto name) {
        std::size_t size = 0;
        ort(count, static_cast<const void *>(session_), &size);
        std::vector<std::string> found;
        for (std::size_t i = 0; i < size; i++) {
            char *text = nullptr;
            ort(name, static_cast<const void *>(session_), i, allocator, &text);
            found.push_back(text);
            ort(allocator_free, allocator, static_cast<void *>(text));
        }
        return found;
    };
    inputs_ = names(input_count, input_name);
    outputs_ = names(output_count, output_name);
}

session::~session() {
    if (session_)
        host::get()->ort()(release_session, session_);
}

ort_tensor session::input_info(std::size_t i) const {
    const runtime &ort = host::get()->ort();
    ort_type_info *type = nullptr;
    ort(input_type, static_cast<const void *>(session_), i, &type);
    const ort_shape_info *shape = nullptr;
    ort(api::cast_to_tensor_info, static_cast<const ort_type_info *>(type), &shape);
    ort_tensor t = described(ort, shape);
    ort(release_type, type);
    return t;
}

std::vector<ort_tensor> session::run(const std::vector<ort_tensor> &inputs) const {
    const runtime &ort = host::get()->ort();
    void *allocator = nullptr;
    ort(default_allocator, &allocator);
    values given{ort, {}}, found{ort, std::vector<ort_value *>(outputs_.size())};
    std::vector<const char *> input_names, output_names;
    for (const std::string &name : inputs_)
        input_names.push_back(name.c_str());
    for (const std::string &name : outputs_)
        output_names.push_back(name.c_str());
    for (const ort_tensor &t : inputs) {
        ort_value *v = nullptr;
        ort(create_tensor, allocator, t.dims.data(), t.dims.size(), t.type, &v);
        given.all.push_back(v);
        void *data = nullptr;
        ort(api::get_tensor_data, v, &data);
        if (!t.bytes.empty())
            std::memcpy(data, t.bytes.data(), t.bytes.size());
    }
    ort(run_session, session_, static_cast<const void *>(nullptr), input_names.data(),
        static_cast<const ort_value *const *>(given.all.data()), given.all.size(), output_names.data(),
        output_names.size(), found.all.data());
    std::vector<ort_tensor> results;
    for (ort_value *v : found.all) {
        ort_shape_info *shape = nullptr;
        ort(api::get_tensor_shape, static_cast<const ort_value *>(v), &shape);
        ort_tensor t = described(ort, shape);
        ort(api::release_shape, shape);
        std::size_t size = element_bytes(t.type);
        for (const std::int64_t d : t.dims)
            size *= static_cast<std::size_t>(d);
        void *data = nullptr;
        ort(api::get_tensor_data, v, &data);
        t.bytes.assign(static_cast<std::uint8_t *>(data), static_cast<std::uint8_t *>(data) + size);
        results.push_back(std::move(t));
    }
    return results;
}

void session::run_bound(const std::vector<ort_tensor> &inputs, std::vector<ort_tensor> &outputs) const {
    std::vector<ort_tensor> none;
    run_in_place(inputs, none, outputs);
}

void session::run_in_place(const std::vector<ort_tensor> &inputs, std::vector<ort_tensor> &both,
                           std::vector<ort_tensor> &outputs) const {
    std::vector<const ort_tensor *> given;
    std::vector<ort_tensor *> wanted;
    for (const ort_tensor &t : inputs)
        given.push_back(&t);
    for (ort_tensor &t : outputs)
        wanted.push_back(&t);
    for (ort_tensor &t : both) {
        given.push_back(&t);
        wanted.push_back(&t);
    }
    run_with(given, wanted);
}

void session::run_with(const std::vector<const ort_tensor *> &inputs,
                       const std::vector<ort_tensor *> &outputs) const {
    const runtime &ort = host::get()->ort();
    struct owned {
        const runtime &ort;
        void *memory = nullptr, *binding = nullptr;
        ~owned() {
            if (binding)
                ort(release_binding, binding);
            if (memory)
                ort(release_memory_info, memory);
        }
    } made{ort};
    values all{ort, {}};
    ort(create_cpu_memory_info, 0, 0, &made.memory);
    ort(create_binding, session_, &made.binding);
    const auto value_of = [&](const ort_tensor &t) {
        ort_value *v = nullptr;
        ort(create_tensor_with_data, static_cast<const void *>(made.memory),
            static_cast<void *>(const_cast<std::uint8_t *>(t.bytes.data())), t.bytes.size(), t.dims.data(),
            t.dims.size(), t.type, &v);
        all.all.push_back(v);
        return static_cast<const ort_value *>(v);
    };
    for (std::size_t i = 0; i < inputs.size(); i++)
        ort(bind_input, made.binding, inputs_[i].c_str(), value_of(*inputs[i]));
    for (std::size_t o = 0; o < outputs.size(); o++)
        ort(bind_output, made.binding, outputs_[o].c_str(), value_of(*outputs[o]));
    ort(run_with_binding, session_, static_cast<const void *>(nullptr),
        static_cast<const void *>(made.binding));
}

std::vector<assignment> session::assignments() const {
    const runtime &ort = host::get()->ort();
    const void *const *graphs = nullptr;
    std::size_t count = 0;
    ort(assigned_subgraphs, static_cast<const void *>(session_), &graphs, &count);
    std::vector<assignment> result;
    for (std::size_t i = 0; i < count; i++) {
        assignment a;
        const char *text = nullptr;
        ort(assigned_provider, graphs[i], &text);
        a.provider = text;
        const void *const *nodes = nullptr;
        std::size_t node_count = 0;
        ort(assigned_nodes, graphs[i], &nodes, &node_count);
        for (std::size_t n = 0; n < node_count; n++) {
            ort(assigned_operator, nodes[n], &text);
            a.operators.push_back(text);
        }
        result.push_back(std::move(a));
    }
    return result;
}

std::vector<std::string> session::operators_of(by who) const {
    std::vector<std::string> all;
    for (const assignment &a : assignments())
        if ((a.provider == "OctetExecutionProvider") == (who == by::octet))
            all.insert(all.end(), a.operators.begin(), a.operators.end());
    std::sort(all.begin(), all.end());
    return all;
}

std::string difference(const std::vector<ort_tensor> &actual, const std::vector<ort_tensor> &expected) {
    if (actual.size() != expected.size())
        return std::to_string(actual.size()) + " outputs, expected " + std::to_string(expected.size());
    for (std::size_t o = 0; o < actual.size(); o++) {
        const ort_tensor &a = actual[o], &e = expected[o];
        const std::string who = "output " + std::to_string(o);
        if (a.type != e.type || a.dims != e.dims || a.bytes.size() != e.bytes.size())
            return who + " has another type or other dimensions";
        const std::size_t size = element_bytes(a.type);
        for (std::size_t i = 0; i < a.bytes.size(); i += size) {
            if (std::memcmp(a.bytes.data() + i, e.bytes.data() + i, size) == 0)
                continue;
            std::string text;
            if (a.type == element::f32) {
                float x, y;
                std::memcpy(&x, a.bytes.data() + i, sizeof x);
                std::memcpy(&y, e.bytes.data() + i, sizeof y);
                if (std::isnan(x) && std::isnan(y))
                    continue;
                text = std::to_string(x) + ", expected " + std::to_string(y);
            } else {
                text =
                    std::to_string(a.bytes[i]) + ", expected " + std::to_string(e.bytes[i]) + " (first byte)";
            }
            return who + " at " + std::to_string(i / size) + ": " + text;
        }
    }
    return "";
}

} // namespace octet::tests
